"""Operators of sparse tensors, which are dense in ONNX."""

import torch
from harness import floats, ints
from literal import literal

aten = torch.ops.aten


def dense(op, *args, sparse=(), kept="to_sparse", **kwargs):
    """An operator of which some arguments are sparse tensors of these elements, and the result as the dense one that it is."""

    def computed(*args, **kwargs):
        given = [getattr(arg, kept)() if at in sparse else arg for at, arg in enumerate(args)]
        result = op(*given, **kwargs)
        return result if result.layout == torch.strided else aten._to_dense.default(result)

    return literal(op, *args, computed=computed, **kwargs)


# One place is there twice.
PLACES, VALUES = torch.tensor([[0, 1, 1, 2, 2], [2, 0, 0, 3, 1]]), floats(5)
FEW = torch.tensor([[0.0, 1.5, 0.0, -2.0], [0.0, 0.0, 0.0, 0.0], [3.0, 0.0, 0.5, 0.0]])
SQUARE, OTHER = torch.cat([FEW, FEW[:1] * 2]), floats(4, 3)
BLOCKS = torch.arange(16.0).reshape(4, 4)
MAKES = (aten.sparse_coo_tensor.indices_size, aten._sparse_coo_tensor_unsafe.default)

CASES = [
    *[dense(op, PLACES, VALUES, [3, 4]) for op in MAKES],
    *[dense(op, PLACES, VALUES, [3, 4], dtype=torch.float64) for op in MAKES],
    *[dense(op, PLACES, values, [3, 4]) for op in MAKES for values in (ints(5), VALUES.half(), torch.complex(VALUES, VALUES))],
    *[dense(op, PLACES, floats(5, 2), [3, 4, 2]) for op in MAKES],
    *[dense(op, PLACES[:1], floats(5), [4]) for op in MAKES],
    *[dense(op, PLACES[:, :0], VALUES[:0], [3, 4]) for op in MAKES],
    dense(aten.sparse_coo_tensor.size, [2, 3]),
    dense(aten.sparse_coo_tensor.size, [2, 0], dtype=torch.int64),
    *[dense(op, FEW, sparse=(0,)) for op in (aten.coalesce.default, aten._to_dense.default, aten.to_dense.default)],
    dense(aten.to_dense.default, FEW),
    dense(aten.to_dense.default, FEW, torch.float64),
    *[dense(op, FEW) for op in (aten._to_sparse.default, aten.to_sparse.default, aten._to_sparse_csr.default, aten.to_sparse_csr.default)],
    *[dense(op, floats(2, 3, 4), dim) for op in (aten._to_sparse.sparse_dim, aten.to_sparse.sparse_dim) for dim in (1, 2, 3)],
    *[dense(op, BLOCKS, [2, 2]) for op in (aten._to_sparse_bsr.default, aten.to_sparse_bsr.default)],
    *[dense(op, SQUARE, OTHER, sparse=(0,)) for op in (aten._sparse_mm.default, aten.smm.default, aten.hspmm.default)],
    dense(aten._sparse_mm.default, SQUARE, SQUARE, sparse=(0, 1)),
    dense(aten._sparse_mm.default, torch.complex(SQUARE, SQUARE), torch.complex(OTHER, -OTHER), sparse=(0,)),
    dense(aten.coalesce.default, torch.complex(FEW, -FEW), sparse=(0,)),
    dense(aten._sparse_mm.reduce, SQUARE, OTHER, "sum", sparse=(0,), kept="to_sparse_csr"),
    *[dense(aten._sparse_addmm.default, OTHER, SQUARE, OTHER, sparse=(1,), **factors) for factors in ({}, {"beta": 0.5, "alpha": -2})],
    dense(aten.sspaddmm.default, SQUARE, SQUARE, SQUARE, sparse=(0, 1), beta=2),
    dense(aten._sparse_sum.default, FEW, sparse=(0,)),
    dense(aten._sparse_sum.dtype, FEW, dtype=torch.float64, sparse=(0,)),
    *[dense(aten._sparse_sum.dim, FEW, dim, sparse=(0,)) for dim in ([0], [1], [-1], [0, 1])],
    *[dense(aten._sparse_sum.dim, FEW.to(torch.int32), dim, sparse=(0,)) for dim in ([0], [0, 1])],
    dense(aten._sparse_sum.default, FEW.to(torch.int32), sparse=(0,)),
    dense(aten._sparse_sum.dim_dtype, FEW, [0], dtype=torch.float64, sparse=(0,)),
]
