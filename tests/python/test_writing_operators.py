"""Operators of users that write to their arguments: what they write are further results of a node that writes nothing."""

import operator
import subprocess
import sys

import onnx
import onnxruntime
import onnxruntime_extensions
import pytest
import torch
from onnxruntime_extensions import PyCustomOpDef, onnx_op
from onnxscript import opset20

import flambeau
from flambeau.onnx import register_custom_op_symbolic, unregister_custom_op_symbolic

CONTRIB = "ai.onnx.contrib"  # the domain of onnxruntime-extensions' kernels in Python


@torch.library.custom_op("writing::raise_by", mutates_args={"x"})
def raise_by(x: torch.Tensor, by: float) -> None:
    x.add_(by)


@torch.library.custom_op("writing::into", mutates_args={"out"})
def into(out: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    out.copy_(x * 2)
    return x + 1


@into.register_fake
def _(out, x):
    return torch.empty_like(x)


@torch.library.custom_op("writing::double_all", mutates_args={"xs", "also"})
def double_all(xs: list[torch.Tensor], also: torch.Tensor | None = None) -> None:
    for x in [*xs, *([] if also is None else [also])]:
        x.mul_(2)


FLOAT = PyCustomOpDef.dt_float


@onnx_op(op_type="raise_by", inputs=[FLOAT], outputs=[FLOAT], attrs={"by": FLOAT})
def _raise_by(x, **attributes):
    return x + attributes["by"]


@onnx_op(op_type="into", inputs=[FLOAT] * 2, outputs=[FLOAT] * 2)
def _into(out, x):
    return x + 1, x * 2


@onnx_op(op_type="double_all", inputs=[FLOAT] * 2, outputs=[FLOAT] * 2)
def _double_all(a, b):
    return a * 2, b * 2


class Whole(torch.nn.Module):
    def forward(self, x):
        y = x * 1
        raise_by(y, 2.0)
        return y, x


class Part(torch.nn.Module):
    """A row of a matrix is written, and so are its other views."""

    def forward(self, x):
        table = torch.zeros(2, 3) + x
        last = table[1:]
        fresh = into(table[1], x[0])
        return fresh, table, last


class Several(torch.nn.Module):
    def forward(self, x):
        a, b = x + 1, x - 1
        double_all([a, b])
        return a * b


class State(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 3))

    def forward(self, x):
        raise_by(self.seen, 1.0)
        return x + self.seen


MODELS = [Whole, Part, Several, State]
X = torch.tensor([[1.0, -2.0, 3.0]])


def runs_right(program, model):
    """In onnxruntime, by the kernels above."""
    proto = onnx.ModelProto()
    proto.CopyFrom(program.model_proto)
    onnx.checker.check_model(proto)
    for node in proto.graph.node:
        if node.domain == "writing":
            node.domain = CONTRIB
    proto.opset_import.append(onnx.helper.make_opsetid(CONTRIB, 1))
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(onnxruntime_extensions.get_library_path())
    session = onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])
    expected = model()(X.clone())
    expected = expected if isinstance(expected, tuple) else (expected,)
    for ours, theirs in zip(session.run(None, {"x": X.numpy()}), expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(ours), theirs)


