"""Shortcuts that models take where all of some integers are alike, above a number or in order, whatever the example holds."""

import pytest
import torch

import flambeau
from .checking import compare


class Shortcut(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def above_0(edges):
    kept = edges[0] > 0
    if kept.all():
        return edges
    return edges[:, kept]


def coalesced(edges):
    """Of edges in order, each once."""
    keys = edges[0] * 100 + edges[1]
    new = torch.cat([keys.new_ones(1) > 0, keys[1:] > keys[:-1]])
    if new.all():
        return edges
    return edges[:, new]


def distinct(edges):
    numbers = edges[1]
    return numbers if (numbers[1:] > numbers[:-1]).all() else numbers.unique()


def below_0(edges):
    """As labels that are ignored."""
    return edges.flatten() if (edges < 0).all() else edges[edges < 0]


EDGES = [
    [[1, 0, 2], [1, 0, 2]],
    [[0, 1, 1, 2], [0, 1, 1, 2]],
    [[0, 1, 1, 2, 0], [1, 0, 2, 1, 1]],
    [[0, 1, 1, 2], [1, 0, 0, 1]],
]
OTHERS = [[[1, 2, 3], [2, 4, 5]], [[0, 0, 2, 3], [2, 2, 1, 1]], [[-1, -2], [-3, -1]], [[0], [1]]]


@pytest.mark.parametrize("example", EDGES, ids=str)
@pytest.mark.parametrize("function", [above_0, coalesced, distinct, below_0])
def test_both_ways_are_right(function, example):
    with pytest.warns(flambeau.errors.ConversionWarning, match="some elements are set and some are not"):
        program = flambeau.export(Shortcut(function), (torch.tensor(example),), dynamic_shapes=({1: "n"},), capture="export")
    compare(program, Shortcut(function), *((torch.tensor(each),) for each in (*EDGES, *OTHERS)))


def test_small_integers_have_such_examples_too():
    example = torch.tensor([[0, 1, 2], [1, 0, 2]], dtype=torch.uint8)
    with pytest.warns(flambeau.errors.ConversionWarning, match="some elements are set and some are not"):
        program = flambeau.export(Shortcut(above_0), (example,), dynamic_shapes=({1: "n"},), capture="export")
    compare(program, Shortcut(above_0), (example,), (example + 1,))


def test_a_shortcut_to_something_else_is_refused():
    def other(edges):
        kept = edges[0] > 0
        return edges * 2 if kept.all() else edges[:, kept]

    with pytest.raises(flambeau.errors.CaptureError, match="kept.all"):
        flambeau.export(Shortcut(other), (torch.tensor(EDGES[1]),), dynamic_shapes=({1: "n"},), capture="export")
