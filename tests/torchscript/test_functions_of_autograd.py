"""Functions of autograd in traces: torch records their nodes twice, in a graph of their own, whose values are numbered anew, and after the call."""

import pytest
import torch
from checking import Calls, check, compare

import flambeau


class Rounds(torch.autograd.Function):
    """More nodes than the model around it has, as many as the example has columns."""

    @staticmethod
    def forward(ctx, x):
        y = x * 2
        for i in range(x.shape[1]):
            y = y + x[:, i : i + 1] * (i + 1)
        return y


class Writing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.clone()
        for i in range(x.shape[1]):
            y.add_(x[:, i : i + 1], alpha=i + 1)
        return y


class Counting(torch.nn.Module):
    """Assigns another tensor to its buffer, beside a function."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        y = Rounds.apply(x)
        self.seen = self.seen + y.sum(0)
        return y.tanh()


@pytest.mark.parametrize("function", [Rounds, Writing])
def test_a_function_that_counts_by_a_size(function):
    model, x = Calls(lambda x: function.apply(x).relu() + 1), torch.randn(3, 4)
    options = {"capture": "trace", "input_names": ["x"]}
    with pytest.warns(flambeau.errors.ConversionWarning, match="holds the number 4"):
        flambeau.export(model, (x,), dynamic_axes={"x": {1: "m"}}, **options)
    program = flambeau.export(model, (x,), dynamic_axes={"x": {0: "n"}}, verbose=False, **options)
    for rows in (3, 5):
        compare(model, program, (torch.randn(rows, 4),))


def test_a_function_beside_a_buffer_that_the_run_assigns():
    x = torch.randn(3, 4)
    program = flambeau.export(Counting(), (x,), capture="trace", dynamic_shapes=({0: "n"},), state_outputs=True, verbose=False)
    for rows in (3, 5):
        model, x = Counting(), torch.randn(rows, 4)
        for ours, theirs in zip(program(x), (model(x), model.seen), strict=True):
            torch.testing.assert_close(ours, theirs)


def test_normalization_over_channels():
    images = torch.randn(2, 7, 5, 6)
    check(torch.nn.CrossMapLRN2d(3, 0.5, 0.75, 2), (images,), others=[(torch.randn(4, 7, 3, 8),)], how="trace", dynamic_axes={"x": {0: "n", 2: "h", 3: "w"}})
