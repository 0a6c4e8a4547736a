"""An export leaves the module as it was, whatever forward keeps in it."""

import collections
import contextlib
import copy
import functools
import random
import re

import numpy
import pytest
import remembering as other
import torch

import flambeau
from flambeau.state import kept_state

X = torch.randn(2, 5, 4)


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(4, 4)
        self.register_buffer("table", None, persistent=False)
        self.register_buffer("calls", torch.tensor(0))
        self.tables, self.seen, self.length, self.last = {}, [], 0, None
        self.total = torch.zeros(4)

    def forward(self, x):
        n = x.shape[1]
        if n not in self.tables:
            self.tables[n] = torch.arange(n).float()[:, None]
        if self.table is None or self.table.shape[0] < n:
            self.register_buffer("table", torch.arange(n).float().flip(0)[:, None], persistent=False)
        self.seen.append(x.sum())
        self.length = n
        self.last = x * 2
        self.inner.cached = x + 1
        self.calls += 1
        self.total = self.total + 1
        self.total += 1
        return self.inner(x) + self.tables[n] * self.table[-n:]


def _state(model):
    return {name: dict(value) if isinstance(value, dict) else list(value) if isinstance(value, list) else value for name, value in vars(model).items()}


@pytest.mark.parametrize(
    "options",
    [{}, {"dynamic_shapes": ({0: "b", 1: "n"},)}, {"capture": "trace"}, {"dynamo": False}, {"verify": True}],
    ids=["export", "dynamic", "trace", "torchscript", "verified"],
)
@pytest.mark.filterwarnings("ignore:.*attribute")
def test_attributes_buffers_and_containers(options):
    model = Keeps().eval()
    before, inside, total = _state(model), _state(model.inner), model.total
    program = flambeau.export(model, (X,), **options)
    after = _state(model)
    assert after.keys() == before.keys() and _state(model.inner).keys() == inside.keys()
    assert (after["tables"], after["seen"], after["length"], after["last"]) == ({}, [], 0, None)
    assert model.total is total and not total.any() and model.calls == 0 and model.table is None
    x = torch.randn(3, 9, 4) if "dynamic_shapes" in options else X
    torch.testing.assert_close(program(x)[0], model(x))


class WritesAnArray(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = [numpy.zeros(3)]

    def forward(self, x):
        self.seen[0] += 1
        return x * 2


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"verify": True}], ids=str)
def test_arrays_that_are_written(options):
    model = WritesAnArray().eval()
    array = model.seen[0]
    flambeau.export(model, (X,), **options)
    assert model.seen[0] is array and not array.any()


def test_a_module_is_exported_twice():
    model = Keeps().eval()
    for _ in range(2):
        assert [each.name for each in flambeau.export(model, (X,)).inputs] == ["x"]


def in_place(weight, other):
    with torch.no_grad():
        weight.mul_(0.5).add_(other)


def through_data(weight, other):
    weight.data.mul_(0.5)


def other_data(weight, other):
    weight.data = weight.data * 0.5 + other.data


def another_shape(weight, other):
    weight.data = other.data[:2, :2].t()


class Follows(torch.nn.Module):
    """Weights that follow others without gradients, as a momentum encoder's do."""

    def __init__(self, move):
        super().__init__()
        self.move = move
        self.weight = torch.nn.Parameter(torch.randn(4, 4))
        self.other = torch.nn.Parameter(torch.randn(4, 4))
        self.held = [torch.randn(4, 4)]

    def forward(self, x):
        self.move(self.weight, self.other)
        self.held[0].add_(1)
        return x[..., : self.weight.shape[0]] @ self.weight + self.held[0][0, 0]


@pytest.mark.parametrize("options", [{}, {"verify": True}, {"capture": "trace"}, {"capture": "trace", "verify": True}], ids=str)
@pytest.mark.parametrize("move", [in_place, through_data, other_data, another_shape])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_weights_that_are_written_without_gradients(move, options):
    model = Follows(move)
    before, held = copy.deepcopy(dict(model.named_parameters())), model.held[0].clone()
    places = {name: value.data_ptr() for name, value in model.named_parameters()}
    program = flambeau.export(model, (X,), **options)
    for name, value in model.named_parameters():
        assert torch.equal(value, before[name])
        assert value.data_ptr() == places[name]
    assert torch.equal(model.held[0], held)
    torch.testing.assert_close(program(X)[0], model(X))


