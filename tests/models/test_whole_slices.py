"""Slices that torch finds to be a part of a tensor, as in the example: the program does where they are the whole, too."""

import warnings

import pytest
import torch

import flambeau
from .checking import compare, convert

SHAPES = ({0: "batch", 1: "time"},)


class Padded(torch.nn.Module):
    """As in GroundingDINO: text is written into as many columns as there may be."""

    def forward(self, x):
        out = torch.full((x.shape[0], 16), -1.0)
        out[..., : x.shape[1]] = x
        return out


class PaddedFromTheEnd(torch.nn.Module):
    def forward(self, x):
        out = torch.zeros(x.shape[0], 16)
        out[:, 16 - x.shape[1] :] = x
        return out


class Cropped(torch.nn.Module):
    """As in SD3: the middle of a table of positions."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(16, 2))

    def forward(self, x):
        if x.shape[1] > 16:
            raise ValueError("too large")
        first = (16 - x.shape[1]) // 2
        return self.table[first : first + x.shape[1]].sum(1) + x


class Biased(torch.nn.Module):
    """As windowed attention reads its table of biases, here by an index that is cut and then flattened."""

    def __init__(self):
        super().__init__()
        self.register_buffer("index", torch.arange(256).view(16, 16) % 31)
        self.table = torch.nn.Parameter(torch.randn(31, 2))

    def forward(self, x):
        time = x.shape[1]
        return self.table[self.index[:time, :time].reshape(-1)].view(time, time, 2).sum((1, 2)) + x


class Cut(Padded):
    """What is longer is cut, which the example does not show."""

    def forward(self, x):
        if x.shape[1] > 16:
            x = x[:, :16]
        return super().forward(x)


class OtherWhereWhole(Padded):
    def forward(self, x):
        out = super().forward(x)
        return out * 2 if x.shape[1] == 16 else out


@pytest.mark.parametrize("time", [7, 15])
@pytest.mark.parametrize("model", [Padded(), PaddedFromTheEnd(), Cropped()], ids=lambda model: type(model).__name__)
def test_the_whole_is_not_warned_of(model, time):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (torch.randn(2, time),), SHAPES)
    compare(program, model, *((torch.randn(3, each),) for each in (2, 7, 14, 15, 16)))


def test_a_part_is_not_warned_of_where_the_example_has_the_whole():
    model = Biased()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (torch.randn(2, 16),), SHAPES)
    compare(program, model, *((torch.randn(3, each),) for each in (1, 2, 7, 15, 16)))


@pytest.mark.parametrize("model, says", [(Cut(), "time ≤ 16"), (OtherWhereWhole(), "time ≠ 16")], ids=["cut", "other"])
def test_what_is_another_number_there_is_warned_of_once(model, says):
    with pytest.warns(flambeau.errors.ConversionWarning, match=f"right only where {says}: ") as warned:
        program = convert(model, (torch.randn(2, 7),), SHAPES)
    said = [str(each.message) for each in warned if issubclass(each.category, flambeau.errors.ConversionWarning)]
    assert [each.partition("only where ")[2].partition(":")[0] for each in said] == [says]
    compare(program, model, *((torch.randn(3, each),) for each in (2, 7, 15)))
