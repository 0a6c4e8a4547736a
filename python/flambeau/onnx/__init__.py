"""``torch.onnx``, name by name, with Flambeau's engine behind it.

>>> from flambeau import onnx
>>> onnx.register_custom_op_symbolic("mylib::foo", lambda g, x: g.op("Relu", x), 9)
>>> onnx.export(model, (x,), "model.onnx", dynamo=False)

``docs/migrating.md`` lists what differs.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ._opsets import OPSETS

# Where each name is. Importing them all would import onnx and onnxruntime.
_PLACES = {
    "CheckerError": ".errors",
    "ExportableModule": "._exportable",
    "InputObserver": "torch.onnx",
    "JitScalarType": "._types",
    "ONNXProgram": "..program",
    "OnnxExporterError": ".errors",
    "OperatorExportTypes": "._enums",
    "SymbolicValueError": ".errors",
    "TensorProtoDataType": "._enums",
    "TrainingMode": "._enums",
    "UnsupportedOperatorError": ".errors",
    "disable_log": ".utils",
    "enable_log": ".utils",
    "export": "..exporter",
    "export_to_pretty_string": ".utils",
    "is_in_onnx_export": ".utils",
    "is_onnx_log_enabled": ".utils",
    "producer_name": ".utils",
    "producer_version": ".utils",
    "register_custom_op_symbolic": ".utils",
    "select_model_mode_for_export": ".utils",
    "set_training": ".utils",
    "unconvertible_ops": ".utils",
    "unregister_custom_op_symbolic": ".utils",
}
_MODULES = ("errors", "jit_utils", "operators", "ops", "registration", "symbolic_helper", "testing", "utils", "verification", *OPSETS)

__all__ = sorted([*_PLACES, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in OPSETS:
        value: Any = OPSETS[name]
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    elif name in _PLACES:
        value = getattr(import_module(_PLACES[name], __name__), name)
    else:
        raise AttributeError(f"module 'flambeau.onnx' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
