"""Pools and unfolds whose windows, steps or padding are as large as dynamic sizes say, in a capture: torch makes numbers of those."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from .size_keeping import SIZE_KEEPING, keeping

__all__ = ["WINDOWED"]

_Call = Callable[..., Any]


def _is_symbol(size: Any) -> bool:
    return isinstance(size, torch.SymInt)


def _of_each(sizes: Any, dims: int) -> list[Any]:
    """A size for each dimension; arguments may have one for all."""
    each = list(sizes) if isinstance(sizes, (tuple, list)) else [sizes]
    return each * dims if len(each) == 1 else each


def _windows(input: torch.Tensor, dim: int, size: Any, step: Any) -> torch.Tensor:
    """What slides over a dimension, at the place of the dimension: the windows, and what is in each."""
    count = (input.shape[dim] - size) // step + 1
    index = torch.arange(count, device=input.device).unsqueeze(1) * step + torch.arange(size, device=input.device)
    torch._check(count >= 0)
    return input.index_select(dim, index.reshape(-1)).unflatten(dim, (count, size))


def _unfold(input: torch.Tensor, dimension: int, size: Any, step: Any) -> torch.Tensor:
    if not _is_symbol(size) and not _is_symbol(step) or not input.dim():
        return torch.Tensor.unfold(input, dimension, size, step)
    dimension %= input.dim()
    return _windows(input, dimension, size, step).movedim(dimension + 1, -1)


def _whole(size: Any, extent: Any) -> bool:
    """Whether a window is the dimension, for all sizes of it."""
    return isinstance(extent, torch.SymInt) and isinstance(size, torch.SymInt) and bool(size.node.expr == extent.node.expr)


def _pool(
    pool: _Call,
    reduce: Callable[..., torch.Tensor],
    dims: int,
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    rest: dict[str, Any],
) -> Any:
    """A pool, dimension by dimension where a window is dynamic, and by `pool` over the others."""
    kernel, paddings = _of_each(kernel_size, dims), _of_each(padding, dims)
    steps, dilations = kernel if stride in (None, (), []) else _of_each(stride, dims), _of_each(dilation, dims)
    if any(_is_symbol(each) for each in (*paddings, *dilations)):
        return NotImplemented
    for i in range(dims):
        if not _is_symbol(kernel[i]) and not _is_symbol(steps[i]):
            continue
        dim = i - dims
        whole = _whole(kernel[i], input.shape[dim])
        if paddings[i] or dilations[i] != 1 or (rest.get("ceil_mode") and not whole):
            return NotImplemented
        if whole:
            input = reduce(input, dim, keepdim=True)
        else:
            input = reduce(_windows(input, dim, kernel[i], steps[i]), dim)
        kernel[i] = steps[i] = 1
    if all(size == 1 for size in kernel) and not any(paddings):
        places = tuple(slice(None, None, step) for step in steps)
        return input if all(step == 1 for step in steps) else input[(..., *places)]
    return pool(input, kernel, steps, paddings, dilations, rest)


def _dynamic(*values: Any) -> bool:
    return any(_is_symbol(each) for value in values for each in (value if isinstance(value, (tuple, list)) else (value,)))


def _padded(input: torch.Tensor, padding: Any, dims: int, value: float) -> torch.Tensor:
    return F.pad(input, [size for each in reversed(_of_each(padding, dims)) for size in (each, each)], value=value)


def _padded_before(dims: int, padding: Any, kernel_size: Any, stride: Any) -> bool:
    """Whether the padding is put around the input first: it is dynamic, or the window or step along it is."""
    steps = kernel_size if stride in (None, (), []) else stride
    windows = zip(_of_each(kernel_size, dims), _of_each(steps, dims), strict=True)
    return _dynamic(padding) or any(pad and _dynamic(window) for pad, window in zip(_of_each(padding, dims), windows, strict=True))


def _average(function: _Call, dims: int) -> _Call:
    def static(input: torch.Tensor, kernel: Sequence[int], steps: Sequence[int], paddings: Sequence[int], _: Any, rest: dict[str, Any]) -> Any:
        return function(input, kernel, steps, paddings, **rest)

    @keeping(function)
    def call(
        input: torch.Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> Any:
        if _padded_before(dims, padding, kernel_size, stride) and not ceil_mode:
            divisor = {} if divisor_override is None else {"divisor_override": divisor_override}  # the pool of one dimension has none
            sums = call(_padded(input, padding, dims, 0), kernel_size, stride, **divisor)
            if count_include_pad or divisor:
                return sums
            return sums / call(_padded(torch.ones_like(input), padding, dims, 0), kernel_size, stride)
        if not _dynamic(kernel_size, stride) or divisor_override is not None:
            return NotImplemented
        rest = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
        return _pool(static, torch.mean, dims, input, kernel_size, stride, padding, 1, rest)

    return call


def _maximum(function: _Call, dims: int) -> _Call:
    def static(
        input: torch.Tensor, kernel: Sequence[int], steps: Sequence[int], paddings: Sequence[int], dilations: Sequence[int], rest: dict[str, Any]
    ) -> Any:
        return function(input, kernel, steps, paddings, dilations, **rest)

    @keeping(SIZE_KEEPING.get(function, function))
    def call(
        input: torch.Tensor,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        if return_indices:
            return NotImplemented
        if _padded_before(dims, padding, kernel_size, stride) and not ceil_mode:
            least = -math.inf if input.is_floating_point() else torch.iinfo(input.dtype).min
            return call(_padded(input, padding, dims, least), kernel_size, stride, 0, dilation)
        if not _dynamic(kernel_size, stride):
            return NotImplemented
        return _pool(static, torch.amax, dims, input, kernel_size, stride, padding, dilation, {"ceil_mode": ceil_mode})

    return call


@keeping(F.unfold)
def _columns(input: torch.Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:
    if not _dynamic(padding):
        return NotImplemented
    return F.unfold(_padded(input, padding, 2, 0), kernel_size, dilation, 0, stride)


WINDOWED: dict[_Call, _Call] = {
    F.unfold: _columns,
    torch.Tensor.unfold: _unfold,
    **{each: _average(each, dims) for dims, each in ((1, F.avg_pool1d), (2, F.avg_pool2d), (3, F.avg_pool3d))},
    **{each: _maximum(each, 1) for each in (F.max_pool1d, torch.max_pool1d)},
    **{each: _maximum(each, 2) for each in (F.max_pool2d, torch.max_pool2d)},
    **{each: _maximum(each, 3) for each in (F.max_pool3d, torch.max_pool3d)},
}
