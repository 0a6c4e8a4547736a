"""How often a symbolic function runs: once for each call, as with torch, whatever the engine asks."""

import pytest
import torch
from registering import CAPTURES, Call, registered

import flambeau

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.25]])


class Scaled(torch.autograd.Function):
    """Its symbolic function takes the options that it is given apart."""

    @staticmethod
    def forward(ctx, x, options):
        return x * 2

    @staticmethod
    def symbolic(g, x, options):
        return g.op(f"mine::{options.pop('kind')}", x, **options).setType(x.type())


def test_arguments_that_are_taken_apart():
    class Net(torch.nn.Module):
        def forward(self, x):
            return Scaled.apply(Scaled.apply(x, {"kind": "Scaled", "scale_f": 2.0}), {"kind": "Other", "bits_i": 8})

    nodes = flambeau.export(Net(), (X,), dynamo=False).model_proto.graph.node
    assert [(node.op_type, node.attribute[0].name) for node in nodes] == [("Scaled", "scale"), ("Other", "bits")]


@CAPTURES
@pytest.mark.parametrize("sizes", [None, {"x": {0: "batch"}}], ids=["static", "dynamic"])
def test_functions_that_count_their_calls(dynamo, sizes):
    factors = [2.0, 3.0]  # one for each call

    def relu(g, x):
        return g.op("Mul", g.op("Relu", x), torch.tensor(factors.pop(0)))

    with registered("aten::relu", relu):
        program = flambeau.export(Call(lambda x: (x.relu() - 1).relu()), (X,), dynamo=dynamo, input_names=["x"], dynamic_axes=sizes)
    torch.testing.assert_close(program(X)[0], ((X.relu() * 2 - 1).relu() * 3))


def test_functions_that_count_their_calls_in_loops():
    calls = []

    def relu(g, x):
        calls.append(x.type().sizes())
        return g.op("Relu", x)

    def function(x):
        for _ in range(x.size(0)):
            x = (x - 0.25).relu()
        return x

    model = torch.jit.script(function)
    with registered("aten::relu", relu):
        program = flambeau.export(model, (X,), input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    assert len(calls) == 1
    for x in (X, torch.rand(4, 3)):
        torch.testing.assert_close(program(x)[0], model(x))


def test_conversions_that_are_done_once_more():
    calls = []

    def relu(g, x):
        calls.append(x)
        return g.op("Relu", x)

    with registered("aten::relu", relu):
        program = flambeau.export(torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()), (X,), dynamo=False)
        program.apply_weights({"0.weight": torch.ones(2, 3), "0.bias": torch.zeros(2)})
    assert len(calls) == 1
    torch.testing.assert_close(program(X)[0], X.sum(1, keepdim=True).relu().expand(2, 2))


def test_calls_of_other_types_are_others():
    def relu(g, x):
        return g.op("Mul", x, torch.tensor(float(x.type().dim())))

    @torch.jit.script
    def function(x, y):
        return torch.relu(x), torch.relu(y)

    with registered("aten::relu", relu):
        program = flambeau.export(function, (X, X[0]))
    first, second = program(X, X[0])
    torch.testing.assert_close((first, second), (X * 2, X[0]))
