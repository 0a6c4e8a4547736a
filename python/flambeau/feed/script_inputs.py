"""What TorchScript programs are given: their arguments by name, and what the engine is told of each."""

from __future__ import annotations

import enum
import inspect
import keyword
import reprlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.nn.utils.rnn import PackedSequence
from torch.utils import _pytree

from .. import _engine
from ..errors import CaptureError
from . import enums
from .exported_program import DTYPES
from .script_graph import tensor_constant

__all__ = [
    "SCRIPTS",
    "Dims",
    "Script",
    "describe",
    "describe_inputs",
    "example_arguments",
    "has_numbers",
    "holds_packed_weights",
    "mark_numbers",
    "mark_stand_ins",
    "method_of",
    "module_of",
    "numbers_as_tensors",
    "script_arguments",
    "script_numbers_as_tensors",
    "script_parameters",
    "script_signature",
    "takes_packed",
    "tensor_input",
]

SCRIPTS = (torch.jit.ScriptModule, torch.jit.ScriptFunction, torch._C.ScriptMethod)
Script = torch.jit.ScriptModule | torch.jit.ScriptFunction | torch._C.ScriptMethod
"""A TorchScript program: a module's forward, a function, another method of a module."""

Dims = Mapping[int, str]
"""Names of a tensor's dynamic dimensions."""


def takes_packed(args: Sequence[Any]) -> bool:
    """Whether a PackedSequence is among the arguments."""
    return any(isinstance(value, PackedSequence) for value in args)


def method_of(model: Script, packed: bool) -> Any:
    """What a call runs: a module of torch's that is scripted alone may have a forward for tensors, and one for packed ones."""
    if not isinstance(model, torch.jit.ScriptModule):
        return model
    if hasattr(model, "forward"):
        return model.forward
    methods = [model._c._get_method(name) for name in model._c._method_names() if name.startswith("forward__")]
    for method in methods:
        if any("PackedSequence" in str(argument.type) for argument in method.schema.arguments) == packed:
            return method
    raise CaptureError(f"{model.original_name} has no 'forward' for these arguments")


def module_of(model: Script) -> torch.jit.ScriptModule | None:
    """The module whose state the program reads; functions have none."""
    if isinstance(model, torch._C.ScriptMethod):
        return torch.jit._recursive.wrap_cpp_module(model.owner)
    return model if isinstance(model, torch.jit.ScriptModule) else None


def script_parameters(model: Script, packed: bool = False) -> list[str]:
    """Names of the program's inputs."""
    return [argument.name for argument in _formal_arguments(model, packed)]


def _formal_arguments(model: Script, packed: bool) -> list[Any]:
    if isinstance(model, torch.jit.ScriptFunction):
        return list(model.schema.arguments)
    return method_of(model, packed).schema.arguments[1:]  # the first is the module, whatever it is called


def holds_packed_weights(model: torch.nn.Module) -> bool:
    """Whether modules keep weights in objects of C++, as quantized ones do: torch.export cannot see into these."""
    return any(isinstance(value, torch.ScriptObject) for module in model.modules() for value in vars(module).values())


def script_arguments(
    model: Script, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> dict[str, Any]:
    """Example arguments by the names of the program's inputs.

    Raises:
        TypeError: The program does not take these.
    """
    names = script_parameters(model, takes_packed(args))
    if len(args) > len(names):
        raise TypeError(f"the program takes {len(names)} arguments, {len(args)} are given")
    if unknown := [name for name in kwargs if name not in names]:
        raise TypeError(f"the program has no argument '{unknown[0]}'; it has {', '.join(names)}")
    given = dict(zip(names, args))
    if twice := [name for name in kwargs if name in given]:
        raise TypeError(f"the argument '{twice[0]}' is given twice, by position and by name")
    given |= kwargs
    return {name: given[name] for name in names if name in given}


def script_signature(model: Script, packed: bool = False) -> inspect.Signature:
    """What a call of the program takes."""
    parameters, kind = [], inspect.Parameter.POSITIONAL_OR_KEYWORD
    for i, argument in enumerate(_formal_arguments(model, packed)):
        name = argument.name if argument.name.isidentifier() and not keyword.iskeyword(argument.name) else f"argument_{i}"
        kind = inspect.Parameter.KEYWORD_ONLY if argument.kwarg_only else kind
        default = argument.default_value if argument.has_default_value() else inspect.Parameter.empty
        parameters.append(inspect.Parameter(name, kind, default=default))
    return inspect.Signature(parameters)


def example_arguments(model: Script, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any] | None:
    """The same in order, where each is given: what the program can be run with."""
    given = script_arguments(model, args, kwargs)
    names = script_parameters(model)
    return [given[name] for name in names] if given.keys() == set(names) else None


_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64}


