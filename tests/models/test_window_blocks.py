"""Images that layer after layer is cut into windows, padded for that, and put together again."""

import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau

from .checking import compare, convert

SHAPES = ({0: "batch", 1: "height", 2: "width"},)


class Block(nn.Module):
    def __init__(self, side=4):
        super().__init__()
        self.side, self.mix = side, nn.Linear(3, 3)

    def forward(self, x):
        batch, height, width, channels = x.shape
        side = self.side
        padded = F.pad(x, (0, 0, 0, (side - width % side) % side, 0, (side - height % side) % side))
        rows, columns = padded.shape[1] // side, padded.shape[2] // side
        windows = padded.view(batch, rows, side, columns, side, channels).permute(0, 1, 3, 2, 4, 5)
        mixed = self.mix(windows.reshape(-1, side * side, channels)).softmax(1)
        whole = mixed.view(-1, rows, columns, side, side, channels).permute(0, 1, 3, 2, 4, 5).reshape(-1, *padded.shape[1:])
        return whole[:, :height, :width]


def longest_size(program):
    sizes = [size for value in program.exported_program.graph.nodes if isinstance(value.meta.get("val"), torch.Tensor) for size in value.meta["val"].shape]
    return max(len(str(size)) for size in sizes)


def converted(blocks):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        return convert(nn.Sequential(*(Block() for _ in range(blocks))), (torch.randn(2, 10, 7, 3),), SHAPES)


def test_sizes_do_not_grow_with_the_layers():
    assert longest_size(converted(6)) == longest_size(converted(2))


@pytest.mark.parametrize("blocks", [1, 3])
def test_windows_of_any_image(blocks):
    torch.manual_seed(0)
    model = nn.Sequential(*(Block() for _ in range(blocks)))
    program = convert(model, (torch.randn(2, 10, 7, 3),), SHAPES)
    assert [value.sizes for value in program.outputs] == [["batch", "height", "width", "3"]]
    compare(program, model, *((torch.randn(*sizes, 3),) for sizes in ((2, 10, 7), (1, 8, 12), (3, 5, 4), (1, 3, 17))))


class Stage(nn.Module):
    """As DaViT and TinyViT begin one: half the image, padded to even sides, in windows."""

    def __init__(self):
        super().__init__()
        self.reduce, self.blocks = nn.Conv2d(3, 3, 2, 2), Block(7)

    def forward(self, x):
        x = F.pad(x, (0, (2 - x.shape[3] % 2) % 2, 0, (2 - x.shape[2] % 2) % 2))
        return self.blocks(self.reduce(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


def test_sides_that_are_padded_are_told_once():
    """Each stage had told them twice as often as the one before: four took minutes."""
    torch.manual_seed(0)
    model = nn.Sequential(*(Stage() for _ in range(4)))
    program = convert(model, (torch.randn(2, 3, 64, 52),), ({0: "batch", 2: "height", 3: "width"},))
    for node in program.exported_program.graph.nodes:
        value = node.meta.get("val")
        assert not isinstance(value, torch.Tensor) or all(str(size).count("//") <= 10 for size in value.shape)
    compare(program, model, *((torch.randn(*sizes),) for sizes in ((2, 3, 64, 52), (1, 3, 33, 47))))
