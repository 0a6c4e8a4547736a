"""Plain Python that data decides, which TorchScript keeps where torch.export does not."""

from __future__ import annotations

import functools
from typing import List, Optional

import pytest
import torch

import flambeau
import flambeau.scripted
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


class Rare(torch.nn.Module):
    """A way that neither the example nor others go."""

    def forward(self, x):
        if x.sum() > 10 and x.sum() < 11:
            return self.rare(x)
        return x - 1


class Unused(Rare):
    @torch.jit.unused
    def rare(self, x: torch.Tensor) -> torch.Tensor:
        return x * 3


def of_scripts(x):
    return x * 5 if torch.jit.is_scripting() else x * 7


class Asks(Rare):
    def rare(self, x):
        return of_scripts(x)


def doubled(function):
    @functools.wraps(function)
    def run(self, x):
        return function(self, x) * 2

    return run


class Decorated(Rare):
    @doubled
    def rare(self, x):
        return x * 5


class Tripled(torch.nn.Linear):
    def __call__(self, x):
        return super().__call__(x) * 3


class CallsItsOwnWay(Rare):
    def __init__(self):
        super().__init__()
        self.rare = Tripled(4, 4)


class HoldsAList(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = [torch.zeros(4)]

    def forward(self, x):
        if x.sum() < 0:
            return x + self.seen[0]
        self.seen[0].add_(1)
        return x * 2


class Layers(torch.nn.Module):
    """What a run in training writes, one in evaluation does not."""

    def __init__(self):
        super().__init__()
        self.norm, self.encoder = torch.nn.BatchNorm1d(4), torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)

    def forward(self, x):
        with torch.no_grad():
            if x.sum() > 0:
                x = self.norm(x)
        return self.encoder(x)


def test_layers_that_write_in_training_only_are_taken():
    model = Layers().eval()
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"Python decides by data \(test_branches_by_data.py:\d+: if x.sum"):
        program = flambeau.export(model, (X,))
    for sample in (X, -X):
        torch.testing.assert_close(program(sample)[0], model(sample).detach())


def of_many_rounds(x):
    for _ in range(int(x.max() * 10)):
        x = x * 1.0001
    return x if x.sum() > 0 else -x


@pytest.mark.parametrize(("function", "once"), [(of_many_rounds, True), (early_return, False)])
def test_rounds_that_data_counts_are_gone_over_for_the_example_only(function, once, monkeypatch):
    calls, run = [], flambeau.scripted.results_of_model
    monkeypatch.setattr(flambeau.scripted, "results_of_model", lambda *given: calls.append(given) or run(*given))
    flambeau.export(Of(function), (X.abs(),))
    assert (len(calls) == 1) is once


class WeighsByList(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = torch.nn.ParameterList([torch.nn.Parameter(torch.full((4,), 2.0 + k)) for k in range(2)])

    def forward(self, x):
        for weight in self.weights:
            x = x * weight if x.sum() > 0 else x - weight
        return x


@torch.jit.script
class Tally:
    def __init__(self, size: int):
        self.sums = torch.zeros(size)
        self.rounds: List[int] = []

    def add(self, at: int, value: torch.Tensor) -> None:
        self.sums[at] += value
        self.rounds.append(at)


class CountsBySign(torch.nn.Module):
    """What it writes, the run made itself."""

    def forward(self, x):
        tally = Tally(2)
        for value in x:
            tally.add(0 if value.sum() > 0 else 1, value.sum())
        return tally.sums


@pytest.mark.parametrize("model", [WeighsByList(), CountsBySign()], ids=lambda each: type(each).__name__)
def test_what_looks_like_other_code_or_state_is_a_script(model):
    program = flambeau.export(model, (X,))
    for sample in (X, -X, -X.roll(1)):
        torch.testing.assert_close(program(sample)[0], model(sample).detach())


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
    [
        (Counts(), "writes what it holds"),
        (Unknown(), "torch.jit.script does not take the module: ."),
        (Unused(), "Unused.rare is left out"),
        (Asks(), "of_scripts asks whether"),
        (Decorated(), "Decorated.rare is decorated"),
        (CallsItsOwnWay(), "module 'rare' has a __call__"),
        (HoldsAList(), "lists of tensors"),
    ],
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
