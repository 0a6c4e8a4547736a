"""TorchScript that a traced model calls with its sizes, which torch's tracer would hand on as the numbers that the example has."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from ..replaced_functions import Replacements
from .floats import exact
from .sizes import number_of_sizes

__all__ = ["sizes_in_script_calls"]

_AS_NUMBER = {"BoolType": "aten::Bool", "FloatType": "aten::Float", "IntType": "aten::Int", "NumberType": "aten::ScalarImplicit"}
_TAKES = {"BoolType": (bool,), "FloatType": (int, float), "IntType": (int,), "NumberType": (int, float)}


class _NoFormError(Exception):
    """An argument whose declared type does not say how its sizes become numbers."""


def _has_sizes(argument: Any) -> bool:
    return any(isinstance(leaf, torch.Tensor) and number_of_sizes(leaf) is not None for leaf in _pytree.tree_leaves(argument))


class _OfTensors:
    """A script, as one whose numbers that are sizes are tensors: those the tracer records."""

    def __init__(self, script: Any) -> None:
        self.graph = script.graph.copy()
        self.graph.setInsertPoint(next(iter(self.graph.nodes()), self.graph.return_node()))
        self.added: list[torch.Tensor] = []  # the arguments for the inputs that it has beyond those of the script

    def _input(self, tensor: torch.Tensor) -> Any:
        self.added.append(tensor)
        return self.graph.addInput().setType(torch._C.TensorType.get())

    def _made(self, kind: str, operands: Sequence[Any], declared: Any) -> Any:
        return self.graph.insertNode(self.graph.create(kind, list(operands))).output().setType(declared)

    def value(self, argument: Any, declared: Any) -> Any:
        """The argument, as what is computed of inputs."""
        while declared.kind() == "OptionalType" and argument is not None:
            declared = declared.getElementType()
        kind = declared.kind()
        if isinstance(argument, torch.Tensor):
            number = None if kind == "TensorType" else number_of_sizes(argument)
            if kind != "TensorType" and number not in _TAKES.get(kind, ()):
                raise _NoFormError
            return self._input(argument) if number is None else self._made(_AS_NUMBER[kind], [self._input(exact(argument))], declared)
        if not _has_sizes(argument):
            return self.graph.insertConstant(argument)
        if isinstance(argument, (list, tuple)) and kind == "ListType":
            return self._made("prim::ListConstruct", [self.value(each, declared.getElementType()) for each in argument], declared)
        if isinstance(argument, tuple) and kind == "TupleType":
            return self._made("prim::TupleConstruct", map(self.value, argument, declared.elements()), declared)
        if isinstance(argument, dict) and kind == "DictType":
            types = (declared.getKeyType(), declared.getValueType())
            return self._made("prim::DictConstruct", [self.value(*each) for pair in argument.items() for each in zip(pair, types)], declared)
        raise _NoFormError

    def take(self, at: int, value: Any) -> None:
        """Have it computed what the script has as an input."""
        next(each for i, each in enumerate(self.graph.inputs()) if i == at).replaceAllUsesWith(value)
        self.graph.eraseInput(at)


def _bound(script: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[Any, Any]] | None:
    """Each argument, and its declared type; None if these are not what the script takes."""
    declared = script.schema.arguments
    owner = [script.owner] if isinstance(script, torch._C.ScriptMethod) else []
    given = dict(zip((each.name for each in declared), (*owner, *args), strict=False)) | kwargs
    if len(owner) + len(args) + len(kwargs) != len(given) or given.keys() - {each.name for each in declared}:
        return None
    if any(each.name not in given and not each.has_default_value() for each in declared):
        return None
    return [(given[each.name] if each.name in given else each.default_value, each.type) for each in declared]


def _following(own: Callable[..., Any], call_function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(script: Any, *args: Any, **kwargs: Any) -> Any:
        if torch._C._get_tracing_state() is None or not _has_sizes((args, kwargs)):
            return own(script, *args, **kwargs)
        bound = _bound(script, args, kwargs)
        if bound is None:
            return own(script, *args, **kwargs)  # says what is wrong
        of_tensors, kept = _OfTensors(script), []
        for argument, declared in bound:
            if declared.kind() == "TensorType" or not _has_sizes(argument):
                kept.append(argument)
                continue
            try:
                of_tensors.take(len(kept), of_tensors.value(argument, declared))
            except _NoFormError:
                kept.append(argument)
        # Where torch keeps what it traces: the recorded call does not keep the function alive.
        function = torch.jit._state._python_cu.create_function(script.name, of_tensors.graph, True)
        return call_function(function, *kept, *of_tensors.added)

    return call


@contextlib.contextmanager
def sizes_in_script_calls() -> Iterator[None]:
    """While it is open, TorchScript that is called with sizes, or with lists, tuples and dicts of them, follows them."""
    call_function = torch._C.ScriptFunction.__call__
    with Replacements() as replacements:
        for scripts in (torch._C.ScriptFunction, torch._C.ScriptMethod):
            replacements.set(scripts, "__call__", _following(scripts.__call__, call_function))
        yield
