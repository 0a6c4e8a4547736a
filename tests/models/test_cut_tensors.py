"""Tensors that data cuts into pieces, as vision towers cut images of several sizes: a loop over the pieces is kept."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau

from .checking import compare, convert

SHAPES = ({0: "patches"}, {0: "images"})
GRIDS = ([[1, 2, 2], [2, 2, 2]], [[1, 2, 4], [1, 2, 3]], [[4, 1, 2]], [[1, 3, 3], [2, 1, 4], [1, 1, 1]])
RUNS = [(torch.randn(sum(t * h * w for t, h, w in grid), 4), torch.tensor(grid)) for grid in GRIDS]


def lengths(grid):
    """Those of all frames: a number of pieces that data decides."""
    return torch.repeat_interleave(grid[:, 1] * grid[:, 2], grid[:, 0])


class Attended(nn.Module):
    """Each frame attends to itself."""

    def forward(self, x, grid):
        ends = F.pad(lengths(grid).cumsum(0, dtype=torch.int32), (1, 0))
        sizes = ends[1:] - ends[:-1]
        splits = [torch.split(tensor, sizes.tolist(), dim=1) for tensor in (x[None], 2 * x[None], x[None] + 1)]
        return torch.cat([F.scaled_dot_product_attention(q, k, v) for q, k, v in zip(*splits)], dim=1)[0]


class Appended(nn.Module):
    def forward(self, x, grid):
        parts = []
        for piece in x.split(lengths(grid).tolist()):
            parts.append(piece.softmax(0))
        return torch.cat(parts)


class Pooled(nn.Module):
    def forward(self, x, grid):
        return torch.stack([piece.mean(0) for piece in x.split(lengths(grid).tolist())])


class Numbered(nn.Module):
    def forward(self, x, grid):
        total = 0
        for length in lengths(grid).tolist():
            total = total + length * length
        return x * total


class Masked(nn.Module):
    """What each frame may attend to, written between bounds that a tensor gives."""

    def forward(self, x, grid):
        ends = F.pad(lengths(grid).cumsum(0), (1, 0))
        allowed = torch.zeros(x.shape[0], x.shape[0], dtype=torch.bool)
        for i in range(1, len(ends)):
            allowed[ends[i - 1] : ends[i], ends[i - 1] : ends[i]] = True
        return F.scaled_dot_product_attention(x[None], x[None], x[None], attn_mask=allowed)[0]


@pytest.mark.parametrize("model", [Attended, Appended, Pooled, Numbered, Masked], ids=lambda model: model.__name__)
def test_a_loop_over_pieces_is_kept(model):
    program = convert(model().eval(), RUNS[0], SHAPES)
    compare(program, model(), *RUNS)


class Mixed(nn.Module):
    """The pieces are not put together as they were cut."""

    def forward(self, x, grid):
        return torch.cat([piece.T for piece in x.split(lengths(grid).tolist())], dim=1).T


class Turned(nn.Module):
    def forward(self, x, grid):
        parts = [piece * 2 for piece in x.split(lengths(grid).tolist())]
        return torch.cat(parts[::-1])


def test_pieces_may_be_put_together_along_another_dimension():
    compare(convert(Mixed(), RUNS[0], SHAPES), Mixed(), *RUNS)


class Prefixed(nn.Module):
    """There is a piece before those of the loop."""

    def forward(self, x, grid):
        parts = [x[:1]]
        for piece in x.split(lengths(grid).tolist()):
            parts.append(piece * 2)
        return torch.cat(parts)


@pytest.mark.parametrize("model", [Turned(), Prefixed()], ids=lambda model: type(model).__name__)
def test_other_uses_of_pieces_are_refused(model):
    with pytest.raises(flambeau.errors.CaptureError, match="split"):
        convert(model, RUNS[0], SHAPES)


class Decides(nn.Module):
    """Whether more than one row is chosen makes no difference."""

    def forward(self, x, chosen):
        rows = x[chosen]
        return F.scaled_dot_product_attention(rows, rows, rows, is_causal=True) if rows.shape[0] > 1 else rows


def test_that_more_than_one_is_there_is_taken_for_granted_with_a_warning():
    x, chosen = torch.randn(5, 4), torch.tensor([True, False, True, True, False])
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"more than one of something .*rows.shape\[0\] > 1"):
        program = convert(Decides(), (x, chosen))
    compare(program, Decides(), (x, chosen), (x, torch.arange(5) == 2), (x, torch.ones(5).bool()))
