import torch
from harness import bools, case, floats, ints

x, cube, scalar = floats(2, 3), floats(2, 3, 4), torch.tensor(1.5)
ANY = [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.int32, torch.int64, torch.bool]

CASES = [
    case(lambda t: t.repeat(2, 3), x, dtypes=ANY, name="repeat"),
    case(lambda t: t.repeat(2, 1, 3), x, name="repeat with a new dimension"),
    case(lambda t: t.repeat(t.shape[0], 1), x, name="repeat by a size"),
    case(lambda t: t.repeat(0, 2), x, name="repeat to nothing", dynamic=False),
    case(lambda t: t.repeat(4, 1), floats(1, 3), name="repeat a size of 1"),
    case(lambda t: t.repeat(3), scalar, name="repeat a number"),
    case(torch.tile, x, (2,)),
    case(torch.tile, x, (2, 1, 2)),
    case(torch.repeat_interleave, x, 2),
    case(torch.repeat_interleave, x, 3, 1),
    case(torch.repeat_interleave, x, 2, -2, dtypes=ANY),
    case(torch.repeat_interleave, x, 0, 1, again=False),
    case(torch.repeat_interleave, scalar, 2),
    case(lambda t, r: torch.repeat_interleave(t, r, dim=0), x, torch.tensor([2, 3]), name="repeat_interleave by tensor", dynamic=False),
    case(lambda t, r: torch.repeat_interleave(t, r, dim=1), x, torch.tensor([2, 0, 1]), name="repeat_interleave with 0", dynamic=False),
    case(lambda r: torch.repeat_interleave(r), torch.tensor([2, 0, 3]), name="repeat_interleave of counts", dynamic=False),
    *(case(torch.flip, cube, dims) for dims in ((0,), (-1, 0), (0, 1, 2), ())),
    case(torch.flip, bools(2, 3), (1,)),
    case(torch.flip, scalar, ()),
    case(torch.fliplr, x),
    case(torch.flipud, x),
    *(case(torch.roll, cube, s, d) for s, d in ((1, 0), (-1, 1), (-2, 1), (5, 2), (3, None), ((1, -1), (0, 2)), ((2, 1), (1, 1)))),
    case(torch.roll, floats(0, 3), 1, 0),
    *(case(torch.rot90, cube, k, dims) for k in range(-1, 5) for dims in ((0, 1), (2, 0))),
    case(torch.roll, ints(4), 1),
]
