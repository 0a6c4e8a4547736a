"""Rules of ``torch.vmap`` for batches of a dynamic size: torch's own ones make numbers of it, and of the sizes that derivatives hand on."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch._decomp import decomposition_table
from torch._functorch.autograd_function import custom_function_call_vmap_helper
from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter
from torch.utils import _pytree

from ...torch_names import found

__all__ = ["dynamic_batches"]

_KEY = "FuncTorchBatched"
_aten = torch.ops.aten


class _OfTorch(Exception):
    """The rule is not for these arguments: torch's own one is."""


@dataclasses.dataclass(frozen=True)
class _Shifted:
    """What an operator computes of each example it computes of the batch, along the next dimension.

    Attributes:
        dims: The arguments that are dimensions.
        sizes: Those that are the shape of a result.
        shared: Tensors that have to be the same for all examples.
    """

    dims: Collection[str] = ("dim",)
    sizes: Collection[str] = ()
    shared: Collection[str] = ()

    def __call__(self, op: Any, info: Any, in_dims: Sequence[Any], *args: Any) -> tuple[Any, Any]:
        taken = [argument for argument in op._schema.arguments if not argument.kwarg_only]
        values = [*args, *(argument.default_value for argument in taken[len(args) :])]
        dims = [*in_dims, *(None for _ in taken[len(args) :])]
        return op(*[self._of_batch(info.batch_size, argument.name, *each) for argument, *each in zip(taken, values, dims)]), 0

    def _of_batch(self, batch: Any, name: str, value: Any, in_dim: Any) -> Any:
        if name in self.shared:
            if in_dim is not None:
                raise _OfTorch
            return value
        if name in self.dims:
            return value + 1 if value >= 0 else value
        if name in self.sizes:
            return [batch, *value]
        if isinstance(value, torch.Tensor):
            whole = value.expand(batch, *value.shape) if in_dim is None else value.movedim(in_dim, 0)
            if whole.dim() == 1 and self.dims:  # of an example without dimensions, which has one for such operators
                raise _OfTorch
            return whole
        if isinstance(value, (list, tuple)) and any(isinstance(each, torch.Tensor) for each in value):
            return [self._of_batch(batch, name, *each) for each in zip(value, in_dim)]
        return value


def _folded(tensor: torch.Tensor, in_dim: int | None, batch: Any) -> torch.Tensor:
    """The images of all examples, as one batch."""
    return (tensor.expand(batch, *tensor.shape) if in_dim is None else tensor.movedim(in_dim, 0)).flatten(0, 1)


def _convolution(op: Any, info: Any, in_dims: Sequence[Any], images: torch.Tensor, weight: torch.Tensor, *rest: Any) -> tuple[Any, Any]:
    if any(dim is not None for dim in in_dims[1:3]):
        raise _OfTorch
    results = op(_folded(images, in_dims[0], info.batch_size), weight, *rest)
    return results.unflatten(0, (info.batch_size, -1)), 0


def _convolution_backward(
    op: Any, info: Any, in_dims: Sequence[Any], gradient: torch.Tensor, images: torch.Tensor, weight: torch.Tensor, *rest: Any
) -> tuple[Any, Any]:
    if in_dims[2] is not None or any(rest[-1][1:]):  # of weights each example has its own
        raise _OfTorch
    of_images, *_ = op(_folded(gradient, in_dims[0], info.batch_size), _folded(images, in_dims[1], info.batch_size), weight, *rest)
    return (of_images.unflatten(0, (info.batch_size, -1)), None, None), (0, None, None)


_RULES: Mapping[Any, Callable[..., tuple[Any, Any]]] = {
    _aten.cat.default: _Shifted(),
    _aten.convolution.default: _convolution,
    _aten.convolution_backward.default: _convolution_backward,
    _aten.gather.default: _Shifted(),
    _aten.index_add.default: _Shifted(shared=("index",)),
    _aten.linalg_cross.default: _Shifted(),
    _aten.scatter_add.default: _Shifted(),
    _aten.select_backward.default: _Shifted(sizes=("input_sizes",)),
    _aten.slice_backward.default: _Shifted(sizes=("input_sizes",)),
}
_DECOMPOSED = (
    _aten._native_batch_norm_legit_no_training.default,
    _aten.gelu_backward.default,
    _aten.native_batch_norm.default,
    _aten.native_batch_norm_backward.default,
    _aten.native_group_norm.default,
    _aten.native_group_norm_backward.default,
    _aten.native_layer_norm.default,
    _aten.native_layer_norm_backward.default,
)
"""Operators whose rule is that of what they are made of."""


def _kernel(op: Any, own: Any, rule: Callable[..., tuple[Any, Any]] | None) -> Callable[..., Any]:
    def call(keyset: Any, *args: Any, **kwargs: Any) -> Any:
        interpreter: Any = retrieve_current_functorch_interpreter()
        sizes = (size for leaf in _pytree.tree_leaves(args) if isinstance(leaf, torch.Tensor) for size in leaf.shape)
        if kwargs or not any(isinstance(size, torch.SymInt) for size in (interpreter.batch_size(), *sizes)):
            return own.call_boxed(keyset, *args, **kwargs)
        if rule is None:
            return decomposition_table[op](*args)
        with contextlib.suppress(_OfTorch):
            return custom_function_call_vmap_helper(interpreter, functools.partial(rule, op), op, *args)
        return own.call_boxed(keyset, *args)

    return call


@contextlib.contextmanager
def dynamic_batches() -> Iterator[None]:
    """While it is open, there are these rules, where this release of torch takes others in the place of its own."""
    kernel_of: Any = found("torch.library.get_kernel")
    if kernel_of is None:
        yield
        return
    with torch.library._scoped_library("aten", "IMPL") as library, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="(?s).*Overriding a previously registered kernel")
        for op in (*_RULES, *_DECOMPOSED):
            library.impl(op._name.removesuffix(".default"), _kernel(op, kernel_of(op, _KEY), _RULES.get(op)), _KEY, with_keyset=True, allow_override=True)
        yield
