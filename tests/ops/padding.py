import torch
from harness import bools, case, floats, ints
from torch.nn.functional import pad

line, image, volume = floats(2, 3, 6), floats(1, 2, 5, 6), floats(1, 2, 4, 5, 6)

CASES = [
    *(case(pad, image, p) for p in ((1, 2), (0, 1, 2, 0), (1, 1, 1, 1, 1, 1), (0, 0), (-1, 2), (-1, -2, 1, -1))),
    case(pad, image, (1, 2), value=2.5, dtypes=[torch.float16, torch.bfloat16, torch.float64]),
    case(pad, ints(2, 3), (1, 1), value=7, dtypes=[torch.int8, torch.int32, torch.int64]),
    case(pad, bools(2, 3), (1, 1), value=True),
    case(pad, floats(0, 3), (1, 1, 1, 0)),
    case(lambda t: pad(t, (0, t.shape[0])), floats(2, 3), name="pad by a size"),
    case(lambda t: pad(t, (4 - t.shape[1], t.shape[0] - 3, 1, 3 - t.shape[1])), floats(2, 3), second=(floats(4, 6),), name="pad and cut by sizes"),
    *(
        case(pad, t, p, mode=m, dynamic=False)
        for m in ("reflect", "replicate", "circular")
        for t, p in ((line, (2, 1)), (line, (0, 3)), (image, (1, 2, 2, 1)), (volume, (1, 1, 0, 2, 1, 1)))
    ),
    *(case(pad, image, (2, 1, 1, 2), mode=m) for m in ("reflect", "replicate", "circular")),
    *(case(pad, line, p, mode="replicate") for p in ((-1, 2), (-6, 3), (-2, -1))),
    *(case(pad, line, p, mode="circular", dynamic=False) for p in ((-1, 2), (2, -2))),
    *(case(pad, ints(1, 2, 5, 6), p, mode=m) for m, p in (("replicate", (1, 2, 3, -1)), ("reflect", (1, 2, 3, 0)), ("circular", (2, 0, 1, 1)), ("constant", (1, -2, -1, 2)))),
    case(torch.nn.ReflectionPad2d((1, 2, 3, 0)), image),
    case(torch.nn.ReplicationPad3d(1), volume),
    case(torch.nn.ConstantPad1d((2, 0), -1.5), line),
    case(torch.nn.CircularPad2d(1), image),
]
