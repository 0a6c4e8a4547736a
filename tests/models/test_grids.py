"""Rows of patches as square grids again, whose side is the root of how many there are."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F

import flambeau

from .checking import compare, convert, sizes_of

ROOTS = {"sqrt": lambda n: int(math.sqrt(n)), "power": lambda n: int(n**0.5), "isqrt": lambda n: math.isqrt(n)}


class Decoded(torch.nn.Module):
    def __init__(self, root):
        super().__init__()
        self.root = root
        self.first, self.last = torch.nn.Conv2d(3, 2, 8, 8), torch.nn.ConvTranspose2d(2, 1, 8, 8)

    def forward(self, x):
        patches = self.first(x).flatten(2).transpose(1, 2)
        patches = F.pad(patches, (0, 0, 1, 0))[:, 1:].permute(0, 2, 1)  # a token for the class, and without it
        side = self.root(patches.shape[2])
        return self.last(patches.view(len(patches), 2, side, side))


@pytest.mark.parametrize("root", ROOTS)
def test_a_grid_has_the_side_of_its_image(root):
    torch.manual_seed(0)
    model = Decoded(ROOTS[root]).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (torch.randn(2, 3, 48, 48),), ({0: "batch", 2: "side", 3: "side"},))
    assert sizes_of(program.model_proto.graph.input)[0] == ["batch", 3, "side", "side"]
    compare(program, model, *[(torch.randn(batch, 3, side, side),) for batch, side in ((2, 48), (3, 64), (1, 35))])
