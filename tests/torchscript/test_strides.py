"""Strides that a model asks for, and numbers in their place."""

import pytest
import torch
from checking import check
from torch import nn

import flambeau

ANY = {"x": {0: "batch", 1: "rows", 2: "columns"}}


class Overlapping(nn.Module):
    """As in attention over a window: each block of rows, and half of the one after it."""

    def forward(self, x):
        blocks = x.view(x.size(0), x.size(1) // 4, 4, x.size(2))
        sizes, strides = list(blocks.size()), list(blocks.stride())
        sizes[1] = sizes[1] * 2 - 1
        strides[1] = strides[1] // 2
        return blocks.as_strided(size=sizes, stride=strides)


class Diagonals(nn.Module):
    """As relative positions are shifted."""

    def forward(self, x):
        batch, rows, columns = x.shape
        strides = (x.stride(0), x.stride(1) - x.stride(-1), x.stride(dim=2))
        return x.as_strided((batch, rows, columns - rows + 1), strides, storage_offset=x.stride(2) * (rows - 1))


class OfViews(nn.Module):
    def forward(self, x):
        turned, every = x.transpose(1, 2), x[:, ::2]
        spread = x[0].unsqueeze(0).expand(3, -1, -1)
        return x.sum() + turned.stride(0) - 2 * turned.stride(2), x[0] * every.stride(1), x.new_zeros(spread.stride(1)), sum(spread.stride())


class OfTurnedViews(nn.Module):
    def forward(self, x):
        moved = x.movedim(0, 2).stride(), x.moveaxis((0, -1), (1, 0)).stride(), x.permute(2, 0, -2).stride()
        turned = x.T.stride(), x.mT.stride(), x.adjoint().stride(), x.swapaxes(0, -1).stride(), x.swapdims(1, 2).stride(), x[0].t().stride(), x[0, 0].t().stride()
        return moved, turned, x.sum()


class OfPartsOfViews(nn.Module):
    def forward(self, x):
        cut = x.dsplit([2])[0].stride(), x.vsplit([1])[0].stride(), x.chunk(2, 2)[1].stride(), x.unsafe_chunk(2, 2)[1].stride()
        windows = x.unfold(-1, 3, 2).stride(), x.diagonal(0, 1, 2).stride(), torch.diagonal(x, 1).stride()
        longer = x[:1].expand(4, -1, -1).stride(), x.expand_as(x[None]).stride(), torch.broadcast_to(x, (2, x.size(0), x.size(1), x.size(2))).stride()
        return cut, windows, longer, x.sum()


MODELS = [Overlapping(), Diagonals(), OfViews(), OfTurnedViews(), OfPartsOfViews()]


@pytest.mark.parametrize("how", ["trace", "script"])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_strides_follow_sizes(model, how):
    program = check(model, (torch.randn(2, 4, 8),), others=[(torch.randn(3, 8, 12),), (torch.randn(1, 4, 9),)], how=how, dynamic_axes=ANY)
    assert not any(each.kind == "frozen-dimension" for each in program.diagnostics)


def test_strides_of_models_with_scripts():
    model = nn.Sequential(torch.jit.script(nn.ReLU()), Overlapping())
    check(model, (torch.randn(2, 4, 8),), others=[(torch.randn(3, 8, 12),)], how="trace", dynamic_axes=ANY, input_names=["x"])


def test_torchs_own_trace_holds_numbers():
    x = torch.randn(2, 4, 8)
    traced = torch.jit.trace(Overlapping(), (x,), check_trace=False)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"takes the strides \[32, 16, 8, 1\] of a tensor whose own depend on its sizes"):
        program = flambeau.export(traced, (x,), dynamic_axes=ANY, input_names=["x"])
    torch.testing.assert_close(program(x)[0], Overlapping()(x))


class OfACopy(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2).roll(1, 1).stride(0) + x


def test_a_stride_that_nobody_knows_is_that_of_the_example():
    """PyTorch's kernel chooses it."""
    x = torch.randn(2, 4, 8)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"the trace holds the stride 32,[^$]*test_strides.py"):
        program = flambeau.export(OfACopy(), (x,), capture="trace", dynamic_axes=ANY, input_names=["x"])
    torch.testing.assert_close(program(x)[0], OfACopy()(x))


