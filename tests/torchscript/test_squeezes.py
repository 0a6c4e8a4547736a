"""Squeezes of sizes that data, or dimensions of an input, decide: the rank is what PyTorch gives."""

import warnings

import pytest
import torch
from checking import Calls, compare

import flambeau

MANY, ONE, NONE = torch.tensor([1.0, -1, 2, -3]), torch.tensor([-1.0, -1, 2, -3]), -torch.ones(4)


def given_out(x):
    return (x > 0).nonzero().squeeze()


def masked(x):
    return x[x > 0].squeeze() * 2


def chosen(x):
    return x.index_select(0, (x > 0).nonzero().squeeze())


def places(x):
    return torch.where(x > 0)[0].squeeze() + 1


def one_dimension(x):
    return (x > 0).nonzero().squeeze(1).squeeze(0)


def counted(x):
    found = (x > 0).nonzero().squeeze()
    return found, x.sum() + found.numel()


@pytest.mark.parametrize("how", [torch.jit.script, lambda function: torch.jit.trace(function, (MANY,))], ids=["script", "trace"])
@pytest.mark.parametrize("function", [given_out, masked, chosen, places, one_dimension, counted], ids=lambda f: f.__name__)
def test_data_decides_the_size(how, function):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = flambeau.export(how(function), (MANY,))
    for x in (MANY, ONE, NONE):
        for ours, theirs in zip(program(x), torch.utils._pytree.tree_leaves(function(x)), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs))


def rows_and_columns(x):
    return x.squeeze()


def of_a_linear(x):
    return (x @ torch.ones(3, 1)).squeeze()


def of_three(x):
    return x.unsqueeze(0).squeeze((1, 2, -1))


@pytest.mark.parametrize("function", [rows_and_columns, of_a_linear, of_three], ids=lambda f: f.__name__)
@pytest.mark.parametrize("example", [torch.rand(4, 2, 3), torch.rand(1, 2, 3), torch.rand(1, 1, 3)], ids=lambda x: str(tuple(x.shape)))
def test_several_dimensions_of_an_input_may_go(function, example):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = flambeau.export(torch.jit.script(function), (example,), dynamic_shapes=({0: "batch", 1: "rows"},))
    for sizes in ((4, 2, 3), (1, 2, 3), (4, 1, 3), (1, 1, 3)):
        x = torch.rand(sizes)
        torch.testing.assert_close(program(x)[0], function(x))


def and_one_more(x):
    return x.squeeze(-2) + 1


def written_after(x):
    y = x.squeeze(1)
    y.add_(1)
    return y.relu(), x


def by_its_rank(x):
    rows = x.squeeze(1)
    return rows.reshape(rows.size(0), -1).sum(-1) * rows.dim()


def only_where_it_stays(x):
    """With a size of 1 PyTorch raises, too."""
    return x.squeeze(0).transpose(1, 2)


FEW_FOLLOW = [(function, how) for function in (and_one_more, written_after, only_where_it_stays) for how in ("script", "trace")]


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(("function", "how"), [*FEW_FOLLOW, (by_its_rank, "script")])  # a trace has the example's rank as a number
def test_few_nodes_follow(function, how, rows):
    """It is decided when the model runs, whatever size the example has."""
    model, stays = Calls(function), function is only_where_it_stays
    x = torch.randn(3, 3 if stays else rows, 4)
    made = torch.jit.script(function) if how == "script" else model
    program = flambeau.export(made, (x,), input_names=["x"], dynamic_axes={"x": [0, 1]}, dynamo=False, verbose=False)
    for sizes in [(3, 2, 4), (4, 3, 4), *([] if stays else [(2, 1, 4)])]:
        compare(model, program, (torch.randn(sizes),))


def test_what_is_taken_for_granted_is_warned_of():
    @torch.jit.script
    def many(x):
        a, b, c, d = (x > 0).nonzero().unbind(1)
        return x[a][:, b][:, :, c][:, :, :, d].squeeze()

    with pytest.warns(flambeau.errors.ConversionWarning, match="no size that it squeezes is 1, as 4 of them"):
        flambeau.export(many, (torch.rand(2, 2, 2, 2),))


def far_from_the_end(x):
    y = x.squeeze(0) + 1
    for _ in range(20):
        y = y.sin() + y
    return y


def in_place_far_from_the_end(x):
    y = x * 2
    y.squeeze_(0)
    for _ in range(20):
        y = y.sin() + y
    return y


@pytest.mark.parametrize("function", [far_from_the_end, in_place_far_from_the_end])
def test_a_size_of_an_input_that_is_taken_not_to_be_one_is_warned_of(function):
    """The warning names the line."""
    x = torch.randn(3, 2, 4)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"size of dimension 0 is not 1[\s\S]*test_squeezes.py:\d+"):
        program = flambeau.export(Calls(function), (x,), dynamic_axes={"x": [0]}, input_names=["x"], dynamo=False)
    compare(Calls(function), program, (torch.randn(5, 2, 4),))


def in_place(x):
    y = x[(x > 0).any(1)]
    z = y
    z.squeeze_(0)
    return y, x.sum() + y.dim(), z + 1


def in_place_where_it_is_asked_for(x):
    y, z = x[(x > 0).any(1)], x[:, (x > 0).any(0)]
    if y.size(0) == 1:
        y.squeeze_(0).mul_(3)
    elif z.size(1) == 1:
        z.squeeze_(-1)
    return y + 1, z


def in_place_of_a_part(x):
    y = x * 2
    part = y[:, (x > 0).sum() :]
    part.squeeze_(1)
    part += 1
    return y, part.sum(-1)


def all_in_place_on_a_path(x):
    y = (x > 0).nonzero()
    if x.sum() > -9:
        y.squeeze_()
    return y * 2


@pytest.mark.parametrize("function", [in_place, in_place_where_it_is_asked_for, in_place_of_a_part, all_in_place_on_a_path], ids=lambda f: f.__name__)
def test_a_tensor_may_lose_dimensions_in_place(function):
    rows = [torch.full((3, 4), -1.0) for _ in range(6)]
    for i, places in enumerate([[], [0], [3], [0, 1, 2], [5, 6], range(12)]):
        rows[i].view(-1)[list(places)] = 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = flambeau.export(torch.jit.script(function), (rows[1],))
    for each in rows:
        expected = torch.utils._pytree.tree_leaves(function(each.clone()))
        for ours, theirs in zip(program(each), expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs))
