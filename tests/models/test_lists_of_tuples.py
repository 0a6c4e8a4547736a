"""Lists to which each round of a dynamic loop appends a tuple, and loops that go over them afterwards."""

from collections import namedtuple

import pytest
import torch
from torch import nn

import flambeau

from .checking import compare, convert, sizes_of

RUNS = [(torch.randn(n, 4),) for n in (12, 9, 4, 1, 15)]
State = namedtuple("State", "hidden, cell")


class Model(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x):
        return self.function(self, x)


def bounds_of_chunks(model, x):
    chunks, out = [], []
    for start in range(0, x.shape[0], 4):
        chunks.append((start, min(x.shape[0], start + 4)))
    for start, stop in chunks:
        out.append(x[start:stop].softmax(0))
    return torch.cat(out) + x


def two_lists_at_once(model, x):
    rows, columns, out = [], [], []
    for start in range(0, x.shape[0], 4):
        rows.append((start, min(x.shape[0], start + 4)))
    for start in range(0, x.shape[0], 4):
        columns.append((start, min(x.shape[0], start + 4)))
    if len(rows) != len(columns):
        raise ValueError("chunks differ")
    for (a, b), (c, d) in zip(rows, columns):
        out.append((x[a:b] @ x[c:d].T).softmax(-1) @ x[c:d])
    return torch.cat(out)


def states(model, x):
    found = []
    h = c = x.new_zeros(1, 4)
    for row in x:
        h, c = model.cell(row[None], (h, c))
        found.append((h, c))
    h, c = found[-1]
    return torch.cat([h for h, c in found]), torch.cat([each[1] for each in found]), h + c


def states_read_last(model, x):
    found = [(x.new_zeros(1, 4), x.new_ones(1, 4))]
    for row in x:
        found.append(model.cell(row[None], found[-1]))
    return found[-1]


def with_names(model, x):
    found = []
    for row in x:
        found.append(State(hidden=row.cumsum(0), cell=row.sum()))
    return torch.stack([state.hidden for state in found]), torch.stack([state.cell for state in found])


def numbered(model, x):
    """A place, a tensor and a constant; then each by its place."""
    found, out = [], []
    for i, row in enumerate(x):
        found.append((i, row * i, "row", None))
    for i, (place, row, name, nothing) in enumerate(found):
        if name == "row" and nothing is None:
            out.append(row + place * 2 + i)
    return torch.stack(out), torch.tensor(len(found))


def numbers_of_data(model, x):
    """Of which a round alone knows the numbers."""
    found, out = [], []
    for row in x:
        most = row.argmax().item()
        found.append((most, row))
    for most, row in found:
        out.append(row[most])
    return torch.stack(out)


def some_of_them(model, x):
    found = []
    for row in x:
        found.append((row.max(), row.min()))
    greatest, least = found[0]
    return greatest, least, found[-1][0]


def within_tuples(model, x):
    found, out = [], []
    for i, row in enumerate(x):
        found.append(((i, i + 1), (row, row.exp())))
    for (i, j), (row, other) in found:
        out.append(row * i + other * j)
    return torch.stack(out)


FUNCTIONS = [bounds_of_chunks, two_lists_at_once, states, states_read_last, with_names, numbered, numbers_of_data, some_of_them, within_tuples]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_list_of_tuples_is_gone_over(function):
    torch.manual_seed(0)
    model = Model(function).eval()
    program = convert(model, RUNS[0], ({0: "n"},))
    assert sizes_of(program.model_proto.graph.input)[0] == ["n", 4]
    compare(program, model, *RUNS)




def of_lists(model, x):
    """That may be written into."""
    found, out = [], []
    for i, row in enumerate(x):
        found.append([i, row])
    for each in found:
        each[0] += 1
    for i, row in found:
        out.append(row * i)
    return torch.stack(out)


def test_lists_in_lists_stay_what_the_rounds_make_of_them():
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 12"):
        program = convert(Model(of_lists), RUNS[0], ({0: "n"},))
    compare(program, Model(of_lists), RUNS[0])
