"""arange, linspace, logspace and range keep the shape of out= where it has as many elements as they count."""

import pytest
import torch
from cases import Cases, x

import flambeau

case = Cases()
ALL = ("script", "trace", "default")
SIZES = {"how": ALL, "dynamic_axes": {"x": [0, 1]}, "others": [(x(5, 3),), (x(1, 4),)]}


@case.forward(x(2, 2), how=ALL)
def rows_and_columns(self, x):
    whole = torch.zeros(2, 2)
    same = torch.arange(4, out=whole)
    return whole + x, same


@case.forward(x(2, 2), how=ALL)
def columns_first_in_memory(self, x):
    whole = torch.zeros(2, 3).t()
    row = whole[1]
    torch.linspace(0, 1, 6, out=whole)
    return whole + 1, row


@case.forward(x(2, 2), how=ALL)
def another_dtype_and_a_part(self, x):
    whole = torch.zeros(3, 2, 2, dtype=torch.float64)
    torch.logspace(0, 1, 4, out=whole[1])
    torch.range(1, 4, out=whole[2])
    return whole + 1


@case.forward(x(2, 2), how=ALL)
def no_dimensions(self, x):
    number = torch.tensor(2.0)
    torch.arange(7, 8, out=number)
    return number + x


@case.forward(x(2, 2), how=ALL)
def more_elements(self, x):
    whole = torch.zeros(2, 2)
    torch.arange(5, out=whole)
    return whole + 1


@case.forward(x(2, 2), **SIZES)
def as_many_as_the_run_has(self, x):
    whole, columns = torch.zeros_like(x), torch.zeros(x.size(0), 3, dtype=torch.int64)
    torch.arange(x.numel(), out=whole)
    torch.arange(x.size(0) * 3, out=columns)
    return whole + 1, columns


@case.forward(x(2, 2), **(SIZES | {"how": ("script", "trace")}))
def one_dimension_of_other_sizes(self, x):
    row = torch.zeros(3)
    torch.arange(x.size(0), out=row)
    return row + 1


@case.forward(x(2, 2), **(SIZES | {"how": ("script", "default")}))
def ranges_of_whole_numbers(self, x):
    return torch.range(1.7, 6.2, 1.5, dtype=torch.int64), torch.range(0.5, 4.2), torch.range(x.size(0), 0, -2, dtype=torch.int32), torch.range(0, x.size(1) + 0.5, 0.5)


test_program = case.test()


class MaybeAsMany(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        whole = torch.zeros(2, 2)
        torch.arange(x.size(0), out=whole)
        return whole + 1


@pytest.mark.parametrize("model", [torch.jit.script(MaybeAsMany()), MaybeAsMany()])
def test_a_number_of_the_run_is_refused(model):
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="give out= a tensor of one dimension"):
        flambeau.export(model, (x(4, 3),), input_names=["x"], dynamic_axes={"x": [0]})


class RowsOfNone(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        whole = torch.zeros(x.size(0), x.size(1))
        torch.gather(x, 0, torch.tensor([[0]]), out=whole[:])
        return whole


@pytest.mark.parametrize("how", ["trace", "script"])
def test_a_part_that_is_not_of_the_sizes_written_has_no_results(how):
    """It would have those sizes, where PyTorch leaves the tensor as it is but for its first elements."""
    with pytest.warns(flambeau.errors.ConversionWarning, match="out= is taken to have the sizes"):
        program = flambeau.export(torch.jit.script(RowsOfNone()) if how == "script" else RowsOfNone(), (x(3, 2),), input_names=["x"], dynamic_axes={"x": [0, 1]}, dynamo=False)
    with pytest.raises(Exception, match="mismatched dimensions"):
        program(x(3, 2))


class OtherRows(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        whole = torch.zeros(x.size(0), 2)
        torch.cat([x, x], out=whole[:])
        return whole


class FewerRows(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        whole = torch.zeros(x.size(0), 2)
        torch.add(x[1:], 1, out=whole[:])
        return whole


@pytest.mark.parametrize("how", ["trace", "script"])
@pytest.mark.parametrize("model", [OtherRows(), FewerRows()], ids=lambda model: type(model).__name__)
def test_a_part_does_not_take_the_rows_that_are_written(model, how):
    """What is written would fit into the rows that are left to it, as many as they are."""
    with pytest.warns(flambeau.errors.ConversionWarning, match="out= is taken to have the sizes"):
        program = flambeau.export(torch.jit.script(model) if how == "script" else model, (x(3, 2),), input_names=["x"], dynamic_axes={"x": [0]}, dynamo=False)
    with pytest.raises(Exception, match="mismatched dimensions"):
        program(x(3, 2))


class AsManyElsewhere(torch.nn.Module):
    def forward(self, x: torch.Tensor):
        whole = torch.zeros(x.size(1), x.size(0)).t()
        torch.zeros(2, x.size(0), out=whole)
        return whole


@pytest.mark.parametrize("how", ["trace", "script"])
def test_what_has_as_many_elements_in_other_sizes_has_no_result(how):
    program = flambeau.export(torch.jit.script(AsManyElsewhere()) if how == "script" else AsManyElsewhere(), (x(2, 2),), input_names=["x"], dynamic_axes={"x": [0, 1]}, dynamo=False)
    torch.testing.assert_close(program(x(2, 2))[0], torch.zeros(2, 2))
    with pytest.raises(Exception, match="mismatched dimensions"):
        program(x(3, 2))
