"""Operators of which others are made below autograd, as programs that were recorded there hold them."""

import torch
from harness import bools, floats, ints, known
from literal import literal

aten = torch.ops.aten
A, B, MASK = floats(2, 3, 4), floats(3, 4), bools(2, 3, 4)
NANS = torch.tensor([1.0, float("nan"), -2.0])
LOG_PROBS, TARGETS = torch.log_softmax(floats(6, 2, 5), 2), ints(2, 3, low=1, high=5)
IMPOSSIBLE = torch.tensor([[1, 1, 1, 1], [1, 2, 3, 4]])  # needs seven steps
IMAGE, WEIGHT, BIAS = floats(2, 3, 8, 8), floats(4, 3, 3, 3), floats(4)
VOLUME, CUBES = floats(1, 3, 4, 5, 6), floats(2, 3, 2, 3, 2)
STATISTICS = floats(3), floats(3), floats(3), floats(3).abs()
OFFSETS = torch.tensor([0, 2, 2, 5, 7])  # of sequences in a row, one of which is empty
COMPLEX = torch.complex(floats(2, 3), floats(2, 3))


CASES = [
    *[literal(aten._add_relu.Tensor, *both, **how) for both, how in (((A, B), {}), ((A, A), {"alpha": -2}), ((ints(3), ints(3)), {"alpha": 2}))],
    *[literal(aten._add_relu.Scalar, A, *rest) for rest in ((0.5,), (1, -0.5))],
    *[literal(aten._aminmax.default, x) for x in (A, ints(2, 3), MASK, NANS)],
    *[literal(aten._aminmax.dim, A, *rest) for rest in ((1,), (-1, True))],
    *[literal(aten._logcumsumexp.default, 9 * A, dim) for dim in (0, -1)],
    literal(aten.log_sigmoid_forward.default, 30 * A),
    *[literal(op, x, *rest, **how)
      for op in known("torch.ops.aten.linalg__powsum.default")
      for x in (A, torch.tensor(-2.0))
      for rest, how in (((), {}), ((3,), {}), ((0.5, [-1], True), {}), ((1, [0]), {"dtype": torch.float64}), ((0,), {}))
      if x.dim() or len(rest) < 2],
    *[literal(aten._ctc_loss.default, LOG_PROBS, TARGETS, [6, 6], [3, 3], *rest) for rest in ((), (0, True))],
    literal(aten._ctc_loss.Tensor, LOG_PROBS, TARGETS, torch.tensor([6, 6]), torch.tensor([3, 3]), 4),
    literal(aten._ctc_loss.Tensor, LOG_PROBS, IMPOSSIBLE, torch.tensor([6, 6]), torch.tensor([4, 4]), 0, True),
    literal(aten._batch_norm_no_update.default, IMAGE, *STATISTICS, 0.1, 1e-5),
    *[literal(op.default, COMPLEX) for op in (aten._conj_copy, aten._neg_view_copy)],
    literal(aten._neg_view.default, A),
    literal(aten._dim_arange.default, A, -2),
    literal(aten.hardtanh_backward.default, A, torch.cat([3 * A[:1], A[1:]]), -0.5, 0.5),
    literal(aten._transform_bias_rescale_qkv.default, floats(2, 3, 24), floats(24), 2),
    *[literal(aten._jagged_to_padded_dense_forward.default, values, [OFFSETS], [longest], *rest)
      for values in (floats(7, 4), floats(7)) for longest, rest in ((5, ()), (2, (0.5,)))],
    *[literal(aten._padded_dense_to_jagged_forward.default, dense, [OFFSETS], total)
      for dense in (floats(4, 3, 2), floats(4, 5)) for total in (7, None)],
    literal(aten._reshape_alias_copy.default, A, [6, 4], [4, 1]),
    *[literal(aten._grid_sampler_2d_cpu_fallback.default, IMAGE, floats(2, 4, 5, 2, low=-1.2, high=1.2), mode, 1, False) for mode in (0, 1)],
    *[literal(aten.thnn_conv2d.default, IMAGE, WEIGHT, [3, 3], *rest) for rest in ((), (BIAS, [2, 1], [0, 1]))],
    *[literal(aten.slow_conv3d.default, VOLUME, CUBES, [2, 3, 2], *rest) for rest in ((), (floats(2), [1, 2, 1], [0, 1, 1]))],
]  # fmt: skip
