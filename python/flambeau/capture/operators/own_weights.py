"""Weights of which a run can compute gradients, and that it can write, as a run of PyTorch can."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.nn import Module
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree

from ...held import Held, are_same, elements_of, held_by, held_by_object, put_elements

__all__ = ["Weights", "own_weights", "registered_once", "weights_of"]

Weights = Mapping[str, torch.Tensor]


class AliasedWeightError(Exception):
    """What is written to a weight is read by another tensor."""


def weights_of(model: Module) -> Weights:
    """The weights and buffers of a model by name."""
    return {**dict(model.named_parameters(remove_duplicate=False)), **dict(model.named_buffers(remove_duplicate=False))}


@contextlib.contextmanager
def registered_once(model: Module) -> Iterator[None]:
    """While it is open, tied weights are parameters under their first names, and under others plain attributes: of parameters that share
    memory torch records no writes.
    """
    known: set[int] = set()
    before: list[tuple[Module, dict[str, Any]]] = []
    for module in model.modules():
        others = []
        for name, weight in module._parameters.items():
            if id(weight) in known and weight is not None:
                others.append(name)
            known.add(id(weight))
        if others:
            before.append((module, dict(module._parameters)))
            vars(module).update({name: module._parameters.pop(name) for name in others})
    try:
        yield
    finally:
        for module, parameters in before:
            for name in parameters.keys() - module._parameters.keys():
                vars(module).pop(name, None)
            module._parameters.update(parameters)
            for name in parameters:
                module._parameters[name] = module._parameters.pop(name)


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
    leaves = [each for each in held.tensors if each.requires_grad and each.is_leaf and id(each) not in replaced]
    aliases = _aliases(held, own, [copy for _, copy, _ in copied])
    replaced |= {id(alias): view for alias, view in aliases}
    with _put_in_place(held, {**replaced, **_copies(leaves)}), _known_elsewhere(held, replaced):
        yield own
    followed = {id(alias) for alias, _ in aliases}
    others = {each.untyped_storage()._cdata for each in held.tensors if _is_plain(each) and id(each) not in followed}
    with torch.no_grad():
        for written, copy, before in copied:
            if _value(copy) is before:
                continue
            if own[id(copy)].untyped_storage()._cdata in others:
                raise AliasedWeightError("the model writes a weight whose memory another tensor has that it holds, as weight.data does: it would be left as it was")
            written.copy_(copy)


def _is_plain(tensor: torch.Tensor) -> bool:
    return type(tensor) is torch.Tensor and tensor.layout is torch.strided


def _aliases(held: Held, own: Mapping[int, torch.Tensor], copies: Iterable[torch.Tensor]) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Tensors that have memory of a weight, as ``weight.data`` does, and what has that of its copy."""
    of_memory = {own[id(copy)].untyped_storage()._cdata: (own[id(copy)], copy) for copy in copies if own[id(copy)].is_contiguous()}
    found = []
    for alias in held.tensors:
        if not _is_plain(alias) or alias.requires_grad or alias.untyped_storage()._cdata not in of_memory:
            continue
        weight, copy = of_memory[alias.untyped_storage()._cdata]
        first = alias.storage_offset() - weight.storage_offset()
        last = first + sum((size - 1) * stride for size, stride in zip(alias.shape, alias.stride()))
        if alias.dtype == weight.dtype and alias.numel() and 0 <= first and last < weight.numel():
            whole = alias.shape == weight.shape and alias.stride() == weight.stride()  # torch takes writes to the views of this one, too
            found.append((alias, copy.detach() if whole else copy.detach().as_strided(alias.shape, alias.stride(), first)))
    return found


class _Substitution(TorchFunctionMode):
    """Calls get the others in the place of these tensors."""

    def __init__(self, replaced: Mapping[int, torch.Tensor]) -> None:
        super().__init__()
        self._replaced = replaced

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        args, kwargs = _pytree.tree_map_only(torch.Tensor, lambda each: self._replaced.get(id(each), each), (args, kwargs or {}))
        return func(*args, **kwargs)


@contextlib.contextmanager
def _known_elsewhere(held: Held, replaced: Mapping[int, torch.Tensor]) -> Iterator[None]:
    """While it is open, calls get the others also where closures and hooks hand over these tensors, or have an optimizer step along them."""
    known = {id(optimizer) for optimizer in held.optimizers}
    with contextlib.ExitStack() as stack:

        def before_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
            if id(optimizer) not in known:
                known.add(id(optimizer))
                stack.enter_context(_put_in_place(held_by_object(optimizer), replaced))

        stack.enter_context(register_optimizer_step_pre_hook(before_step))
        stack.enter_context(register_optimizer_step_pre_hook(_by_single_weights))
        stack.enter_context(_Substitution(replaced))
        yield


def _value(tensor: torch.Tensor) -> Any:
    """What the tensor is now, which is another one as soon as something was written to it: not all writes count as versions."""
    inner = getattr(tensor, "elem", None)
    if inner is None:
        return None
    torch._sync(inner)  # type: ignore[attr-defined,no-untyped-call]
    return torch._from_functional_tensor(inner)


def _by_single_weights(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    """Have the optimizer step weight by weight: of fused steps, and some of whole lists, torch knows no shapes."""
    for group in optimizer.param_groups:
        group |= {name: False for name in ("foreach", "fused") if group.get(name)}


def _copies(tensors: Iterable[torch.Tensor]) -> dict[int, torch.Tensor]:
    """By the identity of the tensor, copies that are leaves as it is."""
    copy: Any = torch.ops.aten.lift_fresh_copy.default
    return {id(each): copy(each.detach()).requires_grad_() if each.requires_grad else copy(each) for each in tensors if type(each) is torch.Tensor}


@contextlib.contextmanager
def _put_in_place(held: Held, replaced: Mapping[int, torch.Tensor]) -> Iterator[None]:
    """While it is open, attributes, and the lists and dicts in them, hold the others in the place of these tensors.

    What a run puts into lists and dicts, as an optimizer its state, is taken out again, and what it writes to that state is written to
    copies.
    """
    states = [each for optimizer in held.optimizers for state in optimizer.state.values() for each in state.values()]
    replaced = {**replaced, **_copies(states)}
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
    if all(one is other for one, other in zip(renewed, value)):
        return value
    return type(value)._make(renewed) if hasattr(value, "_make") else type(value)(renewed)
