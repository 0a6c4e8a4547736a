"""Writes by index and in place: in straight lines, under conditions, in loops, to the state of modules."""

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import check, compare, script
from torch import Tensor, nn


case = Cases()


@case(x(2, 3), how=("script",))
class InitializedAtRunTime(nn.Module):
    def forward(self, x):
        y = x.clone()
        noise = torch.nn.init.uniform_(torch.empty(2, 3), 1.0, 2.0)
        return torch.nn.init.zeros_(y[0]), torch.nn.init.constant_(y[1], 2.5), y, noise > 0.5


@case(x(4, 5))
class WritesByIndex(nn.Module):
    def forward(self, x):
        x = x.clone()
        x[1:3, 0] = 7.0
        x[:, 2] += x[:, 3]
        x[torch.tensor([0, 3])] = torch.ones(5)
        return x


@case.forward(x(3, 4, 5), x(5), how=("trace", "script"), others=[(x(6, 2, 7), x(7)), (x(2, 3, 4), x(4))], dynamic_axes={"x": [0, 1, 2], "y": [0]})
def writes_of_fewer_dimensions(self, x, y):
    """torch's tracer records views and expansions of the value to the example's sizes."""
    a, b, c, d = x.clone(), x.clone(), x.clone(), x.new_zeros(x.size(1), x.size(2))
    a[:, 0] = y
    a[1] = y * 2
    b[:] = y
    b[..., 1:] = y[1:]
    c[1] += y
    c[:, :, 0] = y.sum()
    d[1:] = y
    return a, b, c, d


@case.forward(x(3, 4, 5), x(5), how=("trace",), others=[(x(6, 2, 7), x(7)), (x(2, 3, 4), x(4))], dynamic_axes={"x": [0, 1, 2], "y": [0]})
def writes_of_more_dimensions(self, x, y):
    """Python's writes leave out those of size 1 in front; TorchScript's do not."""
    c, d = x.clone(), x.new_zeros(x.size(1), x.size(2))
    c[0] = y[None, None]
    c[1:] = x[None, 0]
    d[0] = y[None]
    return c, d


@case.forward(x(4, 1), x(4, 4), how=("trace", "script"), others=[(x(5, 1), x(5, 5))], dynamic_axes={"x": {0: "n"}, "y": {0: "n", 1: "n"}})
def views_that_are_written_elsewhere(self, x, y):
    """What the model itself reshapes is no write of Python's."""
    a, b, c = y.clone(), y.clone(), y.clone()
    a.copy_(x.view(-1))
    b[:] = x.view(1, -1)
    v = y.view(y.size(0), -1)
    turned = y.clone()
    turned.t_()
    c.copy_(v)
    return a, b, c, turned


@case(x(3, 3), x(3, 3))
class TurnedAfterItsView(nn.Module):
    def forward(self, x, y):
        x, z = x * 1, y.clone()
        v = x.view(3, 3)
        x.t_()
        z.copy_(v)
        return z, x


@case.forward(x(3, 2), x(3, 2), how=("trace", "script"), others=[(x(5, 2), x(5, 2)), (x(5, 2), x(2, 2))], dynamic_axes={"x": {0: "n"}, "y": {0: "m"}})
def out_that_is_made_to_fit_and_written(self, x, y):
    p, q = torch.zeros(x.size(0), 2), torch.empty(0)
    torch.mul(y, 2, out=p)
    p[0] = 1.0
    torch.add(y, 2, out=q)
    q[0] = 1.0
    return p, q


@case.forward(x(3, 2), x(3, 2), how=("trace", "script"), others=[(x(5, 2), x(5, 2))], dynamic_axes={"x": {0: "n"}, "y": {0: "m"}})
def out_of_what_was_made_to_size(self, x, y):
    p, q = torch.zeros(x.size(0), 2), torch.empty(0)
    column, row = p[:, 0], p.new_zeros(x.size(0) + 1, 2)
    torch.mul(x, y, out=p)
    torch.add(x, y, out=row[1:])
    torch.sub(x, y, out=q)
    return column, p, row, q


@case(x(4, 5))
class WritesInPlace(nn.Module):
    def forward(self, x):
        y = x.view(-1)
        y.add_(1)
        z = x.t().contiguous()
        z.relu_()
        return x, z


@case(x(2, 3))
class WithoutGradients(nn.Module):
    def forward(self, x):
        x.requires_grad_(False)
        y = (x * 2).requires_grad_(False)
        y[0] = 1.0
        return y.detach_() + x


