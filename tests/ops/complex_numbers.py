import torch
import torch.nn.functional as F
from harness import bools, case, floats, ints
from literal import literal

aten = torch.ops.aten


def z(*sizes, dtype=torch.complex64):
    return torch.complex(floats(*sizes), floats(*sizes)).to(dtype)


a, b = z(3, 4), z(3, 4)
axes = torch.tensor([1, -1, 0.5, -2, 0, 0, 0.0, 3])
on_axes = torch.complex(axes, axes.flip(0).roll(3))
mask = bools(3, 4)
index = torch.tensor([2, 0, 1, 0])
squares = z(2, 4, 4)
positive = squares @ squares.mH + torch.eye(4)


CLOSE = {"tolerance": (1e-3, 1e-3)}


def hermitian(*sizes):
    x = z(*sizes, dtype=torch.complex128)
    return x + x.mH


def mirrored(*sizes, conjugate):
    x = z(*sizes, dtype=torch.complex128)
    return x + (x.mH if conjugate else x.mT)


def paired(size, conjugate):
    """With a diagonal so small that pivots are blocks."""
    x = mirrored(size, size, conjugate=conjugate)
    return x - torch.diag(x.diagonal()) * 0.99


def indefinite(conjugate):
    return [mirrored(4, 4, conjugate=conjugate), mirrored(2, 5, 5, conjugate=conjugate), paired(6, conjugate), torch.stack([paired(9, conjugate), mirrored(9, 9, conjugate=conjugate)]),
            torch.zeros(3, 3, dtype=torch.complex64), z(0, 2, 2), mirrored(1, 1, conjugate=conjugate).to(torch.complex64)]


def eigh_rebuilt(x):
    w, v = torch.linalg.eigh(x)
    return w, v @ torch.diag_embed(w).to(v.dtype) @ v.mH, v.mH @ v


def svd_rebuilt(x):
    u, s, vh = torch.linalg.svd(x)
    side = s.shape[-1]
    return u[..., :side] @ torch.diag_embed(s).to(u.dtype) @ vh[..., :side, :], s, u.mH @ u, vh @ vh.mH


def each(functions, *args, **kwargs):
    return [case(fn, *args, **kwargs) for fn in functions]


def written_part(x, y):
    x = x.clone()
    x[1] = y[0]
    x[:, 0] *= 2
    return x


def written_real(x):
    x = x.clone()
    torch.view_as_real(x)[..., 0].mul_(3)
    return x


