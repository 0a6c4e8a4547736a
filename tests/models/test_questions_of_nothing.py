"""Whether there is anything of what a size is computed to: the model asks, and what is captured serves both answers."""

import warnings

import pytest
import torch
from torch.nn.functional import pad

import flambeau
from .checking import compare, convert

SHAPES = ({0: "batch", 1: "time"},)


class Compressed(torch.nn.Module):
    """Whole chunks of the past, as a short prompt has none."""

    def __init__(self, last):
        super().__init__()
        self.last = last

    def forward(self, x):
        batch, time, width = x.shape
        chunks = x[:, : time // 4 * 4]
        if chunks.shape[1] > 0:
            chunks = chunks.view(batch, chunks.shape[1] // 4, 4, self.last).softmax(2).sum(2)
        else:
            chunks = chunks.new_zeros((batch, 0, width))
        return torch.cat([x, chunks], 1)


class Context(torch.nn.Module):
    def forward(self, x):
        x = x[:, -32:]
        time = x.shape[1]
        if time < 32:
            x = torch.cat([x.new_zeros(x.shape[0], 32 - time, 4), x], 1)
        elif time > 32:
            x = x[:, -32:]
        return x * 2


class Missing(torch.nn.Module):
    def forward(self, x):
        x = x[:, -32:]
        missing = 32 - x.shape[1]
        if missing > 0:
            x = pad(x, (0, 0, missing, 0))
        return x * 2


@pytest.mark.parametrize("time", [3, 9])
@pytest.mark.parametrize("model", [Compressed(4), Compressed(-1)], ids=["told", "inferred"])
def test_chunks_of_which_there_may_be_none(model, time):
    serves_all(model, (time, 3, 4, 9, 14))


@pytest.mark.parametrize("time", [20, 32, 40])
@pytest.mark.parametrize("model", [Context(), Missing()], ids=["context", "missing"])
def test_what_is_cut_to_a_length_and_padded_to_it(model, time):
    serves_all(model, (time, 20, 31, 32, 33, 50))


def serves_all(model, times):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (torch.randn(2, times[0], 4),), SHAPES)
    compare(program, model, *((torch.randn(3, time, 4),) for time in times))


def test_what_does_something_else_with_nothing_is_warned_of():
    class Counted(torch.nn.Module):
        def forward(self, x):
            chunks = x[:, : x.shape[1] // 4 * 4]
            return chunks.sum(1) if chunks.shape[1] > 0 else x.sum(1)

    with pytest.warns(flambeau.errors.ConversionWarning, match="the captured program is right only where"):
        program = convert(Counted(), (torch.randn(2, 9, 4),), SHAPES)
    compare(program, Counted(), *((torch.randn(3, time, 4),) for time in (9, 4, 14)))


class Contrasted(torch.nn.Module):
    """Similarities of each to all others, of which data decides how many there are."""

    def forward(self, x):
        alike, count = x @ x.T, x.shape[0]
        others = ~torch.eye(count, dtype=torch.bool)
        return torch.logsumexp(torch.cat([alike[others].view(count, -1), alike.tanh()[others].view(count, -1)], 1), 1)


@pytest.mark.parametrize("shapes", [None, ({0: "batch"},)], ids=["static", "dynamic"])
def test_rows_of_what_data_decides(shapes):
    with pytest.warns(flambeau.errors.ConversionWarning, match="assumes that there is something"):
        program = convert(Contrasted(), (torch.randn(4, 3),), shapes)
    compare(program, Contrasted(), *((torch.randn(count, 3),) for count in ((4, 6, 2) if shapes else (4,))))
