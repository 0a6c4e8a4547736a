"""What TorchScript's functions of lists and dicts do, where Python has them otherwise or not at all."""

import flambeau
import pytest
import torch
from cases import x
from checking import compare


@pytest.mark.parametrize("size", ["3", "0", "x.size(0) - 1"])
def test_lists_of_ranges(size):
    unit = torch.jit.CompilationUnit(f"def f(x):\n  n = rangelist({size})\n  n.append(7)\n  return x * len(n) + n[0], n\n")
    program = flambeau.export(unit.f, (x(3, 3),), input_names=["x"], dynamic_axes={"x": {0: "rows"}}, verbose=False)
    for rows in (3, 5, 1):
        compare(lambda given: unit.f(given), program, (x(rows, 3),))
