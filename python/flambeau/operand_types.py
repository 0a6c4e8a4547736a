"""Types between PyTorch's operators and the functions that translate them: operands come promoted, results leave as recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from . import _engine

if TYPE_CHECKING:
    from .recorder import Recorder, Symbol

__all__ = ["alike", "as_recorded", "element_type", "recorded_sizes"]

# torch's words of element types that ONNX writes in another way.
_ONNX_WORDS = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
}
_CHOOSING = ("condition", "mask")
"""Operands of pointwise operators that are not computed with."""


def element_type(word: str) -> Any:
    """ONNX's element type, of torch's word for it."""
    import onnx_ir as ir

    return ir.DataType[_ONNX_WORDS.get(word, word.upper())]


def recorded_sizes(value: _engine.OperatorCallValue) -> list[int | str | None] | None:
    """The sizes of an operand or result: numbers, names, and None for those that are not known; None without a rank."""
    if not value.ranked:
        return None
    return [int(size) if size.isdecimal() else None if size == "?" else size for size in value.sizes]


def alike(recorder: Recorder, target: Callable, call: _engine.OperatorCall, inputs: Sequence[Symbol]) -> list[Symbol]:
    """The operands of a pointwise operator in the type that PyTorch computes in; of others as they are."""
    promoted = list(inputs)
    if torch.Tag.pointwise not in getattr(target, "tags", ()) or not call.results:
        return promoted
    given = [each for name, each in call.arguments if name not in _CHOOSING]
    places = [each.index for each in given if isinstance(each, _engine.Operand)]
    numbers = [each for each in given if type(each) in (int, float)]
    result = getattr(torch, call.results[0].dtype, None)
    dtypes = {i: getattr(torch, call.operands[i].dtype, None) for i in places}
    if result is None or not dtypes or None in dtypes.values():
        return promoted
    tensors = [torch.empty(() if operand.ranked and not operand.sizes else (0,), dtype=dtypes[i]) for i in places for operand in (call.operands[i],)]
    _, common = elementwise_dtypes(*tensors, *numbers, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)
    if result.is_floating_point and not common.is_floating_point:  # as integers are divided
        common = result
    for i, dtype in dtypes.items():
        if dtype is not common:
            to = int(element_type(str(common).removeprefix("torch.")))
            promoted[i] = recorder.record("", "Cast", (inputs[i],), {"to": to}, call.opset)
    return promoted


def as_recorded(recorder: Recorder, call: _engine.OperatorCall, outputs: Sequence[Any]) -> list[Any]:
    """The results of the function as those of the program: the items of a list, and integers of its type."""
    if len(outputs) == 1 and _is_sequence(outputs[0], call.opset):
        outputs = [
            recorder.record("", "SequenceAt", (outputs[0], i), {}, call.opset)
            for i in range(len(call.results))
        ]
    results = []
    for output, recorded in zip(outputs, call.results):
        producer = output.producer()
        to = producer.attributes.get("to") if producer is not None and producer.op_type == "Cast" and not producer.domain else None
        wanted = int(element_type(recorded.dtype)) if getattr(torch, recorded.dtype, None) is not None else None
        if to is not None and wanted is not None and to.as_int() != wanted:
            output = recorder.record("", "Cast", (output,), {"to": wanted}, call.opset)
        results.append(output)
    return [*results, *outputs[len(results) :]]


def _is_sequence(value: Any, opset: int) -> bool:
    import onnx

    node = value.producer()
    if node is None or node.domain:
        return False
    schema = onnx.defs.get_schema(node.op_type, opset, "")
    formal = schema.outputs[min(value.index(), len(schema.outputs) - 1)]
    return all(each.startswith("seq(") for each in formal.types)
