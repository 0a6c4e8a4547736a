"""torch's types of TorchScript, in the engine's words."""

from __future__ import annotations

from typing import Any

import torch

from . import enums
from .exported_program import DTYPES

__all__ = ["class_name_of", "holds_objects", "kind_of", "parts_of", "recorded_type"]

_TYPE_KINDS = {
    "TensorType": "Tensor",
    "IntType": "int",
    "FloatType": "float",
    "BoolType": "bool",
    "ComplexType": "complex",
    "NumberType": "number",
    "StringType": "str",
    "DeviceObjType": "Device",
    "NoneType": "None",
    "OptionalType": "Optional",
    "ListType": "List",
    "AnyListType": "List",
    "DictType": "Dict",
    "TupleType": "Tuple",
    "AnyTupleType": "Tuple",
    "UnionType": "Union",
    "FutureType": "Future",
    "ClassType": "Class",
    "InterfaceType": "Interface",
    "EnumType": "Enum",
    "GeneratorType": "Generator",
    "FunctionType": "Function",
}


def kind_of(type_: Any) -> str:
    """What the engine calls a type like this: "Tensor", "List", …"""
    return _TYPE_KINDS.get(type_.kind(), "Any")


def parts_of(type_: Any) -> list[Any]:
    """The types that it is made of."""
    kind = type_.kind()
    if kind in ("OptionalType", "ListType", "FutureType"):
        return [type_.getElementType()]
    if kind == "DictType":
        return [type_.getKeyType(), type_.getValueType()]
    if kind == "TupleType":
        return type_.elements()
    if kind == "UnionType":
        return type_.containedTypes()
    return []


def class_name_of(type_: Any) -> str:
    """Of a class, an enum or a named tuple; empty for other types."""
    kind = kind_of(type_)
    if kind == "Class":
        return type_.qualified_name()
    text = str(type_)
    return enums.class_name(text) if kind == "Enum" or (kind == "Tuple" and text.startswith("__torch__.")) else ""


def holds_objects(type_: Any) -> bool:
    """Whether objects of classes are in its values."""
    return type_.kind() == "ClassType" or any(holds_objects(each) for each in parts_of(type_))


def recorded_type(type_: Any) -> list[int] | None:
    """A traced tensor's type as the engine takes it: its dtype and sizes; None if they are not all known.

    A quantized tensor has no type there.
    """
    if not isinstance(type_, torch._C.TensorType) or type_.dtype() not in DTYPES or type_.sizes() is None:
        return None
    return [DTYPES[type_.dtype()], *type_.sizes()]
