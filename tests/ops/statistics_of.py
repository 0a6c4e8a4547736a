import torch
from harness import bools, case, floats, ints
from literal import literal

aten = torch.ops.aten

x, i, plane = floats(2, 3, 5), ints(2, 3, 5), floats(4, 5)
nans = torch.tensor([[1.0, float("nan"), -2.0, 4.0], [3.0, 0.5, -1.0, 0.0], [float("nan")] * 4])
ties = torch.tensor([[1.0, 3.0, 3.0, 2.0, 1.0], [2.0, 2.0, 1.0, 2.0, 0.0]])
q = torch.tensor([0.0, 0.3, 0.5, 1.0])
QUANTILES = {0: [0, 1, 2]}

CASES = [
    *(
        [
            case(op, x),
            case(op, i),
            case(op, nans),
            case(op, torch.tensor(2.0)),
            case(op, x, dim=1),
            case(op, x, dim=-1, keepdim=True),
            case(op, torch.randperm(30).reshape(5, 6), dim=0),
            case(op, nans[:2], dim=1),
            case(op, torch.tensor(2.0), dim=0),
            case(op, torch.zeros(3, 0), dynamic=False),
        ]
        for op in (torch.median, torch.nanmedian)
    ),
    case(lambda t: torch.mode(t, dim=1)[0], ties, name="mode values"),
    case(lambda t: torch.mode(t, dim=0, keepdim=True)[0], i, name="mode of integers"),
    case(torch.mode, torch.randperm(6).float()),
    *(
        [
            case(op, x, 0.3, dynamic=QUANTILES),
            case(op, x, q, dynamic=QUANTILES),
            case(op, x, q, dim=1, dynamic=QUANTILES),
            case(op, x, q, dim=-1, keepdim=True, dynamic=QUANTILES),
            case(op, x, 0.5, keepdim=True, dynamic=QUANTILES),
            case(op, nans, q, dim=1, dynamic={0: [0, 1]}),
            case(op, torch.tensor(2.0), 0.5),
            *(case(op, x, q, dim=1, interpolation=mode, dynamic=QUANTILES) for mode in ("lower", "higher", "nearest", "midpoint")),
        ]
        for op in (torch.quantile, torch.nanquantile)
    ),
    case(torch.diff, x),
    case(torch.diff, i, n=2, dim=1, dynamic=False),
    case(torch.diff, bools(2, 6)),
    case(torch.diff, x, dim=0, prepend=floats(1, 3, 5), append=floats(2, 3, 5)),
    case(torch.diff, i, n=0, prepend=i, append=i),
    *(literal(op, value) for op in (aten.cov.default, aten.corrcoef.default) for value in (plane, ints(3, 6), floats(5), floats(1, 4), plane.half())),
    *(literal(aten.cov.default, value, correction=n, fweights=ints(5, low=1, high=4), aweights=floats(5).abs().to(dtype))
      for value, n, dtype in ((plane, 0, torch.float32), (ints(3, 5), 1, torch.float64), (plane.half(), 1, torch.float32), (floats(1, 5), 1, torch.float32))),
    case(torch.gradient, plane),
    case(torch.gradient, plane, spacing=0.5, dim=1, edge_order=2),
    case(torch.gradient, plane, spacing=[0.5, 2.0]),
    case(torch.gradient, plane, spacing=[0.5, 2.0], dim=(1, 0)),
    case(torch.gradient, plane, spacing=2.0, dim=(0, 1)),
    case(torch.gradient, plane, dim=(0, 1), edge_order=2),
    case(torch.gradient, floats(5), spacing=(torch.tensor([0.0, 1.0, 1.5, 3.0, 4.0]),), edge_order=2, dynamic=False, again=False),
    case(torch.gradient, plane, spacing=(floats(plane.shape[0]).sort().values, floats(plane.shape[1]).sort().values), dim=(0, 1), dynamic=False, again=False),
    case(torch.gradient, ints(4, 5), spacing=[2.0], dim=0),
    # Differences of integers wrap; coordinates of another dtype decide the result's.
    *(case(torch.gradient, ints(4, 5, low=-120, high=121, dtype=dtype), **how) for dtype in (torch.int8, torch.int16)
      for how in ({}, {"edge_order": 2, "spacing": 3}, {"dim": 1, "spacing": [0.5]})),
    case(torch.gradient, ints(5, low=-120, high=121, dtype=torch.int8), spacing=(torch.tensor([0, 1, 3, 4, 7]),), dynamic=False, again=False),
    case(torch.gradient, floats(5).half(), spacing=(torch.tensor([0.0, 1.0, 1.5, 3.0, 4.0]),), dynamic=False, again=False),
    case(torch.gradient, plane, spacing=[2, 0.5], dim=(0, 1)),
]
