"""Running or capturing a module without a trace of it."""

from __future__ import annotations

import collections
import contextlib
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree

__all__ = ["are_same", "attributes_within", "containers_within", "elements_of", "kept_attributes", "kept_state", "put_elements"]

_MOST_OBJECTS = 4096
"""That are looked through; what holds more is no part of a model."""
_NAMESPACES = ("argparse", "types")
"""Of Python's library, where objects of models may be from."""

_KINDS: tuple[Any, ...] = (collections.OrderedDict, collections.deque, dict, list, set)
"""Of containers, those in front that are of one behind and do more."""


def elements_of(container: Any) -> list[Any]:
    """What a container holds: of a dict its keys, then its values."""
    return [*dict.keys(container), *dict.values(container)] if isinstance(container, dict) else list(container)


def put_elements(container: Any, elements: list[Any]) -> None:
    """Have the container hold these. A class of its own, which may count what is put into it, is not told."""
    kind = next(kind for kind in _KINDS if isinstance(container, kind))
    kind.clear(container)
    if isinstance(container, dict):
        kind.update(container, zip(elements[: len(elements) // 2], elements[len(elements) // 2 :]))
    else:
        (kind.update if kind is set else kind.extend)(container, elements)


def are_same(elements: list[Any], others: list[Any]) -> bool:
    """Whether they are, not only equal ones."""
    return len(elements) == len(others) and all(one is other for one, other in zip(elements, others))


def _attributes_of(value: Any) -> dict[str, Any] | None:
    """Of an object that may be part of a model: no module, tensor or type, nor one of Python's library, which all share."""
    of = type(value).__module__.partition(".")[0]
    if isinstance(value, (torch.Tensor, torch.nn.Module, type)) or (of in sys.stdlib_module_names and of not in _NAMESPACES):
        return None
    try:
        held = object.__getattribute__(value, "__dict__")
    except Exception:  # it has none, or its class says so in its own way
        return None
    return held if type(held) is dict else None


def attributes_within(model: torch.nn.Module) -> Iterator[dict[str, Any]]:
    """The attributes of the model's modules, and of the objects that these hold, as a schedule of steps is one."""
    places = [vars(module) for module in model.modules()]
    seen = {id(place) for place in places}
    most = len(seen) + _MOST_OBJECTS
    while places:
        place = places.pop()
        yield place
        for value in list(place.values()) if len(seen) < most else ():
            held = _attributes_of(value)
            if held is not None and id(held) not in seen:
                seen.add(id(held))
                places.append(held)


def containers_within(model: torch.nn.Module) -> list[Any]:
    """The lists and dicts that :func:`attributes_within` hold, also within others: groups of an optimizer's weights."""
    found: dict[int, Any] = {}
    left = collections.deque(value for place in attributes_within(model) for value in place.values())
    most = len(left) + _MOST_OBJECTS
    while left and len(found) < most:
        value = left.popleft()
        if isinstance(value, _KINDS) and id(value) not in found:
            found[id(value)] = value
            left += elements_of(value)
        elif isinstance(value, tuple):
            left += value
    return list(found.values())


_Held = list[tuple[Any, list[Any]]]
"""Containers, and what they hold."""


def _held(model: torch.nn.Module) -> _Held:
    return [(container, elements_of(container)) for container in (*attributes_within(model), *containers_within(model))]


def _tensors(held: _Held) -> Iterator[torch.Tensor]:
    """Those that are held, but the weights."""
    for _, elements in held:
        for each in elements:
            if isinstance(each, torch.Tensor) and not isinstance(each, torch.nn.Parameter):
                yield each


@contextlib.contextmanager
def kept_attributes(model: torch.nn.Module, given: Any = (), held: _Held | None = None) -> Iterator[None]:
    """Whatever forward assigns to the attributes of its modules, and of the objects that these hold, or puts into the lists and dicts of
    modules: a table of which a capture knows no numbers, or a size of the example's. And what it does to gradients, also those of what
    it is given.
    """
    held = _held(model) if held is None else held
    tensors = [*model.parameters(), *model.buffers(), *_tensors(held), *(each for each in _pytree.tree_leaves(given) if isinstance(each, torch.Tensor))]
    try:
        with _kept_gradients(tensors):
            yield
    finally:
        for container, elements in held:
            if not are_same(elements_of(container), elements):
                put_elements(container, elements)


@contextlib.contextmanager
def _kept_gradients(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """The tensors have no gradients while it is open, and afterwards those that they had: ``loss.backward()`` in forward adds to them.

    They also ask for gradients then as they did before.
    """
    leaves = {id(tensor): tensor for tensor in tensors if tensor.is_leaf}
    before = [(leaf, leaf.grad, leaf.requires_grad) for leaf in leaves.values()]
    try:
        for leaf, gradient, _ in before:
            if gradient is not None:
                leaf.grad = None
        yield
    finally:
        for leaf, gradient, asks in before:
            if leaf.grad is not gradient:
                leaf.grad = gradient
            if leaf.is_leaf and leaf.requires_grad != asks:
                leaf.requires_grad_(asks)


@contextlib.contextmanager
def kept_state(model: torch.nn.Module, *, weights: bool = False) -> Iterator[None]:
    """As :func:`kept_attributes`; and whatever forward writes to buffers, and tensors in attributes, is undone.

    Args:
        model: The model.
        weights: Also what it writes to weights, of which that takes copies: a step along gradients does.
    """
    held = _held(model)
    tensors = {id(each): each for each in (*(model.parameters() if weights else ()), *model.buffers(), *_tensors(held))}
    before = [(tensor, tensor.detach().clone()) for tensor in tensors.values()]
    try:
        with kept_attributes(model, held=held):
            yield
    finally:
        with torch.no_grad():
            for tensor, values in before:
                # An expanded tensor takes no writes, nor does one of inference mode.
                if tensor.shape == values.shape and 0 not in tensor.stride() and not tensor.is_inference():
                    tensor.copy_(values)
