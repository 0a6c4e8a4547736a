"""Writes src/onnx/infer/infer_cases.inc: what onnx's own shape inference says of nodes, in every version of an operator.

A case gives operands as "f32[2,3]"; "i64[2]{1,-1}" is a constant, "_" an absent operand. `Either` is what older
versions have as an attribute and newer ones as an operand. Versions of the operator that cannot express a case are
left out of it.
"""

import dataclasses
import re

import onnx
from generated import Generated, main, quoted
from onnx import TensorProto, helper
from onnx_schemas import SOURCE, schemas

OLDEST_OPSET = 7
DTYPES = {
    "f32": TensorProto.FLOAT, "f16": TensorProto.FLOAT16, "f64": TensorProto.DOUBLE, "i64": TensorProto.INT64,
    "i32": TensorProto.INT32, "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "bool": TensorProto.BOOL,
}  # fmt: skip
SPELLINGS = {code: name for name, code in DTYPES.items()}


@dataclasses.dataclass
class Either:
    value: object  # a list or an int
    index: int  # of the operand


@dataclasses.dataclass
class Tensor:
    """A tensor attribute."""

    text: str


CASES = []


def case(op, *operands, outputs=1, since=OLDEST_OPSET, **attributes):
    """`since` leaves out versions in which the case is not defined, or onnx's inference has an error."""
    CASES.append((op, operands, outputs, since, attributes))


def constant(value):
    values = value if isinstance(value, list) else [value]
    sizes = str(len(values)) if isinstance(value, list) else ""
    return f"i64[{sizes}]{{{','.join(map(str, values))}}}"


for name in """Abs Acos Acosh Asin Asinh Atan Atanh BitwiseNot Ceil Celu Cos Cosh Elu Erf Exp Floor Gelu HardSigmoid
        HardSwish Hardmax Identity IsInf IsNaN LeakyRelu Log LogSoftmax LpNormalization MeanVarianceNormalization Mish Neg
        Not Reciprocal Relu Round Selu Shrink Sigmoid Sign Sin Sinh Softmax Softplus Softsign Sqrt Swish Tan Tanh
        ThresholdedRelu Trilu Dropout""".split():
    element = {"Not": "bool", "BitwiseNot": "i32"}.get(name, "f32")
    case(name, f"{element}[2,3,4,5]")
for name in """Add And BitwiseAnd BitwiseOr BitwiseXor Div Equal Greater GreaterOrEqual Less LessOrEqual Max Mean Min Mul
        Or Pow PRelu Sub Sum Xor""".split():
    element = "bool" if name in ("And", "Or", "Xor") else "i32" if name.startswith("Bitwise") else "f32"
    case(name, f"{element}[2,3,4]", f"{element}[4]")
    if name != "PRelu":
        since = 8 if name in ("Max", "Mean", "Min", "Sum") else 7  # before, they did not broadcast
        case(name, f"{element}[3,1]", f"{element}[2,1,4]", since=since)
case("Mod", "i64[2,3]", "i64[3]")
case("Where", "bool[3,1]", "f32[4]", "f32[2,1,1]")
case("Clip", "f32[2,3]")
case("Clip", "f32[2,3]", "f32[]", "f32[]")
case("Cast", "f32[2,3]", to=TensorProto.INT64)
case("Cast", "i64[2]", to=TensorProto.BOOL)
case("CastLike", "f32[2,3]", "i32[1]")
case("Dropout", "f32[2,3]", outputs=2)
case("Bernoulli", "f32[2,3]", dtype=TensorProto.INT32)

for a, b in [("2,3", "3,4"), ("3", "3,4"), ("2,3", "3"), ("3", "3"), ("5,1,2,3", "7,3,4"), ("7,2,3", "3"), ("3", "7,3,4")]:
    case("MatMul", f"f32[{a}]", f"f32[{b}]")
