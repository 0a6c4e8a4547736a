"""``export_modules_as_functions``: local functions for modules."""

import sys

import onnx
import pytest
import torch

import flambeau
from flambeau.onnx import export
from flambeau.onnx._functions import with_functions

X = torch.randn(2, 6)
CAPTURES = pytest.mark.parametrize("dynamo", [True, False], ids=["export", "trace"])


class Block(torch.nn.Module):
    width: int
    name: str

    def __init__(self, eps, scale=1.0):
        super().__init__()
        self.width, self.name, self.scale = 6, "block", scale
        self.norm, self.linear = torch.nn.LayerNorm(6, eps=eps), torch.nn.Linear(6, 6)

    def forward(self, x):
        return x + self.scale * torch.relu(self.linear(self.norm(x)))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList([Block(1e-5), Block(1e-3), Block(1e-5)])
        self.act = torch.nn.GELU()

    def forward(self, x):
        for layer in self.layers:
            x = self.act(layer(x))
        return x, x.sum()


def exported(model, args=(X,), **options):
    program = export(model, args, **options)
    proto = program.model_proto
    onnx.checker.check_model(proto, full_check=True)
    expected = torch.utils._pytree.tree_leaves(model(*args))
    for ours, theirs in zip(program(*args), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    return proto


@CAPTURES
def test_repeated_blocks_share_a_function(dynamo, tmp_path):
    proto = exported(Net(), dynamo=dynamo, export_modules_as_functions=True, f=tmp_path / "model.onnx")
    functions = {function.name: function for function in proto.functions}
    assert set(functions) == {"LayerNorm", "Linear", "Block", "GELU"}
    assert functions["Linear"].domain == "torch.nn.modules.linear"
    assert [node.op_type for node in proto.graph.node] == ["Block", "GELU"] * 3 + ["ReduceSum"]
    assert {node.op_type for node in functions["Block"].node} >= {"LayerNorm", "Linear", "Relu", "Add"}
    assert len(onnx.load(tmp_path / "model.onnx").functions) == 4


@CAPTURES
def test_attributes_are_inferred_and_annotated(dynamo):
    proto = exported(Net(), dynamo=dynamo, export_modules_as_functions=Block)
    (block,) = proto.functions
    assert [name for name in block.attribute if name.startswith("inferred::")] == ["inferred::epsilon"]
    assert set(block.attribute) >= {"width", "name"}
    calls = [node for node in proto.graph.node if node.op_type == "Block"]
    values = [{each.name: onnx.helper.get_attribute_value(each) for each in call.attribute} for call in calls]
    assert [value["inferred::epsilon"] for value in values] == pytest.approx([1e-5, 1e-3, 1e-5])
    assert all(value["width"] == 6 and value["name"] == b"block" for value in values)
    assert "GELU" not in {node.op_type for node in proto.graph.node}


@CAPTURES
def test_what_differs_deep_inside_is_handed_down(dynamo):
    proto = exported(Net(), dynamo=dynamo, export_modules_as_functions=True)
    block = next(function for function in proto.functions if function.name == "Block")
    assert "inferred::epsilon" in block.attribute
    norm = next(node for node in block.node if node.op_type == "LayerNorm")
    assert [each.ref_attr_name for each in norm.attribute if each.name == "inferred::epsilon"] == ["inferred::epsilon"]


@CAPTURES
def test_structures_that_differ_have_functions_of_their_own(dynamo):
    class Two(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(6, 6), torch.nn.Linear(6, 6, bias=False)

        def forward(self, x):
            return self.b(self.a(x))

    proto = exported(Two(), dynamo=dynamo, export_modules_as_functions={torch.nn.Linear})
    assert [function.name for function in proto.functions] == ["Linear", "Linear_1"]


@CAPTURES
def test_a_module_that_is_called_twice(dynamo):
    class Twice(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(6, 6)

        def forward(self, x):
            return self.linear(torch.relu(self.linear(x)) + x)

    proto = exported(Twice(), dynamo=dynamo, export_modules_as_functions=True)
    assert [node.op_type for node in proto.graph.node] == ["Linear", "Relu", "Add", "Linear"]


class Signed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.sign()

    @staticmethod
    def symbolic(g, x):
        return g.op("Sign", x)


class Part(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(6, 6)

    def forward(self, x):
        return self.linear(x).relu()


class SignedPart(Part):
    def forward(self, x):
        return Signed.apply(super().forward(Signed.apply(x)))


class InARow(torch.nn.Module):
    """Calls of a shared module that follow each other."""

    def __init__(self, kind):
        super().__init__()
        self.shared, self.other = kind(), kind()

    def forward(self, x):
        return self.other(self.shared(self.shared(x))), self.shared(x + 1)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (Part, {"dynamo": True}),
        (Part, {"dynamo": True, "capture_strategies": ["strict"]}),
        (Part, {"dynamo": False}),
        (SignedPart, {"dynamo": False}),
    ],
    ids=["export", "strict", "trace", "trace-autograd"],
)
def test_each_call_of_a_module_is_one_of_its_function(kind, options):
    proto = exported(InARow(kind), export_modules_as_functions={kind}, **options)
    (function,) = proto.functions
    assert [node.op_type for node in function.node].count("Gemm") == 1
    assert sorted(node.op_type for node in proto.graph.node) == sorted([kind.__name__] * 4 + ["Add"])
    calls = [node for node in proto.graph.node if node.op_type == kind.__name__]
    assert sorted(node.name for node in calls) == ["other", "shared", "shared_1", "shared_2"]
    # Functions in functions, too.
    proto = exported(InARow(kind), export_modules_as_functions=True, **options)
    assert {each.name for each in proto.functions} == {kind.__name__, "Linear"}


def test_dynamic_sizes():
    program = export(Net(), (X,), export_modules_as_functions=True, dynamic_shapes={"x": {0: "n"}})
    assert program(torch.randn(5, 6))[0].shape == (5, 6)


@CAPTURES
def test_constants_within_functions_are_no_inputs(dynamo):
    class Doubled(Block):
        def forward(self, x):
            return super().forward(x) * self.doubled

    model = Doubled(1e-5)
    model.doubled = 2 * torch.ones(6)
    proto = exported(torch.nn.Sequential(model), dynamo=dynamo, export_modules_as_functions={Doubled}, keep_initializers_as_inputs=True)
    assert [value.name for value in proto.graph.input][1:] == [weight.name for weight in proto.graph.initializer]
    assert {node.op_type for node in proto.functions[0].node} >= {"Constant"}
    assert [node.op_type for node in proto.graph.node] == ["Doubled"]


def test_what_it_needs():
    with pytest.raises(flambeau.errors.UnsupportedOptionError, match="opset 15"):
        export(Net(), (X,), export_modules_as_functions=True, opset_version=14)
    with pytest.raises(flambeau.errors.UnsupportedOptionError, match="the module itself"):
        export(torch.jit.script(torch.nn.ReLU()), (X,), export_modules_as_functions=True)


def test_calls_that_are_not_told_apart_and_need_each_other():
    class Crossed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = Part(), Part()

        def forward(self, x):
            return self.b(self.a(x)), self.a(self.b(x + 1))

    model = Crossed()
    proto = with_functions(export(model, (X,)).model_proto, model, {Part}, {})
    onnx.checker.check_model(proto, full_check=True)
    assert {node.op_type for node in proto.graph.node} == {"Part", "Add"}


class Scaled(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.linear, self.scale = torch.nn.Linear(6, 6), scale

    def forward(self, x):
        return torch.relu(self.linear(x)) * self.scale


def steps_of(call):
    """How many instructions of Python a call takes, those of comprehensions and sorts included."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("differing", [0, 7], ids=["one function", "many functions"])
def test_work_is_linear_in_the_number_of_modules(differing):
    def work(count):
        rows = [[Scaled(i), *(torch.nn.ReLU() if i >> bit & 1 else torch.nn.Tanh() for bit in range(differing))] for i in range(count)]
        model = torch.nn.Sequential(*(torch.nn.Sequential(*row) for row in rows))
        proto = export(model, (X,), optimize=False).model_proto
        return steps_of(lambda: with_functions(proto, model, {Scaled, torch.nn.Sequential}, {}))

    assert work(80) < 9 * work(10)
