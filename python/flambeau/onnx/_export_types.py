"""``operator_export_type``: operators that are left to the runtime, as nodes of PyTorch's own domains."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from .. import _engine
from ..errors import OnnxExporterError
from ._enums import OperatorExportTypes
from ._schemas import result_types

if TYPE_CHECKING:
    from ._call import Translation
    from .jit_utils import GraphContext

__all__ = ["fallback_of", "translators_of"]

# Arguments that say where and how a tensor lies: of a runtime's values, there is nothing to say.
_OF_MEMORY = ("device", "layout", "memory_format")

# What no runtime has kernels for.
_OF_PYTHON = ("prim", "_operator", "torch", "higher_order")

Run = Callable[[_engine.OperatorCall], "Translation | None"]


def translators_of(export_type: Any) -> dict[str, Run]:
    """What an export type puts in place of the engine's own translators."""
    return {"aten::*": _guarded(_as_aten_if_it_can)} if export_type == OperatorExportTypes.ONNX_ATEN else {}


def fallback_of(export_type: Any, operator: str) -> Run | None:
    """What an export type makes of an operator that cannot be translated; None: nothing."""
    space = operator.partition("::")[0]
    if "::" not in operator or space in _OF_PYTHON:
        return None
    makers = {OperatorExportTypes.ONNX_ATEN_FALLBACK: _as_aten, OperatorExportTypes.ONNX_FALLTHROUGH: _as_itself}
    make = makers.get(export_type)
    return None if make is None else _guarded(make)


def _guarded(make: Run) -> Run:
    def guarded(call: _engine.OperatorCall) -> Translation | None:
        try:
            return make(call)
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return guarded


def _translate(call: _engine.OperatorCall, run: Callable[[GraphContext, list[Any]], Any]) -> Translation:
    from ._call import translate  # which needs onnx

    return translate(call, run)


def _outputs(call: _engine.OperatorCall) -> int:
    """How many results the call has. A script does not record them."""
    if call.results:
        return len(call.results)
    if not _gives_tensors(call):
        raise OnnxExporterError("its results are not just tensors, so no node of a custom domain can have them")
    return len(result_types(call.op) or ())


def _gives_tensors(call: _engine.OperatorCall) -> bool:
    return all(isinstance(each, torch._C.TensorType) for each in result_types(call.op) or ())


def _as_aten_if_it_can(call: _engine.OperatorCall) -> Translation | None:
    """Numbers, and lists of which nothing says the length, are no results of a runtime's nodes: the engine translates what gives them.

    So it does what makes tensors of a trace's numbers, which the program does not ask for.
    """
    lists = [each for each in result_types(call.op) or () if isinstance(each, torch._C.ListType)]
    is_number = not lists and not _gives_tensors(call)
    if is_number or (lists and not call.results) or call.op.partition(".")[0] == "aten::scalar_tensor":
        return None
    return _as_aten(call)


def _as_aten(call: _engine.OperatorCall) -> Translation:
    """``org.pytorch.aten::ATen``: the operator's name is an attribute, and so are texts; its other arguments are inputs.

    As torch's exporter has it, operators of other namespaces are such nodes, too, and their overload is not said.
    """
    name, _, overload = call.op.partition(".")
    overload = overload if name.startswith("aten::") else ""
    count = _outputs(call)
    texts = {key: given for key, given in call.arguments if isinstance(given, str)}
    attributes = {f"{key}_s": text for key, text in texts.items() if key not in _OF_MEMORY}

    def run(g: GraphContext, args: list[Any]) -> Any:
        inputs = [None if key in texts else value for (key, _), value in zip(call.arguments, args)]
        while inputs and (inputs[-1] is None or inputs[-1].node().mustBeNone()):
            inputs.pop()
        return g.at(name.partition("::")[2], *inputs, overload_name=overload, outputs=count, **attributes)

    return _translate(call, run)


def _as_itself(call: _engine.OperatorCall) -> Translation:
    """The operator in a domain named after its namespace: tensors are inputs, constants attributes."""
    name = call.op.partition(".")[0]
    count = _outputs(call)
    attributes: dict[str, Any] = {}
    for key, given in call.arguments:
        if isinstance(given, (bool, int)):
            attributes[f"{key}_i"] = int(given)
        elif isinstance(given, float):
            attributes[f"{key}_f"] = given
        elif isinstance(given, str):
            attributes[f"{key}_s"] = given
        elif isinstance(given, list) and given and not any(isinstance(each, _engine.Operand) or each is None for each in given):
            kind = "f" if any(isinstance(each, float) for each in given) else "s" if isinstance(given[0], str) else "i"
            attributes[f"{key}_{kind}"] = given

    def run(g: GraphContext, args: list[Any]) -> Any:
        inputs = [value for (key, _), value in zip(call.arguments, args) if not any(each[:-2] == key for each in attributes)]
        while inputs and inputs[-1].node().mustBeNone():
            inputs.pop()
        return g.op(name, *inputs, **attributes, outputs=count)

    return _translate(call, run)
