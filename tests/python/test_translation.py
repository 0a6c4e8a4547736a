"""Operators that the user brings: translation tables, custom opsets, torch.onnx.ops."""

import onnx
import onnxscript
import pytest
import torch
from onnxscript import opset18 as op

import flambeau
from flambeau.errors import UnsupportedOperatorError


def _library_op(name, schema, function, fake):
    made = torch.library.custom_op(f"flambeau_table::{name}", function, mutates_args=(), schema=schema)
    made.register_fake(fake)
    return made


swish = _library_op(
    "swish", "(Tensor x, float beta=1.0, *, bool negate=False) -> Tensor", lambda x, beta=1.0, negate=False: (-1 if negate else 1) * x * torch.sigmoid(beta * x), lambda x, beta=1.0, negate=False: torch.empty_like(x)
)
both = _library_op("both", "(Tensor[] xs, int k) -> (Tensor, Tensor)", lambda xs, k: (xs[0] + k, xs[1] * k), lambda xs, k: (torch.empty_like(xs[0]), torch.empty_like(xs[1])))
SWISH, BOTH = torch.ops.flambeau_table.swish.default, torch.ops.flambeau_table.both.default


class Swish(torch.nn.Module):
    def __init__(self, **options):
        super().__init__()
        self.options = options

    def forward(self, x):
        return swish(x, **self.options) + 1


def check(model, args, table, *, dynamic_shapes=None, **options):
    program = flambeau.export(model, args, custom_translation_table=table, dynamic_shapes=dynamic_shapes, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    expected = torch.utils._pytree.tree_leaves(model(*args))
    for ours, theirs in zip(program(*args), expected, strict=True):
        torch.testing.assert_close(ours, theirs)
    return program


def by_function(x, beta=1.0, *, negate=False):
    y = x * op.Sigmoid(x * beta)
    return -y if negate else y


@onnxscript.script(onnxscript.values.Opset("mine", 1))
def by_script(x, beta: float = 1.0):
    scale = op.CastLike(op.Constant(value_float=beta), x)
    return op.Mul(x, op.Sigmoid(op.Mul(scale, x)))


@onnxscript.script(onnxscript.values.Opset("mine", 1))
def by_branch(x, beta: float = 1.0):
    positive = op.ReduceSum(x, keepdims=0) >= 0.0
    if positive:
        y = op.Mul(x, op.Sigmoid(x))
    else:
        y = op.Mul(op.Sigmoid(x), x)
    return y


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
@pytest.mark.parametrize("function", [by_function, by_script, by_branch], ids=lambda f: f.__name__)
def test_custom_operator(function, dtype):
    check(Swish(), (torch.randn(3, 4).to(dtype),), {SWISH: function}, dynamic_shapes=({0: "n"},))


def test_arguments_arrive_by_schema():
    check(Swish(beta=2.0, negate=True), (torch.randn(3),), {SWISH: by_function})
    with pytest.raises(UnsupportedOperatorError, match="does not take the argument 'negate'"):
        check(Swish(negate=True), (torch.randn(3),), {SWISH: by_script})


def test_lists_and_several_results():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return both([x, y], 3)

    check(Model(), (torch.ones(2), torch.ones(3)), {BOTH: lambda xs, k: (op.Add(xs[0], k), xs[1] * k)})


def test_built_in_translations_are_overridden():
    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x) + torch.nn.functional.relu_(x.clone())

    calls = []

    def relu(x):
        calls.append((x.dtype.name, list(x.shape), x.rank))
        return op.Max(x, 0.0)

    program = check(Model(), (torch.randn(3, 2),), {torch.ops.aten.relu.default: relu}, dynamic_shapes=({0: "n"},))
    assert calls == [("FLOAT", ["n", 2], 2)] * 2
    assert {"Max"} <= {node.op_type for node in program.model_proto.graph.node}


def test_python_functions_are_keys():
    import operator

    class Model(torch.nn.Module):
        def forward(self, x):
            return x.sum().item() * 2 + x

    check(Model(), (torch.ones(2),), {operator.mul: lambda a, b: op.Add(a, a)})


def test_values_in_lists_become_one_vector():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x.view(x.shape[0] * 2, -1)

    table = {torch.ops.aten.view.default: lambda x, size: op.Reshape(x, [op.Mul(op.Shape(x, start=0, end=1), 2), -1])}
    program = check(Model(), (torch.ones(3, 4),), table, dynamic_shapes=({0: "n"},))
    assert program(torch.ones(5, 4))[0].shape == (10, 2)


