"""Models that call ``backward`` in ``forward``, and those that ask whether there are gradients."""

import argparse
import collections
import copy
import functools

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import flambeau

from .checking import leaves


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))


class OfTheInput(Net):
    def forward(self, x):
        x = x.detach().clone().requires_grad_()
        self.net(x).sum().backward()
        (x * self.net(x).detach()).sum().backward()
        return x.grad * x


class OfWeights(Net):
    def forward(self, x):
        self.zero_grad()
        loss = self.net(x).square().mean()
        loss.backward()
        return loss, *(weight.grad for weight in self.parameters())


class OfWhatIsComputed(Net):
    def forward(self, x):
        hidden = self.net[0](x)
        hidden.retain_grad()
        y = self.net[2](hidden.tanh())
        y.backward(torch.ones_like(y))
        return hidden.grad


class Hooked(Net):
    def forward(self, x):
        x = x.detach().clone().requires_grad_()
        hidden = self.net[0](x)
        hidden.register_hook(lambda gradient: gradient.clamp(-0.1, 0.1))
        return torch.autograd.grad(self.net[2](hidden.tanh()).sum(), x)[0]


class Asking(Net):
    def forward(self, x):
        y = self.net(x)
        return torch.autograd.grad(y.sum(), self.net[0].weight)[0] if y.requires_grad else y


@pytest.mark.parametrize("before", [False, True], ids=["first", "after others"])
@pytest.mark.parametrize("kind", [OfTheInput, OfWeights, OfWhatIsComputed, Hooked, Asking])
def test_gradients_of_backward(kind, before):
    torch.manual_seed(0)
    model = kind().eval()
    if before:
        model.net(torch.randn(4, 2)).sum().backward()
    gradients = [None if weight.grad is None else weight.grad.clone() for weight in model.parameters()]
    program = flambeau.export(model, (torch.randn(5, 2),), dynamic_shapes=({0: "n"},), verify=True)
    for weight, gradient in zip(model.parameters(), gradients):
        assert (weight.grad is None) if gradient is None else torch.equal(weight.grad, gradient)
    for count in (5, 3):
        x = torch.randn(count, 2)
        for actual, expected in zip(program(x), leaves(copy.deepcopy(model)(x)), strict=True):
            torch.testing.assert_close(actual, expected.detach(), rtol=1e-4, atol=1e-5)


def test_gradients_of_arguments_stay_as_they_were():
    model, x = OfWhatIsComputed().eval(), torch.randn(5, 2, requires_grad=True)
    flambeau.export(model, (x,))
    assert x.grad is None


def test_gradients_that_arguments_ask_for():
    class Model(Net):
        def forward(self, x):
            self.net(x.requires_grad_()).sum().backward()
            return x.grad

    x = torch.randn(5, 2, requires_grad=True)
    program = flambeau.export(Model().eval(), (x,), verify=True)
    assert x.grad is None
    assert program.inputs[0].name == "x"


class Searching(Net):
    """For what moves the input to where the net is small."""

    def __init__(self, optimizer):
        super().__init__()
        self.optimizer = optimizer

    def forward(self, x):
        moved = torch.zeros(2, requires_grad=True)
        steps = self.optimizer([moved], lr=0.1)
        for _ in range(2):
            steps.zero_grad()
            self.net(x + moved).square().sum().backward()
            steps.step()
        return x + moved.detach()


@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_steps_of_an_optimizer(optimizer):
    model = Searching(optimizer).eval()
    program = flambeau.export(model, (torch.randn(5, 2),), dynamic_shapes=({0: "n"},))
    for count in (5, 3):
        x = torch.randn(count, 2)
        torch.testing.assert_close(program(x)[0], model(x), rtol=1e-4, atol=1e-5)


class Adapting(Net):
    """At test time."""

    def __init__(self, optimizer, within=False):
        super().__init__()
        momentum = {"momentum": 0.9} if optimizer is torch.optim.SGD else {}
        self.make = lambda: optimizer(self.parameters(), lr=0.1, **momentum)
        self.steps = None if within else self.make()

    def forward(self, x):
        steps = self.make() if self.steps is None else self.steps
        self.net(x).square().mean().backward()
        steps.step()
        steps.zero_grad()
        return self.net(x)


