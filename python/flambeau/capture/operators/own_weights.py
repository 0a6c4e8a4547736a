"""Weights of which a run can compute gradients, and that it can write, as a run of PyTorch can."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.nn import Module

from ...held import Held, are_same, elements_of, held_by, put_elements

__all__ = ["Weights", "own_weights", "weights_of"]

Weights = Mapping[str, torch.Tensor]


class AliasedWeightError(Exception):
    """What is written to a weight is read by another tensor."""


def weights_of(model: Module) -> Weights:
    """The weights and buffers of a model by name."""
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


@contextlib.contextmanager
def own_weights(model: Module, weights: Weights) -> Iterator[dict[int, torch.Tensor]]:
    """While it is open, the model has copies of its weights: leaves that are written, and get gradients, like those of a run.

    A capture records what is computed of stand-ins, which are inputs of the program: they are no leaves, and lists, optimizers and hooks
    know only the weights themselves. What was written to copies is written to the stand-ins in the end.

    Args:
        model: The model, with what stands in for its weights and buffers.
        weights: The weights and buffers themselves.

    Yields:
        The weights by the identity of the copy.
    """
    replaced: dict[int, torch.Tensor] = {id(weights[name]): buffer for name, buffer in model.named_buffers(remove_duplicate=False) if name in weights}
    own: dict[int, torch.Tensor] = {}
    copied: list[tuple[torch.Tensor, torch.Tensor, Any]] = []
    for name, stand_in in model.named_parameters(remove_duplicate=False):
        weight: torch.Tensor = weights.get(name, stand_in)
        if id(weight) not in replaced:  # under another name
            replaced[id(weight)] = copy = stand_in.detach().clone().requires_grad_(stand_in.requires_grad)
            copy._is_param = True  # what makes it an nn.Parameter to isinstance
            own[id(copy)] = weight
            copied.append((stand_in, copy, _value(copy)))
            for hook in (weight._backward_hooks or {}).values() if copy.requires_grad else ():
                copy.register_hook(hook)  # type: ignore[no-untyped-call]
        replaced[id(stand_in)] = replaced[id(weight)]
    held = held_by(model)
    with _put_in_place(held, replaced):
        yield own
    others = {each.untyped_storage()._cdata for each in held.tensors if type(each) is torch.Tensor and each.layout is torch.strided}
    with torch.no_grad():
        for written, copy, before in copied:
            if _value(copy) is before:
                continue
            if own[id(copy)].untyped_storage()._cdata in others:
                raise AliasedWeightError("the model writes a weight whose memory another tensor has that it holds, as weight.data does: it would be left as it was")
            written.copy_(copy)


def _value(tensor: torch.Tensor) -> Any:
    """What the tensor is now, which is another one as soon as something was written to it: not all writes count as versions."""
    inner = getattr(tensor, "elem", None)
    if inner is None:
        return None
    torch._sync(inner)  # type: ignore[attr-defined,no-untyped-call]
    return torch._from_functional_tensor(inner)


@contextlib.contextmanager
def _put_in_place(held: Held, replaced: Mapping[int, torch.Tensor]) -> Iterator[None]:
    """While it is open, attributes, and the lists and dicts in them, hold the others in the place of these tensors.

    What a run puts into lists and dicts, as an optimizer its state, is taken out again, and what it writes to that state, and to tensors
    that get gradients and are no weights, is written to copies.
    """
    states = [each for optimizer in held.optimizers for state in optimizer.state.values() for each in state.values()]
    leaves = [each for each in held.tensors if each.requires_grad and each.is_leaf and id(each) not in replaced]
    copies = {id(each): torch.ops.aten.lift_fresh_copy.default(each) for each in states if type(each) is torch.Tensor}
    copies |= {id(each): torch.ops.aten.lift_fresh_copy.default(each.detach()).requires_grad_() for each in leaves if type(each) is torch.Tensor}
    replaced = {**replaced, **copies}
    changed = [
        (attributes, name, value)
        for attributes, elements in held.attributes
        for name, value in zip(elements, elements[len(elements) // 2 :])
        if _renewed(value, replaced) is not value
    ]
    try:
        for container, elements in held.containers:
            _put(container, [_renewed(each, replaced) for each in elements])
        for attributes, name, value in changed:
            attributes[name] = _renewed(value, replaced)
        yield
    finally:
        for attributes, name, value in changed:
            attributes[name] = value
        for container, elements in reversed(held.containers):
            _put(container, elements)


def _put(container: Any, elements: list[Any]) -> None:
    if not are_same(elements_of(container), elements):
        put_elements(container, elements)


def _renewed(value: Any, replaced: Mapping[int, torch.Tensor]) -> Any:
    if not isinstance(value, (tuple, frozenset)):
        return replaced.get(id(value), value)
    renewed = [_renewed(each, replaced) for each in value]
    if are_same(renewed, list(value)):
        return value
    return type(value)._make(renewed) if hasattr(value, "_make") else type(value)(renewed)
