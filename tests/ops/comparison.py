import torch
from harness import bools, case, floats, ints, special

aten = torch.ops.aten
INTS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
a, b, row = floats(2, 3).round(), floats(2, 3).round(), floats(3).round()
i, j, p, q = ints(2, 3), ints(2, 3), bools(2, 3), bools(3)

CASES = [
    *(
        [
            case(op, a, b),
            case(op, a, row),
            case(op, i, a),
            case(op, a, 1),
            case(op, i, 0.5),
            case(op, i, 2),
            case(op, p, q),
            case(op, p, True),
            case(op, special(10), special(10, 1)),
            case(op, i, j, dtypes=INTS),
            case(op, a, b, dtypes=[torch.float64, torch.float16, torch.bfloat16]),
            case(op, torch.tensor(1.0), torch.tensor(1)),
            case(op, floats(0, 3), row),
        ]
        for op in (torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)
    ),
    *(
        [case(op, a, b), case(op, i, 1)]
        for op in (torch.not_equal, torch.less, torch.less_equal, torch.greater, torch.greater_equal)
    ),
    *(
        [case(op, p, q), case(op, a, b), case(op, i, p), case(op, special(10), floats(10))]
        for op in (torch.logical_and, torch.logical_or, torch.logical_xor)
    ),
    case(torch.logical_not, p),
    case(torch.logical_not, a),
    case(torch.logical_not, i),
    *(
        [
            case(op, p, q),
            case(op, p, True),
            case(op, i, j, dtypes=INTS),
            case(op, i, 6),
            case(op, i, p),
            case(op, 6, i),
        ]
        for op in (torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor)
    ),
    case(torch.bitwise_not, p),
    case(torch.bitwise_not, i, dtypes=INTS),
    *(
        [case(getattr(aten, name).Tensor, p, q), case(getattr(aten, name).Scalar, i, 3)]
        for name in ("__and__", "__or__", "__xor__")
    ),
    *(
        [
            case(op, i, ints(3, low=0, high=5)),
            case(op, i, 2),
            case(op, 37, ints(3, low=0, high=5)),
            case(op, ints(4, low=0, high=30, dtype=torch.uint8), ints(4, low=0, high=3, dtype=torch.uint8)),
            case(op, i, 1, dtypes=[torch.int8, torch.int32]),
            case(op, bools(3), ints(2, 3, low=0, high=5)), case(op, ints(3), bools(3)), case(op, bools(3), 2),
            case(op, i, -1), case(op, i, 64),  # all bits go
            case(op, torch.tensor([5, -5, -5, 7, -7]), torch.tensor([-3, -1, 63, 64, 62])),
        ]
        for op in (torch.bitwise_left_shift, torch.bitwise_right_shift)
    ),
    *(
        [case(getattr(aten, name).Tensor, i, ints(3, low=0, high=4)), case(getattr(aten, name).Scalar, i, 3)]
        for name in ("__lshift__", "__rshift__")
    ),
    case(torch.where, p, a, b),
    case(torch.where, q, a, row),
    case(torch.where, p, a, 1),
    case(torch.where, p, 1.5, i),
    case(torch.where, p, 1, 2),
    case(torch.where, p, 1.5, 2),
    case(torch.where, p, i, a),
    case(torch.where, torch.tensor(True), a, torch.tensor(1.0, dtype=torch.float64), again=False),
    case(torch.where, p, a, b, dtypes=[torch.float16]),
    case(torch.masked_fill, a, p, 1),
    case(torch.masked_fill, a, q, float("-inf")),
    case(torch.masked_fill, i, p, 2.7),
    case(torch.masked_fill, floats(3), p, torch.tensor(2)),
    case(torch.masked_fill, a, p, torch.tensor(2.5, dtype=torch.float64)),
    case(torch.isclose, a, a + 1e-6),
    case(torch.isclose, special(10), special(10, 1), equal_nan=True),
    case(torch.isclose, special(10), special(10, 1)),
    case(torch.isclose, i, j, rtol=0.5),
    case(torch.isclose, i, j, rtol=0, atol=0),
    *(case(lambda x, n=n: (x << n, x >> n), torch.tensor([-100, -1, 0, 7, 100]).to(dtype), name=f"shifts of {dtype} by {n}") for dtype in (torch.int8, torch.int32) for n in (256, 2**32 + 1, 200)),
]
