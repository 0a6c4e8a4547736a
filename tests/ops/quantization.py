import torch
import torch.ao.quantization.fx._decomposed  # registers quantized_decomposed
from harness import case, floats, ints

decomposed = torch.ops.quantized_decomposed
x = floats(3, 4, 5)
scale, zero_point = torch.tensor([0.1]), torch.tensor([2])
scales, zero_points = floats(4, low=0.02, high=0.3), ints(4, low=-3, high=4)
RANGES = [(-128, 127, torch.int8), (-127, 127, torch.int8), (0, 255, torch.uint8), (0, 15, torch.uint8), (-(2**15), 2**15 - 1, torch.int16),
          (-(2**31), 2**31 - 1, torch.int32)]
CHANNELS = {0: [0, 2]}

# Numbers that scale onto integers exactly, and halfway between: rounding is to even.
halves = torch.arange(-12, 12).reshape(4, 6) * 0.25


def integers(low, high, dtype):
    return ints(3, 4, 5, low=max(low, -99), high=min(high, 99), dtype=dtype)


CASES = [
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
        ]
        for low, high in ((-128, 127), (0, 255), (0, 15), (-8, 7), (0, 1023))
    ),
]
