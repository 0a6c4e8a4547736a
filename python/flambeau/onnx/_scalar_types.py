"""Operands of one type: ONNX wants it of them, symbolic functions leave it to the exporter."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx
import torch
from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

from ._types import onnx_of_dtype
from .jit_utils import constant_tensor

__all__ = ["unified"]

_PROMOTED = frozenset({
    "Add", "Concat", "Div", "Equal", "Gemm", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "MatMul", "Max", "Mean", "Min", "Mod",
    "Mul", "Pow", "Sub", "Sum", "Where",
})  # fmt: skip
"""Operators whose operands are made alike as PyTorch's would be. Of others, constants take the type of what is computed."""


def unified(g: Any, op: str, inputs: Sequence[Any]) -> list[Any]:
    """The inputs of a node of ONNX's, those that its schema wants to be of one type cast to PyTorch's common type.

    Args:
        g: The context that gets the casts.
        op: Without a domain.
    """
    inputs = list(inputs)
    try:
        schema = onnx.defs.get_schema(op, g.opset, "")
    except onnx.defs.SchemaError:
        return inputs
    for places in _alike(schema, len(inputs)):
        typed = {i: dtype for i in places if (dtype := _dtype(inputs[i])) is not None}
        if len(set(typed.values())) < 2:
            continue
        computed = {dtype for i, dtype in typed.items() if constant_tensor(inputs[i]) is None}
        if op not in _PROMOTED and len(computed) != 1:
            continue
        common = _common(inputs[i] for i in typed) if op in _PROMOTED else computed.pop()
        for i, dtype in typed.items():
            if dtype is not common:
                inputs[i] = _cast(g, inputs[i], common)
    return inputs


def _alike(schema: Any, count: int) -> list[list[int]]:
    """The places of inputs that have one type."""
    by_type: dict[str, list[int]] = {}
    for i in range(count):
        if i >= len(schema.inputs) and schema.inputs[-1].option != onnx.defs.OpSchema.FormalParameterOption.Variadic:
            break
        formal = schema.inputs[min(i, len(schema.inputs) - 1)]
        if "(" not in formal.type_str:  # a variable
            by_type.setdefault(formal.type_str, []).append(i)
    return list(by_type.values())


def _dtype(value: Any) -> torch.dtype | None:
    return value.type().dtype() if isinstance(value.type(), torch._C.TensorType) else None


def _common(values: Iterable[Any]) -> torch.dtype:
    """PyTorch's common type; numbers are of type 0-d, and a float that is one is of the default dtype where it decides."""
    stand_ins = []
    for value in values:
        constant = constant_tensor(value)
        if constant is not None and constant.ndim == 0:
            stand_ins.append(constant.item())
        else:
            rank = value.type().dim() if constant is None else constant.ndim
            stand_ins.append(torch.empty(() if rank == 0 else (0,), dtype=_dtype(value)))
    return elementwise_dtypes(*stand_ins, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT)[1]


def _cast(g: Any, value: Any, dtype: torch.dtype) -> Any:
    constant = constant_tensor(value)
    if constant is not None:
        return g.op("Constant", value_t=constant.to(dtype))
    return g.op("Cast", value, to_i=onnx_of_dtype(dtype))
