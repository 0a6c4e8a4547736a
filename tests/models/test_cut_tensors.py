"""Tensors that data cuts into pieces, as vision towers cut images of several sizes: a loop over the pieces is kept."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pad_sequence

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


class Beside(nn.Module):
    """Lists of what is not there, and of numbers, beside the pieces; pieces by their places."""

    def forward(self, x, grid):
        outputs, weights, counts, chosen = [], [], [], []
        pieces = x.split(lengths(grid).tolist())
        for piece in pieces:
            outputs.append(piece.softmax(0))
            weights.append(None)
            counts.append(piece.shape[0] * 2)
        for i in range(len(pieces)):
            chosen.append(pieces[i].cumsum(0))
        longest, total = max(lengths(grid).tolist()), sum(lengths(grid).tolist())
        return torch.cat(outputs), torch.tensor(counts), torch.cat(chosen) * longest + total


class PaddedAtOnce(nn.Module):
    def forward(self, x, grid):
        pieces = x.split(lengths(grid).tolist())
        doubled = []
        for piece in pieces:
            doubled.append(piece * 2)
        return pad_sequence(pieces, batch_first=True), pad_sequence(doubled, padding_value=-1.0)


@pytest.mark.parametrize("model", [Attended, Appended, Pooled, Numbered, Masked, Beside, PaddedAtOnce], ids=lambda model: model.__name__)
def test_a_loop_over_pieces_is_kept(model):
    program = convert(model().eval(), RUNS[0], SHAPES)
    compare(program, model(), *RUNS)


class Windowed(nn.Module):
    """Bounds of windows in a list that is extended by as many numbers as each image has windows, as vision towers with local attention do."""

    def forward(self, x, grid):
        bounds, order, first = [0], [], 0
        for count, height, width in grid.tolist():
            places = torch.arange(count * height * width).reshape(count, height, width)
            padded = F.pad(places, (0, 2 - width % 2), value=-1).reshape(count, height, -1, 2)
            sizes = (padded != -1).sum([1, 3]).flatten()
            order.append(padded.transpose(1, 2)[padded.transpose(1, 2) != -1] + first)
            bounds.extend((sizes.cumsum(0) + bounds[-1]).tolist())
            first += count * height * width
        frames = [0]
        frames += lengths(grid).tolist()
        ends = torch.unique_consecutive(torch.tensor(bounds, dtype=torch.int32))
        pieces = x[torch.cat(order)].split((ends[1:] - ends[:-1]).tolist())
        return torch.cat([piece.softmax(0) for piece in pieces]), ends, torch.tensor(frames)


def test_a_list_is_extended_by_as_many_numbers_as_data_says():
    runs = [(torch.randn(sum(t * h * w for t, h, w in grid), 4), torch.tensor(grid)) for grid in ([[1, 2, 2], [2, 2, 3]], [[1, 3, 5], [2, 1, 4]])]
    program = convert(Windowed().eval(), runs[0], ({0: "patches"}, None))
    compare(program, Windowed(), *runs)


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


class Surrounded(nn.Module):
    """There are pieces before and after those of the loop."""

    def forward(self, x, grid):
        parts = [x[:1]]
        for piece in x.split(lengths(grid).tolist()):
            parts.append(piece * 2)
        parts.append(x[1:])
        return torch.cat(parts)


def test_pieces_may_come_to_what_a_list_holds():
    compare(convert(Surrounded(), RUNS[0], SHAPES), Surrounded(), *RUNS)


def test_other_uses_of_pieces_are_refused():
    with pytest.raises(flambeau.errors.CaptureError, match="split"):
        convert(Turned(), RUNS[0], SHAPES)


ROWS = ({0: "batch", 1: "time"}, {0: "batch"})
PADDED = [(torch.randn(batch, time, 4), torch.randint(0, time + 1, (batch,))) for batch, time in ((3, 6), (4, 5), (1, 7))]


class Unpadded(nn.Module):
    def forward(self, x, lengths):
        return torch.cat([x[i, :length] for i, length in enumerate(lengths)])


class Listed(nn.Module):
    """The lengths are numbers, known before the loop."""

    def forward(self, x, lengths):
        numbers = lengths.tolist()
        return torch.cat([row[:length] * 2 for row, length in zip(x, numbers)])


class Repeated(nn.Module):
    """What a round hands on decides nothing of how long a piece is; another list gets the rest of each row."""

    def forward(self, x, lengths):
        sum, repeated, rest = x.new_zeros(4), [], [x[0]]
        for row, length in zip(x, lengths):
            sum = sum + row.mean(0)
            repeated.append(row.repeat_interleave(length, 0) + sum)
            rest.append(row[length:])
        return torch.cat(repeated), torch.cat(rest), sum


class Chosen(nn.Module):
    def forward(self, x, lengths):
        return torch.cat([row[row[:, 0] > 0].T for row in x], 1), lengths


class PaddedAgain(nn.Module):
    """By hand, in a second loop over the pieces."""

    def forward(self, x, lengths):
        pieces = [row[:length] for row, length in zip(x, lengths)]
        return torch.stack([torch.cat([piece, piece.new_ones(x.shape[1] - piece.shape[0], 4)]) for piece in pieces])


class PaddedByPyTorch(nn.Module):
    def forward(self, x, lengths):
        pieces = [row[:length] for row, length in zip(x, lengths)]
        return pad_sequence(pieces, batch_first=True, padding_value=-1.0), pad_sequence(pieces)


MEASURED = (Unpadded, Listed, Repeated, Chosen, PaddedAgain, PaddedByPyTorch)


@pytest.mark.parametrize("model", MEASURED, ids=lambda model: model.__name__)
def test_pieces_may_be_as_long_as_their_rounds_say(model):
    program = convert(model().eval(), PADDED[0], ROWS, capture="export")
    compare(program, model(), *PADDED)


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


class LooksUp(nn.Module):
    """A second row is taken where there is one, as schedulers of diffusion look for their step."""

    def __init__(self):
        super().__init__()
        self.register_buffer("times", torch.arange(10, 0, -1))

    def forward(self, x, time):
        found = (self.times == time).nonzero()
        return x * found[1 if len(found) > 1 else 0]


def test_that_one_is_there_is_taken_for_granted_where_the_example_has_one():
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"one of something .*len\(found\) > 1 else 0\]\): for more, it computes the same as for one"):
        program = convert(LooksUp(), (torch.randn(5, 4), torch.tensor(7)))
    compare(program, LooksUp(), *((torch.randn(5, 4), torch.tensor(time)) for time in (7, 1, 10)))


class Located(nn.Module):
    """Where each patch lies in its image, by rows of numbers, and attention of each frame to itself, as vision towers have it."""

    def forward(self, x, grid):
        places = []
        for (count, height, width), factor in zip(grid.tolist(), torch.tensor([3]).expand(len(grid)).tolist()):
            rows, columns = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
            places.append(torch.stack([rows.flatten(), columns.flatten() * factor], -1).repeat(count, 2))
        sizes = lengths(grid)
        splits = [torch.split(tensor, sizes.tolist()) for tensor in (x + torch.cat(places), 2 * x)]
        return torch.cat([a.softmax(0) * b for a, b in zip(*splits)])


class SummedRows(nn.Module):
    def forward(self, x, grid):
        first = 0
        for count, height, width in grid.tolist():
            first = first + count * height - width
        return x + first, torch.stack([x[0] * height + width for _, height, width in grid.tolist()])


@pytest.mark.parametrize("model", [Located, SummedRows], ids=lambda model: model.__name__)
def test_rows_of_numbers_are_gone_over(model):
    program = convert(model().eval(), RUNS[0], SHAPES)
    compare(program, model(), *RUNS)


class NumbersOfRows(nn.Module):
    """So many rows as the tensor has, of a number of numbers that is dynamic."""

    def forward(self, x, lengths):
        kept, left = lengths.tolist()
        return torch.cat([row[:length] for row, length in zip(x, kept)]), torch.tensor(left)


def test_rows_may_hold_a_dynamic_number_of_numbers():
    runs = [(torch.randn(batch, 5), torch.randint(1, 6, (2, batch))) for batch in (3, 4, 2)]
    model = NumbersOfRows()
    program = convert(model, runs[0], ({0: "batch"}, {1: "batch"}))
    compare(program, model, *runs)
