"""Copies and views that follow from where the elements of a tensor lie in memory."""

import pytest
import torch
from checking import check
from torch import nn

import flambeau


class CopyInAnotherFormat(nn.Module):
    def forward(self, x):
        y = x.to(memory_format=torch.channels_last)
        y.mul_(2)
        return y, x + 1


class CopyOfAnotherOrder(nn.Module):
    def forward(self, x):
        rows = torch.einsum("bc h w -> bhwc", x).reshape(x.size(0), -1)
        rows *= 2
        return rows, x + 1


class AnotherOrder(nn.Module):
    def forward(self, x):
        y = x.clone()
        view = torch.einsum("bchw->bwch", y)
        view.add_(1)
        kept = torch.einsum("bchw->bcw", y)
        kept.mul_(3)
        return y, view, kept


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("model", [CopyInAnotherFormat(), CopyOfAnotherOrder(), AnotherOrder()], ids=lambda model: type(model).__name__)
def test_copies_and_views_by_strides_that_are_known(model, how):
    program = check(model, (torch.randn(2, 3, 4, 5),), how=how)
    assert not any("memory" in each.message for each in program.diagnostics)


class CopyOfHeads(nn.Module):
    def forward(self, x):
        heads = (x * 2).view(x.size(0), x.size(1), 3, 2).permute(1, 2, 0, 3)
        heads.reshape(-1).add_(1)
        return heads


class CopyOfColumns(nn.Module):
    def forward(self, x):
        y = x.clone()
        columns = y[:, :2].reshape(-1)
        columns.mul_(2)
        return y, columns


class CopyOfRows(nn.Module):
    def forward(self, x):
        y = x.clone()
        rows = y.flatten(1).t().contiguous()
        rows[0].neg_()
        return y, rows


@pytest.mark.parametrize("how", ["script", "trace", "export"])
@pytest.mark.parametrize("model", [CopyOfHeads(), CopyOfColumns(), CopyOfRows()], ids=lambda model: type(model).__name__)
def test_strides_of_a_size_that_may_be_one_are_free(model, how):
    """It is taken not to be 1, as PyTorch's exporter takes it without a word."""
    program = check(model, (torch.randn(8, 4, 6),), how=how, others=[(torch.randn(5, 3, 6),)], dynamic_shapes=({0: "t", 1: "b"},))
    assert any("shares no memory with a tensor that was written since" in each.message for each in program.diagnostics)


def test_memory_of_what_is_not_conjugate_is_refused():
    class Conjugate(nn.Module):
        def forward(self, x):
            return torch.complex(x, 2 * x).conj().imag.as_strided((2,), (2,), 1)

    with pytest.raises(flambeau.errors.OnnxExporterError, match="as_strided of a conjugate"):
        flambeau.export(torch.jit.script(Conjugate()), (torch.randn(4),))


class MemoryAroundAnElement(nn.Module):
    def forward(self, x):
        first, second = x.unbind(0)[:2]
        return second.as_strided((2, 2), (1, 1), 1), first


def test_memory_around_an_element_of_a_sequence():
    """Whether the elements lie in `x`, and where, is lost in a list of run-time length."""
    x = torch.randn(3, 4)
    check(MemoryAroundAnElement(), (x,))
    with pytest.raises(flambeau.errors.OnnxExporterError, match="(?s)as_strided looks at the memory.*clone the tensor"):
        check(MemoryAroundAnElement(), (x,), dynamic_axes={"x": [0]})
