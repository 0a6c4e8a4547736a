"""Symbolic functions: registered for operators, static ones of autograd functions, and what they are written with."""


import onnx
import onnxscript
import pytest
import torch
from onnxscript.onnx_opset import opset15 as op15
from registering import CAPTURES, Call, registered

import flambeau
from flambeau import onnx as fonnx
from flambeau.onnx import OperatorExportTypes, symbolic_helper
from flambeau.onnx.symbolic_helper import parse_args

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.25]])


def library_op(name, schema, function):
    made = torch.library.custom_op(f"flambeau_symbolic::{name}", function, mutates_args=(), schema=schema)
    made.register_fake(lambda x, *_: torch.empty_like(x))
    return made


scaled = library_op("scaled", "(Tensor x, float a) -> Tensor", lambda x, a: x * a)
every = library_op(
    "every",
    "(Tensor x, float a, bool flag, int[] dims, str mode, int n, Tensor? t, float[] fs, ScalarType d) -> Tensor",
    lambda x, a, *_: x * a,
)


def exported(function, args=(X,), **options):
    """The operators of the exported model, and it."""
    model = function if isinstance(function, torch.nn.Module) else Call(function)
    program = flambeau.export(model, args, **options)
    return [f"{node.domain}::{node.op_type}" if node.domain else node.op_type for node in program.model_proto.graph.node], program


