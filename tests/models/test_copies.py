"""Questions for no more than a copy of a tensor (``if rows >= 64: x = x.contiguous()``): either answer gives the same."""

import warnings

import pytest
import torch
from torch.nn.functional import interpolate

import flambeau
from .checking import compare, convert

SHAPES = ({0: "batch", 2: "height", 3: "width"},)


class Upsample(torch.nn.Module):
    """As in diffusers."""

    def forward(self, x):
        if x.shape[0] >= 4:
            x = x.contiguous()
        if x.numel() * 2.0 > pow(2, 31):
            x = x.contiguous()
        return interpolate(x, scale_factor=2.0, mode="nearest")


class Chosen(torch.nn.Module):
    def forward(self, x):
        x = x.clone() if x.shape[2] > 5 and x.shape[3] > 2 else x
        return x * 2


class Elsewhere(torch.nn.Module):
    def forward(self, x):
        if x.shape[1] == 7:
            return x
        elif x.shape[2] == 5:
            x = x.clone(memory_format=torch.contiguous_format)
        return x + 1


class AskedAgain(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] >= 4:
            x = x.contiguous()
        return x * 2 if x.shape[0] >= 4 else x


class Beside(torch.nn.Module):
    def forward(self, x):
        if x.shape[0] >= 4:
            x = x.contiguous()
            x = x * 2
        return x


class Written(torch.nn.Module):
    """What is written into a copy is not in what was copied."""

    def forward(self, x):
        x = x * 1
        y = x
        if x.shape[0] >= 4:
            x = x.clone()
        x.add_(1)
        return y


class OfAnother(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        if x.shape[0] >= 4:
            x = y.contiguous()
        return x


class Large(torch.nn.Module):
    def forward(self, x):
        return x * 2 if x.numel() * 2.0 > 2**31 else x


X = torch.randn(2, 3, 5, 7)
RUNS = [(torch.randn(*sizes),) for sizes in ((2, 3, 5, 7), (6, 3, 6, 4), (3, 3, 4, 2), (4, 3, 8, 3))]


@pytest.mark.parametrize("model", [Upsample(), Chosen(), Elsewhere()], ids=lambda model: type(model).__name__)
def test_copies_are_not_warned_of(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (X,), SHAPES)
    compare(program, model, *RUNS)


@pytest.mark.parametrize("model", [AskedAgain(), Beside(), Written(), OfAnother()], ids=lambda model: type(model).__name__)
def test_what_is_more_than_a_copy_is_warned_of(model):
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where batch < 4"):
        program = convert(model, (X,), SHAPES)
    compare(program, model, RUNS[0], RUNS[2])


def test_conditions_are_told_in_integers():
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where 6\*batch\*height\*width ≤ 2147483648: "):
        convert(Large(), (X,), SHAPES)
