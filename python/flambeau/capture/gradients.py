"""Models that compute gradients in ``forward``: forces of an energy, sensitivities, ``torch.func``.

torch.export records calls above autograd, which hands results that it saved back as
tensors that nobody recorded. Below autograd the operators are recorded that compute
the gradients; PyTorch's decompositions say what these are made of.
"""

from __future__ import annotations

import contextlib
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree

from .. import _engine
from .decomposition import operators

__all__ = ["asks_for_gradients", "export_below_autograd", "levels_left", "refuse_differentiation"]

_TRANSFORMS = "torch._functorch.predispatch"

_SIGNS = (
    "fake tensor in the exported program constant's list",
    "Cannot access data pointer of Tensor that doesn't have storage",
    "'Tensor' object has no attribute 'constant'",
    "Cannot insert a Tensor that requires grad as a constant",  # of torch.jit.trace
)


class Differentiated(Exception):
    """A program holds calls that tell torch.func what to differentiate: run again, they need not give what they gave."""


def refuse_differentiation(exported: ExportedProgram) -> None:
    """Raises:
    Differentiated: The program holds calls that enter or leave a derivative.
    """
    for target in operators(exported):
        if getattr(target, "__module__", "") == _TRANSFORMS and getattr(target, "__name__", "") in ("_grad_increment_nesting", "_jvp_increment_nesting"):
            raise Differentiated("torch.export recorded what torch.func differentiates, and not the derivative")


def asks_for_gradients(error: Exception | None) -> bool:
    """Whether a capture failed as it does above autograd where gradients are computed."""
    return isinstance(error, Differentiated) or any(sign in str(error) for sign in _SIGNS)


@contextlib.contextmanager
def levels_left() -> Iterator[None]:
    """Leaves the transforms of ``torch.func`` that a capture which failed was in: torch's contexts do not."""
    functorch = torch._C._functorch
    inside, dual = functorch.peek_interpreter_stack() is not None, _is_dual()
    try:
        yield
    finally:
        while not inside and functorch.peek_interpreter_stack() is not None:
            functorch.pop_dynamic_layer_stack()
        if not dual and _is_dual():
            torch._C._exit_dual_level(level=0)


def _is_dual() -> bool:
    """Whether forward derivatives are computed: torch has one level of them, and refuses a second."""
    try:
        torch._C._exit_dual_level(level=torch._C._enter_dual_level())
    except RuntimeError:
        return True
    return False


def export_below_autograd(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, strict: bool, **options: Any) -> ExportedProgram:
    """As ``torch.export.export``, below autograd, with what computes gradients written out."""
    from torch.export._trace import _export

    # Of fused attention's gradient there is no decomposition.
    with _detached_results(model), sdpa_kernel(SDPBackend.MATH):
        return _without_gradients(_export(model, args, kwargs, strict=strict, pre_dispatch=False, **options))


@contextlib.contextmanager
def _detached_results(model: torch.nn.Module) -> Iterator[None]:
    """While it is open, nobody can ask for gradients of what the model returns: torch would record these as well."""
    forward, own = model.forward, "forward" in vars(model)

    @functools.wraps(forward)
    def detached(*args: Any, **kwargs: Any) -> Any:
        return _pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, forward(*args, **kwargs))

    model.forward = detached
    try:
        yield
    finally:
        if own:
            model.forward = forward
        else:
            del model.forward


def _without_gradients(exported: ExportedProgram) -> ExportedProgram:
    """The program with those operators written out that compute gradients and that the engine does not translate.

    The program itself if there are none.
    """
    used = {each for each in operators(exported) if isinstance(each, torch._ops.OpOverload) and "backward" in each._opname}
    if not used:
        return exported
    from torch._decomp import decomposition_table

    known = {each.schema.partition("(")[0] for each in _engine.supported_operators()}
    decompositions = {**decomposition_table, **_OURS}
    table = {each: decompositions[each] for each in used if each._schema.name not in known and each in decompositions}
    return exported.run_decompositions(table) if table else exported


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


def _cropped(whole: torch.Tensor, before: Sequence[int], sizes: Sequence[Any]) -> torch.Tensor:
    """What is left of the last axes: `before` elements less, then `sizes`; zeros where there are none."""
    amounts = [(-skipped, size + skipped - extent) for skipped, size, extent in zip(before, sizes, whole.shape[2:], strict=True)]
    return torch.constant_pad_nd(whole, [amount for pair in reversed(amounts) for amount in pair])


_OURS: dict[Any, Callable[..., Any]] = {
    torch.ops.aten._cdist_backward.default: _cdist_backward,
    torch.ops.aten.convolution_backward.default: _convolution_backward,
}
