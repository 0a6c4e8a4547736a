"""Functions of PyTorch that make numbers of dynamic sizes in a capture, by others that do not."""

from __future__ import annotations

import functools
import inspect
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils import _pytree

from .run_time_factors import MODES, resized_by

__all__ = ["SIZE_KEEPING", "keeping"]


def _is_dynamic(*values: Any) -> bool:
    """Whether a size among these is dynamic, or one of a tensor among them."""
    sizes = itertools.chain.from_iterable(
        leaf.shape if isinstance(leaf, torch.Tensor) else (leaf,) for leaf in _pytree.tree_leaves(values)
    )
    return any(isinstance(size, (torch.SymInt, torch.SymFloat)) for size in sizes)


_OF_NUMPY = {"a": "input", "axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}
"""NumPy's names of arguments, which torch takes as well."""


def keeping(original: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorated function where a size is dynamic, and it does not give up; else the original."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        names = inspect.signature(function).parameters

        def kept(args: Any, kwargs: Mapping[str, Any]) -> Any:
            if "out" in kwargs or not _is_dynamic(args, kwargs):
                return NotImplemented
            return function(*args, **{name if name in names else _OF_NUMPY.get(name, name): value for name, value in kwargs.items()})

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            result = kept(args, kwargs)
            return original(*args, **kwargs) if result is NotImplemented else result

        return call

    return decorate


@keeping(F.max_pool1d)
def _max_pool1d(
    input: torch.Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """By the operator that gives the places, too."""
    if return_indices:
        return NotImplemented
    stride = kernel_size if stride in (None, (), []) else stride
    return torch._VF.max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)[0]


@keeping(F.adaptive_avg_pool1d)
def _adaptive_avg_pool1d(input: torch.Tensor, output_size: Any) -> torch.Tensor:
    (length,) = output_size if isinstance(output_size, (tuple, list)) else (output_size,)
    return F.adaptive_avg_pool2d(input.unsqueeze(-2), (1, length)).squeeze(-2)


def _largest(input: torch.Tensor, dim: int, count: Any) -> torch.Tensor:
    """The largest of each of so many windows, which together are the dimension, and overlap where it is no multiple."""
    size, window = input.shape[dim], torch.arange(count, device=input.device)
    first, last = window * size // count, ((window + 1) * size + count - 1) // count - 1
    width = (size + count - 1) // count + 1  # of the widest: others hold their last element again
    places = torch.minimum(first[:, None] + torch.arange(width, device=input.device), last[:, None])
    return input.index_select(dim, places.flatten()).unflatten(dim, (count, width)).amax(dim % input.dim() + 1)


def _adaptive_max_pool(function: Callable[..., Any], dims: int) -> Callable[..., Any]:
    """The largest along one dimension after another, of which those that stay as they are (None) are left out."""

    @keeping(function)
    def pool(input: torch.Tensor, output_size: Any, return_indices: bool = False) -> Any:
        sizes = output_size if isinstance(output_size, (tuple, list)) else [output_size] * dims
        if return_indices or not any(size is None or isinstance(size, torch.SymInt) for size in sizes):
            return NotImplemented
        for axis, size in zip(range(-dims, 0), sizes):
            if isinstance(size, int) and size == 1:
                input = input.amax(axis, keepdim=True)
            elif size is not None:
                input = _largest(input, axis, size)
        return input

    return pool


@keeping(F.interpolate)
def _interpolate(input: torch.Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", **options: Any) -> torch.Tensor:
    if isinstance(scale_factor, torch.SymInt):  # torch takes numbers alone
        return F.interpolate(input, [extent * scale_factor for extent in input.shape[2:]], None, mode, **options)
    factors = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * (input.dim() - 2)
    if any(isinstance(factor, torch.SymFloat) for factor in factors):
        aligned, recomputed, antialias = (options.get(name) for name in ("align_corners", "recompute_scale_factor", "antialias"))
        if recomputed or mode == "area":
            return F.interpolate(input, [math.floor(extent * factor) for extent, factor in zip(input.shape[2:], factors)], None, mode, aligned, None, bool(antialias))
        resizable = mode in MODES and not antialias and input.dtype != torch.float64  # which runtimes resize by known factors alone
        return resized_by(input, factors, mode, aligned) if resizable else NotImplemented
    if mode != "area" or input.dim() != 3:
        return NotImplemented
    size, scale = ((each,) if isinstance(each, (int, float, torch.SymInt, torch.SymFloat)) else each for each in (size, scale_factor))
    size, scale = size and (1, *size), scale and (1.0, *scale)
    return F.interpolate(input.unsqueeze(-2), size, scale, mode, **options).squeeze(-2)


@keeping(F.one_hot)
def _one_hot(input: torch.Tensor, num_classes: Any = -1) -> torch.Tensor:
    if not isinstance(num_classes, torch.SymInt):
        return NotImplemented
    return (input.unsqueeze(-1) == torch.arange(num_classes, device=input.device)).to(torch.int64)


@keeping(torch.take_along_dim)
def _take_along_dim(input: torch.Tensor, indices: torch.Tensor, dim: int | None = None) -> torch.Tensor:
    if dim is None:
        return input.reshape(-1).gather(0, indices.reshape(-1))
    if input.dim() != indices.dim():
        return NotImplemented  # an error of PyTorch's
    dim %= input.dim()
    one = [1 if axis == dim else size for axis, size in enumerate(input.shape)]
    other = [1 if axis == dim else size for axis, size in enumerate(indices.shape)]
    sizes = list(torch.broadcast_shapes(one, other))
    extents = (sizes[:dim] + [each.shape[dim]] + sizes[dim + 1 :] for each in (input, indices))
    input, indices = (each.expand(extent) for each, extent in zip((input, indices), extents))
    return input.gather(dim, indices)


@keeping(torch.kron)
def _kron(input: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    rank = max(input.dim(), other.dim())
    left, right = ([1] * (rank - each.dim()) + list(each.shape) for each in (input, other))
    between = [size for pair in zip(left, [1] * rank) for size in pair]
    beside = [size for pair in zip([1] * rank, right) for size in pair]
    return (input.reshape(between) * other.reshape(beside)).reshape([a * b for a, b in zip(left, right)])


@keeping(torch.cdist)
def _cdist(x1: torch.Tensor, x2: torch.Tensor, p: float = 2.0, compute_mode: str = "use_mm_for_euclid_dist_if_necessary") -> Any:
    """Between two ways to the same distances, torch chooses by the sizes."""
    if compute_mode != "use_mm_for_euclid_dist_if_necessary":
        return NotImplemented
    return torch.cdist(x1, x2, p, "donot_use_mm_for_euclid_dist")


def _mean(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of complex numbers: torch divides by how many there are, as a complex number."""

    @keeping(function)
    def mean(input: torch.Tensor, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Any:
        if not (input if dtype is None else torch.empty((), dtype=dtype)).is_complex():
            return NotImplemented
        input = input if dtype is None else input.to(dtype)
        axes = range(input.dim()) if dim is None or dim == () else (dim,) if isinstance(dim, int) else dim
        total = input.sum(tuple(axes), keepdim) if input.dim() else input
        return total / math.prod(input.shape[axis] for axis in axes)

    return mean


@keeping(torch.vander)
def _vander(x: torch.Tensor, N: Any = None, increasing: bool = False) -> torch.Tensor:
    columns = x.shape[0] if N is None else N
    powers = torch.arange(columns, device=x.device)
    dtype = x.dtype if x.is_floating_point() or x.is_complex() else torch.int64
    return x.to(dtype).unsqueeze(-1) ** (powers if increasing else powers.flip(0))


@keeping(torch.logspace)
def _logspace(start: Any, end: Any, steps: Any, base: float = 10.0, *, dtype: torch.dtype | None = None, **options: Any) -> Any:
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point or any(isinstance(each, torch.Tensor) for each in (start, end)):
        return NotImplemented
    index = torch.arange(steps, dtype=torch.float64, device=options.get("device"))
    step = (end - start) / (torch.scalar_tensor(steps, dtype=torch.float64) - 1).clamp(min=1)
    return (base ** (start + step * index)).to(dtype)


@keeping(torch.fft.fftfreq)
def _fftfreq(n: Any, d: Any = 1.0, *, dtype: torch.dtype | None = None, device: Any = None, **_: Any) -> torch.Tensor:
    index = torch.arange(n, device=device)
    number = torch.where(index < (n + 1) // 2, index, index - n)
    return number.to(torch.get_default_dtype() if dtype is None else dtype) / (n * d)


@keeping(torch.fft.rfftfreq)
def _rfftfreq(n: Any, d: Any = 1.0, *, dtype: torch.dtype | None = None, device: Any = None, **_: Any) -> torch.Tensor:
    return torch.arange(n // 2 + 1, device=device).to(torch.get_default_dtype() if dtype is None else dtype) / (n * d)


@keeping(F.scaled_dot_product_attention)
def _attention(query: torch.Tensor, *args: Any, scale: Any = None, **kwargs: Any) -> Any:
    """The scale is a number in torch's operator."""
    if not isinstance(scale, torch.SymFloat):
        return NotImplemented
    return F.scaled_dot_product_attention(query * scale, *args, scale=1.0, **kwargs)


@keeping(F.pad)
def _pad(input: torch.Tensor, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """What is filled in is a number in torch's operator."""
    if mode != "constant" or not isinstance(value, (torch.SymInt, torch.SymFloat)):
        return NotImplemented
    inside = F.pad(torch.ones_like(input, dtype=torch.bool), pad)
    return torch.where(inside, F.pad(input, pad), torch.scalar_tensor(value, dtype=input.dtype, device=input.device))


def _quantile(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @keeping(function)
    def call(input: torch.Tensor, q: Any, *args: Any, **options: Any) -> Any:
        if not isinstance(q, torch.SymFloat):
            return NotImplemented
        return function(input, torch.scalar_tensor(q, dtype=input.dtype, device=input.device), *args, **options)

    return call


def _indices_where(keep: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> Callable[..., Any]:
    def indices(row: Any, col: Any, offset: int = 0, *, dtype: torch.dtype = torch.int64, **options: Any) -> torch.Tensor:
        device = options.get("device")
        difference = torch.arange(col, device=device) - torch.arange(row, device=device).unsqueeze(-1)
        return keep(difference, offset).nonzero().mT.to(dtype)

    return indices


def _window(original: Callable[..., torch.Tensor], values: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """A window function by its values at places from 0 to 1, beside numbers of its own."""

    @keeping(original)
    def window(
        window_length: Any, periodic: bool = True, *numbers: float, dtype: torch.dtype | None = None, device: Any = None, **options: Any
    ) -> torch.Tensor:
        if options.keys() & {"layout", "pin_memory"}:
            return NotImplemented
        own = {name: value for name, value in options.items() if name in ("alpha", "beta")}
        last = window_length if periodic else torch.sym_max(window_length - 1, 1)
        place = torch.arange(window_length, dtype=torch.float64, device=device) / last
        is_one = torch.scalar_tensor(window_length, device=device) == 1
        return torch.where(is_one, 1, values(place, *numbers, **own)).to(torch.get_default_dtype() if dtype is None else dtype)

    return window


def _hann(place: torch.Tensor) -> torch.Tensor:
    return 0.5 - 0.5 * torch.cos(2 * math.pi * place)


def _hamming(place: torch.Tensor, alpha: float = 0.54, beta: float = 0.46) -> torch.Tensor:
    return alpha - beta * torch.cos(2 * math.pi * place)


def _blackman(place: torch.Tensor) -> torch.Tensor:
    return 0.42 - 0.5 * torch.cos(2 * math.pi * place) + 0.08 * torch.cos(4 * math.pi * place)


def _bartlett(place: torch.Tensor) -> torch.Tensor:
    return 1 - (2 * place - 1).abs()


def _kaiser(place: torch.Tensor, beta: float = 12.0) -> torch.Tensor:
    inside = (1 - (2 * place - 1).square()).clamp(min=0)
    return torch.i0(beta * inside.sqrt()) / torch.i0(torch.tensor(beta, dtype=place.dtype))


@keeping(torch.unbind)
def _unbind(input: torch.Tensor, dim: int = 0) -> Any:
    """Of sizes that torch cannot tell to be 1 it leaves the dimension in what it makes."""
    rows = torch.unbind(input, dim)
    return tuple(input.select(dim, row) for row in range(len(rows))) if rows and rows[0].ndim == input.ndim else rows


SIZE_KEEPING: dict[Callable[..., Any], Callable[..., Any]] = {
    **{function: _max_pool1d for function in (F.max_pool1d, torch.max_pool1d)},
    **{function: _adaptive_avg_pool1d for function in (F.adaptive_avg_pool1d, torch.adaptive_avg_pool1d)},
    **{function: _adaptive_max_pool(function, dims) for dims, function in ((1, F.adaptive_max_pool1d), (2, F.adaptive_max_pool2d), (3, F.adaptive_max_pool3d))},
    F.interpolate: _interpolate,
    F.one_hot: _one_hot,
    **{function: _take_along_dim for function in (torch.take_along_dim, torch.Tensor.take_along_dim)},
    **{function: _kron for function in (torch.kron, torch.Tensor.kron)},
    torch.cdist: _cdist,
    **{function: _mean(function) for function in (torch.mean, torch.Tensor.mean)},
    **{function: _unbind for function in (torch.unbind, torch.Tensor.unbind)},
    torch.vander: _vander,
    torch.logspace: _logspace,
    torch.fft.fftfreq: _fftfreq,
    torch.fft.rfftfreq: _rfftfreq,
    F.scaled_dot_product_attention: _attention,
    F.pad: _pad,
    **{each: _quantile(each) for each in (torch.quantile, torch.Tensor.quantile, torch.nanquantile, torch.Tensor.nanquantile)},
    torch.tril_indices: keeping(torch.tril_indices)(_indices_where(lambda difference, offset: difference <= offset)),
    torch.triu_indices: keeping(torch.triu_indices)(_indices_where(lambda difference, offset: difference >= offset)),
    torch.hann_window: _window(torch.hann_window, _hann),
    torch.hamming_window: _window(torch.hamming_window, _hamming),
    torch.blackman_window: _window(torch.blackman_window, _blackman),
    torch.bartlett_window: _window(torch.bartlett_window, _bartlett),
    torch.kaiser_window: _window(torch.kaiser_window, _kaiser),
}