def check(function, args=(X,), **options):
    """As `exported`; the numbers are PyTorch's."""
    operators, program = exported(function, args, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    expected = torch.utils._pytree.tree_leaves(function(*args))
    for ours, theirs in zip(program(*args), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    return operators


# --- registered functions ---------------------------------------------------------------


@CAPTURES
@pytest.mark.parametrize("by", [fonnx, torch.onnx], ids=["flambeau", "torch"])
def test_custom_operators_become_what_the_function_says(dynamo, by):
    def symbolic(g, x, a):
        assert g.original_node.kind() == "flambeau_symbolic::scaled" and next(g.original_node.inputs()).type().sizes() == [2, 3]
        return g.op("mine::Foo", x, alpha_f=a.node().t("value").item(), mode_s="m", axes_i=[1, 2])

    with registered("flambeau_symbolic::scaled", symbolic, by=by):
        operators, program = exported(lambda x: scaled(x, 2.5) + 1, dynamo=dynamo, custom_opsets={"mine": 2})
    assert operators == ["mine::Foo", "Add"]
    assert {each.domain: each.version for each in program.model_proto.opset_import}["mine"] == 2
    node = program.model_proto.graph.node[0]
    assert {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} == {"alpha": 2.5, "mode": b"m", "axes": [1, 2]}
    assert program.outputs[0].sizes == ["2", "3"]
    with pytest.raises(flambeau.errors.UnsupportedOperatorError):
        exported(lambda x: scaled(x, 2.5), dynamo=dynamo)


@CAPTURES
def test_built_ins_are_overridden_in_all_their_overloads(dynamo):
    def add(g, x, y, alpha):
        return g.op("Sum", x, y)

    with registered("::add", add):
        assert check(lambda x: x.add(x) + 1.0, dynamo=dynamo) == ["Sum", "Sum"]
    assert check(lambda x: x.clone().relu_(), dynamo=dynamo) == ["Relu"]
    with registered("aten::relu", lambda g, x: g.op("Max", x, torch.tensor(0.0))):
        assert check(lambda x: x.clone().relu_(), dynamo=dynamo) == ["Max"]


def test_scripted_modules_call_them():
    @torch.jit.script
    def function(x):
        if bool(x.sum() > 0):
            return torch.relu(x)
        return x

    with registered("aten::relu", lambda g, x: g.op("Max", x, torch.tensor(0.0))):
        program = flambeau.export(function, (X,))
    operators = [node.op_type for node in program.model_proto.graph.node]
    assert operators[-1] == "If"
    torch.testing.assert_close(program(X)[0], function(X))


@pytest.mark.parametrize(("opset", "expected"), [(8, "Relu"), (9, "Max"), (16, "Max"), (17, "Min"), (20, "Min")])
def test_the_newest_function_that_is_not_newer_than_the_model_counts(opset, expected):
    with registered("aten::relu", lambda g, x: g.op("Max", x), 9), registered("aten::relu", lambda g, x: g.op("Min", x), 17):
        operators, _ = exported(torch.relu, opset_version=opset, dynamo=False, optimize=False)
    # Below opset 9 it is the function of 9, as torch's exporter has it.
    assert operators == ["Max" if opset == 8 else expected]


@CAPTURES
def test_arguments_are_parsed(dynamo):
    seen = []

    @parse_args("v", "f", "b", "is", "s", "i", "v", "fs", "i")
    def symbolic(g, x, a, flag, dims, mode, n, t, fs, d):
        sizes = symbolic_helper._get_tensor_sizes(x)
        seen.append((a, flag, dims, mode, n, symbolic_helper._is_none(t), fs, fonnx.JitScalarType(d).dtype(), sizes))
        return g.op("Mul", x, g.op("Constant", value_t=torch.tensor(a)))

    with registered("flambeau_symbolic::every", symbolic):
        check(lambda x: every(x, 2.5, True, [1, 2], "hi", 3, None, [0.5, 1.5], torch.int32), dynamo=dynamo)
    assert set(map(str, seen)) == {str((2.5, True, [1, 2], "hi", 3, True, [0.5, 1.5], torch.int32, [2, 3]))}


def test_what_is_not_constant_is_said():
    @parse_args("v", "f")
    def symbolic(g, x, a):
        return g.op("Mul", x, torch.tensor(a))

    with registered("aten::mul", symbolic), pytest.raises(torch.onnx.errors.SymbolicValueError, match="not constant for the argument 'a'") as caught:
        exported(lambda x: x * x, dynamo=False)
    assert isinstance(caught.value, fonnx.errors.SymbolicValueError)


def test_errors_of_functions_come_out_as_they_are():
    class MyError(Exception):
        pass

    def refuse(g, x):
        raise MyError("no")

    with registered("aten::relu", refuse), pytest.raises(MyError):
        exported(torch.relu)
    with registered("aten::relu", lambda g, x: symbolic_helper._unimplemented("relu", "today", x)):
        with pytest.raises(torch.onnx.OnnxExporterError, match="today"):
            exported(torch.relu)
    with registered("aten::relu", lambda g, x: None), pytest.raises(torch.onnx.OnnxExporterError, match="returned None"):
        exported(torch.relu)


def test_names_are_checked():
    for name in ("relu", "aten::", "aten::1relu", "a b::c"):
        with pytest.raises(torch.onnx.OnnxExporterError):
            fonnx.register_custom_op_symbolic(name, lambda g: None, 9)
    with pytest.raises(ValueError, match="ONNX's own"):
        fonnx.register_custom_op_symbolic("onnx::Relu", lambda g: None, 9)
    with pytest.warns(UserWarning, match="no symbolic function"):
        fonnx.unregister_custom_op_symbolic("aten::relu", 9)


# --- what they are written with ---------------------------------------------------------------


@CAPTURES
def test_dynamic_sizes_keep_their_names(dynamo):
    ranks = []

    def symbolic(g, x, a):
        y = g.op("Relu", x)
        ranks.append((symbolic_helper._get_tensor_sizes(y), symbolic_helper._get_tensor_rank(g.op("Shape", y))))
        return g.op("mine::Foo", y).setType(x.type())

    with registered("flambeau_symbolic::scaled", symbolic):
        _, program = exported(lambda x: scaled(x, 2.5), dynamo=dynamo, input_names=["x"], dynamic_axes={"x": {0: "batch"}})
    assert program.outputs[0].sizes == ["batch", "3"]
    assert set(map(str, ranks)) == {"([None, 3], 1)"}


@CAPTURES
def test_nested_graphs(dynamo):
    def symbolic(g, x, a):
        condition = g.op("Greater", g.op("ReduceSum", x, keepdims_i=0), torch.tensor(0.0))
        output, (yes, no), _ = fonnx.jit_utils.add_op_with_blocks(g, "If", condition, n_blocks=2)
        fonnx.utils._add_output_to_block(yes.block, yes.op("Mul", x, a))
        no.block.registerOutput(no.op("Neg", x))
        return output

    with registered("flambeau_symbolic::scaled", symbolic):
        _, program = exported(lambda x: scaled(x, 2.5), dynamo=dynamo)
    torch.testing.assert_close(program(X)[0], X * 2.5)
    torch.testing.assert_close(program(-X)[0], X)


@CAPTURES
def test_attributes_of_all_kinds(dynamo):
    def symbolic(g, x, a):
        given = {"f_f": 2.5, "fs_f": [0.5, 1.0], "i_i": 3, "is_i": (1, 2), "s_s": "a", "ss_s": ["b", "c"], "t_t": torch.ones(2)}
        return g.op("mydomain::Scaled", g.op("Mul", x, g.op("Constant", value_floats_f=[2.0] * 4)), **given).setType(x.type())

    with registered("flambeau_symbolic::scaled", symbolic):
        operators, program = exported(lambda x: scaled(x, 2.5), dynamo=dynamo, custom_opsets={"mydomain": 1})
    node = program.model_proto.graph.node[-1]
    values = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
    assert onnx.numpy_helper.to_array(values.pop("t")).tolist() == [1, 1]
    assert values == {"f": 2.5, "fs": [0.5, 1.0], "i": 3, "is": [1, 2], "s": b"a", "ss": [b"b", b"c"]}


@CAPTURES
def test_symbolic_functions_call_others(dynamo):
    from flambeau.onnx import symbolic_opset9
    from torch.onnx import symbolic_opset9 as of_torch

    def gelu(g, x, approximate):
        return symbolic_opset9.mul(g, symbolic_opset9.sigmoid(g, symbolic_opset9.mul(g, x, 1.702)), of_torch.relu(g, x))

    with registered("aten::gelu", gelu):
        operators, program = exported(torch.nn.functional.gelu, dynamo=dynamo)
    assert operators == ["Mul", "Sigmoid", "Relu", "Mul"]
    torch.testing.assert_close(program(X)[0], torch.sigmoid(X * 1.702) * torch.relu(X))
    with pytest.raises(AttributeError, match="no attribute 'not_there'"):
        symbolic_opset9.not_there  # noqa: B018


@pytest.mark.parametrize("opset", [9, 12, 13, 18])
def test_helpers_write_the_form_of_the_opset(opset):
    def symbolic(g, x, a):
        h = symbolic_helper
        x = h._unsqueeze_helper(g, x, [0])
        x = h._squeeze_helper(g, x, [0])
        rows = h._slice_helper(g, x, axes=[1], starts=[0], ends=[2])
        values, _ = h._topk_helper(g, rows, 2, 1)
        total = h._reducesum_helper(g, values, axes_i=[1], keepdims_i=1)
        return h._reshape_helper(g, g.op("Mul", x, total), [-1])

    def reference(x):
        return (x * x[:, :2].topk(2, 1).values.sum(1, keepdim=True)).reshape(-1)

    class Flat(torch.nn.Module):
        def forward(self, x):
            return flat(x, 1.0)

    with registered("flambeau_symbolic::flat", symbolic):
        program = flambeau.export(Flat(), (X,), opset_version=opset, dynamo=False)
    torch.testing.assert_close(program(X)[0], reference(X))


flat = torch.library.custom_op("flambeau_symbolic::flat", lambda x, a: x.flatten().clone(), mutates_args=(), schema="(Tensor x, float a) -> Tensor")


@pytest.mark.parametrize(
    ("build", "reference"),
    [
        (lambda g, h, x: h._size_helper(g, x, torch.tensor(1)), lambda x: torch.tensor(3)),
        (lambda g, h, x: h._numel_helper(g, x), lambda x: torch.tensor(6)),
        (lambda g, h, x: h._flatten_helper(g, x, 0, 1, 2), torch.flatten),
        (lambda g, h, x: h._select_helper(g, x, 1, torch.tensor(2)), lambda x: x[:, 2:3]),
        (lambda g, h, x: h._sort_helper(g, x, 1)[0], lambda x: x.sort(1, descending=True).values),
        (lambda g, h, x: h._handle_reduce_dim_none(g, x, "ReduceMean"), torch.mean),
        (lambda g, h, x: h._argmin_argmax_helper(g, x, 1, True, "ArgMax"), lambda x: x.argmax(1, keepdim=True)),
        (lambda g, h, x: h._max_helper(g, x), torch.max),
        (lambda g, h, x: h._min_helper(g, x, 1, False)[0], lambda x: x.min(1).values),
        (lambda g, h, x: h._var_mean_helper(g, x, [1], 1, True)[0], lambda x: x.var(1, keepdim=True)),
        (lambda g, h, x: h._linalg_vector_norm_helper(g, x, 2.0, [1], False, None), lambda x: x.norm(dim=1)),
        (lambda g, h, x: h._unbind_helper(g, x, 0, 2)[1], lambda x: x[1]),
        (lambda g, h, x: g.op("Add", x, h._unbind_helper(g, x, 0, 2)[0]), lambda x: x + x[0]),
        (lambda g, h, x: h._scatter_helper(g, x, 1, g.op("Constant", value_t=torch.tensor([[0], [1]])), x), lambda x: x.scatter(1, torch.tensor([[0], [1]]), x)),
        (lambda g, h, x: h._reduce_op_symbolic_helper("ReduceMax")(g, x, [0], 0), lambda x: x.amax(0)),
        (lambda g, h, x: h._op_with_optional_float_cast(g, "Relu", x, opset_before=9), torch.relu),
        (lambda g, h, x: h._lt_helper(g, x, torch.tensor(0.0)), lambda x: x < 0),
    ],
)
def test_helpers_compute_what_they_say(build, reference):
    with registered("flambeau_symbolic::flat", lambda g, x, a: build(g, symbolic_helper, x)):
        program = flambeau.export(Call(lambda x: flat(x, 1.0)), (X,), dynamo=False)
    torch.testing.assert_close(program(X)[0], reference(X))


def test_quantized_helpers():
    @symbolic_helper.quantized_args(True)
    def relu(g, x):
        return g.op("Relu", x)

    def symbolic(g, x, a):
        scale, zero = g.op("Constant", value_t=torch.tensor(0.25)), g.op("Constant", value_t=torch.tensor(3, dtype=torch.uint8))
        quantized = relu(g, symbolic_helper.quantize_helper(g, x, scale, zero))
        return symbolic_helper.dequantize_helper(g, quantized)[0]

    with registered("flambeau_symbolic::scaled", symbolic):
        operators, program = exported(lambda x: scaled(x, 1.0), dynamo=False, optimize=False)
    assert operators.count("QuantizeLinear") == operators.count("DequantizeLinear") == 2
    torch.testing.assert_close(program(X)[0], torch.fake_quantize_per_tensor_affine(torch.relu(torch.fake_quantize_per_tensor_affine(X, 0.25, 3, 0, 255)), 0.25, 3, 0, 255))


@onnxscript.script(onnxscript.values.Opset(domain="onnx-script", version=1))
def Selu(X):
    alpha = 1.67326
    gamma = 1.0507
    alphaX = op15.CastLike(alpha, X)
    gammaX = op15.CastLike(gamma, X)
    neg = gammaX * (alphaX * op15.Exp(X) - alphaX)
    pos = gammaX * X
    zero = op15.CastLike(0, X)
    return op15.Where(X <= zero, neg, pos)


@CAPTURES
def test_onnx_script_functions(dynamo):
    with registered("aten::selu", lambda g, x: g.onnxscript_op(Selu, x).setType(x.type()), 15):
        operators, program = exported(torch.nn.SELU(), dynamo=dynamo, opset_version=15, custom_opsets={"onnx-script": 2})
    assert operators == ["onnx-script::Selu"]
    model = program.model_proto
    assert [(function.domain, function.name) for function in model.functions] == [("onnx-script", "Selu")]
    assert {each.domain: each.version for each in model.opset_import} == {"": 15, "onnx-script": 2}
    onnx.checker.check_model(model, full_check=True)
    torch.testing.assert_close(program(X)[0], torch.selu(X), atol=1e-4, rtol=1e-4)


def test_onnx_script_functions_of_unknown_types_are_put_in_place():
    with registered("aten::selu", lambda g, x: g.op("Identity", g.onnxscript_op(Selu, x)), 15):
        operators, program = exported(torch.nn.SELU(), dynamo=False, opset_version=15)
    assert "Where" in operators and not program.model_proto.functions
    torch.testing.assert_close(program(X)[0], torch.selu(X), atol=1e-4, rtol=1e-4)


# --- autograd functions -------------------------------------------------------------------------


class Clip(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, minimum, y):
        ctx.save_for_backward(x)
        return x.clamp(min=minimum) + y, y * 2

    @staticmethod
    def symbolic(g, x, minimum, y):
        return g.op("Add", g.op("Clip", x, torch.tensor(minimum)), y), g.op("Sum", y, y)


class LogExp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().log().log()


def test_static_symbolic_functions():
    operators = check(lambda x, y: Clip.apply(x, 0.25, y), (X, X[0]), dynamo=False)
    assert operators == ["Clip", "Add", "Sum"]


@CAPTURES
def test_without_one_they_are_inlined(dynamo):
    assert check(lambda x: LogExp.apply(x.abs() + 1), dynamo=dynamo)[-3:] == ["Exp", "Log", "Log"]


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_dirty(x)
        x.mul_(2)
        x.add_(y)
        return x


class WritesItsOwn(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        own = x.clone()
        own.mul_(2)
        own.view(own.shape[0], -1)[:, 0].add_(1)
        return own


class Counted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x.add_(1)
        kept = Doubled.apply(x.clone(), x)
        return kept * 2


def written_and_read(x, y):
    z = x.clone()
    doubled = Doubled.apply(z, y)
    return doubled + 1, z * 2


@pytest.mark.parametrize(
    "model",
    [
        lambda x: Doubled.apply(x.clone(), x),
        lambda x: Counted.apply(x.clone()) + x * 2 + x,
        lambda x: written_and_read(x, x + 1),
        lambda x: written_and_read(Counted.apply(x.clone()), x),
        lambda x: WritesItsOwn.apply(WritesItsOwn.apply(x) + 1) + x,
        lambda x: Doubled.apply(WritesItsOwn.apply(x), x) * 2,
    ],
)
def test_what_they_write_in_place_is_written_once(model):
    check(model, dynamo=False)


@pytest.mark.parametrize("export_type", [OperatorExportTypes.ONNX, OperatorExportTypes.ONNX_ATEN_FALLBACK])
def test_inlining_can_be_declined(export_type):
    options = {"dynamo": False, "operator_export_type": export_type}
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="LogExp"):
        exported(LogExp.apply, autograd_inlining=False, **options)
    check(lambda x: LogExp.apply(x.abs() + 1), **options)


def test_they_fall_through():
    options = {"dynamo": False, "operator_export_type": OperatorExportTypes.ONNX_FALLTHROUGH}
    operators, program = exported(lambda x: LogExp.apply(x) + 1, **options)
    assert operators == ["org.pytorch.prim::PythonOp", "Add"]
    assert program.model_proto.graph.node[0].attribute[0].s == b"LogExp"


def test_python_ops_by_a_registered_function():
    def symbolic(g, *args, **kwargs):
        assert kwargs["name"] == "LogExp" and g.original_node.kind() == "prim::PythonOp"
        return g.op("Log", args[0])

    with registered("prim::PythonOp", symbolic, 1):
        assert exported(LogExp.apply, dynamo=False)[0] == ["Log"]


# --- what is left to the runtime -------------------------------------------------------------------


@CAPTURES
def test_fall_through(dynamo):
    operators, program = exported(lambda x: scaled(x, 2.5) + 1, dynamo=dynamo, operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH)
    assert operators == ["flambeau_symbolic::scaled", "Add"]
    (attribute,) = program.model_proto.graph.node[0].attribute
    assert (attribute.name, attribute.f) == ("a", 2.5)


class Scaled(torch.nn.Module):
    def forward(self, x, n: int):
        y = torch.ops.flambeau_symbolic.scaled(torch.relu(x), 2.5)
        if y.sum() > 0:
            y = y * n
        return y.sum(0)


def test_a_scripts_results_have_the_types_of_an_example():
    """A script records no types, and nothing else knows those of an operator that is left to the runtime."""
    script = torch.jit.script(Scaled())
    axes = {"input_names": ["x"], "dynamic_axes": {"x": {0: "rows"}}, "dynamo": False}
    left = flambeau.export(script, (torch.ones(2, 3), 2), operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH, **axes)
    with registered("flambeau_symbolic::scaled", lambda g, x, a: g.op("mine::scaled", x)):
        translated = flambeau.export(script, (torch.ones(2, 3), 2), **axes)
    for program in (left, translated):
        assert "scaled" in [node.op_type for node in program.model_proto.graph.node]
        assert len(program.outputs[0].sizes) == 1 and program.inputs[0].sizes == ["rows", "3"]


@CAPTURES
def test_aten(dynamo):
    operators, program = exported(lambda x: torch.relu(x) * 2, dynamo=dynamo, operator_export_type=OperatorExportTypes.ONNX_ATEN)
    assert operators == ["org.pytorch.aten::ATen"] * 2
    attributes = {a.name: a.s for a in program.model_proto.graph.node[1].attribute}
    assert attributes == {"operator": b"mul", "overload_name": b"Tensor"}
    assert program.outputs[0].sizes == ["2", "3"]


class Rows(torch.nn.Module):
    def forward(self, x):
        parts = x.split(2)
        return x.relu().view(x.shape[0], -1) * x.size(1), parts[0] * 2


@pytest.mark.parametrize("dynamic_axes", [{}, {"x": [0]}], ids=["static", "dynamic"])
@pytest.mark.parametrize("scripted", [False, True])
def test_sizes_are_no_nodes_of_aten(scripted, dynamic_axes):
    model = torch.jit.script(Rows()) if scripted else Rows()
    options = {"operator_export_type": OperatorExportTypes.ONNX_ATEN, "input_names": ["x"], "dynamic_axes": dynamic_axes}
    program = flambeau.export(model, (torch.ones(4, 3),), dynamo=False, **options)
    operators = [attribute.s for node in program.model_proto.graph.node for attribute in node.attribute if attribute.name == "operator"]
    assert {b"relu", b"view", b"mul"} <= set(operators) and not {b"sym_size", b"Int", b"scalar_tensor", b"size", b"len"} & set(operators)
    assert len(program.outputs) == 2 and len(program.outputs[0].sizes) == 2


class Windows(torch.nn.Module):
    def forward(self, x):
        return x * torch.kaiser_window(4), torch.kaiser_window(2_000_000)  # on one line


@CAPTURES
def test_only_calls_without_translation_are_left_to_the_runtime(dynamo):
    x = torch.ones(4)
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="more than a million"):
        flambeau.export(Windows(), (x,), dynamo=dynamo)
    for export_type, name in ((OperatorExportTypes.ONNX_ATEN_FALLBACK, "ATen"), (OperatorExportTypes.ONNX_FALLTHROUGH, "kaiser_window")):
        proto = flambeau.export(Windows(), (x,), dynamo=dynamo, operator_export_type=export_type).model_proto
        (left,) = [node for node in proto.graph.node if node.domain]
        assert left.op_type == name and proto.graph.output[1].name in left.output
        assert "Mul" in {node.op_type for node in proto.graph.node}


@CAPTURES
def test_aten_where_there_is_no_translation(dynamo):
    with registered("aten::relu", lambda g, x: g.at("relu", x)):
        operators, _ = exported(lambda x: torch.relu(x) * 2, dynamo=dynamo)
    assert operators == ["org.pytorch.aten::ATen", "Mul"]

    def rare(x):
        return torch.ops.aten.hardshrink_backward(x, x, 0.5) * 2

    fallback = OperatorExportTypes.ONNX_ATEN_FALLBACK
    assert check(torch.relu, dynamo=dynamo, operator_export_type=fallback) == ["Relu"]
    assert exported(rare, dynamo=dynamo, operator_export_type=fallback)[0] == ["org.pytorch.aten::ATen", "Mul"]
    operators, program = exported(lambda x: scaled(x, 2.0), dynamo=dynamo, operator_export_type=fallback)
    assert operators == ["org.pytorch.aten::ATen"]
    assert {each.name: each.s for each in program.model_proto.graph.node[0].attribute} == {"operator": b"scaled", "overload_name": b""}


@torch.jit.script
def in_a_branch(x):
    if bool(x.sum() > 0):
        y = torch.ops.flambeau_symbolic.scaled(x, 2.0)
    else:
        y = x + 1
    return y * 2


def test_types_in_branches_of_scripts_are_those_of_the_fake_implementation():
    x = torch.ones(2, 3)
    types = [(each.dtype, len(each.sizes)) for each in flambeau.export(in_a_branch, (x,), operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH).outputs]
    assert types == [("float32", 2)]
    assert flambeau.export(in_a_branch, (x,), operator_export_type=OperatorExportTypes.ONNX_ATEN_FALLBACK).outputs
    with registered("flambeau_symbolic::scaled", lambda g, x, a: g.op("mine::Scaled", x, a_f=2.0)):
        program = flambeau.export(in_a_branch, (x,), custom_opsets={"mine": 1})
    assert [(each.dtype, len(each.sizes)) for each in program.outputs] == [("float32", 2)]


@pytest.mark.parametrize("said", [True, False], ids=["said", "of the fake implementation"])
def test_types_of_nested_graphs_in_scripts(said):
    def symbolic(g, x, a):
        condition = g.op("Greater", g.op("ReduceSum", x, keepdims_i=0), torch.tensor(0.0))
        output, (yes, no), _ = fonnx.jit_utils.add_op_with_blocks(g, "If", condition, n_blocks=2)
        yes.block.registerOutput(yes.op("Mul", x, a))
        no.block.registerOutput(no.op("Neg", x))
        return output.setType(x.type()) if said else g.op("Identity", output)

    with registered("flambeau_symbolic::scaled", symbolic):
        program = flambeau.export(in_a_branch, (X,), dynamic_axes={"x": {0: "n"}})
    assert [(each.dtype, len(each.sizes)) for each in program.outputs] == [("float32", 2)]
    torch.testing.assert_close(program(X.abs())[0], X.abs() * 4)
    torch.testing.assert_close(program(-X.abs())[0], (1 - X.abs()) * 2)


def test_types_that_nothing_says():
    silent = torch.library.Library("flambeau_silent", "DEF")
    silent.define("op(Tensor x) -> Tensor")

    def call(x):
        if bool(x.sum() > 0):
            return torch.ops.flambeau_silent.op(x)
        return x + 1

    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"result 0 of flambeau_silent::op are not known(?s:.*)torch.library.register_fake"):
        flambeau.export(torch.jit.script(call), (torch.ones(2),), operator_export_type=OperatorExportTypes.ONNX_FALLTHROUGH)


