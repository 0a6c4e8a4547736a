"""Inputs of which a model changes the shape in place."""

import pytest
import torch

import flambeau


def one_more(x, y):
    x.unsqueeze_(1)
    return x * y.sum()


def after_a_write(x, y):
    x.mul_(2)
    y.unsqueeze_(0).add_(x)
    return x.shape[0] * x + y


def another_tensor(x, y):
    x.set_(y[None].contiguous())
    return x + 1


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x, *, y):
        return self.function(x, y)


@pytest.mark.parametrize("function", [one_more, after_a_write, another_tensor])
@pytest.mark.parametrize("dynamic", [False, True])
def test_inputs_get_another_number_of_dimensions(function, dynamic):
    given = torch.randn(4, 3), torch.randn(4, 3)
    model, (x, y) = Calls(function), (each.clone() for each in given)
    shapes = {"x": {0: "n"}, "y": {0: "n"}} if dynamic else None
    program = flambeau.export(model, (x,), kwargs={"y": y}, dynamic_shapes=shapes, verbose=False)
    assert x.equal(given[0]) and y.equal(given[1])
    for rows in (4, 6) if dynamic else (4,):
        x, y = torch.randn(rows, 3), torch.randn(rows, 3)
        torch.testing.assert_close(program(x.clone(), y=y.clone())[0], model(x, y=y))
    assert not model._forward_pre_hooks
