"""What TorchScript's functions of lists and dicts do, where Python has them otherwise or not at all."""

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import compare, script
from torch import nn

case = Cases()


@case.forward(x(3, 4), others=[(x(5, 4),), (x(1, 4),)], dynamic_axes={"x": {0: "n"}})
def multiplied_in_place(self, x):
    numbers, rows, gone, joined = [1, 2], [x[0]], [3], [x, x * 2]
    names = (numbers, rows, gone, joined)
    numbers *= 2
    rows *= x.size(0) - 2
    gone *= 0
    if bool(x.sum() > 0):
        joined *= 2
    y = x * 1
    y *= 3
    return names[0], torch.stack(names[1] + [x[0]]), len(names[2]), torch.cat(names[3]), len(numbers), y


test_program = case.test()


@pytest.mark.parametrize("size", ["3", "0", "x.size(0) - 1"])
def test_lists_of_ranges(size):
    unit = torch.jit.CompilationUnit(f"def f(x):\n  n = rangelist({size})\n  n.append(7)\n  return x * len(n) + n[0], n\n")
    program = flambeau.export(unit.f, (x(3, 3),), input_names=["x"], dynamic_axes={"x": {0: "rows"}}, verbose=False)
    for rows in (3, 5, 1):
        compare(lambda given: unit.f(given), program, (x(rows, 3),))


def test_the_entry_that_popitem_takes():
    """TorchScript takes the first one, Python the last."""

    class Popped(nn.Module):
        def forward(self, x):
            entries = {"b": x, "a": x + 1, "c": x + 2}
            entries["b"] = x * 3
            key, value = entries.popitem()
            entries[key] = value + 1
            if bool(x.sum() > 0):
                key, value = entries.popitem()
            return value, list(entries.values())[0], len(entries)

    scripted = script(Popped())
    program = flambeau.export(scripted, (x(2, 3),), input_names=["x"], verbose=False)
    for sign in (-1, 1):
        compare(scripted, program, (sign * x(2, 3).abs(),))
