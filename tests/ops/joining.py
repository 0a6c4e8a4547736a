import torch
from harness import bools, case, floats, ints

a, b, cube, scalar = floats(2, 3), floats(2, 3), floats(5, 4, 6), torch.tensor(2.0)
ANY = [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32, torch.int64, torch.bool]

CASES = [
    *(case(torch.cat, [a, floats(4, 3)], d) for d in (0, -2)),
    case(torch.cat, [a, floats(2, 5)], -1, dtypes=ANY),
    case(torch.cat, [a, ints(2, 3)]),
    case(torch.cat, [bools(3), ints(3, dtype=torch.int8)]),
    case(torch.cat, [floats(0), a], dynamic=False),
    case(torch.cat, [floats(0, 3), a]),
    case(torch.cat, [a]),
    case(torch.concat, [a, b, a], 1),
    *(case(torch.stack, [a, b], d) for d in (0, 1, 2, -1)),
    case(torch.stack, [scalar, scalar]),
    case(torch.stack, [a, ints(2, 3)], dynamic=False),
    *(case(f, [t, t]) for f in (torch.hstack, torch.vstack, torch.dstack, torch.column_stack) for t in (scalar, floats(3), a, floats(2, 3, 4))),
    case(torch.block_diag, scalar, floats(3), a),
    case(torch.block_diag, ints(2, 2), a),
    *(case(torch.split, cube, n, d, dynamic=False) for n, d in ((2, 0), (3, 1), (6, -1), (7, 2))),
    case(torch.split, cube, [1, 4], 0, dynamic={0: [1, 2]}),
    case(torch.split, cube, [1, 3, 2], -1, dynamic={0: [0, 1]}),
    *(case(torch.chunk, cube, n, d, dynamic=False) for n, d in ((2, 0), (3, 1), (4, -1), (9, 2))),
    *(case(f, floats(2, 0, 3), 3, 1) for f in (torch.chunk, torch.unsafe_chunk)),
    case(lambda t: t.chunk(2, -1)[0] * t.chunk(2, -1)[1], cube, name="chunk in halves", dynamic={0: [0, 1]}),
    *(case(torch.unsafe_chunk, cube, n, dynamic=False) for n in (2, 5)),
    *(case(torch.tensor_split, cube, n, d, dynamic=False) for n, d in ((2, 0), (4, 2), (3, -2), (7, 0))),
    *(case(torch.tensor_split, cube, i, d, dynamic=False) for i, d in (((1, 3), 0), ((-2,), 1), ((4, 2), 2), ((9, 12), -1), ((0,), 0))),
    case(torch.tensor_split, cube, torch.tensor([1, 3]), dynamic=False, again=False),
    case(torch.unbind, a, dynamic={0: [1]}),
    case(torch.unbind, cube, -1, dynamic={0: [0, 1]}),
    case(torch.unbind, floats(1, 3)),
    case(torch.hsplit, cube, 2, dynamic=False),
    case(torch.hsplit, floats(6), [1, 4], dynamic=False),
    case(torch.vsplit, cube, [2], dynamic=False),
    case(torch.dsplit, cube, 3, dynamic=False),
    *(case(torch.meshgrid, floats(2), floats(3), floats(4), indexing=i) for i in ("ij", "xy")),
    case(torch.meshgrid, floats(3), scalar, indexing="xy"),
    *(case(torch.meshgrid, one, indexing="xy") for one in (scalar, floats(3))),
    case(torch.cartesian_prod, floats(2), floats(3)),
    case(torch.cartesian_prod, floats(3)),
    *(case(torch.combinations, floats(4), r, dynamic=False) for r in (0, 1)),
    # The size is a sum of more terms than are kept: it is counted.
    case(lambda x: torch.cat([x[x > i / 9] for i in range(70)]).unsqueeze(0).expand(2, -1).reshape(-1), floats(7), name="cat of many parts of open sizes"),
    case(torch.ops.aten._chunk_cat.default, [floats(5, 2), floats(3, 4)], 0, 3, dynamic={0: [0]}),
    case(torch.ops.aten._chunk_cat.default, [ints(2, 3, 3), ints(2, 3, 2)], 1, 2, dynamic=False),
]
