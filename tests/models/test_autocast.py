"""Normalizations and their neighbours under autocast, whose weights stay float32."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from .checking import compare, convert


class UnderAutocast(nn.Module):
    def __init__(self, layer: nn.Module) -> None:
        super().__init__()
        self.before, self.layer, self.after = nn.Conv1d(4, 8, 1), layer, nn.Conv1d(8, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.after(self.layer(self.before(x))).float()


LAYERS = {
    "layer_norm": nn.LayerNorm(6),
    "rms_norm": nn.RMSNorm(6),
    "group_norm": nn.GroupNorm(2, 8),
    "batch_norm": nn.BatchNorm1d(8),
    "instance_norm": nn.InstanceNorm1d(8, affine=True),
    "prelu": nn.PReLU(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_under_autocast(name):
    torch.manual_seed(0)
    model = UnderAutocast(LAYERS[name]).eval()
    program = convert(model, (torch.randn(2, 4, 6),), ({0: "batch"},))
    compare(program, model, (torch.randn(2, 4, 6),), (torch.randn(3, 4, 6),))
