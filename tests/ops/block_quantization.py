"""torchao's operators, which it registers when it is imported: here, as they are documented."""

import torch
from harness import case, floats, ints

GRID = "SymInt[] block_size, Tensor scale, Tensor? zero_point"
RANGE = "Scalar? quant_min=None, Scalar? quant_max=None"
SCHEMAS = [
    "choose_qparams_affine(Tensor? input, str mapping_type, SymInt[] block_size, ScalarType target_dtype, " + RANGE + ", float? eps=None, "
    "ScalarType? scale_dtype=None, ScalarType? zero_point_dtype=None, bool keepdim=False) -> (Tensor, Tensor)",
    "choose_scale_float8(Tensor tensor, SymInt[] block_size, ScalarType float8_dtype=24, ScalarType scale_dtype=6, float? hp_value_lb=None, "
    "float? hp_value_ub=None) -> Tensor",
    f"dequantize_affine(Tensor input, {GRID}, ScalarType input_dtype, {RANGE}, ScalarType output_dtype=6) -> Tensor",
    "dequantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType output_dtype=6) -> Tensor",
    f"quantize_affine(Tensor input, {GRID}, ScalarType output_dtype, {RANGE}) -> Tensor",
    "quantize_affine_float8_non_decomposed(Tensor tensor, Tensor scale, ScalarType float8_dtype=24) -> Tensor",
]
library = torch.library.Library("torchao", "DEF")
for schema in SCHEMAS:
    library.define(schema)


