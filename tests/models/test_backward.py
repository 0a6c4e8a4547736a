"""Models that call ``backward`` in ``forward``, and those that ask whether there are gradients."""

import copy

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


def test_steps_that_write_weights_are_refused():
    class Adapting(Net):
        def forward(self, x):
            self.net(x).square().mean().backward()
            torch.optim.SGD(self.parameters(), lr=0.1).step()
            return self.net(x)

    model = Adapting().eval()
    weights = [weight.detach().clone() for weight in model.parameters()]
    with pytest.raises(flambeau.errors.CaptureError, match="what an optimizer writes to weights of the model cannot"):
        flambeau.export(model, (torch.randn(5, 2),))
    assert all(map(torch.equal, weights, model.parameters()))