def test_operators_of_other_domains():
    microsoft = onnxscript.values.Opset("com.microsoft", 1)

    def gelu(x, *, approximate="none"):
        return onnxscript.values.Op(microsoft, "Gelu")(x)

    program = check(torch.nn.GELU(), (torch.randn(3),), {torch.ops.aten.gelu.default: gelu})
    assert [(node.domain, node.op_type) for node in program.model_proto.graph.node] == [("com.microsoft", "Gelu")]


def test_errors_are_gathered_and_kept():
    def fails(x, beta):
        raise ZeroDivisionError("no such luck")

    with pytest.raises(UnsupportedOperatorError, match="ZeroDivisionError: no such luck") as raised:
        check(Swish(), (torch.randn(3),), {SWISH: fails})
    assert isinstance(raised.value.__cause__, ZeroDivisionError)
    assert raised.value.diagnostics[0].location.source.startswith("test_translation.py:")
    with pytest.raises(TypeError, match="overloads"):
        check(Swish(), (torch.randn(3),), {torch.ops.flambeau_table.swish: by_function})
    with pytest.raises(TypeError, match="functions"):
        check(Swish(), (torch.randn(3),), {SWISH: "Sigmoid"})


def test_wrong_result_is_no_model():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="rank 0 where the program has rank 2"):
        check(Swish(), (torch.randn(3, 4),), {SWISH: lambda x, beta: op.ReduceSum(x, keepdims=0)})


def test_operators_that_the_opset_has_in_another_form():
    from onnxscript import opset13

    def softmax(x, dim, dtype=None):
        return opset13.ReduceMax(x, axes=[dim])

    with pytest.raises(UnsupportedOperatorError, match="ReduceMax of opset 13"):
        check(torch.nn.Softmax(dim=-1), (torch.randn(3, 4),), {torch.ops.aten.softmax.int: softmax})


def test_custom_opset():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            first, second = both([x, y], 3)
            return swish(first, beta=0.5), second

    program = flambeau.export(Model(), (torch.ones(2, 3), torch.ones(4)), custom_opsets={"flambeau_table": 7}, dynamic_shapes=({0: "n"}, None))
    proto = program.model_proto
    assert [(entry.domain, entry.version) for entry in proto.opset_import if entry.domain] == [("flambeau_table", 7)]
    nodes = {node.op_type: {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute} for node in proto.graph.node}
    assert nodes == {"both": {"k": 3}, "swish": {"beta": 0.5, "negate": 0}}
    assert [dim.dim_param or dim.dim_value for dim in proto.graph.output[0].type.tensor_type.shape.dim] == ["n", 3]


@pytest.mark.needs("torch.onnx.ops.symbolic")
def test_symbolic():
    class Model(torch.nn.Module):
        def forward(self, x):
            y = torch.onnx.ops.symbolic(
                "mine::Odd", (x, None, x), {"i": 1, "f": 0.5, "s": "text", "is": [1, 2, 3], "fs": [0.5, 1.5], "ss": ["a", "b"]},
                dtype=torch.float16, shape=(x.shape[0], 7), version=3, metadata_props={"who": "me"},
            )
            low, high = torch.onnx.ops.symbolic_multi_out(
                "Split", (x,), {"axis": 1, "num_outputs": 2}, dtypes=(x.dtype, x.dtype), shapes=((x.shape[0], 2), (x.shape[0], 2))
            )
            return y, low, high

    program = flambeau.export(Model(), (torch.ones(3, 4),), dynamic_shapes=({0: "n"},))
    proto = program.model_proto
    odd = next(node for node in proto.graph.node if node.op_type == "Odd")
    assert odd.domain == "mine" and list(odd.input) == ["x", "", "x"]
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in odd.attribute}
    assert attributes == {"i": 1, "f": 0.5, "s": b"text", "is": [1, 2, 3], "fs": [0.5, 1.5], "ss": [b"a", b"b"]}
    assert ("mine", 3) in [(entry.domain, entry.version) for entry in proto.opset_import]
    assert {"who": "me"}.items() <= {entry.key: entry.value for entry in odd.metadata_props}.items()
    assert [(d.dim_param or d.dim_value) for d in proto.graph.output[0].type.tensor_type.shape.dim] == ["n", 7]
    assert "Split" in [node.op_type for node in proto.graph.node]


