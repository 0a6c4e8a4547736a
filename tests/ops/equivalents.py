"""Operators that are replaced as they are read (src/aten/equivalents.def), and primitives that have translators."""

import torch
from harness import bools, case, floats, ints, known

aten, prims = torch.ops.aten, torch.ops.prims
A, B, POSITIVE, UNIT = floats(2, 3, 4), floats(2, 3, 4), floats(2, 3, 4).abs() + 0.5, floats(2, 3, 4, low=-0.9, high=0.9)
N, M = ints(2, 3, low=-9, high=9), ints(2, 3, low=1, high=5)
COMPLEX = torch.complex(floats(2, 6), floats(2, 6))
FLAGS, NANS = bools(2, 3), torch.tensor([1.0, float("nan"), -2.0, -0.0])
LISTS = [floats(3), floats(2, 1), ints(4)], [floats(3).abs(), floats(2, 1).abs(), ints(4, low=1, high=5)]
SPD = torch.eye(3) * 3 + 0.1


def prim(name, *args, **kwargs):
    return case(getattr(prims, name).default, *args, name=f"prims::{name}", **kwargs)


PLACE = {"device": "cpu", "requires_grad": False}


def counted(a, start, step, dtype):
    return prims.iota(a.shape[0], start=start, step=step, dtype=dtype, **PLACE)


def filled(a, name, *layout):
    """What is empty holds anything until it is written."""
    return getattr(prims, name)([a.shape[0], 2], *layout, dtype=torch.float32, **PLACE).fill_(3)


def listed(name, *args, **options):
    """A function of lists, and what it leaves in them where it works in place."""
    run, in_place = getattr(aten, f"_foreach_{name}"), getattr(aten, f"_foreach_{name}_", None)
    tensors, *rest = args

    def write(tensors, *rest):
        copies = [t.clone() for t in tensors]
        in_place(copies, *rest, **options)
        return copies

    def call(tensors, *rest):
        return run(tensors, *rest, **options)

    yield case(call, tensors, *rest, name=f"_foreach_{name}")
    if in_place is not None and all(t.is_floating_point() for t in tensors):
        yield case(write, tensors, *rest, name=f"_foreach_{name}_")


UNARY = "abs atan ceil cos cosh erf erfc exp expm1 floor frac neg reciprocal round sigmoid sign sin sinh sqrt tan tanh trunc zero"
OF_POSITIVE = "lgamma log log10 log1p log2 rsqrt"
FLOATS = LISTS[0][:2], LISTS[1][:2]

