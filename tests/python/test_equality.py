"""Models that ask whether tensors are equal."""

import pytest
import torch

import flambeau
from flambeau.errors import CaptureError, ConversionWarning

A, B = torch.randn(4, 2), torch.randn(4, 2)


class Call(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.scale = torch.nn.Parameter(torch.tensor([0.5, 2.0]))

    def forward(self, a, b):
        return self.function(self, a, b)


def compare(function, *others, example=(A, B)):
    model = Call(function)
    program = flambeau.export(model, example, dynamic_shapes=({0: "n"}, {0: "n"}))
    for given in (example, *others):
        torch.testing.assert_close(program(*given)[0], model(*given).detach())


def distances(self, a, b):
    """From each point to each other: of a point to itself there is none."""
    one, other = a, a
    result = torch.cdist(one, other) + 1
    return result - torch.diag(result.diagonal()) if torch.equal(one, other) else result


def scaled(self, a, b):
    one, other = (a / self.scale).reshape(-1), (a / self.scale).view(-1)
    return a + 1 if one.equal(other) else a


def close(self, a, b):
    return a + 1 if torch.allclose(a.exp(), a.exp()) else a


def clamped(self, a, b):
    alike = a + 1 if torch.equal(a, a) else a
    return alike + b.clamp(min=0) if (b < 0).any() else alike + b


@pytest.mark.parametrize("function", [distances, scaled, close, clamped])
def test_what_is_computed_alike_is_equal(function):
    with pytest.warns(ConversionWarning, match="no NaN"):
        compare(function, (B, A), (torch.randn(7, 2), torch.randn(7, 2)))


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
def test_integers_that_are_computed_alike_are_equal():
    def function(self, a, b):
        rows = torch.arange(a.shape[0])
        return a + rows[:, None] if torch.equal(rows * 2, rows * 2) else a

    compare(function, (torch.randn(7, 2), torch.randn(7, 2)))


def either(self, a, b):
    return a * 2 if torch.equal(a, b) else a + b


def about(self, a, b):
    return a + a if (a + 1).allclose(b + 1) else a + b


@pytest.mark.parametrize("function", [either, about])
@pytest.mark.parametrize("example", [(A, B), (A, A.clone())])
def test_ways_that_give_the_same_for_what_is_equal(function, example):
    with pytest.warns(ConversionWarning, match="some elements are set"):
        compare(function, (B, B.clone()), (B, A), example=example)


def drawn(self, a, b):
    return a if torch.equal(torch.rand(4), torch.rand(4)) else a * 0


def written(self, a, b):
    one = a + 0
    other = a + 0
    one.view(-1)[0] = 5
    return a if torch.equal(one, other) else a * 0


@pytest.mark.parametrize("function", [lambda self, a, b: a * 2 if torch.equal(a, b) else a * 3, drawn, written, lambda self, a, b: a if a.equal(a + 1) else b])
@pytest.mark.parametrize("example", [(A, B), (A, A.clone())])
def test_what_may_be_equal_or_not_is_refused(function, example):
    with pytest.raises(CaptureError, match="by a tensor's value"):
        compare(function, example=example)


def test_sizes_that_differ_in_the_example_are_warned_of():
    class Joined(torch.nn.Module):
        def forward(self, a, b):
            return a if torch.equal(a, b) else a.sum(0) + b.sum(0)

    with pytest.warns(ConversionWarning, match="right only where a ≠ b"):
        flambeau.export(Joined(), (A, B[:3]), dynamic_shapes=({0: "a"}, {0: "b"}))
