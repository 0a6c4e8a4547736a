"""Operators that only some device has, as programs decomposed on a GPU hold them.

Here they get kernels for the CPU, of what their documentation and PyTorch's own callers say of them.
"""

from __future__ import annotations

import torch
from harness import case, floats, ints, known
from literal import literal
from torch.nn import functional as F

aten = torch.ops.aten
kernels = torch.library.Library("aten", "IMPL")


def kernel(function):
    kernels.impl(function.__name__, function, "CPU")
    return function


# --- recurrent networks ----------------------------------------------------------------------------------------------


def biased(gates, bias):
    return gates if bias is None else gates + bias


@kernel
def _thnn_fused_lstm_cell(input_gates, hidden_gates, cx, input_bias=None, hidden_bias=None):
    i, f, g, o = (biased(input_gates, input_bias) + biased(hidden_gates, hidden_bias)).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cell = f * cx + i * g
    return o * cell.tanh(), cell, torch.cat([i, f, g, o], 1)


@kernel
def _thnn_fused_gru_cell(input_gates, hidden_gates, hx, input_bias=None, hidden_bias=None):
    of_input, of_state = biased(input_gates, input_bias).chunk(3, 1), biased(hidden_gates, hidden_bias).chunk(3, 1)
    reset, update = ((a + b).sigmoid() for a, b in zip(of_input[:2], of_state[:2], strict=True))
    candidate = (of_input[2] + reset * of_state[2]).tanh()
    return candidate + update * (hx - candidate), torch.cat([reset, update, candidate, hx, of_state[2]], 1)


def network(input, weight, stride, hx, cx, mode, layers, batch_first, bidirectional, batch_sizes):
    biases = stride >= 4
    options = (weight, biases, layers, 0.0, False, bidirectional)
    if batch_sizes:
        input, options = (input, torch.tensor(batch_sizes)), options
    else:
        input, options = (input,), (*options, batch_first)
    run = (torch._VF.rnn_relu, torch._VF.rnn_tanh, torch._VF.lstm, torch._VF.gru)[mode]
    output, h, *c = run(*input, (hx, cx) if mode == 2 else hx, *options)
    return output, h, c[0] if c else torch.zeros(0), torch.zeros(0, dtype=torch.uint8), torch.zeros(0)


@kernel
def _cudnn_rnn(
    input, weight, weight_stride0, weight_buf, hx, cx, mode, hidden_size, proj_size, num_layers, batch_first, dropout, train,
    bidirectional, batch_sizes, dropout_state
):
    return network(input, weight, weight_stride0, hx, cx, mode, num_layers, batch_first, bidirectional, batch_sizes)


@kernel
def miopen_rnn(
    input, weight, weight_stride0, hx, cx, mode, hidden_size, num_layers, batch_first, dropout, train, bidirectional, batch_sizes,
    dropout_state
):
    return network(input, weight, weight_stride0, hx, cx, mode, num_layers, batch_first, bidirectional, batch_sizes)


# --- convolutions and normalization ----------------------------------------------------------------------------------


def convolve(x, weight, bias, stride, padding, dilation, groups):
    return aten.convolution(x, weight, bias, stride, padding, dilation, False, [0] * len(stride), groups)


def transposed(x, weight, bias, padding, output_padding, stride, dilation, groups):
    return aten.convolution(x, weight, bias, stride, padding, dilation, True, output_padding, groups)


@kernel
def cudnn_convolution(x, weight, padding, stride, dilation, groups, *flags):
    return convolve(x, weight, None, stride, padding, dilation, groups)


@kernel
def cudnn_convolution_transpose(x, weight, padding, output_padding, stride, dilation, groups, *flags):
    return transposed(x, weight, None, padding, output_padding, stride, dilation, groups)


def with_relu(x, weight, bias, stride, padding, dilation, groups):
    return convolve(x, weight, bias, stride, padding, dilation, groups).relu()


def with_add_and_relu(x, weight, z, alpha, bias, stride, padding, dilation, groups):
    return (convolve(x, weight, bias, stride, padding, dilation, groups) + (1 if alpha is None else alpha) * z).relu()


def miopen(x, weight, bias, padding, stride, dilation, groups, *flags):
    return convolve(x, weight, bias, stride, padding, dilation, groups)


