"""A ``while True`` that an ``if`` leaves goes around as often as for the example: that it is left is no question of the general case."""

import pytest
import torch

import flambeau

from .checking import compare, convert


class Overlapping(torch.nn.Module):
    def forward(self, x):
        parts, start, n = [], 0, len(x)
        while True:
            end = min(start + 4, n)
            parts.append((start, end))
            if end == n:
                break
            start = end - 1
        return torch.stack([x[a:b].mean(0) for a, b in parts])


@pytest.mark.parametrize("rows", [5, 12])
def test_a_loop_that_is_left_comes_to_an_end(rows):
    example = (torch.rand(rows, 3),)
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where n > 4"):
        program = convert(Overlapping(), example, ({0: "n"},))
    compare(program, Overlapping(), example)