CASES = [
    *[prim(f, A) for f in "abs ceil clone cos erf erfc exp exp2 expm1 floor isfinite neg sign sin tanh trunc".split()],
    *[prim(f, UNIT) for f in "acos asin atan atanh asinh cosh erf_inv sinh tan".split()],
    *[prim(f, POSITIVE) for f in "digamma lgamma log log10 log1p log2 reciprocal rsqrt sqrt".split()],
    prim("acosh", POSITIVE + 1),
    prim("ndtri", POSITIVE / 3),
    *[prim(f, A) for f in "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 erfcx spherical_bessel_j0".split()],
    *[prim("cbrt", x) for x in (A, NANS, floats(3, dtype=torch.float64), torch.tensor(-27.0))],
    prim("round", 3 * A),
    prim("bitwise_not", N),
    prim("frexp", A),
    *[prim(f, COMPLEX) for f in ("real", "imag", "conj_physical", "abs")],
    *[prim(f, A, B) for f in "add atan2 eq fmax fmin ge gt hypot le lt maximum minimum mul ne sub".split()],
    prim("fmod", A, POSITIVE),
    prim("remainder", A, POSITIVE),
    prim("pow", POSITIVE, B),
    prim("nextafter", A, B),
    *[prim(f, POSITIVE, POSITIVE + 1) for f in ("igamma", "igammac")],
    prim("zeta", POSITIVE + 1, POSITIVE),
    *[prim("div", *both) for both in ((A, B), (N, M), (-N, M), (N.to(torch.int32), M.to(torch.int32)))],
    *[prim(f, N, M) for f in "bitwise_and bitwise_or bitwise_xor gcd shift_left shift_right_arithmetic".split()],
    prim("where", FLAGS, N, M),
    *[prim(f, A, dims) for f in ("amax", "amin", "sum") for dims in ([0], [1, 2])],
    *[prim("var", A, *rest) for rest in (([1], 0), ([0, 2], 2.5))],
    *[prim("prod", x, dims) for x in (A, M) for dims in ([1], [0, 1])],
    *[prim("broadcast_in_dim", a, shape, dims, dynamic=False)
      for a, shape, dims in ((A, [2, 3, 4], [0, 1, 2]), (floats(3), [2, 3, 4], [1]), (floats(3, 1), [3, 2, 4], [0, 2]), (torch.tensor(2.0), [2, 2], []))],
    case(lambda a: prims.broadcast_in_dim(a, [a.shape[0], 5, a.shape[1]], [0, 2]), floats(2, 3), name="prims::broadcast_in_dim"),
    *[prim(f, A, 1, 2) for f in ("collapse", "collapse_view")],
    *[prim("split_dim", floats(2, 6), 1, outer) for outer in (2, 3)],
    case(lambda a: prims.split_dim(a, 1, 3), floats(2, 6), dynamic={0: [0]}, name="prims::split_dim"),
    *[case(counted, floats(5), start, step, dtype, name="prims::iota") for start, step, dtype in ((0, 1, torch.int64), (3, -2, torch.int32))],
    prim("as_strided", floats(6), [2, 2], [3, 1], 1, dynamic=False, strided=False),
    prim("as_strided_scatter", floats(6), floats(2, 2), [2, 2], [3, 1], 1, dynamic=False, strided=False),
    prim("cat", [A, B], 1),
    prim("conj", COMPLEX, again=False),
    case(lambda a: prims.copy_strided(a, [12, 4, 1]), A, dynamic=False, name="prims::copy_strided"),
    case(lambda a, b: prims.copy_to(a.clone(), b), A, B, name="prims::copy_to"),
    case(lambda a: prims.device_put(a, "cpu"), A, name="prims::device_put"),
    prim("fft_c2c", COMPLEX, dim=[1], forward=True),
    prim("fft_c2c", COMPLEX, dim=[0, 1], forward=False),
    prim("fft_r2c", floats(2, 6), dim=[1], onesided=True),
    prim("fft_c2r", COMPLEX, dim=[1], last_dim_size=10, dynamic=False),
    prim("fill", A, 2.5),
    *[case(lambda a, dtype: prims.full([a.shape[0], 2], 3, dtype=dtype, **PLACE), A, dtype, name="prims::full") for dtype in (torch.int64, torch.float32)],
    case(lambda a: prims.full_like(a, 3, dtype=torch.int32, **PLACE), A, name="prims::full_like"),
    *[case(filled, A, f, *layout, name=f"prims::{f}") for f, *layout in (("empty",), ("empty_strided", [2, 1]), ("empty_permuted", [1, 0]))],
    case(lambda a: prims.normal([a.shape[0], 50], mean=3.0, std=0.1, dtype=torch.float32, **PLACE), A, check="shapes", name="prims::normal"),
    case(lambda a: prims.uniform([4, 50], low=2.0, high=3.0, dtype=torch.float32, device="cpu", stride=[50, 1]) - 2 + 0 * a.sum(), A,
         dynamic=False, check=lambda want, got: bool((got >= 0).all() and (got < 1).all() and got.std() > 0.2), name="prims::uniform"),
    case(lambda a: prims.reshape(a, [a.shape[0], 12]), A, dynamic={0: [0]}, name="prims::reshape"),
    case(lambda a: prims.resize(a.clone(), [2, 2]), floats(2, 3), dynamic=False, strided=False, name="prims::resize"),
    prim("rev", A, [0, 2]),
    case(lambda a: a + prims.scalar_tensor(2, dtype=torch.float32, device="cpu"), A, name="prims::scalar_tensor"),
    prim("squeeze", floats(1, 3, 1, 2), [0, 2]),
    case(lambda a: prims.svd(a, full_matrices=False)[1], floats(3, 4), name="prims::svd"),
    prim("transpose", A, [2, 0, 1]),
    case(lambda a: prims.view_of(a) + 1, A, name="prims::view_of"),
    case(lambda a: prims.view_of_dtype(a, torch.int32) & 255, A, name="prims::view_of_dtype"),
    *[listed(f, LISTS[0][:2]) for f in UNARY.split()],
    *[listed(f, LISTS[1][:2]) for f in OF_POSITIVE.split()],
    *[listed(f, [UNIT, UNIT[0]]) for f in ("acos", "asin")],
    *[listed(f, *lists, **options)
      for lists in (LISTS, FLOATS, (LISTS[0], 2), (FLOATS[0], 2.5), (LISTS[0], [1, 2.5, 3]), (FLOATS[0], [1, 2.5]))
      for f, options in (("add", {}), ("sub", {}), ("mul", {}), ("clamp_min", {}), ("clamp_max", {}), ("maximum", {}), ("minimum", {}))],
    *[listed(f, *FLOATS, alpha=2) for f in ("add", "sub")],
    *[listed("div", FLOATS[0], other) for other in (FLOATS[1], 2, [3, 0.5], torch.tensor(4.0))],
    *[listed(f, FLOATS[0], torch.tensor(4.0)) for f in ("add", "mul")],
    *[listed("pow", FLOATS[1], other) for other in (FLOATS[0], 2, 0.5, [3, 0.5])],
    case(lambda lists: torch._foreach_pow(2.0, lists), FLOATS[0], name="_foreach_pow"),
    *[listed(f, FLOATS[0], FLOATS[0], FLOATS[1], *rest) for f in ("addcdiv", "addcmul") for rest in ((), (0.5,), ([0.5, 2.0],))],
    *[listed("lerp", *FLOATS, weight) for weight in (FLOATS[1], 0.25)],
    *[listed("lerp", *FLOATS, weights) for weights in ([0.25, 0.75],)],
    *[listed("norm", FLOATS[0], *rest) for rest in ((), (1,), (float("inf"),))],
    case(aten._foreach_max.default, FLOATS[0], dynamic=False, name="_foreach_max"),
    *[listed("powsum", FLOATS[0]) for _ in known("torch._foreach_powsum")],
    *[listed("mm", [floats(2, 3), floats(1, 2)], [floats(3, 4), floats(2, 2)]) for _ in known("torch._foreach_mm")],
    listed("copy", *FLOATS),
    *[listed("clone", FLOATS[0]) for _ in known("torch._foreach_clone")],
    case(lambda lists: [t + 1 for t in torch._foreach_neg(lists)], [floats(3)] * 2, name="one tensor twice"),
    case(lambda b, a: aten._cholesky_solve_helper(b, a, False), floats(3, 2), torch.linalg.cholesky(SPD), again=False, name="_cholesky_solve_helper"),
    case(aten._lazy_clone, A),
]  # fmt: skip
