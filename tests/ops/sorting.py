import torch
from harness import bools, case, floats, ints

x, cube, scalar = floats(4, 5), floats(3, 4, 5), torch.tensor(1.5)
ANY = [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64]
nans = torch.tensor([[1.0, float("inf"), float("nan"), -2.0], [float("nan"), 3.0, float("inf"), float("-inf")]])
edges = torch.tensor([-2.0, -1.0, 0.0, 1.5])
repeated = torch.tensor([[1, 1, 2], [2, 2, 1], [1, 1, 2]])


def fixed(fn, *args, **kwargs):
    return case(fn, *args, dynamic=False, **kwargs)


def topk_elements(x, k, dim):
    """Of equal elements any may be taken."""
    values, indices = torch.topk(x, k, dim)
    return values, x.gather(dim, indices)


CASES = [
    *(case(torch.sort, cube, d, descending=r) for d in (0, -1) for r in (False, True)),
    *(case(lambda t: torch.sort(t).values, x, dtypes=ANY, name="sorted values")),
    case(torch.sort, ints(4, 6, low=0, high=3), stable=True),
    case(torch.sort, ints(4, 6, low=0, high=3), stable=True, descending=True),
    case(lambda t: torch.sort(t).values, bools(2, 5), name="sorted bools"),
    case(torch.sort, torch.tensor([[2**60 + 1, 2**60, -(2**60)], [0, -1 - 2**60, 2**60 + 1]]), stable=True),
    case(torch.sort, scalar),
    case(torch.sort, floats(0, 3), 0),
    case(torch.argsort, x),
    case(torch.argsort, x, dim=0, descending=True, stable=True),
    case(torch.msort, x),
    *(fixed(torch.topk, cube, 2, d, largest) for d in (0, -1) for largest in (True, False)),
    case(topk_elements, x, 3, 1, dynamic={0: [0]}),
    fixed(lambda t: torch.topk(t, 2).values, x, dtypes=ANY, name="topk values"),
    fixed(torch.topk, scalar, 1),
    *(case(lambda t, largest=largest: torch.topk(t, t.shape[0], 1, largest), floats(3, 7, 2), second=(floats(4, 9, 3),), name=f"topk of as many as rows, {largest=}") for largest in (True, False)),
    case(lambda t: torch.topk(t, t.shape[0], 1), floats(3, 7, 2), dynamic={0: [0]}, second=(floats(4, 7, 2),), name="topk of as many as rows of a known axis"),
    case(lambda t: torch.topk(t, t.shape[0]), torch.arange(21).reshape(3, 7) % 10, second=(torch.arange(36).reshape(4, 9) % 11,), again=False, name="topk of as many integers as rows"),
    *(fixed(torch.kthvalue, x, 2, d, k) for d in (0, -1) for k in (False, True)),
    *(fixed(torch.unique, ints(3, 4, low=0, high=4), return_inverse=i, return_counts=c) for i in (False, True) for c in (False, True)),
    fixed(torch.unique, ints(8, low=0, high=3), return_inverse=True, dtypes=[torch.int8, torch.int32, torch.float32, torch.bool]),
    fixed(torch.unique, repeated, dim=0, return_inverse=True, return_counts=True),
    *(fixed(lambda x: torch.unique(x, dim=1), repeated.to(t), opsets=(7, 8), name=f"unique columns of {t}") for t in (torch.int64, torch.bool, torch.float32)),
    fixed(torch.unique, torch.zeros(0)),
    *(fixed(torch.unique, x, dim=d, return_inverse=True, return_counts=True) for x in (bools(7, 2), floats(3, 5), ints(2, 6, 2, low=0, high=2)) for d in (0, -1)),
    fixed(torch.unique, torch.tensor([2**62 + 1, 2**62, -5, 2**62 + 1, 2**62]), return_inverse=True),
    fixed(torch.unique_consecutive, torch.tensor([1, 1, 2, 2, 2, 1]), return_inverse=True, return_counts=True),
    fixed(torch.unique_consecutive, repeated, return_inverse=True),
    fixed(torch.unique_consecutive, repeated, dim=1, return_counts=True),
    fixed(torch.unique_consecutive, torch.zeros(0)),
    *(fixed(torch.ops.aten.unique_consecutive.default, torch.tensor([1, 1, 2, 2, 2, 1]), inverse, False, dim) for inverse in (False, True) for dim in (None, 0, -1)),
    case(torch._convert_indices_from_coo_to_csr, torch.tensor([0, 1, 1, 4]), 5, again=False),
    case(torch._convert_indices_from_coo_to_csr, torch.tensor([0, 2, 2], dtype=torch.int32), 3, out_int32=True, again=False),
    case(torch._convert_indices_from_coo_to_csr, torch.zeros(0, dtype=torch.int64), 2, again=False, dynamic=False),
    *(case(torch.searchsorted, edges, floats(2, 3), right=r, again=False) for r in (False, True)),
    case(torch.searchsorted, torch.sort(x).values, floats(4, 2), again=False, dynamic=False),
    case(torch.searchsorted, edges, edges, side="right", out_int32=True, again=False),
    case(torch.searchsorted, edges, 0.0, again=False),
    case(torch.searchsorted, edges, torch.tensor([float("nan"), float("inf")]), again=False),
    # by halves: many boundaries, or of an unknown number, or in an order that only halves explain
    case(torch.searchsorted, torch.sort(floats(2, 70)).values, floats(2, 5), right=True, again=False),
    case(torch.bucketize, torch.cat([floats(9), torch.tensor([float("nan"), float("inf")])]), torch.sort(floats(50)).values, again=False),
    case(torch.bucketize, ints(2, 3), torch.sort(ints(40)).values, right=True, out_int32=True, again=False),
    *(case(torch.searchsorted, floats(21), floats(6), sorter=torch.randperm(21, generator=torch.Generator().manual_seed(3)), right=r, dynamic=False) for r in (False, True)),
    case(torch.searchsorted, torch.tensor([3, 1, 2]), torch.tensor([2, 4]), sorter=torch.tensor([1, 2, 0]), again=False),
    *(case(torch.bucketize, floats(2, 3), edges, right=r, again=False) for r in (False, True)),
    case(torch.bucketize, floats(2, 0, 3), edges), case(torch.isin, ints(2, 0, 3), ints(4)),
    case(torch.bucketize, ints(4), torch.tensor([-2, 0, 3]), again=False),
    case(torch.isin, ints(3, 4), torch.tensor([1, 2])),
    case(torch.isin, ints(3, 4), torch.tensor([1, 2]), invert=True),
    case(torch.isin, floats(3), torch.zeros(0)),
    case(torch.isin, ints(4), 2),
    case(torch.isin, 2, ints(4)),
    fixed(torch.bincount, ints(9, low=0, high=5)),
    fixed(torch.bincount, ints(9, low=0, high=5), floats(9), 8),
    fixed(torch.bincount, torch.zeros(0, dtype=torch.int64), minlength=3),
    *(fixed(torch.histc, floats(20), 4, *r) for r in ((), (-1, 2), (0, 0))),
    fixed(torch.histc, torch.full((3,), 2.0), 2),
    *(fixed(lambda x, low, high: torch.histc(x, 4, low.item(), high.item()), floats(20), torch.tensor(low), torch.tensor(high), name=f"histc between run-time numbers {low} {high}") for low, high in ((-1.0, 2.0), (0.5, 0.5))),
    *(fixed(torch.histogram, floats(20), 5, density=d) for d in (False, True)),
    fixed(torch.histogram, floats(20), edges, again=False),
    fixed(torch.histogram, floats(6), 3, range=(-1.0, 2.0), weight=floats(6)),
    case(torch.trapezoid, x, floats(5)),
    case(torch.trapezoid, x, dx=0.5, dim=0),
    case(torch.trapezoid, ints(3, 4), dx=2),
    case(torch.trapezoid, torch.tensor([[200, 100, 90]], dtype=torch.uint8), floats(3), dynamic=False, again=False),
    *(case(torch.trapezoid, torch.zeros(0, 4, dtype=dtype), *steps, dim=0, dynamic=False, name=f"trapezoid of nothing {dtype} {len(steps)}")
      for dtype in (torch.int8, torch.float16, torch.float32) for steps in ((), (torch.zeros(0),))),
    case(torch.cumulative_trapezoid, x, floats(4, 5), dim=0),
    *[case(fn, torch.tensor([[200, 100, 90, 30], [7, 255, 128, 250]]).to(dtype), *steps, dim=-1, dynamic=False, again=False, name=f"{fn.__name__} of {dtype} {len(steps)}")
      for fn in (torch.trapezoid, torch.cumulative_trapezoid) for dtype in (torch.uint8, torch.int8, torch.int16) for steps in ((), (torch.tensor([3, 9, 100, 40]).to(dtype),))],
    case(torch.cumulative_trapezoid, x, dx=0.5),

    # NaN is above every number
    *(case(op, nans, again=False) for op in (torch.sort, torch.argsort, torch.msort)),
    *(case(torch.sort, nans, dim=0, descending=d, stable=True, dtypes=[torch.float16, torch.bfloat16, torch.float64]) for d in (False, True)),
    *(case(torch.topk, nans, 3, largest=largest, again=False) for largest in (False, True)),
    case(torch.kthvalue, nans, 4, again=False),
    case(lambda t: torch.topk(t.float(), 2)[0], ints(4, 5), name="topk of what was an integer"),
    *(case(lambda x, n=n: (torch.searchsorted(x, n), torch.bucketize(n, x, right=True)), torch.tensor([1, 5, 100]).to(dtype), again=False, name=f"place of {n} among {dtype}")
      for dtype in (torch.int64, torch.uint8) for n in (1.5, 0.5, 1e9, 300, -1)),
]
