"""Models with nested graphs: torch.cond, while_loop, scan and map."""

import warnings

import pytest
import torch

import flambeau
from .checking import compare, convert, sizes_of
from torch._higher_order_ops import associative_scan, cond, scan, while_loop
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.map import map as map_over

OPSETS = (18, 20, 21, 26)


def model_of(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    return Model()


def branches(x):
    return cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos() + x.shape[0], (x,))


def branches_of_a_vector_predicate(x):
    return cond(x.sum().reshape(1) > 0, lambda x: x + 1, lambda x: x - 1, (x,))


def branches_of_many_results(x):
    return cond(x.sum() > 0, lambda x: (x.sin(), x.mean(0)), lambda x: (x.cos(), x.amax(0)), (x,))


def branches_of_different_sizes(x):
    return cond(x.sum() > 0, lambda x: x[:2].clone(), lambda x: x[:3].clone(), (x,)) * 2


def branch_by_size(x):
    return cond(x.shape[0] > 4, lambda x: x * 2, lambda x: x / x.shape[0], (x,))


def branches_in_branches(x):
    def positive(x):
        return cond(x.amax() > 1, lambda x: x * 2, lambda x: x * 3, (x,))

    return cond(x.sum() > 0, positive, lambda x: -x, (x,))


def data_dependent_branch(x):
    def positive(x):
        return x[x[:, 0] > 0].sum(0)

    return cond(x.sum() > 0, positive, lambda x: x.sum(0), (x,))


def branches_that_return_what_they_take(x):
    return cond(x.sum() > 0, lambda x, y: (y.clone(), x + 1), lambda x, y: (x + y, x.clone()), (x, x * 2))


def loop(x):
    return while_loop(lambda i, x: i < x.shape[0], lambda i, x: (i + 1, x * 2 + i), (torch.zeros((), dtype=torch.int64), x))


def loop_over_a_number(x):
    return while_loop(lambda i, x: i < 5, lambda i, x: (i + 1, x * 2 + i), (0, x))


def loop_that_never_runs(x):
    return while_loop(lambda i, x: i < 0, lambda i, x: (i + 1, x * 2), (torch.zeros((), dtype=torch.int64), x))


def loop_until_small(x):
    limit = x.abs().mean()
    return while_loop(lambda y: y.abs().sum() > limit, lambda y: (y / 2 + limit * 0,), (x,))


def loop_in_a_loop(x):
    def body(i, x):
        j, x = while_loop(lambda j, x: j < i, lambda j, x: (j + 1, x + 1), (torch.zeros((), dtype=torch.int64), x))
        return i + 1, x

    return while_loop(lambda i, x: i < 4, body, (torch.zeros((), dtype=torch.int64), x))


def loop_in_a_test(x):
    def test(i, x):
        (total,) = while_loop(lambda t: t < 3, lambda t: (t + 1,), (i.clone(),))
        return total + i < 7

    return while_loop(test, lambda i, x: (i + 1, x * 2), (torch.zeros((), dtype=torch.int64), x))


def branch_in_a_loop(x):
    def body(i, x):
        return i + 1, cond(i % 2 == 0, lambda x: x + 1, lambda x: x * 2, (x,))

    return while_loop(lambda i, x: i < 5, body, (torch.zeros((), dtype=torch.int64), x))


def cumulative(x):
    return scan(lambda c, x: (c + x, c * x), torch.zeros(4), x, dim=0)


def cumulative_from_the_end(x):
    return scan(lambda c, x: (c + x, (c * x, x.sin())), torch.zeros(x.shape[0]), x, dim=1, reverse=True)


def cumulative_over_two(x):
    scale = x.mean()

    def step(carry, both):
        a, b = carry
        y, z = both
        return (a + y, b * scale + z), (a - b, y * z)

    return scan(step, (torch.zeros(4), torch.ones(4)), (x, x.sin()), dim=0)


def associative(x):
    """A recurrence, y = a·y + b; written out by torch, for torch.vmap."""

    def step(first, then):
        return first[0] * then[0], first[1] * then[0] + then[1]

    return associative_scan(step, (x, x.cos()), dim=1, reverse=True, combine_mode="generic")


