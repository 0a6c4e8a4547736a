import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
from harness import case, floats, ints

decomposed = torch.ops.quantized_decomposed
aten = torch.ops.aten
x = floats(3, 4, 5)
scale, zero_point = torch.tensor([0.1]), torch.tensor([2])
scales, zero_points = floats(4, low=0.02, high=0.3), ints(4, low=-3, high=4)
RANGES = [(-128, 127, torch.int8), (-127, 127, torch.int8), (0, 255, torch.uint8), (0, 15, torch.uint8), (-(2**15), 2**15 - 1, torch.int16),
          (-(2**31), 2**31 - 1, torch.int32)]
CHANNELS = {0: [0, 2]}
# Zero points that are learnt lie between integers, and outside of them.
LEARNT = [torch.tensor([2.5]), torch.tensor([3.5, 1.0]), torch.tensor([-2000.0]), torch.tensor([2000.0])]

# Numbers that scale onto integers exactly, and halfway between: rounding is to even.
halves = torch.arange(-12, 12).reshape(4, 6) * 0.25

rows, row_zeros = floats(3, 4, 1, low=0.02, high=0.3), ints(3, 4, 1, low=0, high=4)
matrix, groups, group_zeros = floats(3, 12), floats(3, 3, low=0.02, high=0.3), ints(3, 3, low=0, high=4)


def by_rows(x):
    """Eagerly torch's zero points are floats here, and captured integers: they are zero."""
    scales, zero_points = decomposed.choose_qparams_per_token.default(x, torch.int8)
    quantized = decomposed.quantize_per_token.default(x, scales, zero_points, -128, 127, torch.int8)
    return decomposed.dequantize_per_token.default(quantized, scales, zero_points, -128, 127, torch.int8, torch.float32)


def seen(by_channel):
    """What an observer knows: least and greatest numbers, of which some are not set, scales and zero points."""
    count = (3,) if by_channel else (1,)
    low, high = floats(*count, low=-2, high=0), floats(*count, low=0, high=2)
    if by_channel:
        low[1], high[1] = float("inf"), float("-inf")
    return low, high, floats(*count, low=0.02, high=0.3), torch.zeros(count, dtype=torch.int32)


def observed(x, observes, quantizes, low, high, scale, zero_point, *grid):
    low, high, scale, zero_point = low.clone(), high.clone(), scale.clone(), zero_point.clone()
    return torch.fused_moving_avg_obs_fake_quant(x, observes, quantizes, low, high, scale, zero_point, *grid), low, high, scale, zero_point


def integers(low, high, dtype):
    return ints(3, 4, 5, low=max(low, -99), high=min(high, 99), dtype=dtype)


def moved(move, zero_point):
    return lambda x: move(torch.fake_quantize_per_tensor_affine(x, 0.05, zero_point, -128, 127))


MOVES = {
    "flip": lambda x: x.flip(1) * 2,
    "slice": lambda x: x[:, 1:] + 1,
    "transpose": lambda x: x @ x.mT,
    "pool": lambda x: torch.nn.functional.max_pool1d(x, 2) + 1,
}

