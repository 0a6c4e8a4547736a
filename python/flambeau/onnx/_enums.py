"""torch's enumerations of an export: torch's own where it has them, so that users' values are these."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

__all__ = ["OperatorExportTypes", "TensorProtoDataType", "TrainingMode"]

if TYPE_CHECKING:
    from torch._C._onnx import OperatorExportTypes, TensorProtoDataType, TrainingMode
else:
    try:
        from torch._C._onnx import OperatorExportTypes, TensorProtoDataType, TrainingMode
    except ImportError:  # a torch without its TorchScript exporter

        class TrainingMode(enum.IntEnum):
            EVAL = 0
            PRESERVE = 1
            TRAINING = 2

        class OperatorExportTypes(enum.IntEnum):
            ONNX = 0
            ONNX_ATEN = 1
            ONNX_ATEN_FALLBACK = 2
            ONNX_FALLTHROUGH = 3

        _NAMES = "UNDEFINED FLOAT UINT8 INT8 UINT16 INT16 INT32 INT64 STRING BOOL FLOAT16 DOUBLE UINT32 UINT64 COMPLEX64 COMPLEX128 BFLOAT16 FLOAT8E4M3FN FLOAT8E4M3FNUZ FLOAT8E5M2 FLOAT8E5M2FNUZ"
        TensorProtoDataType = enum.IntEnum("TensorProtoDataType", _NAMES, start=0)
