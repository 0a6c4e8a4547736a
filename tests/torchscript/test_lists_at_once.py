"""Operators that do one thing to each tensor of a list, and others that are replaced by what says the same."""

from typing import List

import pytest
import torch
from checking import Calls, compare, script
from torch import Tensor

import flambeau


def added(x):
    sums = torch._foreach_add([x, x * 2], 1.5)
    return sums[0] * sums[1]


def of_two_lists(x):
    parts = torch._foreach_mul([x, x.abs()], [x + 1, x - 1])
    return torch.cat(torch._foreach_addcmul(parts, [x, x], [x * 2, x * 3], 0.5))


def of_numbers(x):
    parts = torch._foreach_pow([x.abs(), x.abs() + 1], 2.5)
    return parts[0] - parts[1]


def maxima(x):
    return torch.stack(torch._foreach_max([x, -x]))


def copied(x):
    return torch.ops.aten._lazy_clone(x) + 1


FUNCTIONS = [added, of_two_lists, of_numbers, maxima, copied]


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_lists_of_tensors(function, how):
    options = {"input_names": ["x"], "dynamic_axes": {"x": {0: "rows"}}}
    if how == "trace":
        program = flambeau.export(Calls(function), (torch.randn(3, 2),), capture="trace", **options)
    else:
        program = flambeau.export(torch.jit.script(function), (torch.randn(3, 2),), **options)
    for rows in (3, 5):
        compare(Calls(function), program, (torch.randn(rows, 2),))


class Filled(torch.nn.Module):
    def forward(self, x):
        parts: List[Tensor] = []
        for i in range(x.shape[0]):
            parts.append(x[i] * i)
        return torch.stack(torch._foreach_neg(parts))


def test_lists_of_run_time_length_are_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="_foreach_neg takes a list whose length only the run knows"):
        flambeau.export(script(Filled()), (torch.randn(3, 2),), input_names=["x"], dynamic_axes={"x": {0: "rows"}})