def miopen_transposed(x, weight, bias, padding, output_padding, stride, dilation, groups, *flags):
    return transposed(x, weight, bias, padding, output_padding, stride, dilation, groups)


def depthwise(x, weight, kernel_size, bias, stride, padding, dilation):
    return convolve(x, weight, bias, stride, padding, dilation, weight.shape[0])


def nnpack(x, weight, bias, padding, stride):
    return convolve(x, weight, bias, stride, padding, [1, 1], 1)


for name, function in {
    "_nnpack_spatial_convolution": nnpack,
    "cudnn_convolution_relu": with_relu,
    "cudnn_convolution_add_relu": with_add_and_relu,
    "miopen_convolution": miopen,
    "miopen_convolution_transpose": miopen_transposed,
    "miopen_convolution_relu": with_relu,
    "miopen_convolution_add_relu": with_add_and_relu,
    "miopen_depthwise_convolution": miopen,
    "_conv_depthwise2d": depthwise,
    "conv_depthwise3d": depthwise,
}.items():
    kernels.impl(name, function, "CPU")


def normalized(x, weight, bias, mean, variance, training, momentum, eps):
    return F.batch_norm(x, mean, variance, weight, bias, training, momentum, eps), torch.zeros(0), torch.zeros(0)


@kernel
def cudnn_batch_norm(x, weight, bias, mean, variance, training, momentum, eps):
    return *normalized(x, weight, bias, mean, variance, training, momentum, eps), torch.zeros(0, dtype=torch.uint8)


@kernel
def batch_norm_elemt(x, weight, bias, mean, invstd, eps):
    y = (x - mean[:, None, None]) * invstd[:, None, None]
    return y if weight is None else y * weight[:, None, None] + bias[:, None, None]


kernels.impl("miopen_batch_norm", normalized, "CPU")


@kernel
def convolution_overrideable(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    return aten.convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups)


@kernel
def cudnn_grid_sampler(x, grid):
    return F.grid_sample(x, grid, "bilinear", "zeros", True)


@kernel
def cudnn_affine_grid_generator(theta, n, c, h, w):
    return F.affine_grid(theta, [n, c, h, w], True)


@kernel
def _fused_dropout(x, keep, generator=None):
    mask = torch.rand_like(x) < keep
    return x * mask / keep, mask.to(torch.uint8)


@kernel
def _masked_scale(x, mask, scale):
    return x * mask.to(x.dtype) * scale


def dropped_at_random(x):
    """What was kept is doubled, and the mask says what that is: 2x, whatever was drawn."""
    output, mask = aten._fused_dropout(x, 0.5)
    return torch.where(mask == 1, output, 2 * x), mask


IMAGE, WEIGHT, THREE, BIAS3 = floats(2, 3, 8, 8), floats(4, 3, 3, 3), floats(3, 1, 3, 3), floats(3)
SPATIAL = [2, 1], [1, 2], [1, 1], 1
PAIRS = [0, 0], [1, 1], [1, 1], 1
FLAGS = False, False, False
STATISTICS = floats(3), floats(3), floats(3), floats(3).abs()
SEQUENCE = floats(6, 2, 4)


def weights(gates, features, hidden, directions=1, biases=True):
    one = [floats(gates * hidden, features), floats(gates * hidden, hidden), *([floats(gates * hidden)] * 2 if biases else [])]
    return one * directions


def cudnn(gates, mode, *, layers=1, directions=1, biases=True, batch_first=False, batch_sizes=(), input=SEQUENCE):
    params = weights(gates, 4, 3, directions, biases)
    for _ in range(layers - 1):
        params = params + weights(gates, 3 * directions, 3, directions, biases)
    batch = 2 if batch_first is False else 6
    h = floats(layers * directions, batch, 3)
    return literal(
        aten._cudnn_rnn.default, input, params, 4 if biases else 2, None, h, h * 2 if mode == 2 else None, mode, 3, 0, layers, batch_first,
        0.0, False, directions == 2, list(batch_sizes), None,
    )  # fmt: skip


