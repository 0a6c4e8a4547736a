"""Tensors that a branch gives another shape in place, by out=, resize_ or a transpose: to what follows they are what the branch made of them."""

import pytest
import torch
from cases import Cases, x

import flambeau

case = Cases()
PATHS = {"how": ("script",), "others": [(x(4, 3).abs(),), (-x(4, 3).abs(),)]}
SQUARES = {"how": ("script",), "others": [(x(3, 3).abs(),), (-x(3, 3).abs(),)]}
ROWS = PATHS | {"dynamic_axes": {"x": [0]}, "others": [(x(7, 3).abs(),), (-x(2, 3).abs(),)]}


@case.forward(x(4, 3), **ROWS)
def written_on_both_paths(self, x):
    y = torch.empty(0)
    also = y
    if bool(x.sum() > 0):
        torch.add(x, 1, out=y)
        y.mul_(3)
        z = y[0]
    else:
        torch.mul(x, 2, out=also)
        z = y[1]
    y.add_(5)
    return also, y, z


@case.forward(x(4, 3), **ROWS)
def written_on_one_path(self, x):
    y, z = torch.empty(0), [torch.empty(0), x]
    if bool(x.sum() > 0):
        torch.add(x, 1, out=y)
        torch.add(x, 2, out=z[0])
    return y.sum() + x, z[0].sum()


@case.forward(x(4, 3), **ROWS)
def of_other_ranks(self, x):
    y = torch.empty(0)
    if bool(x.sum() > 0):
        torch.add(x, 1, out=y)
    else:
        torch.sum(x, dim=1, out=y)
    return y.mean(0) + 1


@case.forward(x(4, 3), **ROWS)
def in_branches_of_branches_and_loops(self, x):
    y, z = torch.empty(0), torch.empty(0)
    for i in range(3):
        if bool(x.sum() > i):
            if bool(x[0, 0] > 0):
                torch.add(x, 1, out=y)
            else:
                torch.add(x, 7, out=y)
            torch.add(y, 1, out=z)
        else:
            torch.mul(x, 2 + i, out=z)
            torch.add(z, 1, out=y)
    return y * 2, z


@case.forward(x(4, 3), **ROWS)
def turned(self, x):
    y = x.clone()
    row = y[0]
    if bool(x.sum() > 0):
        y.t_()
    else:
        y.t_().mul_(2)
    y.add_(1)
    return y, row


@case.forward(x(4, 3), **PATHS)
def made_smaller(self, x):
    y = torch.zeros(3)
    if bool(x.sum() > 0):
        y.resize_(2).fill_(1)
    else:
        y.resize_(2).fill_(3)
    return y + x[0, 0]


@case.forward(x(4, 3), **PATHS)
def of_an_input(self, x):
    if bool(x.sum() > 0):
        x.unsqueeze_(0)
    return x.sum(0)


@case.forward(x(3, 3), **SQUARES)
def turned_by_a_name_of_one_path(self, x):
    y = x.clone()
    z = x * 2
    if bool(x.sum() > 0):
        z = y
    y.t_()
    return y, z


@case.forward(x(3, 3), **SQUARES)
def turned_by_a_name_that_one_path_lacks(self, x):
    y = z = x.clone()
    if bool(x.sum() > 0):
        z = z + 1
    z.t_()
    z.add_(1)
    return y, z


@case.forward(x(3, 3), **SQUARES)
def made_another_by_a_name_of_one_path(self, x):
    y = x.clone()
    z = [x * 2]
    if bool(x.sum() > 0):
        z = [y]
    y.set_(x[:2])
    return y, z[0]


@case.forward(x(3, 3), **SQUARES)
def of_two_paths_in_a_row(self, x):
    y, z, u = x.clone(), x * 2, x * 3
    if bool(x.sum() > 0):
        z = y
    if bool(x[0, 0] > 0):
        u = z
    y.unsqueeze_(0)
    return y, u.sum(0)


test_program = case.test()


def with_a_view(x):
    y = torch.zeros(2)
    part = y[0:1]
    if bool(x.sum() > 0):
        torch.add(x, 1, out=y)
    else:
        torch.mul(x, 2, out=y)
    return part, y


def with_a_view_on_the_only_path(x):
    y = torch.zeros(2)
    part = y[0:1]
    torch.add(x, 1, out=y)
    return part, y


@pytest.mark.parametrize("function", [with_a_view, with_a_view_on_the_only_path])
def test_what_others_would_see_is_refused(function):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="may share its memory with a tensor that was written since"):
        flambeau.export(torch.jit.script(function), (torch.randn(4, 3),), dynamo=False, verbose=False)


def in_a_loop(x):
    y, z = x.clone(), x * 2
    for i in range(x.shape[0]):
        if bool(x[i, 0] > 0):
            z = y
    y.t_()
    return y, z


def test_a_name_that_a_round_gives_is_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="may be the tensor whose shape was changed in place since"):
        flambeau.export(torch.jit.script(in_a_loop), (torch.randn(3, 3),), dynamic_axes={"x": [0]}, dynamo=False, verbose=False)