@pytest.mark.parametrize("decomposed", [False, True], ids=["as captured", "functionalized"])
@pytest.mark.parametrize("model", MODELS)
def test_what_is_written_is_a_result(model, decomposed, tmp_path):
    exported = torch.export.export(model(), (X,))
    if decomposed:  # auto_functionalized
        exported = exported.run_decompositions({})
    runs_right(flambeau.export(exported, custom_opsets={"writing": 1}), model)
    flambeau.save(exported, tmp_path / "model.pt2")
    runs_right(flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx", custom_opsets={"writing": 1}), model)


def test_results_come_before_what_is_written():
    (node,) = [node for node in flambeau.export(Part(), (X,), custom_opsets={"writing": 1}).model_proto.graph.node if node.domain]
    assert (node.domain, node.op_type, len(node.input), len(node.output)) == ("writing", "into", 2, 2)


@pytest.mark.parametrize("capture", ["trace", "script"])
def test_torchscript(capture):
    class Model(torch.nn.Module):
        def forward(self, x):
            y = x * 1
            torch.ops.writing.raise_by(y, 2.0)
            return y

    register_custom_op_symbolic("writing::raise_by", lambda g, x, by: g.op("Add", x, by), 9)
    try:
        program = (
            flambeau.export(torch.jit.script(Model()), (X,))
            if capture == "script"
            else flambeau.export(Model(), (X,), capture="trace")
        )
    finally:
        unregister_custom_op_symbolic("writing::raise_by", 9)
    torch.testing.assert_close(program(X)[0], X + 2)


def test_translations_give_what_is_written():
    table = {torch.ops.writing.into.default: lambda out, x: (opset20.Neg(x), opset20.Abs(x))}
    fresh, changed, _ = flambeau.export(Part(), (X,), custom_translation_table=table)(X)
    assert torch.equal(fresh, -X[0]) and torch.equal(changed[1], X[0].abs())


def test_without_a_translation_the_operator_is_named():
    with pytest.raises(flambeau.errors.UnsupportedOperatorError) as caught:
        flambeau.export(Whole(), (X,))
    assert "writing::raise_by has no translation" in str(caught.value) and "functionalized" not in str(caught.value)


def _fill(x, by):
    x.fill_(by)


@pytest.mark.parametrize("decomposed", [False, True])
def test_an_archive_without_schemas_is_not_guessed_at(decomposed, tmp_path):
    """The process knows the operator by now; an archive of another one stands for what it does not know."""
    library = torch.library.Library("writing", "FRAGMENT")
    name = f"fill_{int(decomposed)}"
    library.define(f"{name}(Tensor(a!) x, float by) -> ()")
    library.impl(name, _fill, "CompositeExplicitAutograd")

    class Model(torch.nn.Module):
        def forward(self, x):
            y = x * 1
            getattr(torch.ops.writing, name)(y, 2.0)
            return y

    exported = torch.export.export(Model(), (X,))
    torch.export.save(exported.run_decompositions({}) if decomposed else exported, tmp_path / "model.pt2")
    given = tmp_path / "model.pt2", tmp_path / "model.onnx"
    with pytest.raises(flambeau.errors.OnnxExporterError, match="schema, which says to which, is not known"):
        flambeau.convert(*given, custom_opsets={"writing": 1})
    schema = f"writing::{name}(Tensor(a!) x, float by) -> ()"
    program = flambeau.convert(*given, custom_opsets={"writing": 1}, operator_schemas=[schema])
    node = program.model_proto.graph.node[-1]
    assert (node.op_type, list(node.output)) == (name, [program.outputs[0].name])
    with pytest.raises(flambeau.errors.OnnxExporterError, match="is no schema of an operator of one's own"):
        flambeau.convert(*given, operator_schemas=["aten::relu(Tensor x) -> Tensor"])
    with pytest.raises(flambeau.errors.OnnxExporterError, match="is no schema of an operator of one's own"):
        flambeau.convert(*given, operator_schemas=["relu"])


class Kernel:
    """Stands for a triton.JITFunction: triton itself compiles nothing where there is no GPU."""

    arg_names = ("source", "target", "count", "BLOCK")
    __name__ = "add_one_kernel"


def launched(functional, twice=False):
    """A program in which Triton's kernel is launched, as torch.export captures it, or functionalizes it; twice: again without a count."""
    from torch._higher_order_ops import triton_kernel_wrap as triton

    class Model(torch.nn.Module):
        def forward(self, x):
            out = torch.zeros_like(x)
            return torch.relu(torch.neg(out)), x

    exported = torch.export.export(Model(), (X,))
    graph = exported.graph
    x, out, neg = (next(node for node in graph.nodes if node.name == name) for name in ("x", "zeros_like", "neg"))
    options = dict(
        kernel_idx=triton.kernel_side_table.add_kernel(Kernel()),
        constant_args_idx=triton.kernel_side_table.add_constant_args({"BLOCK": 128}),
        grid=[(1, 1, 1)],
        tma_descriptor_metadata={},
        kwargs={"target": out, "source": x, "count": 3},
    )
    with graph.inserting_before(neg):
        if functional:
            launch = graph.call_function(triton.triton_kernel_wrapper_functional, (), {**options, "tensors_to_clone": ["target"]})
            launch.meta["val"] = {"target": out.meta["val"]}
            written = graph.call_function(operator.getitem, (launch, "target"))
            written.meta["val"] = out.meta["val"]
            neg.replace_input_with(out, written)
        else:
            graph.call_function(triton.triton_kernel_wrapper_mutation, (), options).meta["val"] = None
            if twice:
                others = {**options, "kwargs": {"target": out, "source": x}, "grid": [(1, 1, 1), (2, 1, 1)]}
                graph.call_function(triton.triton_kernel_wrapper_mutation, (), others).meta["val"] = None
    return exported


@pytest.mark.parametrize("functional", [False, True])
def test_triton_kernels_are_operators_of_their_names(functional):
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="triton::add_one_kernel has no translation"):
        flambeau.export(launched(functional))
    proto = flambeau.export(launched(functional), custom_opsets={"triton": 1}).model_proto
    kernel = next(node for node in proto.graph.node if node.domain == "triton")
    attributes = {each.name: onnx.helper.get_attribute_value(each) for each in kernel.attribute}
    assert (kernel.op_type, attributes) == ("add_one_kernel", {"count": 3, "BLOCK": 128, "grid": [1, 1, 1]})
    assert kernel.input[0] == "x" and len(kernel.input) == 2
    neg = next(node for node in proto.graph.node if node.op_type == "Neg")
    assert neg.input[0] == kernel.output[-1] and len(kernel.output) == (1 if functional else 2)


