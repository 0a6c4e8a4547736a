"""Opsets that no runtime loads yet: the checker takes the models, and onnx's reference computes PyTorch's numbers."""

from __future__ import annotations

import numpy as np
import onnx
import onnx.reference
import pytest
import torch
from torch import nn

import flambeau

NEWEST = onnx.defs.onnx_opset_version()


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.norm = nn.LayerNorm(8)
        self.qkv = nn.Linear(8, 24)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(self.norm(self.embed(tokens))).unflatten(-1, (6, 4)).transpose(1, 2).chunk(3, 1)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return mixed.transpose(1, 2).flatten(2).softmax(-1)


class Numbers(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        steps = torch.arange(x.shape[0])
        return x.cumsum(0), torch.where(x > 0, x, x.abs().sqrt()), steps.remainder(3), x.topk(2).values, x.clamp(-1, 1)


def image_model() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 5))


MODELS = {
    "attention": (Attention, lambda: (torch.arange(6).reshape(2, 3),)),
    "image": (image_model, lambda: (torch.randn(2, 3, 8, 8),)),
    "numbers": (Numbers, lambda: (torch.randn(4, 5),)),
}


@pytest.mark.parametrize("opset", range(27, NEWEST + 1))
@pytest.mark.parametrize("name", MODELS)
def test_reference_computes_the_same(name: str, opset: int) -> None:
    torch.manual_seed(3)
    make, arguments = MODELS[name]
    module, args = make().eval(), arguments()
    model = flambeau.export(module, args, opset_version=opset).model_proto
    onnx.checker.check_model(model, full_check=True)
    with torch.no_grad():
        expected = module(*args)
    names = [value.name for value in model.graph.input]
    results = onnx.reference.ReferenceEvaluator(model).run(None, dict(zip(names, (arg.numpy() for arg in args), strict=True)))
    for got, want in zip(results, expected if isinstance(expected, tuple) else (expected,), strict=True):
        np.testing.assert_allclose(got, want.numpy(), rtol=1e-4, atol=1e-5)
