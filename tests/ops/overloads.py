"""Overloads for which torch.export records another one, as programs of older releases and traces hold them."""

import torch
import torch.nn.functional as F
from harness import bools, floats, ints
from literal import literal

aten = torch.ops.aten
A, B, VECTOR, SQUARE = floats(2, 3, 4), floats(3, 4), floats(5), floats(3, 3)
COMPLEX = torch.complex(floats(2, 3), floats(2, 3))
LINE, PLANE, SPACE = floats(2, 3, 5), floats(2, 3, 5, 6), floats(1, 2, 4, 5, 6)
ROWS, COLUMNS = torch.tensor([0, 2, 1]), torch.tensor([3, 0, 1])
POINTS, EDGES = floats(12, 2), [torch.tensor([-2.0, -0.5, 0.5, 2.0]), torch.tensor([-2.0, 0.0, 2.0])]

CASES = [
    *[literal(getattr(aten, f"_cast_{name}").default, x)
      for name in ("Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short") for x in (9 * A.abs(), ints(2, 3, low=0), bools(3))],
    literal(aten._efficientzerotensor.default, [2, 3], dtype=torch.float64, computed=torch.zeros),
    *[literal(op.default, POINTS, [3, 2]) for op in (aten._histogramdd_bin_edges, aten._histogramdd_from_bin_cts)],
    literal(aten._histogramdd_from_bin_cts.default, POINTS, [3, 2], range=[-1.0, 1.0, -2.0, 2.0], weight=floats(12), density=True),
    *[literal(aten._histogramdd_from_bin_tensors.default, POINTS, EDGES, **how) for how in ({}, {"weight": floats(12), "density": True})],
    literal(aten.histogramdd.default, POINTS, [3, 2], [-1.0, 1.0, -2.0, 2.0]),
    literal(aten.histogramdd.int_bins, POINTS, 3, None, floats(12)),
    literal(aten.histogramdd.TensorList_bins, POINTS, EDGES, density=True),
    *[literal(op, B, indices, values, accumulate)
      for op in (aten._index_put_impl.default, aten._unsafe_index_put.default, aten._unsafe_index_put.hacked_twin, aten.index_put.hacked_twin)
      for indices, values in (([ROWS, COLUMNS], floats(3)), ([ROWS], floats(3, 4))) for accumulate in (False, True)],
    *[literal(op, B, indices)
      for op in (aten._unsafe_index.Tensor, aten._unsafe_index.Tensor_hacked_twin, aten.index.Tensor_hacked_twin)
      for indices in ([ROWS, COLUMNS], [ROWS[:2]])],
    literal(aten._unsafe_index.Tensor, A, [None, ROWS, COLUMNS]),
    literal(aten._unsafe_masked_index.default, B, torch.tensor([True, False, True]), [ROWS, COLUMNS], -1.5),
    literal(aten._unsafe_masked_index_put_accumulate.default, B, torch.tensor([True, False, True]), [ROWS, COLUMNS], floats(3)),
    literal(aten._pad_circular.default, PLANE, [1, 2, 0, 3]),
    *[literal(aten._pad_enum.default, PLANE, [1, 2, 2, 1], mode, *value) for mode, value in ((0, ()), (1, ()), (2, ()), (3, (0.5,)))],
    literal(aten.constant_pad_nd.default, A, [1, -1, 0, 2], 2.5),
    *[literal(op.default, x, pad[: 2 * (x.dim() - 2)])
      for pad in ([1, 2, 3, 1, 2, 1], [0, 1, -1, 2, 1, 0])
      for op, x in ((aten.reflection_pad1d, LINE), (aten.reflection_pad2d, PLANE), (aten.reflection_pad3d, SPACE),
                    (aten.replication_pad1d, LINE), (aten.replication_pad2d, PLANE), (aten.replication_pad3d, SPACE))],
    literal(aten._shape_as_tensor.default, A),
    literal(aten._stack.default, [B, B + 1], -1),
    literal(aten._unique.default, ints(7, high=3), True, True),
    literal(aten.unique_dim_consecutive.default, ints(6, 1, high=2).expand(6, 2), 0, True, True),
    *[literal(op.Sequence, [torch.tensor(2.0), VECTOR, B]) for op in (aten.atleast_1d, aten.atleast_3d)],
    *[literal(op.default, n, **how) for op in (aten.bartlett_window, aten.blackman_window, aten.hamming_window, aten.kaiser_window)
      for n, how in ((7, {}), (1, {}), (6, {"dtype": torch.float64}))],
    literal(aten.hamming_window.periodic_alpha, 6, False, 0.6),
    literal(aten.empty_permuted.default, [2, 3], [1, 0], check="shapes"),
    literal(aten.empty_strided.default, [2, 3], [1, 2], check="shapes"),
    literal(aten.new_empty_strided.default, A, [2, 3], [1, 2], dtype=torch.int64, check="shapes"),
    literal(aten.embedding_renorm.default, 4 * B, ROWS[:2], 1.5, 2.0),
    literal(aten.linspace.Scalar_Tensor, -1, torch.tensor(2.5), 5),
    *[literal(op, 1.5, 7.0, *step) for op, step in ((aten.range.default, ()), (aten.range.step, (1.5,)))],
    literal(aten.mkldnn_convolution.default, floats(2, 4, 5, 6), floats(6, 2, 3, 2), floats(6), [1, 0], [2, 1], [1, 2], 2),
    literal(aten.mkldnn_linear.default, A, floats(5, 4), floats(5), computed=F.linear),
    literal(aten.trapz.dx, A, dx=0.5, dim=1),
    literal(aten.trapz.x, B, floats(4).sort().values),
    literal(aten.native_channel_shuffle.default, floats(2, 6, 3, 3), 3),
    literal(aten.meshgrid.default, [VECTOR, floats(3)]),
    literal(aten.row_stack.default, [VECTOR, floats(2, 5)]),
    literal(aten.lift.default, A),
    literal(aten.lift_fresh.default, A),
    literal(aten.resolve_neg.default, A),
    literal(aten.to.other, ints(2, 3), floats(1)),
    literal(aten._batch_norm_with_update_functional.default, PLANE, floats(3), floats(3), floats(3), floats(3).abs(), 0.1, 1e-5),
    # Views, and copies of them.
    *[literal(op, x) for op in (aten.mH.a, aten.matrix_H.default, aten.matrix_H.a) for x in (SQUARE, COMPLEX)],
    *[literal(op, SQUARE) for op in (aten.mT.a, aten.numpy_T.a, aten.t_copy.default)],
    *[literal(op.default, A) for op in (aten.alias_copy, aten.detach_copy)],
    literal(aten.diagonal_copy.default, A, 1, 0, 2),
    literal(aten.expand_copy.default, B, [2, -1, 4]),
    literal(aten.moveaxis.int, A, 0, -1),
    literal(aten.narrow_copy.default, A, 1, 1, 2),
    literal(aten.permute_copy.default, A, [2, 0, -2]),
    *[literal(op.default, A, [4, -1]) for op in (aten._reshape_copy, aten.view_copy)],
    literal(aten.select_copy.int, A, -1, 2),
    literal(aten.slice_copy.Tensor, A, 1, None, -1, 2),
    literal(aten.squeeze_copy.default, A[:1, :, :1]),
    literal(aten.squeeze_copy.dim, A[:1, :, :1], -1),
    literal(aten.squeeze_copy.dims, A[:1, :, :1], [0, 1]),
    literal(aten.transpose_copy.int, A, 0, -1),
    literal(aten.unbind_copy.int, A, 1),
    literal(aten.unfold_copy.default, A, -1, 2, 2),
    literal(aten.unsqueeze_copy.default, A, -1),
    literal(aten.dsplit.array, A, [1, 3]),
    literal(aten.vsplit.int, A, 2),
    *[literal(op, A, [1, 2], 1) for op in (aten.split.default, aten.split.sizes, aten.split_with_sizes_copy.default, aten.unsafe_split_with_sizes.default)],
    *[literal(op, A, 2, -1) for op in (aten.split_copy.Tensor, aten.unsafe_split.Tensor)],
    literal(aten.narrow.Tensor, A, 1, torch.tensor(1), 2),
    *[literal(aten.tensor.float, x, **how) for x, how in ((1.5, {}), (2.0, {"dtype": torch.float16}))],
    literal(aten.tensor.bool, True),
    # Numbers.
    *[literal(aten.is_nonzero.default, torch.tensor(x)) for x in (0.0, -2, True)],
    *[literal(aten._local_scalar_dense.default, torch.tensor(x)) for x in (1.5, -2, True)],
    literal(aten.numel.default, A),
    *[literal(op, A, 1) for op in (aten.size.int, aten.sym_stride.int)],
]  # fmt: skip
