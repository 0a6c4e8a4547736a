import torch
from harness import LONG, bools, case, floats, ints, special

aten = torch.ops.aten
WRITABLE = [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32, torch.int64, torch.bool]
ADDABLE = [torch.float16, torch.bfloat16, torch.float64, torch.int32, torch.int64]
x, cube, scalar = floats(4, 5), floats(3, 4, 5), torch.tensor(1.5)
i, j, index = torch.tensor([0, 2, -1]), torch.tensor([1, -2, 0]), torch.tensor([[0, 1, 2], [3, 2, 1]])
mask = torch.tensor([True, False, True, True])


def write(fn, *args, **kwargs):
    """In place on a copy of the first argument."""

    def run(t, *rest):
        t = t.clone()
        fn(t, *rest)
        return t

    return case(run, *args, **kwargs)


def fixed(fn, *args, **kwargs):
    return case(fn, *args, dynamic=False, **kwargs)


def assign(t, *rest):
    *where, value = rest
    t[tuple(where)] = value


def each(dtypes, fn, values, *rest, name="", **kwargs):
    """A case for each dtype of the values; indices stay as they are."""
    label = name or fn.__name__
    return [c for d in dtypes for c in case(fn, values.to(d), *rest, name=f"{label} {d}".replace("torch.", ""), **kwargs)]


