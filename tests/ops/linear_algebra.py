import torch
from harness import bools, case, floats, ints
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
OTHERS = [torch.float64, *HALVES, torch.int32, torch.int64]
ROOM = {"tolerance": (5e-2, 1e-1)}
a, b = floats(3, 4), floats(4, 5)
batch_a, batch_b = floats(2, 3, 4), floats(2, 4, 5)



@torch.library.custom_op("transformers::grouped_mm_fallback", mutates_args=())
def grouped_mm_fallback(input: torch.Tensor, weight: torch.Tensor, offs: torch.Tensor) -> torch.Tensor:
    output = input.new_zeros(input.shape[0], weight.shape[2])
    begin = 0
    for i, end in enumerate(offs.tolist()):
        output[begin:end] = input[begin:end] @ weight[i]
        begin = end
    return output


@grouped_mm_fallback.register_fake
def _(input, weight, offs):
    return input.new_empty(input.shape[0], weight.shape[2])


def experts(x, w):
    return grouped_mm_fallback(x, w, torch.tensor([2, 2, 7], dtype=torch.int32))


def grouped(*ends):
    def grouped_mm(a, b):
        return F.grouped_mm(a, b, offs=torch.tensor(ends, dtype=torch.int32) if ends else None)

    return grouped_mm