def test_launches_of_a_kernel_may_differ_in_what_they_give():
    proto = flambeau.export(launched(False, twice=True), custom_opsets={"triton": 1}).model_proto
    first, second = (node for node in proto.graph.node if node.domain == "triton")
    assert [each.name for each in first.attribute] == ["count", "BLOCK", "grid"]
    assert [each.name for each in second.attribute] == ["BLOCK"]
    assert list(second.input) == list(first.output)


def test_optional_arguments_keep_their_places():
    """What is not given is an input, and a result, without a name."""
    library = torch.library.Library("writing", "FRAGMENT")
    library.define("either(Tensor x, Tensor(a!)? a=None, Tensor(b!)? b=None) -> ()")
    library.impl("either", lambda x, a=None, b=None: None, "CompositeExplicitAutograd")

    class Model(torch.nn.Module):
        def forward(self, x):
            a, b = torch.zeros_like(x), torch.zeros_like(x)
            torch.ops.writing.either(x, a, None)
            torch.ops.writing.either(x, None, b)
            return a, b

    exported = torch.export.export(Model(), (X,))
    for program in (exported, exported.run_decompositions({})):
        proto = flambeau.export(program, custom_opsets={"writing": 1}).model_proto
        first, second = (node for node in proto.graph.node if node.domain == "writing")
        a, b = (output.name for output in proto.graph.output)
        assert [len(first.input), first.output[0]] == [2, a]
        assert [list(second.input[:2]), list(second.output)] == [["x", ""], ["", b]]


WITH_TRITON = """
import logging, sys, types
import torch, triton, triton.language as tl
from torch.library import triton_op, wrap_triton
import flambeau
logging.disable(logging.CRITICAL)  # torch says at length that it finds no GPU

@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    sum = tl.load(x_ptr + places, mask=places < n) + tl.load(y_ptr + places, mask=places < n)
    tl.store(out_ptr + places, sum, mask=places < n)

@triton_op("launches::add", mutates_args={})
def add(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 128),)](x, y, out, x.numel(), BLOCK=128)
    return out

class Launches(torch.nn.Module):
    def forward(self, x, y):
        out, small = torch.empty_like(x), torch.zeros(7)
        wrap_triton(add_kernel)[(triton.cdiv(x.numel(), 128),)](x, y, out, x.numel(), BLOCK=128)
        wrap_triton(add_kernel)[(1,)](small, small + 1, small, 7, BLOCK=64)
        return torch.relu(add(out, y)), small

x = torch.randn(4, 5)
exported = torch.export.export(Launches(), (x, x), dynamic_shapes=({0: torch.export.Dim("rows")},) * 2)
proto = flambeau.export(exported, custom_opsets={"triton": 1, "launches": 1}).model_proto
first, second = (node for node in proto.graph.node if node.domain == "triton")
assert {each.name for each in first.attribute} == {"BLOCK"} and len(first.input) == 4, first
assert {each.name for each in second.attribute} == {"n", "BLOCK", "grid"} and len(second.input) == 3, second
assert len(first.output) == len(second.output) == 1
own = next(node for node in proto.graph.node if node.domain == "launches")
assert list(own.input) == [first.output[0], "y"], own
"""


def test_launches_as_triton_itself_makes_them(tmp_path):
    """One kernel with a grid that depends on the input, and with one that does not; what it writes, as its code says."""
    pytest.importorskip("triton")
    script = tmp_path / "launches.py"  # Triton reads a kernel's code from its file
    script.write_text(WITH_TRITON)
    subprocess.run([sys.executable, str(script)], check=True, timeout=300)


def test_an_archive_without_schemas_is_warned_of(tmp_path):
    """An operator that returns something may write as well."""
    library = torch.library.Library("writing", "FRAGMENT")
    library.define("plain(Tensor x) -> Tensor")
    library.impl("plain", torch.neg, "CompositeExplicitAutograd")

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.ops.writing.plain(x)

    torch.export.save(torch.export.export(Model(), (X,)), tmp_path / "model.pt2")
    given = tmp_path / "model.pt2", tmp_path / "model.onnx"
    with pytest.warns(flambeau.errors.ConversionWarning, match="whether writing::plain writes to its arguments is not known"):
        flambeau.convert(*given, custom_opsets={"writing": 1})
    program = flambeau.convert(*given, custom_opsets={"writing": 1}, operator_schemas=["writing::plain(Tensor x) -> Tensor"])
    assert not program.diagnostics
