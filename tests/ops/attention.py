import torch
from harness import bools, case, floats
from torch import nn
from torch.nn import functional as F

aten = torch.ops.aten
HALVES = [torch.float16, torch.bfloat16]
ROOM = {"tolerance": (3e-2, 5e-2)}
attend = F.scaled_dot_product_attention
q, k, v = floats(2, 4, 5, 8), floats(2, 4, 7, 8), floats(2, 4, 7, 6)
narrow_k, narrow_v = floats(2, 2, 7, 8), floats(2, 2, 7, 8)
blind = bools(5, 7)
blind[1] = False  # a query that sees nothing
blind_floats = torch.where(blind, floats(5, 7), -torch.inf)
KEPT = {"again": False, "dynamic": False}


class SelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x):
        return self.inner(x, x, x)


def to_itself(x):
    x = x * 2.0
    return attend(x, x, x)


def scaled_again_and_again(x):
    scaled, products = x, []
    for _ in range(8):
        scaled = (scaled * 1.01).transpose(1, 2)
        products.append(scaled @ x)
    return products


def to_its_own_transpose(x):
    x = (x.transpose(-2, 0) * 2).transpose(-2, 0)
    return attend(x, x, x, is_causal=True)


CASES = [
    case(attend, q, k, v),
    case(to_itself, floats(2, 5, 8)),
    case(lambda x: attend(x, x[:0], x[:0], is_causal=True), floats(4, 5, 8), name="to nothing"),
    case(scaled_again_and_again, floats(3, 4, 4)),
    case(to_its_own_transpose, floats(3, 5, 8)),
    case(attend, q, k, v, scale=0.3),
    case(attend, floats(5, 8), floats(7, 8), floats(7, 6)),
    case(attend, floats(4, 5, 8), floats(4, 7, 8), floats(4, 7, 6)),
    case(attend, floats(2, 3, 4, 5, 8), floats(2, 3, 4, 7, 8), floats(2, 3, 4, 7, 8)),
    case(attend, q, k, v, dtypes=[torch.float64, *HALVES], **ROOM),
    case(attend, 4 * q, 4 * k, v, dtypes=[torch.bfloat16], tolerance=(1e-2, 2e-2), name="large scores"),
    case(attend, 4 * q, 4 * k, v, is_causal=True, dtypes=[torch.bfloat16], tolerance=(1e-2, 2e-2), name="large scores, causal"),
    case(attend, q, k, v, is_causal=True),
    case(attend, floats(1, 2, 200, 8), floats(1, 2, 130, 8), floats(1, 2, 130, 8), is_causal=True),
    case(attend, q, k, v, blind, **KEPT),
    case(attend, q, k, v, blind_floats, **KEPT),
    case(attend, q, k, v, blind, dtypes=HALVES, **KEPT, **ROOM),
    case(attend, q, k, v, bools(2, 1, 5, 7)),
    case(attend, q, k, v, bools(2, 4, 5, 7)),
    case(attend, q, k, v, floats(2, 1, 1, 7)),
    case(attend, q, narrow_k, narrow_v, enable_gqa=True),
    case(attend, q, narrow_k, narrow_v, bools(2, 1, 5, 7), enable_gqa=True),
    case(attend, q, narrow_k, narrow_v, floats(2, 4, 5, 7), enable_gqa=True),
    case(attend, q, narrow_k, narrow_v, is_causal=True, enable_gqa=True),
    case(aten._scaled_dot_product_attention_math.default, q, k, v),
    case(aten._scaled_dot_product_attention_math.default, q, narrow_k, narrow_v, enable_gqa=True),
    case(aten._scaled_dot_product_flash_attention_for_cpu.default, q, k, floats(2, 4, 7, 8), dynamic={0: [0], 1: [0], 2: [0]}, strided=False),
    case(aten._scaled_dot_product_flash_attention_for_cpu.default, q, k, floats(2, 4, 7, 8), is_causal=True, dynamic=False, strided=False),
    case(SelfAttention(), floats(2, 5, 8)),
    case(aten._safe_softmax.default, blind_floats, -1, **KEPT),
    case(aten._safe_softmax.default, torch.tensor([[float("nan"), float("-inf")], [float("-inf"), float("-inf")], [1.0, float("-inf")]]), -1, name="_safe_softmax of NaN"),
]
