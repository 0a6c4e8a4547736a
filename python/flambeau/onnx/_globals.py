"""What holds for the export at hand. Where torch keeps the same, symbolic functions written for it read it there."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from .. import _engine
from ..torch_names import found
from ._enums import OperatorExportTypes, TrainingMode

__all__ = ["GLOBALS", "as_now", "exporting", "trains"]


@dataclasses.dataclass
class Globals:
    export_onnx_opset_version: int = _engine.DEFAULT_OPSET
    training_mode: Any = TrainingMode.EVAL
    export_training: bool = False
    operator_export_type: Any = OperatorExportTypes.ONNX
    in_onnx_export: bool = False
    autograd_inlining: bool = True
    onnx_shape_inference: bool = True
    # ONNX Script functions that nodes of this export call, by (domain, name): onnx.FunctionProto.
    local_functions: dict[tuple[str, str], Any] = dataclasses.field(default_factory=dict)


GLOBALS = Globals()


def _torchs() -> Any | None:
    return found("torch.onnx._internal.torchscript_exporter._globals.GLOBALS")


def as_now() -> Callable[[], contextlib.AbstractContextManager[None]]:
    """What makes the values of now hold again, for a conversion that is done once more."""
    values = {**vars(GLOBALS), "local_functions": {}}

    @contextlib.contextmanager
    def once_more() -> Iterator[None]:
        from ..capture import one_capture_at_a_time

        with one_capture_at_a_time(), exporting(**values):
            yield

    return once_more


@contextlib.contextmanager
def exporting(**values: Any) -> Iterator[None]:
    """The values hold while it is open, here and in torch."""
    places = [place for place in (GLOBALS, _torchs()) if place is not None]
    # Older releases of torch refuse opsets that they do not write: what is behind a property takes any.
    fields = [(place, name, field) for place in places for name in values for field in (f"_{name}", name) if field in vars(place)]
    before = [(place, name, field, getattr(place, field)) for place, name, field in fields]
    try:
        for place, name, field, _ in before:
            setattr(place, field, values[name])
        yield
    finally:
        for place, _, field, value in before:
            setattr(place, field, value)


def trains(model: Any, mode: Any) -> bool:
    """Whether an export of this :class:`TrainingMode` takes the model as it trains."""
    return mode == TrainingMode.TRAINING or (mode == TrainingMode.PRESERVE and bool(getattr(model, "training", False)))