@pytest.mark.needs("torch.onnx.ops.rotary_embedding")
@pytest.mark.parametrize("opset", [20, 23])
def test_rotary_embedding(opset):
    class Model(torch.nn.Module):
        def forward(self, x, cos, sin, positions):
            return torch.onnx.ops.rotary_embedding(x, cos, sin, positions)

    args = (torch.randn(2, 3, 5, 8), torch.randn(16, 4), torch.randn(16, 4), torch.randint(0, 16, (2, 5)))
    model = Model()
    program = flambeau.export(model, args, opset_version=opset)
    assert ("RotaryEmbedding" in [node.op_type for node in program.model_proto.graph.node]) == (opset == 23)
    torch.testing.assert_close(program(*args)[0], model(*args), rtol=1e-5, atol=1e-5)


@pytest.mark.needs("torch.onnx.ops.attention")
@pytest.mark.parametrize("opset", [20, 23])
def test_attention(opset):
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.onnx.ops.attention(q, k, v, is_causal=True, scale=0.5)[0]

    args = tuple(torch.randn(2, 3, 5, 8) for _ in range(3))
    model = Model()
    program = flambeau.export(model, args, opset_version=opset)
    assert ("Attention" in [node.op_type for node in program.model_proto.graph.node]) == (opset == 23)
    torch.testing.assert_close(program(*args)[0], model(*args), rtol=1e-4, atol=1e-5)


@pytest.mark.needs("torch.onnx.ops.attention")
@pytest.mark.parametrize("causal", [False, True])
def test_attention_that_caps_before_it_masks(causal):
    class Model(torch.nn.Module):
        def forward(self, q, k, v, mask):
            return torch.onnx.ops.attention(q, k, v, attn_mask=None if causal else mask, is_causal=causal, softcap=2.0)[0]

    args = (*(torch.randn(2, 3, 5, 8) for _ in range(3)), torch.randn(5, 5) * 3)
    model = Model()
    with pytest.warns(flambeau.errors.ConversionWarning, match="softcap together with a mask"):
        program = flambeau.export(model, args, opset_version=23)
    q, k, v, mask = args
    bias = torch.full((5, 5), -torch.inf).triu(1) if causal else mask
    scores = 2 * torch.tanh(q @ k.mT / 8**0.5 / 2) + bias
    torch.testing.assert_close(program(*args)[0], scores.softmax(-1) @ v, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(flambeau.export(model, args, opset_version=20)(*args)[0], model(*args), rtol=1e-4, atol=1e-5)


@pytest.mark.needs("torch.onnx.ops.attention")
@pytest.mark.parametrize("opset", [20, 23])
def test_attention_to_wider_values(opset):
    class Model(torch.nn.Module):
        def forward(self, q, k, v):
            return torch.onnx.ops.attention(q, k, v)[0] * 2

    args = torch.randn(1, 2, 3, 4), torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 6)
    torch.testing.assert_close(flambeau.export(Model(), args, opset_version=opset)(*args)[0], Model()(*args), rtol=1e-4, atol=1e-5)


@pytest.mark.needs("torch.onnx.ops.attention")
def test_what_stands_beside_a_newer_operator_is_not_written_out():
    """torch writes out more than it is asked to, the multilabel loss of targets that end early into another loss."""

    class Model(torch.nn.Module):
        def forward(self, q, scores, several):
            attended = torch.onnx.ops.attention(q, q, q)[0]
            return attended, torch.ops.aten.multilabel_margin_loss_forward(scores, several, 1)[0]

    args = torch.randn(2, 3, 5, 8), torch.randn(3, 4), torch.tensor([[0, 2, -1, 1], [1, -1, 0, 0], [3, 0, 1, -1]])
    program = flambeau.export(Model(), args, opset_version=20)
    for given, expected in zip(program(*args), Model()(*args)):
        torch.testing.assert_close(given, expected, rtol=1e-4, atol=1e-5)


def test_operators_made_of_others_are_written_out():
    """torch.export keeps them; so does who asks for them."""
    library = torch.library.Library("flambeau_composite", "DEF")
    library.define("twice_and_one(Tensor x) -> Tensor")
    library.impl("twice_and_one", lambda x: x * 2 + 1, "CompositeImplicitAutograd")

    class Composite(torch.nn.Module):
        def forward(self, x):
            return torch.ops.flambeau_composite.twice_and_one(x)

    def operators(**options):
        return [node.op_type for node in flambeau.export(Composite(), (torch.ones(2),), **options).model_proto.graph.node]

    assert operators() == ["Mul", "Add"]
    assert operators(custom_opsets={"flambeau_composite": 1}) == ["twice_and_one"]
    table = {torch.ops.flambeau_composite.twice_and_one.default: lambda x: op.Neg(x)}
    assert operators(custom_translation_table=table) == ["Neg"]
    assert operators(custom_translation_table=table, opset_version=18) == ["Neg"]