CASES = [
    # onnxruntime moves a dequantization past what moves elements
    *[
        case(moved(move, zero_point), x, opsets=[20, 21, 23, 26], dynamic=False, name=f"{name} of fake int8 around {zero_point}")
        for name, move in MOVES.items()
        for zero_point in (0, 3, -5)
    ],
    *(
        [
            case(decomposed.quantize_per_tensor.default, x, 0.05, 3, low, high, dtype),
            case(decomposed.quantize_per_tensor.default, halves, 0.5, 0, low, high, dtype),
            case(decomposed.quantize_per_tensor.tensor, x, scale, zero_point, low, high, dtype, dynamic={0: [0]}),
            case(decomposed.quantize_per_channel.default, x, scales, zero_points.abs(), 1, low, high, dtype, dynamic=CHANNELS),
            case(decomposed.dequantize_per_tensor.default, integers(low, high, dtype), 0.05, 3, low, high, dtype),
            case(decomposed.dequantize_per_tensor.tensor, integers(low, high, dtype), scale, zero_point, low, high, dtype, dynamic={0: [0]}),
            case(decomposed.dequantize_per_channel.default, integers(low, high, dtype), scales, zero_points.abs(), 1, low, high, dtype, dynamic=CHANNELS),
            case(decomposed.dequantize_per_channel.default, integers(low, high, dtype), scales, None, -2, low, high, dtype, dynamic=CHANNELS),
        ]
        for low, high, dtype in RANGES
    ),
    *(
        [
            case(torch.fake_quantize_per_tensor_affine, x, 0.05, 3, low, high, dynamic=False),
            case(torch.fake_quantize_per_tensor_affine, x, scale[0], zero_point[0].int(), low, high, dynamic=False),
            case(torch.fake_quantize_per_channel_affine, x, scales, zero_points.abs().int(), 1, low, high, dynamic=False),
            *[
                case(op, x, torch.tensor([observes]), torch.tensor([quantizes]), *seen(rows), 0.01, low, high, 0, rows, symmetric, dynamic=False)
                for op in (observed, aten._fused_moving_avg_obs_fq_helper_functional.default)
                for observes, quantizes, rows, symmetric in ((1, 1, False, False), (1, 1, True, True), (1, 0, False, True), (0, 1, True, False))
            ],
            *[case(aten._fake_quantize_learnable_per_tensor_affine.default, x, scale, zero, low, high, 2.0, dynamic=False) for zero in LEARNT],
            case(aten._fake_quantize_learnable_per_channel_affine.default, x, scales, zero_points * 1.5, 1, low, high, dynamic=False),
        ]
        for low, high in ((-128, 127), (0, 255), (0, 15), (-8, 7), (0, 1023))
    ),
    *(
        [
            case(decomposed.quantize_per_tensor.tensor2, x, scale, zero_point, torch.tensor(low), torch.tensor(high), dtype, dynamic={0: [0]}),
            case(decomposed.dequantize_per_tensor.tensor2, integers(low, high, dtype), scale, zero_point, torch.tensor(low), torch.tensor(high), dtype,
                 dynamic={0: [0]}),
            case(decomposed.choose_qparams.tensor, x, low, high, 1e-6, dtype, dynamic={0: [0]}),
            case(decomposed.choose_qparams_symmetric.tensor, x, low, high, 1e-6, dtype, dynamic={0: [0]}),
            case(decomposed.quantize_per_token.default, x, rows, row_zeros, low, high, dtype, dynamic=False),
            case(decomposed.dequantize_per_token.default, integers(low, high, dtype), rows, row_zeros, low, high, dtype, torch.float32, dynamic=False),
            case(decomposed.quantize_per_channel_group.default, matrix, groups, group_zeros, low, high, dtype, 4, dynamic=False),
            case(decomposed.dequantize_per_channel_group.default, integers(low, high, dtype).reshape(3, 20)[:, :12].contiguous(), groups, group_zeros, low,
                 high, dtype, 4, torch.float32, dynamic=False),
            case(decomposed.dequantize_per_channel_group.default, integers(low, high, dtype).reshape(3, 20)[:, :12].contiguous(), groups[:, :1], None, low,
                 high, dtype, 16, torch.float32, dynamic=False),
        ]
        for low, high, dtype in ((-128, 127, torch.int8), (0, 255, torch.uint8))
    ),
    case(decomposed.choose_qparams.tensor, torch.zeros(2, 3), 0, 255, 1e-6, torch.uint8, dynamic=False),
    case(decomposed.choose_qparams_per_token_asymmetric.default, x, torch.int8, dynamic={0: [0]}),
    case(decomposed._choose_qparams_per_token_asymmetric_impl.default, x, torch.int8, dynamic={0: [0]}),
    case(by_rows, x, dynamic={0: [0]}),
    case(decomposed.fake_quant_per_channel.default, x, scales, zero_points.abs().int(), 1, 0, 255, dynamic=False),
    case(decomposed.convert_element_type.no_fuse, x, torch.float16, dynamic=False),
    *(
        case(aten._weight_int8pack_mm, floats(5, 32).to(dtype), ints(16, 32, low=-128, high=128, dtype=torch.int8),
             floats(16, low=0.01, high=0.1).to(dtype), tolerance=tolerance, dynamic={0: [0]})
        for dtype, tolerance in ((torch.float32, (1e-4, 1e-4)), (torch.float16, (1e-2, 1e-1)))
    ),
]
