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


def argument_first(ctx, x):
    return x, x * 2


def in_another_order(ctx, x):
    doubled, more = x * 2, x + 1
    return more, doubled


def one_twice(ctx, x):
    doubled = x * 2
    return doubled, doubled


def nothing_first(ctx, x):
    return None, x * 2


def constant_last(ctx, x):
    zeros = torch.zeros(2)
    return x * 2, zeros


def written_argument(ctx, x):
    x.mul_(2)
    ctx.mark_dirty(x)
    return x.sum(0), x


def pieces(ctx, x):
    return x.chunk(2)[::-1]


def of_another_function(ctx, x):
    more, doubled = function_of(in_another_order).apply(x)
    return doubled, more


class CallsItself(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        return (CallsItself.apply(x + 1, depth - 1)[1], x * 2) if depth else (x, x * 3)


class SavesWhatItGives(torch.autograd.Function):
    @staticmethod
    def forward(x, scale=3):
        doubled, more = x * 2, x * scale
        return more, doubled

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*output)


def function_of(forward):
    return type(forward.__name__, (torch.autograd.Function,), {"forward": staticmethod(forward)})


FORWARDS = (argument_first, in_another_order, one_twice, nothing_first, constant_last, written_argument, pieces, of_another_function)
RESULTS = {each.__name__: function_of(each).apply for each in FORWARDS} | {
    "calls itself": lambda x: CallsItself.apply(x, 2),
    "saves what it gives": SavesWhatItGives.apply,
    "a scale that is given": lambda x: SavesWhatItGives.apply(x, scale=5),
}


@pytest.mark.parametrize("apply", RESULTS.values(), ids=RESULTS)
def test_results_in_the_order_in_which_they_are_returned(apply):
    def model(x):
        x = x * 1
        return *(each + 1 for each in apply(x) if each is not None), x

    check(Calls(model), (torch.randn(2, 3),), how="trace", dynamic_axes={"x": {1: "m"}}, others=[(torch.randn(2, 5),)])


def of_two_shapes(ctx, x):
    doubled, total = x * 2, x.sum(0)
    return total, doubled


def both_in_order(ctx, x, scale=3):
    doubled = x * scale
    more = doubled.exp()
    ctx.save_for_backward(doubled, more)
    return doubled, more


def by_its_numbers(ctx, x):
    doubled, more = x * 2, x + 1
    return (doubled, more) if x[0, 0] > 0 else (more, doubled)


@pytest.mark.parametrize("forward", [of_two_shapes, in_another_order, argument_first, one_twice, pieces, of_another_function, both_in_order])
def test_a_trace_of_torchs_own(forward):
    model, x = Calls(lambda x, apply=function_of(forward).apply: tuple(each + 1 for each in apply(x * 1))), torch.randn(2, 3)
    traced = torch.jit.trace(model, (x,), check_trace=False)
    program = flambeau.export(traced, (x,), input_names=["x"], dynamic_axes={"x": {1: "m"}}, verbose=False)
    for width in (3, 5):
        compare(model, program, (torch.randn(2, width),))


def test_a_trace_of_torchs_own_that_does_not_tell():
    x = torch.ones(2, 3)
    traced = torch.jit.trace(Calls(function_of(by_its_numbers).apply), (x,), check_trace=False)
    with pytest.raises(flambeau.errors.CaptureError, match="which result of by_its_numbers is which"):
        flambeau.export(traced, (x,), verbose=False)