class Frames(nn.Module):
    def forward(self, x):
        return x.flatten().as_strided((x.numel() // 2 - 1, 4), (2, 1))


@pytest.mark.parametrize("how", ["trace", "script"])
def test_numbers_that_are_right_for_all_sizes(how):
    program = check(Frames(), (torch.randn(2, 4, 8),), others=[(torch.randn(3, 2, 5),)], how=how, dynamic_axes=ANY)
    assert not any(each.kind == "frozen-dimension" for each in program.diagnostics)


class Places(nn.Module):
    """Where views begin in the memory of the tensor that they are of."""

    def forward(self, x):
        turned, made = x.transpose(1, 2)[:, 1:], (x + 1)[:, 1:, 2:]
        places = x.storage_offset(), x[..., 3:].storage_offset(), turned.storage_offset(), x.unbind(2)[1].storage_offset(), made.clone().storage_offset()
        square = torch.ones(3, 3) * x.sum()
        places = places + (square[-5:].storage_offset(), square[:, -2:].storage_offset(), square[:, 7:].storage_offset())
        windows = x.as_strided([2, 2], [1, 1], x[:, :, 2:].storage_offset())
        return places, windows


class PlacesOfPaths(nn.Module):
    def forward(self, x):
        y = x
        if bool(x.sum() > 0):
            y = x[:, :, 1:]
        return x.sum() + y.storage_offset()


class PlacesOfRounds(nn.Module):
    def forward(self, x):
        y = x
        for _ in range(int(x.sum())):
            y = x[:, :, 1:]
        return y.storage_offset()


def test_places_in_memory():
    check(Places(), (torch.randn(2, 4, 8),), others=[(torch.randn(3, 6, 5),)], how="script", dynamic_axes=ANY)
    check(PlacesOfPaths(), (torch.ones(2, 4, 8),), others=[(-torch.ones(3, 6, 5),)], how="script", dynamic_axes=ANY)
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="place of a tensor in memory, which sizes or paths"):
        flambeau.export(torch.jit.script(PlacesOfRounds()), (torch.ones(2, 4, 8),), dynamic_axes=ANY, input_names=["x"], dynamo=False)


class OfCopies(nn.Module):
    """What fills its memory is copied in the order in which it lies there."""

    def forward(self, x):
        turned, last = x.transpose(0, 1), x.permute(2, 0, 1)
        copies = turned.clone().stride(), last.clone().stride(), last.double().stride(), last.to(torch.float32).stride(), last.type_as(x).stride()
        return copies, torch.zeros_like(last).stride(), torch.empty_like(turned, dtype=torch.int64).stride(), x.sum()


class OfElementwise(nn.Module):
    def forward(self, x):
        turned, last = x.transpose(0, 1), x.permute(2, 0, 1)
        return last.abs().stride(), torch.relu(turned).stride(), (-last).exp().stride(), torch.isnan(last).stride(), last.sigmoid().is_contiguous(), x.sum()


class OfProducts(nn.Module):
    """Contiguous, whatever they are of."""

    def forward(self, x):
        turned, last = x.transpose(1, 2), x.permute(2, 0, 1)
        products = x @ turned, torch.matmul(turned, x), torch.nn.functional.linear(last.transpose(1, 2), x[0].t()[:, :2])
        bent = torch.softmax(last, 1), turned.log_softmax(-1), last.cumsum(0), turned.cumprod(2)
        return [each.stride() for each in products], [each.stride() for each in bent], torch.addmm(x[0], x[0], turned[0] @ x[0]).stride(), x.sum()


class WritesThroughCopies(nn.Module):
    """The part of a reshape is one of the tensor itself, or of a copy, by the order in memory."""

    def forward(self, x):
        turned, last = x.transpose(1, 2).clone(), x.movedim(0, -1).clone()
        copied = turned.reshape(-1)
        copied[1:] = 0
        last.movedim(-1, 0).reshape(x.size(0), -1)[:, 1:] = 1
        zeros = torch.zeros_like(last)
        zeros.movedim(-1, 0).flatten()[2:].add_(3)
        zeros.reshape(-1).mul_(2)
        return turned, copied, last, zeros


def test_copies_lie_in_memory_as_what_they_are_of():
    check(OfCopies(), (torch.randn(2, 3, 4),), others=[(torch.randn(n, m, 4),) for n, m in ((5, 7), (1, 3), (2, 1))], how="script", dynamic_axes=ANY)
    check(OfElementwise(), (torch.randn(2, 3, 4),), how="script")
    check(OfProducts(), (torch.randn(2, 3, 4),), how="script")


@pytest.mark.parametrize("how", ["trace", "script"])
def test_writes_through_reshapes_of_copies(how):
    check(WritesThroughCopies(), (torch.randn(2, 3, 4),), how=how)
    check(WritesThroughCopies(), (torch.randn(2, 3, 4),), others=[(torch.randn(2, 3, 7),)], how=how, dynamic_axes={"x": {2: "columns"}})