case("MatMulInteger", "u8[2,3]", "i8[3,4]")
case("QLinearMatMul", "u8[2,3]", "f32[]", "u8[]", "u8[3,4]", "f32[]", "u8[]", "f32[]", "u8[]")
case("Gemm", "f32[2,3]", "f32[3,4]", "f32[4]")
case("Gemm", "f32[3,2]", "f32[4,3]", "f32[4]", transA=1, transB=1)
case("Einsum", "f32[2,3,4]", "f32[2,4,5]", equation="bij,bjk->bik")
case("Einsum", "f32[2,3,4]", equation="...ij->...ji")
case("Einsum", "f32[3,4]", "f32[4,5]", equation="ij,jk")
case("Det", "f32[2,3,4,4]")
case("Attention", "f32[2,4,6,8]", "f32[2,2,5,8]", "f32[2,2,5,7]")
case("Attention", "f32[2,6,32]", "f32[2,5,16]", "f32[2,5,14]", q_num_heads=4, kv_num_heads=2)
case("Attention", "f32[2,4,6,8]", "f32[2,2,5,8]", "f32[2,2,5,7]", "_", "f32[2,2,3,8]", "f32[2,2,3,7]", outputs=3)
case("RotaryEmbedding", "f32[2,3,4,8]", "f32[10,4]", "f32[10,4]", "i64[2,4]")

