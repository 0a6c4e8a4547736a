"""Images that are resized by picking pixels, at dynamic sizes: PyTorch's pixels, and as Resize where that picks them."""

import pytest
import torch
from checking import check
from torch import nn
from torch.nn import functional as F


class Pyramid(nn.Module):
    """Each level is half as large as the one before it, rounded up."""

    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(nn.Conv2d(3, 3, 3, 2, 1) for _ in range(4))

    def forward(self, x):
        rows: list[torch.Tensor] = []
        for level in self.levels:
            x = level(x)
            rows.append(x)
        for row in rows[-2::-1]:
            x = F.interpolate(x, size=row.shape[-2:], mode="nearest") + row
        return x


class ToOneSize(nn.Module):
    def forward(self, x):
        return F.interpolate(x, size=(16, 82), mode="nearest"), F.interpolate(x, size=(10, 20), mode="nearest-exact")


class ByParts(nn.Module):
    def forward(self, x):
        sizes = x.size(2) // 3, x.size(3) * 4 // 3
        return F.interpolate(x, size=sizes, mode="nearest"), F.interpolate(x, size=sizes, mode="nearest-exact")


def operators(program):
    return {node.op_type for node in program.model.graph}


@pytest.mark.parametrize("how", ["trace", "script"])
@pytest.mark.parametrize(("model", "picks"), [(Pyramid().eval(), False), (ToOneSize(), True), (ByParts(), True)], ids=lambda each: type(each).__name__)
def test_dynamic_sizes(model, picks, how):
    """14 and 16 rows, or 2 and 82 columns, are such that Resize picks others."""
    others = [(torch.randn(1, 3, *sizes),) for sizes in ((14, 14), (33, 16), (40, 61), (82, 7))]
    program = check(model, (torch.randn(1, 3, 24, 31),), others=others, how=how, dynamic_axes={"x": [2, 3]}, input_names=["x"])
    assert operators(program) & {"Gather", "Resize"} == {"Gather" if picks else "Resize"}