def test_weights_stay_where_programs_refer_to_them():
    model = torch.nn.LSTM(4, 4)
    places = [weight.data_ptr() for weight in model.parameters()]
    with kept_state(model):
        with kept_state(model):
            result, _ = model(X)
            turned = model.weight_hh_l0.t()
            model.bias_ih_l0.data.mul_(2)
        assert torch.equal(model(X)[0], result)
    result.sum().backward()
    values = turned.clone()
    with torch.no_grad():
        model.weight_hh_l0.zero_()
    assert torch.equal(turned, values)
    assert [weight.data_ptr() for weight in model.parameters()] == places


# What follows is remembered elsewhere than in attributes. All of it decides what the next run gives, or is given by it.


def _decorated(forward):
    calls, last = [], torch.zeros(4)

    @functools.wraps(forward)
    def wrapped(self, x):
        calls.append(x)
        last.add_(1)
        return forward(self, x) * len(calls) + last

    return wrapped


class InClosures(torch.nn.Module):
    @_decorated
    def forward(self, x):
        return x


def in_hooks():
    model, kept, seen = torch.nn.Sequential(torch.nn.Linear(4, 4)), {}, []
    model[0].register_forward_hook(lambda module, args, result: kept.setdefault("features", result) * 0 + result)
    model.register_forward_hook(lambda module, args, result: seen.append(0) or result * len(seen) + kept["features"])
    return model


def in_a_cell():
    count = 0

    class Counts(torch.nn.Module):
        def forward(self, x):
            nonlocal count
            count += 1
            return x * count

    return Counts()


class Slotted:
    __slots__ = ("count", "last")

    def __init__(self):
        self.count, self.last = 0, torch.zeros(4)


class InSlots(torch.nn.Module):
    __slots__ = ("calls",)

    def __init__(self):
        super().__init__()
        self.calls, self.inner = 0, Slotted()

    def forward(self, x):
        self.calls += 1
        self.inner.count += 1
        self.inner.last = self.inner.last + x[0, 0]
        return x * self.calls + self.inner.last * self.inner.count


class InItsClass(torch.nn.Module):
    calls, tables, last = 0, {}, None

    def forward(self, x):
        InItsClass.calls += 1
        InItsClass.last = x
        if x.shape[1] not in self.tables:
            self.tables[x.shape[1]] = torch.arange(x.shape[1]).float()[:, None]
        return x * self.calls + self.tables[x.shape[1]] + self.last


CALLS, TABLES = 0, {}


def _table(rows):
    if rows not in TABLES:
        TABLES[rows] = torch.arange(rows).float()[:, None]
    return TABLES[rows]


class InGlobalNames(torch.nn.Module):
    def forward(self, x):
        global CALLS
        CALLS += 1
        return x * CALLS + _table(x.shape[1])


@functools.lru_cache
def _remembered(rows):
    return torch.arange(rows).float()[:, None]


class InMemos(torch.nn.Module):
    @functools.cache  # noqa: B019 - as models have it
    def of(self, columns):
        return torch.ones(columns) * 2

    def forward(self, x):
        return x * _remembered(x.shape[1]) + self.of(x.shape[2])


def in_defaults():
    class Remembers(torch.nn.Module):
        def forward(self, x, seen=[]):  # noqa: B006
            seen.append(1)
            return x * len(seen)

    return Remembers()

class Settings:
    runs, seen = 0, []


class Shared:
    only = None

    def __init__(self):
        self.runs = 0

    @classmethod
    def get(cls):
        cls.only = cls.only or Shared()
        return cls.only


def _counts(x):
    _counts.runs += 1
    return x * _counts.runs


