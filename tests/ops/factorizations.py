import functools

import torch
from harness import case, floats, ints

linalg, aten = torch.linalg, torch.ops.aten
f64 = torch.float64


def positive(*sizes, dtype=torch.float32):
    x = floats(*sizes, dtype=dtype)
    return x @ x.mT + sizes[-1] * torch.eye(sizes[-1], dtype=dtype)


def regular(*sizes, dtype=torch.float32):
    """Well conditioned, and in need of exchanged rows."""
    return floats(*sizes, dtype=dtype) + 8 * torch.eye(sizes[-1], dtype=dtype).flip(-1)


def triangle(*sizes, upper=False):
    x = floats(*sizes) + 6 * torch.eye(sizes[-1])
    return x.triu() if upper else x.tril()


def symmetric(*sizes, dtype=torch.float32):
    x = floats(*sizes, dtype=dtype)
    return x + x.mT


def with_repeated_values():
    """Symmetric, and so regular that eigenvalues are equal: whatever rounding makes of equal elements decides what is turned."""
    ring, signs = torch.eye(7, dtype=f64).roll(1, 0), (-1.0) ** torch.arange(7, dtype=f64)
    yield "ones", torch.ones(7, 7, dtype=f64) + torch.eye(7, dtype=f64)
    yield "a ring", 2 * torch.eye(7, dtype=f64) - ring - ring.T
    yield "signs", torch.outer(signs, signs) + 3 * torch.eye(7, dtype=f64)


def paired(size, dtype=torch.float32):
    """Symmetric, with a diagonal so small that pivots are blocks."""
    x = symmetric(size, size, dtype=dtype)
    return x - torch.diag(x.diagonal()) * 0.99


FIXED = {"again": False}  # other values need not be positive definite, or invertible
# A second size for square inputs: a larger matrix of the same kind.
three, four, batch = regular(3, 3), regular(4, 4), regular(2, 3, 3)
many = regular(2, 1, 4, 4)


def square(fn, *, make=regular, name=None, tolerance=None, **kwargs):
    """Of one matrix and of batches, with all sizes dynamic; and in float64."""
    rows = []
    for sizes, larger in (((3, 3), (5, 5)), ((2, 4, 4), (3, 6, 6))):
        rows.append(case(fn, make(*sizes), second=(make(*larger),), name=f"{name or fn.__name__} {sizes} {kwargs}", tolerance=tolerance, **FIXED, **kwargs))
    rows.append(case(fn, make(2, 3, 3, dtype=f64), dynamic=False, name=f"{name or fn.__name__} float64 {kwargs}", **FIXED, **kwargs))
    return rows


def rebuilt(fn, build):
    """Checks a decomposition that is not unique by what it makes up."""

    @functools.wraps(fn)
    def run(a, **kwargs):
        return build(*fn(a, **kwargs))

    return run


def gram(q):
    return q.mT @ q


def moments(values):
    """Sums of powers, which do not depend on the order."""
    return torch.stack([(values / 4) ** k for k in (1, 2, 3)]).sum(-1)


def eigvals_powers(a):
    return moments(linalg.eigvals(a))


def eig_residual(a):
    """Lengths of the eigenvectors, and what is left of A·V - V·diag(w)."""
    w, v = linalg.eig(a)
    return v.abs().square().sum(-2), moments(w), (a.to(v.dtype) @ v - v @ torch.diag_embed(w)).abs()


def eig_without_signs(a):
    """Signs depend on how many steps the iteration takes, which rounding decides now and then."""
    w, v = linalg.eig(a)
    return w, v.abs(), (a.to(v.dtype) @ v - v @ torch.diag_embed(w)).abs()


def at_scales(fn, *growing):
    """Of matrices of scales of their own; those results that grow as the matrix does are divided by its scale."""

    @functools.wraps(fn)
    def run(a, scales):
        results = fn(a * scales[:, None, None])
        results = results if isinstance(results, tuple) else (results,)
        return tuple(x / scales.reshape(-1, *[1] * (x.dim() - 1)) if i in growing else x for i, x in enumerate(results))

    return run


def parts_of_eigenvalues(a):
    return linalg.eigvals(a).real.sort().values


