"""What is cut off again of a signal that was padded to a length that its layers have: nothing, of some lengths."""

import math
import warnings

import pytest
import sympy
import torch
import torch.nn.functional as F
from torch.utils._sympy.functions import FloorDiv

import flambeau
from flambeau.capture.questions.general import _is_0_where
from .checking import compare, convert


class Padded(torch.nn.Module):
    """As in Demucs: a signal is padded to a length that strided layers give back."""

    def __init__(self):
        super().__init__()
        self.down, self.up = torch.nn.Conv1d(1, 2, 8, 4), torch.nn.ConvTranspose1d(2, 1, 8, 4)

    @staticmethod
    def length(n):
        for _ in range(2):
            n = max(1, math.ceil((n - 8) / 4) + 1)
        for _ in range(2):
            n = (n - 1) * 4 + 8
        return int(n)

    def forward(self, x):
        n = x.shape[-1]
        missing = self.length(n) - n
        x = self.up(self.down(F.pad(x, (missing // 2, missing - missing // 2))))
        extra = x.shape[-1] - n
        return self.cut(x, extra)

    def cut(self, x, extra):
        return x[..., extra // 2 : -(extra - extra // 2)] if extra else x


class AtTheEnd(Padded):
    def cut(self, x, extra):
        if extra != 0:
            x = x[..., :-extra]
        return x


class Otherwise(Padded):
    """The two ways are not alike."""

    def cut(self, x, extra):
        return x[..., :-extra] * 2 if extra else x


NONE, SOME = 84, 97
assert Padded.length(NONE) == NONE and Padded.length(SOME) > SOME


def exported(model, columns):
    return convert(model, (torch.randn(2, 1, columns),), ({0: "batch", 2: "n"},))


@pytest.mark.parametrize("columns", [NONE, SOME])
@pytest.mark.parametrize("model", [Padded, AtTheEnd])
def test_both_ways_are_right(model, columns):
    module = model()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = exported(module, columns)
    compare(program, module, *((torch.randn(1, 1, each),) for each in (NONE, SOME, 68, 90, 57)))


def test_what_is_left_is_nothing_where_its_number_is_0_and_only_there():
    n = sympy.Symbol("n", integer=True, positive=True)
    left = FloorDiv(n + 3, 4) * 4 - n
    assert _is_0_where(-left, left)
    assert not _is_0_where(left, 84 - n) and not _is_0_where(84 - n, left)


@pytest.mark.parametrize("columns", [NONE, SOME])
def test_ways_that_are_not_alike_are_warned_of(columns):
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where"):
        exported(Otherwise(), columns)
