"""Questions by which models save work: what is captured serves the general case, where the example shows that it does."""

import warnings

import pytest
import torch
from torch.nn.functional import interpolate

import flambeau
from .checking import compare, convert

SHAPES = ({0: "batch", 2: "height", 3: "width"},)
NATIVE, OTHER = torch.randn(2, 3, 4, 4), torch.randn(1, 3, 5, 6)


class Positions(torch.nn.Module):
    """As in vision transformers: a table of positions is stretched, unless the image has the table's size."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 3, 4, 4))


class Stretched(Positions):
    def forward(self, x):
        if x.shape[2] == 4 and x.shape[3] == 4:
            return x + self.table
        return x + interpolate(self.table, size=x.shape[2:], mode="bicubic")


class StretchedUnlessSame(Positions):
    def forward(self, x):
        table = self.table
        if x.shape[-2:] != table.shape[-2:]:
            table = interpolate(table, size=x.shape[-2:], mode="bilinear")
        return x + table


class Cached(torch.nn.Module):
    """What an earlier call with the same length left is used again."""

    def __init__(self):
        super().__init__()
        self.length, self.phases = None, None

    def forward(self, x):
        if x.shape[3] != self.length:
            self.length, self.phases = x.shape[3], torch.arange(x.shape[3]).cos()
        return x * self.phases


@pytest.mark.parametrize("model", [Stretched, StretchedUnlessSame], ids=lambda model: model.__name__)
def test_tables_for_one_size_are_stretched_for_others(model):
    model = model().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (NATIVE,), SHAPES)
    compare(program, model, (NATIVE,), (OTHER,))


def test_a_cache_of_the_example_is_not_used_for_others():
    model = Cached().eval()
    model(NATIVE)
    program = convert(model, (NATIVE,), SHAPES)
    compare(program, Cached(), (NATIVE,), (OTHER,))


def test_a_size_that_decides_what_is_computed_is_fixed():
    class Decides(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[2] == 4 else x - 1

    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it"):
        program = convert(Decides(), (NATIVE,), SHAPES)
    compare(program, Decides(), (NATIVE,))


class Masked(torch.nn.Module):
    def forward(self, x, padding):
        if torch.isnan(x).any():
            raise ValueError("no number")
        mask = None if not padding.any() else padding[:, None, None, None]
        return x * 2 if mask is None else (x * 2).masked_fill(mask, 0)


def test_a_mask_that_hides_nothing_is_applied():
    none, some = torch.tensor([False, False]), torch.tensor([True, False])
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"whether any or all are \(.*padding.any\(\)"):
        program = convert(Masked(), (NATIVE, none))
    compare(program, Masked(), (NATIVE, none), (NATIVE, some))


def test_an_example_that_shows_nothing_of_the_special_case_is_refused():
    with pytest.raises(flambeau.errors.CaptureError, match=r"padding.any\(\)"):
        convert(Masked(), (NATIVE, torch.tensor([True, False])))


def test_a_mask_that_decides_what_is_computed_is_refused():
    class Decides(torch.nn.Module):
        def forward(self, x):
            return x * 2 if (x > 9).any() else x - 1

    with pytest.raises(flambeau.errors.CaptureError, match="any"):
        convert(Decides(), (NATIVE,))
