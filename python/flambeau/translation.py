"""``custom_translation_table``: a user's functions as the engine's translators."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from . import _engine
from .feed.exported_program import canonical_name, dtype_of_code
from .forms import is_written_alike
from .operand_types import alike, as_recorded, element_type, recorded_sizes

__all__ = ["Translators"]


class Translators:
    """The functions of a table, by the engine's names of their operators.

    Attributes:
        errors: What the functions raised, in order; the engine reports the texts.
    """

    def __init__(self, table: Mapping[Callable, Callable | Sequence[Callable]] | None) -> None:
        """Raises:
        TypeError: A key is no overload of an operator or no Python function, or
            an entry is no function.
        """
        self.errors: list[Exception] = []
        self._table: dict[Callable, list[Callable]] = {}
        for target, function in (table or {}).items():
            if isinstance(target, torch._ops.OpOverloadPacket):
                raise TypeError(
                    f"custom_translation_table names '{target}', which has several overloads; name one: {target}.default"
                )
            functions = function if isinstance(function, (list, tuple)) else [function]
            if not callable(target) or not functions or not all(map(callable, functions)):
                raise TypeError(f"custom_translation_table maps functions to functions, not {target!r} to {function!r}")
            self._table[target] = list(functions)

    def by_name(self) -> dict[str, Callable[[_engine.OperatorCall], bytes | str]]:
        return {
            canonical_name(target): lambda call, target=target, functions=functions: self._translate(target, functions, call)
            for target, functions in self._table.items()
        }

    def _translate(self, target: Callable, functions: Sequence[Callable], call: _engine.OperatorCall) -> bytes | str | None:
        try:
            # Of several, the first that takes the call's types; where none does, the operator is translated as ever.
            function = functions[0] if len(functions) == 1 else next((each for each in functions if _takes(each, call)), None)
            return None if function is None else _model_of(target, function, call)
        except Exception as error:
            self.errors.append(error)
            return f"{type(error).__name__}: {error}"


def _takes(function: Callable, call: _engine.OperatorCall) -> bool:
    """Whether the annotations of the function's parameters allow the operands' types; what has none takes any."""
    plain = getattr(function, "function", function)
    try:
        hints = typing.get_type_hints(plain)
    except (NameError, TypeError):
        return True
    for parameter, (_, given) in zip(inspect.signature(plain).parameters, call.arguments):
        allowed = _dtypes_of(hints.get(parameter))
        if isinstance(given, _engine.Operand) and allowed and element_type(call.operands[given.index].dtype) not in allowed:
            return False
    return True


def _dtypes_of(hint: Any) -> set[int]:
    """ONNX's numbers of the element types that an annotation names: ``FLOAT``, unions and type variables of such."""
    found, pending = set(), [hint]
    while pending:
        each = pending.pop()
        if isinstance(each, typing.TypeVar):
            pending.extend(each.__constraints__ or [each.__bound__])
        elif typing.get_args(each):
            pending.extend(typing.get_args(each))
        elif isinstance(dtype := getattr(each, "dtype", None), int):
            found.add(int(dtype))
    return found


def _model_of(target: Callable, function: Callable, call: _engine.OperatorCall) -> bytes:
    """Run the function on symbols, and serialize what it recorded."""
    import onnx_ir as ir
    from onnx_ir.passes import common
    from onnxscript import evaluator

    from .recorder import Recorder

    recorder = Recorder(call.opset)
    inputs = [
        recorder.input(value.name, element_type(value.dtype), recorded_sizes(value))
        for value in call.operands
    ]
    args, kwargs = _arguments(target, function, call, alike(recorder, target, call, inputs))
    with evaluator.default_as(recorder):
        results = function(*args, **kwargs)
    if not isinstance(results, (list, tuple)):
        results = [results]
    outputs = [recorder._constant(result, None) for result in results]
    for i, output in enumerate(outputs):
        if output is None:
            raise TypeError(f"result {i} of the function is None")
    outputs = as_recorded(recorder, call, outputs)
    _drop_unused_outputs(recorder.nodes, outputs)
    # What was written for another opset means the same at the target's, or is refused.
    imports = {**recorder.imports, "": call.opset}
    for node in recorder.nodes:
        _check_form(node, node.version or call.opset, call.opset)
    model = ir.Model(ir.Graph(inputs, outputs, nodes=recorder.nodes, opset_imports=imports, name="translation"), ir_version=10)
    for identifier, body in recorder.functions.items():
        function_ir = body.clone()
        for node in ir.traversal.RecursiveGraphIterator(function_ir.graph):
            _check_form(node, function_ir.opset_imports.get("", call.opset), call.opset)
        function_ir.opset_imports[""] = call.opset
        model.functions[identifier] = function_ir
    common.NameFixPass()(model)
    if recorder.functions:
        common.InlinePass()(model)
        for domain, *_ in recorder.functions:
            model.graph.opset_imports.pop(domain, None)
    return ir.to_proto(model).SerializeToString()


def _check_form(node: Any, version: int, opset: int) -> None:
    """Raise TypeError if the node's operator is written in another way at the opset."""
    if not is_written_alike(node, version, opset):
        raise TypeError(f"it uses {node.op_type} of opset {version}, which opset {opset} does not have in that form")


def _drop_unused_outputs(nodes: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Optional outputs cost time where nobody reads them."""
    kept = {id(output) for output in outputs}
    for node in nodes:
        count = len(node.outputs)
        while count > 1 and not node.outputs[count - 1].uses() and id(node.outputs[count - 1]) not in kept:
            count -= 1
        if count != len(node.outputs):
            node.resize_outputs(count)


def _arguments(
    target: Callable, function: Callable, call: _engine.OperatorCall, inputs: Sequence[Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The call's arguments as the function takes them: in the schema's order; keyword-only ones by name.

    Arguments that the function does not take must have their defaults.
    """
    schema = {argument.name: argument for argument in target._schema.arguments} if hasattr(target, "_schema") else {}
    parameters = inspect.signature(getattr(function, "function", function)).parameters.values()
    places = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    any_place = any(p.kind is p.VAR_POSITIONAL for p in parameters)
    names = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    any_name = any(p.kind is p.VAR_KEYWORD for p in parameters)

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, given in call.arguments:
        value = _value(given, inputs)
        formal = schema.get(name)
        if (formal is None or not formal.kwarg_only) and (len(args) < places or any_place) and not kwargs:
            args.append(value)
        elif name in names or any_name:
            kwargs[name] = value
        elif formal is None or not _is_default(given, formal):
            raise TypeError(f"it does not take the argument '{name}', which is {value!r} in this call")
    return args, kwargs


def _is_default(given: Any, formal: Any) -> bool:
    if isinstance(given, (_engine.Operand, _engine.DtypeCode)):
        return False
    if isinstance(given, str):  # devices, layouts, memory formats mean nothing in ONNX
        return str(formal.type) != "str" or given == formal.default_value
    return given is None or (formal.has_default_value() and given == formal.default_value)


def _value(given: Any, inputs: Sequence[Any]) -> Any:
    """An argument as a translation sees it: a symbol, a constant, ONNX's number of a dtype."""
    if isinstance(given, _engine.Operand):
        return inputs[given.index]
    if isinstance(given, _engine.DtypeCode):
        return int(element_type(str(dtype_of_code(given.code)).removeprefix("torch.")))
    if isinstance(given, list):
        return [_value(element, inputs) for element in given]
    return given