CASES = [
    # arithmetic
    *each([torch.add, torch.sub, torch.mul, torch.div, torch.rsub, torch.eq, torch.ne], a, b),
    *each([torch.add, torch.sub, torch.mul, torch.div], a, z(4)),
    *each([torch.add, torch.mul, torch.div, torch.sub], a, floats(3, 4)),
    *each([torch.add, torch.mul, torch.div], ints(3, 4), a),
    *each([torch.add, torch.mul, torch.div, torch.pow], a, 2.5),
    *each([torch.add, torch.mul, torch.div], a, 1 - 2j),
    *each([torch.add, torch.mul], floats(3, 4), 1 + 2j),
    case(torch.mul, floats(3, 4, dtype=torch.float64), 1j),
    case(torch.add, a, b, alpha=2 - 1j),
    case(torch.mul, a, z()),
    case(torch.mul, z(3, 4, dtype=torch.complex128), a),
    *[case(torch.pow, a, p) for p in (0, 1, 2, 3, 0.5, -0.5, -1, 1 + 2j)],
    case(torch.pow, a, b),
    case(torch.pow, 2.0, a),
    case(torch.pow, on_axes, torch.tensor([1, 2, 0.5, 0, 1 + 1j, 1.5, 2 - 1j, 1j]), again=False),
    case(torch.float_power, a, 2),
    case(torch.addcmul, a, b, z(3, 4), value=0.5),
    case(torch.addcdiv, a, b, z(3, 4)),
    case(torch.lerp, a, b, 0.25),
    # functions
    *[
        case(fn, x)
        for x in (a, on_axes)
        for fn in (
            torch.abs, torch.angle, torch.sgn, torch.neg, torch.positive, torch.square, torch.exp, torch.sqrt, torch.sin, torch.cos, torch.tan,
            torch.sinh, torch.cosh, torch.tanh, torch.asinh, torch.conj, torch.isfinite, torch.isnan, torch.isinf, torch.isreal, torch.sinc,
        )
    ],
    *each(
        [F.silu, torch.log, torch.log2, torch.log10, torch.reciprocal, torch.rsqrt, torch.sigmoid, torch.exp2, torch.expm1, torch.log1p, torch.asin, torch.acos,
         torch.atan, torch.acosh, torch.atanh], a,
    ),
    *(case(op, torch.tensor([0j, 1j, -1 + 0j, 3 - 4j]), again=False, name=f"{op.__name__} of 0") for op in (torch.log2, torch.log10)),
    case(torch.angle, floats(3, 4)),
    case(torch.angle, ints(3, 4)),
    case(torch.isfinite, torch.complex(torch.tensor([1.0, float("inf"), 0.0]), torch.tensor([float("nan"), 0.0, 2.0]))),
    # parts
    *(case(torch.nan_to_num, torch.complex(torch.tensor([1.0, float("inf"), float("nan")]), torch.tensor([float("nan"), 0.0, -float("inf")])), **numbers)
      for numbers in ({}, {"nan": 1.0, "posinf": 2.0, "neginf": 3.0})),
    case(torch.real, a), case(torch.imag, a), case(torch.real, floats(3)), case(torch.view_as_real, a), case(torch.view_as_complex, floats(3, 4, 2), dynamic={0: [0, 1]}),
    case(lambda x: torch.view_as_real(x).transpose(0, 1), a, name="view_as_real transposed"),
    case(aten.view_as_real_copy.default, a),
    case(aten.view_as_complex_copy.default, floats(3, 2), dynamic={0: [0]}),
    case(aten.conj.default, a), case(aten.conj_physical.default, a), case(aten._conj_physical.default, a), case(lambda x: x.conj().resolve_conj() + 1, a, name="resolve_conj"),
    case(torch.complex, floats(3, 4), floats(3, 4)), case(torch.complex, floats(3, 4), floats(4)), case(torch.complex, floats(4), floats(3, 1), dynamic={0: [0]}),
    case(torch.polar, floats(3, 4), floats(3, 4)),
    # elements moved
    *[
        case(fn, a, name=name)
        for name, fn in {
            "reshape": lambda x: x.reshape(-1), "view": lambda x: x.contiguous().view(x.shape[0], 1, -1), "permute": lambda x: x.permute(1, 0),
            "t": lambda x: x.t(), "mT": lambda x: x.mT, "mH": lambda x: x.mH, "adjoint": torch.adjoint, "unsqueeze": lambda x: x.unsqueeze(-1),
            "squeeze": lambda x: x.unsqueeze(-1).squeeze(-1), "expand": lambda x: x.unsqueeze(0).expand(2, -1, -1), "select": lambda x: x.select(-1, -1),
            "slice": lambda x: x[..., 1:], "steps": lambda x: x[:, ::2], "flip": lambda x: x.flip(-1), "roll": lambda x: x.roll(1, -1),
            "repeat": lambda x: x.repeat(2, 1, 2), "tile": lambda x: x.tile(2), "cat": lambda x: torch.cat([x, x * 2], -1), "stack": lambda x: torch.stack([x, x], -1),
            "split": lambda x: x.split(2, -1)[0], "chunk": lambda x: x.chunk(2, -1), "flatten": lambda x: x.flatten(),
            "flatten to pairs": lambda x: x.flatten(1), "reshape to pairs": lambda x: x.reshape(x.shape[0], -1),
            "movedim": lambda x: x.movedim(-1, 0), "diagonal": lambda x: x.diagonal(), "tril": torch.tril, "triu": lambda x: x.triu(1), "diag_embed": torch.diag_embed,
            "unfold": lambda x: x.unfold(-1, 2, 1), "clone": torch.clone, "zeros_like": torch.zeros_like, "ones_like": torch.ones_like,
            "full_like": lambda x: torch.full_like(x, 2 - 1j), "new_zeros": lambda x: x.new_zeros(2, 3), "rot90": torch.rot90, "numel": lambda x: x * x.shape[0],
            "repeat_interleave": lambda x: x.repeat_interleave(2, -1), "kept axis": lambda x: x.swapaxes(-1, -2).contiguous(),
        }.items()
    ],
    case(lambda x: x + torch.full((2, 1, 1), 1 + 2j), a, name="full"),
    case(lambda x: torch.einsum("ab,cb,bd->acd", x.real, x, x.T.conj()), z(3, 4), name="einsum of three, one real"),
    case(lambda x: torch.einsum("ab,cb,bd,ae->de", x, x.conj(), x.T, x + 1), z(3, 4), name="einsum of four"),
    case(lambda x: x + torch.zeros(1, dtype=torch.complex64), floats(3, 4), name="zeros"),
    case(lambda x: torch.cat([x, x.to(torch.complex64)]), a, name="cat of casts"),
    case(lambda x, y: torch.cat([x, y], -1), a, floats(3, 4), name="cat with reals"),
    case(F.pad, a, (1, 2)), case(F.pad, a, (1, 1, 2, 0), value=2.0),
    *(case(F.pad, z(*[2, 3, 4, 5, 6][:rank]), (1, 2, 2, 1, 0, 1)[:2 * rank - 4], mode=mode) for mode in ("reflect", "replicate", "circular") for rank in (3, 4, 5)),
    literal(aten.cov.default, a), literal(aten.cov.default, a[0]), literal(aten.cov.default, a, correction=0, fweights=torch.tensor([1, 2, 1, 3]), aweights=floats(4).abs()),
    literal(aten.corrcoef.default, a), literal(aten.corrcoef.default, a[0]),
    case(torch.where, mask, a, b), case(torch.where, mask, a, floats(3, 4)), case(torch.masked_fill, a, mask, 1 + 1j), case(torch.masked_select, a, mask, dynamic=False),
    case(lambda x, i: x[i], a, torch.tensor([2, 0, 1]), name="index"), case(lambda x, i: x[:, i], a, index, name="index columns"), case(lambda x, m: x[m], a, mask, dynamic=False, name="index by mask"),
    case(torch.gather, a, 1, torch.tensor([[0, 3], [1, 1], [2, 0]])), case(torch.index_select, a, -1, index), case(torch.take_along_dim, a, torch.tensor([[0], [2], [1]]), 1, dynamic=False),
    case(torch.scatter, a, 1, torch.tensor([[0, 3], [1, 2], [2, 0]]), z(3, 2), dynamic=False), case(torch.index_add, a, 0, torch.tensor([2, 0]), z(2, 4), dynamic=False),
    case(torch.index_put, a, (torch.tensor([0, 2]),), z(2, 4), dynamic=False), case(torch.index_put, a, (torch.tensor([0, 0]),), z(2, 4), accumulate=True, dynamic=False),
    case(written_part, a, b), case(written_real, a),
    # casts
    *[case(lambda x, d=d: x.to(d), a, name=f"complex64 to {d}") for d in (torch.complex128,)],
    *[case(lambda x, d=d: x.to(d), x, name=f"{x.dtype} to {d}") for x in (floats(3, 4), ints(3, 4), mask) for d in (torch.complex64, torch.complex128)],
    case(lambda x: x.chalf(), floats(3, 4), tolerance=(1e-2, 2e-3), name="chalf"),
    case(lambda x: x.bool(), on_axes, name="complex to bool"),
    case(torch.logical_not, on_axes), case(torch.count_nonzero, on_axes), case(torch.nonzero, on_axes, dynamic=False), case(torch.any, on_axes), case(torch.all, on_axes),
    # sums
    *[case(fn, a, name=name) for name, fn in {
        "sum": torch.sum, "sum of rows": lambda x: x.sum(-1), "mean": torch.mean, "cumsum": lambda x: x.cumsum(-1), "cumprod": lambda x: x.cumprod(0), "prod": torch.prod, "prod of rows": lambda x: x.prod(-1), "prod kept": lambda x: x.prod(0, keepdim=True), "trace": torch.trace,
        "var": torch.var, "std": lambda x: x.std(-1), "norm": torch.linalg.vector_norm, "norm 1": lambda x: torch.linalg.vector_norm(x, 1, -1), "norm inf": lambda x: torch.linalg.vector_norm(x, float("inf")), "frobenius norm": lambda x: torch.ops.aten.frobenius_norm(x, [-2, -1]),
    }.items()],
    case(lambda x: x.mean(0, keepdim=True), a, dynamic={0: [1]}, name="mean kept"), case(lambda x: x.unbind(-2), a, dynamic={0: [1]}, name="unbind"),
    case(torch.var_mean, a), case(torch.dist, a, b),
    # products
    case(torch.mm, a, z(4, 5)), case(torch.bmm, z(2, 3, 4), z(2, 4, 5)), case(torch.matmul, z(2, 3, 4), z(4)), case(torch.mv, a, z(4)), case(torch.dot, z(4), z(4)), case(torch.vdot, z(4), z(4)),
    case(F.conv1d, z(2, 3, 8), z(4, 3, 3), z(4), stride=2, padding=1, dynamic={0: [0, 2]}), case(F.conv1d, z(4, 6), z(4, 2, 3), groups=2, padding="same", dynamic={0: [1]}), case(F.conv2d, z(2, 2, 5, 6, dtype=torch.complex128), z(3, 2, 2, 3, dtype=torch.complex128), dynamic={0: [0]}), case(F.conv3d, z(1, 1, 3, 4, 5), z(2, 1, 2, 2, 2), dynamic=False), case(F.conv_transpose1d, z(2, 3, 5), z(3, 2, 3), z(2), stride=2, padding=1, output_padding=1, dynamic={0: [0, 2]}), case(F.conv_transpose2d, z(1, 2, 3, 4), z(2, 3, 2, 2), dynamic=False),
    case(torch.linalg.vecdot, a, b), case(torch.addmm, z(5), a, z(4, 5), beta=0.5, alpha=2), case(torch.addmm, z(5), a, z(4, 5), beta=1j), case(torch.baddbmm, z(2, 3, 5), z(2, 3, 4), z(2, 4, 5)), case(torch.outer, z(3), z(4)),
    case(torch.einsum, "ij,jk->ki", a, z(4, 5)), case(torch.einsum, "ij,kj->ik", z(2, 0), z(5, 0), dynamic=False), case(torch.einsum, "ij->j", a), case(torch.kron, z(2, 3), z(3, 2), dynamic=False), case(torch.tensordot, a, z(4, 5), 1), case(torch.inner, a, z(5, 4)),
    case(F.linear, a, z(5, 4), z(5)), case(torch.linalg.cross, z(4, 3), z(4, 3), dynamic=False), case(torch.linalg.multi_dot, [a, z(4, 5), z(5)], dynamic=False),
    case(torch.mm, z(3, 4, dtype=torch.complex128), z(4, 5, dtype=torch.complex128)),
    # factorizations
    *each([torch.linalg.inv, torch.linalg.det, torch.linalg.slogdet, torch.logdet, torch.linalg.lu, torch.linalg.lu_factor], squares, dynamic={0: [0]}),
    case(torch.linalg.qr, z(2, 4, 3), dynamic={0: [0]}), literal(aten.geqrf.default, z(2, 4, 3)), case(torch.linalg.qr, z(3, 4), mode="complete", dynamic=False),
    case(torch.linalg.matrix_power, squares, 3, dynamic={0: [0]}), case(torch.matrix_exp, 0.3 * squares, dynamic={0: [0]}),
    case(torch.linalg.solve, squares, z(2, 4, 3), dynamic=False), case(torch.linalg.solve, squares, z(2, 3, 4), left=False, dynamic=False),
    *[case(torch.linalg.lu_solve, *torch.linalg.lu_factor(squares), z(*sizes), left=left, adjoint=adjoint, dynamic=False, again=False)
      for left, sizes in ((True, (2, 4, 3)), (False, (2, 3, 4))) for adjoint in (True, False)],
    *[case(torch.ormqr, *torch.geqrf(z(4, 3)), z(*sizes), left=left, transpose=transpose, dynamic=False, again=False)
      for left, sizes in ((True, (4, 2)), (False, (2, 4))) for transpose in (True, False)],
    *[case(torch.linalg.cholesky, positive, upper=upper, dynamic=False, again=False) for upper in (True, False)],
    *[case(fn, torch.linalg.cholesky(positive, upper=upper), upper=upper, dynamic=False, again=False, name=f"cholesky {upper} {i}")
      for upper in (True, False) for i, fn in enumerate((torch.cholesky_inverse, lambda x, upper: torch.cholesky_solve(x[..., :1], x, upper=upper)))],
    case(torch.linalg.solve_triangular, squares, z(2, 4, 3), upper=True, dynamic=False),
    case(torch.triangular_solve, z(2, 4, 3), squares, transpose=True, dynamic=False),
    # symmetric or Hermitian, not definite
    *[case(torch.linalg.ldl_factor_ex, x, hermitian=h, dynamic=False, again=False) for h in (False, True) for x in indefinite(h)],
    case(torch.linalg.ldl_factor, z(3, 3, dtype=torch.complex128), hermitian=True, dynamic=False, again=False, name="ldl_factor of a triangle"),
    *[case(torch.linalg.ldl_factor, mirrored(3, 3, conjugate=h), hermitian=h, second=(paired(5, h),), again=False) for h in (False, True)],
    *[case(torch.linalg.ldl_solve, *torch.linalg.ldl_factor(x, hermitian=h), z(x.shape[-1], 2).to(x.dtype), hermitian=h, dynamic=False, again=False) for h in (False, True) for x in indefinite(h)[:4]],
    # Hermitian eigenvalues and singular values, with LAPACK's phases
    *[case(torch.linalg.eigh, hermitian(*sizes), UPLO=uplo, dynamic=False, again=False) for sizes in ((1, 1), (2, 2), (3, 4, 4), (7, 7)) for uplo in ("L", "U")], case(torch.linalg.eigh, hermitian(4, 4), second=(hermitian(6, 6),), again=False, name="eigh dynamic"),
    *[case(torch.linalg.eigvalsh, squares, UPLO=uplo, dynamic={0: [0]}) for uplo in ("L", "U")], case(eigh_rebuilt, hermitian(28, 28), dynamic=False, again=False, name="eigh of many"), case(eigh_rebuilt, torch.zeros(3, 3, dtype=torch.complex64), dynamic=False, again=False, name="eigh of zeros"),
    *[case(torch.linalg.svd, z(*sizes, dtype=torch.complex128), full_matrices=full, dynamic=False, again=False) for sizes in ((1, 1), (3, 1), (1, 3), (2, 4, 4), (4, 3), (3, 4), (7, 4), (3, 6), (6, 11), (6, 10)) for full in (False, True)],
    case(torch.linalg.svd, z(4, 3, dtype=torch.complex128), second=(z(4, 9, dtype=torch.complex128),), again=False, name="svd dynamic"), case(torch.svd, z(2, 4, 3, dtype=torch.complex128), dynamic=False, again=False), case(lambda x: torch.svd(x, compute_uv=False), a, name="svd without vectors"),
    *[case(svd_rebuilt, x, dynamic=False, again=False, tolerance=(1e-3, 1e-3), name=f"svd of {what}") for what, x in (("low rank", z(4, 2) @ z(2, 3)), ("zeros", torch.zeros(3, 2, dtype=torch.complex64)), ("many", z(26, 27)))],
    case(torch.linalg.svdvals, a), case(torch.linalg.svdvals, squares), case(torch.linalg.matrix_rank, z(4, 2) @ z(2, 3)), case(torch.linalg.matrix_rank, hermitian(3, 3).to(torch.complex64), hermitian=True), *[case(torch.linalg.pinv, z(*sizes), **CLOSE) for sizes in ((5, 3), (2, 3, 5))], case(torch.linalg.pinv, positive, hermitian=True, again=False, dynamic={0: [0]}, **CLOSE), case(torch.pinverse, a, **CLOSE),
    *[case(torch.linalg.matrix_norm, squares, ord=p, dynamic={0: [0]}) for p in (1, -1, 2, -2, float("inf"), float("-inf"), "fro", "nuc")], case(torch.linalg.norm, a, 2), case(torch.linalg.norm, a, "nuc"), case(torch.norm, a, "nuc"), *[case(torch.linalg.cond, positive, p=p, dynamic=p not in ("fro", "nuc") and {0: [0]}, again=False, **CLOSE) for p in (None, -2, 1, "fro", "nuc")],
    *[literal(aten.linalg_lstsq.default, z(5, 3), z(5, 2), driver=driver) for driver in ("gels", "gelsy", "gelsd", "gelss")],
    *[case(fn, z(0, 5), dynamic=False, name=f"{fn.__name__} of nothing") for fn in (torch.mean, torch.var_mean)], *[case(torch.logaddexp, 4 * x, 4 * y) for x, y in ((a, b), (a, z()), (a, z(3, 1, 1)))], *[case(torch.logcumsumexp, 4 * a, dim) for dim in (0, -1)], case(torch.logcumsumexp, z(), 0),
    case(torch.logaddexp, torch.tensor([complex(-float("inf"), 0), complex(1, 2)]), torch.tensor([complex(-float("inf"), 0), complex(-float("inf"), 0)]), again=False, name="logaddexp of nothing"),
    case(torch.logcumsumexp, torch.tensor([complex(1, 0), complex(float("inf"), 0), complex(float("nan"), 0), complex(1, 0)]).real.to(torch.complex64), 0, again=False, name="logcumsumexp of NaN", check=lambda want, got: (want.real.isnan() == torch.from_numpy(got)[..., 0].isnan()).all()),
    *[case(lambda x: torch.nonzero(x, as_tuple=True), t, dynamic=False, again=False, name=f"nonzero as tuple of {what}") for what, t in (("some", torch.tensor([[0, 1j], [2, 0]])), ("none", z(0, 2)), ("one", z()))], case(torch.logsumexp, a, -1), case(torch.logsumexp, 200 * a, (0, 1), keepdim=True), case(torch.special.logsumexp, z(), 0), case(torch.vander, z(4)), case(torch.linalg.vander, a, N=3),
    # norms
    *[case(torch.renorm, z(3, 4, 2), p, dim, 1.5) for p, dim in ((2, 0), (1, 1), (3.5, -1), (0.5, 1))], case(torch.renorm, z(3, 4, dtype=torch.complex128), 2, 0, 100.0),
    *[case(fn, a, [4], weight, dynamic={0: [0]}, name=f"{name} of {what} weights") for name, fn in (("rms_norm", F.rms_norm), ("_fused_rms_norm", lambda *args: aten._fused_rms_norm(*args, 1e-5))) for what, weight in (("no", None), ("real", floats(4)), ("complex", z(4)))],
    case(F.rms_norm, z(2, 3, 4, dtype=torch.complex128), [3, 4], eps=0.5, dynamic={0: [0]}),
    # what moves elements, or is made of the above
    *each([torch.isclose, F.l1_loss, F.pairwise_distance, torch.cartesian_prod], z(4), z(4)), case(F.triplet_margin_loss, a, b, z(3, 4)),
    *each([torch.diff, torch.trapezoid, torch.cumulative_trapezoid, lambda x: torch.gradient(x, dim=-1)], a), case(lambda x: x.sum_to_size(1, 4), a, dynamic=False, name="sum_to_size"),
    case(torch.ldexp, a, ints(4)), *each([torch.linspace, torch.logspace], z(), z(), 5, dtype=torch.complex64), *each([torch.linspace, torch.logspace], floats(), 1 - 2j, 3, dtype=torch.complex128), case(lambda x: x + torch.linspace(0, 2, 4, dtype=torch.complex64), a, name="linspace"), case(lambda x: torch.softmax(x, -1, dtype=torch.float32), floats(3, 4).to(torch.complex64), name="softmax"),
    case(torch.diagonal_scatter, a, z(3), dynamic=False), case(torch.put, a, torch.tensor([1, 1, 4]), z(3), accumulate=True, dynamic=False),
    case(torch.as_strided_copy, a, (2, 2), (4, 1), dynamic=False, strided=False), case(torch.as_strided_scatter, a, z(2, 2), (2, 2), (4, 1), dynamic=False, strided=False), case(lambda x: x + torch.eye(3, 4, dtype=torch.complex64), a, dynamic=False, name="eye"),
    case(F.pixel_shuffle, z(2, 4, 2, 3), 2, dynamic={0: [0]}), case(F.pixel_unshuffle, z(2, 1, 2, 4), 2, dynamic={0: [0]}), case(F.channel_shuffle, z(2, 4, 3, 1), 2, dynamic={0: [0]}),
    case(F.unfold, z(2, 2, 4, 5), 2, dynamic={0: [0]}), case(lambda x: torch.nonzero_static(x, size=4), on_axes, dynamic=False, name="nonzero_static"),
    # branch cuts by the signs of zeros, what grows beyond floats along an axis, and powers of 0
    *each([torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh, torch.log1p], torch.complex(*torch.meshgrid(*[torch.tensor([0.0, -0.0, 0.5, 2.5, -2.5, 50.0])] * 2, indexing="ij"))),
    *each([torch.sinh, torch.cosh], torch.complex(torch.tensor([100.0, -100.0, 1.0]), torch.tensor([0.0, 0.0, 0.0]))), *each([torch.sin, torch.cos], torch.complex(torch.tensor([0.0, 0.0, 0.0]), torch.tensor([100.0, -100.0, 1.0]))), case(torch.sqrt, torch.tensor([3e38 + 1j, -3e38 + 2j, 1 + 1j])),
    case(torch.pow, 0, torch.tensor([0, 1, -1, 1j, 2 + 1j, -2 - 1j])), case(torch.pow, torch.tensor([0, 1, 1j, 2]), torch.tensor([[0j], [-1], [2]])), *[case(torch.pow, torch.tensor([0, 1, 1j, 2]), p) for p in (-1, -2, 0j)],
    # what does nothing to a complex tensor, or sees its memory
    *[case(fn, a, 0.5, False) for fn in (F.alpha_dropout, F.feature_alpha_dropout)], *[literal(aten.resize.default, a, size) for size in ([2, 6], [2, 3])], literal(aten.resize_as.default, a, floats(2, 5)),
]
