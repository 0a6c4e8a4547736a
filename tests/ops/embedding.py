import torch
from harness import case, floats, ints
from torch.nn import functional as F

HALVES = [torch.float16, torch.bfloat16]
aten = torch.ops.aten
table = floats(10, 4)
words = ints(7, low=0, high=10)
offsets = torch.tensor([0, 2, 2, 6])


def bag(weight, indices, **options):
    """Offsets are part of the model: others would be no valid ones."""
    return F.embedding_bag(indices, weight, offsets, **options)


def raw(op, *rest):
    return lambda weight, indices: op(weight, indices, offsets, *rest)[0]


CASES = [
    case(F.embedding, ints(2, 3, low=0, high=10), table),
    case(F.embedding, ints(3, low=0, high=10, dtype=torch.int32), table, padding_idx=2),
    case(F.embedding, torch.tensor(3), table, dtypes=HALVES),
    *[case(bag, table, words, mode=mode) for mode in ("sum", "mean", "max")],
    *[case(bag, table, words[:6], mode=mode, include_last_offset=True, dynamic=False) for mode in ("sum", "mean", "max")],
    # Of a strided table PyTorch's slow kernel gives the last bag the words that are left.
    *[case(bag, table, words, mode=mode, include_last_offset=True, dynamic=False, strided=False, dtypes=[torch.float64, *HALVES], name=f"words after the last offset, {mode}") for mode in ("sum", "mean", "max")],
    case(bag, table, words, mode="sum", include_last_offset=True, padding_idx=3, dynamic=False, strided=False, name="words and padding after the last offset"),
    *[case(bag, table, torch.tensor([1, 3, 5, 3, 3, 2, 7]), mode=mode, padding_idx=3) for mode in ("sum", "mean", "max")],
    case(lambda w, i, s: F.embedding_bag(i, w, offsets, per_sample_weights=s, mode="sum"), table, words, floats(7), name="weighted bags"),
    case(lambda w, i: F.embedding_bag(i, w), table, ints(3, 4, low=0, high=10), name="bags of one size"),
    *[case(raw(op, False, mode), table, words, name=str(op)) for op in (aten._embedding_bag.default, aten._embedding_bag_forward_only.default, aten.embedding_bag.default) for mode in (0, 1)],
    *[case(bag, table, torch.tensor([1, 9, 5, 3, 9, 2, 7]), mode=mode, padding_idx=-1) for mode in ("sum", "mean", "max")],
]