@case(x(3, 4), how=("script",), others=[(-x(3, 4).abs(),), (x(3, 4).abs(),)])
class WritesUnderIf(nn.Module):
    def forward(self, x):
        y = torch.zeros(3, 4)
        if x.sum() > 0:
            y[0] = x[1]
            y[:, 1] = 5.0
        else:
            y[2] -= 1
        return y


@case(x(3, 4), torch.tensor(2), how=("script",), others=[(x(3, 4), torch.tensor(0)), (x(3, 4), torch.tensor(3))])
class WritesInLoop(nn.Module):
    def forward(self, x, n):
        y = x.clone()
        for i in range(int(n)):
            y[i] = y[i] * 2 + i
        return y


@case(x(3, 4))
class ShapesOfOneTensor(nn.Module):
    """Some operators return the tensor that they are given, others a view of it."""

    def forward(self, x):
        x = x * 2
        same, dense, flat, likewise = x.to(torch.float32), x.contiguous(), x.flatten(0, 0), x.to(x)
        view, alike = x.view(3, 4), x.reshape(3, 4)
        x.unsqueeze_(0)
        dense.add_(1)
        same.transpose_(1, 2)
        return x, same, dense, flat, likewise, view, alike


@case(x(4), x(1, 3))
class SeenDifferentlyInPlace(nn.Module):
    """A tensor that stays contiguous is what contiguous() returns."""

    def forward(self, x, y):
        x, y = x / 2, y / 2
        x.t_()
        same = x.contiguous()
        same.unsqueeze_(-1)
        y.squeeze_(0)
        y.contiguous().add_(1)
        return x, same, y


@case(x(3, 4), x(2, 5))
class SetToAnothersMemory(nn.Module):
    def forward(self, x, y):
        x, y = x.clone(), y.clone()
        row = x[0]
        x.set_(y)
        x.mul_(2)
        y[0] = 1
        return x, y, row


@case(torch.tensor([[3, -4, 0], [5, 6, -7]]), torch.tensor([[2, 3, -4], [-2, 4, 1]]))
class OutputsOfIntegersInFloats(nn.Module):
    """The result that `out=` takes is a float where the operands are integers."""

    def forward(self, i, j):
        quotient = torch.div(i, j, out=torch.empty(2, 3))
        floored = torch.div(i, j, rounding_mode="floor", out=torch.empty(2, 3))
        angle = torch.atan2(i, j, out=torch.empty(2, 3))
        more = torch.add(i, 2.5, out=torch.empty(2, 3))
        power = torch.float_power(i, 2, out=torch.empty(2, 3, dtype=torch.float64))
        return quotient, floored, angle, more, power


@case(x(5, 3))
class AListAmongResults(nn.Module):
    def forward(self, x):
        counts, edges = torch.histogramdd(x, 2)
        return counts, edges[0], edges[2]


@case(x(5, 3), x(5, 2))
class LeastSquaresWithoutItsOtherResults(nn.Module):
    def forward(self, a, b):
        return torch.linalg.lstsq(a, b)[0]


@case(x(2, 3), x(2, 3).double())
class OutputsOfAnotherPrecision(nn.Module):
    def forward(self, x, d):
        sine = torch.sin(d, out=torch.empty(2, 3))
        root = torch.sqrt(x.long().abs(), out=torch.empty(2, 3))
        total = torch.sum(x, 1, out=torch.empty(2, dtype=torch.float64))
        zero = torch.logical_not(x, out=torch.empty(2, 3))
        return sine, root, total, zero


@case.forward(x(2, 3))
def numbers_copied_in_place(self, x):
    x = x.clone()
    whole = torch.empty(2, dtype=torch.int64)
    whole.copy_(2.7)
    x[0].copy_(3)
    return x, whole


@case(x(2, 3), x(2, 3, seed=1), dynamic_axes={"x": [0], "y": [0]}, others=[(x(4, 3), x(4, 3, seed=1))])
class OutputIsAPartOfATensor(nn.Module):
    def forward(self, x, y):
        whole = torch.zeros(x.size(0), 4)
        torch.sub(x, y, out=whole[:, :3])
        torch.mul(x[:, 0], y[:, 0], out=whole[:, 3])
        return whole


