"""``Tensor.data``, ``Tensor.new``, and tensors that are copies, as torch sees them in a capture."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.fx.experimental.proxy_tensor import get_proxy_mode, get_proxy_slot, set_proxy_slot

from ..replaced_functions import Replacements

__all__ = ["seen_data"]


def _assign(tensor: torch.Tensor, value: torch.Tensor) -> None:
    if (tensor.dtype, tensor.device) != (value.dtype, value.device):  # no operator does that; modules do, as they move
        value = value.detach()
        torch._C.TensorBase.data.__set__(tensor, value)
        if _traced():
            torch._C._set_value_trace(tensor, torch._C._get_value_trace(value))
        elif (mode := get_proxy_mode()) is not None and (proxy := get_proxy_slot(value, mode.tracer, None)) is not None:
            set_proxy_slot(tensor, mode.tracer, proxy)
        return
    with torch.no_grad() if tensor.requires_grad and torch.is_grad_enabled() else contextlib.nullcontext():
        tensor.set_(value.detach())


def _traced() -> bool:
    return torch._C._get_tracing_state() is not None


def _recorded() -> bool:
    return _traced() or get_proxy_mode() is not None


def _unless(own: Callable[..., Any], other: Callable[..., Any], there: Callable[[], bool]) -> Callable[..., Any]:
    """The method, and another in its place while operators are recorded: not so while torch prepares that."""
    return lambda tensor, *args, **options: (other if there() else own)(tensor, *args, **options)


def _deepcopy(tensor: torch.Tensor, memo: dict[int, Any]) -> torch.Tensor:
    memo[id(tensor)] = copied = tensor.detach().clone().requires_grad_(tensor.requires_grad)
    return copied


def _reduce(tensor: torch.Tensor, protocol: int) -> tuple[Callable[..., torch.Tensor], tuple[torch.Tensor]]:
    return torch.Tensor.detach, (tensor,)


def _new(tensor: torch.Tensor, *args: Any, **options: Any) -> torch.Tensor:
    """``x.new(3, 4)`` and ``x.new(x.size())``; what has elements in it is a constant."""
    sizes = args[0] if len(args) == 1 and isinstance(args[0], torch.Size) else args
    if options or not all(isinstance(size, int) or isinstance(size, torch.Tensor) and size.ndim == 0 for size in sizes):
        return torch._C.TensorBase.new(tensor, *args, **options)
    return torch.empty(tuple(sizes) if args else 0, dtype=tensor.dtype, device=tensor.device)


_SEEN = {
    "data": property(torch.Tensor.detach, _assign),
    "new": _unless(torch._C.TensorBase.new, _new, _traced),
    "__deepcopy__": _unless(torch.Tensor.__deepcopy__, _deepcopy, _recorded),
    "__reduce_ex__": _unless(torch.Tensor.__reduce_ex__, _reduce, _recorded),
}


@contextlib.contextmanager
def seen_data() -> Iterator[None]:
    """While it is open, torch sees what a model reads and writes through ``x.data``, what it copies, and how large ``x.new`` is.

    Otherwise these are constants to it, with the example's values in a trace and with none in torch.export.
    """
    with Replacements() as replacements:
        for name, seen in _SEEN.items():
            replacements.set(torch.Tensor, name, seen)
        yield
