"""Tensors that are written where they lie in a list whose length, or the place in which, only a run knows."""

from typing import List

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import check, script
from torch import Tensor, nn

case = Cases()


def rows(function):
    """Decorates a forward of a tensor with a dynamic number of rows."""
    return case.forward(x(4, 3), others=[(x(6, 3),), (-x(5, 3).abs(),)], dynamic_axes={"a": {0: "rows"}})(function)


@rows
def each_by_its_place(self, a):
    parts = [a[i] * 2 for i in range(a.size(0))]
    for i in range(len(parts)):
        parts[i] += 1
    for i in range(1, len(parts)):
        parts[i] += parts[i - 1]
    return torch.stack(parts)


@rows
def each_by_its_name(self, a):
    parts = [torch.zeros(3) for _ in range(a.size(0))]
    for i, part in enumerate(parts):
        part.add_(a[i])
        part[i % 3] = 5.0
    return torch.stack(parts)


@rows
def while_it_grows(self, a):
    parts: List[Tensor] = []
    total = torch.zeros(3)
    for i in range(a.size(0)):
        total += a[i]
        parts.append(total.clone())
        parts[i][0] = a[i][1]
        parts[-1] *= 2
    return torch.stack(parts), total


@rows
def states_of_a_recurrence(self, a):
    state = torch.zeros(3)
    states: List[Tensor] = []
    for i in range(a.size(0)):
        state = torch.tanh(state + a[i])
        states.append(state)
    states[0] += 1
    states[-1].mul_(2)
    return torch.stack(states)


@rows
def on_either_path(self, a):
    parts = [a[i] * 2 for i in range(a.size(0))]
    if bool(a.sum() > 0):
        parts[0] += 1
        parts[-1].fill_(3)
    else:
        parts[1][0] = 7
    return torch.stack(parts)


@rows
def in_nested_loops(self, a):
    parts = [a[i] * 2 for i in range(a.size(0))]
    first = parts[0]
    for i in range(len(parts)):
        for k in range(len(parts)):
            if i != k:
                parts[k][0] += parts[i][1]
    return torch.stack(parts), first


@rows
def in_a_copy_of_a_part(self, a):
    parts = [a[i] * 2 for i in range(a.size(0))]
    parts.append(torch.zeros(3))
    parts.reverse()
    rest = [torch.ones(3)] + parts[1:]
    rest[0] += 1
    rest[1] += 2
    return torch.stack(rest)


@rows
def pieces_of_a_tensor(self, a):
    whole = a * 1
    parts = list(whole.split(2))
    parts[0][:, 0] = 1.0
    parts[1] += 2
    whole[-1] = 4.0
    return torch.cat(parts), whole


@rows
def pieces_and_others(self, a):
    parts = list((a * 1).unbind(0))
    parts[0] = parts[0] + 1
    parts[1] += 2
    parts[2].mul_(3)
    return torch.stack(parts)


@rows
def of_known_length_at_an_open_place(self, a):
    parts = [a.clone(), a + 1]
    for i in range(a.size(0)):
        parts[i % 2] += a[i]
        parts[1 - i % 2][i] = 0
    return parts[0], parts[1], len(parts)


@rows
def until_data_says_so(self, a):
    parts = [a[0] * 2, a[1] + 1, a[2].clone()]
    i = 0
    while i < len(parts) and bool(parts[i][0] < 1):
        parts[i] += 1
        i += 1
    return torch.stack(parts), i


@rows
def rows_by_the_round(self, a):
    y = a.clone()
    done: List[Tensor] = []
    for i in range(1, y.size(0)):
        y[i] += y[i - 1]
        done.append(y[i])
    return torch.stack(done), y


@rows
def rows_by_a_counter(self, a):
    y = a.clone()
    done: List[Tensor] = []
    i = 0
    while i < y.size(0):
        y[i, 1:] = y[i, 1:] * 2
        done.insert(0, y[i])
        i += 1
    return torch.stack(done), y


@rows
def rows_of_a_part(self, a):
    y = a.clone()
    rest = y[1:, 1:]
    done: List[Tensor] = []
    for i in range(rest.size(0)):
        rest[i] = rest[i] * 2
        done.append(rest[i])
    return torch.stack(done), y


@rows
def columns_of_the_input(self, a):
    done: List[Tensor] = []
    for i, t in enumerate(a.unbind(1)):
        t.mul_(2)
        a[:, i] += 1
        done.append(a[:, i])
    return torch.stack(done)


@rows
def rows_on_one_path(self, a):
    y = a.clone()
    done = [torch.zeros(3)]
    for i in range(y.size(0)):
        if bool(y[i, 0] > 0):
            y[i] = y[i] * 2
            done.append(y[i])
        else:
            y[i] = 0.0
    return torch.stack(done), y