def has_numbers(args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return any(type(leaf) in _NUMBERS for leaf in _pytree.tree_leaves((args, kwargs)))


def numbers_as_tensors(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with 0-d tensors in place of numbers, as torch.onnx traces with them."""

    def as_tensor(leaf: Any) -> Any:
        dtype = _NUMBERS.get(type(leaf))
        return leaf if dtype is None else torch.tensor(leaf, dtype=dtype)

    return _pytree.tree_map(as_tensor, (tuple(args), dict(kwargs)))


def script_numbers_as_tensors(
    model: Script, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments with 0-d tensors in place of the numbers that the program is given, as such or in tuples."""
    formal = _formal_arguments(model, takes_packed(args))

    def as_tensor(type_: Any, value: Any) -> Any:
        if isinstance(type_, torch._C.OptionalType):
            type_ = type_.getElementType()
        if isinstance(value, tuple) and isinstance(type_, torch._C.TupleType):
            elements = map(as_tensor, type_.elements(), value)
            return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
        if type(value) not in _NUMBERS:
            return value
        return torch.tensor(value, dtype=torch.float64 if str(type_) == "float" else _NUMBERS[type(value)])

    types: list[Any] = [argument.type for argument in formal]
    by_name = {argument.name: argument.type for argument in formal}
    given = [as_tensor(type_, value) for type_, value in zip([*types, *[None] * len(args)], args)]
    return tuple(given), {name: as_tensor(by_name.get(name), value) for name, value in kwargs.items()}


def mark_numbers(
    inputs: Sequence[_engine.ScriptInput], model: Script, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Say of the inputs which are numbers: a program may take tensors in their place."""
    given = script_arguments(model, args, kwargs)
    for described, name in zip(inputs, script_parameters(model, takes_packed(args))):
        described.number = type(given.get(name)) in _NUMBERS


def mark_stand_ins(inputs: Sequence[_engine.ScriptInput], arguments: Mapping[str, Any]) -> None:
    """Say of the inputs of a trace which stand for numbers, as which PyTorch promotes them.

    Args:
        arguments: What the trace was given :func:`numbers_as_tensors` of, by the names of ``forward``.
    """
    leaves = [leaf for leaf in _pytree.tree_leaves(list(arguments.values())) if isinstance(leaf, torch.Tensor) or type(leaf) in _NUMBERS]
    for described, leaf in zip(inputs, leaves, strict=True):
        described.number = type(leaf) in _NUMBERS


def tensor_input(tensor: torch.Tensor, dims: Dims, name: str = "") -> _engine.ScriptInput:
    """An input like this tensor, of which some dimensions are dynamic."""
    captured = [int(size) for size in tensor.shape]
    sizes = [dims.get(axis, size) for axis, size in enumerate(captured)]
    return _engine.ScriptInput.tensor(DTYPES[tensor.dtype], sizes, name, captured)


def describe(value: Any, of_tensor: Callable[[torch.Tensor], _engine.ScriptInput] | None = None) -> _engine.ScriptInput:
    """An input like this value: a tensor, what is made of tensors, a constant.

    Args:
        of_tensor: Describes the tensors; by default their sizes are static.
    """
    of_tensor = of_tensor or (lambda tensor: tensor_input(tensor, {}))
    if isinstance(value, torch.Tensor):
        return of_tensor(value)
    if isinstance(value, (list, tuple)):
        kind = "list" if isinstance(value, list) else "tuple"
        return _engine.ScriptInput.container(kind, [describe(element, of_tensor) for element in value], [])
    if isinstance(value, dict):
        return _engine.ScriptInput.container("dict", [describe(entry, of_tensor) for entry in value.values()], list(value))
    if isinstance(value, enum.Enum):
        return _engine.ScriptInput.constant(enums.member(value, value.value))
    return _engine.ScriptInput.constant(value)


def _left_out(name: str, default: Any) -> _engine.ScriptInput:
    """What the program has where it is given nothing: constant, tensors too."""
    return describe(default, lambda tensor: _engine.ScriptInput.constant(tensor_constant(tensor, name)))


def describe_inputs(
    model: Script,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    dims: Mapping[int, Dims] | None = None,
) -> list[_engine.ScriptInput]:
    """What example arguments say of the program's inputs, in its order.

    Args:
        dims: Names of dynamic dimensions, by position among the input tensors.
    """
    formal = _formal_arguments(model, takes_packed(args))
    position = iter(range(1 << 30))

    def of_tensor(tensor: torch.Tensor) -> _engine.ScriptInput:
        return tensor_input(tensor, (dims or {}).get(next(position), {}))

    def like(name: str, value: Any) -> _engine.ScriptInput:
        try:
            return describe(value, of_tensor)
        except TypeError as error:  # it holds what no constant is
            raise TypeError(f"the argument '{name}' is {reprlib.repr(value)}, of a type that TorchScript does not have") from error

    described = []
    for i, argument in enumerate(formal):
        if i < len(args):
            described.append(like(argument.name, args[i]))
        elif argument.name in kwargs:
            described.append(like(argument.name, kwargs[argument.name]))
        elif argument.has_default_value():
            described.append(_left_out(argument.name, argument.default_value))
        else:
            raise CaptureError(f"the example arguments lack '{argument.name}'")
    return described