F8 = torch.float8_e4m3fn
ROWS, COLUMNS = floats(32, 256), floats(256, 64)
BLOCKS = floats(32, 2).abs(), floats(2, 64).abs()
ONE, OTHER = torch.tensor(0.5), torch.tensor([0.25])


def scaled_mm(a, b, *args, **kwargs):
    """Tests have no inputs of one byte."""
    return torch._scaled_mm(a.to(F8), b.t().contiguous().to(F8).t(), *args, **kwargs).float()


def by_recipe(a, b, scale_a, scale_b, recipe):
    return F.scaled_mm(a.to(F8), b.t().contiguous().to(F8).t(), scale_a, recipe, scale_b, recipe, output_dtype=torch.float32)


class ScaledByBlocks(torch.nn.Module):
    """The kernel of the CPU has no blocks: while a capture runs the operator is recorded, else the blocks are scaled."""

    def forward(self, a, b, scale_a, scale_b, bias):
        a, b = a.to(F8), b.t().contiguous().to(F8).t()
        if torch.compiler.is_compiling() or torch.jit.is_tracing():
            return torch._scaled_mm(a, b, scale_a, scale_b, bias, out_dtype=torch.float32)
        a, b = a.float() * scale_a.repeat_interleave(128, 1), b.float() * scale_b.repeat_interleave(128, 0)
        return a @ b + bias