@case.forward(x(4, 3), others=[(x(6, 3),)], dynamic_axes={"a": {0: "rows"}}, opset_version=17)
def pieces_by_the_round(self, a):
    done: List[Tensor] = []
    for piece in a.chunk(a.size(0)):
        done.append(piece.relu_())
    return torch.cat(done)
@case.forward(x(4, 3), torch.tensor(2), others=[(x(4, 3), torch.tensor(n)) for n in (1, 3)])
def after_one_was_taken_out(self, a, n: int):
    parts = [a[0] + 1, a[1] * 2, a[2] * 3]
    taken = parts.pop(n - 1) * 2
    for part in parts:
        part += taken
    others = [a[0] + 1, a[1] * 2]
    first = others[n - 2] * 1
    others.insert(n - 1, a[3] + 5)
    others[n - 2].mul_(3)
    return torch.stack(parts), taken, torch.stack(others), len(parts), first


test_program = case.test()


REFUSED = []


def refused(forward):
    """Decorates a forward in which one tensor may be in the list twice, or have another name that is read after."""
    REFUSED.append(type(forward.__name__, (nn.Module,), {"forward": forward}))
    return forward


@refused
def the_same_in_each_round(self, a):
    same = torch.zeros(3)
    parts = [a[i] * 2 for i in range(a.size(0))]
    for _ in range(a.size(0)):
        parts.append(same)
    parts[-1] += 1
    return torch.stack(parts)


@refused
def one_that_has_a_name(self, a):
    same = torch.zeros(3)
    parts = [a[i] * 2 for i in range(a.size(0))]
    parts.append(same)
    parts[-1] += 1
    return torch.stack(parts), same


@refused
def pieces_of_an_expanded_tensor(self, a):
    parts = list(a[0].expand(a.size(0), 3).unbind(0))
    parts[0] = parts[0] * 1
    parts[1] += 1
    return torch.stack(parts)


@refused
def after_it_moved_in_the_list(self, a):
    parts = [a[i] * 2 for i in range(a.size(0))]
    first = parts[0]
    parts.insert(0, torch.ones(3))
    first += 1
    return torch.stack(parts)


@refused
def rows_before_they_are_written(self, a):
    y = a.clone()
    done: List[Tensor] = []
    for i in range(y.size(0)):
        done.append(y[i])
        y[i] = y[i] * 2
    return torch.stack(done)


@refused
def rows_that_the_next_round_writes(self, a):
    y = a.clone()
    done: List[Tensor] = []
    for i in range(1, y.size(0)):
        y[i - 1] += y[i]
        done.append(y[i])
    return torch.stack(done)


@refused
def rows_and_columns(self, a):
    y = a @ a.t()
    done: List[Tensor] = []
    for i in range(y.size(0)):
        y[:, i] = y[:, i] + 1
        done.append(y[i])
    return torch.stack(done)


@refused
def rows_of_parts_that_overlap(self, a):
    y = a.clone()
    rest = y[1:]
    done: List[Tensor] = []
    for i in range(rest.size(0)):
        rest[i] = rest[i] * 2
        done.append(y[i])
    return torch.stack(done)


@refused
def rows_of_an_expanded_tensor(self, a):
    y = a[:1].clone().expand(a.size(0), 3)
    done: List[Tensor] = []
    for i in range(a.size(0)):
        y[i] += 1
        done.append(y[i])
    return torch.stack(done)


@refused
def rows_written_from_both_ends(self, a):
    y = a.clone()
    done: List[Tensor] = []
    for i in range(-2, y.size(0) - 2):
        y[i] = y[i] * 2
        done.append(y[i])
    return torch.stack(done)


@refused
def rows_by_a_number_that_goes_back(self, a):
    y = a.clone()
    done: List[Tensor] = []
    i = 0
    k = 0
    while k < y.size(0):
        y[i] = y[i] * 2
        done.append(y[i])
        i += 1
        k += 1
        if i > 2:
            i = 0
    return torch.stack(done)


@refused
def rows_of_all_rounds_are_written_after(self, a):
    y = a.clone()
    done: List[Tensor] = []
    for i in range(y.size(0)):
        y[i] = y[i] * 2
        done.append(y[i])
    y += 1
    return torch.stack(done)


@pytest.mark.parametrize("make", REFUSED, ids=lambda make: make.__name__)
def test_what_may_be_several_is_refused(make):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="unknown-aliasing"):
        check(make(), (x(4, 3),), dynamic_axes={"a": {0: "rows"}})


def test_the_memory_around_an_element_is_not_looked_at():
    class Strided(nn.Module):
        def forward(self, a):
            parts = [a[i] * 2 for i in range(a.size(0))]
            parts[0].as_strided([2], [1]).zero_()
            return torch.stack(parts)

    with pytest.raises(flambeau.errors.OnnxExporterError, match="as_strided on an element of a list of run-time length"):
        flambeau.onnx.export(script(Strided()), (x(4, 3),), None, dynamo=False, input_names=["a"], dynamic_axes={"a": {0: "rows"}})
