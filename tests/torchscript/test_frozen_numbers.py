"""Where a trace holds what the example's sizes were without a word of torch's, Flambeau says so, and where."""

import functools
import importlib
import math
import sys
import warnings

import pytest
import torch
import torch.nn.functional as F
from checking import Calls, script

import flambeau

FROZEN = flambeau.errors.ConversionWarning


def rounds(x):
    y = x
    for i in range(x.shape[0]):
        y = y + i
    return y


def written(x):
    y = x.clone()
    y[: x.shape[0] - 1, 1 : x.shape[1]] = 0
    y[x.shape[0] - 1] = 2
    return y


class HoldsScript(Calls):
    """The calls of a model that holds TorchScript, and writes a buffer."""

    def __init__(self, function):
        super().__init__(function)
        self.script = script(torch.nn.ReLU())
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.calls = self.calls + 1
        return self.script(self.function(x))


def said_of(function, dynamic, of=Calls):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        flambeau.export(of(function), (torch.randn(3, 4),), dynamic_shapes=({d: "n" for d in dynamic},) if dynamic else None, capture="trace")
    return [str(each.message) for each in said if issubclass(each.category, FROZEN)]


NUMBERS = {
    "rounds": rounds,
    "a place": lambda x: x * [1, 2, 3, 4][x.shape[0]],
    "places": lambda x: x * sum([1, 2, 3, 4][: x.shape[0]]),
    "a list": lambda x: x * len([1] * x.shape[0]),
    "a key": lambda x: x * {3: 1, 5: 2}[x.shape[0]],
    "text": lambda x: x * len(str(x.shape[0])),
    "combinations": lambda x: x * math.comb(x.shape[0], 2),
    "a stride": lambda x: F.conv1d(x[:, None], torch.ones(1, 1, 1), stride=x.shape[0]),
    "groups": lambda x: torch.conv1d(x[None], torch.ones(3, 1, 1), groups=x.shape[0]),
    "an operator's list": lambda x: torch.ops.aten.roll(x, [x.shape[0] // 2], [0]),
    "a range": lambda x: x * torch.range(x.shape[0], 5).sum(),
    "a dilation": lambda x: F.conv_transpose1d(x[:, None], torch.ones(1, 1, 1), dilation=x.shape[0]),
}
PIECES = {
    "split": lambda x: sum(x.split(1)),
    "chunk": lambda x: sum(x.chunk(3)),
    "unbind": lambda x: sum(x.unbind()),
    "unsafe_split": lambda x: sum(torch.unsafe_split(x, 1)),
    "unsafe_chunk": lambda x: sum(x.unsafe_chunk(3)),
    "unbind_copy": lambda x: sum(torch.unbind_copy(x)),
    "tensor_split": lambda x: sum(torch.tensor_split(x, torch.arange(1, x.shape[0]))),
}
@pytest.mark.parametrize("function", [*NUMBERS.values(), *PIECES.values()], ids=[*NUMBERS, *PIECES])
def test_a_model_that_holds_torchscript_is_warned_of_likewise(function):
    said = said_of(function, dynamic=[0], of=HoldsScript)
    assert sum("is right only where" in each and "test_frozen_numbers.py:" in each for each in said) == 1, said
    assert not any("is right only where" in each for each in said_of(function, dynamic=[1], of=HoldsScript))


def pooled(x):
    return F.adaptive_avg_pool2d(x[None], (None, 1)) * F.adaptive_max_pool2d(x[None], x.shape)


@pytest.mark.parametrize("of", [Calls, HoldsScript])
def test_sizes_in_lists_are_not_frozen(of):
    assert not any("is right only where" in each for each in said_of(pooled, dynamic=[0, 1], of=of))


FEWER_CHUNKS = {"three": (3, 4), "two": (2, 1), "as a size says": (lambda x: x.shape[1], 4)}


@pytest.mark.parametrize("function", [*NUMBERS.values(), *PIECES.values()], ids=[*NUMBERS, *PIECES])
def test_what_a_trace_freezes_is_warned_of(function):
    (said,) = said_of(function, dynamic=[0])
    assert "is right only where" in said and "test_frozen_numbers.py:" in said, said
    assert ("3 pieces" in said) == (function in PIECES.values()), said
    assert not said_of(function, dynamic=[]), "the size is the example's"
    assert not said_of(function, dynamic=[1])


@pytest.mark.parametrize(("asked", "rows"), FEWER_CHUNKS.values(), ids=FEWER_CHUNKS)
def test_chunks_of_which_another_size_gives_more_are_warned_of(asked, rows):
    model = Calls(lambda x: x.chunk(asked(x) if callable(asked) else asked)[0])
    with pytest.warns(FROZEN, match="is right only where there are as many"):
        flambeau.export(model, (torch.randn(rows, 2),), dynamic_shapes=({0: "n"},), capture="trace")


def test_modules_that_are_imported_meanwhile_have_the_functions_themselves(tmp_path, monkeypatch):
    (tmp_path / "imported_in_forward.py").write_text("from math import ceil\nfrom torch import conv1d\n")
    monkeypatch.syspath_prepend(tmp_path)
    flambeau.export(Calls(lambda x: x * importlib.import_module("imported_in_forward").ceil(x.shape[0] / 2)), (torch.randn(3, 4),), capture="trace")
    imported = sys.modules.pop("imported_in_forward")
    assert imported.ceil is math.ceil and imported.conv1d is torch.conv1d


@functools.cache
def half(count):
    return count // 2


@functools.lru_cache(maxsize=8)
def pair(sizes, by):
    return sizes[1] // 4, by[0] // by[1]


class Memo:
    @functools.lru_cache  # noqa: B019 - it is what models do
    def third(self, count):
        return count // 3


MEMO = Memo()


FOLLOWED = {
    "slices": lambda x: x[1 : x.shape[0] - 1, : x.shape[1] - 2] + x[1, x.shape[0] - 1],
    "written slices": written,
    "two chunks": lambda x: sum(x[:, : x.shape[1] // 2 * 2].chunk(2, 1)),
    "integers of operators": lambda x: x.unfold(1, x.shape[0] - 1, 1).sum(-1) + torch.linspace(0, 1, x.shape[0])[:, None],
    "divisors": lambda x: x.reshape(math.gcd(x.numel(), 6), -1) * math.lcm(x.shape[0], 4) * math.hypot(x.shape[0], 2),
    "elements": lambda x: x * x.shape.numel(),
    "an operator's operand": lambda x: torch.ops.aten.mul(x, torch.ops.aten.add.Tensor(x, x.shape[0])),
    "a root": lambda x: x[: math.isqrt(x.shape[0] * 4)],
    "a memo": lambda x: x[:, : half(x.shape[1])],
    "a memo of tuples": lambda x: x[:, : sum(pair(x.shape, by=(x.shape[1], 2)))],
    "a memo of an object": lambda x: x[:, : MEMO.third(x.shape[1])],
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", FOLLOWED.values(), ids=FOLLOWED)
def test_what_a_trace_follows_is_not_warned_of(function):
    function(torch.randn(3, 4))  # a memo knows these sizes
    program = flambeau.export(Calls(function), (torch.randn(3, 4),), dynamic_shapes=({0: "n", 1: "m"},), capture="trace")
    for x in (torch.randn(3, 4), torch.randn(5, 9)):
        torch.testing.assert_close(program(x)[0], function(x))
