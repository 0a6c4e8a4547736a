"""Derivatives of each example of a batch of any size: Jacobians, Hessians, directional derivatives."""

import pytest
import torch
from torch import nn
from torch.func import grad, hessian, jacfwd, jacrev, jvp, vmap

import flambeau

pytestmark = pytest.mark.needs("torch.library.get_kernel")


class Layers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Sequential(nn.Linear(6, 4), nn.Tanh(), nn.Linear(4, 2))
        self.convolution = nn.Conv1d(1, 3, 3, padding=1)
        self.layer_norm = nn.LayerNorm(6)
        self.group_norm = nn.GroupNorm(2, 6)
        self.batch_norm = nn.BatchNorm1d(6)
        self.matrix = nn.Parameter(torch.randn(6, 6))


FUNCTIONS = {
    "linear": lambda m, v: m.linear(v),
    "matrix": lambda m, v: m.matrix @ v.tanh(),
    "convolution": lambda m, v: m.convolution(v[None]).sin(),
    "layer_norm": lambda m, v: m.layer_norm(v).sin(),
    "group_norm": lambda m, v: m.group_norm(v[None])[0].sin(),
    "batch_norm": lambda m, v: m.batch_norm(v[None])[0].exp(),
    "gelu": lambda m, v: nn.functional.gelu(v),
    "softmax": lambda m, v: v.softmax(-1) * v,
    "slices": lambda m, v: v[1:4].sin() * v[2] + v[3:],
    "split": lambda m, v: torch.stack([a * b for a, b in zip(v.chunk(2), v.split(3))]),
    "cat": lambda m, v: torch.cat([v[:2].sin(), v[4:] ** 2, v]).prod(),
    "gather": lambda m, v: v.gather(0, torch.tensor([1, 0, 1])) ** 3,
    "index_add": lambda m, v: torch.zeros(3).index_add(0, torch.tensor([0, 1, 2, 0, 1, 2]), v**2),
    "scatter_add": lambda m, v: torch.zeros(3).scatter_add(0, torch.tensor([0, 1, 2, 0, 1, 2]), v**2),
    "attention": lambda m, v: nn.functional.scaled_dot_product_attention(*(v.view(1, 3, 2),) * 3),
}
DERIVATIVES = {
    "forward": lambda f: vmap(jacfwd(f)),
    "backward": lambda f: vmap(jacrev(f)),
    "twice": lambda f: vmap(hessian(lambda v: f(v).square().sum())),
    "along": lambda f: lambda x: jvp(vmap(f), (x,), (x.cos(),))[1],
}


def check(model, args, others):
    program = flambeau.export(model.eval(), args, dynamic_shapes=tuple({0: "n"} for _ in args))
    for each in (args, others):
        expected = torch.utils._pytree.tree_leaves(model(*each))
        for actual, value in zip(program(*each), expected, strict=True):
            torch.testing.assert_close(actual, value.detach(), rtol=2e-3, atol=1e-6 + 1e-4 * float(value.abs().max()))


@pytest.mark.parametrize("derivative", DERIVATIVES)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_batches_stay_dynamic(function, derivative):
    class Derived(Layers):
        def forward(self, x):
            return DERIVATIVES[derivative](lambda v: FUNCTIONS[function](self, v))(x)

    torch.manual_seed(0)
    check(Derived(), (torch.randn(3, 6),), (torch.randn(5, 6),))


class Equation(nn.Module):
    """The residual of a heat equation, of a network of two scalars."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))

    def forward(self, t, x):
        def u(t, x):
            return self.net(torch.cat([t, x])).squeeze()

        first = vmap(jacfwd(u, argnums=(0, 1)))(t, x)
        second = vmap(lambda t, x: jvp(lambda y: jvp(lambda z: u(t, z), (y,), (torch.ones(1),))[1], (x,), (torch.ones(1),))[1])(t, x)
        return first[0] - second[:, None], first[1]


def test_equations():
    check(Equation(), (torch.randn(3, 1), torch.randn(3, 1)), (torch.randn(7, 1), torch.randn(7, 1)))


class AlongAVector(Layers):
    def forward(self, x):
        return jvp(grad(lambda v: self.linear(v).square().sum()), (x,), (x.cos(),))[1]


class OfTheWholeBatch(Layers):
    def forward(self, x):
        return jacrev(jacrev(lambda v: self.linear(v).square().sum()))(x), jacfwd(self.linear)(x)


@pytest.mark.parametrize("kind", [AlongAVector, OfTheWholeBatch])
def test_derivatives_of_batches(kind):
    check(kind(), (torch.randn(3, 6),), (torch.randn(5, 6),))


def test_rules_of_torch_are_back():
    per_example = vmap(lambda v: torch.cat([v, v]))
    x = torch.randn(3, 4)
    check(OfTheWholeBatch(), (torch.randn(3, 6),), (torch.randn(5, 6),))
    kernel = torch.library.get_kernel("aten::cat", "FuncTorchBatched")
    torch.testing.assert_close(per_example(x), torch.cat([x, x], 1))
    assert "LegacyBatching" in str(kernel)