case("Conv", "f32[2,3,10,11]", "f32[8,3,3,3]")
case("Conv", "f32[2,4,10]", "f32[8,2,3]", group=2, strides=[2], pads=[1, 2], dilations=[2])
case("Conv", "f32[2,3,10,11]", "f32[8,3,3,3]", "f32[8]", auto_pad="SAME_UPPER", strides=[2, 2])
case("Conv", "f32[2,3,10,11]", "f32[8,3,3,3]", auto_pad="VALID", strides=[2, 2])
case("ConvInteger", "u8[2,3,10,11]", "u8[8,3,3,3]")
case("ConvTranspose", "f32[2,4,5,6]", "f32[4,3,3,3]", strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
case("ConvTranspose", "f32[2,4,5]", "f32[4,3,3]", group=2, dilations=[2])
case("ConvTranspose", "f32[2,4,5]", "f32[4,3,3]", auto_pad="SAME_LOWER", strides=[2])
case("ConvTranspose", "f32[2,4,5,5]", "f32[4,3,3,3]", output_shape=[10, 11], strides=[2, 2])
for name in ["AveragePool", "MaxPool", "LpPool"]:
    case(name, "f32[2,3,10,11]", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    case(name, "f32[2,3,10,11]", kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    # Before, onnx counted a window that begins in the padding; onnxruntime never does.
    case(name, "f32[2,3,7]", kernel_shape=[2], strides=[2], pads=[1, 1], ceil_mode=1, since=22)
    case(name, "f32[2,3,12]", kernel_shape=[3], dilations=[2])
    case(name, "f32[2,3,10]", kernel_shape=[3], strides=[3], auto_pad="SAME_UPPER")
case("MaxPool", "f32[2,3,10]", kernel_shape=[2], strides=[2], outputs=2)
case("MaxUnpool", "f32[1,1,2,2]", "i64[1,1,2,2]", kernel_shape=[2, 2], strides=[2, 2])
case("GlobalAveragePool", "f32[2,3,10,11]")
case("GlobalMaxPool", "f32[2,3,10]")
case("DeformConv", "f32[1,3,10,10]", "f32[8,3,3,3]", "f32[1,18,8,8]")

case("BatchNormalization", "f32[2,3,4]", *["f32[3]"] * 4)
case("BatchNormalization", "f32[2,3,4]", *["f32[3]"] * 4, training_mode=1, outputs=3)
case("InstanceNormalization", "f32[2,3,4]", "f32[3]", "f32[3]")
case("GroupNormalization", "f32[2,4,5]", "f32[4]", "f32[4]", num_groups=2)
case("LayerNormalization", "f32[2,3,4]", "f32[4]", outputs=3)
case("LayerNormalization", "f32[2,3,4]", "f32[3,4]", axis=1, outputs=3)
case("RMSNormalization", "f32[2,3,4]", "f32[4]")
case("LRN", "f32[2,3,4,5]", size=3)

for name in ["L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"]:
    case("Reduce" + name, "f32[2,3,4]", axes=Either([1], 1))
    case("Reduce" + name, "f32[2,3,4]", axes=Either([-1, 0], 1), keepdims=0)
    case("Reduce" + name, "f32[2,3,4]")
    case("Reduce" + name, "f32[2,3,4]", keepdims=0)
    case("Reduce" + name, "f32[2,3,4]", noop_with_empty_axes=1)
for name in ["ArgMax", "ArgMin"]:
    case(name, "f32[2,3,4]", axis=-1, keepdims=0)
    case(name, "f32[2,3,4]")
case("TopK", "f32[2,3,10]", k=Either([4], 1), outputs=2)
case("TopK", "f32[2,3,10]", k=Either([2], 1), axis=1, outputs=2)
case("CumSum", "f32[2,3]", "i64[]{0}")

case("Reshape", "f32[2,3,4]", "i64[2]{0,-1}")
case("Reshape", "f32[2,3,4]", "i64[3]{4,-1,2}")
case("Reshape", "f32[0,3]", "i64[2]{3,0}", allowzero=1)
case("Reshape", "f32[2,3]", "i64[3]")
case("Flatten", "f32[2,3,4,5]")
case("Flatten", "f32[2,3,4,5]", axis=-1)
case("Flatten", "f32[2,3,4]", axis=0)
case("Squeeze", "f32[1,3,1,5]")
case("Squeeze", "f32[1,3,1,5]", axes=Either([0, 2], 1))
case("Squeeze", "f32[1,3,1,5]", axes=Either([0, -2], 1), since=11)
case("Unsqueeze", "f32[3,5]", axes=Either([0, 3], 1))
case("Unsqueeze", "f32[3,5]", axes=Either([-1], 1), since=11)
case("Transpose", "f32[2,3,4]")
case("Transpose", "f32[2,3,4]", perm=[1, 2, 0])
case("Expand", "f32[3,1]", "i64[3]{2,1,4}")
case("Expand", "f32[3,4]", "i64[1]{1}")
case("Tile", "f32[2,3]", "i64[2]{2,3}")
case("Concat", "f32[2,3]", "f32[2,4]", "f32[2,1]", axis=1)
case("Concat", "i64[2]", "i64[3]", axis=-1)
case("Split", "f32[2,6]", axis=1, split=Either([1, 2, 3], 1), outputs=3)
case("Split", "f32[4,6]", outputs=2)
case("Split", "f32[7,6]", num_outputs=3, outputs=3)
for starts, ends, axes, steps in [
    ([0], [2**63 - 1], [0], None), ([1, -3], [-1, 100], [0, 1], None), ([-100], [3], [1], None), ([5], [2], [0], None),
    ([-1], [-(2**63)], [1], [-1]), ([8], [1], [1], [-3]), ([1], [2**63 - 1], [1], [4]), ([-2], [0], [-1], [-2]),
]:  # fmt: skip
    bounds = {"starts": Either(starts, 1), "ends": Either(ends, 2), "axes": Either(axes, 3)}
    case("Slice", "f32[6,10]", **bounds, **({"steps": Either(steps, 4)} if steps else {}))
case("Slice", "f32[6,10]", starts=Either([1, 2], 1), ends=Either([3, 9], 2))
case("Pad", "f32[2,3]", pads=Either([0, 1, 2, 3], 1))
case("Pad", "f32[4,5]", "i64[2]{-1,2}", "f32[]", "i64[1]{1}")

case("Gather", "f32[2,3,4]", "i64[5,6]", axis=1)
case("Gather", "f32[2,3,4]", "i64[]", axis=-1)
case("GatherElements", "f32[2,3]", "i64[2,1]", axis=1)
case("GatherND", "f32[2,3,4]", "i64[5,2]")
case("GatherND", "f32[2,3,4]", "i64[2,1]", batch_dims=1)
case("ScatterElements", "f32[2,3]", "i64[1,1]", "f32[1,1]")
case("ScatterND", "f32[2,3]", "i64[4,1]", "f32[4,3]")
case("NonZero", "f32[2,3]")
case("Unique", "f32[2,3]", outputs=4)
case("Unique", "f32[2,3]", axis=1, outputs=4)
case("Compress", "f32[2,3]", "bool[3]", axis=1)
case("Compress", "f32[2,3]", "bool[6]")
case("OneHot", "i64[2,3]", "i64[]{5}", "f32[2]")
case("OneHot", "i64[2,3]", "i64[1]{5}", "i32[2]", axis=1)
case("ReverseSequence", "f32[4,2,3]", "i64[2]")
case("NegativeLogLikelihoodLoss", "f32[2,3,4]", "i64[2,4]", reduction="none")
case("NegativeLogLikelihoodLoss", "f32[2,3,4]", "i64[2,4]")
case("SoftmaxCrossEntropyLoss", "f32[2,3,4]", "i64[2,4]", outputs=2)

case("Shape", "f32[2,3,4]")
case("Shape", "f32[2,3,4]", start=-2)
case("Shape", "f32[2,3,4]", start=1, end=-1)
case("Size", "f32[2,3]")
case("ConstantOfShape", "i64[2]{2,3}")
case("ConstantOfShape", "i64[2]{2,3}", value=Tensor("i64[1]{7}"))
case("Constant", value=Tensor("i64[2]{7,8}"))
case("Constant", value_ints=[1, 2, 3])
case("Range", "i64[]{0}", "i64[]{10}", "i64[]{3}")
case("Range", "i64[]{10}", "i64[]{0}", "i64[]{-4}")
case("EyeLike", "f32[2,3]", dtype=TensorProto.INT64)
case("RandomNormal", shape=[2, 3])
case("RandomNormalLike", "f32[2,3]", dtype=TensorProto.FLOAT16)
case("RandomUniform", shape=[2, 3], dtype=TensorProto.DOUBLE)
case("RandomUniformLike", "f32[2,3]")
case("Multinomial", "f32[2,3]", sample_size=4)

case("QuantizeLinear", "f32[2,3]", "f32[]", "i8[]")
case("QuantizeLinear", "f32[2,3]", "f32[]")
case("DequantizeLinear", "u8[2,3]", "f32[]", "u8[]")
case("DynamicQuantizeLinear", "f32[2,3]", outputs=3)

for name, gates, outputs in [("RNN", 1, 2), ("GRU", 3, 2), ("LSTM", 4, 3)]:
    for direction, count in [("forward", 1), ("bidirectional", 2)]:
        weights = [f"f32[{count},{gates * 6},4]", f"f32[{count},{gates * 6},6]"]
        case(name, "f32[5,2,4]", *weights, hidden_size=6, direction=direction, outputs=outputs)
    case(name, "f32[2,5,4]", *weights, hidden_size=6, direction="bidirectional", layout=1, outputs=outputs)

case("Resize", "f32[1,2,3,4]", "_", "_", "i64[4]{1,2,6,9}")
case("Resize", "f32[1,2,3,4]", "_", "_", "i64[2]{6,9}", axes=[2, 3])
case("Upsample", "f32[1,2,3,4]", scales=[1.0, 1.0, 2.0, 3.0])
case("DepthToSpace", "f32[1,8,3,4]", blocksize=2)
case("SpaceToDepth", "f32[1,2,6,4]", blocksize=2)
case("GridSample", "f32[1,2,3,4]", "f32[1,5,6,2]")
case("AffineGrid", "f32[2,2,3]", "i64[4]{2,3,5,6}")
case("AffineGrid", "f32[2,3,4]", "i64[5]{2,3,4,5,6}")
case("RoiAlign", "f32[1,2,8,9]", "f32[5,4]", "i64[5]", output_height=3, output_width=4)
case("MaxRoiPool", "f32[1,2,8,9]", "f32[5,5]", pooled_shape=[3, 4])
case("NonMaxSuppression", "f32[1,6,4]", "f32[1,1,6]")
case("Col2Im", "f32[1,12,9]", "i64[2]{4,4}", "i64[2]{2,2}")
case("CenterCropPad", "f32[4,5,6]", "i64[2]{3,9}", axes=[0, 2])

case("DFT", "f32[2,10,1]")
case("DFT", "f32[2,10,1]", onesided=1, axis=Either(1, 2))
case("DFT", "f32[2,10,1]", "i64[]{16}", axis=Either(1, 2))
case("DFT", "f32[2,10,2]", inverse=1)
case("STFT", "f32[2,100,1]", "i64[]{10}", "f32[20]", onesided=1)
case("STFT", "f32[2,100,1]", "i64[]{10}", "_", "i64[]{20}", onesided=0)
case("HannWindow", "i64[]{10}")
case("BlackmanWindow", "i64[]{10}", output_datatype=TensorProto.DOUBLE)
case("MelWeightMatrix", "i64[]{8}", "i64[]{16}", "i64[]{8000}", "f32[]", "f32[]")

case("SequenceConstruct", "f32[2,3]", "f32[2,3]")
case("SequenceEmpty", dtype=TensorProto.INT64)
case("SplitToSequence", "f32[4,3]")
case("SplitToSequence", "f32[4,3]", keepdims=0)


def parse(text):
    """(element type, sizes, values or None)"""
    dtype, sizes, values = re.fullmatch(r"(\w+)\[([-\d,]*)\](?:\{([-\d,]*)\})?", text).groups()
    numbers = lambda list_text: [int(number) for number in list_text.split(",") if number]
    return DTYPES[dtype], numbers(sizes), None if values is None else numbers(values)


def resolve(schema, operands, attributes):
    """Operands and attributes as this version has them; None where it cannot express the case."""
    operands, resolved = list(operands), {}
    for name, value in attributes.items():
        if name in schema.attributes:
            value = value.value if isinstance(value, Either) else value
            is_int = schema.attributes[name].type.name == "INT"
            resolved[name] = value[0] if is_int and isinstance(value, list) else value
        elif isinstance(value, Either) and value.index < schema.max_input:
            operands += ["_"] * (value.index + 1 - len(operands))
            operands[value.index] = constant(value.value)
        else:
            return None
    fits = schema.min_input <= len(operands) <= schema.max_input
    return (operands, resolved) if fits else None


def infer(op, opset, operands, outputs, attributes):
    """The spelled types of the results; None where the version rejects the case."""
    inputs, initializers, names = [], [], []
    for i, text in enumerate(operands):
        names.append("" if text == "_" else f"x{i}")
        if text == "_":
            continue
        dtype, sizes, values = parse(text)
        inputs.append(helper.make_tensor_value_info(f"x{i}", dtype, sizes))
        if values is not None:
            initializers.append(helper.make_tensor(f"x{i}", dtype, sizes, values))
    given = {}
    for name, value in attributes.items():
        if isinstance(value, Tensor):
            value = helper.make_tensor(name, *parse(value.text))
        given[name] = value
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, **given)
    graph = helper.make_graph([node], "case", inputs, [helper.make_empty_tensor_value_info(name) for name in results], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=onnx.IR_VERSION)
    try:
        inferred = onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True, data_prop=True)
    except onnx.shape_inference.InferenceError:
        return None
    return [spell(value.type) for value in inferred.graph.output]


def spell(kind):
    sequence = kind.HasField("sequence_type")
    tensor = (kind.sequence_type.elem_type if sequence else kind).tensor_type
    text = ("seq:" if sequence else "") + SPELLINGS.get(tensor.elem_type, "_")
    if not tensor.HasField("shape"):
        return text
    sizes = [str(dim.dim_value) if dim.HasField("dim_value") else "?" for dim in tensor.shape.dim]
    return f"{text}[{','.join(sizes)}]"


def spell_attribute(name, value):
    if isinstance(value, Tensor):
        return f"{name}=tensor:{value.text}"
    if isinstance(value, str):
        return f"{name}=text:{value.replace(' ', '')}"
    if isinstance(value, list):
        kind = "floats" if isinstance(value[0], float) else "ints"
        return f"{name}={kind}:{','.join(map(str, value))}"
    return f"{name}=int:{value}"


def generate():
    versions, lines = schemas(), []
    for op, operands, outputs, since, attributes in CASES:
        told = len(lines)
        # Of the versions before the oldest opset only the last is in force.
        in_force = [schema for schema in versions[op] if not schema.deprecated]
        old = [schema for schema in in_force if schema.since_version <= OLDEST_OPSET][-1:]
        for schema in old + [schema for schema in in_force if schema.since_version > OLDEST_OPSET]:
            form = resolve(schema, operands, attributes)
            opset = max(schema.since_version, OLDEST_OPSET)
            results = form and opset >= since and infer(op, opset, form[0], outputs, form[1])
            if results:
                spelled = [spell_attribute(*item) for item in form[1].items()]
                fields = [quoted(" ".join(field)) for field in (form[0], spelled, results)]
                lines.append(f"{{{quoted(op)}, {opset}, {', '.join(fields)}}},\n")
        if len(lines) == told:
            raise ValueError(f"no version of {op} accepts {operands}, {attributes}")
    return Generated(SOURCE, {"src/onnx/infer/infer_cases.inc": "".join(dict.fromkeys(lines))})


if __name__ == "__main__":
    raise SystemExit(main(generate))