def counts(x, blocks):
    return [size // block for size, block in zip(x.shape, blocks, strict=True)]


def cut(x, blocks):
    """Each dimension as two: blocks, and what is in one."""
    return x.reshape([size for pair in zip(counts(x, blocks), blocks, strict=True) for size in pair])


def spread(grid, x, blocks):
    apart = grid.reshape([size for count in counts(x, blocks) for size in (count, 1)])
    return apart.expand(cut(x, blocks).shape).reshape(x.shape)


def bounds(dtype, low, high):
    info = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
    return info.min if low is None else low, info.max if high is None else high


def quantize_affine(input, block_size, scale, zero_point, output_dtype, quant_min=None, quant_max=None):
    rounded = torch.round(input * spread(1.0 / scale, input, block_size))
    if zero_point is not None:
        rounded = rounded + spread(zero_point, input, block_size)
    return rounded.clamp(*bounds(output_dtype, quant_min, quant_max)).to(output_dtype)


def dequantize_affine(input, block_size, scale, zero_point, input_dtype, quant_min=None, quant_max=None, output_dtype=torch.float32):
    floats = input.to(output_dtype)
    if zero_point is not None:
        floats = floats - spread(zero_point, input, block_size).to(output_dtype)
    return (floats * spread(scale, input, block_size)).to(output_dtype)


def choose_qparams_affine(input, mapping_type, block_size, target_dtype, quant_min=None, quant_max=None, eps=None, scale_dtype=None,
                          zero_point_dtype=None, keepdim=False):
    low, high = bounds(target_dtype, quant_min, quant_max)
    eps = torch.finfo(input.dtype).smallest_normal if eps is None else eps
    within = list(range(1, 2 * input.ndim, 2))
    below, above = cut(input, block_size).amin(within).clamp(max=0), cut(input, block_size).amax(within).clamp(min=0)
    if mapping_type == "ASYMMETRIC":
        scale = ((above - below) / float(high - low)).clamp(min=eps)
        zero_point = (low - torch.round(below / scale)).clamp(low, high)
        zero_point_dtype = zero_point_dtype or torch.int32
    else:
        scale = torch.maximum(-below, above) / (float(high - low) / 2) if mapping_type == "SYMMETRIC" else torch.maximum(below / low, above / high)
        scale = scale.clamp(min=eps)
        zero_point = torch.full_like(scale, int((high + low + 1) / 2))
    if not keepdim:
        kept = [count for count, block in zip(counts(input, block_size), block_size, strict=True) if count != 1 or block == 1]
        scale, zero_point = scale.reshape(kept), zero_point.reshape(kept)
    return scale.to(scale_dtype or input.dtype), zero_point.to(zero_point_dtype or zero_point.dtype)


def choose_scale_float8(tensor, block_size, float8_dtype=torch.float8_e4m3fn, scale_dtype=torch.float32, hp_value_lb=None, hp_value_ub=None):
    largest = cut(tensor, block_size).abs().amax(list(range(1, 2 * tensor.ndim, 2)))
    if hp_value_lb is not None or hp_value_ub is not None:
        largest = largest.clamp(hp_value_lb, hp_value_ub)
    scale = largest / torch.finfo(float8_dtype).max
    if scale_dtype is not torch.float32:
        scale = torch.exp2(torch.round(torch.log2(scale)))
    return scale.to(torch.float32)


def by_blocks(scale, tensor):
    if scale.ndim != tensor.ndim:
        return scale
    return spread(scale, tensor, [size // count for size, count in zip(tensor.shape, scale.shape, strict=True)])


def quantize_affine_float8_non_decomposed(tensor, scale, float8_dtype=torch.float8_e4m3fn):
    largest = torch.finfo(float8_dtype).max
    return (tensor.to(torch.float32) / by_blocks(scale, tensor)).clamp(-largest, largest).to(float8_dtype)


def dequantize_affine_float8_non_decomposed(tensor, scale, output_dtype=torch.float32):
    return (tensor.to(torch.float32) * by_blocks(scale, tensor)).to(output_dtype)


for function in (choose_qparams_affine, choose_scale_float8, quantize_affine, dequantize_affine):
    library.impl(function.__name__, function, "CompositeImplicitAutograd")
for function in (quantize_affine_float8_non_decomposed, dequantize_affine_float8_non_decomposed):
    library.impl(function.__name__, function, "CPU")
    library.impl(function.__name__, function, "Meta")

ao = torch.ops.torchao
x = floats(4, 6, 8)
# Blocks of a tensor of (4, 6, 8): all of it, an index of a dimension, rows, parts of rows, and what lies apart.
BLOCKS = {"all": (4, 6, 8), "first": (1, 6, 8), "middle": (4, 1, 8), "last": (4, 6, 1), "rows": (1, 1, 8), "parts": (1, 1, 4), "tiles": (2, 3, 4),
          "columns": (1, 6, 1)}
F8 = torch.float8_e4m3fn
ROWS = {"dynamic": {0: [0]}}


def grid_of(blocks, zero_point=True):
    scale = floats(*counts(x, blocks), low=0.02, high=0.3)
    if blocks == BLOCKS["all"]:
        scale = scale.reshape(())
    return scale, torch.randint(-3, 4, scale.shape) if zero_point else None


class Weights(torch.nn.Module):
    """Scales and zero points that are weights."""

    def __init__(self, op, blocks, *rest, zero_point=True):
        super().__init__()
        self.op, self.blocks, self.rest = op, blocks, rest
        scale, zero = grid_of(blocks, zero_point)
        self.register_buffer("scale", scale)
        self.register_buffer("zero_point", zero)

    def forward(self, x):
        return self.op(x, self.blocks, self.scale, self.zero_point, *self.rest)


def dynamically(x, mapping="SYMMETRIC", dtype=torch.int8):
    """As torchao quantizes activations: each row by its own scale, and back."""
    blocks = [1] * (x.ndim - 1) + [x.shape[-1]]
    scale, zero_point = ao.choose_qparams_affine(x, mapping, blocks, dtype, keepdim=True)
    quantized = ao.quantize_affine(x, blocks, scale, zero_point, dtype)
    return quantized, ao.dequantize_affine(quantized, blocks, scale, zero_point, dtype)


CASES = [
    *(
        [
            case(Weights(ao.quantize_affine, blocks, torch.int8), x, name=f"quantize_affine {name}", dynamic=False),
            case(Weights(ao.quantize_affine, blocks, torch.int8, -8, 7), x, name=f"quantize_affine {name} to 4 bits", dynamic=False),
            case(Weights(ao.quantize_affine, blocks, torch.uint8, zero_point=False), x, name=f"quantize_affine {name} without zero points", dynamic=False),
            case(Weights(ao.quantize_affine, blocks, torch.int32, -1000, 1000), x, name=f"quantize_affine {name} to int32", dynamic=False),
            case(ao.quantize_affine, x, blocks, *grid_of(blocks), torch.int8, name=f"quantize_affine {name} by inputs", dynamic=False),
            case(ao.dequantize_affine, ints(4, 6, 8, low=-99, high=99, dtype=torch.int8), blocks, *grid_of(blocks), torch.int8, name=f"dequantize_affine {name}",
                 dynamic=False),
            case(ao.dequantize_affine, ints(4, 6, 8, low=0, high=200, dtype=torch.uint8), blocks, *grid_of(blocks, False), torch.uint8,
                 output_dtype=torch.float16, name=f"dequantize_affine {name} to float16", dynamic=False),
            case(ao.dequantize_affine, ints(4, 6, 8, dtype=torch.int32), blocks, *grid_of(blocks), torch.int32, name=f"dequantize_affine {name} of int32",
                 dynamic=False),
            *[
                case(ao.choose_qparams_affine, x, mapping, blocks, torch.int8, keepdim=keepdim, name=f"choose_qparams_affine {name} {mapping} {keepdim}",
                     dynamic=False)
                for mapping in ("SYMMETRIC", "ASYMMETRIC", "SYMMETRIC_NO_CLIPPING_ERR")
                for keepdim in (True, False)
            ],
            case(ao.choose_scale_float8, x, blocks, name=f"choose_scale_float8 {name}", dynamic=False),
        ]
        for name, blocks in BLOCKS.items()
    ),
    case(ao.choose_qparams_affine, x, "ASYMMETRIC", (1, 1, 8), torch.uint8, 0, 15, 1e-3, torch.float64, torch.int64, dynamic=False),
    case(lambda x: ao.choose_qparams_affine(x, "ASYMMETRIC", (1, 1, 8), torch.int8)[0], x.half(), name="choose_qparams_affine of float16", dynamic=False),
    case(ao.choose_scale_float8, x, (1, 1, 8), torch.float8_e5m2, torch.float8_e8m0fnu, dynamic=False),
    case(ao.choose_scale_float8, x, (1, 1, 8), hp_value_lb=0.5, hp_value_ub=1.0, dynamic=False),
    case(dynamically, floats(50, 64).bfloat16(), name="rows of bfloat16", dynamic=False),
    *[
        case(ao.dequantize_affine, ints(4, 8, low=-99, high=99, dtype=torch.int8), (1, 8), floats(4, low=0.02, high=0.3), zero, torch.int8, dynamic=False,
             name=f"dequantize_affine by zero points of {zero.dtype}")
        for zero in (torch.full((4,), 0.5), torch.full((4,), 200, dtype=torch.int32))
    ],
    *[case(dynamically, sample, mapping, name=f"rows {tuple(sample.shape)} {mapping}", **ROWS) for sample in (floats(3, 8), x) for mapping in ("SYMMETRIC", "ASYMMETRIC")],
    *[
        case(lambda x, scale, dtype=dtype: ao.quantize_affine_float8_non_decomposed(x, scale, dtype).to(torch.float32), x * 300, scale, dynamic=False, since=19,
             name=f"quantize_affine_float8 {dtype} {tuple(scale.shape)}")
        for dtype in (F8, torch.float8_e5m2)
        for scale in (torch.tensor(0.5), floats(4, 1, 1, low=0.5, high=2), floats(4, 6, 2, low=0.5, high=2))
    ],
    *[
        case(lambda x, scale: ao.dequantize_affine_float8_non_decomposed(x.to(F8), scale), x, scale, dynamic=False, since=19,
             name=f"dequantize_affine_float8 {tuple(scale.shape)}")
        for scale in (torch.tensor(0.5), floats(4, 1, 1, low=0.5, high=2), floats(4, 6, 2, low=0.5, high=2))
    ],
]