@case(x(3), torch.tensor([1, 2, 4]))
class JoinsOfAnotherDtype(nn.Module):
    def forward(self, x, i):
        made = torch.cat([i, i], out=torch.empty(0)), torch.stack([i, i + 1], out=torch.empty(0, dtype=torch.float64)), torch.hstack([i, i], out=torch.empty(0, dtype=torch.int32))
        mixed = torch.cat([x, i.double()], out=torch.empty(0)), torch.vstack([i, i], out=torch.empty(0)), torch.column_stack([i, i], out=torch.empty(0))
        pairs = torch.outer(i, i, out=torch.empty(0)), torch.kron(i, i, out=torch.empty(0)), torch.diff(i, out=torch.empty(0)), torch.max(i, i * 2, out=torch.empty(0))
        return made, mixed, pairs, torch.std(x.double(), 0, out=torch.empty(0))


test_program = case.test()


class PartsOfWhatIsMadeToFit(nn.Module):
    def forward(self, x: Tensor, z: Tensor):
        rows = [x + 1]
        if x.size(0) == 2:
            rows.extend(list(z.split(2)))
        torch.sigmoid(x, out=z)
        return rows


def test_parts_of_an_output_that_is_made_to_fit_may_have_been_written():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="may share its memory"):
        flambeau.export(torch.jit.script(PartsOfWhatIsMadeToFit()), (x(3, 4), x(3, 2, 4)), input_names=["x", "z"], dynamic_axes={"x": {0: "n"}, "z": {0: "n"}})


class HalfIntoTheOther(nn.Module):
    def forward(self, x: Tensor):
        x = x.clone()
        first, second = x.chunk(2)
        torch.sigmoid(first, out=second)
        return x


@pytest.mark.parametrize("how", ["trace", "script"])
def test_an_output_that_may_not_fit_is_warned_of(how):
    """Halves of an odd number of rows differ: PyTorch gives the second one another place then, which reaches beyond the tensor."""
    with pytest.warns(flambeau.errors.ConversionWarning, match="(?s)out= is taken to have the sizes.*test_writes.py"):
        program = flambeau.export(script(HalfIntoTheOther()) if how == "script" else HalfIntoTheOther(), (x(4, 3),), input_names=["x"], dynamic_axes={"x": {0: "n"}}, dynamo=False)
    compare(HalfIntoTheOther(), program, (x(6, 3),))
    with pytest.raises(Exception, match="mismatched dimensions"):
        program(x(5, 3))


class WrittenOfTwoRanks(nn.Module):
    """Where paths that give other ranks met, a write through a view in other sizes goes back to the sizes of the run."""

    def forward(self, x: Tensor, n: int):
        y = x.sum(2) if n == 2 else x * 1
        flat = y.view(-1)
        flat.add_(1)
        z = y.clone()
        z.flatten()[1:].mul_(3)
        z.view(-1).unfold(0, 2, 2)[0].zero_()
        return y * 2, z.sum(), flat


@pytest.mark.parametrize("opset", [9, 13, None])
def test_writes_through_views_of_what_has_several_ranks(opset):
    others = [(x(5, 2, 4), torch.tensor(2)), (x(5, 2, 4), torch.tensor(1)), (x(3, 2, 4), torch.tensor(1))]
    check(WrittenOfTwoRanks(), (x(3, 2, 4), torch.tensor(2)), others=others, input_names=["x", "n"], dynamic_axes={"x": {0: "rows"}}, **({"opset_version": opset} if opset else {}))


class JoinedIntoAnotherDtype(nn.Module):
    """What is joined becomes what `out=` holds, and what follows computes with that."""

    def forward(self, x: Tensor):
        halves, doubles, rows = torch.empty(0, dtype=torch.float16), torch.empty(0, dtype=torch.float64), torch.empty(0, dtype=torch.float16)
        torch.stack([x, x + 1], out=halves)
        torch.cat([x, (x > 0).long()], 1, out=doubles)
        torch.vstack([x, x[:1]], out=rows)
        return halves * 2, halves.cumsum(0), doubles.exp(), rows.sum(0), rows


@pytest.mark.parametrize("how", ["trace", "script"])
def test_tensors_are_joined_into_another_dtype(how):
    quarters = [torch.arange(-4.0, 4.0 * rows - 4).view(-1, 4) / 4 for rows in (3, 5)]  # that halves can add up
    check(JoinedIntoAnotherDtype(), (quarters[0],), others=[(quarters[1],)], how=how, dynamic_axes={"x": {0: "n"}})