def test_a_batch_norm_of_inference_has_one_result():
    class Normed(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = torch.nn.BatchNorm2d(3)

        def forward(self, x):
            return self.norm(x)

    def normalized(x, weight, bias, mean, variance, training, momentum, epsilon, *_):
        return op.BatchNormalization(x, weight, bias, mean, variance, epsilon=epsilon)

    check(Normed().eval(), (torch.randn(2, 3, 4, 4),), {torch.ops.aten.batch_norm.default: normalized}, dynamo=False)


def test_of_several_functions_the_first_that_takes_the_types():
    def of_floats(x: onnxscript.FLOAT, weight: onnxscript.FLOAT) -> onnxscript.FLOAT:
        return op.Abs(x)

    def of_integers(x: onnxscript.INT64, weight: onnxscript.INT64) -> onnxscript.INT64:
        return op.Neg(x)

    class Silu(torch.nn.Module):
        def forward(self, x):
            return torch.ops.aten.sigmoid_backward(x, x)

    def operators(x, functions):
        table = {torch.ops.aten.sigmoid_backward.default: functions}
        exported = flambeau.export(Silu(), (x,), custom_translation_table=table)
        return [node.op_type for node in exported.model_proto.graph.node]

    assert operators(torch.ones(2), [of_floats, of_integers]) == ["Abs"]
    assert operators(torch.ones(2), (of_integers, of_floats)) == ["Abs"]
    assert operators(torch.ones(2), [of_integers, lambda x, weight: op.Sin(x)]) == ["Sin"]
    with pytest.raises(UnsupportedOperatorError, match="aten::sigmoid_backward has no translation"):
        operators(torch.ones(2), [of_integers, of_integers])
    with pytest.raises(TypeError, match="maps functions to functions"):
        operators(torch.ones(2), [])


MIXED = {
    "mul": (lambda x, k: x * k, {torch.ops.aten.mul.Tensor: lambda a, b: op.Mul(a, b)}),
    "add": (lambda x, k: k + x, {torch.ops.aten.add.Tensor: lambda a, b, alpha=1: op.Add(a, b)}),
    "div": (lambda x, k: k / (k + 1), {torch.ops.aten.div.Tensor: lambda a, b: op.Div(a, b)}),
    "number": (lambda x, k: k * 0.5, {torch.ops.aten.mul.Tensor: lambda a, b: op.Mul(a, b)}),
    "where": (lambda x, k: torch.where(x > 0.5, x, k), {torch.ops.aten.where.self: lambda c, a, b: op.Where(c, a, b)}),
    "list": (lambda x, k: x.split(1, 1)[2] + k, {torch.ops.aten.split.Tensor: lambda t, size, dim=0: op.SplitToSequence(t, size, axis=dim)}),
    "cast": (
        lambda x, k: (x * k).argmax(1),
        {torch.ops.aten.argmax.default: lambda t, dim=None, keepdim=False: op.Cast(op.ArgMax(t, axis=dim, keepdims=0), to=6)},
    ),
}


@pytest.mark.parametrize("name", MIXED)
def test_functions_get_operands_of_pytorchs_type_and_give_what_the_program_has(name):
    function, table = MIXED[name]

    class Net(torch.nn.Module):
        def forward(self, x, k):
            return function(x, k)

    args = torch.rand(2, 3), torch.arange(1, 4)
    program = flambeau.export(Net(), args, custom_translation_table=table)
    torch.testing.assert_close(program(*args)[0], Net()(*args))


def test_a_result_of_another_type_is_said_to_be_the_functions():
    table = {torch.ops.aten.relu.default: lambda x: op.Cast(op.Relu(x), to=7)}
    program = flambeau.export(torch.nn.ReLU(), (torch.rand(3),), custom_translation_table=table)
    assert program(torch.ones(3))[0].dtype is torch.float32
    table = {torch.ops.aten.relu.default: lambda x: op.Shape(x)}
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"gives int64 where the program has float32[\s\S]*it is yours"):
        flambeau.export(torch.nn.ReLU(), (torch.rand(3),), custom_translation_table=table)
