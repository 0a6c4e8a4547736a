"""Calls that torch cannot capture because it looks at data: replaced by equal ones that it can.

Some compute a Python number from a tensor, some check their arguments' values
before they compute, and some have results whose sizes torch gets wrong.
"""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch
import torch.nn.functional as F
from torch.fx.experimental.symbolic_shapes import has_free_unbacked_symbols
from torch.overrides import TorchFunctionMode

from ...torch_names import by_name
from ..loops.pieces import split
from ..questions.equality import EQUALITIES
from .counted_outputs import counted_into
from .finite_differences import FINITE_DIFFERENCES
from .indexing import read_at, write_at
from .matrix_norms import MATRIX_NORMS
from .size_keeping import SIZE_KEEPING
from .sparse_tensors import SPARSE
from .spectrograms import SPECTROGRAMS
from .tensors_of_lists import tensor_of
from .transforms import TRANSFORMS
from .windows import WINDOWED

__all__ = ["CapturableCalls", "sized_kernels", "unchecked_distributions", "unmoved_modules"]


@contextlib.contextmanager
def unchecked_distributions() -> Iterator[None]:
    """While it is open, distributions do not look whether their parameters are valid: a trace leaves that out, too."""
    distribution = torch.distributions.Distribution
    before = distribution._validate_args
    distribution.set_default_validate_args(False)
    try:
        yield
    finally:
        distribution.set_default_validate_args(before)


@contextlib.contextmanager
def unmoved_modules() -> Iterator[None]:
    """While it is open, ``module.to`` leaves a module alone that is there already: torch would put new parameters into it."""
    to = torch.nn.Module.to

    def moved(self: torch.nn.Module, *args: Any, **kwargs: Any) -> torch.nn.Module:
        device, dtype, _, memory_format = torch._C._nn._parse_to(*args, **kwargs)
        there = all(
            (device is None or device == tensor.device) and (dtype in (None, tensor.dtype) or not tensor.is_floating_point())
            for tensor in itertools.chain(self.parameters(), self.buffers())
        )
        return self if there and memory_format is None else to(self, *args, **kwargs)

    torch.nn.Module.to = moved
    try:
        yield
    finally:
        torch.nn.Module.to = to