def in_what_is_named():
    Settings.runs, Shared.only, _counts.runs = 0, None, 0
    Settings.seen.clear()

    class Names(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.dict, self.list, self.maps = collections.UserDict(runs=0), collections.UserList(), collections.ChainMap({"runs": 0})

        def forward(self, x):
            Settings.runs += 1
            Settings.seen.append(x)
            shared = Shared.get()
            shared.runs += 1
            self.dict["runs"] += 1
            self.maps["runs"] += 1
            self.list.append(0)
            return _counts(x) * Settings.runs + len(Settings.seen) + shared.runs + self.dict["runs"] + self.maps["runs"] + len(self.list)

    return Names()


def in_another_file():
    other.RUNS = 0
    other.SEEN.clear()

    class Others(torch.nn.Module):
        def forward(self, x):
            other.RUNS += 1
            return other.remember(x) * other.RUNS

    return Others()


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"capture_strategies": ["strict"]}, {"verify": True}], ids=["export", "trace", "strict", "verified"])
@pytest.mark.parametrize("make", [InClosures, in_hooks, in_a_cell, InSlots, InItsClass, InGlobalNames, InMemos, in_defaults, in_what_is_named, in_another_file])
@pytest.mark.filterwarnings("ignore:warning. the model writes")
def test_what_is_remembered_elsewhere(make, options):
    model = make().eval()
    InItsClass.tables.clear()
    TABLES.clear()
    _remembered.cache_clear()
    if make in (InItsClass, in_what_is_named) and "capture_strategies" in options:  # torch's strict mode reads what was there before
        try:
            flambeau.export(model, (X,), **options)
        except flambeau.errors.CaptureError as error:
            assert re.search("something else for the example|Dynamo", str(error))
            options = {}
    first, second = flambeau.export(model, (X,), **options), flambeau.export(model, (X,))
    expected = model(X)  # runs as if nothing had been captured
    assert type(expected) is torch.Tensor
    torch.testing.assert_close(first(X)[0], expected.detach())
    torch.testing.assert_close(second(X)[0], expected.detach())


class OfGenerators(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(3)

    def forward(self, x):
        torch.manual_seed(5)
        return x + torch.rand(4, generator=self.generator) + torch.rand(4) + random.random() + numpy.random.rand()


@pytest.mark.parametrize("options", [{"capture": "trace"}, {"capture": "trace", "verify": True}], ids=["trace", "verified"])
@pytest.mark.filterwarnings("ignore")
def test_generators_of_random_numbers(options):
    model = OfGenerators()

    def states():
        return model.generator.get_state().tolist(), torch.get_rng_state().tolist(), random.getstate(), numpy.random.get_state()[1].tolist()

    before = states()
    with contextlib.suppress(flambeau.errors.OnnxExporterError):  # draws differ
        flambeau.export(model, (X,), **options)
    assert states() == before


class ChangesMemory(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)
        self.register_buffer("state", torch.ones(4))

    def forward(self, x):
        self.state.add_(1)
        self.state.data = self.state.data + 1
        self.linear.double()
        return self.linear(x.double()) + self.state


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"capture_strategies": ["strict"]}], ids=["export", "trace", "strict"])
@pytest.mark.filterwarnings("ignore")
def test_the_memory_of_weights(options):
    model = ChangesMemory()
    with contextlib.suppress(flambeau.errors.OnnxExporterError):
        flambeau.export(model, (X,), **options)
    assert model.state.tolist() == [1] * 4
    assert model.linear.weight.dtype == torch.float32