CASES = [
    case(torch.einsum, "BA,AC", floats(2, 3), floats(3, 4), name="einsum of capital letters without an output"),
    case(torch.matmul, floats(2, 3, 0), floats(2, 0, 4), dynamic={0: [0, 1]}), case(torch.matmul, ints(3, 0), ints(0, 4), dynamic=False),
    case(F.linear, a, floats(5, 4), floats(5)),
    case(F.linear, a, floats(5, 4)),
    case(F.linear, batch_a, floats(5, 4), floats(5)),
    case(F.linear, floats(4), floats(5, 4), floats(5)),
    case(F.linear, a, floats(4)),
    case(F.linear, batch_a, floats(5, 4), floats(5), dtypes=HALVES, **ROOM),
    case(torch.mm, a, b, dtypes=OTHERS, **ROOM),
    case(torch.bmm, batch_a, batch_b),
    *[
        case(torch.matmul, floats(*one), floats(*other))
        for one, other in (((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((2, 1, 3, 4), (6, 4, 5)), ((3, 0), (0, 5)), ((0, 4), (4, 5)))
    ],
    case(torch.mv, a, floats(4)),
    case(torch.dot, floats(4), floats(4)),
    case(torch.dot, ints(4), ints(4)),
    case(torch.vdot, floats(4), floats(4)),
    case(aten.linalg_matmul.default, batch_a, batch_b),
    case(torch.addmm, floats(5), a, b),
    case(torch.addmm, floats(3, 1), a, b, beta=0.5, alpha=2),
    case(torch.addmm, floats(3, 5), a, b, beta=0),
    case(torch.addmm, floats(3, 5), floats(3, 0), floats(0, 5), beta=0.5, dynamic=False),
    case(torch.addmm, ints(3, 5), ints(3, 4), ints(4, 5), beta=2, alpha=3),
    case(aten._addmm_activation.default, floats(5), a, b),
    case(aten._addmm_activation.default, floats(3, 5), a, b, use_gelu=True),
    case(aten._addmm_activation.default, floats(3, 5), a, b, beta=0.5, alpha=2, use_gelu=True, dtypes=HALVES, **ROOM),
    case(aten._addmm_activation.default, floats(5), a, b, beta=0, alpha=-1),
    case(aten._addmm_activation.default, ints(3, 5), ints(3, 4), ints(4, 5), beta=2, alpha=3),
    case(torch._int_mm, ints(3, 4, dtype=torch.int8), ints(4, 5, dtype=torch.int8)),
    case(torch._int_mm, torch.full((3, 64), 127, dtype=torch.int8), torch.full((64, 8), -128, dtype=torch.int8), name="_int_mm of the largest"),
    case(torch._int_mm, torch.zeros(3, 0, dtype=torch.int8), torch.zeros(0, 5, dtype=torch.int8)),
    case(torch.addmv, floats(3), a, floats(4), beta=0.5, alpha=2),
    case(torch.addr, floats(3, 4), floats(3), floats(4), beta=2, alpha=0.5),
    case(torch.addr, floats(3, 4), floats(3), floats(4), beta=0),
    case(torch.baddbmm, floats(2, 3, 5), batch_a, batch_b, beta=0.5, alpha=2),
    case(torch.baddbmm, floats(5), batch_a, batch_b),
    case(torch.baddbmm, floats(2, 3, 5), batch_a, batch_b, beta=0),
    case(torch.addbmm, floats(3, 5), batch_a, batch_b, beta=0.5, alpha=2),
    case(torch.addbmm, ints(3, 5, dtype=torch.int32), ints(2, 3, 4, dtype=torch.int32), ints(2, 4, 5, dtype=torch.int32), alpha=2),
    case(torch.outer, floats(3), floats(4)),
    case(torch.ger, floats(3), floats(4)),
    case(torch.outer, floats(3), ints(4)),
    case(torch.inner, a, floats(5, 4)),
    case(torch.inner, batch_a, floats(4)),
    case(torch.inner, torch.tensor(2.0), a),
    case(torch.inner, torch.tensor(2), a),
    *[
        case(torch.einsum, equation, *operands)
        for equation, operands in (
            ("ij,jk->ik", (a, b)), ("ij,jk", (a, b)), ("b i j , b j k -> b i k", (batch_a, batch_b)), ("...ij,...jk->...ik", (batch_a, batch_b)),
            ("ii->i", (floats(3, 3),)), ("ii", (floats(3, 3),)), ("ij->", (a,)), ("i,j->ij", (floats(3), floats(4))), ("bhqd,bhkd->bhqk", (floats(2, 3, 4, 5), floats(2, 3, 6, 5))),
            ("ab,bc,cd->ad", (a, b, floats(5, 2))), ("...ik,...j->ij", (floats(2, 3, 4), floats(5))), ("...i,...i->i", (floats(2, 3, 4), floats(3, 4))),
        )
    ],
    case(torch.einsum, "ij,jk->ik", a, b, dtypes=HALVES, **ROOM),
    case(torch.tensordot, batch_a, floats(4, 2, 5), dims=([0, 2], [1, 0])),
    case(torch.tensordot, batch_a, b, dims=1),
    case(torch.tensordot, a, b, dims=0),
    case(torch.chain_matmul, a, b, floats(5, 2)),
    case(torch.linalg.multi_dot, [a, b, floats(5)]),
    case(torch.linalg.vecdot, a, floats(3, 4)),
    case(torch.linalg.vecdot, a, floats(3, 4), dim=0),
    case(torch.kron, a, floats(2, 3)),
    case(torch.kron, floats(3), floats(2, 2, 3)),
    case(torch.kron, ints(2, 2), floats(2)),
    case(torch.linalg.cross, floats(4, 3), floats(4, 3)),
    case(torch.linalg.cross, floats(3, 4), floats(3, 1), dim=0),
    case(torch.cross, floats(4, 3, 3), floats(4, 3, 3)),
    case(torch.cross, floats(4, 3), floats(4, 3), dim=1),
    case(lambda x, v: x.mT @ v, floats(5, 3), floats(5), name="matrix transposed times vector"), case(lambda x, v: x.mT @ v, floats(2, 5, 3), floats(5), name="matrices transposed times vector"),
    case(F.bilinear, floats(2, 3), floats(2, 4), floats(5, 3, 4), floats(5)),
    case(aten._trilinear.default, floats(2, 3), floats(5, 3, 4), floats(2, 4), [1, 3], [0], [1, 2], [2, 3]),
    case(aten._trilinear.default, floats(2, 3), floats(2, 3), floats(4, 2, 3), [-3], [0], [], [-1], dynamic=False),
    case(F.bilinear, floats(2, 6, 3), floats(2, 6, 4), floats(5, 3, 4)),
    *[case(torch.cdist, batch_a, floats(2, 6, 4), p=p) for p in (0.0, 1.0, 2.0, 3.0, float("inf"))],
    case(aten._cdist_forward.default, batch_a, floats(2, 6, 4), 2.0, None),
    case(aten._euclidean_dist.default, a, floats(6, 4)),
    case(F.pdist, floats(5, 4)),
    case(F.pdist, floats(5, 4), 1.0),
    case(aten._pdist_forward.default, floats(5, 4), 2.0),
    case(experts, floats(9, 4), floats(3, 4, 5), dynamic={0: [0]}),
    *[
        case(grouped(*ends), floats(*one, dtype=torch.bfloat16), floats(*other, dtype=torch.bfloat16), dynamic=dynamic, **ROOM)
        for one, other, ends, dynamic in (
            ((9, 8), (3, 8, 16), (2, 2, 9), False),
            ((3, 4, 8), (8, 16), (2, 2, 16), {0: [1]}),
            ((4, 16), (16, 8), (2, 2, 15), {0: [0]}),
            ((2, 4, 8), (2, 8, 16), (), {0: [1]}),
        )
    ],

    case(torch.addmm, floats(5), floats(4, 0), floats(0, 5), beta=0.2, alpha=0.6, dynamic=False),
    case(torch.einsum, "ij,jk,kl->li", floats(2, 1), floats(3, 4), floats(1, 5), dynamic=False, opsets=(8, 11, 20), name="einsum that broadcasts what it sums"),
    *(case(torch.einsum, "ij,ij->ij", floats(*one), floats(*other), dynamic=False, name=f"einsum of {one} and {other}") for one, other in (((1, 3), (2, 3)), ((1, 3), (2, 1)), ((1, 1), (2, 3)))),
    case(torch.einsum, "...ik, ...j -> ij", floats(1, 2, 3), floats(3)),
    case(torch.einsum, "...ik,...kj", floats(2, 1, 2, 3), floats(4, 3, 2)),
    case(torch.einsum, "...i,i->...", floats(2, 3, 4), floats(4)),
    # Outer products promote.
    case(torch.einsum, "i,j->ij", ints(3), floats(4)),
    case(torch.einsum, "i,->i", floats(3, dtype=torch.float16), torch.tensor(2.0)),
    # What one operand alone sums is int64 afterwards; products keep their dtype.
    *(case(torch.einsum, e, ints(3, 4, dtype=torch.int32)) for e in ("ij->", "ij->j", "ij->ji")),
    case(torch.einsum, "ij->", bools(3, 4)),
    # onnxruntime divides by 0 where it turns factors of no elements.
    case(torch.einsum, "ij,kj->ik", floats(2, 0), floats(5, 0), dynamic=False),
    case(torch.einsum, "ijx,kjy->xyik", floats(2, 0, 3), floats(5, 0, 2), dynamic=False),
    *(case(torch.einsum, "bihd,bjhd->bhij", floats(b, 2, 3, 4), floats(b, k, 3, 4), dynamic=False) for b, k in ((0, 5), (2, 0))),
    case(torch.einsum, "...ij,...kj->...ik", floats(0, 2, 3), floats(0, 4, 3), dynamic=False),
    # Nor may it take diagonals of them, or sum what one factor alone has.
    *(case(torch.einsum, e, *(floats(*sizes) for sizes in of), dynamic=False)
      for e, *of in (("ij,kj->k", (2, 0), (5, 0)), ("ij,kj->", (0, 3), (5, 3)), ("bij,kjl,lm->mib", (2, 3, 0), (4, 0, 5), (5, 6)), ("iji->j", (0, 3, 0)), ("iji->ij", (3, 0, 3)),
                     ("ii,jj->", (3, 3), (0, 0)), ("iij,kj->ik", (2, 2, 0), (3, 0)), ("...ij,kj->...k", (2, 3, 0), (5, 0)), ("i...,...i->...", (0, 3), (3, 0)))),
    case(torch.einsum, "iji->ij", torch.zeros(2, 0, 2, dtype=torch.bool), dynamic=False),
    case(torch.einsum, "ij,ij->", ints(3, 4, dtype=torch.int32), ints(3, 4, dtype=torch.int32)),
]
