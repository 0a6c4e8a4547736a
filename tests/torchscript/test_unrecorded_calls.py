"""Calls that torch's tracer does not record."""

import copy
import warnings

import pytest
import torch
from cases import x
from checking import Calls, compare

import flambeau


class Resized(torch.nn.Module):
    """A buffer that gets as many elements as there are rows, and one of which fewer are left."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.ones(2))
        self.register_buffer("first", torch.arange(4.0))

    def forward(self, x):
        self.rows.resize_(x.shape[0])
        self.rows.copy_(x[:, 0])
        self.first.resize_(2)
        self.first.add_(1)
        same = x.clone().resize_as_(self.first)
        return self.rows * 2, self.first + x[0, 0], same.mul_(3)


def test_resized_tensors():
    program = flambeau.export(Resized(), (x(3, 2),), capture="trace", dynamic_shapes=({0: "n"},), state_outputs=True, verbose=False)
    for count in (3, 5, 1):
        model, rows = copy.deepcopy(Resized()), x(count, 2)
        for given, expected in zip(program(rows), (*model(rows), *model.buffers()), strict=True):
            torch.testing.assert_close(given, expected)


def columns_first(x):
    return x.t().resize_(2), x.clone().permute(1, 0).resize_(2, 2)


def more_than_a_row(x):
    z = x.clone()
    last = z[1:].t()
    last.resize_(2)
    last.add_(1)
    return x.clone()[0].resize_(3, 2), z, last


@pytest.mark.parametrize("function", [columns_first, more_than_a_row])
def test_a_resize_of_a_part_takes_what_lies_behind_it(function):
    program = flambeau.export(Calls(function), (x(3, 2),), capture="trace", dynamic_shapes=({0: "n"},), verbose=False)
    for count in (3, 5):
        compare(Calls(function), program, (x(count, 2),))


def test_a_resize_of_a_part_beyond_its_memory_is_refused():
    def resized(x):
        return x.t().resize_(7)

    with pytest.raises(flambeau.errors.CaptureError, match=r"x\.t\(\)\.resize_\(7\)\): a trace does not record resize_ to more .* call contiguous"):
        flambeau.export(Calls(resized), (x(3, 2),), capture="trace", verbose=False)


class SetsTheDefault(torch.nn.Module):
    def forward(self, x):
        torch.set_default_dtype(torch.float64)
        return torch.arange(x.shape[0]) / 2


def test_a_default_dtype_that_a_model_sets_is_put_back():
    with pytest.raises(flambeau.errors.CaptureError, match="does not record that the model sets torch's default dtype"):
        flambeau.export(SetsTheDefault(), (x(3),), capture="trace", verbose=False)
    assert torch.get_default_dtype() == torch.float32
    program = flambeau.export(SetsTheDefault(), (x(3),), verbose=False)
    assert torch.get_default_dtype() == torch.float32
    torch.testing.assert_close(program(x(3))[0], torch.tensor([0.0, 0.5, 1.0], dtype=torch.float64))


def test_a_resize_brings_no_warning_of_torch():
    def resized(x):
        return x.new_empty(0).resize_as_(x).copy_(x), x.clone().resize_(2)

    with warnings.catch_warnings():
        warnings.simplefilter("error", torch.jit.TracerWarning)
        program = flambeau.export(Calls(resized), (x(3, 2),), capture="trace", dynamic_shapes=({0: "n"},), verbose=False)
    for count in (3, 5, 1):
        compare(Calls(resized), program, (x(count, 2),))


class Extremes(torch.nn.Module):
    """Into `out=`; of two tensors, and along a dimension, beside it."""

    def forward(self, x):
        most, least, second = torch.zeros([]), torch.zeros(3), torch.zeros_like(x)
        torch.max(x, out=most)
        found = torch.min(x, out=least.sum())
        torch.max(x, x.flip(1), out=second)
        rows, places = torch.max(x, 1)
        flag = torch.max(x > 9, out=torch.ones(2, dtype=torch.bool).any())
        count = torch.min((x > -9).long(), out=torch.zeros([], dtype=torch.float16))
        return most, found, flag, count, second, rows, places, torch.min(x), torch.max(input=x, dim=0)[0], torch.min(x, x * 2)


def test_the_largest_element_into_another_tensor():
    program = flambeau.export(Extremes(), (x(3, 2),), capture="trace", dynamic_shapes=({0: "n"},), verbose=False)
    for count in (3, 5):
        compare(Extremes(), program, (x(count, 2),))