def test_what_cannot_be_registered():
    with pytest.raises(TypeError, match="opset_version is '17'; it must be an int"):
        fonnx.register_custom_op_symbolic("shop::tax", lambda g, x: x, "17")
    with pytest.raises(TypeError, match="symbolic_fn is None; it must be a function"):
        fonnx.register_custom_op_symbolic("shop::tax", None, 17)


@CAPTURES
@pytest.mark.parametrize("export_type", [OperatorExportTypes.ONNX_ATEN_FALLBACK, OperatorExportTypes.ONNX_FALLTHROUGH])
def test_only_what_says_that_there_is_no_translation_is_left_to_the_runtime(dynamo, export_type):
    options = {"dynamo": dynamo, "operator_export_type": export_type}

    def refuses(g, x, a):
        raise fonnx.errors.SymbolicValueError("not of this", x)

    def fails(g, x, a):
        return {}[x.debugName()]

    def model(x):
        return scaled(x, 2.0)

    with registered("flambeau_symbolic::scaled", refuses):
        assert exported(model, **options)[0][0].startswith(("org.pytorch", "flambeau_symbolic"))
    with registered("flambeau_symbolic::scaled", fails), pytest.raises(KeyError) as caught:
        exported(model, **options)
    assert "flambeau_symbolic::scaled" in caught.value.__notes__[0]
    # Nor does what refuses hide a bug, or what has no translation at all.
    with registered("flambeau_symbolic::scaled", refuses), registered("aten::relu", lambda g, x: {}[0]), pytest.raises(KeyError):
        exported(lambda x: model(x).relu(), **options)


def test_a_failure_is_not_blamed_on_a_function_of_which_the_calls_are_left_to_the_runtime():
    def refuses(g, x, a):
        raise RuntimeError("not of this")

    options = {"dynamo": False, "autograd_inlining": False, "operator_export_type": OperatorExportTypes.ONNX_ATEN_FALLBACK}
    with registered("flambeau_symbolic::scaled", refuses), pytest.raises(flambeau.errors.UnsupportedOperatorError, match="LogExp"):
        exported(lambda x: LogExp.apply(scaled(x, 2.0)), **options)
