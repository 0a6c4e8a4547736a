"""Running or capturing a module without a trace of it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from .held import Held, are_same, elements_of, held_by, put_elements

__all__ = ["kept_attributes", "kept_state"]


@contextlib.contextmanager
def kept_attributes(model: torch.nn.Module, given: Any = (), held: Held | None = None) -> Iterator[None]:
    """Whatever forward assigns to the attributes of its modules, and of the objects that these hold, or puts into the lists and dicts of
    modules: a table of which a capture knows no numbers, or a size of the example's. And what it writes to tensors in these, and does to
    gradients, also those of what it is given.

    Args:
        held: What the model holds, where that was looked up already.
    """
    held = held or held_by(model)
    registered = {id(each) for each in (*model.parameters(), *model.buffers())}
    tensors = [*model.parameters(), *model.buffers(), *held.tensors, *(each for each in _pytree.tree_leaves(given) if isinstance(each, torch.Tensor))]
    try:
        with _kept_gradients(tensors), _kept_values([each for each in held.tensors if id(each) not in registered]), _kept_scripts(model):
            yield
    finally:
        for container, elements in (*held.attributes, *held.containers):
            if not are_same(elements_of(container), elements):
                put_elements(container, elements)


@contextlib.contextmanager
def _kept_values(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """What is written to the tensors while it is open is undone."""
    before = [(tensor, tensor._version, tensor.detach().clone()) for tensor in tensors if _takes_writes(tensor)]
    try:
        yield
    finally:
        with torch.no_grad():
            for tensor, version, values in before:
                if tensor.shape == values.shape and not (tensor._version == version and _holds(tensor, values)):
                    tensor.copy_(values)


@contextlib.contextmanager
def _kept_scripts(model: torch.nn.Module) -> Iterator[None]:
    """What scripts assign to attributes of their modules, or do to lists, dicts and tensors in these: Python does not hold them."""
    scripts = [module._c for module in model.modules() if isinstance(module, torch.jit.ScriptModule)]
    named = [(script, name) for script in scripts for name in torch._C.ConcreteModuleType.from_jit_type(script._type()).get_attributes()]
    before = [(script, name, script.getattr(name)) for script, name in named]
    in_containers = (leaf for _, _, value in before if not isinstance(value, torch.Tensor) for leaf in _pytree.tree_leaves(value))
    try:
        with _kept_values({id(each): each for each in in_containers if isinstance(each, torch.Tensor)}.values()):
            yield
    finally:
        for script, name, value in before:
            if not _is_still(script.getattr(name), value):
                script.setattr(name, value)


def _is_still(value: Any, before: Any) -> bool:
    """Whether an attribute of a script, which is a copy where it is no tensor, holds the same."""
    leaves, structure = _pytree.tree_flatten(value)
    others, of_others = _pytree.tree_flatten(before)
    tensors = torch.Tensor
    return structure == of_others and all(a is b if isinstance(a, tensors) or isinstance(b, tensors) else a == b for a, b in zip(leaves, others))


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
def kept_state(model: torch.nn.Module, held: Held | None = None) -> Iterator[None]:
    """As :func:`kept_attributes`; and whatever forward writes to buffers is undone.

    So is what it writes to weights once it has asked for gradients: steps along these do.
    """
    engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    weights: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = []

    def run(*args: Any, **kwargs: Any) -> Any:
        if not weights:
            weights.extend((weight, weight.data, weight.detach().clone()) for weight in model.parameters())
        return engine(*args, **kwargs)

    torch.autograd._engine_run_backward = run  # type: ignore[attr-defined]
    try:
        with kept_attributes(model, held=held), _kept_values({id(each): each for each in (*model.buffers(), *_written_weights(model))}.values()):
            yield
    finally:
        torch.autograd._engine_run_backward = engine  # type: ignore[attr-defined]
        with torch.no_grad():
            for weight, data, values in weights:
                weight.data = data
                weight.copy_(values)


def _written_weights(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Those that a captured program writes."""
    for node in model.graph.nodes if isinstance(model, torch.fx.GraphModule) else ():
        if node.target is torch.ops.aten.copy_.default and node.args[0].op == "get_attr":
            written: Any = functools.reduce(getattr, node.args[0].target.split("."), model)
            yield written


def _holds(tensor: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether nothing has to be written to it: it may lie in a file that is only read."""
    try:
        return torch.equal(tensor, values)
    except (NotImplementedError, RuntimeError):  # of a tensor without numbers
        return False


def _takes_writes(tensor: torch.Tensor) -> bool:
    """Not an expanded one, nor one of inference mode."""
    try:
        return 0 not in tensor.stride() and not tensor.is_inference()
    except RuntimeError:  # a sparse or nested one
        return False
