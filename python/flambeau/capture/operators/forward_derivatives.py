"""Derivatives that go forwards with the values: ``torch.func.jvp``, ``jacfwd``, ``hessian``."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._functorch import eager_transforms
from torch.autograd import forward_ad
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._python_dispatch import TorchDispatchMode

from ..replaced_functions import Replacements

__all__ = ["forward_derivatives"]


class _PlainZeros(TorchDispatchMode):
    """The derivatives of what does not change are zeros, and derivatives are put into zeros where they are those of a part of a tensor. What
    PyTorch makes of its own accord asks for numbers of the sizes, and of the places in memory.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
        kwargs = kwargs or {}
        if func is torch.ops.aten._efficientzerotensor.default:
            return torch.ops.aten.zeros.default(*args, **kwargs)
        if func is torch.ops.aten._new_zeros_with_same_feature_meta.default and (order := _order_in_memory(args[1])) is not None:
            batch = args[0].shape[: kwargs.get("self_num_batch_dims", 0)]
            zeros = torch.ops.aten.new_zeros.default(args[1], [*batch, *(args[1].shape[dim] for dim in order)])
            places = [len(batch) + order.index(dim) for dim in range(len(order))]
            return zeros.permute([*range(len(batch)), *places])
        return func(*args, **kwargs)


def _order_in_memory(tensor: torch.Tensor) -> Sequence[int] | None:
    """The dimensions, outermost first, of a tensor without gaps; None for others."""
    order: list[int] = []
    elements: Any = 1
    # Of dimensions with one stride, those of size 1 are within the other.
    left = sorted(range(tensor.dim()), key=lambda dim: not statically_known_true(tensor.shape[dim] == 1))
    while left:
        within = next((dim for dim in left if statically_known_true(tensor.stride(dim) == elements)), None)
        if within is None:
            return None
        left.remove(within)
        order.insert(0, within)
        elements = elements * tensor.shape[within]
    return order


@contextlib.contextmanager
def forward_derivatives() -> Iterator[None]:
    """While it is open, as in a capture below autograd, sizes stay dynamic in them."""
    own, make_dual = eager_transforms.jvp_increment_nesting, forward_ad.make_dual

    @functools.wraps(make_dual)
    def dual(tensor: torch.Tensor, tangent: torch.Tensor, **level: Any) -> Any:
        return make_dual(tensor.clone(), tangent, **level)  # a tensor with gaps in memory has its derivative in one with the same gaps

    @contextlib.contextmanager
    def nesting() -> Iterator[int]:
        with _PlainZeros(), own() as level:
            yield level

    with Replacements() as replacements:
        replacements.set(eager_transforms, "jvp_increment_nesting", nesting)
        replacements.set(forward_ad, "make_dual", dual)
        yield
