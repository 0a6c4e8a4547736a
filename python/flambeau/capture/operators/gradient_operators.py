"""What operators that compute gradients are made of: PyTorch's decompositions, and those that it lacks."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram

from ... import _engine
from ..decomposition import operators, without_kernel, written_out

__all__ = ["multilabel_losses", "without_gradients"]


def without_gradients(exported: ExportedProgram, kept: Collection[str]) -> ExportedProgram:
    """The program with those operators written out that compute gradients and that nobody translates.

    The program itself if there are none.

    Args:
        kept: Operators that something else is made of: "aten::tanh_backward", any suffix; "aten::*".
    """
    tried: set[Any] = set()
    while used := {each for each in operators(exported) if isinstance(each, torch._ops.OpOverload) and "backward" in each._opname} - tried:
        tried |= used
        table = _decompositions(used, kept)
        if not table:
            break
        with torch.fx.experimental._config.patch(backed_size_oblivious=True):  # a reshape asks for sizes of 1
            exported = written_out(exported, table)  # one may be made of others
    return exported


def _decompositions(used: Collection[torch._ops.OpOverload], kept: Collection[str]) -> dict[Any, Callable[..., Any]]:
    from torch._decomp import decomposition_table
    from torch._export.utils import _get_decomp_for_cia

    composite = torch._C.DispatchKey.CompositeImplicitAutograd
    of_others = {each: _get_decomp_for_cia(each) for each in used if each.has_kernel_for_dispatch_key(composite)}
    known = {name.partition(".")[0] for name in kept} | {each.schema.partition("(")[0] for each in _engine.supported_operators()}
    decompositions = {**of_others, **decomposition_table, **_OURS}
    return {
        each: decompositions[each]
        for each in used
        if each in decompositions and not {each._schema.name, f"{each.namespace}::*"} & known
    }


def _convolution_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    weight: torch.Tensor,
    bias_sizes: Sequence[int] | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> Any:
    """By convolutions the other way round."""
    rank = input.dim() - 2
    stride, padding, dilation = (list(each) * rank if len(each) == 1 else list(each) for each in (stride, padding, dilation))
    convolution, none = torch.ops.aten.convolution.default, [0] * rank
    of_input = of_weight = of_bias = None
    if output_mask[0] and transposed:
        of_input = convolution(grad_output, weight, None, stride, padding, dilation, False, none, groups)
    elif output_mask[0]:
        whole = convolution(grad_output, weight, None, stride, none, dilation, True, none, groups)
        of_input = _cropped(whole, padding, input.shape[2:])
    if output_mask[1]:
        if groups != 1:
            return NotImplemented
        moved, kept = (grad_output, input) if transposed else (input, grad_output)
        whole = convolution(moved.transpose(0, 1), kept.transpose(0, 1), None, dilation, padding, stride, False, none, 1)
        of_weight = _cropped(whole, none, weight.shape[2:]).transpose(0, 1)
    if output_mask[2]:
        of_bias = grad_output.sum([axis for axis in range(grad_output.dim()) if axis != 1])
    return of_input, of_weight, of_bias


def _avg_pool_backward(
    grad_output: torch.Tensor,
    input: torch.Tensor,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> Any:
    """Each element's share of the windows that it is in."""
    rank = 2 if grad_output.dim() < 5 and len(kernel_size) < 3 else 3
    kernel, stride, padding = (list(each) * rank if len(each) == 1 else list(each) for each in (kernel_size, stride or kernel_size, padding))
    if ceil_mode and count_include_pad and divisor_override is None:
        return NotImplemented  # windows that reach past the padding
    images = [each.reshape(-1, 1, *each.shape[-rank:]) for each in (grad_output, input)]
    divisor: Any = divisor_override or math.prod(kernel)
    if divisor_override is None and not count_include_pad:
        pool = torch.ops.aten.avg_pool2d.default if rank == 2 else torch.ops.aten.avg_pool3d.default
        divisor = pool(torch.ones_like(images[1][:1]), kernel, stride, padding, ceil_mode, True, 1)
    none = [0] * rank
    windows = grad_output.new_ones(1, 1, *kernel)
    whole = torch.ops.aten.convolution.default(images[0] / divisor, windows, None, stride, none, [1] * rank, True, none, 1)
    return _cropped(whole, padding, input.shape[-rank:]).reshape(input.shape)