@pytest.mark.filterwarnings("ignore:.*ignored-mutation")
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("optimizer", [torch.optim.SGD, torch.optim.Adam])
def test_steps_that_write_weights(optimizer, within, after):
    model = Adapting(optimizer, within).eval()
    for _ in range(after):
        model(torch.randn(4, 2))

    def state():
        return [each.clone() for each in model.parameters()], copy.deepcopy({} if within else model.steps.state_dict())

    before = state()
    program = flambeau.export(model, (torch.randn(5, 2),), dynamic_shapes=({0: "n"},), verify=True, state_outputs=True)
    torch.testing.assert_close(state(), before, rtol=0, atol=0)
    for count in (5, 3):
        x = torch.randn(count, 2)
        y, *weights = program(x)
        torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-5)
        for weight, expected, own in zip(weights, model.parameters(), before[0], strict=True):
            torch.testing.assert_close(weight, expected.detach(), rtol=1e-4, atol=1e-5)
            expected.data.copy_(own)
        if not within:
            model.steps.load_state_dict(before[1])


def quintuple(leaf):
    leaf.grad = leaf.grad * 5


class Held(Net):
    """Weights under other names than their own."""

    def __init__(self):
        super().__init__()
        self.net[0].weight.register_hook(lambda gradient: gradient * 3)
        self.net[2].weight.register_post_accumulate_grad_hook(quintuple)
        self.tuple, self.nested = tuple(self.net.parameters()), {"first": [(self.net[0].weight,)]}
        self.others = argparse.Namespace(last=self.net[2].weight)


class OfATuple(Held):
    def forward(self, x):
        return torch.autograd.grad(self.net(x).square().mean(), self.tuple)


class ByBackward(Held):
    def forward(self, x):
        self.zero_grad()
        self.net(x).square().mean().backward()
        return self.nested["first"][0][0].grad, self.others.last.grad


class MayBeUnused(Held):
    def forward(self, x):
        return [x if each is None else each for each in torch.autograd.grad(self.net(x).square().mean(), self.tuple, allow_unused=True)]


@pytest.mark.parametrize("kind", [OfATuple, ByBackward, MayBeUnused])
def test_gradients_of_weights_that_are_held_elsewhere(kind):
    model = kind().eval()
    program = flambeau.export(model, (torch.randn(5, 2),), dynamic_shapes=({0: "n"},))
    for count in (5, 3):
        x = torch.randn(count, 2)
        for actual, expected in zip(program(x), model(x), strict=True):
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("retained_first", [False, True])
def test_hooks_change_what_is_accumulated(retained_first):
    class Model(Net):
        def forward(self, x):
            x = x.detach().clone().requires_grad_()
            x.register_post_accumulate_grad_hook(quintuple)
            hidden = self.net[0](x)
            if retained_first:
                hidden.retain_grad()
            hidden.register_hook(lambda gradient: gradient * 3)
            if not retained_first:
                hidden.retain_grad()
            self.net[2](hidden.tanh()).sum().backward()
            return x.grad, hidden.grad

    model, x = Model().eval(), torch.randn(5, 2)
    for actual, expected in zip(flambeau.export(model, (x,))(x), model(x), strict=True):
        torch.testing.assert_close(actual, expected.detach(), rtol=1e-4, atol=1e-5)


def test_gradients_of_what_is_no_weight():
    class Model(Net):
        def __init__(self):
            super().__init__()
            self.scale = torch.randn(1, requires_grad=True)

        def forward(self, x):
            (self.net(x) * self.scale).sum().backward()
            return self.scale.grad

    model, x = Model().eval(), torch.randn(5, 2)
    program = flambeau.export(model, (x,))
    assert model.scale.grad is None
    torch.testing.assert_close(program(x)[0], model(x), rtol=1e-4, atol=1e-5)


