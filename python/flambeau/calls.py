"""How a converted model is called: from the arguments of ``forward`` to the values of the model's inputs."""

from __future__ import annotations

import dataclasses
import enum
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree

from .capture import one_capture_at_a_time
from .errors import warn
from .pytrees import children

__all__ = ["FORWARD", "CapturedCall", "captured_call", "expect_constant", "expect_default", "forward_of", "in_captured_order", "named_arguments", "with_distinct_tensors"]

FORWARD = "flambeau_forward"
"""Where the graph of an ExportedProgram keeps the signature of the module's ``forward``: what torch keeps has no order of keywords."""

Arguments = Mapping[str, Any]
_SIMPLE = (bool, int, float, complex, str, enum.Enum, type(None))


@dataclasses.dataclass(frozen=True)
class _Argument:
    """One argument of the capture: how it is nested, which of its leaves are inputs of the model, and what the others are (None for an input)."""

    spec: Any
    inputs: Sequence[bool]
    constants: Sequence[Any]


@dataclasses.dataclass(frozen=True)
class CapturedCall:
    """What a program was captured with, where no ExportedProgram says so.

    Attributes:
        signature: Of ``forward``.
        arguments: By name, in the order of the model's inputs.
    """

    signature: inspect.Signature
    arguments: Mapping[str, _Argument]

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any], count: int) -> list[Any]:
        """The values of the model's inputs, in order: what the capture made constant is left out.

        Args:
            count: How many inputs the model has: as many values without names may be these themselves.

        Raises:
            TypeError: ``forward`` does not take the arguments, or they are nested otherwise than the captured ones.
        """
        try:
            return self._bound(args, kwargs)
        except TypeError:
            captured = sum(sum(argument.inputs) for argument in self.arguments.values())
            if not kwargs and len(args) in (captured, count) and all(_is_value(value) for value in args):
                return list(args)
            if not kwargs and args and isinstance(args[-1], dict) and args[-1].keys() <= self.arguments.keys():
                return self._bound(args[:-1], args[-1])  # as exports take it
            raise

    def _bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        given = named_arguments(self.signature, args, kwargs)
        for name, value in given.items():
            if name in self.arguments:
                continue
            if any(map(_is_tensor, _pytree.tree_leaves(value))) and not isinstance(value, np.generic):
                raise TypeError(f"the model was captured without the argument '{name}'")
            if name in self.signature.parameters:
                expect_constant(name, self.signature.parameters[name].default, value)
        values: list[Any] = []
        for name, argument in self.arguments.items():
            if name in given:
                values += _input_leaves(name, argument, given[name])
            elif any(argument.inputs):
                raise TypeError(f"missing a required argument: '{name}'")
            else:
                expect_default(self.signature, name, argument.constants)
        return values


def forward_of(model: torch.nn.Module) -> inspect.Signature:
    """What ``forward`` takes: names and kinds of parameters, and defaults that are numbers or text; others may be anything."""
    parameters = inspect.signature(model.forward).parameters.values()
    return inspect.Signature([each.replace(annotation=each.empty, default=_simple(each.default)) for each in parameters])


def _simple(default: Any) -> Any:
    return default if default is inspect.Parameter.empty or isinstance(default, _SIMPLE) else Ellipsis


def captured_call(signature: inspect.Signature, arguments: Arguments) -> CapturedCall:
    """The call of a capture that makes inputs of the tensors, and constants of everything else.

    Args:
        signature: Of ``forward``; its defaults are what is constant of arguments without an example.
        arguments: The examples by name, in the order of the model's inputs.
    """
    described = {}
    for name, value in arguments.items():
        leaves, spec = _pytree.tree_flatten(value)
        inputs = [isinstance(leaf, torch.Tensor) for leaf in leaves]
        described[name] = _Argument(spec, inputs, [None if is_input else leaf for is_input, leaf in zip(inputs, leaves)])
    return CapturedCall(signature, described)


