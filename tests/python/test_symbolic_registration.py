"""Ways to register symbolic functions, and the names under which they are found."""

import contextlib
import functools
import inspect

import pytest
import torch
from registering import CAPTURES, Call, registered

import flambeau
from flambeau import onnx as fonnx
from flambeau import torch_names

registration = inspect.getmodule(type(torch_names.found("torch.onnx._internal.torchscript_exporter.registration.registry")))

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.25]])


def operators(function, args=(X,), **options):
    """Of the exported model."""
    return [node.op_type for node in flambeau.export(Call(function), args, **options).model_proto.graph.node]


@contextlib.contextmanager
def torchs_registry():
    """What is registered with torch while it is open is gone afterwards."""
    groups = registration.registry._registry
    before = {name: {key: {**functions} for key, functions in vars(group._functions).items()} for name, group in groups.items()}
    try:
        yield
    finally:
        for name in groups.keys() - before:
            del groups[name]
        for name, functions in before.items():
            vars(groups[name]._functions).update(functions)


# --- torch's decorator --------------------------------------------------------------------

doubled = torch.library.custom_op(
    "flambeau_registration::doubled", lambda x: x * 2, mutates_args=(), schema="(Tensor x) -> Tensor"
)
doubled.register_fake(torch.empty_like)


@CAPTURES
@pytest.mark.parametrize("custom", [False, True])
def test_functions_that_torchs_decorator_registered(dynamo, custom):
    with torchs_registry():
        symbolic = functools.partial(registration.onnx_symbolic, opset=18, custom=custom)
        symbolic("flambeau_registration::doubled")(lambda g, x: g.op("Add", x, x))
        symbolic("aten::relu")(lambda g, x: g.op("Abs", x))
        assert operators(lambda x: doubled(x).relu(), dynamo=dynamo) == ["Add", "Abs"]
        assert operators(torch.relu, dynamo=dynamo, opset_version=17) == ["Relu"]
    assert operators(torch.relu, dynamo=dynamo) == ["Relu"]


def test_torchs_custom_functions_come_before_those_of_its_decorator():
    with torchs_registry():
        registration.onnx_symbolic("aten::relu", 18)(lambda g, x: g.op("Abs", x))
        torch.onnx.register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Neg", x), 18)
        assert operators(torch.relu) == ["Neg"]
        fonnx.unregister_custom_op_symbolic("aten::relu", 18)
        assert operators(torch.relu) == ["Abs"]
        with pytest.warns(UserWarning, match="no symbolic function is registered for 'aten::relu' at opset 18"):
            fonnx.unregister_custom_op_symbolic("aten::relu", 18)


# --- names ----------------------------------------------------------------------------------

B = torch.tensor([True, False])
I = torch.tensor([1, 2])


@CAPTURES
@pytest.mark.parametrize(
    ("name", "function", "x"),
    [
        ("__and_", lambda x: x & x, B),
        ("__or_", lambda x: x | x, B),
        ("__xor_", lambda x: x ^ x, B),
        ("__lshift_", lambda x: x << x, I),
        ("__rshift_", lambda x: x >> 1, I),
    ],
)
def test_names_that_torch_looks_up(dynamo, name, function, x):
    def node(op):
        return lambda g, x, y: g.op(f"mine::{op}", x, y).setType(x.type())

    with registered(f"aten::{name}", node("Found")):
        assert operators(function, (x,), dynamo=dynamo) == ["Found"]
        with registered(f"aten::{name}_", node("Named")):
            assert operators(function, (x,), dynamo=dynamo) == ["Named"]
    assert "Found" not in operators(function, (x,), dynamo=dynamo)