def associative_by_the_operator(x):
    """As torch captures it on a GPU."""
    scale = x.mean(0)
    return associative_scan_op(lambda a, b, c, d, scale: (a * c * scale, b + d), [x, x.sin()], (scale,))


def over_rows(x):
    return torch.vmap(lambda row, all: (row @ all.T).softmax(0), in_dims=(0, None))(x, x)


def over_rows_to_columns(x):
    return torch.vmap(lambda row: (row * 2, row.cumsum(0)), out_dims=(1, -1))(x)


def mapped(x):
    return map_over(lambda row, y: row.softmax(0) + y, x, x.mean(0))


def map_of_many(x):
    return map_over(lambda rows: (rows[0] + rows[1], rows[0].sum()), (x, x.cos()))


positive, negative, wide = torch.rand(3, 4), -torch.rand(3, 4), torch.rand(6, 4) - 0.2
CASES = [
    branches,
    branches_of_a_vector_predicate,
    branches_of_many_results,
    branches_of_different_sizes,
    branch_by_size,
    branches_in_branches,
    data_dependent_branch,
    branches_that_return_what_they_take,
    loop,
    loop_over_a_number,
    loop_that_never_runs,
    loop_until_small,
    loop_in_a_loop,
    loop_in_a_test,
    branch_in_a_loop,
    cumulative,
    cumulative_from_the_end,
    cumulative_over_two,
    associative,
    associative_by_the_operator,
    over_rows,
    over_rows_to_columns,
    mapped,
    map_of_many,
]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_static_sizes(function):
    model = model_of(function)
    compare(convert(model, (positive,)), model, (positive,), (negative,))


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("opset", OPSETS)
def test_dynamic_sizes(function, opset):
    model = model_of(function)
    program = convert(model, (positive,), ({0: "rows"},), opset)
    compare(program, model, (positive,), (negative,), (wide,))


def decayed(x):
    total = torch.zeros_like(x[0])
    for i in range(x.size(0)):
        total = total * 0.5 + x[i]
    return total


def rows_of_a_list(x):
    return torch.stack([row.cumsum(0) for row in x.unbind(0)], 1)


def every_second(x):
    result = torch.zeros_like(x)
    for i in range(0, x.size(0), 2):
        result[i] = x[i] + i
    return result, x.sum(0)


def pairs_from_the_end(x):
    i = x.size(0) // 2
    total = x.sum(0)
    while i > 0:
        i -= 1
        total = total * x[2 * i].cos()
    return {"total": total, "twice": x * 2}


def associative_rows(x):
    def step(first, then):
        return {"a": first["a"] * then["a"], "b": first["b"] * then["a"] + then["b"]}

    first = associative_scan(step, {"a": x.sigmoid(), "b": x}, dim=0, combine_mode="generic")
    last = associative_scan(torch.maximum, x.T, dim=1, reverse=True, combine_mode="generic")
    return first, last


@pytest.mark.parametrize("function", [decayed, rows_of_a_list, every_second, pairs_from_the_end, associative_rows], ids=lambda f: f.__name__)
def test_loops_over_a_dynamic_dimension_stay_loops(function):
    model = model_of(function)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (positive,), ({0: "rows"},))
    assert sizes_of(program.model_proto.graph.input)[0][0] == "rows"
    compare(program, model, (positive,), (negative,), (wide,), (wide[:1],))


def test_an_earlier_scan_asks_a_later_one_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        for function in (cumulative_from_the_end, associative_rows):
            convert(model_of(function), (positive,), ({0: "rows"},))


def test_an_archive_of_a_vmap_says_how_to_write_it_out(tmp_path):
    exported = torch.export.export(model_of(over_rows), (positive,))
    torch.export.save(exported, tmp_path / "rows.pt2")
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match=r"hint: .*program\.run_decompositions\(\{\}\)"):
        flambeau.export(tmp_path / "rows.pt2")
    torch.export.save(exported.run_decompositions({}), tmp_path / "batches.pt2")
    compare(flambeau.export(tmp_path / "batches.pt2"), model_of(over_rows), (positive,), (negative,))
