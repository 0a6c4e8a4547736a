"""Models that make tensors of their own classes."""

import pytest
import torch

import flambeau
from flambeau.errors import CaptureError


class Point(torch.Tensor):
    """As geoopt has them: it computes as any tensor, and knows where it is from."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, data, scale=1.0):
        point = torch.Tensor._make_subclass(cls, data.data, False)
        point.scale = scale
        return point

    def scaled(self):
        return self * self.scale


class Other(torch.Tensor):
    """Computes otherwise."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    def __new__(cls, data):
        return torch.Tensor._make_subclass(cls, data.data, False)

    def relu(self):
        return self * 0


class Made(torch.nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x):
        return x + self.kind(torch.ones(3)) + self.kind(x * 2).relu()


class Asks(torch.nn.Module):
    def forward(self, x):
        point, size = Point(x, 3.0), Point(torch.ones(3)) * 2
        x = point.scaled() if isinstance(point, Point) and type(point) is Point else x
        return x - 1 if isinstance(size, Point) else x + size


@pytest.mark.parametrize("model", [Made(Point), Asks()])
def test_what_computes_as_any_tensor_is_captured(model):
    x = torch.randn(2, 3)
    program = flambeau.export(model, (x,), dynamic_shapes=({0: "n"},))
    for each in (x, torch.randn(5, 3)):
        torch.testing.assert_close(program(each)[0], model(each).as_subclass(torch.Tensor))


def test_what_computes_otherwise_is_refused():
    with pytest.raises(CaptureError):
        flambeau.export(Made(Other), (torch.randn(2, 3),))
