"""Weights of which a run can compute gradients, and that it can write, as a run of PyTorch can."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from ...state import are_same, attributes_within, containers_within, elements_of, put_elements

__all__ = ["own_weights"]


@contextlib.contextmanager
def own_weights(model: torch.nn.Module, weights: Mapping[str, torch.Tensor]) -> Iterator[dict[int, torch.Tensor]]:
    """While it is open, the model has copies of its weights: leaves that are written, and get gradients, like those of a run.

    A capture records what is computed of stand-ins, which are inputs of the program: they are no leaves, and lists, optimizers and hooks
    know only the weights themselves. What was written to copies is written to the stand-ins in the end.

    Args:
        model: The model, with what stands in for its weights.
        weights: The weights themselves, by name.

    Yields:
        The weights by the identity of the copy.
    """
    copies: dict[int, torch.Tensor] = {}
    own: dict[int, torch.Tensor] = {}
    stand_ins = list(model.named_parameters(remove_duplicate=False))
    for name, stand_in in stand_ins:
        weight = weights.get(name, stand_in)
        if id(weight) not in copies:  # under another name
            copies[id(weight)] = copy = stand_in.detach().clone().requires_grad_(stand_in.requires_grad)
            copy._is_param = True  # what makes it an nn.Parameter to isinstance
            own[id(copy)] = weight
            for hook in (weight._backward_hooks or {}).values() if copy.requires_grad else ():
                copy.register_hook(hook)  # type: ignore[no-untyped-call]
        copies[id(stand_in)] = copies[id(weight)]
    with _replaced(model, copies):
        yield own
    with torch.no_grad():
        for _, stand_in in stand_ins:
            if copies[id(stand_in)]._version:
                stand_in.copy_(copies[id(stand_in)])


@contextlib.contextmanager
def _replaced(model: torch.nn.Module, copies: Mapping[int, torch.Tensor]) -> Iterator[None]:
    """While it is open, the attributes of the model, and the lists and dicts in them, hold the copies in the place of these tensors.

    What a run puts into the lists and dicts, as an optimizer its state, is taken out again, and what it writes to tensors in them is
    written to copies.
    """
    before = [(container, elements_of(container)) for container in containers_within(model)]
    others = [each for _, elements in before for each in elements if type(each) is torch.Tensor]
    copies = {**copies, **{id(each): torch.ops.aten.lift_fresh_copy.default(each) for each in others}}
    held = [(place, name, value) for place in attributes_within(model) for name, value in place.items() if _renewed(value, copies) is not value]
    try:
        for container, elements in before:
            _put(container, [_renewed(each, copies) for each in elements])
        for place, name, value in held:
            place[name] = _renewed(value, copies)
        yield
    finally:
        for place, name, value in held:
            place[name] = value
        for container, elements in reversed(before):
            _put(container, elements)


def _put(container: Any, elements: list[Any]) -> None:
    if not are_same(elements_of(container), elements):
        put_elements(container, elements)


def _renewed(value: Any, copies: Mapping[int, torch.Tensor]) -> Any:
    if not isinstance(value, tuple):
        return copies.get(id(value), value)
    renewed = [_renewed(each, copies) for each in value]
    if are_same(renewed, list(value)):
        return value
    return type(value)._make(renewed) if hasattr(value, "_make") else tuple(renewed)
