"""Symbolic functions as translators of the engine."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .. import _engine
from ._schemas import result_types
from .registration import registry

if TYPE_CHECKING:
    from ._call import Translation, Written
    from .jit_utils import GraphContext

__all__ = ["SymbolicFunctions"]


class SymbolicFunctions:
    """The registered symbolic functions as translators of the engine, and those of autograd functions.

    Attributes:
        errors: What the functions raised in the conversion at hand, in order; the engine reports the texts.
        unpacked: Of a TorchScript program, how many elements a list is unpacked into at once, by
            operator and node. Other programs record the elements as results.
    """

    def __init__(self, opset: int) -> None:
        self.errors: list[Exception] = []
        self.unpacked: dict[tuple[str, str], int | None] | None = None
        self.opset = opset
        self._registered = dict(registry.at(opset))
        self._named: dict[str, Callable[[_engine.OperatorCall], Translation]] = {}
        self._written: dict[tuple[Any, ...], Written] = {}

    def failure(self) -> Exception | None:
        """What the conversion is to raise of it: a bug of a function, before what says that it has no translation."""
        return next(filter(_is_bug, self.errors), next(iter(self.errors), None))

    def has_bug(self) -> bool:
        return any(map(_is_bug, self.errors))

    def registered(self, name: str) -> Callable[..., Any] | None:
        return self._registered.get(name)

    def translators(self) -> dict[str, Callable[[_engine.OperatorCall], Translation]]:
        table: dict[str, Callable[[_engine.OperatorCall], Translation]] = {}
        for name in self._registered:
            translator = self._guarded(lambda call, name=name: self._call_registered(name, call))
            if name != "prim::PythonOp":
                table[f"{name}.*"] = translator
            if name.endswith("_"):
                # torch drops a final "_" before it looks for a function, so x | y, aten::__or__, is known as aten::__or_.
                table.setdefault(f"{name}_.*", translator)
        return {**table, **self._named}

    def add(self, name: str, run: Callable[[GraphContext, list[Any]], Any], original: Any) -> None:
        """The operator of that name is what `run` makes of its operands.

        Args:
            original: The node of the captured graph.
        """
        self._named[name] = self._guarded(lambda call: self._translate(call, run, original))

    def _call_registered(self, name: str, call: _engine.OperatorCall) -> Translation:
        # The driver may try newer opsets, to say which one would do.
        function = self._registered[name] if call.opset == self.opset else registry.find(name, call.opset)
        attributes = self._attributes(function, call)
        return self._translate(call, lambda g, args: function(g, *args, **attributes))

    def _translate(self, call: _engine.OperatorCall, run: Callable[[GraphContext, list[Any]], Any], original: Any = None) -> Translation:
        """A function runs once for each call, as with torch: it may take its arguments apart, or count its calls.

        The engine asks several times: for types, in each round of a loop's, and for the model.
        """
        from ._call import translation_of, written  # which need onnx

        key = _known_of(call)
        made = self._written.get(key) or written(call, run, original)
        if call.node:
            self._written[key] = made
        return translation_of(call, made)

    def _attributes(self, function: Callable[..., Any], call: _engine.OperatorCall) -> dict[str, Any]:
        """What torch's exporter notes at a node beside its arguments: of a list that is unpacked, the number of elements."""
        if self.unpacked is not None:
            count = self.unpacked.get((call.op.partition(".")[0], call.node))
        else:
            count = len(call.results) if _gives_list(call.op) else None
        # A function of any arguments may hand them on to a node: it gets none that torch would not give it.
        takes = count is not None and _takes_outputs(function, any_name=call.op.startswith("aten::"))
        return {"_outputs": count} if takes else {}

    def _guarded(self, translate: Callable[[_engine.OperatorCall], Translation]) -> Callable[[_engine.OperatorCall], Translation]:
        def guarded(call: _engine.OperatorCall) -> Translation:
            try:
                return translate(call)
            except Exception as error:
                if call.opset == self.opset:
                    self.errors.append(error)
                return f"{type(error).__name__}: {error}"

        return guarded


def _is_bug(error: Exception) -> bool:
    """Whether it says something else than that there is no translation. torch leaves to the runtime what raised a RuntimeError."""
    return not isinstance(error, RuntimeError)


def _takes_outputs(function: Callable[..., Any], *, any_name: bool) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # of a function that does not say
        return False
    return "_outputs" in parameters or (any_name and any(each.kind is each.VAR_KEYWORD for each in parameters.values()))


def _gives_list(op: str) -> bool:
    types = result_types(op) or []
    return len(types) == 1 and isinstance(types[0], torch._C.ListType)


def _known_of(call: _engine.OperatorCall) -> tuple[Any, ...]:
    """What a function is told of a call."""
    operands = [(each.dtype, each.ranked, tuple(each.sizes)) for each in call.operands]
    return call.op, call.node, call.location.source, call.opset, *operands, *(_plain(given) for _, given in call.arguments)


def _plain(given: Any) -> Any:
    if isinstance(given, _engine.Operand):
        return "operand", given.index
    if isinstance(given, _engine.DtypeCode):
        return "dtype", given.code
    if isinstance(given, (list, tuple)):
        return tuple(_plain(each) for each in given)
    return type(given).__name__, repr(given)  # as text NaN is itself, and 1 is not 1.0
