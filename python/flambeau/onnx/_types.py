"""Element types: torch's, as TorchScript and ONNX write them."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import torch

from . import errors
from ._enums import TensorProtoDataType

__all__ = ["JitScalarType", "dtype_of_onnx", "onnx_of_dtype", "valid_scalar_name", "valid_torch_name"]


@dataclasses.dataclass(frozen=True)
class _Row:
    scalar_name: str  # of torch._C.TensorType.scalarType()
    torch_name: str  # of torch.ops' annotations
    dtype: torch.dtype | None
    onnx: str  # a name of TensorProto.DataType; UNDEFINED where ONNX has no such type


# In the order of c10::ScalarType, which is not that of its numbers after bool.
_ROWS = {
    "UINT8": _Row("Byte", "uint8_t", torch.uint8, "UINT8"),
    "INT8": _Row("Char", "int8_t", torch.int8, "INT8"),
    "INT16": _Row("Short", "int16_t", torch.int16, "INT16"),
    "INT": _Row("Int", "int", torch.int32, "INT32"),
    "INT64": _Row("Long", "int64_t", torch.int64, "INT64"),
    "HALF": _Row("Half", "half", torch.float16, "FLOAT16"),
    "FLOAT": _Row("Float", "float", torch.float32, "FLOAT"),
    "DOUBLE": _Row("Double", "double", torch.float64, "DOUBLE"),
    "COMPLEX32": _Row("ComplexHalf", "complex32", torch.complex32, "UNDEFINED"),
    "COMPLEX64": _Row("ComplexFloat", "complex64", torch.complex64, "COMPLEX64"),
    "COMPLEX128": _Row("ComplexDouble", "complex128", torch.complex128, "COMPLEX128"),
    "BOOL": _Row("Bool", "bool", torch.bool, "BOOL"),
    "QINT8": _Row("QInt8", "qint8", torch.qint8, "INT8"),
    "QUINT8": _Row("QUInt8", "quint8", torch.quint8, "UINT8"),
    "QINT32": _Row("QInt32", "qint32", torch.qint32, "INT32"),
    "BFLOAT16": _Row("BFloat16", "bfloat16", torch.bfloat16, "BFLOAT16"),
    "FLOAT8E5M2": _Row("Float8E5M2", "float8_e5m2", torch.float8_e5m2, "FLOAT8E5M2"),
    "FLOAT8E4M3FN": _Row("Float8E4M3FN", "float8_e4m3fn", torch.float8_e4m3fn, "FLOAT8E4M3FN"),
    "FLOAT8E5M2FNUZ": _Row("Float8E5M2FNUZ", "float8_e5m2fnuz", torch.float8_e5m2fnuz, "FLOAT8E5M2FNUZ"),
    "FLOAT8E4M3FNUZ": _Row("Float8E4M3FNUZ", "float8_e4m3fnuz", torch.float8_e4m3fnuz, "FLOAT8E4M3FNUZ"),
    "UNDEFINED": _Row("Undefined", "undefined", None, "UNDEFINED"),
}
_BY_SCALAR_NAME = {row.scalar_name: name for name, row in _ROWS.items()}
# As torch._C.TensorType says them.
_BY_SCALAR_NAME |= {row.torch_name.capitalize(): name for name, row in _ROWS.items() if name.startswith("FLOAT8")}
_BY_TORCH_NAME = {row.torch_name: name for name, row in _ROWS.items()}
_BY_DTYPE = {row.dtype: name for name, row in _ROWS.items()}
# The plain types come first: INT8 is not QINT8's.
_BY_ONNX: dict[str, str] = {}
for _name, _row in _ROWS.items():
    _BY_ONNX.setdefault(_row.onnx, _name)
_BY_ONNX["UNDEFINED"] = "UNDEFINED"
# TensorProto's numbers of what has no JitScalarType, with torch neither.
_WITHOUT_ROW = {torch.uint16: 4, torch.uint32: 12, torch.uint64: 13}
if hasattr(torch, "float8_e8m0fnu"):
    _WITHOUT_ROW[torch.float8_e8m0fnu] = 24


class _JitScalarType(enum.IntEnum):
    """Element types by their numbers in c10::ScalarType, with which symbolic functions get dtypes."""

    @classmethod
    def from_dtype(cls, dtype: torch.dtype | None) -> JitScalarType:
        """UNDEFINED for None.

        Raises:
            OnnxExporterError: torch has no number for it that symbolic functions know.
        """
        if dtype not in _BY_DTYPE:
            raise errors.OnnxExporterError(f"the dtype {dtype} has no JitScalarType")
        return cls[_BY_DTYPE[dtype]]

    @classmethod
    def from_name(cls, name: str) -> JitScalarType:
        """By a name of TorchScript's ("Float") or of torch's ("float").

        Raises:
            OnnxExporterError: There is no such name.
        """
        known = _BY_SCALAR_NAME.get(name) or _BY_TORCH_NAME.get(name)
        if known is None:
            raise errors.OnnxExporterError(f"there is no element type {name!r}")
        return cls[known]

    _from_name = from_name  # torch's

    @classmethod
    def from_onnx_type(cls, onnx_type: int | Any | None) -> JitScalarType:
        name = TensorProtoDataType(onnx_type or 0).name
        if name not in _BY_ONNX:
            raise errors.OnnxExporterError(f"the element type {onnx_type} of ONNX has no JitScalarType")
        return cls[_BY_ONNX[name]]

    @classmethod
    def from_value(cls, value: torch._C.Value | torch.Tensor | None, default: Any = None) -> JitScalarType:
        """The element type of a value, also of a list's elements and of a number; `default` where none is known, or it has no JitScalarType.

        Raises:
            SymbolicValueError: There is neither.
        """
        if not isinstance(value, (torch._C.Value, torch.Tensor)) or (
            isinstance(value, torch._C.Value) and value.node().mustBeNone()
        ):
            if default is None:
                raise errors.OnnxExporterError("None has no element type")
            return cls(default)
        if isinstance(value, torch.Tensor):
            return cls.from_dtype(value.dtype) if default is None or value.dtype in _BY_DTYPE else cls(default)
        type_ = value.type()
        while isinstance(type_, (torch._C.ListType, torch._C.OptionalType)):
            type_ = type_.getElementType()
        plain = {"IntType": "INT64", "FloatType": "FLOAT", "BoolType": "BOOL"}
        if type_.kind() in plain:
            return cls[plain[type_.kind()]]
        name = type_.scalarType() if isinstance(type_, torch._C.TensorType) else None
        if name in _BY_SCALAR_NAME:
            return cls[_BY_SCALAR_NAME[name]]
        if default is not None:
            return cls(default)
        lacking = "is not known" if name is None else "has no JitScalarType"
        raise errors.SymbolicValueError(f"the element type of a value of type '{type_}' {lacking}", value)

    def scalar_name(self) -> str:
        return _ROWS[self.name].scalar_name

    def torch_name(self) -> str:
        return _ROWS[self.name].torch_name

    def dtype(self) -> torch.dtype:
        dtype = _ROWS[self.name].dtype
        if dtype is None:
            raise errors.OnnxExporterError("UNDEFINED is no dtype")
        return dtype

    def onnx_type(self) -> Any:
        """Its member of TensorProtoDataType."""
        return getattr(TensorProtoDataType, _ROWS[self.name].onnx)

    def onnx_compatible(self) -> bool:
        return _ROWS[self.name].onnx != "UNDEFINED"


JitScalarType = _JitScalarType("JitScalarType", list(_ROWS), start=0, module=__name__)


def valid_scalar_name(scalar_name: str) -> bool:
    return scalar_name in _BY_SCALAR_NAME


def valid_torch_name(torch_name: str) -> bool:
    return torch_name in _BY_TORCH_NAME


def onnx_of_dtype(dtype: torch.dtype) -> int:
    """TensorProto's number of a dtype."""
    if dtype in _WITHOUT_ROW:
        return _WITHOUT_ROW[dtype]
    return int(JitScalarType.from_dtype(dtype).onnx_type())


def dtype_of_onnx(code: int) -> torch.dtype | None:
    """None where torch has no such dtype."""
    if code in _WITHOUT_ROW.values():
        return next(dtype for dtype, number in _WITHOUT_ROW.items() if number == code)
    try:
        return JitScalarType.from_onnx_type(code).dtype()
    except (errors.OnnxExporterError, ValueError):
        return None
