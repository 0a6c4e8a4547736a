import torch
from harness import bools, case, floats, ints, special

TYPES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64]
SMALL = torch.tensor([1.0, 3.5, 1023.25, -7.0, 0.0, 1e9, -5e8, 2.0]).reshape(1, 8) * 2.0**-140
"""Floats of few digits: too small for all."""
GIVEN = [
    ints(2, 8, low=0, high=256, dtype=torch.uint8),
    ints(2, 4, low=-(2**62), high=2**62),
    torch.cat([floats(2, 8, low=-1e5, high=1e5), SMALL]),
    special(2, 8, dtype=torch.float64),
    floats(2, 4, dtype=torch.float16),
    floats(2, 4, dtype=torch.bfloat16),
]
"""Data that lies in its own order."""


def written(x):
    """Without the last digits."""
    x = x.clone()
    x.view(torch.int16)[:, ::2].bitwise_and_(-4096)
    return x


CASES = [
    *(
        case(lambda t, d=d: t.view(d), t, name=f"{t.dtype} as {d}", strided=False, dynamic={0: [0]})
        for t in GIVEN
        for d in TYPES
        if d != t.dtype
    ),
    case(lambda t: t.view(torch.int32), floats(3), name="floats along one dimension", strided=False),
    case(lambda t: t.view(torch.int32), torch.tensor(-1.5), name="a number", strided=False),
    case(lambda t: t.view(torch.int16), floats(0, 3), name="nothing", strided=False),
    case(lambda t: t.view(torch.bool), bools(2, 3).to(torch.uint8), name="uint8 as bool", strided=False),
    case(lambda t: t.view(torch.uint8), bools(2, 3), name="bool as uint8", strided=False),
    case(lambda t: t.view(torch.int8), ints(2, 3), name="a dynamic number of bytes", dynamic={0: [0, 1]}, strided=False),
    case(torch.ops.aten.view_copy.dtype, floats(2, 3), torch.int32, strided=False),
    case(written, floats(2, 3), strided=False),
]
