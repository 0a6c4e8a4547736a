import torch
from harness import bools, case, floats, ints

aten = torch.ops.aten
ANY = [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32, torch.int64, torch.bool]
x, cube, scalar, big = floats(4, 5), floats(3, 4, 5), torch.tensor(1.5), floats(2, 3, 4, 5)
i, j, grid = torch.tensor([0, 2, -1]), torch.tensor([1, -2, 0]), torch.tensor([[0, 1], [-1, 2]])
mask = torch.tensor([True, False, True, True])
plane = torch.tensor([[True, False, True, False]] * 3)


def data_dependent(fn, *args, **kwargs):
    """Sizes follow from values: capture in static mode only."""
    return case(fn, *args, dynamic=False, **kwargs)


def each(dtypes, fn, values, *rest, name="", **kwargs):
    """A case for each dtype of the values; indices stay as they are."""
    label = name or fn.__name__
    return [c for d in dtypes for c in case(fn, values.to(d), *rest, name=f"{label} {d}".replace("torch.", ""), **kwargs)]


CASES = [
    *(case(torch.select, cube, d, n) for d, n in ((0, 1), (-1, -1), (1, 0))),
    case(lambda t: t[t.shape[0] - 2], x, name="select by a size"),
    *(case(lambda t, s=s: t[s], x, name=f"slice {s}") for s in (slice(1, 3), slice(None, -1), slice(-2, None), slice(3, 1), slice(None, None, 2), slice(1, 100))),
    case(lambda t: t[:, 1:-1:2], x, dtypes=ANY, name="slice with step"),
    case(lambda t: t[: t.shape[0] // 2], x, name="slice by half a size"),
    case(lambda t: t[None, ..., 0, None], cube, name="None and ellipsis"),
    case(torch.narrow, x, 1, 1, 3),
    case(torch.narrow, x, -1, -3, 2),
    *each(ANY, torch.index_select, cube, 1, torch.tensor([0, 2, 2])),
    case(torch.index_select, x, -1, torch.tensor(2)),
    case(torch.index_select, x, 0, torch.tensor([1, 0], dtype=torch.int32)),
    case(torch.index_select, scalar, 0, torch.tensor([0])),
    # Places that are counted as the model runs: onnxruntime makes a slice of them.
    case(lambda t: t[torch.arange(t.shape[0] - 1, -1, -1)], x, dynamic={0: [0]}, name="index that counts down"),
    case(lambda t: t[:, torch.arange(-2, t.shape[0] - 2)], x, dynamic={0: [0]}, second=(floats(3, 5),), name="index from the back to the front"),
    case(lambda t, i: t[..., :0][i, i], cube, torch.tensor([0, 1]), dynamic={0: [0], 1: [0]}, opsets=(20, 9), name="index of rows of nothing"),
    case(torch.gather, x, 0, torch.tensor([[0, 1], [3, 2]]), dynamic={0: [0, 1]}),
    case(torch.gather, cube, -1, torch.zeros(2, 3, 7, dtype=torch.int64), dynamic=False),
    case(torch.gather, scalar, 0, torch.tensor(0)),
    case(torch.gather, floats(4), 0, torch.zeros(2, 0, dtype=torch.int64), dynamic=False),
    case(torch.take, x, torch.tensor([[0, -1], [7, 3]])),
    case(torch.take_along_dim, x, torch.tensor([[0, 1, 2, 3, 0]]), 0, dynamic=False),
    case(torch.take_along_dim, x, torch.tensor([3, 0])),
    # index: one tensor, several, broadcast, negative, with None, apart from each other
    *each(ANY, lambda t, i: t[i], cube, i, name="index the first"),
    case(lambda t, i: t[:, i], cube, grid, name="index the second by a matrix"),
    case(lambda t, i: t[..., i], cube, i.int(), name="index the last by int32"),
    *each(ANY, lambda t, i, j: t[i, j], cube, i, j, name="two indices"),
    case(lambda t, i, j: t[:, i, j], big, torch.tensor([0, 2, -1]), j, name="two in the middle"),
    case(lambda t, i, j: t[:, :, i, j], big, i, j, name="two at the end"),
    case(lambda t, i, j: t[i, :, j], cube, i, j, name="two apart"),
    case(lambda t, i, j: t[:, i, :, j], big, torch.tensor([0, 2, -1]), j, name="two apart, not in front"),
    case(lambda t, i, j: t[i[:, None], j], cube, i, j, name="indices broadcast"),
    case(lambda t, i, j: t[:, i, j[:, None]], big, torch.tensor([0, 2]), torch.tensor([1, 3, 0]), name="broadcast in the middle"),
    case(lambda t, i: t[0, :, i], big, i, name="a number and a tensor"),
    case(lambda t, i: t[i], floats(3), torch.zeros(0, dtype=torch.int64), name="empty index"),
    data_dependent(lambda t, m: t[m], x, mask, name="mask of rows"),
    data_dependent(lambda t, m: t[m], floats(3, 4, 5), plane, name="mask of two dimensions"),
    data_dependent(lambda t, m: t[:, m], cube, mask, name="mask of the second"),
    data_dependent(lambda t, m: t[m], cube, torch.zeros(3, 4, 5, dtype=torch.bool), name="mask of nothing"),
    data_dependent(torch.masked_select, x, x > 0),
    data_dependent(torch.masked_select, x, torch.tensor([True, False, True, False, True])),
    data_dependent(torch.nonzero, x * (x > 0)),
    data_dependent(torch.nonzero, torch.tensor(3.0)),
    data_dependent(torch.nonzero, ints(3, 4, low=0, high=2), dtypes=[torch.int8, torch.int32, torch.bool, torch.float16, torch.float64]),
    data_dependent(torch.argwhere, bools(2, 3)),
    *(data_dependent(torch.argwhere, floats(*sizes), opsets=(7, 9, 20), name=f"argwhere of {sizes}") for sizes in ((5, 0), (0, 2, 0), (0, 3))),
    data_dependent(lambda t: torch.nonzero(t, as_tuple=True), ints(3, 4, low=0, high=2), name="nonzero as tuple"),
    data_dependent(lambda t: torch.where(t > 0), x, name="where of one"),
    *(data_dependent(torch.nonzero_static, ints(6, low=0, high=2), size=n, fill_value=-1) for n in (0, 2, 9)),
    case(torch.nn.functional.embedding, torch.tensor([[0, 2], [1, 1]]), floats(3, 4)),
    case(torch.nn.Embedding(5, 3, padding_idx=0), torch.tensor([0, 4, 2])),
    case(torch.nn.functional.one_hot, torch.tensor([[0, 2], [1, 1]]), 4),
    case(torch.nn.functional.one_hot, torch.tensor(3), 4),
]
