"""Loops over steps of a dimension, as chunked attention has them: the loop is kept, and the last piece may be shorter."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau

from .checking import compare, convert

SHAPES = ({0: "rows"},)
RUNS = [(torch.randn(rows, 3),) for rows in (10, 3, 4, 8, 1, 21)]


class Sliced(nn.Module):
    def forward(self, x):
        out = []
        for i in range(0, x.shape[0], 4):
            out.append(x[i : i + 4].softmax(0))
        return torch.cat(out)


class Columns(nn.Module):
    """The pieces lie along another axis than the first."""

    def forward(self, x):
        x = x.T
        return torch.cat([x[:, i : i + 4].cumsum(1) for i in range(0, x.shape[1], 4)], dim=-1)


class Bounded(nn.Module):
    """Tables for the places of a piece, and a state."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.rand(4, 3))
        self.register_buffer("pairs", torch.rand(4, 4))
        self.size = 4

    def forward(self, x):
        state, out = torch.zeros(3), []
        for i in range((x.shape[0] + self.size - 1) // self.size):
            start = i * self.size
            end = min(start + self.size, x.shape[0])
            length = end - start
            piece = x[start:end]
            within = (piece @ piece.T * self.pairs[:length, :length]) @ piece
            out.append(piece * self.rows[:length] + state + within)
            state = state * torch.exp(-self.rows[0] * length) + (piece * self.rows[-length:]).sum(0)
        return torch.cat(out) + state


class Split(nn.Module):
    def forward(self, x):
        return torch.cat([piece.softmax(0) for piece in x.split(4)])


class Together(nn.Module):
    """Several tensors, and the number of the piece."""

    def forward(self, x):
        out = []
        for i, (q, k) in enumerate(zip(torch.split(x, 4), (2 * x).split(4, dim=0))):
            out.append((q @ k.T) @ k + i)
        return torch.cat(out)


class Summed(nn.Module):
    def forward(self, x):
        return torch.stack([piece.sum(0) for piece in x.split(4)])


class Kept(nn.Module):
    """The list of pieces is made before the loop over it."""

    def forward(self, x):
        pieces, out = torch.split(x, 4), []
        for i, piece in enumerate(pieces):
            out.append(piece * i)
        return torch.cat(out)


class RunningSum(nn.Module):
    """What the first round hands on is no number as that before it."""

    def forward(self, x):
        total, out = 0, []
        for piece in x.split(4):
            sums = total + piece.cumsum(0)
            out.append(sums)
            total = sums[-1:]
        return torch.cat(out)


class Chunks(nn.Module):
    """As in Performer: at most so many pieces, and sums that each takes from the one before it."""

    def forward(self, x):
        total, out = 0, []
        for q, k in zip(*map(lambda tensor: tensor.chunk(5, dim=0), (x, 2 * x))):
            sums = total + k.cumsum(0)
            out.append(torch.einsum("nd,ne->nde", q, sums))
            total = sums[-1:]
        return torch.cat(out)


class ChunksOfColumns(nn.Module):
    def forward(self, x):
        return torch.cat([chunk.softmax(1) * (i + 1) for i, chunk in enumerate(torch.chunk(x.T, chunks=3, dim=1))], 1)


class SumsOfChunks(nn.Module):
    def forward(self, x):
        return torch.stack([chunk.sum(0) for chunk in x.chunk(4)])


@pytest.mark.parametrize(
    ("model", "rows"),
    [(Chunks, 10), (Chunks, 3), (ChunksOfColumns, 10), (ChunksOfColumns, 3), (SumsOfChunks, 10), (RunningSum, 10)],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_loop_over_pieces_is_kept_without_a_warning(model, rows):
    model = model().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (torch.randn(rows, 3),), SHAPES)
    compare(program, model, *RUNS, (torch.randn(1, 3),), (torch.randn(2, 3),), (torch.randn(33, 3),))


@pytest.mark.parametrize("rows", [10, 3])
@pytest.mark.parametrize("model", [Sliced, Columns, Bounded, Split, Together, Summed, Kept], ids=lambda model: model.__name__)
def test_a_loop_over_steps_is_kept(model, rows):
    """An example of one piece says nothing else than one of several."""
    model = model().eval()
    compare(convert(model, (torch.randn(rows, 3),), SHAPES), model, *RUNS)


def test_the_rounds_are_no_copies():
    """There are as many nodes for an example of many rounds."""
    few, many = (convert(Sliced().eval(), (torch.randn(rows, 3),), SHAPES).model_proto.ByteSize() for rows in (8, 80))
    assert few == many


class Growing(nn.Module):
    """Each piece is longer than the one before it."""

    def forward(self, x):
        return torch.cat([x[: i + 1].cumsum(0) for i in range(x.shape[0])])


def test_pieces_of_any_length_are_a_sequence():
    compare(convert(Growing(), (torch.randn(4, 3),), SHAPES), Growing(), *RUNS)


class Branches(nn.Module):
    """A name that another branch reads, too, holds in each round what has a type of that round's own."""

    def __init__(self, stepped):
        super().__init__()
        self.stepped = stepped

    def forward(self, x):
        out = []
        if self.stepped:
            for i in range(0, x.shape[0], 4):
                piece = x[i : i + 4]
                out.append(piece * 2)
            return torch.cat(out)
        for row in x:
            piece = row * 3
            out.append(piece)
        return torch.stack(out) + piece


@pytest.mark.parametrize("stepped", [True, False])
def test_a_name_may_hold_another_type_each_round(stepped):
    model = Branches(stepped)
    compare(convert(model, RUNS[0], SHAPES), model, *RUNS)


class Padded(nn.Module):
    """Chunks of 8 rows, the last one padded; only where there is anything to pad."""

    def __init__(self, always):
        super().__init__()
        self.always = always

    def forward(self, x):
        rows, gate = x.shape[0], x.sigmoid()
        missing = (8 - rows % 8) % 8
        if self.always or missing > 0:
            x = F.pad(x, (0, 0, 0, missing))
        chunks = x.reshape(-1, 8, 3)
        decay = chunks.cumsum(1)[:, -1]
        mixed = torch.einsum("ab,bcd->acd", torch.softmax(decay @ decay.T, -1), chunks)
        return (mixed * decay[:, None]).reshape(-1, 3)[:rows].reshape(rows, -1) * gate


@pytest.mark.parametrize("rows", [5, 8, 16, 20])
@pytest.mark.parametrize("always", [True, False])
def test_an_example_of_one_chunk_does_for_several(rows, always):
    model = Padded(always)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (torch.randn(rows, 3),), SHAPES)
    compare(program, model, *RUNS, (torch.randn(16, 3),))


class Special(nn.Module):
    """What it does with 8 rows is not what it does with others."""

    def forward(self, x):
        return x + 1 if x.shape[0] % 8 != 0 else x


def test_a_special_case_that_differs_is_warned_of():
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where"):
        convert(Special(), (torch.randn(5, 3),), SHAPES)