def beside_infinity(fn):
    """Of the matrices of a batch that are finite, of which another is not."""

    @functools.wraps(fn)
    def run(a, wild):
        return fn(torch.cat([a, wild]))[: len(a)]

    return run


def blocks_on_the_diagonal(a):
    factors = linalg.ldl_factor(a + a.mT)
    return factors.LD.diagonal(dim1=-2, dim2=-1), factors.pivots


svd_rebuilt = rebuilt(linalg.svd, lambda u, s, vh: (u[..., : s.shape[-1]] @ torch.diag_embed(s) @ vh[..., : s.shape[-1], :], s, gram(u), gram(vh.mT)))
eigh_rebuilt = rebuilt(linalg.eigh, lambda w, v: (v @ torch.diag_embed(w) @ v.mT, w, gram(v)))
low_rank = floats(5, 2) @ floats(2, 4)
shapes = [floats(5, 3), floats(3, 5), floats(2, 4, 3), floats(4, 4)]
CLOSE = {"tolerance": (1e-3, 1e-3)}

CASES = [
    # triangles
    *square(linalg.cholesky, make=positive), *square(linalg.cholesky, make=positive, upper=True), *square(linalg.cholesky_ex, make=positive), *square(torch.cholesky, make=positive),
    case(linalg.cholesky_ex, torch.tensor([[1.0, 2, 0], [2, 1, 0], [0, 0, 1]]), dynamic=False, **FIXED),
    *[case(torch.cholesky_solve, floats(3, 2), triangle(3, 3, upper=upper), upper=upper, **FIXED) for upper in (False, True)],
    case(torch.cholesky_solve, floats(2, 3, 2), triangle(3, 3), **FIXED),
    *[case(torch.cholesky_inverse, triangle(4, 4, upper=upper), upper=upper, dynamic=False, **FIXED) for upper in (False, True)],
    *[case(linalg.solve_triangular, triangle(3, 3, upper=upper), floats(3, 3), upper=upper, left=left, unitriangular=unit, **FIXED, **CLOSE) for upper in (False, True) for left in (False, True) for unit in (False, True)],
    case(linalg.solve_triangular, triangle(2, 1, 3, 3), floats(4, 3, 2), upper=False, dynamic=False, **FIXED),
    *[case(linalg.solve_triangular, triangle(3, 3).to(own), floats(3, 2).to(other), upper=False, dynamic=False, **FIXED, **CLOSE) for own, other in ((torch.float32, torch.float64), (torch.float64, torch.float32), (torch.complex64, torch.float32))],
    *[case(torch.triangular_solve, floats(3, 2), triangle(3, 3, upper=upper), upper=upper, transpose=transpose, **FIXED) for upper in (False, True) for transpose in (False, True)],
    # LU
    *square(linalg.lu_factor), *square(linalg.lu_factor_ex), *square(linalg.lu), *square(lambda a: torch.lu(a, get_infos=True), name="torch.lu"),
    *[case(fn, x, dynamic=False) for fn in (linalg.lu_factor, linalg.lu) for x in (floats(3, 5), floats(5, 3), floats(0, 3), floats(2, 0, 0))],
    case(linalg.lu_factor, floats(2, 5, 3), dynamic=True),
    case(linalg.lu_factor_ex, torch.ones(3, 3), **FIXED),
    *[case(linalg.lu_solve, *linalg.lu_factor(four), floats(4, 4), left=left, adjoint=adjoint, dynamic=False, **FIXED) for left in (True, False) for adjoint in (True, False)],
    case(torch.lu_solve, floats(2, 3, 2), *linalg.lu_factor(batch), dynamic=False, **FIXED),
    case(torch.lu_unpack, *linalg.lu_factor(batch), dynamic=False, **FIXED), case(torch.lu_unpack, *linalg.lu_factor(floats(3, 5)), dynamic=False, **FIXED), case(torch.lu_unpack, *linalg.lu_factor(four), unpack_data=False, dynamic=False, **FIXED),
    *square(linalg.inv), *square(linalg.inv_ex), *square(torch.inverse), *square(linalg.det), *square(linalg.slogdet), *square(torch.logdet), *square(torch.det), *square(torch.slogdet),
    case(lambda a: aten._linalg_det(a)[0], batch, **FIXED, name="_linalg_det"), case(lambda a: aten._linalg_slogdet(a)[:2], batch, **FIXED, name="_linalg_slogdet"),
    case(lambda a, b: aten._linalg_solve_ex(a, b)[0], batch, floats(2, 3, 2), **FIXED, name="_linalg_solve_ex"),
    case(linalg.det, torch.ones(3, 3), **FIXED), case(linalg.slogdet, torch.zeros(2, 2), **FIXED), case(linalg.det, floats(0, 0), dynamic=False),
    case(linalg.solve, four, floats(4), **FIXED), case(linalg.solve, batch, floats(2, 3), **FIXED), case(lambda a: linalg.solve(a, torch.ones(2, 3)), batch, name="solve for vectors of known sizes", dynamic=False, **FIXED), case(linalg.solve, batch, floats(2, 3, 5), **FIXED), case(linalg.solve, many, floats(3, 4, 2), dynamic=False, **FIXED), case(linalg.solve, four, floats(2, 4), left=False, **FIXED), case(linalg.solve_ex, four, floats(4, 2), **FIXED),
    case(linalg.tensorinv, regular(6, 6).reshape(6, 2, 3), ind=1, dynamic=False, **FIXED), case(linalg.tensorsolve, regular(6, 6).reshape(2, 3, 6), floats(2, 3), dynamic=False, **FIXED), case(linalg.tensorsolve, regular(6, 6).reshape(6, 2, 3), floats(2, 3), dims=(0,), dynamic=False, **FIXED),
    *[case(linalg.matrix_power, regular(2, 3, 3), n, dynamic={0: [0]}, **FIXED, **CLOSE) for n in (0, 1, 2, 5, -1, -3)], case(torch.matrix_power, regular(3, 3), 3, dynamic=False, **FIXED),
    # QR
    *[case(linalg.qr, x, mode=mode, **CLOSE) for x in shapes for mode in ("reduced", "complete", "r")], case(linalg.qr, floats(3, 4, dtype=f64)), case(linalg.qr, torch.eye(3), **FIXED), case(linalg.qr, floats(3, 0), dynamic=False), case(torch.qr, floats(4, 3)), case(torch.qr, floats(4, 3), some=False),
    *[case(torch.geqrf, x, dynamic=False, **CLOSE) for x in shapes],
    *[case(fn, *torch.geqrf(x), dynamic=False, **FIXED) for fn in (linalg.householder_product, torch.orgqr) for x in (floats(5, 3), floats(2, 4, 4))],
    *[case(torch.ormqr, *torch.geqrf(floats(4, 4)), floats(4, 4), left=left, transpose=transpose, dynamic=False, **FIXED) for left in (True, False) for transpose in (True, False)],
    # singular values and eigenvalues
    *[case(svd_rebuilt, x, full_matrices=full, **CLOSE) for x in (low_rank, torch.zeros(3, 2), torch.ones(3, 3)) for full in (False, True)], *[case(linalg.svdvals, x, **CLOSE) for x in (*shapes, low_rank)],
    case(lambda x: torch.svd(x, compute_uv=False), floats(4, 3), name="svd without vectors", **CLOSE), case(lambda x: aten._linalg_svd(x, compute_uv=False)[1], floats(4, 3), name="_linalg_svd", **CLOSE),
    *square(eigh_rebuilt, make=positive, name="eigh", **CLOSE), *[case(linalg.eigvalsh, floats(4, 4), UPLO=uplo, **CLOSE) for uplo in ("L", "U")], case(linalg.eigvalsh, floats(2, 6, 6, dtype=f64)), case(eigh_rebuilt, torch.zeros(3, 3)), case(lambda x: aten._linalg_eigh(x)[0], floats(3, 3), name="_linalg_eigh", **CLOSE),
    case(linalg.eigvalsh, positive(24, 24), dynamic=False, **CLOSE), case(linalg.svdvals, floats(30, 20), dynamic=False, **CLOSE),
    *[case(fn, x, second=(larger,), name=f"{fn.__name__} of {what}", **FIXED) for what, x in with_repeated_values() for larger in [torch.block_diag(x, x)] for fn in (linalg.eigvalsh, eigh_rebuilt, linalg.svdvals, svd_rebuilt, eig_residual)],
    *[case(at_scales(fn, *growing), floats(3, 4, 4, dtype=dtype), torch.tensor([most, 1 / most, 1], dtype=dtype), dynamic={0: [1, 2]}, name=f"{fn.__name__} at scales {dtype}", **FIXED) for fn, *growing in ((linalg.qr, 1), (linalg.svdvals, 0), (svd_rebuilt, 0, 1), (linalg.eigvalsh, 0), (linalg.eigh, 0), (parts_of_eigenvalues, 0), (blocks_on_the_diagonal, 0)) for dtype, most in ((torch.float32, 1e20), (f64, 1e200))],
    *[case(beside_infinity(fn), floats(2, 4, 4), torch.diag_embed(torch.tensor([[float("inf"), 1, 1, 1]])), dynamic=False, name=f"{fn.__name__} beside infinity", **FIXED, **CLOSE) for fn in (linalg.svdvals, linalg.cond, linalg.eigvalsh)],
    *square(eig_residual, name="eig"), case(eig_residual, floats(5, 5), **CLOSE), case(eig_residual, torch.tensor([[0.0, 1], [-1, 0]]), dynamic=False, **FIXED), case(eig_residual, torch.diag(torch.tensor([1.0, 2, 2])), dynamic=False, **FIXED),
    *[case(eigvals_powers, floats(*sizes), **CLOSE) for sizes in ((4, 4), (2, 6, 6))], case(lambda x: moments(aten._linalg_eigvals(x)), floats(3, 3), name="_linalg_eigvals", **CLOSE),
    # what follows from them
    *[case(linalg.matrix_rank, x, **FIXED) for x in (low_rank, floats(4, 3), torch.zeros(3, 3), torch.ones(2, 3, 3))], case(linalg.matrix_rank, positive(3, 3), hermitian=True, **FIXED), case(linalg.matrix_rank, low_rank, tol=1.0, **FIXED), case(linalg.matrix_rank, low_rank, atol=torch.tensor(0.5), **FIXED), case(linalg.matrix_rank, low_rank, atol=0.5, rtol=0.1, **FIXED), case(lambda a, t: aten.linalg_matrix_rank.tol_tensor(a, t), low_rank, torch.tensor(0.1), name="rank above a tensor", **FIXED), case(linalg.matrix_rank, low_rank, torch.tensor([[0.1, 2.0], [0.5, 9.0]]), **FIXED),
    *[case(linalg.pinv, x, **FIXED, **CLOSE) for x in (floats(5, 3), floats(2, 3, 5), low_rank)], case(linalg.pinv, positive(3, 3), hermitian=True, **FIXED, **CLOSE), case(linalg.pinv, floats(4, 3), atol=0.1, rtol=0.01, **FIXED, **CLOSE), case(linalg.pinv, floats(4, 3), rtol=torch.tensor(0.01), **FIXED, **CLOSE), case(torch.pinverse, floats(4, 3), **FIXED, **CLOSE), case(torch.pinverse, floats(4, 3), dynamic={0: [0]}, opsets=[9, 11], name="pinverse where integers have no minimum", **FIXED, **CLOSE), case(lambda a: aten.linalg_pinv(a, 0.1), floats(4, 3), name="pinv by a number", **FIXED, **CLOSE), case(lambda a, t: aten.linalg_pinv.rcond_tensor(a, t), floats(4, 3), torch.tensor(0.1), name="pinv by a tensor", **FIXED, **CLOSE), case(linalg.pinv, floats(4, 3), torch.tensor([0.1, 0.9]), **FIXED, **CLOSE),
    *[case(linalg.cond, regular(2, 3, 3), p=p, dynamic=p not in ("fro", "nuc"), **FIXED, **CLOSE) for p in (None, 2, -2, 1, -1, float("inf"), float("-inf"), "fro", "nuc")], case(linalg.cond, floats(4, 3), **FIXED, **CLOSE),
    *[case(linalg.matrix_norm, floats(2, 4, 3), ord=ord, **CLOSE) for ord in ("fro", "nuc", 2, -2, 1, -1, float("inf"), float("-inf"))], case(linalg.matrix_norm, floats(2, 3, 4), ord="nuc", dim=(0, 2), keepdim=True, **CLOSE), case(linalg.matrix_norm, floats(2, 3, 4), ord=1, dim=(2, 0), keepdim=True), case(linalg.matrix_norm, floats(3, 4), dtype=f64),
    *[case(linalg.norm, floats(3, 4), ord=ord, **CLOSE) for ord in (None, 1, 2, "fro", "nuc")], *[case(linalg.norm, floats(4), ord=ord) for ord in (None, 1, 3.5, 0)], case(linalg.norm, floats(2, 3, 4), dim=-1), case(linalg.norm, floats(2, 3, 4), ord=1, dim=(0, 1), keepdim=True), case(linalg.norm, floats(2, 3, 4), keepdim=True),
    case(torch.norm, floats(3, 4), p="nuc", **CLOSE), case(torch.norm, floats(2, 3, 4), p="nuc", dim=(1, 2), **CLOSE), case(torch.norm, floats(3, 4), p="fro", dim=1), case(aten.frobenius_norm.dim, floats(2, 3, 4), [1, 2]), case(aten.nuclear_norm.default, floats(3, 4), **CLOSE), case(aten.nuclear_norm.dim, floats(2, 3, 4), [0, 1], **CLOSE),
    case(torch.matrix_exp, torch.stack([floats(4, 4, low=-9, high=9), floats(4, 4) / 100]), dynamic=False, name="matrix_exp of unequal norms", tolerance=(1e-3, 1e-3), **FIXED),
    *square(torch.matrix_exp, make=lambda *s, dtype=torch.float32: floats(*s, low=-1, high=1, dtype=dtype), **CLOSE), case(linalg.matrix_exp, torch.zeros(2, 3, 3), **FIXED), case(torch.matrix_exp, floats(3, 3, low=-9, high=9), again=False, dynamic=False, tolerance=(1e-2, 1.0)),
    *[case(torch.vander, value, N=n, increasing=up) for value, n, up in ((floats(4), None, False), (floats(4), 3, True), (ints(4), 5, False))],
    case(linalg.vander, floats(2, 4)), case(linalg.vander, ints(4), N=3), case(linalg.vander, floats(4), N=6),
    # signs are LAPACK's; in float32 rounding decides now and then, so these are compared in float64
    *[case(linalg.eigh, symmetric(*sizes, dtype=f64), UPLO=uplo, dynamic=False, **FIXED) for sizes in ((1, 1), (2, 2), (3, 3), (5, 5), (9, 9), (3, 4, 4)) for uplo in ("L", "U")], case(linalg.eigh, symmetric(4, 4, dtype=f64), second=(symmetric(6, 6, dtype=f64),), name="eigh dynamic", **FIXED),
    case(linalg.eigh, torch.diag_embed(torch.tensor([[3.0, 1, 2], [5, 4, 6]])).double(), dynamic=False, name="eigh of diagonals", **FIXED), case(eigh_rebuilt, symmetric(30, 30), dynamic=False, name="eigh of many", **FIXED, **CLOSE),
    # the order of eigenvalues is LAPACK's
    *[case(fn, x, dynamic=False, **FIXED) for x in (floats(1, 1, dtype=f64), floats(2, 2, dtype=f64), floats(5, 5, dtype=f64), floats(3, 6, 6, dtype=f64), floats(9, 9, dtype=f64), torch.zeros(2, 0, 0)) for fn in (eig_without_signs, linalg.eigvals)],
    case(eig_without_signs, floats(4, 4, dtype=f64), second=(floats(6, 6, dtype=f64),), name="eig dynamic", **FIXED), case(linalg.eigvals, floats(7, 7, dtype=f64), **FIXED),
    *[case(linalg.eigvals, x, dynamic=False, name=f"eigvals of {what}", **FIXED) for what, x in (
        ("a triangle", floats(4, 4, dtype=f64).tril()), ("isolated values", torch.tensor([[1.0, 2, 0, 0], [0, 3, 0, 0], [4, 5, 6, 7], [0, 8, 0, 9]], dtype=f64)),
        ("a rotation", torch.tensor([[0.0, 1, 0], [-1, 0, 0], [0, 0, 2]])), ("a cycle", torch.eye(5, dtype=f64).roll(1, 0)), ("unequal scales", floats(5, 5, dtype=f64) * torch.logspace(-6, 6, 5, dtype=f64)),
        ("equal values", torch.tensor([[2.0, 1, 0], [0, 2, 1], [0, 0, 2]])), ("zeros", torch.zeros(3, 3)))],
    *[case(linalg.svd, floats(*sizes, dtype=f64), full_matrices=full, dynamic=False, **FIXED) for sizes in ((1, 1), (3, 1), (1, 3), (2, 2), (4, 3), (5, 4), (7, 4), (3, 4), (4, 9), (2, 6, 6), (12, 11)) for full in (False, True)], *[case(linalg.svd, floats(*sizes), **FIXED, **CLOSE) for sizes in ((5, 3), (2, 3, 5))],
    case(linalg.svd, floats(4, 5, dtype=f64), second=(floats(7, 3, dtype=f64),), name="svd dynamic, then tall", **FIXED), case(linalg.svd, floats(9, 2, dtype=f64), full_matrices=False, second=(floats(5, 4, dtype=f64),), name="svd dynamic, then nearly square", **FIXED), case(torch.svd, floats(2, 4, 3, dtype=f64), **FIXED), case(lambda x: aten._linalg_svd(x, True), floats(3, 5, dtype=f64), name="_linalg_svd with vectors", **FIXED),
    *[case(linalg.svd, x, dynamic=False, name=f"svd of {what}", **FIXED) for what, x in (
        ("zeros", torch.zeros(3, 2)), ("the opposite of the identity", -torch.eye(4)), ("a diagonal", torch.diag(torch.tensor([1.0, -3, 2, 0]))), ("equal values", torch.eye(5)[[2, 0, 1, 4, 3]]), ("zeros on the diagonal", torch.tensor([[0.0, 1], [0, 0]])), ("a zero column", torch.cat([torch.zeros(4, 1, dtype=f64), floats(4, 2, dtype=f64)], 1)),
        ("two blocks", torch.block_diag(floats(2, 2, dtype=f64), floats(3, 3, dtype=f64))), ("unequal scales", floats(5, 5, dtype=f64) * torch.logspace(-6, 6, 5, dtype=f64)), ("a Hilbert matrix", 1 / (torch.arange(6, dtype=f64)[:, None] + torch.arange(1, 7))))],
    case(svd_rebuilt, floats(26, 27), dynamic=False, name="svd of many", **FIXED, **CLOSE),
    # symmetric, not definite
    *[case(linalg.ldl_factor_ex, x, dynamic=False, **FIXED, **CLOSE) for x in (symmetric(4, 4), symmetric(2, 5, 5), paired(6), torch.stack([paired(5), symmetric(5, 5)]), torch.zeros(3, 3), torch.zeros(0, 2, 2), torch.zeros(0, 0), symmetric(1, 1))],
    case(linalg.ldl_factor, symmetric(3, 3), second=(symmetric(5, 5),), **FIXED, **CLOSE), case(linalg.ldl_factor, paired(7, dtype=f64), dynamic=False, **FIXED),
    *[case(linalg.ldl_solve, *linalg.ldl_factor(x), b, dynamic=False, **FIXED, **CLOSE) for x, b in ((symmetric(4, 4), floats(4, 2)), (paired(6), floats(6, 3)), (torch.stack([paired(5), symmetric(5, 5)]), floats(5, 2)), (torch.zeros(0, 2, 2), floats(0, 2, 1)))],
    case(linalg.ldl_solve, torch.tensor([[1.0, 0, 0], [2, 0, 0], [3, 4, 5]]), torch.tensor([1, 2, 3], dtype=torch.int32), floats(3, 2), dynamic=False, name="ldl_solve of a singular one", **FIXED),
    case(linalg.ldl_solve, *linalg.ldl_factor(symmetric(3, 3)), floats(3, 2), second=(*linalg.ldl_factor(paired(5)), floats(5, 4)), **FIXED, **CLOSE),
    # of a triangle that is singular the solution is infinite where LAPACK's is
    case(torch.cholesky_solve, floats(3, 2), torch.tensor([[1.0, 0, 0], [2, 0, 0], [1, 3, 1]]), dynamic=False, **FIXED),
]
