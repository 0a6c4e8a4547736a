import torch
from harness import case, floats, ints, special
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
WIDE = [torch.float64, *HALVES]
x = floats(2, 3, 4)


def zeros_at_rate(want, got):
    """Dropout: what is kept is scaled; about as many zeros as asked for."""
    kept = got[got != 0]
    return got.shape == tuple(want.shape) and abs((got == 0).mean() - 0.3) < 0.05 and abs(kept - 1 / 0.7).max() < 1e-3


def channels_dropped(want, got):
    flat = got.reshape(-1, 4)
    return bool(((flat == 0).all(1) | (abs(flat - 2) < 1e-3).all(1)).all())


CASES = [
    *(
        [case(op, x), case(op, torch.tensor([float("nan"), 0.0, -0.0, 100.0, -100.0])), case(op, x, dtypes=HALVES), case(op, torch.tensor(-0.5)), case(op, floats(0, 3))]
        for op in (F.relu, F.relu6, F.gelu, F.silu, F.mish, F.elu, F.selu, F.celu, F.leaky_relu, F.hardtanh, F.hardsigmoid,
                   F.hardswish, F.hardshrink, F.softshrink, F.softplus, F.tanhshrink, F.logsigmoid, F.softsign)
    ),
    case(lambda t: torch.clamp(F.relu6(F.relu(t)), 0.5, 2), x, name="clips in a row"),
    case(lambda t: torch.clamp(F.relu(t), max=1), special(10), name="relu and clip"),
    case(F.relu, ints(2, 3)),
    case(F.relu6, ints(2, 3, high=9)),
    case(F.hardtanh, ints(2, 3), -2, 2),
    # functions of float64 that onnxruntime has of float32 only keep float64's digits
    case(F.selu, x, dtypes=[torch.float64], tolerance=(1e-12, 1e-14), name="selu with all digits of its factors"),
    *[case(op, x, dtypes=[torch.float64]) for op in (F.silu, F.mish, F.elu, F.selu, F.celu, F.leaky_relu, F.hardsigmoid, F.hardswish, F.softplus, F.logsigmoid)],
    *[case(op, special(10), dtypes=[torch.float64]) for op in (F.elu, F.softplus, F.leaky_relu, F.hardsigmoid)],
    case(F.prelu, x, floats(3), dynamic={0: [0, 2]}, dtypes=[torch.float64]),
    case(F.relu, x, dtypes=[torch.float64, torch.int8, torch.int32]),
    case(F.gelu, x, approximate="tanh"),
    case(F.elu, x, 0.5),
    case(aten.elu.default, x, 1.5, 2.0, 0.5),
    case(F.celu, x, 0.7),
    case(F.leaky_relu, x, 0.2),
    case(F.hardtanh, x, -0.5, 2.5),
    case(F.hardshrink, x, 1.0),
    case(F.softshrink, x, 1.0),
    case(F.softplus, x * 10),
    case(F.softplus, x * 10, beta=2, threshold=5),
    *[case(lambda x, n, op=op: op(x, n.item()), x, torch.tensor(0.3), dynamic={0: [0]}, name=f"{op.__name__} of a run-time number") for op in (F.elu, F.celu, F.leaky_relu, F.hardshrink, F.softplus)],
    case(F.threshold, x, 0.5, -1.0),
    case(F.threshold, ints(2, 3), 0, 7),
    case(F.threshold, special(10), 0.5, 3.0),
    case(F.prelu, x, torch.tensor([0.25])),
    case(aten._prelu_kernel.default, x, floats(1, 3, 1), dynamic={0: [0, 2]}, dtypes=[torch.float32, torch.float16]),
    case(F.prelu, x, floats(3), dynamic={0: [0, 2]}),
    case(F.prelu, floats(2, 3), floats(3), dynamic={0: [0]}),
    case(F.rrelu, x, 0.1, 0.3),
    case(F.glu, floats(4, 3, 6)),
    case(F.glu, floats(4, 3, 6), dim=0),
    case(F.glu, floats(4, 3, 6), dtypes=HALVES),
    *(
        [
            case(op, x, dim=-1),
            case(op, x, dim=1),
            case(op, torch.tensor(1.0), dim=0),
            case(op, x, dim=0, dtype=torch.float64),
            case(op, ints(2, 3), dim=1, dtype=torch.float32),
            case(op, x, dim=-1, dtypes=WIDE),
            case(op, floats(0, 3), dim=1),
            case(op, torch.tensor([[1.0, float("-inf")], [100.0, -100.0]]), dim=1),
        ]
        for op in (F.softmax, F.log_softmax, F.softmin)
    ),
    case(torch.special.softmax, x, 1),
    case(torch.special.log_softmax, x, 1),
    case(aten._softmax.default, x, 1, False),
    case(aten._log_softmax.default, x, -1, False),
    case(F.dropout, x, 0.5, False),
    case(F.dropout, torch.ones(60, 60), 0.3, True, check=zeros_at_rate),
    case(lambda x: F.dropout(x.relu(), 0.3, True) + 0.0, torch.ones(60, 60), check=zeros_at_rate, opsets=(9, 13, 17, 18, 20, 21, 23, 26), name="dropout within a graph"),
    case(aten.native_dropout.default, torch.ones(60, 60), 0.3, True, check=lambda want, got: got.dtype == bool or zeros_at_rate(want, got)),
    case(aten.native_dropout.default, x, 0.5, False, tolerance=(1e-6, 1e-6)),
    case(F.dropout, x, 1.0, True),
    case(F.dropout1d, torch.ones(8, 9, 4), 0.5, True, dynamic={0: [0]}, check=channels_dropped),
    case(aten.feature_dropout.default, x, 0.5, False),

    case(F.rrelu, -torch.ones(60, 60), 0.1, 0.3, training=True, check=lambda want, got: (got <= -0.1).all() and (got >= -0.3).all() and got.std() > 0.04),
    case(F.alpha_dropout, floats(60, 60), 0.3, True, check=lambda want, got: abs(got.mean() - want.mean().item()) < 0.2 and abs(got.std() - want.std().item()) < 0.2),
    case(F.feature_alpha_dropout, floats(9, 8, 4), 0.5, True, check="shapes", dynamic={0: [0]}),
    *(case(op, x, 0.5, False) for op in (F.alpha_dropout, F.feature_alpha_dropout)),
    *(case(op, x, 1.0, True) for op in (F.alpha_dropout, F.feature_alpha_dropout)),
    case(aten._softmax_backward_data.default, x, x.softmax(1), 1, torch.float32),
    case(aten._log_softmax_backward_data.default, x, x.log_softmax(-1), -1, torch.float32),
    case(aten.native_dropout_backward.default, x, x > 0, 2.0),
    *(
        one
        for op in (aten.silu_backward.default, aten.mish_backward.default)
        for one in (
            case(op, x, x * 3 - 1, dtypes=WIDE),
            case(op, floats(3), torch.tensor([float("nan"), -90.0, 90.0])),
            case(op, torch.tensor(1.5), torch.tensor(-0.5)),
            case(op, floats(0, 3), floats(0, 3)),
        )
    ),
    # PyTorch's kernels compute halves in float32; the sum in gelu would lose what is left of them.
    *[case(F.gelu, torch.linspace(-4, -1.5, 12), approximate=how, dtypes=HALVES, tolerance=(2e-2, 1e-6), opsets=(13, 18, 20), name=f"gelu of negative halves, {how}")
      for how in ("none", "tanh")],
]
