"""Running or capturing a module without a trace of it."""

from __future__ import annotations

import collections
import contextlib
import copy
import sys
from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["attributes_within", "kept_attributes", "kept_state"]

_MOST_OBJECTS = 4096
"""That are looked through; what holds more is no part of a model."""
_NAMESPACES = ("argparse", "types")
"""Of Python's library, where objects of models may be from."""

_CONTAINERS = (collections.OrderedDict, collections.defaultdict, collections.deque, dict, list, set)


def _is_as(value: Any, before: Any) -> bool:
    """Whether a container has the same elements, not only equal ones."""
    return len(value) == len(before) and (
        all(key in value and value[key] is each for key, each in before.items())
        if isinstance(before, dict)
        else all(one is other for one, other in zip(value, before))
    )


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


@contextlib.contextmanager
def kept_attributes(model: torch.nn.Module) -> Iterator[None]:
    """Whatever forward assigns to the attributes of its modules, and of the objects that these hold, or puts into the lists and dicts of
    modules: a table of which a capture knows no numbers, or a size of the example's.
    """
    own = [vars(module) for module in model.modules()]
    containers = {id(value): value for place in own for value in place.values() if type(value) in _CONTAINERS}
    containers |= {id(place): place for place in attributes_within(model)}
    before = [(value, copy.copy(value)) for value in containers.values()]
    try:
        with _kept_gradients(model):
            yield
    finally:
        for value, elements in before:
            if not _is_as(value, elements):
                value.clear()
                (value.extend if isinstance(value, (list, collections.deque)) else value.update)(elements)


@contextlib.contextmanager
def _kept_gradients(model: torch.nn.Module) -> Iterator[None]:
    """Weights have no gradients while it is open, and afterwards those that they had: ``loss.backward()`` in forward adds to them."""
    before = [(weight, weight.grad) for weight in model.parameters() if weight.is_leaf]
    try:
        for weight, gradient in before:
            if gradient is not None:
                weight.grad = None
        yield
    finally:
        for weight, gradient in before:
            if weight.grad is not gradient:
                weight.grad = gradient


@contextlib.contextmanager
def kept_state(model: torch.nn.Module, *, weights: bool = False) -> Iterator[None]:
    """As :func:`kept_attributes`; and whatever forward writes to buffers, and tensors in attributes, is undone.

    Args:
        model: The model.
        weights: Also what it writes to weights, of which that takes copies.
    """
    tensors = [*(model.parameters() if weights else ()), *model.buffers(), *(value for place in attributes_within(model) for value in place.values() if isinstance(value, torch.Tensor))]
    before = [(tensor, tensor.detach().clone()) for tensor in tensors]
    try:
        with kept_attributes(model):
            yield
    finally:
        with torch.no_grad():
            for tensor, values in before:
                # An expanded tensor takes no writes, nor does one of inference mode.
                if tensor.shape == values.shape and 0 not in tensor.stride() and not tensor.is_inference():
                    tensor.copy_(values)
