"""Modules in others that only call them, and what torch.compile made: it is the module inside that is converted."""

import pytest
import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import flambeau


class Named(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 4)

    def forward(self, first, second=None):
        result = self.linear(first).relu()
        return result if second is None else result + second


class Doubled(nn.DataParallel):
    def forward(self, *args, **kwargs):
        return super().forward(*args, **kwargs) * 2


def hooked():
    module = nn.DataParallel(Named())
    module.register_forward_hook(lambda module, args, result: result * 3)
    return module


def within(inner):
    return nn.Sequential(inner, nn.Sigmoid())


def compiled_in_place():
    module = Named()
    module.compile()
    return module


@torch.compile
def compiled_function(x):
    return x.sin()


class CallsCompiled(Named):
    def forward(self, first):
        return compiled_function(super().forward(first))


WRAPPERS = {
    "compile": torch.compile,
    "DataParallel": nn.DataParallel,
    "AveragedModel": AveragedModel,
    "compile of DataParallel": lambda module: torch.compile(nn.DataParallel(module)),
}
OTHERS = [lambda: Doubled(Named()), hooked, lambda: within(torch.compile(Named())), lambda: within(nn.DataParallel(Named())), compiled_in_place, CallsCompiled]


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_the_module_inside_is_converted(wrapper, dynamo):
    module = Named().eval()
    wrapped = WRAPPERS[wrapper](module).eval()
    args, others = ((torch.randn(n, 3), torch.randn(n, 4)) for n in (2, 5))
    batch = dict.fromkeys(("first", "second"), {0: "batch"})
    shapes = {"dynamic_shapes": batch} if dynamo else {"dynamic_axes": batch, "input_names": ["first", "second"]}
    program = flambeau.export(wrapped, args, dynamo=dynamo, verify=True, **shapes)
    assert [each.name for each in program.model_proto.graph.input] == ["first", "second"]
    assert {each.name for each in program.model_proto.graph.initializer} == {"linear.weight", "linear.bias"}
    torch.testing.assert_close(program(*others)[0], module(*others).detach())


def test_keyword_arguments_of_the_module_inside():
    module = nn.DataParallel(Named()).eval()
    x, y = torch.randn(2, 3), torch.randn(2, 4)
    program = flambeau.export(module, (x, {"second": y}), dynamic_shapes=({0: "batch"}, {0: "batch"}))
    torch.testing.assert_close(program(x, second=y)[0], module(x, second=y).detach())


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("make", OTHERS)
def test_what_a_wrapper_does_itself_is_kept(make, dynamo):
    module, x = make().eval(), torch.randn(2, 3)
    program = flambeau.export(module, (x,), dynamo=dynamo)
    torch.testing.assert_close(program(x)[0], module(x).detach())


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("use_reentrant", [True, False])
def test_checkpoints(use_reentrant, dynamo):
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.layers = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

        def forward(self, x):
            x = checkpoint(self.layers, self.first(x), use_reentrant=use_reentrant)
            return checkpoint_sequential(self.layers, 2, x, use_reentrant=use_reentrant)

    model, x = Model().eval(), torch.randn(2, 3)
    program = flambeau.export(model, (x,), dynamo=dynamo)
    torch.testing.assert_close(program(x)[0], model(x).detach())
    model(x).sum().backward()
    assert model.first.weight.grad is not None
