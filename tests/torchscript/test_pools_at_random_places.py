"""Fractional max pools to a size that follows from the input's."""

import pytest
import torch
import torch.nn.functional as F
from checking import check
from torch import Tensor

import flambeau


class HalfTheSize(torch.nn.Module):
    def forward(self, x, samples):
        return F.fractional_max_pool2d(x, 2, output_size=[x.size(2) // 2, x.size(3) // 2], _random_samples=samples, return_indices=True)


class ThirdOfTheDepth(torch.nn.Module):
    def forward(self, x, samples):
        return F.fractional_max_pool3d(x, [3, 2, 1], output_size=[x.size(2) // 3, x.size(3) // 2, 2], _random_samples=samples, return_indices=True)


class Drawn(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = torch.nn.FractionalMaxPool2d(3, output_ratio=(0.5, 0.6))

    def forward(self, x: Tensor) -> Tensor:
        return self.pool(x)


def drawn(*sizes):
    return torch.randn(sizes), torch.rand(*sizes[:2], len(sizes) - 2)


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("opset", [11, 20])
def test_sizes_that_follow_from_the_inputs(how, opset):
    images = [drawn(2, 3, *sizes) for sizes in ((9, 8), (3, 3), (12, 3))]  # one window along an axis or both, too
    axes = {"x": {2: "h", 3: "w"}, "samples": {}}
    check(HalfTheSize(), drawn(2, 3, 6, 7), others=images, how=how, dynamic_axes=axes, opset_version=opset)
    volumes = [drawn(2, 3, *sizes) for sizes in ((9, 8, 3), (4, 3, 4))]
    axes = {"x": {2: "d", 3: "h", 4: "w"}, "samples": {}}
    check(ThirdOfTheDepth(), drawn(2, 3, 7, 6, 4), others=volumes, how=how, dynamic_axes=axes, opset_version=opset)


def test_a_ratio():
    model = torch.jit.script(Drawn())
    program = flambeau.export(model, (torch.randn(2, 3, 10, 10),), input_names=["x"], dynamic_axes={"x": {0: "n", 2: "h"}}, verbose=False)
    for sizes in ((2, 3, 10, 10), (4, 3, 17, 10)):
        x = torch.randn(sizes)
        (pooled,) = program(x)
        assert pooled.shape == model(x).shape
        assert torch.isin(pooled, x).all()


class Volumes(torch.nn.Module):
    def forward(self, x, samples):
        return torch.nn.functional.fractional_max_pool3d(x, 2, output_size=[2, 3, 2], _random_samples=samples, return_indices=True)


@pytest.mark.parametrize("how", ["script", "trace"])
def test_no_volumes(how):
    axes = {"x": {0: "n"}, "samples": {0: "n"}}
    check(Volumes(), drawn(2, 3, 5, 6, 4), others=[drawn(3, 3, 5, 6, 4), drawn(0, 3, 5, 6, 4)], how=how, dynamic_axes=axes)


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_places_as_the_dtype_rounds_them(how, dtype):
    """Of many windows, where they begin is often near a whole number."""
    x, samples = drawn(8, 32, 40, 33)
    check(HalfTheSize(), (x.to(dtype), samples.to(dtype)), how=how)