EIGHT_BITS = {"dynamic": False, "again": False, "since": 19, "strided": False, "tolerance": (1e-2, 1e-1)}
CASES = [
    *[literal(aten._thnn_fused_lstm_cell.default, floats(3, 8), floats(3, 8), floats(3, 2), *rest) for rest in ((), (floats(8), floats(8)))],
    *[literal(aten._thnn_fused_gru_cell.default, floats(3, 6), floats(3, 6), floats(3, 2), *rest) for rest in ((), (floats(6), floats(6)))],
    *[cudnn(gates, mode, **how)
      for gates, mode in ((1, 0), (1, 1), (4, 2), (3, 3))
      for how in ({}, {"layers": 2, "biases": False}, {"directions": 2, "batch_first": True}, {"batch_sizes": (2, 2, 1), "input": floats(5, 4)})],
    literal(aten.miopen_rnn.default, SEQUENCE, weights(4, 4, 3), 4, floats(1, 2, 3), floats(1, 2, 3), 2, 3, 1, False, 0.0, False, False, [], None),
    literal(aten._nnpack_spatial_convolution.default, IMAGE, WEIGHT, floats(4), [1, 0], [2, 1]),
    literal(aten.convolution_overrideable.default, IMAGE, floats(3, 2, 3, 3), floats(2), [2, 1], [1, 1], [1, 1], True, [1, 0], 1),
    literal(aten.cudnn_convolution.default, IMAGE, WEIGHT, *SPATIAL, *FLAGS),
    literal(aten.cudnn_convolution_transpose.default, IMAGE, floats(3, 2, 3, 3), [1, 1], [1, 0], [2, 2], [1, 1], 1, *FLAGS),
    *[literal(op.default, IMAGE, WEIGHT, bias, *SPATIAL)
      for op in (aten.cudnn_convolution_relu, aten.miopen_convolution_relu) for bias in (None, floats(4))],
    *[literal(op.default, IMAGE, WEIGHT, floats(2, 4, 6, 6), alpha, floats(4), [1, 1], [0, 0], [1, 1], 1)
      for op in (aten.cudnn_convolution_add_relu, aten.miopen_convolution_add_relu) for alpha in (None, 0.5)],
    literal(aten.miopen_convolution.default, IMAGE, WEIGHT, floats(4), *SPATIAL, False, False),
    literal(aten.miopen_depthwise_convolution.default, IMAGE, THREE, BIAS3, [1, 1], [1, 1], [1, 1], 3, False, False),
    literal(aten.miopen_convolution_transpose.default, IMAGE, floats(3, 2, 3, 3), floats(2), [1, 1], [1, 0], [2, 2], [1, 1], 1, False, False),
    literal(aten._conv_depthwise2d.default, IMAGE, THREE, [3, 3], BIAS3, [2, 1], [1, 0], [1, 2]),
    literal(aten.conv_depthwise3d.default, floats(1, 3, 4, 5, 6), floats(3, 1, 2, 3, 2), [2, 3, 2], None, [1, 2, 1], [0, 1, 1], [1, 1, 2]),
    literal(aten._slow_conv2d_forward.default, IMAGE, WEIGHT, [3, 3], floats(4), [2, 1], [1, 0]),
    literal(aten.slow_conv3d_forward.default, floats(1, 3, 4, 5, 6), floats(2, 3, 2, 3, 2), [2, 3, 2], None, [1, 2, 1], [0, 1, 1]),
    literal(aten.slow_conv_dilated2d.default, IMAGE, WEIGHT, [3, 3], floats(4), [2, 1], [1, 0], [2, 2]),
    literal(aten.slow_conv_dilated3d.default, floats(1, 3, 4, 5, 6), floats(2, 3, 2, 2, 2), [2, 2, 2], None, [1, 1, 1], [0, 1, 1], [2, 1, 2]),
    literal(aten.slow_conv_transpose2d.default, IMAGE, floats(3, 2, 3, 3), [3, 3], floats(2), [2, 2], [1, 1], [1, 0], [1, 1]),
    literal(aten.slow_conv_transpose3d.default, floats(1, 3, 3, 4, 3), floats(3, 2, 2, 2, 2), [2, 2, 2], None, [2, 1, 1]),
    case(dropped_at_random, floats(40, 60) + 9, dynamic=False, check=lambda want, got: got.dtype == "uint8" or abs(got - want.numpy()).max() < 1e-4),
    literal(aten._masked_scale.default, floats(2, 3), ints(2, 3, low=0, high=2, dtype=torch.uint8), 1.5),
    literal(aten.cudnn_batch_norm.default, IMAGE, *STATISTICS, False, 0.1, 1e-5),
    literal(aten.miopen_batch_norm.default, IMAGE, *STATISTICS, False, 0.1, 1e-5),
    *[literal(aten.batch_norm_elemt.default, IMAGE, *affine, *STATISTICS[2:], 1e-5) for affine in ((None, None), STATISTICS[:2])],
    literal(aten.cudnn_grid_sampler.default, IMAGE, floats(2, 4, 5, 2)),
    literal(aten.cudnn_affine_grid_generator.default, floats(2, 2, 3), 2, 3, 4, 5),
    *[case(scaled_mm, ROWS, COLUMNS, a, b, out_dtype=torch.float32, **options, name=f"_scaled_mm {tuple(a.shape)} {tuple(b.shape)}", **EIGHT_BITS)
      for a, b, options in ((ONE, ONE, {}), (OTHER, ONE, {"bias": floats(64)}), (floats(32, 1).abs(), floats(1, 64).abs(), {}))],
    case(ScaledByBlocks(), ROWS, COLUMNS, *BLOCKS, floats(64), **EIGHT_BITS),
    # Whole numbers, so that the sums are exact in any order: halves are rounded alike.
    case(scaled_mm, ints(32, 32).float(), ints(32, 64).float(), ONE, ONE, name="_scaled_mm to one byte", **EIGHT_BITS),
    case(scaled_mm, ROWS, COLUMNS, ONE, ONE, out_dtype=torch.bfloat16, name="_scaled_mm to bfloat16", **EIGHT_BITS),
    *[case(by_recipe, ROWS, COLUMNS, *scales, recipe, name=f"scaled_mm by {recipe.name}", **EIGHT_BITS)
      for types in known("torch.nn.functional.ScalingType")
      for *scales, recipe in ((ONE, OTHER, types.TensorWise), (floats(32, 1).abs(), floats(1, 64).abs(), types.RowWise))],
    literal(aten.fake_quantize_per_tensor_affine_cachemask.default, floats(3, 4) * 4, 0.1, 3, 0, 63),
    literal(aten.fake_quantize_per_channel_affine_cachemask.default, floats(3, 4) * 4, floats(3).abs() + 0.1, torch.tensor([0, 1, -2], dtype=torch.int32), 0, -8, 7),
    *[literal(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default, floats(3, 4) * 4, torch.tensor(0.1), torch.tensor(3, dtype=torch.int32),
              torch.tensor([on]), 0, 63) for on in (0, 1)],
]  # fmt: skip
