"""Models of older PyTorch: ``x.data``, ``x.new`` and copies of tensors, which torch's captures do not see."""

import copy

import pytest
import torch
from torch.autograd import Variable

import flambeau


def model_of(function):
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.linspace(-1, 1, 4))
            self.lstm = torch.nn.LSTM(4, 4, batch_first=True)
            self.register_buffer("mask", torch.tensor([1.0, 0.0, 1.0, 1.0]))

        def forward(self, x):
            return function(self, x)

    torch.manual_seed(0)
    return Model().eval()


def written(model, x):
    y = x.clone()
    y.data.mul_(2)
    y.data[:, 0] = 1
    return y


def assigned(model, x):
    y, z = x.clone(), torch.zeros(1)
    before = y.data
    y.data = y.data * 2 + 1
    z.data = x.data[0, 0]
    return y - before * z.sum()


def restored(model, x):
    before = model.weight.data
    model.weight.data = before.sign()
    result = x * model.weight + before
    model.weight.data = before
    return result * model.weight


def pruned(model, x):
    model.weight.data = model.weight.data * model.mask
    model.weight.data[0] = 3
    return x * model.weight


def moved(model, x):
    """Modules assign what moves to ``data``."""
    return model.lstm.double()(x.double())[0].float()


def moved_there_and_back(model, x):
    before = model.lstm(x)[0]
    model.mask.data = model.mask.data.double()
    there = moved(model, x) * model.mask.sum().float()
    model.lstm.float()
    return before + there + model.lstm(x)[0]


def from_nothing(model, x):
    weight = next(model.parameters()).data
    state = tuple(Variable(weight.new(1, x.size(0), 4).zero_()) for _ in range(2))
    return model.lstm(x, state)[0]


@pytest.mark.parametrize("capture", ["export", "trace"])
@pytest.mark.parametrize(
    "function",
    [
        lambda model, x: x.masked_fill(x.data > 0, 0) + x.data.relu(),
        lambda model, x: x * model.mask.double().type_as(x.data) + model.weight.data.abs() / model.weight.data.norm(),
        lambda model, x: torch.cat([x.data.new_zeros(x.size(0), 1, 4), x.data.new(x.shape).fill_(3), x.new(x.size(0), 1, 4).fill_(1)], 1),
        lambda model, x: x + x.new([1, 2, 3, 4]) + x.new().sum() + x.new((2,)),
        lambda model, x: copy.deepcopy(x).mul_(2) + copy.deepcopy([x, {"x": x}])[1]["x"] + copy.copy(x) + copy.deepcopy(model.weight),
        lambda model, x: copy.copy(x.clone()).add_(1) + torch.nn.Parameter(x.data, requires_grad=False),
        written,
        assigned,
        restored,
        pruned,
        from_nothing,
    ],
)
def test_data_and_copies(function, capture):
    model, x, other = model_of(function), torch.randn(2, 3, 4), torch.randn(5, 3, 4)
    expected = [copy.deepcopy(model)(each.clone()).detach() for each in (x, other)]
    options = {"capture": "trace"} if capture == "trace" else {}
    program = flambeau.export(copy.deepcopy(model), (x,), dynamic_shapes=({0: "n"},), **options)
    for given, result in zip((x, other), expected, strict=True):
        torch.testing.assert_close(program(given)[0], result)


@pytest.mark.parametrize("function", [moved, moved_there_and_back])
def test_a_module_that_moves_within_a_trace(function):
    model, x = model_of(function), torch.randn(2, 3, 4)
    expected = copy.deepcopy(model)(x).detach()
    torch.testing.assert_close(flambeau.export(model, (x,), capture="trace")(x)[0], expected)
    assert {each.dtype for each in (*model.parameters(), *model.buffers())} == {torch.float32}


def test_tensors_are_as_before_afterwards():
    flambeau.export(model_of(written), (torch.randn(2, 3, 4),), capture="trace")
    flambeau.export(model_of(written), (torch.randn(2, 3, 4),))
    assert "data" not in vars(torch.Tensor) and "new" not in vars(torch.Tensor)
    assert torch.Tensor.__deepcopy__.__module__ == torch.Tensor.__reduce_ex__.__module__ == "torch._tensor"


class OfAnotherDtype(torch.nn.Module):
    def forward(self, x):
        view = x.view(-1)
        self.held = x
        self.held.data = x.shape[0] + torch.arange(x.shape[0])
        self.held.mul_(2)
        return self.held, x + 1, view * 2


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_data_of_another_dtype(capture):
    program = flambeau.export(OfAnotherDtype(), (torch.randn(3, 2),), dynamic_shapes=({0: "n"},), capture=capture)
    x = torch.randn(5, 2)
    for given, expected in zip(program(x), OfAnotherDtype()(x.clone()), strict=True):
        torch.testing.assert_close(given, expected)
