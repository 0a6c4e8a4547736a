import torch
from harness import case, floats, ints
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
WIDE = [torch.float64, *HALVES]
line, image, volume = floats(2, 3, 11), floats(2, 3, 10, 11), floats(2, 3, 6, 7, 8)

# Where ceil_mode matters, and where PyTorch drops the last window.
CEILS = [(2, 2, 0), (3, 2, 1), (2, 3, 1), (3, 3, 0), (4, 3, 2), (1, 2, 0), (3, 4, 1)]

def unpooled(pool, unpool):
    def both(x):
        values, indices = pool(x, 2, return_indices=True)
        return unpool(values, indices, 2)

    return both


def max_pool_gradient(x, gradient):
    window = [3, 3], [2, 2], [1, 1], [1, 1], False
    indices = aten.max_pool2d_with_indices(x, *window)[1]
    return aten.max_pool2d_with_indices_backward(gradient[..., : indices.shape[2], : indices.shape[3]], x, *window, indices)


BELOW_ZERO = -1 - image.abs()

def padded(pool, pads, *window, **options):
    return lambda x: pool(F.pad(x, pads), *window, **options)


CASES = [
    # Zeros that are padded are elements, not what a pool leaves out.
    *[
        case(padded(F.max_pool2d, (1, 1, 1, 1), *window), BELOW_ZERO, name=f"max pool of padded zeros {window}")
        for window in ((3, 2), (3, 2, 1), (3, 2, 1, 1, True), (2, 3, 0, 2, True))
    ],
    case(padded(F.max_pool1d, (1, 1), 3, 2), -1 - line.abs(), dtypes=HALVES),
    case(padded(F.max_pool2d, (1, 1, 1, 1), 3, 2, return_indices=True), BELOW_ZERO),
    *[
        case(padded(F.avg_pool2d, pads, 3, 2, p, ceil, include), image, name=f"mean of padded zeros {pads} {p} {ceil} {include}")
        for pads in ((1, 0, 2, 1), (4, 4, 4, 4))
        for p in (0, 1)
        for ceil in (False, True)
        for include in (False, True)
        if not ceil or (p == 0 and pads[0] < 3)
    ],
    *[case(F.max_pool2d, image, k, s, p, 1, ceil) for k, s, p in CEILS for ceil in (False, True)],
    *[case(F.avg_pool2d, image, k, s, p, ceil, include) for k, s, p in CEILS for ceil in (False, True) for include in (False, True)],
    *[case(F.avg_pool1d, line, k, s, p, ceil, include) for k, s, p in CEILS for ceil in (False, True) for include in (False, True)],
    *[case(F.avg_pool2d, image, k, s, p, ceil, True, 5) for k, s, p in CEILS for ceil in (False, True)],
    case(F.max_pool1d, line, 3),
    case(F.max_pool1d, floats(3, 11), 3, 2, 1, 2),
    case(F.max_pool1d, line, 3, 2, 1, return_indices=True),
    case(F.max_pool2d, image, (3, 2)),
    case(F.max_pool2d, image, 3, 1, 1, dilation=2),
    case(F.max_pool2d, image, 2, dtypes=WIDE),
    case(F.max_pool2d, floats(3, 10, 11), (3, 2), (2, 1), (1, 0)),
    case(F.max_pool2d, image, 3, 2, 1, return_indices=True),
    case(F.max_pool2d, image, 3, 2, 1, 2, True, return_indices=True),
    case(F.max_pool2d, floats(3, 10, 11), 2, return_indices=True),
    case(F.max_pool3d, volume, 2),
    case(F.max_pool3d, volume, (2, 3, 2), 2, 1, ceil_mode=True),
    case(F.max_pool3d, volume, 2, 1, return_indices=True),
    case(F.avg_pool1d, floats(3, 11), 3, 2, 1),
    case(F.avg_pool2d, image, (3, 2)),
    case(F.avg_pool2d, image, 2, dtypes=HALVES),
    case(F.avg_pool2d, image, 2, dtypes=[torch.float64]),
    case(F.avg_pool2d, floats(3, 10, 11), 3, 2, 1, divisor_override=4),
    case(F.avg_pool3d, volume, 2),
    case(F.avg_pool3d, volume, 3, 2, 1, True, False),
    case(F.avg_pool3d, volume, (2, 3, 3), 2, (1, 0, 1), True, divisor_override=7),
    case(F.avg_pool3d, floats(3, 6, 7, 8), 3, 2, 1),
    *[case(F.adaptive_avg_pool1d, line, o) for o in (1, 2, 5, 11, 13)],
    *[case(F.adaptive_avg_pool2d, image, o) for o in (1, 5, (5, 11), (None, 4), (1, None), (1, 3), (7, 20))],
    case(F.adaptive_avg_pool2d, floats(3, 10, 11), 1),
    case(F.adaptive_avg_pool2d, floats(4, 0, 3, 4), 1, dynamic={0: [0]}, again=False),
    case(F.adaptive_avg_pool2d, floats(3, 10, 11), (3, 4)),
    case(F.adaptive_avg_pool2d, image, (3, 4), dtypes=WIDE, tolerance=(3e-2, 3e-2)),
    case(F.adaptive_avg_pool2d, image, 1, dtypes=WIDE, tolerance=(3e-2, 3e-2)),
    *[case(F.adaptive_avg_pool3d, volume, o) for o in (1, 2, (3, 7, 4), (4, 3, 5))],
    case(aten._adaptive_avg_pool2d.default, image, [3, 2]),
    case(aten._adaptive_avg_pool3d.default, volume, [3, 2, 2]),
    *[case(F.adaptive_max_pool1d, line, o, return_indices=True, dynamic={0: [0, 2]}) for o in (1, 2, 5, 11)],
    *[case(F.adaptive_max_pool2d, image, o, return_indices=True, dynamic={0: [0, 2]}) for o in (1, 5, (3, 4), (None, 7))],
    case(F.adaptive_max_pool2d, image, 1),
    case(F.adaptive_max_pool2d, floats(3, 10, 11), (3, 4), dynamic=False),
    *[case(F.adaptive_max_pool3d, volume, o, return_indices=True, dynamic={0: [0, 2, 3, 4]}) for o in (1, (4, 3, 5))],
    case(F.max_pool2d, floats(2, 3, 11, 9), 3, 3, 1, 3, ceil_mode=True),
    # A window of the known size would start in the padding.
    case(F.max_pool2d, floats(2, 3, 6, 7), 2, 2, 1, ceil_mode=True, dynamic={0: [2]}),
    case(F.avg_pool2d, floats(2, 3, 6, 7), 2, 2, 1, ceil_mode=True, dynamic={0: [2]}),
    case(F.avg_pool2d, floats(2, 3, 6, 7), 2, 2, 1, ceil_mode=True, count_include_pad=False, dynamic={0: [2]}),
    *[case(F.avg_pool2d, image, 3, 2, 1, ceil_mode=ceil, count_include_pad=counted, dtypes=[torch.float64]) for ceil in (False, True) for counted in (False, True)],
    case(F.adaptive_avg_pool2d, floats(2, 3, 8, 12), 4, dtypes=[torch.float64]),
    case(F.adaptive_avg_pool2d, floats(0, 3, 8, 8), (5, 7), dynamic={0: [2, 3]}),
    case(F.lp_pool1d, line, 2, 3, 2),
    case(F.lp_pool2d, image, 2, 3, 2),
    case(unpooled(F.max_pool1d, F.max_unpool1d), floats(2, 3, 8), name="max_unpool1d", dynamic={0: [0]}),
    case(unpooled(F.max_pool2d, F.max_unpool2d), floats(2, 3, 8, 6), name="max_unpool2d", dynamic={0: [0]}),
    case(unpooled(F.max_pool3d, F.max_unpool3d), floats(2, 3, 4, 6, 8), name="max_unpool3d", dynamic={0: [0]}),
    case(F.unfold, image, 3),
    case(F.unfold, image, (2, 3), (2, 1), (1, 0), (1, 2)),
    case(F.unfold, floats(3, 10, 11), 3),
    case(F.fold, floats(2, 12, 12), (4, 5), 2),
    case(F.fold, floats(2, 12, 30), (8, 10), 2, padding=1, stride=2),
    case(F.fold, floats(12, 12), (4, 5), 2),
    # float64, for which onnxruntime has no kernel
    case(F.fold, floats(2, 12, 12), (4, 5), 2, dtypes=[torch.float64], tolerance=(1e-12, 1e-13), dynamic={0: [0]}),
    case(F.fold, floats(2, 12, 20), (8, 10), (2, 3), padding=(1, 2), stride=(2, 3), dilation=(1, 2), dtypes=[torch.float64], tolerance=(1e-12, 1e-13), dynamic={0: [0]}),

    *(
        case(F.max_pool2d, grid, k, s, p, d, ceil_mode=ceil, return_indices=True)
        for grid in (ints(2, 3, 10, 11), ints(3, 9, 8, dtype=torch.int32))
        for k, s, p, d, ceil in ((3, 2, 1, 1, False), (3, 2, 1, 1, True), (2, 1, 0, 2, False))
    ),
    case(F.max_pool1d, ints(2, 3, 11), 3, 2, 1, return_indices=True),
    case(F.max_pool3d, ints(2, 3, 6, 7, 8), 2, 2, return_indices=True),
    *(
        case(F.avg_pool2d, ints(2, 3, 10, 11, low=-50, high=50), k, s, p, ceil_mode=ceil, count_include_pad=pad)
        for k, s, p in CEILS
        for ceil in (False, True)
        for pad in (False, True)
    ),
    case(F.avg_pool2d, ints(2, 3, 10, 11), 3, 2, 1, divisor_override=4),
    case(F.avg_pool1d, ints(3, 11), 3, 2, 1),
    case(F.avg_pool3d, ints(2, 3, 6, 7, 8), 2, 2),
    *(
        case(fractional, grid, kernel, output_size=size, _random_samples=torch.rand(2, 3, grid.dim() - 2), return_indices=True, dynamic={0: [-1]})
        for fractional, grid in ((F.fractional_max_pool2d, image), (F.fractional_max_pool3d, volume))
        for kernel, size in ((2, 3), (3, 2), (2, 1))
    ),
    *(
        case(fractional, grid, 2, output_size=3, _random_samples=torch.rand(3, 3, grid.dim() - 2), name=f"{fractional.__name__}, samples of more", dynamic={0: [0]})
        for fractional, grid in ((F.fractional_max_pool2d, image), (F.fractional_max_pool3d, volume))
    ),
    *(
        case(lambda x, samples, fractional=fractional: fractional(x, 2, output_size=3, _random_samples=samples), grid[0], torch.rand(2, 3, grid.dim() - 2), dynamic=False)
        for fractional, grid in ((F.fractional_max_pool2d, image), (F.fractional_max_pool3d, volume))
    ),
    case(lambda x: F.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5)), image, name="fractional_max_pool2d, drawn", check="shapes", dynamic=False),
    case(F.fractional_max_pool3d, floats(0, 1, 4, 5, 4), (2, 2, 1), output_ratio=0.5, return_indices=True, check="shapes", dynamic=False),
    case(max_pool_gradient, image, floats(2, 3, 5, 6), name="max_pool2d_with_indices_backward", dynamic={0: [0, 1], 1: [0, 1]}),
    # Windows of which no element is in the input.
    *(case(fn, floats(2, 3, *sizes), 2, 1, 1, 5, dynamic={0: [0]}) for fn, sizes in ((F.max_pool1d, (4,)), (F.max_pool2d, (4, 4)), (F.max_pool3d, (4, 4, 4)))),
]