CASES = [
    *(fixed(torch.index_put, cube, (i, j), floats(3, 5), accumulate=a) for a in (False, True)),
    fixed(torch.index_put, cube, (i, j), torch.tensor(2.0)),
    *each(ADDABLE, lambda t, i: torch.index_put(t, (i,), t[:3], accumulate=True), x, torch.tensor([0, 0, 1]), name="index_put accumulate", dynamic=False),
    *each(WRITABLE, lambda t, i: torch.index_put(t, (i,), t[0]), x, i, name="index_put", dynamic=False),
    fixed(aten.index_put, cube, (None, i, None), floats(3, 5)),
    fixed(aten.index_put, cube, (i, None, j), floats(3, 4)),
    fixed(aten.index_put, cube, (None, i, j), floats(3, 3), True),
    fixed(torch.index_put, x, (torch.zeros(0, dtype=torch.int64),), floats(0, 5)),
    case(lambda t, i: torch.index_put(t[:, :0], (i,), torch.tensor(2.0)), cube, i, dynamic={0: [0]}, opsets=(20, 9), name="index_put of rows of nothing"),
    fixed(torch.index_put, x, (mask,), torch.tensor(0.0)),
    fixed(torch.index_put, x, (mask,), torch.tensor([1.5], dtype=torch.float64), name="index_put of one element of another dtype"),
    fixed(torch.index_put, x, (mask,), floats(5), accumulate=True),
    fixed(torch.index_put, x, (mask,), floats(3, 5), again=False),
    fixed(torch.index_put, x, (x > 0,), torch.tensor(9.0), again=False),
    fixed(aten.index_put, cube, (None, mask), floats(3, 1, 5)),
    fixed(torch.index_put, bools(4), (i,), torch.tensor([True, True, False]), accumulate=True),
    write(lambda t, m: t.__setitem__(m, 0), x, mask, name="assign a number to a mask"),
    write(lambda t, i, v: t.__setitem__((slice(None), i), v), x, i, floats(4, 3), name="assign columns", dynamic=False),
    write(lambda t, v: t[1:].copy_(v), x, floats(5), name="assign rows", dynamic={0: [0]}),
    write(lambda t, v: t[:, ::2].copy_(v), x, floats(4, 3), name="assign every second", dynamic=False),
    write(lambda t: t[:, -1].fill_(3), x, name="fill the last"),
    write(lambda t: t[1:3, 1:].zero_(), x, name="zero a part"),
    write(lambda t: t.diagonal().add_(1), x, name="add to the diagonal"),
    write(lambda t: t.t()[1].mul_(2), x, name="write through a transpose"),
    *(fixed(torch.index_copy, cube, d, torch.tensor([2, 0]), s) for d, s in ((0, floats(2, 4, 5)), (-1, floats(3, 4, 2)))),
    fixed(torch.index_copy, scalar, 0, torch.tensor([0]), torch.tensor(2.0)),
    *each(ADDABLE, lambda t, i: torch.index_add(t, 0, i, t[:3], alpha=2), x, torch.tensor([0, 0, 1]), name="index_add", dynamic=False),
    fixed(torch.index_add, x, 1, torch.tensor(2), floats(4, 1)),
    *(fixed(torch.index_add, bools(4), 0, torch.tensor([2, 0, 0]), bools(3), alpha=alpha) for alpha in (False, True)),
    fixed(torch.gather, floats(4), 0, torch.zeros(0, 2, dtype=torch.int64)),
    *each(WRITABLE, torch.index_fill, x, 1, i, 2, dynamic=False),
    fixed(torch.index_fill, x, 0, i, torch.tensor(3)),
    *(fixed(torch.index_reduce, x, 0, torch.tensor([0, 0, 2]), floats(3, 5), r, include_self=s) for r in ("prod", "mean", "amax", "amin") for s in (False, True)),
    *each(WRITABLE, lambda t, i: torch.scatter(t, 0, i, t[1:]), x, index, name="scatter", dynamic=False),
    fixed(torch.scatter, x, 1, index, floats(3, 4)),
    fixed(torch.scatter, x, -1, index, 3.5),
    fixed(torch.scatter, scalar, 0, torch.tensor(0), torch.tensor(2.0)),
    fixed(torch.scatter, x, 0, torch.zeros(0, 3, dtype=torch.int64), floats(2, 3)),
    *(fixed(torch.scatter, x, 0, index, floats(2, 3), reduce=r) for r in ("add", "multiply")),
    *(fixed(torch.scatter, x, 0, index, 2.5, reduce=r) for r in ("add", "multiply")),
    *each(ADDABLE, lambda t, i: torch.scatter_add(t, 1, i, t), x, torch.zeros(4, 3, dtype=torch.int64), name="scatter_add", dynamic=False),
    *(
        fixed(torch.scatter_reduce, x, 0, torch.tensor([[0, 1, 1], [0, 3, 1]]), floats(2, 3), r, include_self=s, dtypes=[torch.float32, torch.int64, torch.float16])
        for r in ("sum", "prod", "mean", "amax", "amin")
        for s in (False, True)
    ),
    *(
        fixed(fn, special(10), 0, torch.tensor([0, 0, 1, 1, 2, 3, 3, 4, 4, 5]), special(10).flip(0), r, include_self=s, dtypes=[torch.float32, torch.float16, torch.float64])
        for fn in (torch.scatter_reduce, torch.index_reduce)
        for r in ("amax", "amin")
        for s in (False, True)
    ),
    *(fixed(torch.scatter_reduce, LONG, 1, torch.tensor([[0, 0, 1, 1, 2]]), LONG[1:], r, opsets=[9, 13, 16, 20], name=f"{r} of more than 32 bits") for r in ("amax", "amin")),
    case(lambda x, at, v: x[:, 3:].index_put((at,), v[:, 3:], accumulate=True), floats(4, 3), torch.tensor([1, 1, -2]), floats(3, 3), opsets=[13, 18, 20], name="accumulate in no columns"),
    fixed(torch.masked_scatter, x, x > 0, floats(20), again=False),
    fixed(torch.masked_scatter, x, mask[:, None], floats(20), again=False),
    fixed(torch.masked_scatter, x, torch.zeros(4, 5, dtype=torch.bool), floats(20)),
    *(fixed(aten.put, x, torch.tensor([[0, -1], [7, 3]]), floats(2, 2), a) for a in (False, True)),
    *(case(torch.select_scatter, cube, s, d, n) for s, d, n in ((floats(4, 5), 0, 1), (floats(3, 4), -1, -1), (floats(3, 5), 1, 0))),
    case(torch.slice_scatter, x, floats(4, 2), 1, 1, 3, dynamic={0: [0], 1: [0]}),
    fixed(torch.slice_scatter, x, floats(2, 5), 0, -2),
    fixed(torch.slice_scatter, x, floats(4, 3), 1, 0, None, 2, dtypes=WRITABLE),
    fixed(torch.slice_scatter, x, floats(4, 0), 1, 3, 1),
    case(aten.copy, x, floats(5)),
    case(aten.copy, x, ints(4, 5)),
    case(aten.fill.Scalar, ints(2, 3), 4),
    case(aten.fill.Tensor, x, scalar),
]
