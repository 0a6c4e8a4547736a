"""Operators that torch.export never leaves in a program; traces, and graphs made by hand, have them."""

import torch
import torch.nn.functional as F
from flambeau.capture.operators import run_time_factors
from harness import bools, floats, ints
from literal import literal

aten = torch.ops.aten

A = floats(2, 3)
PADDED, LENGTHS = floats(3, 5, 4), torch.tensor([5, 3, 1])
PACKED, BATCH_SIZES = aten._pack_padded_sequence(PADDED, LENGTHS, True)


def cell(gates: int, features: int, hidden: int, biases: bool = True) -> list[torch.Tensor]:
    weights = [floats(gates * hidden, features), floats(gates * hidden, hidden)]
    return weights + ([floats(gates * hidden), floats(gates * hidden)] if biases else [])


TWO_LAYERS = {gates: [*cell(gates, 4, 3), *cell(gates, 3, 3)] for gates in (1, 3, 4)}
BOTH_WAYS = {gates: [*cell(gates, 4, 3, False), *cell(gates, 4, 3, False)] for gates in (1, 3, 4)}
LOG_PROBS, TARGETS = torch.log_softmax(floats(6, 2, 5), 2), ints(2, 3, low=1, high=5)
LATER = torch.ones(5, 5, dtype=torch.bool).triu(1)
ATTENTION = (8, 2, floats(24, 8), floats(24), floats(8, 8), floats(8))
ENCODER = (*ATTENTION, True, False, 1e-5, *(floats(8) for _ in range(4)), floats(12, 8), floats(12), floats(8, 12), floats(8))
TALL, RIGHT = floats(5, 3), floats(5, 2)
MKLDNN = (cell(4, 4, 3), floats(1, 2, 3), floats(1, 2, 3))

# What a script that interpolates by numbers of a tensor becomes.
scripts = torch.library.Library("flambeau", "FRAGMENT")
run_time_factors.library()
scripts.define("resize_by_factors(Tensor input, Tensor scale_factors, str mode, bool align_corners) -> Tensor")


@torch.library.impl(scripts, "resize_by_factors", "CompositeExplicitAutograd")
def resize_by_factors(input, scale_factors, mode, align_corners):
    aligned = None if mode.startswith("nearest") else align_corners
    return F.interpolate(input, scale_factor=scale_factors.tolist(), mode=mode.replace("_", "-"), align_corners=aligned)


CASES = [
    *[literal(torch.ops.flambeau.interpolate_by_factors.default, floats(1, 2, 4, 6), [8, 9], torch.tensor([2.0, 1.5]), mode, False)
      for mode in ("nearest", "nearest_exact", "bilinear", "bicubic")],
    *[literal(torch.ops.flambeau.resize_by_factors.default, floats(1, 2, 4, 6), torch.tensor([2.0, 1.5]), mode, aligned)
      for mode, aligned in (("nearest", False), ("nearest_exact", False), ("bilinear", False), ("bilinear", True), ("bicubic", False))],
    *[literal(torch.ops.flambeau.resize_by_factors.default, floats(1, 2, *sizes), torch.tensor([0.5] * len(sizes)), mode, False)
      for mode, sizes in (("linear", (6,)), ("trilinear", (4, 2, 6)))],
    *[literal(aten.equal.default, A, other) for other in (A.clone(), A + 1, A[0], A.double())],
    literal(aten._reshape_from_tensor.default, A, torch.tensor([3, 2])),
    # One integer is left to draw.
    *[literal(getattr(aten.random, "from"), x, low, high)
      for x, low, high in ((A, -4, -3), (A.long(), 2**30, 2**30 + 1), (A.to(torch.uint8), 255, None), (A.to(torch.int8), 127, None))],
    literal(aten._reshape_from_tensor.default, A, torch.tensor([-1])),
    literal(aten._pack_padded_sequence.default, PADDED, LENGTHS, True),
    literal(aten._pack_padded_sequence.default, PADDED.transpose(0, 1), LENGTHS, False),
    literal(aten._pad_packed_sequence.default, PACKED, BATCH_SIZES, True, 0.5, 0),
    literal(aten._pad_packed_sequence.default, PACKED, BATCH_SIZES, False, -1.0, 7),
    literal(aten.pad_sequence.default, [floats(2, 3), floats(4, 3), floats(1, 3)]),
    literal(aten.pad_sequence.default, [floats(2), floats(4)], True, 2.5, "left"),
    # There are no nested tensors: a mask never makes one. This one does not in PyTorch either.
    literal(aten._nested_tensor_from_mask_left_aligned.default, floats(2, 4, 3), torch.tensor([[True, False, True, False], [True] * 4])),
    *[literal(aten._masked_softmax.default, floats(2, 2, 5, 5), *rest) for rest in ((LATER, 3, 0), (bools(2, 2, 5, 5), -1, 2))],
    literal(aten._masked_softmax.default, floats(2, 2, 5, 5), torch.tensor([[False] * 5, [False, False, True, True, True]]), 3, 1),
    *[literal(aten._native_multi_head_attention.default, x, x, x, *ATTENTION, mask, weights, average, kind)
      for x in (floats(2, 5, 8),) for mask, kind in ((None, None), (LATER, 0)) for weights, average in ((True, True), (True, False), (False, True))],
    *[literal(aten._transformer_encoder_layer_fwd.default, floats(2, 5, 8), *ENCODER, mask, kind) for mask, kind in ((None, None), (LATER, 0))],
    *[literal(op, PACKED, BATCH_SIZES, *[floats(2, 3, 3)] , TWO_LAYERS[gates], True, 2, 0.0, False, False)
      for op, gates in ((aten.gru.data, 3), (aten.rnn_tanh.data, 1), (aten.rnn_relu.data, 1))],
    *[literal(op, PACKED, BATCH_SIZES, floats(2, 3, 3), BOTH_WAYS[gates], False, 1, 0.0, False, True)
      for op, gates in ((aten.gru.data, 3), (aten.rnn_tanh.data, 1), (aten.rnn_relu.data, 1))],
    literal(aten.lstm.data, PACKED, BATCH_SIZES, [floats(2, 3, 3), floats(2, 3, 3)], TWO_LAYERS[4], True, 2, 0.0, False, False),
    literal(aten.lstm.data, PACKED, BATCH_SIZES, [floats(2, 3, 3), floats(2, 3, 3)], BOTH_WAYS[4], False, 1, 0.0, False, True),
    literal(aten.mkldnn_rnn_layer.default, floats(5, 2, 4), *MKLDNN[0], *MKLDNN[1:], False, [], 2, 3, 1, True, False, False, False),
    *[literal(aten.ctc_loss.IntList, LOG_PROBS, TARGETS, [6, 5], [3, 2], 0, reduction) for reduction in (0, 1, 2)],
    *[literal(aten.ctc_loss.Tensor, LOG_PROBS, TARGETS, torch.tensor([6, 5]), torch.tensor([3, 2]), 0, reduction, True) for reduction in (0, 1, 2)],
    literal(aten.linalg_lstsq.default, TALL, RIGHT),
    literal(aten.linalg_lstsq.default, TALL.mT.contiguous(), floats(3, 2)),
    literal(aten.binomial.default, torch.full((3, 4), 6.0), torch.tensor([0.0, 1.0, 1.0, 0.0])),
]
