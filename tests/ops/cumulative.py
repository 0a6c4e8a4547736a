import torch
from harness import bools, case, floats, ints

x, i, p = floats(2, 3, 4), ints(2, 3, 4), bools(2, 3)
nans = torch.tensor([[1.0, float("nan"), -2.0], [3.0, 0.5, -1.0], [float("inf"), 1.0, float("-inf")]])
ties = torch.tensor([[1.0, 3.0, 3.0, 2.0], [2.0, 2.0, 1.0, 2.0]])

CASES = [
    *(
        [
            case(op, x, dim=1),
            case(op, x, dim=-1),
            case(op, i, dim=0),
            case(op, p, dim=1),
            case(op, x, dim=0, dtype=torch.float64),
            case(op, i, dim=0, dtypes=[torch.int8, torch.int32]),
            case(op, torch.tensor(2.0), dim=0),
            case(op, nans, dim=1),
            case(op, x, dim=1, dtypes=[torch.float64, torch.float16]),
        ]
        for op in (torch.cumsum, torch.cumprod)
    ),
    *(
        [
            case(op, x, dim=1),
            case(op, i, dim=-1),
            case(op, p, dim=1),
            case(op, nans, dim=1),
            case(op, ties, dim=1),
            case(op, torch.tensor(2.0), dim=0),
            case(op, i, dim=0, dtypes=[torch.int8, torch.uint8]),
            case(op, x, dim=0, dtypes=[torch.float64, torch.float16]),
            case(op, x, dim=0, dtypes=[torch.bfloat16], opsets=[13, 16], name=f"{op.__name__} of what loops take at a later opset"),
        ]
        for op in (torch.cummax, torch.cummin)
    ),
    case(torch.logcumsumexp, x, dim=1),
    # many steps in float32, each rounded, would show
    *(case(op, 1 + floats(5000, low=0.0, high=1e-3), dim=0, tolerance=(4e-7, 0), name=f"{op.__name__} of many") for op in (torch.cumsum, torch.cumprod, torch.logcumsumexp)),
    *(case(op, 1 + floats(300, low=-1e-2, high=1e-2), dim=0, dtypes=[torch.float16, torch.bfloat16], again=False, name=f"{op.__name__} of many halves") for op in (torch.cumprod, torch.logcumsumexp)),
    case(torch.cumulative_trapezoid, 1 + floats(5000, low=0.0, high=1e-3), tolerance=(4e-7, 0), name="cumulative_trapezoid of many"),
    case(torch.logcumsumexp, torch.tensor(1.0), dim=0),
    case(torch.logcumsumexp, torch.tensor([[1000.0, 1000.0, float("-inf")], [float("-inf"), float("-inf"), float("inf")]]), dim=1),

    *(case(op, floats(0, 3), 0, dynamic=False) for op in (torch.cumprod, torch.cummax, torch.cummin, torch.logcumsumexp)),
    *(case(op, floats(0, 3), 1, dynamic=False) for op in (torch.cumprod, torch.cummax, torch.cummin, torch.logcumsumexp)),
    *(case(lambda x, op=op, d=d: op(x[x[:, 0] > 9], d), floats(4, 3), name=f"{op.__name__} along {d} of what may be nothing") for op in (torch.cumprod, torch.logcumsumexp) for d in (0, 1)),
    *(case(lambda x, d=d: (x[:, 1:1].cumsum(d), x[x[:, 0, 0] > 9].cumsum(d)), floats(4, 3, 2), opsets=(7, 9), name=f"cumsum along {d} of nothing") for d in (0, 1, 2)),
    *(case(op, nans, 0, again=False) for op in (torch.cummax, torch.cummin)),
]
