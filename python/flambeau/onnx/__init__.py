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
    "ExportOptions": "._dynamo_export",
    "ExportableModule": "._exportable",
    "JitScalarType": "._types",
    "ONNXProgram": "..program",
    "OnnxExporterError": ".errors",
    "OperatorExportTypes": "._enums",
    "SymbolicValueError": ".errors",
    "TensorProtoDataType": "._enums",
    "TrainingMode": "._enums",
    "UnsupportedOperatorError": ".errors",
    "disable_log": ".utils",
    "dynamo_export": "._dynamo_export",
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
_OF_TORCH = {"InputObserver": "torch.onnx.InputObserver"}  # where it has them
_MODULES = ("errors", "jit_utils", "operators", "ops", "registration", "symbolic_helper", "testing", "utils", "verification", *OPSETS)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        found = import_module("..torch_names", __name__).found
        value: Any = sorted([*_PLACES, *_MODULES, *(each for each, theirs in _OF_TORCH.items() if found(theirs) is not None)])
    elif name in _OF_TORCH:
        names = import_module("..torch_names", __name__)
        value = names.found(_OF_TORCH[name])
        if value is None:
            raise AttributeError(f"module 'flambeau.onnx' has no attribute {name!r}: {names.missing(_OF_TORCH[name])}")
    elif name in OPSETS:
        value = OPSETS[name]
    elif name in _MODULES:
        value = import_module(f".{name}", __name__)
    elif name in _PLACES:
        value = getattr(import_module(_PLACES[name], __name__), name)
    else:
        raise AttributeError(f"module 'flambeau.onnx' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__getattr__("__all__")})
