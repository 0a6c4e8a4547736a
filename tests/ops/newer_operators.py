"""Operators of PyTorch releases newer than the one that the tests run on, with kernels by their documentation."""

from __future__ import annotations

import torch
from harness import floats
from literal import literal

NEWER = {
    "linalg_matrix_sqrth": "linalg_matrix_sqrth(Tensor self) -> Tensor",
    "linalg_polar": "linalg_polar(Tensor A) -> (Tensor U, Tensor H)",
}
library = torch.library.Library("aten", "FRAGMENT")
for name, schema in NEWER.items():
    if not hasattr(torch.ops.aten, name):
        library.define(schema)


def square_root(a):
    values, vectors = torch.linalg.eigh(a)
    return vectors @ torch.diag_embed(values.sqrt()).to(a.dtype) @ vectors.mH


def polar(a):
    u, values, vh = torch.linalg.svd(a, full_matrices=False)
    return u @ vh, vh.mH @ torch.diag_embed(values).to(a.dtype) @ vh


library.impl("linalg_matrix_sqrth", square_root, "CompositeExplicitAutograd")
library.impl("linalg_polar", polar, "CompositeExplicitAutograd")

aten = torch.ops.aten
SQUARE = floats(2, 4, 4)
POSITIVE = SQUARE @ SQUARE.mT + 3 * torch.eye(4)
COMPLEX = torch.complex(floats(4, 3), floats(4, 3))
CASES = [
    *[literal(aten.linalg_matrix_sqrth.default, a) for a in (POSITIVE, POSITIVE[0].double(), torch.zeros(0, 0), COMPLEX.mH @ COMPLEX)],
    *[literal(aten.linalg_polar.default, a) for a in (floats(2, 5, 3), floats(3, 3).double(), torch.zeros(3, 0), COMPLEX)],
]
