"""Lists to which each round of a dynamic loop adds several numbers: bounds of windows, as vision towers find them."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .checking import compare, convert, sizes_of

GRIDS = ([[1, 2, 3], [1, 4, 2]], [[2, 3, 3]], [[1, 1, 1], [3, 2, 5], [1, 6, 4]])
RUNS = [(torch.tensor(grid),) for grid in GRIDS]


class Windows(nn.Module):
    """The patches of each grid in windows of two by two, and where the windows end."""

    def forward(self, grid):
        index, ends, first, side = [], [0], 0, 2
        for t, h, w in grid.tolist():
            below, beside = side - h % side, side - w % side
            places = F.pad(torch.arange(t * h * w).reshape(t, h, w), (0, beside, 0, below), value=-100)
            places = places.reshape(t, (h + below) // side, side, (w + beside) // side, side).permute(0, 1, 3, 2, 4)
            many = (places != -100).sum([3, 4]).reshape(-1)
            places = places.reshape(-1)
            index.append(places[places != -100] + first)
            ends.extend((many.cumsum(0) + ends[-1]).tolist())
            first += t * h * w
        return torch.cat(index), torch.unique_consecutive(torch.tensor(ends, dtype=torch.int32))


class FromNothing(nn.Module):
    def forward(self, grid):
        sizes = []
        for t, h, w in grid.tolist():
            sizes += torch.full((t,), h * w).tolist()
        return torch.tensor(sizes)


class Pairs(nn.Module):
    """As many in each round."""

    def forward(self, grid):
        bounds, first = [-1], 0
        for t, h, w in grid.tolist():
            bounds.extend([first, first + t * h * w])
            first += t * h * w
        return torch.tensor(bounds), torch.tensor(bounds[1:])


class Three(nn.Module):
    def forward(self, grid):
        flat = []
        for row in grid:
            flat.extend(row.tolist())
        return torch.tensor(flat, dtype=torch.float32)


class Often(nn.Module):
    """In several places of a round, one number and many."""

    def forward(self, grid):
        ends = [0, 0]
        for t, h, w in grid.tolist():
            ends.append(h)
            ends.extend(torch.arange(w).tolist())
            ends.append(t)
        return torch.tensor(ends)


class Inner(nn.Module):
    """By a loop within the loop."""

    def forward(self, grid):
        sizes = []
        for t, h, w in grid.tolist():
            for i in range(t):
                sizes.append(i * h + w)
        return torch.tensor(sizes)


class MayAddNothing(nn.Module):
    """The last number is that of a round before, where a round adds none."""

    def forward(self, grid):
        ends = [7]
        for t, h, w in grid.tolist():
            ends.extend((torch.arange(h - 1) + ends[-1] * 10).tolist())
        return torch.tensor(ends)


class LastOfFew(nn.Module):
    def forward(self, grid):
        ends = [1]
        for t, h, w in grid.tolist():
            ends.extend([ends[-1] + h, ends[-1] + h + w])
        return torch.tensor(ends), torch.tensor(ends[-1])


MODELS = [Windows, FromNothing, Pairs, Three, Often, Inner, MayAddNothing, LastOfFew]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
def test_a_round_adds_several_numbers(model):
    program = convert(model(), RUNS[0], ({0: "grids"},))
    assert sizes_of(program.model_proto.graph.input)[0] == ["grids", 3]
    compare(program, model(), *RUNS)
