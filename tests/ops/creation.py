import torch
from harness import bools, case, floats, ints

aten = torch.ops.aten
DTYPES = [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int8, torch.uint8, torch.int32, torch.int64, torch.bool]
x = floats(2, 3)


def of(fn, *args, name=None, **kwargs):
    """An operator without tensors: one unused input keeps the model's form."""
    return case(lambda t: (t, fn(*args, **kwargs)), x, name=f"{name or fn.__name__} {args} {kwargs}".replace("torch.", ""))


WINDOWS = (torch.hann_window, torch.hamming_window, torch.blackman_window, torch.bartlett_window, torch.kaiser_window)

CASES = [
    *(of(fn, (2, 3), dtype=d) for fn in (torch.zeros, torch.ones) for d in DTYPES),
    *(of(torch.full, (2, 2), 1.5, dtype=d) for d in (None, torch.float16, torch.float64)),
    *(of(torch.full, (2,), v) for v in (3, True, 2.5)),
    of(torch.zeros, ()),
    of(torch.zeros, (0, 2)),
    *(case(f, x, dtype=d) for f in (torch.zeros_like, torch.ones_like) for d in (None, torch.int64, torch.bool)),
    case(torch.full_like, x, 2.5),
    case(torch.full_like, ints(2, 3), 2),
    case(torch.full_like, bools(2, 3), True),
    case(lambda t: t.new_zeros((t.shape[0], 2)), x, name="new_zeros"),
    case(lambda t: t.new_ones((2,), dtype=torch.int32), x, name="new_ones"),
    case(lambda t: t.new_full((t.shape[1],), 4), ints(2, 3), name="new_full"),
    case(lambda t: torch.zeros(t.shape[0], t.shape[1] + 1), x, name="zeros of sizes"),
    case(lambda t: torch.full((t.shape[0],), t.shape[1]), x, name="full of a size"),
    case(torch.empty_like, x, check="shapes"),
    case(lambda t: t.new_empty((2, 3)), x, name="new_empty", check="shapes"),
    *(of(torch.arange, *a) for a in ((5,), (2, 7), (1, 10, 3), (5, 0, -2), (0,), (5.5,), (0.5, 3.0, 0.25))),
    *(of(torch.arange, 5, dtype=d) for d in (torch.float16, torch.float32, torch.float64, torch.int32, torch.int8)),
    of(torch.arange, 0, 5000, 0.5),
    *(of(torch.arange, *a, dtype=d) for a in ((0.5, 4.5, 1.0), (2.0, -2.9, -1.0), (-1.1, 1.1, 1.0)) for d in (torch.int64, torch.int32)),
    case(lambda t: torch.arange(t.shape[0]), x, name="arange of a size"),
    case(lambda t: torch.arange(1, t.shape[0] + 2, dtype=torch.float32), x, name="arange to a size, float"),
    case(lambda t: torch.arange(0, t.shape[0] * 2, 2), x, name="arange by two"),
    *(of(torch.linspace, *a) for a in ((0, 1, 5), (-2.5, 3.5, 7), (3, 3, 1), (0, 1, 0), (5, -5, 4))),
    of(torch.linspace, 0, 10, 4, dtype=torch.int64),
    *(of(f, *ends, dtype=dtype) for f in (torch.linspace, torch.logspace) for ends in ((-3.7, 2.2, 5), (0.9, 1.1, 3)) for dtype in (torch.int64, torch.int32)),
    case(lambda a, b: (torch.linspace(a, b, 5, dtype=torch.int64), torch.logspace(a, b, 5, dtype=torch.int32)), torch.tensor(-3.7), torch.tensor(2.2), name="whole linspace of tensors"),
    of(torch.logspace, 0.7, 2.9, 1, 3.0, dtype=torch.int64), of(torch.linspace, -3, 7, 7, dtype=torch.int32),
    of(torch.linspace, 0, 1, 5000),
    case(lambda a, b: torch.linspace(a, b, 5), torch.tensor(1.0), torch.tensor(4.0), name="linspace of tensors"),
    case(lambda a: torch.linspace(a, 4.0, 1), torch.tensor(1.0), name="linspace of one"),
    case(lambda a, b: (torch.linspace(a, b, 5), torch.logspace(0, a, 3)), torch.tensor(1.0, dtype=torch.float64), torch.tensor(4), name="linspace of others"),
    *(of(torch.logspace, *a) for a in ((0, 2, 5), (-1, 1, 3, 2.0))),
    *(of(torch.eye, *a) for a in ((3,), (2, 4), (4, 2), (0,))),
    *(of(torch.eye, 3, dtype=d) for d in DTYPES),
    case(lambda t: torch.eye(t.shape[0], t.shape[1]), x, name="eye of sizes"),
    of(torch.scalar_tensor, 2.5),
    of(torch.scalar_tensor, 3),
    case(lambda t: t + torch.scalar_tensor(t.shape[0], dtype=torch.float32), x, name="scalar_tensor of a size"),
    *(of(w, n, p) for w in WINDOWS for n in (1, 4, 7) for p in (True, False)),
    of(torch.hann_window, 0),
    of(torch.hamming_window, 6, True, 0.6, 0.4),
    of(torch.kaiser_window, 6, True, 5.0),
]
