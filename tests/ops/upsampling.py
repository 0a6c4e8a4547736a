import torch
from harness import case, floats, ints, known
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
line, image, volume = floats(2, 3, 8), floats(2, 3, 6, 8), floats(2, 3, 4, 5, 6)
MODES = ["nearest", "nearest-exact", "bilinear", "bicubic"]
SIZES = [dict(size=(12, 16)), dict(size=(7, 5)), dict(scale_factor=2), dict(scale_factor=(1.5, 0.5)), dict(scale_factor=1.7),
         dict(scale_factor=1.7, recompute_scale_factor=True), dict(size=(1, 1))]
BYTES = ints(2, 3, 6, 8, low=0, high=256, dtype=torch.uint8)
DOUBLE = dict(dtypes=[torch.float64], tolerance=(1e-12, 1e-13))


def channels_last(x, **options):
    """Between two transpositions, which runtimes move together."""
    return F.interpolate(x.permute(0, 3, 1, 2) * 1.5, **options).permute(0, 2, 3, 1) + 1


CASES = [
    *[case(F.interpolate, image, mode=mode, **size) for mode in MODES for size in SIZES],
    *[case(F.interpolate, image, mode=mode, align_corners=True, **size) for mode in MODES[2:] for size in SIZES],
    *[case(F.interpolate, image, mode=mode, antialias=True, **size) for mode in MODES[2:] for size in SIZES[:2]],
    *[case(channels_last, floats(2, 6, 8, channels), mode=mode, **size) for mode in MODES for size in SIZES[1:3] for channels in (1, 3)],
    *[case(channels_last, floats(2, 6, 8, 3), mode=mode, antialias=True, size=(7, 5)) for mode in MODES[2:]],
    # PyTorch has a kernel for small images, in which a size that stays or doubles does so whatever the factor.
    *[case(F.interpolate, floats(1, 2, *sizes), mode=mode, scale_factor=factors, dynamic=False)
      for mode in MODES for sizes, factors in (((4, 4), (2.025, 1.025)), ((40, 20), (2.005, 1.7)), ((60, 80), (1.005, 2.003)), ((40, 40), (2.005, 1.7)))],
    *[case(F.interpolate, line, mode=mode, size=11) for mode in ("nearest", "nearest-exact", "linear")],
    *[case(F.interpolate, line, mode=mode, scale_factor=2.5) for mode in ("nearest", "nearest-exact", "linear")],
    *[case(F.interpolate, volume, mode=mode, size=(8, 3, 7)) for mode in ("nearest", "nearest-exact", "trilinear")],
    *[case(F.interpolate, volume, mode=mode, scale_factor=2) for mode in ("nearest", "nearest-exact", "trilinear")],
    *[case(F.interpolate, image, mode=mode, scale_factor=2, dtypes=HALVES, tolerance=(3e-2, 3e-2)) for mode in MODES],
    # a factor that leaves a size as it is
    *[case(F.interpolate, floats(2, 3, 5), mode=mode, scale_factor=1.15, dynamic={0: [0]}) for mode in ("nearest", "nearest-exact", "linear")],
    *[case(F.interpolate, floats(2, 3, 5, 8), mode=mode, scale_factor=factor, dynamic={0: [0]}) for mode in MODES for factor in (1.1, (1.1, 1.3))],
    *[case(F.interpolate, floats(2, 3, 5, 8), mode=mode, antialias=True, scale_factor=(1.1, 1.3), dynamic={0: [0]}) for mode in MODES[2:]],
    *[case(F.interpolate, BYTES[:, :, :5], mode=mode, scale_factor=(1.1, 1.3), dynamic={0: [0]}) for mode in MODES[2:]],
    *[case(F.interpolate, floats(2, 3, 4, 5, 6), mode=mode, scale_factor=1.1, dynamic={0: [0]}) for mode in ("nearest", "nearest-exact", "trilinear")],
    # one whose product with the size is whole in float32, but less in float64
    *[case(F.interpolate, floats(2, 1, 1000), mode=mode, scale_factor=1.001, dynamic={0: [0]}) for mode in ("nearest", "linear")],
    *[case(F.interpolate, image, mode=mode, antialias=True, **size, **DOUBLE) for mode in MODES[2:] for size in SIZES[1:3]],
    # with a window of six elements, for which ONNX has no operator
    *([
        [case(F.interpolate, image, mode="lanczos", antialias=True, **size) for size in SIZES],
        [case(F.interpolate, image, mode="lanczos", antialias=True, dynamic=False, **size, **DOUBLE) for size in SIZES[:3]],
        [case(F.interpolate, BYTES, mode="lanczos", antialias=True, dynamic={0: [0]}, **size) for size in SIZES[:4]],
        case(F.interpolate, floats(1, 2, 40, 20), mode="lanczos", antialias=True, size=(7, 33), dynamic={0: [2, 3]}),
        case(op, image, [3, 4], False),
    ] for op in known("torch.ops.aten._upsample_lanczos2d_aa.default")),
    case(aten.upsample_nearest1d.default, line, [16]),
    case(aten._upsample_nearest_exact1d.default, line, [16], 2.0),
    case(aten.upsample_linear1d.default, line, [16], False),
    case(aten.upsample_nearest2d.default, image, [12, 16], 2.0, 2.0, dynamic={0: [0]}),
    case(aten._upsample_nearest_exact2d.default, image, [9, 9]),
    case(aten.upsample_bilinear2d.default, image, [9, 9], True),
    case(aten.upsample_bicubic2d.default, image, [9, 9], False),
    case(aten._upsample_bilinear2d_aa.default, image, [3, 4], False),
    case(aten._upsample_bicubic2d_aa.default, image, [3, 4], False),
    case(aten._upsample_bilinear2d_aa.default, image, [3, 4], False, scales_h=0.9, dynamic=False),
    case(aten.upsample_nearest3d.default, volume, [8, 10, 12]),
    case(aten._upsample_nearest_exact3d.default, volume, [8, 10, 12]),
    case(aten.upsample_trilinear3d.default, volume, [8, 10, 12], True),
    *[
        case(F.grid_sample, image, floats(2, 4, 5, 2, low=-1.2, high=1.2), mode=mode, padding_mode=padding, align_corners=align)
        for mode in ("bilinear", "nearest", "bicubic")
        for padding in ("zeros", "border", "reflection")
        for align in (False, True)
    ],
    *[case(F.grid_sample, volume, floats(2, 4, 5, 3, 3, low=-1.2, high=1.2), mode=mode, padding_mode=padding, align_corners=align) for mode, padding, align in (("bilinear", "zeros", False), ("bilinear", "reflection", True), ("nearest", "border", True))],
    *[case(F.grid_sample, image, floats(2, 4, 5, 2, low=-2.5, high=2.5), mode=mode, padding_mode=padding, align_corners=False, again=False, **DOUBLE) for mode in ("bilinear", "bicubic") for padding in ("zeros", "reflection")],
    case(F.grid_sample, torch.tensor([[[[float("nan"), 1, 2], [3, 4, float("inf")]]]]), floats(1, 3, 3, 2, low=-2, high=2), align_corners=False, dynamic=False, again=False),
    case(aten.grid_sampler_2d.default, image, floats(2, 4, 5, 2, low=-1, high=1), 0, 0, True),
    case(aten.grid_sampler_3d.default, volume, floats(2, 4, 5, 3, 3, low=-1, high=1), 0, 0, True),
    *[case(F.affine_grid, floats(2, 2, 3), [2, 3, 4, 5], align) for align in (False, True)],
    *[case(F.affine_grid, floats(2, 3, 4), [2, 3, 4, 5, 6], align) for align in (False, True)],
    case(lambda theta, x: F.affine_grid(theta, x.shape, False), floats(2, 2, 3), image, name="affine_grid of an image's size"),

    *[
        case(fn, image, (9, 5), aligned, 2.5, 0.7, dynamic=dynamic)  # a factor too small for the size reads what is not there
        for fn in (aten._upsample_bilinear2d_aa.default, aten._upsample_bicubic2d_aa.default)
        for aligned in (False, True)
        for dynamic in (False, {0: [2, 3]})
    ],
    *[case(F.interpolate, image, mode=mode, antialias=True, align_corners=True, dynamic=dynamic, **size) for mode in MODES[2:] for size in SIZES for dynamic in (False, {0: [2, 3]})],
    case(aten.upsample_nearest2d.default, image, (9, 20), 1.7, 2.0),
    case(aten._upsample_nearest_exact2d.default, image, (9, 20), 1.7, 2.0),
    # bytes, bit by bit
    *[
        case(F.interpolate, BYTES, mode=mode, antialias=antialias, align_corners=aligned, dynamic={0: [0]}, **size)
        for mode in MODES[2:]
        for antialias in (False, True)
        for aligned in (False, True)
        for size in SIZES[:4]
    ],
    # float64, for which onnxruntime has no kernel, with float64's digits
    *[case(F.interpolate, image, mode=mode, **size, **DOUBLE) for mode in MODES for size in SIZES[1:5]],
    *[case(F.interpolate, image, mode=mode, align_corners=True, **size, **DOUBLE) for mode in MODES[2:] for size in SIZES[1:3]],
    *[case(F.interpolate, image, mode=mode, antialias=True, dynamic=False, **size, **DOUBLE) for mode in MODES[2:] for size in SIZES[1:5]],
    *[case(F.interpolate, line, mode=mode, size=11, **DOUBLE) for mode in ("nearest", "nearest-exact", "linear")],
    *[case(F.interpolate, volume, mode=mode, scale_factor=(2, 0.5, 1.7), **DOUBLE) for mode in ("nearest", "nearest-exact", "trilinear")],
    # bytes, bit by bit, of images whose size only the run knows
    *[
        case(F.interpolate, BYTES, mode=mode, antialias=antialias, align_corners=aligned, dynamic={0: [2, 3]}, **size)
        for mode in MODES[2:]
        for antialias in (False, True)
        for aligned in (False, True)
        for size in SIZES[1:5]
    ],
    *[case(F.interpolate, BYTES, mode="lanczos", antialias=True, dynamic={0: [2, 3]}, **SIZES[1]) for _ in known("torch.ops.aten._upsample_lanczos2d_aa.default")],
    *[case(F.interpolate, BYTES[:, :, :, :5], mode="bicubic", antialias=antialias, scale_factor=(1.1, 1.3), dynamic={0: [2, 3]}) for antialias in (False, True)],
    # where a place divided by the scale is not the place times the step, in float32
    *[case(F.interpolate, floats(2, 1, 9, 20), mode=mode, size=size, dynamic=dynamic)
      for mode in MODES[:2] for size in ((6, 12), (11, 7)) for dynamic in ({0: [0]}, {0: [2, 3]})],
    *[case(F.interpolate, floats(2, 1, 10, 33), mode=mode, scale_factor=factor, dynamic=dynamic)
      for mode, factor in (("nearest", 0.6), ("nearest", 1.2), ("nearest-exact", 0.3), ("nearest-exact", 2.3)) for dynamic in ({0: [0]}, {0: [2, 3]})],
    *[case(F.interpolate, floats(2, 1, 9, 21), mode=mode, scale_factor=factor, dynamic=dynamic, **DOUBLE)
      for mode in MODES for factor in (1 / 3, 4 / 3) for dynamic in ({0: [0]}, {0: [2, 3]})],
    # sizes that are less in float32 than in float64
    *[case(F.interpolate, floats(2, 1, 10, 30), mode=mode, scale_factor=factor, dynamic=dynamic)
      for mode in MODES for factor in (2.1, 1.3) for dynamic in ({0: [0]}, {0: [2, 3]})],
]
