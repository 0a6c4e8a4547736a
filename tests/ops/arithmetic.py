import torch
import torch.nn.functional as F
from harness import LONG, bools, case, floats, ints, known, special

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
INTS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
a, b, row, positive = floats(2, 3, 4), floats(2, 3, 4), floats(4), floats(2, 3, 4, low=0.2)
i, j, nonzero = ints(2, 3, 4), ints(2, 3, 4), torch.tensor([1, -2, 3, -4])
scalar = torch.tensor(1.5)
near_one = torch.tensor([1.0078125, 0.9921875])  # whose squares bfloat16 rounds

INFINITIES = torch.tensor([float("inf"), -float("inf"), 2.0, -3.0])
EXTREMES = torch.tensor([1e-45, -1e-40, 1.1754944e-38, 3.4028235e38, -3.4028235e38, 1.0, 2.0, -0.5, 0.99999994])
CASES = [
    # add, sub, mul: broadcasting, alpha, every kind of promotion
    *(
        [
            case(op, a, b),
            case(op, a, row),
            case(op, floats(2, 1, 4), floats(3, 1)),
            case(op, floats(0, 3), floats(3)),
            case(op, scalar, scalar),
            case(op, a, scalar),
            case(op, a, torch.tensor(2, dtype=torch.float64)),
            case(op, i, a),
            case(op, i, torch.tensor(1.5)),
            case(op, ints(3, dtype=torch.uint8, low=0), ints(3, dtype=torch.int8)),
            case(op, ints(3, dtype=torch.int32), ints(3)),
            case(op, floats(3, dtype=torch.float16), floats(3, dtype=torch.bfloat16)),
            case(op, i, 2),
            case(op, i, 2.5),
            case(op, ints(3, dtype=torch.int16), 7),
            case(op, a, 2, dtypes=HALVES),
            case(op, a, b, dtypes=[torch.float64, *HALVES]),
            case(op, i, j, dtypes=INTS),
        ]
        for op in (torch.add, torch.sub, torch.mul)
    ),
    case(torch.add, a, b, alpha=2.5),
    case(torch.add, i, j, alpha=3),
    case(torch.sub, a, row, alpha=-1),
    case(torch.add, bools(2, 3), bools(3)),
    case(torch.mul, bools(2, 3), bools(3)),
    case(torch.mul, bools(2, 3), floats(3)),
    case(aten.add.Scalar, a, 2, 3),
    case(aten.sub.Scalar, i, 2, 3),
    case(aten.mul.Scalar, a, 2),
    case(aten.rsub.Tensor, a, b, alpha=2),
    case(lambda x: 1 - x, i, name="1 - x"),
    case(lambda x: 1.5 - x, i, name="1.5 - x"),
    case(aten.rsub.Scalar, a, 1, 2),
    # No half is near these numbers: it is the product that PyTorch rounds, and 0 times any of them is 0.
    *(case(lambda x, by=by: (x * by, x / by, by / x, x * torch.tensor(by)), torch.tensor([0.0, 1.0, -1.0, 1e-3, 6e4, 2e-5]), dtypes=HALVES, name=f"times and through {by}")
      for by in (-1e9, 1e6, 1e-8)),
    case(lambda x: (x * (x.shape[0] * 70000), x / (x.shape[0] * 70000)), torch.tensor([0.0, 2e-5, -6e4]), dtypes=HALVES, name="times and through large sizes"),
    case(torch.multiply, a, b),
    case(torch.subtract, a, b),
    case(aten.multiply.Scalar, a, 2.0),
    case(aten.subtract.Scalar, a, 2.0),
    # division
    case(torch.div, a, positive),
    case(torch.div, i, nonzero),
    case(torch.div, i, 2),
    case(torch.div, bools(3), torch.tensor([True, True, True]), again=False),
    case(torch.div, a, positive, dtypes=[torch.float64, *HALVES]),
    case(torch.true_divide, i, 3.0),
    case(aten.div.Scalar, a, 4),
    case(aten.divide.Tensor, a, positive),
    case(aten.divide.Scalar, a, 4),
    case(aten.divide.Tensor_mode, a, positive, rounding_mode="floor"),
    # Of nothing, with the sign that it has: what is left over has another.
    *[case(lambda a, b: torch.copysign(torch.ones_like(a), torch.div(a, b, rounding_mode="floor")), torch.tensor([0.0, 0.3, -0.3, 0.7, -0.7, 1.5]), b,
           name=f"the sign of a quotient rounded down by {b}", again=False) for b in (-0.5, -0.7)],
    case(aten.divide.Scalar_mode, a, 3, rounding_mode="trunc"),
    case(aten.true_divide.Tensor, i, nonzero),
    case(aten.true_divide.Scalar, i, 4),
    *(
        [
            case(torch.div, a, b, rounding_mode=mode),
            case(torch.div, a, 0.1, rounding_mode=mode),
            case(torch.div, special(10), special(10, 1).roll(1), rounding_mode=mode),
            case(torch.div, i, nonzero, rounding_mode=mode),
            case(torch.div, i, -3, rounding_mode=mode),
            case(torch.div, ints(6, low=0, dtype=torch.uint8), 3, rounding_mode=mode),
            case(torch.div, i, 2.5, rounding_mode=mode),
            case(torch.div, i, nonzero, rounding_mode=mode, dtypes=[torch.int8, torch.int32]),
            # 3.6 is no half: it is the quotient that PyTorch rounds.
            *[case(torch.div, torch.tensor([3.6, 7.2, -3.6, 1.1, -7.2], dtype=dtype), by, rounding_mode=mode, again=False)
              for dtype in (torch.float16, torch.bfloat16) for by in (3.6, torch.tensor(-3.6))],
            case(aten.div.Scalar_mode, a, 2, rounding_mode=mode),
        ]
        for mode in ("floor", "trunc", None)
    ),
    case(torch.floor_divide, i, nonzero),
    *(case(torch.floor_divide, torch.tensor([low, low + 1, 1 - high, high, 7, -7]), by)
      for low, high in ((-(2**63), 2**63 - 1), (-(2**53) - 3, 2**53 + 3)) for by in (3, -3, torch.tensor([3, -7, 2, 2, -2, 2]))),
    case(torch.floor_divide, a, 2),
    case(torch.floor_divide, special(10), 2),
    case(torch.floor_divide, torch.tensor([1.0, -1.0, 0.7, -0.7, 3.0]), 0.1),
    case(aten.floor_divide.Scalar, i, 3),
    *(
        [
            case(op, a, b),
            case(op, a, positive),
            case(op, a, 1.5),
            case(op, a, -1.5),
            case(op, i, nonzero),
            case(op, i, 3),
            case(op, i, 2.5),
            case(op, special(10), torch.tensor(2.0)),
            case(op, i, nonzero, dtypes=[torch.int8, torch.int32]),
            case(op, a, positive, dtypes=[torch.float16, torch.float64]),
        ]
        for op in (torch.remainder, torch.fmod)
    ),
    *(case(op, torch.tensor([2**53 + 1, -(2**62) + 3, 2**62 + 1]), torch.tensor([7, -11, 2**53 + 3])) for op in (torch.remainder, torch.fmod, torch.floor_divide)),
    case(torch.pow, torch.tensor([300001, -30007, 7]), 4),
    case(torch.pow, torch.tensor([3, -7, 2, 1, -1, 5, 46341]), torch.tensor([39, 22, 63, 100, -3, 70, -1]), again=False, name="powers beyond 2^53"), case(torch.pow, 3, torch.tensor([41, 39, 100, 0]), again=False, name="powers of a number beyond 2^53"), case(torch.pow, torch.tensor([3, 46341, -2], dtype=torch.int32), torch.tensor([[2], [3], [31]], dtype=torch.int32), again=False, name="powers of int32 that wrap"), case(torch.vander, torch.tensor([300001, -7]), 5, again=False, name="a Vandermonde matrix beyond 2^53"),
    case(torch.pow, torch.tensor([3, -7, 1, 0]), 33, name="a power that overflows", since=9),
    case(aten.remainder.Scalar_Tensor, 7, nonzero),
    # nothing, divided by how much there is of it
    *(case(lambda x, by=by: by(found := x.nonzero().flatten(), found.size(0)), x, name=f"{by.__name__}_of_nothing")
      for by in (torch.remainder, torch.fmod, torch.floor_divide) for x in (torch.zeros(3), torch.ones(3))),
    case(aten.fmod.Scalar, a, 2),
    case(lambda x: 7 % x, nonzero, name="7 % x"),
    # powers
    *(case(torch.pow, positive, e) for e in (2, 3, 0.5, -0.5, -1, 1, 0, 2.5, -2)),
    case(torch.pow, a, 2, dtypes=[torch.float64, *HALVES]),
    *(case(torch.pow, i, e) for e in (0, 1, 2, 3, 4, 2.0, 0.0)),
    case(torch.pow, ints(4, dtype=torch.int8), 2),
    case(torch.pow, ints(4, dtype=torch.uint8, low=0), 3),
    case(torch.pow, bools(4), 2),
    case(torch.pow, positive, b),
    case(torch.pow, positive, ints(4)),
    case(torch.pow, i, ints(4, low=0)),
    case(torch.pow, ints(3, 4), ints(3, 4, low=0), dynamic={0: [0, 1], 1: [0, 1]}),
    case(torch.pow, i, positive),
    case(torch.pow, 2, ints(4)),
    case(torch.pow, 2.5, a),
    case(torch.pow, 2, a),
    case(torch.pow, 2.5, ints(4)),
    case(torch.float_power, positive, b),
    case(torch.float_power, ints(4, low=1), 2),
    case(torch.float_power, 2, a),
    # bounds
    *(
        [
            case(op, a, -1, 1),
            case(op, a, min=0.5),
            case(op, a, max=0.5),
            case(op, i, -1, 2),
            case(op, i, 0.5, 2.5),
            case(op, a, 2, 1),
            case(op, special(10), -1, 1),
            case(op, a, -1, 1, dtypes=[torch.float64, *HALVES]),
            case(op, i, 0, 2, dtypes=INTS),
            case(op, a, row, row + 1),
            case(op, a, min=row),
            case(op, i, max=row),
            case(op, a, scalar, scalar + 1),
            case(op, floats(2, 3), floats(2, 1), floats(3)),
        ]
        for op in (torch.clamp, torch.clip)
    ),
    case(torch.clamp_min, a, 0),
    *[
        case(clamp, INFINITIES.to(dtype), opsets=[9, 11, 18, 20, 26], again=False, name=f"clamp of infinity {i}")
        for dtype in (torch.float16, torch.float32, torch.float64)
        for i, clamp in enumerate((lambda x: x.clamp(min=0), lambda x: x.clamp_max(1.0), lambda x: x.relu().clamp_min(1.0), lambda x: x.clamp_min(-1.0).clamp_min(0.5)))
    ],
    case(torch.clamp, a.double(), -0.5, 0.5, opsets=[9, 11, 13], name="clamp of doubles"),
    case(torch.clamp_max, i, 1.5),
    # Integers of one upper half, which onnxruntime's own kernels compare by the lower one, with a sign.
    *(case(op, LONG, LONG.flip(1), name=f"{op.__name__} of more than 32 bits") for op in (torch.maximum, torch.minimum, torch.fmax)),
    case(lambda x: (x.clamp(min=0), x.clamp(-5, 2**31), x.clamp_max(2**31), x.clamp(x.flip(1), x[:1] + 2**32)), LONG, name="clamp of more than 32 bits"),
    case(lambda x: (x.relu(), F.relu6(x), F.hardtanh(x, -(2**31), 2**31), x.sign()), LONG, name="relu and sign of more than 32 bits"),
    case(lambda x: (x.long().clamp(max=2**31), x.long().clamp(-(2**31), 2**31 - 1)), i.int(), name="clamp by more than 32 bits"),
    case(aten.clamp_min.Tensor, a, row),
    case(aten.clamp_max.Tensor, a, row),
    *(
        [
            case(op, a, b),
            case(op, a, row),
            case(op, i, a),
            case(op, i, j, dtypes=INTS),
            case(op, bools(2, 3), bools(3)),
            case(op, special(10), special(10, 1).roll(1)),
            case(op, a, b, dtypes=[torch.float64, *HALVES]),
        ]
        for op in (torch.maximum, torch.minimum, torch.fmax, torch.fmin)
    ),
    case(torch.max, a, b),
    case(torch.min, i, a),
    # the rest
    case(torch.addcmul, a, b, row, value=0.5),
    case(torch.addcmul, i, j, j, value=2),
    case(torch.addcdiv, a, b, positive, value=0.5),
    case(torch.addcdiv, a, b, positive, dtypes=HALVES),
    case(torch.addcmul, torch.tensor([-1.015625, 2.0]), near_one, near_one, dtypes=[torch.bfloat16], name="addcmul rounds once"),
    case(torch.addcdiv, torch.tensor([-1.015625, 2.0]), near_one, torch.tensor([0.9921875, 1.0078125]), dtypes=[torch.bfloat16], name="addcdiv rounds once"),
    case(torch.lerp, a, b, 0.3),
    case(torch.lerp, torch.tensor([1e8, -1e8]), torch.tensor([1.0, 1e-8]), 1.0, name="lerp to the end"),
    case(torch.lerp, torch.tensor([1e8, -1e8, 1e8]), torch.tensor([1.0, 1e-8, 3.0]), torch.tensor([1.0, 1.0, 0.0]), name="lerp to the ends"),
    *[case(torch.lerp, torch.tensor(1, dtype=one), torch.tensor(4, dtype=one), torch.tensor(0.25, dtype=other), name=f"lerp of {one}, {other}")
      for one, other in ((torch.int64, torch.float32), (torch.uint8, torch.float64), (torch.float32, torch.float64), (torch.float16, torch.float32))],
    case(torch.lerp, torch.tensor([-1.0, 1.0]), torch.tensor([1.015625, 1.0]), 0.499, dtypes=HALVES, name="lerp rounds once"),
    case(torch.lerp, a, b, positive),
    case(torch.lerp, a, row, scalar),
    case(torch.hypot, a, b),
    case(torch.hypot, special(10), special(10, 1)),
    case(torch.hypot, torch.tensor([float("inf"), float("nan")]), torch.tensor([float("nan"), float("-inf")])),
    case(torch.hypot, torch.tensor([1e30, 1e-30]), torch.tensor([1e30, 1e-30])),
    case(torch.ldexp, a, ints(4)),
    case(torch.logaddexp, a, b),
    case(torch.logaddexp, special(10), special(10, 1)),
    case(torch.logaddexp2, a, row),
    case(torch.xlogy, floats(10), special(10)),
    case(torch.xlogy, special(10), special(10, 1)),
    case(torch.xlogy, ints(4, low=0), 2),
    case(torch.xlogy, 0, special(10)),
    case(torch.special.xlogy, a, positive),
    case(torch.special.xlogy, a, 2),
    case(torch.special.xlogy, 2, positive),
    case(torch.special.xlog1py, special(10), special(10, 1)),
    case(torch.special.xlog1py, a, 2),
    case(torch.special.xlog1py, 2, positive),
    case(torch.heaviside, special(10), floats(10)),
    case(torch.heaviside, ints(2, 3), ints(3)),
    case(torch.signbit, special(10)),
    case(torch.signbit, i),
    case(torch.signbit, ints(3, low=0, dtype=torch.uint8)),
    case(torch.signbit, bools(3)),
    case(torch.copysign, a, b),
    case(torch.copysign, special(10), special(10, 1).nan_to_num()),
    case(torch.copysign, i, -2.0),
    case(torch.copysign, a, 0.0),
    case(torch.atan2, a, b),
    case(torch.atan2, special(10), special(10, 1)),
    case(torch.atan2, i, j),
    case(torch.arctan2, a, row),

    *(case(op, ints(4, 5, low=-60, high=60), ints(5, low=-60, high=60)) for op in (torch.gcd, torch.lcm)),
    *(case(op, ints(3, 4, dtype=torch.int32), ints(4, dtype=torch.int64)) for op in (torch.gcd, torch.lcm)),
    *(case(op, ints(3, 4, low=0, high=9, dtype=torch.uint8), ints(4, low=0, high=9, dtype=torch.uint8)) for op in (torch.gcd, torch.lcm)),
    *(case(op, bools(3, 4), ints(4, low=-9, high=9)) for op in (torch.gcd, torch.lcm, lambda a, b: torch.gcd(b, a))),
    case(torch.gcd, torch.tensor([0, 0, 7, -12]), torch.tensor([0, 5, 0, 18])),
    *(case(torch.frexp, numbers.to(dtype)) for dtype in (torch.float32, torch.float64) for numbers in (special(10), EXTREMES)),
    *(case(hashed, x) for hashed in known("torch.hash_tensor") for x in (special(10), special(10, dtype=torch.float64), EXTREMES.to(torch.float64), ints(3, 4), ints(4, dtype=torch.int8), bools(5), floats(), floats(5).half())),
    *[
        [case(hashed, floats(2, 3, 4), 1), case(hashed, floats(2, 3, 4), (0, -1), keepdim=True)] for hashed in known("torch.hash_tensor")
    ],
    case(torch.frexp, floats(3, 4), dtypes=[torch.float16]),
    *(
        case(torch.nextafter, a.to(dtype), b.to(dtype), tolerance=(0, 0))
        for dtype in (torch.float32, torch.float64)
        for a, b in ((special(10), special(10, 1)), (EXTREMES, EXTREMES[:, None]), (floats(3, 4), floats(4)))
    ),
    case(torch.pow, ints(5, 4), ints(4, low=-4, high=5)),
    case(torch.pow, torch.tensor([-2, -1, 0, 1, 2]), torch.tensor([-3, -2, -1, 0, 1])[:, None]),
    case(torch.pow, torch.tensor([-2, -1, 0, 1, 2]), torch.tensor(-3)),
    case(torch.clamp, special(10), torch.tensor(-1.0), torch.tensor(float("nan")), again=False),
    case(torch.clamp, floats(4), min=float("nan")),
    *(case(op, special(10), special(10, 1)) for op in (torch.maximum, torch.minimum)),
    *(case(torch.pow, base, torch.tensor([0, 1, 2, 4, 5, 9, 10, 31, 32, 63, 64, 100, -1]).to(dtype), name=f"{base} ** {dtype}")
      for base in (2, 128, 2**31) for dtype in (torch.int32, torch.int64)),
    *(case(f, floats(3, 4), opsets=[7, 9, 11, 20], name=f"relu clamped below 0 {i}", dtypes=[torch.float32, torch.float16])
      for i, f in enumerate((lambda x: x.relu().clamp(-3, -1), lambda x: x.relu().clamp(max=-1), lambda x: x.relu().clamp(-3, 1)))),
    # Numbers that the dtype does not hold wrap.
    *(case(lambda x, n=n: x // n, torch.tensor([-100, -1, 0, 7, 100]).to(dtype), name=f"{dtype} // {n}") for dtype, n in ((torch.int8, 200), (torch.int16, 65535), (torch.int32, 2**31))),
]