def named_arguments(signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments by name, in the order of the signature; ``*args`` is one tuple, what ``**`` takes is last.

    Raises:
        TypeError: The signature has no such argument, or one is given twice.
    """
    bound = dict(signature.bind_partial(*args, **kwargs).arguments)
    rest = next((name for name, each in signature.parameters.items() if each.kind is each.VAR_KEYWORD), None)
    return bound | bound.pop(rest, {})


def in_captured_order(value: Any, spec: Any) -> Any:
    """The same arguments with the entries of dicts in the order of the captured ones, where these have the same keys."""
    if spec.is_leaf():
        return value
    inside = children(spec)
    if type(value) is spec.type and isinstance(value, dict) and isinstance(spec.context, list):
        if value.keys() != set(spec.context):
            return value
        return type(value)((key, in_captured_order(value[key], child)) for key, child in zip(spec.context, inside))
    if type(value) in (list, tuple) and len(value) == len(inside):
        return type(value)(map(in_captured_order, value, inside))
    return value


def with_distinct_tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with copies of a tensor that is given again: a capture would make one input of the two, which a caller may give apart."""
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    seen: dict[int, int] = {}
    again = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and seen.setdefault(id(leaf), i) != i]
    if not again:
        return args, kwargs
    for i in again:
        leaves[i] = leaves[i].detach().clone().requires_grad_(leaves[i].requires_grad)
    with one_capture_at_a_time():
        return _pytree.tree_unflatten(leaves, spec)  # type: ignore[no-any-return]


def expect_constant(name: str, captured: Any, given: Any) -> None:
    """Tell of a value that the model does not look at, as the capture made a constant of the argument: a warning if it is another one.

    Raises:
        TypeError: It is a tensor, which the model has no input for.
    """
    if isinstance(given, np.generic):
        given = given.item()
    if _is_tensor(given):
        raise TypeError(f"the argument '{name}' holds a tensor that is a constant of the model, as it was captured")
    both = (captured, given)
    if all(isinstance(value, _SIMPLE) for value in both) and given != captured and not all(value != value for value in both):
        warn(f"the argument '{name}' is {captured!r} in this model, as it was captured; {given!r} is not looked at")


def expect_default(signature: inspect.Signature, name: str, captured: Sequence[Any]) -> None:
    """The same of an argument that is left out, of which ``forward`` has a default: `captured` are its leaves."""
    default = signature.parameters[name].default if name in signature.parameters else inspect.Parameter.empty
    # A None says in most models that something else decides.
    if default is not inspect.Parameter.empty and default is not None and len(captured) == 1:
        expect_constant(name, captured[0], default)


def _is_tensor(value: Any) -> bool:
    """Whether the value can only be one of an input."""
    return isinstance(value, torch.Tensor) or hasattr(value, "__array__")


def _is_value(value: Any) -> bool:
    return _is_tensor(value) or isinstance(value, (bool, int, float, complex))


def _is_nested_like(spec: Any, captured: Any) -> bool:
    """Whether leaves are at the same places; what containers hold beside them does not matter, but for the keys of dicts."""
    if spec.is_leaf() or captured.is_leaf():
        return spec.is_leaf() and captured.is_leaf()
    if spec.num_children != captured.num_children:
        return False
    sequences = {spec.type, captured.type} <= {list, tuple}
    if not sequences and spec.type is not captured.type:
        return False
    if isinstance(spec.type, type) and issubclass(spec.type, dict) and spec.context != captured.context:
        return False
    return all(map(_is_nested_like, children(spec), children(captured)))


def _input_leaves(name: str, argument: _Argument, value: Any) -> list[Any]:
    leaves, spec = _pytree.tree_flatten(in_captured_order(value, argument.spec))
    if not _is_nested_like(spec, argument.spec):
        if not any(argument.inputs) and not any(map(_is_tensor, leaves)):
            return []  # what a constant is besides its leaves, the model does not say
        raise TypeError(f"the argument '{name}' is nested as {spec}; the model was captured with {argument.spec}")
    values = []
    for leaf, is_input, constant in zip(leaves, argument.inputs, argument.constants, strict=True):
        if is_input and not _is_value(leaf):
            raise TypeError(f"the argument '{name}' holds {leaf!r} where the model was captured with a tensor or number")
        if is_input:
            values.append(leaf)
        else:
            expect_constant(name, constant, leaf)
    return values
