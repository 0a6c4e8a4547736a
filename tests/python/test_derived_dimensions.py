"""Dimensions that are computed from one which is no dimension itself, as images of ``8 * h`` by ``8 * w`` pixels."""

import pytest
import torch
import torch.nn.functional as F
from torch.export import Dim

import flambeau

H, W = Dim("h", max=100), Dim("w", max=100)


class UNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.down, self.up = torch.nn.Conv2d(3, 4, 3, 2, 1), torch.nn.Conv2d(4, 3, 1)

    def forward(self, x):
        return F.interpolate(self.up(self.down(x)), size=x.shape[2:], mode="bilinear") + x


class Of(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


class Means(torch.nn.Module):
    def forward(self, x, y):
        return x.sum(0) / y.shape[0] + y.mean(0)


CASES = {
    "as_a_number": (Of(lambda x: x / x.shape[0]), ({0: 2 * H},), [[(6, 4)], [(8, 4)], [(2, 4)]]),
    "as_a_length": (Of(lambda x: x + torch.arange(x.shape[0])[:, None]), ({0: H + 1},), [[(6, 4)], [(9, 4)]]),
    "less_and_times": (Of(lambda x: x.repeat(2, 1) * x.shape[0]), ({0: 3 * Dim("k", min=1, max=100) - 1},), [[(5, 4)], [(8, 4)]]),
    "two_of_one_root": (Of(lambda x, y: x.sum(0) / y.shape[0] + y.mean(0)), ({0: 2 * H}, {0: 3 * H}), [[(4, 4), (6, 4)], [(6, 4), (9, 4)]]),
    "images": (UNet(), ({2: 8 * H, 3: 8 * W},), [[(1, 3, 16, 24)], [(1, 3, 8, 40)]]),
}


@pytest.mark.parametrize("live", [True, False], ids=["live", "program"])
@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_sizes_follow_from_their_root(case, live):
    model, shapes, runs = case
    first, *_ = runs = [[torch.randn(sizes) for sizes in each] for each in runs]
    shapes = (shapes,) if isinstance(model, Of) else shapes  # of its one argument
    source = model if live else torch.export.export(model, tuple(first), dynamic_shapes=shapes)
    program = flambeau.export(source, tuple(first), dynamic_shapes=shapes) if live else flambeau.export(source)
    for args in runs:
        torch.testing.assert_close(program(*args)[0], model(*args), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shapes", "sizes", "words"),
    [
        (({0: 2 * H}, {0: 3 * H}), (6, 9), ["2*h", "3*h"]),
        (({0: 2 * H + 1}, {0: H}), (7, 3), ["2*h + 1", "h"]),
        ({"x": (8 * H, None), "y": {0: 4 * Dim("w")}}, (16, 12), ["8*h", "4*w"]),
        (({0: 2 * Dim("k", min=2, max=9) + 1}, {0: Dim("k", min=2, max=9) - 1}), (7, 2), ["2*y_dim_0 + 3", "y_dim_0"]),  # torch has y's size
        (({0: 8 * H}, {0: "h"}), (16, 5), ["8*x_size", "h"]),  # which is not an eighth of 16
    ],
)
def test_their_root_has_its_name(shapes, sizes, words):
    model, args = Means(), [torch.randn(size, 4) for size in sizes]
    program = flambeau.export(model, tuple(args), dynamic_shapes=shapes)
    assert [value.sizes for value in program.inputs] == [[word, "4"] for word in words]
    torch.testing.assert_close(program(*args)[0], model(*args), rtol=1e-4, atol=1e-5)
