import torch
from harness import LONG, bools, case, floats, ints

aten = torch.ops.aten
WIDE = [torch.float64, torch.float16, torch.bfloat16]
x, i, p = floats(2, 3, 4), ints(2, 3, 4), bools(2, 3, 4)
near_one = floats(2, 3, 4, low=0.8, high=1.2)  # of which products of many stay in float16's range
nans = torch.tensor([[1.0, float("nan"), -2.0], [3.0, 0.5, -1.0], [float("inf"), 1.0, float("-inf")]])
ended = torch.tensor([[1.0, float("inf"), float("nan")], [float("nan"), 0.5, float("inf")], [2.0, float("-inf"), 1.0]])
ties = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 1.0]])
WIDE_INTS = torch.tensor([[[2**53 + 1, -(2**53) - 1, 3], [2**63 - 3, 2 - 2**63, 2**53 + 3]]])  # whose sums float64 does not hold


def dims(op, inputs, several=True, **options):
    yield case(op, inputs, dim=1, **options)
    yield case(op, inputs, dim=-1, keepdim=True, **options)
    if several:
        yield case(op, inputs, dim=(0, -1), **options)
        yield case(op, inputs, dim=(2, 0), keepdim=True, **options)


CASES = [
    *(
        [
            case(op, x),
            case(op, torch.tensor(2.5)),
            case(op, nans),
            case(op, x, dtype=torch.float64),
            case(op, near_one if op is torch.prod else x, dtypes=WIDE),
        ]
        for op in (torch.sum, torch.mean, torch.prod)
    ),
    *(
        [case(op, i), case(op, p), case(op, i, dtypes=[torch.int8, torch.int32]), case(op, i, dtype=torch.float32), case(op, floats(0, 3)), case(op, p, dim=1), case(op, floats(0, 3), dim=0)]
        for op in (torch.sum, torch.prod)
    ),
    dims(torch.sum, x),
    dims(torch.sum, WIDE_INTS, since=9),
    *(case(op, WIDE_INTS, since=9) for op in (torch.sum, torch.nansum)),
    *(case(torch.sum, torch.zeros(sizes, dtype=torch.int64), dim=d, dynamic=False) for sizes in ((0,), (0, 3), (3, 0)) for d in (0, -1)),
    case(torch.trace, WIDE_INTS[0], since=9),
    dims(torch.mean, x),
    dims(torch.prod, x, several=False),
    *[case(lambda x: (x.prod(), x.prod(1), x.prod(0, keepdim=True)), wide, second=(wide.repeat(3, 2),), again=False, name=f"products beyond 2^53, {wide.shape[1]} a row")
      for wide in (torch.tensor([[3**20, 7**8, -1], [5, 2**33 + 1, 3], [1, 3 - 2**31, 2**40]]), torch.arange(-40, 37).reshape(7, 11) * 2 + 1)],
    case(torch.sum, x, dim=()),
    case(torch.sum, torch.tensor(2.0), dim=0),
    case(torch.sum, torch.tensor(2.0), dim=-1, keepdim=True),
    case(torch.mean, i, dim=1, dtype=torch.float32),
    case(torch.mean, floats(2, 0), dim=1),
    case(torch.nansum, nans, dim=1),
    case(torch.nansum, i),
    case(torch.nanmean, nans, dim=1, keepdim=True),
    case(torch.nanmean, x),
    # extrema
    *(
        [
            case(op, x),
            case(op, i),
            case(op, torch.tensor(3.0)),
            case(op, ties, dim=1),
            case(op, x, dim=-2, keepdim=True),
            case(op, i, dim=0),
            case(op, torch.tensor(3.0), dim=0),
            case(op, i, dtypes=[torch.int8, torch.uint8, torch.int32, torch.int16]),
            case(op, x, dim=1, dtypes=WIDE),
        ]
        for op in (torch.max, torch.min, torch.argmax, torch.argmin)
    ),
    case(torch.max, p),
    case(torch.min, p, dim=1),
    case(torch.argmax, x, keepdim=True),
    dims(torch.amax, x),
    dims(torch.amin, x),
    *(case(op, nans, again=False) for op in (torch.max, torch.min, torch.amax, torch.amin, torch.aminmax)),
    *(case(op, nans, dim=1, again=False) for op in (torch.argmax, torch.argmin)),
    case(torch.amax, p, dim=1),
    case(torch.amax, torch.tensor(1.0)),
    # onnxruntime's own kernels compare integers of one upper half by the lower one, with a sign.
    *(
        case(lambda x, op=op: [*op(x), *op(x, dim=1), *op(x, dim=0, keepdim=True)], LONG, name=f"{name} of more than 32 bits")
        for name, op in {"max": lambda x, **at: x.max(**at) if at else [x.max()], "aminmax": torch.aminmax, "mode": lambda x, **at: x.mode(**at)}.items()
    ),
    case(lambda x: (x.amax((0, 1)), x.amin((0, 2), keepdim=True), x.amax(()), x.amin((0, 1, 2), keepdim=True)), LONG[None], name="amax over several axes of more than 32 bits"),
    case(torch.aminmax, x),
    case(torch.aminmax, i, dim=1, keepdim=True),
    # bools
    *(
        [
            case(op, p),
            case(op, x.round()),
            case(op, i, dim=1),
            case(op, p, dim=(0, 2), keepdim=True),
            case(op, p, dim=-1),
            case(op, p, dim=()),
            case(op, floats(0, 3)),
            case(op, floats(0, 3), dim=0),
            case(op, torch.tensor(True)),
            case(op, ints(2, 3, low=0, high=2, dtype=torch.uint8), dim=1),
        ]
        for op in (torch.any, torch.all)
    ),
    case(aten._is_all_true.default, p),
    case(aten._is_any_true.default, p),
    case(torch.count_nonzero, i),
    case(torch.count_nonzero, i, dim=1),
    case(torch.count_nonzero, x.round(), dim=(0, 1)),
    # variances
    *(
        [
            case(op, x),
            case(op, x, unbiased=False),
            case(op, x, dim=1, unbiased=False),
            case(op, x, dim=(0, 2), keepdim=True),
            case(op, x, dim=-1, correction=0),
            case(op, x, dim=1, correction=0.5),
            case(op, x, dim=1, correction=5, dynamic=False),
            case(op, floats(3, 1), dim=1),
            case(op, floats(2, 0), dim=1),
            case(op, torch.tensor(2.0)),
            case(op, x, correction=2),
            case(op, torch.tensor([[1.0, float("nan"), -2.0], [3.0, 0.5, -1.0]]), dim=1),
            case(op, x, dim=1, dtypes=[torch.float64, torch.float16]),
            case(op, x + 1000, dim=1),
        ]
        for op in (torch.var, torch.std, torch.var_mean, torch.std_mean)
    ),
    # norms
    *(
        [
            case(torch.linalg.vector_norm, x, ord),
            case(torch.linalg.vector_norm, x, ord, dim=1),
            case(torch.linalg.vector_norm, x, ord, dim=(0, 2), keepdim=True),
            case(torch.linalg.vector_norm, torch.tensor(-2.0), ord),
            case(torch.linalg.vector_norm, x, ord, dtypes=WIDE, tolerance=(3e-2, 2e-2)),
        ]
        for ord in (2, 1, 0, 3, 0.5, float("inf"), float("-inf"), -2)
    ),
    case(torch.linalg.vector_norm, x, dim=1, dtype=torch.float64),
    case(torch.norm, x),
    case(torch.norm, x, p=1, dim=1),
    case(aten.norm.Scalar, x, 3),
    case(aten.norm.ScalarOpt_dim, x, None, [1], True),
    case(aten.norm.ScalarOpt_dim_dtype, x, 2, [1], False, dtype=torch.float64),
    case(aten.norm.ScalarOpt_dtype, x, 2, dtype=torch.float64),
    case(torch.dist, x, floats(4), 2),
    case(torch.dist, x, floats(4), 3),
    dims(torch.logsumexp, x),
    case(torch.logsumexp, torch.tensor([[1000.0, 1000.0], [float("-inf"), float("-inf")], [float("inf"), 1.0]]), dim=1),
    case(torch.logsumexp, ints(2, 3), dim=1),
    case(torch.special.logsumexp, x, 1),
    case(torch.trace, floats(3, 4)),
    case(torch.trace, ints(4, 3)),
    case(torch.trace, nans),

    *(case(op, ended, again=False) for op in (torch.max, torch.min, torch.amax, torch.amin, torch.argmax, torch.argmin)),
    *(
        case(op, ended, dim=d, keepdim=k, again=False)
        for op in (torch.max, torch.min, torch.amax, torch.amin, torch.argmax, torch.argmin)
        for d, k in ((0, False), (1, True))
    ),
    case(torch.amax, ended, dim=(0, 1), again=False, dtypes=WIDE),
    *(case(torch.linalg.vector_norm, ended, ord=o, dim=1, again=False) for o in (float("inf"), float("-inf"))),
    case(lambda t: t[t > 0].mean(), torch.tensor([-1.0, 2.0, 3.0]), name="mean of a selection", second=(torch.tensor([-1.0, -2.0, -3.0, -4.0]),)),
    case(lambda t: (t > 2).float().amax(), x, name="amax of what was a bool"),
    case(lambda t: t.sum_to_size(3, 1), x, name="sum_to_size", dynamic={0: [0, 2]}),
    case(lambda t: t.sum_to_size(()), x, name="sum_to_size of all"),
    case(lambda t: t.sum_to_size(()), x[0, 0, 0], dtypes=[torch.int32, torch.bool], name="sum_to_size of a number"),
    case(lambda t: t.sum_to_size(3, t.shape[2]), x, name="sum_to_size that keeps a size", dynamic={0: [0, 2]}),
    *(
        case(
            lambda t, n, how=how, start=start: torch.segment_reduce(t, how, lengths=n, initial=start, unsafe=True),
            nans if how in ("max", "min") else floats(3, 4),
            torch.tensor([1, 0, 2]),
            name=f"segment_reduce {how} from {start}",
            dynamic={0: [1]},
            again=False,
        )
        for how in ("sum", "mean", "max", "min", "prod")
        for start in (None, 2.0)
    ),
    case(lambda t, n: torch.segment_reduce(t, "sum", lengths=n, axis=1, unsafe=True), floats(2, 5, 3), torch.tensor([[1, 4], [3, 2]]), name="segment_reduce of axis 1", dynamic=False, again=False),
    case(lambda t, n: torch.segment_reduce(t, "mean", offsets=n, unsafe=True), floats(5, 3), torch.tensor([0, 2, 5]), name="segment_reduce by offsets", dynamic=False, again=False),
    *(case(torch.sum, torch.tensor([[1, 2**31 - 1, 2**31 - 1], [-(2**31), -(2**31), -3]]).to(dtype), 1, dtype=torch.int32, name=f"sums of {dtype} that pass 32 bits")
      for dtype in (torch.int32, torch.int64)),
    *(case(torch.prod, torch.tensor([[2, 2**31 - 1, 3], [-5, 7, 11]], dtype=torch.int32), *dim, dtype=torch.int32, name=f"products that pass 32 bits {dim}") for dim in ((), (1,))),
]
