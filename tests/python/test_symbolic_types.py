"""Types, shapes and constants in symbolic functions: what torch's exporter does for them, and Flambeau's own functions in them."""

import io

import numpy
import onnx
import onnxruntime
import pytest
import torch
import torch.onnx.symbolic_helper as helper
from torch.onnx import symbolic_opset9 as theirs

import flambeau
from flambeau.onnx import symbolic_opset13 as ours

X = torch.rand(2, 3, 4, 4) + 0.1


def constant(g, value):
    return g.op("Constant", value_t=torch.tensor(value))


def words(g, text):
    return g.op("Constant", value_s=text)


def module_of(function):
    class Net(torch.nn.Module):
        def forward(self, *args):
            return function(*args)

    return Net().eval()


def exported(function, symbolic, args, opset=13):
    """The model of a module that calls the function, whose symbolic function this is."""

    class Function(torch.autograd.Function):
        forward = staticmethod(lambda ctx, *args: function(*args))

    Function.symbolic = staticmethod(symbolic)
    file = io.BytesIO()
    flambeau.onnx.export(module_of(Function.apply), args, file, dynamo=False, opset_version=opset)
    return onnx.load_model_from_string(file.getvalue())


def run(model, args):
    session = onnxruntime.InferenceSession(model.SerializeToString())
    return session.run(None, {each.name: arg.numpy() for each, arg in zip(session.get_inputs(), args)})[0]


def compare(function, symbolic, args=(X,), opset=13):
    expected = function(*args).numpy()
    actual = run(exported(function, symbolic, args, opset), args)
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    numpy.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


MIXED = {
    "an integer vector": (lambda x: x * 2, lambda g, x: g.op("Mul", x, constant(g, [2])), (X,)),
    "an integer compared": (lambda x: (x > 0).float(), lambda g, x: g.op("Cast", g.op("Greater", x, constant(g, 0)), to_i=1), (X,)),
    "a double number": (lambda x: x * 0.5, lambda g, x: g.op("Mul", x, torch.tensor(0.5, dtype=torch.float64)), (X,)),
    "an integer chosen": (lambda x: x.where(x > 0.5, 0), lambda g, x: g.op("Where", g.op("Greater", x, 0.5), x, constant(g, 0)), (X,)),
    "integers of the run": (lambda x, k: x + k, lambda g, x, k: g.op("Add", x, k), (X, torch.arange(4))),
    "halves and a number": (lambda x: x * 3, lambda g, x: g.op("Mul", x, constant(g, 3)), (X.half(),)),
    "halves and floats": (lambda x, y: x + y, lambda g, x, y: g.op("Add", x, y), (X.half(), X)),
    "an integer and a float number": (lambda x: x * 1.5, lambda g, x: g.op("Mul", x, constant(g, 1.5)), (torch.arange(3),)),
    "a bound": (lambda x: x.clamp(0, 1), lambda g, x: g.op("Clip", x, constant(g, 0), constant(g, 1)), (X,)),
    "lists joined": (lambda x, k: torch.cat([x, k]), lambda g, x, k: g.op("Concat", x, k, axis_i=0), (torch.rand(3), torch.arange(4))),
}  # fmt: skip


@pytest.mark.parametrize("name", MIXED)
def test_operands_get_pytorchs_common_type(name):
    compare(*MIXED[name])


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("dynamo", [False, True])
def test_numbers_of_the_program_take_the_type_of_the_tensor(dtype, dynamo):
    x = (X * 10).to(dtype)
    args = dict(opset_version=13)
    for op, function, symbolic in (
        ("aten::add", lambda x: x + 2, lambda g, a, b, alpha=None: g.op("Add", a, b)),
        ("aten::mul", lambda x: x * 0.1, lambda g, a, b: g.op("Mul", a, b)),
        ("aten::rsub", lambda x: 1 - x, lambda g, a, b, alpha=None: g.op("Sub", b, a)),
    ):
        flambeau.onnx.register_custom_op_symbolic(op, symbolic, 13)
        try:
            file = io.BytesIO()
            flambeau.onnx.export(module_of(function), (x,), file, dynamo=dynamo, **args)
        finally:
            flambeau.onnx.unregister_custom_op_symbolic(op, 13)
        actual, expected = run(onnx.load_model_from_string(file.getvalue()), (x,)), function(x).numpy()
        assert actual.dtype == expected.dtype
        numpy.testing.assert_allclose(actual, expected, rtol=1e-3 if dtype is torch.float16 else 1e-6)


def length_of(value):
    return len(helper._maybe_get_const(value, "is"))


