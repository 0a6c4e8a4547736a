"""Plain Python that data decides, which TorchScript keeps where torch.export does not."""

from __future__ import annotations

from typing import Optional

import pytest
import torch

import flambeau
from flambeau.errors import CaptureError

X = torch.linspace(-1.5, 2.5, 12).view(3, 4)
SAMPLES = [X, -X, X.abs(), -X.abs(), torch.zeros(2, 4), torch.linspace(-9, 0.5, 20).view(5, 4)]


def early_return(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def chain(x):
    mean = x.mean()
    if mean > 1:
        y = x.exp()
    elif mean > 0:
        y = x + 1
    else:
        y = -x
    return y.sum(1), y


def choice(x):
    return x if x.max() > 1 else -x


def written(x):
    y = x.clone()
    if x.min() < 0:
        y[0] += 1
        y.relu_()
    return y


def until(x):
    while x.abs().sum() > 1:
        x = x / 2
    return x


def forever_for_zeros(x):
    while x.sum() < 100:
        x = x * 2
    return x


def searched(x):
    found = torch.zeros(4)
    for i in range(x.size(0)):
        if x[i].sum() > 0:
            found = x[i]
            break
    return found


def counted(x):
    n = int((x > 0).sum())
    if n > 3:
        return x * n
    return x


def of_several(x):
    if (x > 0).any() and not torch.all(x > -1):
        x = x.clamp(-1, 1)
    return x


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def test_what_may_go_on_forever_is_not_tried_on_other_numbers():
    program = flambeau.export(Of(forever_for_zeros), (X.abs(),))
    torch.testing.assert_close(program(X.abs() + 2)[0], forever_for_zeros(X.abs() + 2))


@pytest.mark.parametrize("function", [early_return, chain, choice, written, until, searched, counted, of_several], ids=lambda function: function.__name__)
def test_both_ways_are_kept(function):
    program = flambeau.export(Of(function), (X,), dynamic_shapes=({0: "rows"},))
    assert program.capture_strategy == "torchscript"
    for sample in SAMPLES:
        expected = function(sample)
        for ours, theirs in zip(program(sample), expected if isinstance(expected, tuple) else (expected,), strict=True):
            torch.testing.assert_close(ours, theirs)


class Drops(torch.nn.Module):
    """Whether a layer runs is drawn, again in each run."""

    def forward(self, x):
        if torch.rand(()) < 0.5:
            x = x + 1
        return x


def test_what_is_drawn_decides_in_each_run():
    program = flambeau.export(Drops(), (torch.zeros(2),))
    drawn = [program(torch.zeros(2))[0].tolist() for _ in range(64)]
    assert [0.0, 0.0] in drawn and [1.0, 1.0] in drawn


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        if x.sum() > 0 and self.calls > 3:
            x = x + 1
        return x


class Unknown(torch.nn.Module):
    """Python that TorchScript does not know."""

    def forward(self, x):
        if x.sum() > 0:
            x = {"relu": torch.relu}.get("relu", torch.tanh)(x)
        return x


@pytest.mark.parametrize(
    ("model", "reason"),
    [(Counts(), "writes what it holds"), (Unknown(), "torch.jit.script does not take the module: .")],
    ids=lambda each: type(each).__name__,
)
def test_what_is_no_script_says_why(model, reason):
    with pytest.raises(CaptureError, match=rf"(?s)hint: .*torch.cond.*as a script: .*{reason}"):
        flambeau.export(model, (X,))


def test_a_capture_that_is_asked_for_is_not_replaced():
    with pytest.raises(CaptureError, match=r"if x.sum\(\) > 0"):
        flambeau.export(Of(early_return), (X,), capture="export")


class Settings(torch.nn.Module):
    def forward(self, x, mask: Optional[torch.Tensor] = None, scale: float = 2.0, shift: bool = False):
        if mask is not None:
            x = x * mask
        if shift:
            x = x + 1
        if x.sum() > 0:
            return x * scale
        return x - 1


@pytest.mark.parametrize("args", [(X, None), (X, X > 0, 3.0), (X, None, 1.5, True)], ids=["none", "mask", "shift"])
def test_what_is_no_tensor_is_a_constant(args):
    program = flambeau.export(Settings(), args)
    for sample in (X, -X):
        torch.testing.assert_close(program(sample, *args[1:])[0], Settings()(sample, *args[1:]))
