"""An export leaves the module as it was, whatever forward keeps in it."""

import copy

import pytest
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
