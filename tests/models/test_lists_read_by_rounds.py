"""Rounds that read the list that they fill, or lists whose items are written later, need all items: such loops are scripted, or unrolled, with a warning."""

import warnings

import pytest
import torch
from torch import nn

from .checking import compare, convert, sizes_of

ROWS = torch.randn(5, 4)


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def the_last_few(x):
    window = []
    for i, row in enumerate(x):
        window.append((i, row))
        if len(window) > 8:
            window.pop(0)
    return torch.stack([row * i for i, row in window])


def up_to_a_number(x):
    numbers = []
    for row in x:
        if len(numbers) < 16:
            numbers.extend([row.argmax().item(), 1])
    return torch.tensor(numbers)


def by_how_many_there_are(x):
    rows = []
    for row in x:
        rows.append(row * (1 if len(rows) < 8 else 2))
    return torch.stack(rows)


def cut_to_a_few(x):
    rows = []
    for row in x:
        rows.append(row)
        rows = rows[-8:]
    return torch.stack(rows)


def of_all_so_far(x):
    rows = []
    for row in x:
        rows.append(row if not rows else row + torch.stack(rows).sum(0))
    return torch.stack(rows)


def in_front_by_a_sum(x):
    rows = []
    for row in x:
        rows = [row] + rows
    return torch.stack(rows)


def turned(x):
    numbers = []
    for row in x:
        numbers.extend([row.argmax().item(), 1])
        numbers.reverse()
    return torch.tensor(numbers)


def written_later(x):
    rows, total = [], x.new_zeros(4)
    for row in x:
        rows.append((total, row))
        total += row
    return torch.stack([total * row for total, row in rows])


def written_later_by_itself(x):
    rows, total = [], x.new_zeros(4)
    for row in x:
        rows.append(total)
        total += row
    return torch.stack(rows)


FUNCTIONS = [
    the_last_few,
    up_to_a_number,
    by_how_many_there_are,
    cut_to_a_few,
    of_all_so_far,
    in_front_by_a_sum,
    turned,
    written_later,
    written_later_by_itself,
]


@pytest.mark.parametrize("rows", [5, 1])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_such_loops_are_right_or_unrolled(function, rows):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = convert(Model(function), (ROWS[:rows],), ({0: "n"},))
    is_fixed = sizes_of(program.model_proto.graph.input)[0][0] == rows
    assert is_fixed == any(f"fixes it at {rows}" in str(each.message) for each in said)
    compare(program, Model(function), *[(torch.randn(n, 4),) for n in ((rows,) if is_fixed else (rows, 3, 12))])


def an_item_before(x):
    rows = [(x.sum(), 100)]
    for i, row in enumerate(x):
        rows.append((row.sum(), i))
    total, place = rows[(x.shape[0] - 1) // 3]
    return total + place


def test_an_item_at_a_place_that_a_size_says():
    program = convert(Model(an_item_before), (ROWS,), ({0: "n"},))
    compare(program, Model(an_item_before), *[(torch.randn(n, 4),) for n in (5, 3, 2, 1)])


def accumulated(x):
    rows, total = [], x.new_zeros(4)
    for row in x:
        total = total * 0.5 + row
        rows.append(total)
    return torch.stack(rows)


def test_loops_are_kept_in_inference_mode():
    with torch.inference_mode():
        example = (torch.randn(5, 4),)
        program = convert(Model(accumulated), example, ({0: "n"},))
    assert program.capture_strategy.endswith("with loops kept")
    compare(program, Model(accumulated), *[(torch.randn(n, 4),) for n in (5, 2, 8)])


@pytest.mark.parametrize("function", [written_later, written_later_by_itself], ids=lambda function: function.__name__)
def test_what_is_written_later_is_seen_in_inference_mode(function):
    with torch.inference_mode(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = convert(Model(function), (torch.randn(5, 4),), ({0: "n"},))
    rows = 5 if sizes_of(program.model_proto.graph.input)[0][0] == 5 else 3
    compare(program, Model(function), (torch.randn(rows, 4),))
