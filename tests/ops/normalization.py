import torch
from harness import case, floats, known
from torch import nn
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
WIDE = [torch.float64, *HALVES]
x = floats(3, 4, 5, 6)
w, b = floats(4), floats(4)
mean, var = floats(4), floats(4, low=0.5, high=2)
ROOM = {"tolerance": (3e-2, 3e-2)}
SPACE = {"dynamic": {0: [0, 2, 3]}}


def followed(x, mean, var, *options):
    """An instance norm in training, and the statistics that it writes."""
    mean, var = mean.clone(), var.clone()
    return aten.instance_norm(x, None, None, mean, var, *options, False), mean, var


def normed(layer: nn.Module, norm: nn.Module) -> nn.Module:
    """A layer and its normalisation, where some channels hardly vary, as pruned ones do: epsilon decides them."""
    norm.running_mean.copy_(torch.tensor([0.5, -0.25, 0.0, 1.0]))
    norm.running_var.copy_(torch.tensor([0.0, 1e-5, 1e-3, 1.0]))
    return nn.Sequential(layer, norm).eval()


CASES = [
    case(nn.BatchNorm2d(4), x),
    case(F.batch_norm, x, mean, var, w, b),
    case(F.batch_norm, x, mean, var, w, b, dtypes=WIDE, tolerance=(3e-2, 5e-2)),
    case(F.batch_norm, x, mean, var),
    case(F.batch_norm, floats(3, 4), mean, var, w, b),
    case(F.batch_norm, floats(3, 4, 5), mean, var, w),
    case(F.batch_norm, x, None, None, w, b, training=True),
    case(F.batch_norm, x, None, None, training=True),
    case(aten.native_batch_norm.default, x, w, b, mean, var, False, 0.1, 1e-5, name="native_batch_norm"),
    case(aten.native_batch_norm.default, x, w, None, None, None, True, 0.1, 1e-5),
    case(aten._native_batch_norm_legit.no_stats, x, w, b, True, 0.1, 1e-5),
    case(aten._native_batch_norm_legit.default, x, w, b, mean, var, False, 0.1, 1e-5),
    case(aten._native_batch_norm_legit_no_training.default, x, w, b, mean, var, 0.1, 1e-5),
    case(aten._native_batch_norm_legit_functional.default, x, w, b, mean, var, True, 0.3, 1e-5),
    case(aten._native_batch_norm_legit_functional.default, x, None, None, mean, var, False, 0.3, 1e-5),
    case(F.layer_norm, x, [6], floats(6), floats(6)),
    case(F.layer_norm, x, [6], floats(6)),
    case(F.layer_norm, x, [5, 6]),
    case(F.layer_norm, x, [5, 6], floats(5, 6), floats(5, 6), 1e-2),
    case(F.layer_norm, x, [6], floats(6), floats(6), dtypes=WIDE, **ROOM),
    case(F.layer_norm, floats(3, 6).half(), [6], floats(6), floats(6), name="layer_norm of mixed dtypes", **ROOM),
    case(aten.native_layer_norm.default, x, [5, 6], floats(5, 6), None, 1e-5),
    case(aten.native_layer_norm.default, x, [6], None, None, 1e-5, dtypes=WIDE, **ROOM),
    case(F.group_norm, x, 2, w, b),
    case(F.group_norm, x, 4),
    case(F.group_norm, 3 + floats(2, 4, 5) / 100, 2, name="group_norm of values close to each other"),
    case(F.group_norm, floats(3, 4), 2, w, b),
    case(F.group_norm, floats(3, 4, 5), 1, w),
    case(F.group_norm, x, 2, w, b, dtypes=WIDE, **ROOM),
    case(aten.native_group_norm.default, x, w, b, 3, 4, 30, 2, 1e-5, dynamic=False),
    case(F.instance_norm, x, None, None, w, b),
    case(F.instance_norm, floats(3, 4, 5)),
    case(F.instance_norm, x, mean, var, w, b, use_input_stats=False),
    case(F.instance_norm, x, dtypes=HALVES, **ROOM),
    *(case(followed, t, mean, var, use, 0.3, 1e-3, **SPACE) for t in (x, floats(3, 4, 5, 2)) for use in (True, False)),
    case(F.instance_norm, x, None, None, w, b, dtypes=[torch.float64], tolerance=(1e-12, 1e-13)),
    case(F.instance_norm, floats(3, 4, 5), dtypes=[torch.float64], tolerance=(1e-12, 1e-13)),
    case(F.rms_norm, x, [6], floats(6)),
    case(F.rms_norm, x, [5, 6], floats(5, 6), 1e-2),
    case(F.rms_norm, x, [6]),
    case(F.rms_norm, x, [6], floats(6), dtypes=WIDE, **ROOM),
    # where the epsilon that PyTorch takes makes a difference; weights may be wider than the input
    *(
        case(F.rms_norm, (x * 0.02).to(dtype), [6], weight, name=f"small rms_norm {dtype} {weight is not None}", tolerance=(1e-2, 1e-2))
        for dtype in (torch.float16, torch.bfloat16)
        for weight in (None, floats(6))
    ),
    *(case(fused, x, [6], floats(6), 1e-5) for fused in known("torch.ops.aten._fused_rms_norm.default")),
    case(F.local_response_norm, x, 3),
    case(F.local_response_norm, x, 2, 1e-2, 0.5, 2.0),
    case(torch._weight_norm, x, floats(3, 1, 1, 1), 0),
    case(torch._weight_norm, x, floats(1, 1, 1, 6), 3),
    case(torch._weight_norm, x, floats(1), -1, dynamic=False),
    case(aten._weight_norm_interface.default, x, floats(3, 1, 1, 1), 0, strided=False),
    case(torch.norm_except_dim, x, 2, 1),
    case(torch.norm_except_dim, x, 2, -1),
    case(torch.renorm, x, 2, 1, 3.0),
    case(torch.renorm, x, 1, -1, 5),
    case(F.normalize, x, dim=1),
    case(normed(nn.Conv2d(4, 4, 3, bias=False), nn.BatchNorm2d(4)), x, name="norm after conv", **SPACE),
    case(normed(nn.ConvTranspose2d(4, 4, 2), nn.BatchNorm2d(4, eps=1e-3)), x, name="norm after transposed conv", **SPACE),
    case(normed(nn.Linear(6, 4), nn.BatchNorm1d(4)), floats(3, 6), name="norm after linear", dynamic={0: [0]}),
    case(lambda *a: aten._batch_norm_with_update(*a, 0.1, 1e-5), x, w, b, mean, var, name="_batch_norm_with_update", dynamic={0: [0, 2, 3]}),
    case(lambda x, m, v: F.batch_norm(x, m, v, training=True), floats(0), floats(0), floats(0), dynamic=False, name="batch_norm of nothing"),
]