def _cdist_backward(gradient: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor, p: float, cdist: torch.Tensor) -> torch.Tensor:
    """By all differences; nothing comes of what lies in one place."""
    gradient, distance = gradient.unsqueeze(-1), cdist.unsqueeze(-1)
    difference = x1.unsqueeze(-2) - x2.unsqueeze(-3)
    if p == 0:
        return torch.zeros_like(x1)
    if p == 1:
        return (gradient * difference.sign()).sum(-2)
    if p == math.inf:
        return (gradient * difference.sign() * (difference.abs() == distance)).sum(-2)
    slope = difference if p == 2 else difference.sign() * difference.abs().pow(p - 1)
    apart = (distance != 0) & (difference != 0)
    return (gradient * torch.where(apart, slope / distance.pow(p - 1), 0)).sum(-2)


def _smooth_l1_loss_backward(gradient: torch.Tensor, input: torch.Tensor, target: torch.Tensor, reduction: int, beta: float) -> torch.Tensor:
    """Of a NaN, NaN: torch's own form asks for the sign, and makes 0 of it."""
    difference = input - target
    share = gradient / input.numel() if reduction == 1 else gradient
    return torch.where(difference <= -beta, -share, torch.where(difference >= beta, share, share * difference / beta))


def _multilabel_margin_loss(input: torch.Tensor, target: torch.Tensor, reduction: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The loss, and which classes are targets: those before the first -1."""
    x, classes = torch.atleast_2d(input), torch.atleast_2d(target)
    valid = (classes == -1).cumsum(-1) == 0
    classes = torch.where(valid, classes, 0)
    is_target = torch.zeros_like(x).scatter_add(-1, classes, valid.to(x.dtype)) > 0
    within = (1 - x.gather(-1, classes).unsqueeze(-1) + x.unsqueeze(-2)).relu()
    loss = torch.where(valid.unsqueeze(-1) & ~is_target.unsqueeze(-2), within, 0).sum((-1, -2)) / x.shape[-1]
    if reduction:
        loss = loss.mean() if reduction == 1 else loss.sum()
    return loss.reshape(target.shape[:-1] if reduction == 0 else ()), is_target.to(input.dtype).reshape(target.shape)


@contextlib.contextmanager
def multilabel_losses() -> Iterator[None]:
    """Writes out the multilabel loss, where it is to have a gradient, by the targets that count: torch takes all."""
    loss, autograd = torch.ops.aten.multilabel_margin_loss_forward.default, torch._C.DispatchKey.Autograd
    with contextlib.ExitStack() as kernels:
        if autograd in loss.py_kernels:
            without_kernel(loss, autograd, kernels)
            loss.py_kernels[autograd] = _multilabel_margin_loss
        yield


def _cropped(whole: torch.Tensor, before: Sequence[int], sizes: Sequence[Any]) -> torch.Tensor:
    """What is left of the last axes: `before` elements less, then `sizes`; zeros where there are none."""
    amounts = [(-skipped, size + skipped - extent) for skipped, size, extent in zip(before, sizes, whole.shape[2:], strict=True)]
    return torch.constant_pad_nd(whole, [amount for pair in reversed(amounts) for amount in pair])


_OURS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._cdist_backward.default: _cdist_backward,
    torch.ops.aten.avg_pool2d_backward.default: _avg_pool_backward,
    torch.ops.aten.avg_pool3d_backward.default: _avg_pool_backward,
    torch.ops.aten.convolution_backward.default: _convolution_backward,
    torch.ops.aten.smooth_l1_loss_backward.default: _smooth_l1_loss_backward,
}