def test_arguments_that_have_gradients():
    model, x = OfTheInput().eval(), torch.randn(5, 2, requires_grad=True)
    model.net(x).sum().backward()
    before = x.grad
    program = flambeau.export(model, (x,), dynamic_shapes=({0: "n"},))
    assert x.grad is before
    x = torch.randn(3, 2)
    torch.testing.assert_close(program(x)[0], model(x).detach(), rtol=1e-4, atol=1e-5)


class InLists(Net):
    """Optimizers, a buffer and what is added to weights by other ways than their own."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(2))
        self.tracked, self.shifts = [self.seen], [torch.zeros(2, requires_grad=True)]
        self.optimizers = [torch.optim.SGD(layer.parameters(), lr=0.1, foreach=True) for layer in (self.net[0], self.net[2])]
        self.optimizers.append(torch.optim.Adam(self.shifts, lr=0.1))

    def forward(self, x):
        with torch.enable_grad():
            for optimizer in self.optimizers:
                optimizer.zero_grad()
            self.net(x + self.shifts[0]).square().mean().backward()
            for optimizer in self.optimizers:
                optimizer.step()
        self.tracked[0].add_(x.mean(0))
        y = self.net(x + self.shifts[0]) + self.seen.sum()
        return y * 1 if torch.compiler.is_exporting() else y


def test_what_lists_hold_is_written_and_left_as_it_was():
    model, x = InLists().eval(), torch.randn(5, 2)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    program = flambeau.export(model, (x,), verify=True, state_outputs=True)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert not model.shifts[0].any() and model.shifts[0].grad is None and not any(optimizer.state for optimizer in model.optimizers)
    y, *state = program(x)
    torch.testing.assert_close(y, model(x).detach(), rtol=1e-4, atol=1e-5)
    expected = sorted(tuple(value.shape) for value in before.values())
    assert sorted(tuple(value.shape) for value in state) == expected
    for value in model.state_dict().values():
        assert any(value.shape == each.shape and torch.allclose(value, each, atol=1e-4) for each in state)


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_objects_that_lists_hold_are_left_as_they_were(capture):
    class Layer:
        def __init__(self):
            self.keys = torch.ones(1, 2)

    class Cached(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers, self.counts = [Layer()], (torch.zeros(2),)
            self.order = collections.OrderedDict(a=1, b=2)
            self.order.move_to_end("a")

        def forward(self, x):
            layer = self.layers[0]
            layer.keys = torch.cat([layer.keys, x])
            self.counts[0].add_(1)
            self.order["c"] = 3
            return layer.keys * self.counts[0]

    model, x = Cached(), torch.randn(3, 2)
    program = flambeau.export(model, (x,), capture=capture)
    assert model.layers[0].keys.tolist() == [[1, 1]] and model.counts[0].tolist() == [0, 0] and list(model.order) == ["b", "a"]
    torch.testing.assert_close(program(x)[0], model(x))


def test_weights_whose_memory_another_tensor_has_are_not_written():
    class Aliased(Net):
        def __init__(self):
            super().__init__()
            self.alias = self.net[2].weight.data.view(torch.int32)

        def forward(self, x):
            (gradient,) = torch.autograd.grad(self.net(x).square().mean(), self.net[2].weight)
            with torch.no_grad():
                self.net[2].weight.sub_(gradient)
            return x @ self.alias.view(torch.float32)[:, :2].T

    with pytest.raises(flambeau.errors.CaptureError, match="a weight whose memory another tensor has"):
        flambeau.export(Aliased().eval(), (torch.randn(5, 2),))


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@pytest.mark.parametrize("capture", ["export", "trace"])
def test_tensors_of_files_that_are_only_read(capture, tmp_path):
    np.arange(6, dtype=np.float32).tofile(tmp_path / "table")

    class Tabled(nn.Module):
        def __init__(self):
            super().__init__()
            table = torch.from_numpy(np.memmap(tmp_path / "table", np.float32, "r"))
            self.register_buffer("table", table)
            self.tables = [table.view(2, 3)]

        def forward(self, x):
            return x + self.table[:3] + self.tables[0]

    model, x = Tabled().eval(), torch.randn(2, 3)
    torch.testing.assert_close(flambeau.export(model, (x,), capture=capture, verify=True)(x)[0], model(x))


class RegularizedByAClosure(Net):
    def __init__(self):
        super().__init__()
        weight = self.net[0].weight
        self.penalty = lambda: weight.square().sum()

    def forward(self, x):
        loss = self.net(x).square().mean() + self.penalty()
        return torch.autograd.grad(loss, [*self.net[0].parameters()])


class AskedByAClosure(Net):
    def __init__(self):
        super().__init__()
        weights = list(self.net.parameters())
        self.gradients = lambda loss: torch.autograd.grad(loss, weights)

    def forward(self, x):
        return self.gradients(self.net(x).square().mean())


class SteppedByAClosure(Net):
    def __init__(self):
        super().__init__()
        optimizer = torch.optim.Adam(self.net.parameters(), lr=0.1)
        self.state = lambda: optimizer.state
        self.step, self.clear = lambda: optimizer.step(), lambda: optimizer.zero_grad()

    def forward(self, x):
        self.clear()
        self.net(x).square().mean().backward()
        self.step()
        return self.net(x)


class Partial(Net):
    def __init__(self):
        super().__init__()
        self.first = functools.partial(nn.functional.linear, weight=self.net[0].weight)
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

    def forward(self, x):
        self.zero_grad()
        self.first(x).square().mean().backward()
        self.optimizer.step()
        return self.first(x)


class Aliased(Net):
    def __init__(self):
        super().__init__()
        self.whole, self.parts = self.net[0].weight.data, [self.net[0].weight.detach()[2:, 1]]
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1)

    def forward(self, x):
        self.zero_grad()
        self.net(x).square().mean().backward()
        self.optimizer.step()
        self.whole.add_(1)
        return x @ self.whole.T, x[:, :1] * self.parts[0], self.net(x)


class Tied(Net):
    def __init__(self):
        super().__init__()
        self.other, self.third = nn.Linear(2, 8), nn.Linear(2, 8, bias=False)
        self.other.weight = self.third.weight = self.net[0].weight
        self.optimizer = torch.optim.SGD(self.parameters(), lr=0.1, momentum=0.9)

    def forward(self, x):
        self.zero_grad()
        (self.net(x) + self.other(x) * self.third(x)).square().mean().backward()
        self.optimizer.step()
        return self.net(x), self.other(x), self.third(x)


@pytest.mark.filterwarnings("ignore:.*ignored-mutation")
@pytest.mark.parametrize("kind", [RegularizedByAClosure, AskedByAClosure, SteppedByAClosure, Partial, Tied, Aliased])
def test_weights_that_others_know(kind):
    model = kind().eval()
    names = [[*module._parameters] for module in model.modules()]
    before = copy.deepcopy(model.state_dict())
    program = flambeau.export(model, (torch.randn(5, 2),), dynamic_shapes=({0: "n"},))
    model_proto = program.model_proto  # with the weights as they are
    assert [[*module._parameters] for module in model.modules()] == names
    torch.testing.assert_close(model.state_dict(), before, rtol=0, atol=0)
    assert not getattr(model, "state", dict)()
    session = onnxruntime.InferenceSession(model_proto.SerializeToString())
    for count in (5, 3):
        model.load_state_dict(before)
        for state in (getattr(model, "state", dict)(), getattr(getattr(model, "optimizer", None), "state", {})):
            state.clear()
        x = torch.randn(count, 2)
        for actual, expected in zip(session.run(None, {"x": x.numpy()}), leaves(model(x)), strict=True):
            np.testing.assert_allclose(actual, expected.detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore:.*ignored-mutation")
@pytest.mark.parametrize("way", ["foreach", "fused"])
def test_steps_of_whole_lists(way):
    model = Adapting(functools.partial(torch.optim.AdamW, **{way: True})).eval()
    program = flambeau.export(model, (torch.randn(5, 2),), dynamic_shapes=({0: "n"},))
    x = torch.randn(3, 2)
    y = program(x)[0]
    assert model.steps.param_groups[0][way] is True
    torch.testing.assert_close(y, model(x), rtol=1e-4, atol=1e-5)