LENGTHS = {
    "what may be constant": length_of,
    "what has to be": lambda value: len(helper._get_const(value, "is", "normalized_shape")),
    "the sizes of it": lambda value: helper._get_tensor_sizes(value)[0],
    "its node": lambda value: len(value.node().t("value")),
    "whether it is": lambda value: int(helper._is_constant(value)),
}


@pytest.mark.parametrize("length", LENGTHS.values(), ids=LENGTHS)
def test_a_list_of_numbers_is_a_constant(length):
    def layer_norm(g, x, shape, weight, bias, epsilon, cudnn=None):
        return g.op("LayerNormalization", x, weight, bias, axis_i=-length(shape), epsilon_f=helper._maybe_get_const(epsilon, "f"))

    flambeau.onnx.register_custom_op_symbolic("aten::layer_norm", layer_norm, 17)
    try:
        file = io.BytesIO()
        model, x = torch.nn.LayerNorm(4).eval(), torch.rand(2, 4)
        flambeau.onnx.export(model, (x,), file, dynamo=False, opset_version=17)
    finally:
        flambeau.onnx.unregister_custom_op_symbolic("aten::layer_norm", 17)
    actual = run(onnx.load_model_from_string(file.getvalue()), (x,))
    numpy.testing.assert_allclose(actual, model(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def by_computed_shape(g, x):
    first = helper._slice_helper(g, g.op("Shape", x), axes=[0], starts=[0], ends=[1])
    return theirs.reshape(g, x, g.op("Concat", first, constant(g, [-1]), axis_i=0))


@pytest.mark.parametrize("opset", [9, 11, 13])
def test_the_rank_of_a_reshape_by_a_computed_shape_is_known(opset):
    compare(lambda x: x.reshape(2, -1).t(), lambda g, x: theirs.t(g, by_computed_shape(g, x)), opset=opset)
    compare(lambda x: x.flatten(1, 2).transpose(1, 2), lambda g, x: theirs.transpose(g, theirs.flatten(g, x, 1, 2), 1, 2), opset=opset)


def test_dtypes_are_known_beside_what_has_none():
    seen = []

    def symbolic(g, x):
        product = g.op("MatMul", x, g.op("mine::Plugin", x))
        seen.append(product.type().dtype())
        product.setType(x.type())
        return product

    exported(lambda x: x * 1, symbolic, (X,))
    assert set(seen) == {torch.float32}



OURS = {
    "mean": (lambda g, x: ours.mean(g, x, constant(g, [1]), constant(g, 0), None), lambda x: x.mean(1)),
    "sum": (lambda g, x: ours.sum(g, x, constant(g, [1, 2]), constant(g, 1)), lambda x: x.sum([1, 2], True)),
    "max": (lambda g, x: ours.max(g, x, constant(g, 1), constant(g, 0))[0], lambda x: x.max(1)[0]),
    "argmax": (lambda g, x: ours.argmax(g, x, constant(g, 1), constant(g, 0)), lambda x: x.argmax(1)),
    "view": (lambda g, x: ours.view(g, x, constant(g, [2, -1])), lambda x: x.view(2, -1)),
    "view of sizes": (
        lambda g, x: ours.view(g, x, g.op("prim::ListConstruct", ours.size(g, x, constant(g, 0)), constant(g, -1))),
        lambda x: x.view(2, -1),
    ),
    "expand": (lambda g, x: ours.expand(g, x, constant(g, [5, 2, 3, 4, 4]), None), lambda x: x.expand(5, 2, 3, 4, 4)),
    "slice": (lambda g, x: ours.slice(g, x, *(constant(g, [i]) for i in (1, 0, 2, 1))), lambda x: x[:, :2]),
    "select": (lambda g, x: ours.select(g, x, 1, constant(g, [0])), lambda x: x[:, 0]),
    "size": (lambda g, x: ours.size(g, x), lambda x: torch.tensor(x.shape)),
    "pad": (
        lambda g, x: ours.pad(g, x, constant(g, [1, 1]), words(g, "constant"), constant(g, 0.5)),
        lambda x: torch.nn.functional.pad(x, [1, 1], value=0.5),
    ),
    "max_pool2d": (
        lambda g, x: ours.max_pool2d(g, x, constant(g, [2, 2]), [], [0, 0], [1, 1], False),
        lambda x: torch.nn.functional.max_pool2d(x, 2),
    ),
    "add": (lambda g, x: ours.add(g, x, x, constant(g, 3)), lambda x: x + 3 * x),
    "clamp": (lambda g, x: ours.clamp(g, x, constant(g, 0.2), None), lambda x: x.clamp(0.2)),
    "to": (lambda g, x: ours.to(g, x, constant(g, 7), constant(g, 0), constant(g, 0), None), lambda x: x.double()),
    "full": (
        lambda g, x: ours.mul(g, x, ours.full(g, constant(g, [4]), constant(g, 2.5), constant(g, 6), None, None, None)),
        lambda x: x * 2.5,
    ),
    "split": (lambda g, x: ours.split(g, x, constant(g, 2), constant(g, 2), _outputs=2)[1], lambda x: x.split(2, 2)[1]),
    "unbind": (lambda g, x: ours.unbind(g, x, constant(g, 1), _outputs=3)[2], lambda x: x.unbind(1)[2]),
    "index_select": (lambda g, x: ours.index_select(g, x, constant(g, 1), constant(g, [0, 2])), lambda x: x[:, [0, 2]]),
    "conv2d": (
        lambda g, x: ours.conv2d(g, x, constant(g, torch.ones(2, 3, 3, 3).tolist()), None, *(constant(g, [1, 1]) for _ in range(3)), constant(g, 1)),
        lambda x: torch.nn.functional.conv2d(x, torch.ones(2, 3, 3, 3), padding=1),
    ),
}


@pytest.mark.parametrize("name", OURS)
def test_flambeaus_own_functions_take_constants_as_torchs_do(name):
    symbolic, function = OURS[name]
    compare(function, symbolic)


@pytest.mark.parametrize(
    "name, function", [("zeros", lambda x: torch.zeros(4, 4) + x), ("full", lambda x: torch.full((4,), 3.0) + x), ("arange", lambda x: torch.arange(4) + x)]
)
def test_flambeaus_own_functions_take_arguments_as_they_come(name, function):
    flambeau.onnx.register_custom_op_symbolic(f"aten::{name}", lambda g, *args: getattr(ours, name)(g, *args), 13)
    try:
        file = io.BytesIO()
        flambeau.onnx.export(module_of(function), (X,), file, dynamo=False, opset_version=13)
    finally:
        flambeau.onnx.unregister_custom_op_symbolic(f"aten::{name}", 13)
    numpy.testing.assert_allclose(run(onnx.load_model_from_string(file.getvalue()), (X,)), function(X).numpy(), rtol=1e-6)


@pytest.mark.parametrize("opset", [11, 17])
def test_paddings_that_a_slice_takes_from_the_end(opset):
    def symbolic(g, x):
        forwards = constant(g, [2, 1, 0, 0, 0, 0, 0, 0])
        backwards = g.op("Slice", forwards, *(constant(g, [i]) for i in (-1, -9, 0, -1)))
        return g.op("Pad", x, backwards)

    compare(lambda x: torch.nn.functional.pad(x, (0, 2, 0, 1)), symbolic, opset=opset)


carried = torch.library.custom_op("flambeau_symbolic_types::carried", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
carried.register_fake(torch.empty_like)
WITHOUT_NUMBER = [torch.uint16, torch.uint32, torch.uint64]


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("dtype", WITHOUT_NUMBER, ids=str)
def test_integers_that_have_no_number_of_torchs(dtype, dynamo):
    seen = []

    def symbolic(g, x):
        kind = flambeau.onnx.JitScalarType
        seen.append(kind.from_value(x, kind.UNDEFINED) is kind.UNDEFINED and not flambeau.onnx.symbolic_helper._is_fp(x))
        with pytest.raises(flambeau.onnx.errors.SymbolicValueError, match="has no JitScalarType"):
            kind.from_value(x)
        return g.op("Where", torch.tensor(True), g.op("Identity", x), torch.tensor(1, dtype=dtype))

    flambeau.onnx.register_custom_op_symbolic("flambeau_symbolic_types::carried", symbolic, 9)
    x = torch.tensor([1, 200]).to(dtype)
    try:
        program = flambeau.export(module_of(carried), (x,), dynamo=dynamo)
    finally:
        flambeau.onnx.unregister_custom_op_symbolic("flambeau_symbolic_types::carried", 9)
    assert all(seen) and program.outputs[0].dtype == str(dtype).removeprefix("torch.")
    assert torch.equal(program(x)[0], x)


@pytest.mark.parametrize("dtype", WITHOUT_NUMBER, ids=str)
def test_tensors_that_have_no_number_of_torchs(dtype):
    kind = flambeau.onnx.JitScalarType
    assert kind.from_value(torch.ones(2).to(dtype), kind.FLOAT) is kind.FLOAT
    with pytest.raises(flambeau.errors.OnnxExporterError, match="has no JitScalarType"):
        kind.from_value(torch.ones(2).to(dtype))
