"""Flex attention: attention whose scores a function of the places changes, and another masks."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch._higher_order_ops.flex_attention import FlexAttentionHOP
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.weak import WeakIdKeyDictionary

from ..replaced_functions import Replacements

__all__ = ["FlexAttentionHOP", "dense_flex_attention"]


_KEEPS = {torch.ops.aten._to_copy, torch.ops.aten.clone, torch.ops.aten.alias, torch.ops.aten.detach, torch.ops.aten.lift_fresh}
_FILLED_AS = {torch.ops.aten.zeros_like, torch.ops.aten.ones_like, torch.ops.aten.full_like}
_FILLED = {torch.ops.aten.new_zeros, torch.ops.aten.new_ones, torch.ops.aten.new_full}


class _OfSeveralPlaces(Exception):
    """A function does something else to the places together than to each."""


class _SeesEachPlace(TorchDispatchMode):
    """While it is open, a function that takes one place is called with all of them, which broadcast: sees that this is the same.

    Raises:
        _OfSeveralPlaces: It is not; what would be done next has left no condition on sizes.
    """

    def __init__(self, places: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self.of_places = WeakIdKeyDictionary(dict.fromkeys(places))

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch.Tag.nondeterministic_seeded in func.tags:
            raise _OfSeveralPlaces
        tensors = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        filled = func.overloadpacket in _FILLED and not args[1]
        if filled or func.namespace == "prim" or not any(tensor in self.of_places for tensor in tensors):
            return func(*args, **kwargs)
        if not self._is_of_each(func, args, tensors):
            raise _OfSeveralPlaces
        result = func(*args, **kwargs)
        self.of_places[result] = None
        return result

    def _is_of_each(self, func: Any, args: tuple[Any, ...], tensors: list[torch.Tensor]) -> bool:
        if func is torch.ops.aten.index.Tensor:
            table, indices = args
            at_places = all(index is not None and index.dtype is not torch.bool and self._is_one(index) for index in indices)
            return table not in self.of_places and at_places and len(indices) == table.ndim
        elementwise = torch.Tag.pointwise in func.tags or func.overloadpacket in _KEEPS | _FILLED_AS
        return elementwise and all(self._is_one(tensor) for tensor in tensors)

    def _is_one(self, tensor: torch.Tensor) -> bool:
        """Whether it is one element for each place."""
        return tensor in self.of_places or tensor.ndim == 0


_Function = Callable[..., torch.Tensor]


def _for_each_place(function: _Function, before: tuple[int, ...], buffers: int = 0) -> _Function:
    """The function, which takes one batch, head, query and key, for all of them; its result broadcasts to them.

    Elementwise functions take them as they are; others go through ``torch.vmap``, whose calls some captures lose.

    Args:
        function: Of tensors without dimensions, and of buffers.
        before: The dimension that goes over the places, of each argument that comes before them.
        buffers: How many there are.
    """

    # With it comes Dynamo, which takes a second to load, and neither a trace nor a script needs.
    from torch._dynamo._trace_wrapped_higher_order_op import TransformGetItemToIndex

    def evaluated(*args: torch.Tensor) -> torch.Tensor:
        scores, places, rest = args[: len(before)], args[len(before) : len(before) + 4], args[len(before) + 4 :]
        grid = [place[(None,) * axis + (slice(None),) + (None,) * (3 - axis)] for axis, place in enumerate(places)]
        with contextlib.suppress(_OfSeveralPlaces, RuntimeError), _SeesEachPlace((*scores, *grid)) as seen:
            result = function(*scores, *grid, *rest)
            if isinstance(result, torch.Tensor) and result in seen.of_places:
                return result
        mapped = function
        for axis in reversed(range(4)):
            dims = tuple(0 if axis == other else None for other in range(4))
            mapped = torch.vmap(mapped, in_dims=(*before, *dims, *(None,) * buffers))
        with TransformGetItemToIndex():  # functions may read a table at a place
            return mapped(*args)

    return evaluated


def _in_place_of(of_all: Callable[..., _Function]) -> Callable[..., _Function]:
    """In the place of torch's own function that makes one of all places, for what a mask of blocks is made of."""

    def mapped(fn: _Function, prefix: tuple[int | None, ...], *others: Any, **named: Any) -> _Function:
        if others or named:
            return of_all(fn, prefix, *others, **named)
        whole = _for_each_place(fn, tuple(0 for _ in prefix))
        return lambda *args: whole(*args).expand([place.shape[0] for place in args[len(prefix) :]])

    return mapped


def _dense(
    self: FlexAttentionHOP,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    score_mod: Callable[..., torch.Tensor],
    block_mask: tuple[Any, ...],
    scale: float,
    kernel_options: dict[str, Any],
    score_mod_other_buffers: tuple[Any, ...] = (),
    mask_mod_other_buffers: tuple[Any, ...] = (),
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """As PyTorch defines the operator: (the result, by logarithms of 2 that of the sum and the maximum of each row).

    The blocks of a mask only say where there is nothing to compute; its function, the last of the tuple, says it of each place.
    """
    dtype = torch.float64 if query.dtype is torch.float64 else torch.float32
    batch, heads = query.shape[:2]
    of_heads = [each if each.shape[1] == heads else each.repeat_interleave(heads // each.shape[1], 1) for each in (key, value)]
    key, value = (each.expand(batch, *each.shape[1:]) for each in of_heads)
    scores = query.to(dtype) @ key.to(dtype).mT * scale
    places = [torch.arange(size, device=scores.device) for size in scores.shape]
    changed = _for_each_place(score_mod, (0,), len(score_mod_other_buffers))(scores, *places, *score_mod_other_buffers)
    seen = _for_each_place(block_mask[-1], (), len(mask_mod_other_buffers))(*places, *mask_mod_other_buffers)
    changed = torch.where(seen, changed.to(dtype), -math.inf)
    most = changed.amax(-1)
    total = torch.where(most == -math.inf, -math.inf, changed.logsumexp(-1))
    result = torch._safe_softmax(changed, -1).to(query.dtype) @ value.to(query.dtype)
    return result, total / math.log(2), most / math.log(2)


@contextlib.contextmanager
def dense_flex_attention() -> Iterator[None]:
    """While it is open, flex attention computes all scores, by ordinary operators; torch would compile it, and refuses gradients."""
    with Replacements() as replacements:
        replacements.set(FlexAttentionHOP, "__call__", _dense)
        if (module := sys.modules.get("torch.nn.attention.flex_attention")) is not None:
            replacements.set(module, "_vmap_for_bhqkv", _in_place_of(module._vmap_for_bhqkv))
            replacements.set(module, "_FLEX_ATTENTION_DISABLE_COMPILE_DEBUG", True)
            replacements.set(module, "_validate_device", lambda query, key, value: None)
        yield