class WritesWeights(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            self.linear.weight.add_(1)
        return self.linear(x)


@pytest.mark.parametrize("options", [{}, {"capture_strategies": ["strict"]}, {"verify": True}], ids=["export", "strict", "verified"])
@pytest.mark.filterwarnings("ignore:warning. the model writes")
def test_weights_that_are_written(options, tmp_path):
    model = WritesWeights().eval()
    before = model.linear.weight.detach().clone()
    program = flambeau.export(model, (X,), tmp_path / "model.onnx", **options)
    assert torch.equal(model.linear.weight, before)
    torch.testing.assert_close(program(X)[0], model(X).detach())


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"capture_strategies": ["strict"]}, {"verify": True}], ids=["export", "trace", "strict", "verified"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_lazy_modules_get_weights_and_nothing_else(options):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("calls", torch.zeros(4))
            self.runs = 0

        def forward(self, x):
            self.calls += 1
            self.runs += 1
            return x + self.calls * self.runs

    model, x = torch.nn.Sequential(Counts(), torch.nn.LazyLinear(3), torch.nn.LazyBatchNorm1d()).eval(), torch.randn(2, 4)
    for _ in range(2):
        program = flambeau.export(model, (x,), **options)
        assert type(model[1]) is torch.nn.Linear and model[0].runs == 0 and not model[0].calls.any()
    torch.testing.assert_close(program(x)[0], model(x).detach())


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"verify": True}], ids=["export", "trace", "verified"])
def test_cached_parametrizations(options):
    class Symmetric(torch.nn.Module):
        def forward(self, weight):
            return weight.triu() + weight.triu(1).mT

    model = torch.nn.Linear(4, 4)
    torch.nn.utils.parametrize.register_parametrization(model, "weight", Symmetric())
    with torch.nn.utils.parametrize.cached():
        program = flambeau.export(model, (X,), **options)
        torch.testing.assert_close(program(X)[0], model(X).detach())


class ScriptedMethod(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x):
        return x

    @torch.jit.export
    def count(self, x):
        self.calls = self.calls + 1
        return x + self.calls


@pytest.mark.filterwarnings("ignore:warning. the model writes")
def test_a_method_of_a_script_is_verified():
    script = torch.jit.script(ScriptedMethod())
    flambeau.export(script, (X,), method="count", verify=True)
    flambeau.export(script.count, (X,), verify=True)
    assert not script.calls.any()


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(4))

    def forward(self, x):
        self.calls += 1
        return x + self.calls


@pytest.mark.parametrize("runs", [0, 1, 3])
@pytest.mark.filterwarnings("ignore")
def test_a_module_around_a_trace_is_exported_again(runs):
    """TorchScript makes programs faster in their second run, and compares their constants for that."""
    model = torch.nn.Sequential(torch.jit.trace(Counts(), X, check_trace=False), torch.nn.Linear(4, 4)).eval()
    for _ in range(runs):
        model(X)
    state = model[0].calls.clone()
    programs = [flambeau.export(model, (X,)) for _ in range(3)]
    assert torch.equal(model[0].calls, state)
    expected = model(X).detach()
    for program in programs:
        torch.testing.assert_close(program(X)[0], expected)


@torch.jit.script
def _by_data(x):
    if bool(x.sum() > 0):
        return x + 1
    return x - 1


@pytest.mark.filterwarnings("ignore")
def test_a_module_that_is_scripted_in_vain():
    class Branches(torch.nn.Module):
        def forward(self, x):
            functions = {"data": lambda x: _by_data(x)}  # torch.jit.script does not take it
            return functions["data"](x) if x.sum() > 0 else x

    model = Branches()
    before = dict(vars(model))
    with contextlib.suppress(flambeau.errors.CaptureError):
        flambeau.export(model, (X,))
    assert vars(model).keys() == before.keys()


class Untold:
    """A mixin of containers whose length nobody may ask."""

    def __len__(self):
        raise NotImplementedError

    def __contains__(self, item):
        raise NotImplementedError


class Numbers(Untold, tuple):
    pass


class Tables(Untold, list):
    pass


@pytest.mark.parametrize("options", [{}, {"dynamo": False}], ids=str)
def test_containers_that_do_not_tell_their_length(options):
    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.factors, self.tables, self.calls = Numbers((2, 3)), Tables([Numbers((1,))]), []

        def forward(self, x):
            self.calls.append(x)
            return x * self.factors[0] + self.tables[0][0]

    model = Scaled()
    program = flambeau.export(model, (X,), verbose=False, **options)
    assert torch.equal(program(X)[0], model(X))
    assert model.calls[1:] == []


def test_weights_of_a_loaded_archive_stay(tmp_path):
    """torch cannot copy their memory lazily: it came without an allocator."""
    torch.jit.script(torch.nn.Linear(2, 3)).save(tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt")
    before = loaded.weight.detach().clone()
    with kept_state(loaded):
        result = loaded(torch.ones(1, 2))
    result.sum().backward()  # by what the result keeps of the weights
    assert loaded.weight.equal(before) and loaded.weight.grad.equal(torch.ones(3, 2))
