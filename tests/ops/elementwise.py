import torch
from harness import bools, case, floats, ints, special

aten = torch.ops.aten
WIDE = [torch.float64, torch.float16, torch.bfloat16]
x, unit, positive = floats(2, 3, 4), floats(2, 3, 4, low=-0.95, high=0.95), floats(2, 3, 4, low=0.1)
i = ints(2, 3)
FLOAT_ONLY = [torch.float16, torch.bfloat16]  # kernels of onnxruntime that lack float64


def of(op, inputs, dtypes=(), integers=None, specials=True):
    """A function of floats, which integers are turned into first."""
    yield case(op, inputs)
    yield case(op, inputs, dtypes=dtypes)
    yield case(op, torch.tensor(0.5))
    yield case(op, floats(0, 3))
    if specials:
        yield case(op, special(10))
    if integers is not None:
        yield case(op, integers)
        yield case(op, bools(4))


CASES = [
    *(of(op, x, WIDE, i) for op in (torch.sigmoid, torch.tanh, torch.exp, torch.sin, torch.cos)),
    *(of(op, x, FLOAT_ONLY, i) for op in (torch.erf, torch.erfc, torch.tan, torch.atan, torch.sinh, torch.cosh, torch.asinh)),
    *(of(op, unit, FLOAT_ONLY, ints(4, low=0, high=2)) for op in (torch.asin, torch.acos, torch.atanh)),
    of(torch.acosh, positive + 1, FLOAT_ONLY, ints(4, low=1)),
    # of float64 with float64's digits
    *([case(op, t, dtypes=[torch.float64], tolerance=(1e-12, 0)), case(op, special(10), dtypes=[torch.float64], tolerance=(1e-12, 0))]
      for op, t in ((torch.asin, unit), (torch.acos, unit), (torch.atanh, unit), (torch.atan, x * 9), (torch.asinh, x * 9), (torch.acosh, positive + 1), (torch.sinh, x), (torch.cosh, x))),
    *(case(op, torch.tensor([1e-9, -1e-5, 0.0], dtype=torch.float64), tolerance=(1e-12, 0), again=False) for op in (torch.asin, torch.atan, torch.asinh, torch.atanh, torch.sinh)),
    case(torch.tan, x, dtypes=[torch.float64]),
    *(of(op, positive, WIDE, ints(4, low=1)) for op in (torch.sqrt, torch.rsqrt, torch.log, torch.log2, torch.log10, torch.log1p)),
    *(case(lambda x, log=log: torch.floor(log(x)), base ** torch.arange(-20, 21, dtype=torch.float64).to(dtype), name=f"floor of {log.__name__} {dtype}", again=False)
      for log, base in ((torch.log2, 2), (torch.log10, 10)) for dtype in (torch.float32, torch.float64)),
    *(of(op, x, WIDE, i) for op in (torch.expm1, torch.exp2, torch.sinc, torch.deg2rad, torch.rad2deg, torch.reciprocal)),
    *(case(op, torch.tensor([1e-6, -1e-6, 1e-4, 1e-9, 1e-20, -1e-30, 0.5, 40], dtype=dtype), name=f"{op.__name__} near 0 {dtype}", tolerance=(1e-6, 0), again=False)
      for op in (torch.expm1, torch.log1p) for dtype in (torch.float32, torch.float64)),
    *(case(op, torch.tensor([0, -20, -50, -85, 30], dtype=dtype), name=f"{name} of sigmoid {dtype}", again=False)
      for name, op in (("log", lambda x: x.sigmoid().log()), ("binary cross entropy", lambda x: torch.nn.functional.binary_cross_entropy(x.sigmoid(), torch.ones_like(x)))) for dtype in (torch.float32, torch.float64)),
    case(torch.erfc, torch.tensor([2.5, 3.5, 7.0, 9.0, -7.0, float("inf"), float("-inf"), float("nan")]), tolerance=(1e-5, 0)),
    case(torch.erfc, torch.tensor([2.5, 7.0, 25.0, -7.0], dtype=torch.float64), tolerance=(1e-11, 0)),
    *([case(op, x), case(op, ints(3))] for op in (torch.arccos, torch.arcsin, torch.arctan)),
    *(case(op, floats(3, low=1.1)) for op in (torch.arccosh, torch.arcsinh)),
    case(torch.arctanh, unit),
    *(
        [case(op, x), case(op, x, dtypes=WIDE), case(op, special(10)), case(op, i), case(op, ints(3, dtype=torch.int8))]
        for op in (torch.floor, torch.ceil, torch.round, torch.trunc, torch.fix)
    ),
    case(torch.round, torch.tensor([0.5, 1.5, 2.5, -0.5, -1.5])),
    case(torch.round, x, decimals=2),
    case(torch.round, x * 100, decimals=-1),
    case(torch.special.round, x, decimals=1),
    case(torch.frac, x),
    case(torch.frac, x, dtypes=[torch.float64, torch.float16]),
    *(
        [case(op, x), case(op, special(10)), case(op, i), case(op, x, dtypes=WIDE), case(op, ints(3, dtype=torch.int8)), case(op, ints(3, low=0, dtype=torch.uint8))]
        for op in (torch.abs, torch.neg, torch.sign, torch.sgn, torch.square)
    ),
    case(torch.sign, bools(3)),
    case(torch.square, bools(3)),
    case(torch.absolute, x),
    case(torch.negative, x),
    case(torch.positive, x),
    case(torch.logit, unit.abs()),
    case(torch.logit, floats(4, low=-0.5, high=1.5), eps=0.1),
    case(torch.logit, floats(8, low=-0.5, high=1.5), eps=0.7),
    case(torch.special.logit, unit.abs(), eps=1e-3),
    case(torch.special.entr, x),
    case(torch.special.entr, special(10)),
    case(torch.special.ndtr, x),
    *(case(op, positive) for op in (torch.special.erf, torch.special.erfc, torch.special.exp2, torch.special.expit, torch.special.expm1, torch.special.log1p, torch.special.sinc)),
    *(
        [case(op, special(10)), case(op, i), case(op, special(10), dtypes=WIDE), case(op, torch.tensor(1.0))]
        for op in (torch.isnan, torch.isinf, torch.isfinite, torch.isposinf, torch.isneginf, torch.isreal)
    ),
    case(torch.isfinite, bools(3)),
    case(torch.nan_to_num, special(10)),
    case(torch.nan_to_num, special(10), nan=1.0, posinf=2.0, neginf=3.0),
    case(torch.nan_to_num, special(10), dtypes=[torch.float64, torch.float16]),
    case(torch.nan_to_num, i),
    case(torch.sinc, torch.tensor([88.0, -90.0, 1.0, -3.5, 0.3, 0.0]), dtypes=[torch.float16, torch.bfloat16], tolerance=(1e-2, 1e-5), name="sinc of halves"),
]