def _as_first(first: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    return torch.empty_like(first)


def _cell(input_gates: torch.Tensor, hidden_gates: torch.Tensor, hx: torch.Tensor, *biases: Any) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.empty_like(hx), hx.new_empty(hx.shape[0], 5 * hx.shape[1])  # the second is for the gradient


_KERNELS_ALONE = {
    "aten::_sample_dirichlet": _as_first,
    "aten::_thnn_fused_gru_cell": _cell,
    "aten::binomial": _as_first,
}


@contextlib.contextmanager
def sized_kernels() -> Iterator[None]:
    """While it is open, torch knows what operators make of symbolic sizes, of which it has kernels alone."""
    with torch.library._scoped_library("aten", "FRAGMENT") as library:
        for name, infer in _KERNELS_ALONE.items():
            if not torch._C._dispatch_has_kernel_for_dispatch_key(name, "Meta"):
                torch.library.register_fake(name, infer, lib=library)
        yield


class CapturableCalls(TorchFunctionMode):
    """While it is active, the calls are replaced."""

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        return _REPLACEMENTS.get(func, func)(*args, **(kwargs or {}))


def _combinations(input: torch.Tensor, r: int = 2, with_replacement: bool = False) -> torch.Tensor:
    size = input.shape[0]
    if r == 0:
        return input.new_empty(0)
    if isinstance(size, int):
        choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
        chosen = list(choose(range(size), r))
        return input[torch.tensor(chosen, dtype=torch.int64, device=input.device).reshape(len(chosen), r)]
    positions = torch.arange(size, device=input.device)
    along = [positions.reshape([-1 if i == axis else 1 for i in range(r)]) for axis in range(r)]
    rising = torch.ones([size] * r, dtype=torch.bool, device=input.device)
    for left, right in itertools.pairwise(along):
        rising = rising & (left <= right if with_replacement else left < right)
    return input[rising.nonzero()]


def _where(condition: torch.Tensor, *values: Any, **named: Any) -> Any:
    """PyTorch takes bytes for truths, with a warning; its captures do not."""
    return torch.where(condition.bool() if condition.dtype is torch.uint8 else condition, *values, **named)


def _narrow(input: torch.Tensor, dim: int, start: Any, length: Any) -> torch.Tensor:
    if not isinstance(start, torch.Tensor):
        return torch.narrow(input, dim, start, length)
    begin = torch.where(start < 0, start + input.shape[dim], start)
    return input.index_select(dim, begin + torch.arange(length, device=input.device))


def _repeat_interleave(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """As PyTorch has it that there are as many counts as elements, it is so of counts of which data decides how many there are."""
    repeats, dim = args[0] if args else kwargs.get("repeats"), args[1] if len(args) > 1 else kwargs.get("dim")
    if isinstance(repeats, torch.Tensor) and repeats.dim() == 1 and has_free_unbacked_symbols(repeats.shape[0]):
        torch._check(repeats.shape[0] == (input.numel() if dim is None else input.shape[dim]))
    return torch.repeat_interleave(input, *args, **kwargs)


def _covariance(
    input: torch.Tensor,
    *,
    correction: int = 1,
    fweights: torch.Tensor | None = None,
    aweights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Without the check that no weight is negative."""
    x = torch.atleast_2d(input)
    x = x if x.is_floating_point() or x.is_complex() else x.to(torch.get_default_dtype())
    weights = fweights
    if aweights is not None:
        weights = aweights if weights is None else weights * aweights
    if weights is None:
        total: Any = x.shape[1]
        mean = x.sum(1, keepdim=True) / total
        divisor: Any = max(total - correction, 0) if isinstance(total, int) else torch.sym_max(total - correction, 0)
        centered = x - mean
        return torch.squeeze(centered @ centered.mH / divisor)
    total = weights.sum()
    centered = x - (x * weights).sum(1, keepdim=True) / total
    if aweights is None or correction == 0:
        divisor = total - correction
    else:
        divisor = total - correction * (weights * aweights).sum() / total
    return torch.squeeze((centered * weights) @ centered.mH / divisor.clamp(min=0))


def _correlation(input: torch.Tensor) -> torch.Tensor:
    covariance = _covariance(input)
    if covariance.dim() == 0:
        return covariance / covariance
    deviation = covariance.diagonal().real.sqrt()
    result = covariance / deviation[:, None] / deviation
    if result.is_complex():
        return torch.complex(result.real.clamp(-1, 1), result.imag.clamp(-1, 1))
    return result.clamp(-1, 1)


def _gaussian_nll_loss(
    input: torch.Tensor,
    target: torch.Tensor,
    var: torch.Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> torch.Tensor:
    """Without the check that no variance is negative."""
    if isinstance(var, float):
        var = var * torch.ones_like(input)
    if var.shape != input.shape and input.shape[:-1] == var.shape:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return {"mean": torch.mean, "sum": torch.sum}.get(reduction, lambda each: each)(loss)


def _ctc_loss(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> torch.Tensor:
    """By the stand-in of the operator: torch reads the lengths."""
    how = {"none": 0, "mean": 1, "sum": 2}[reduction]
    return torch._VF.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, how, zero_infinity)


def _instance_norm(
    input: torch.Tensor,
    running_mean: torch.Tensor | None = None,
    running_var: torch.Tensor | None = None,
    weight: torch.Tensor | None = None,
    bias: torch.Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> torch.Tensor:
    """The running statistics are written by operators that say so."""
    if use_input_stats and running_mean is not None and running_var is not None:
        variance, mean = torch.var_mean(input, tuple(range(2, input.dim())))
        for running, now in ((running_mean, mean), (running_var, variance)):
            running.copy_(running * (1 - momentum) + now.mean(0) * momentum)
        running_mean = running_var = None
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def _linear_cross_entropy(*args: Any, options: Any = None, **kwargs: Any) -> torch.Tensor:
    """Without options: they decide how much memory it takes, in chunks of the batch."""
    return F.linear_cross_entropy(*args, **kwargs)


def _lstsq(input: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """By the stand-in of the operator: whether there are residuals depends on the rank."""
    return torch.return_types.linalg_lstsq(torch._VF.linalg_lstsq(input, b, rcond, driver=driver))


def _one_hot(input: torch.Tensor, num_classes: Any = -1) -> torch.Tensor:
    """As many classes as the greatest says are a size, or as a tensor says; torch makes a number of it."""
    told = isinstance(num_classes, torch.Tensor)
    if told:
        num_classes = num_classes.item()
    if isinstance(num_classes, int) and num_classes == -1:
        num_classes, told = input.max().item() + 1, True
    if told:
        torch._check(num_classes >= 0)
    return SIZE_KEEPING[F.one_hot](input, num_classes)


def _random_(input: torch.Tensor, *bounds: Any, generator: Any = None, **named: Any) -> torch.Tensor:
    """torch writes an operator's argument that is called ``from`` as Python's word."""
    names = ("from", "to") if len(bounds) + len(named) == 2 else ("to",)
    named |= dict(zip(names, bounds, strict=False))
    if "from" not in named:
        return input.random_(**named)
    low, high = named["from"], named["to"]
    if high is None:  # all that the dtype holds exactly
        exact = {torch.float16: 2**11, torch.bfloat16: 2**8, torch.float32: 2**24, torch.float64: 2**53}
        high = exact[input.dtype] + 1 if input.dtype in exact else torch.iinfo(input.dtype).max
    return input.copy_(torch.randint(low, high, input.shape, device=input.device))


def _by_stand_in(function: str) -> Callable[..., Any]:
    """The function by the stand-in of its operator: torch has no types for what it returns."""
    result = getattr(torch.return_types, function, tuple)

    def call(*args: Any, **kwargs: Any) -> Any:
        return result(getattr(torch._VF, function)(*args, **kwargs))

    return call


def _unique_consecutive(
    input: torch.Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """torch gives the result of a negative `dim` too many dimensions."""
    if dim is not None and dim < 0:
        dim += max(input.dim(), 1)
    return torch.unique_consecutive(input, return_inverse=return_inverse, return_counts=return_counts, dim=dim)


def _affine_grid(theta: torch.Tensor, size: Any, align_corners: bool | None = None) -> torch.Tensor:
    """By the stand-in of the operator: torch makes numbers of the sizes."""
    return torch._VF.affine_grid_generator(theta, size, bool(align_corners))


def _linspace(start: Any, end: Any, steps: Any, *, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    """Of a dynamic number of steps by arithmetic, from the nearer end: torch's operator takes a number."""
    dtype = torch.get_default_dtype() if dtype is None else dtype
    is_real = dtype.is_floating_point and not any(isinstance(each, complex) for each in (start, end))
    if isinstance(steps, int) or not is_real or "out" in options:
        return torch.linspace(start, end, steps, dtype=dtype, **options)
    device = options.get("device")
    first, last = (
        each.to(dtype) if isinstance(each, torch.Tensor) else torch.scalar_tensor(each, dtype=dtype, device=device)
        for each in (start, end)
    )
    step = (last - first) / torch.scalar_tensor(steps - 1, dtype=dtype, device=device).clamp(min=1)
    index = torch.arange(steps, device=device)
    from_first = first + step * index
    from_last = last - step * (steps - 1 - index)
    return torch.where(index < torch.sym_max(steps // 2, 1), from_first, from_last)


def _margin_loss(loss: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """That of one sample has no dimension where its class has none; torch gives it one."""

    def call(input: torch.Tensor, target: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        if input.ndim == 2:
            return loss(input, target, *args, **options)
        several = loss is F.multilabel_margin_loss
        result = loss(input.reshape(1, -1), target.reshape(1, -1) if several else target.reshape(1), *args, **options)
        return result.reshape(() if several or target.ndim == 0 else result.shape)

    return call


_QUOTIENT = "_flambeau_quotient"


def _div(input: Any, other: Any, *, rounding_mode: str | None = None, **options: Any) -> torch.Tensor:
    """A quotient of sizes is a tensor that knows which number it holds, for it may become a size again."""
    result = torch.div(input, other, rounding_mode=rounding_mode, **options)
    if rounding_mode is not None and all(isinstance(each, (int, torch.SymInt)) for each in (input, other)) and other > 0:
        setattr(result, _QUOTIENT, input // other)
    return result


def _reshaping(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the numbers that such tensors among its sizes hold."""

    def number(size: Any) -> Any:
        return getattr(size, _QUOTIENT, size) if isinstance(size, torch.Tensor) else size

    def call(input: torch.Tensor, *sizes: Any, **options: Any) -> Any:
        listed = [[number(each) for each in size] if isinstance(size, (list, tuple)) else number(size) for size in sizes]
        return function(input, *listed, **options)

    return call


def _without_generator(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the default generator: with another, torch takes no dynamic sizes; the numbers are the runtime's in any case."""

    def call(*args: Any, generator: Any = None, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return call


def _format(tensor: torch.Tensor, spec: str) -> str:
    """PyTorch writes the number that a tensor of no dimensions holds, as in ``experts[f"expert_{index}"]``; torch's captures do not."""
    if tensor.ndim or tensor.is_floating_point() or tensor.is_complex():
        return object.__format__(tensor, spec)
    return format(tensor.item(), spec)


def _contiguous(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The function of which a new result is contiguous whatever the input is; torch's captures take it to lie as the input does."""

    def call(input: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
        result = function(input, *args, **options)
        return result if result is input else result.contiguous()

    return call


_MOST_NUMBERS = 1024
"""In an array of NumPy: a count for each expert, a length for each sequence."""


def _numpy(tensor: torch.Tensor, **options: Any) -> Any:
    """Integers as an array of Python's numbers, which the capture can follow."""
    integers = not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype is not torch.bool
    if not integers or not all(isinstance(size, int) for size in tensor.shape) or tensor.numel() > _MOST_NUMBERS:
        return tensor.numpy(**options)
    numbers = tensor.flatten().tolist()
    array = numpy.empty(len(numbers), object)
    array[:] = numbers
    return array.reshape(tuple(tensor.shape))


def _fill_diagonal(input: torch.Tensor, fill_value: Any, wrap: bool = False) -> torch.Tensor:
    """torch's compares the sizes."""
    if input.ndim != 2:
        return input.fill_diagonal_(fill_value, wrap)
    if not wrap:
        input.diagonal().fill_(fill_value)
        return input
    height, width = input.shape
    rows = torch.arange(height, device=input.device)[:, None]
    return input.masked_fill_(rows % (width + 1) == torch.arange(width, device=input.device), fill_value)


_REPLACEMENTS: dict[Callable[..., Any], Callable[..., Any]] = {
    **EQUALITIES,
    **SIZE_KEEPING,
    **WINDOWED,
    **SPECTROGRAMS,
    **TRANSFORMS,
    **FINITE_DIFFERENCES,
    **MATRIX_NORMS,
    **SPARSE,
    torch.Tensor.__format__: _format,
    torch.Tensor.numpy: _numpy,
    torch.tensor: tensor_of,
    **{function: split(function) for function in (torch.split, torch.Tensor.split)},
    torch.div: _div,
    **{function: _reshaping(function) for function in (torch.Tensor.view, torch.Tensor.reshape, torch.reshape, torch.Tensor.expand)},
    torch.combinations: _combinations,
    torch.Tensor.__getitem__: read_at,
    torch.Tensor.__setitem__: write_at,
    torch.Tensor.fill_diagonal_: _fill_diagonal,
    torch.linspace: counted_into(_linspace),
    torch.logspace: counted_into(SIZE_KEEPING[torch.logspace]),
    **{function: counted_into(function) for function in (torch.arange, torch.range)},
    **{function: _without_generator(function) for function in (torch.rand, torch.randn, torch.randint, torch.randperm)},
    torch.where: _where,
    torch.narrow: _narrow,
    torch.Tensor.narrow: _narrow,
    torch.repeat_interleave: _repeat_interleave,
    torch.Tensor.repeat_interleave: _repeat_interleave,
    torch.cov: _covariance,
    torch.Tensor.cov: _covariance,
    torch.corrcoef: _correlation,
    torch.Tensor.corrcoef: _correlation,
    F.affine_grid: _affine_grid,
    F.ctc_loss: _ctc_loss,
    F.gaussian_nll_loss: _gaussian_nll_loss,
    F.instance_norm: _instance_norm,
    F.one_hot: _one_hot,
    torch.Tensor.random_: _random_,
    **{function: _contiguous(function) for function in (F.rrelu, torch.rrelu, F.logsigmoid)},
    **by_name({"torch.nn.functional.linear_cross_entropy": _linear_cross_entropy}),
    **{loss: _margin_loss(loss) for loss in (F.multi_margin_loss, F.multilabel_margin_loss)},
    torch.linalg.lstsq: _lstsq,
    torch.geqrf: _by_stand_in("geqrf"),
    torch.Tensor.geqrf: _by_stand_in("geqrf"),
    torch.histogram: _by_stand_in("histogram"),
    torch.Tensor.histogram: _by_stand_in("histogram"),
    torch.histogramdd: _by_stand_in("histogramdd"),
    torch.unique_consecutive: _unique_consecutive,
    torch.Tensor.unique_consecutive: _unique_consecutive,
}
