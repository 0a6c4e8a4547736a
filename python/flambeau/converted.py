"""What a conversion gave, and how to have it again, with other options."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _engine
from .errors import error_of

if TYPE_CHECKING:
    import onnx_ir as ir
    import torch

    from .archived import ArchivedProgram
    from .calls import CapturedCall
    from .capture import Attempt

__all__ = ["Conversion", "ValueType", "bytes_of", "value_types"]


@dataclasses.dataclass(frozen=True)
class Conversion:
    """A model, and what it was made of. It does not change, so programs may share it.

    Attributes:
        model: The engine's.
        diagnostics: What it said, in order.
        options: What the model was converted with; a ``rebuild`` may put translations there.
        rebuild: Captures the program anew, with or without its parameters.
        attempts: The captures that were tried.
        archive: Where the program came from, if it was not live.
        changes: Options that had other values for this model.
        call: How the program was called when it was captured, where no ExportedProgram says so.
        weights: What the weights were made of, by their names in the state_dict, where no ExportedProgram has them.
        within: What has to hold while it is converted once more: symbolic functions see the options of the export.
    """

    model: _engine.Model
    diagnostics: Sequence[_engine.Diagnostic]
    options: _engine.Options
    rebuild: Callable[[bool], _engine.Program]
    attempts: Sequence[Attempt] = ()
    archive: ArchivedProgram | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    call: CapturedCall | None = None
    weights: Mapping[str, torch.Tensor] = dataclasses.field(default_factory=dict)
    within: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext

    def option(self, name: str) -> Any:
        """The value of an option for this model."""
        return self.changes[name] if name in self.changes else getattr(self.options, name)

    def again(self, **changes: Any) -> Conversion:
        """The same program, converted with other values of some options.

        Raises:
            OnnxExporterError: They do not do.
        """
        changes = {**self.changes, **changes}
        with self._with(changes) as options:
            model, diagnostics = _engine.convert(self.rebuild(options.export_params), options)
        if model is None:
            raise error_of(diagnostics)
        return dataclasses.replace(self, model=model, diagnostics=tuple(diagnostics), changes=changes)

    def stored(self, include_initializers: bool, keep_initializers_as_inputs: bool) -> Conversion:
        """The one whose weights are kept so, which is this one if nothing differs."""
        changes = {"export_params": include_initializers, "keep_initializers_as_inputs": keep_initializers_as_inputs}
        return self if all(self.option(name) == value for name, value in changes.items()) else self.again(**changes)

    def report(self) -> _engine.ConversionReport:
        """Everything about the conversion, which is done once more."""
        with self._with(self.changes) as options:
            model, diagnostics, report = _engine.convert_with_report(self.rebuild(options.export_params), options)
        if model is None:
            raise error_of(diagnostics)
        for attempt in self.attempts:
            report.add_attempt(attempt.strategy, attempt.seconds, str(attempt.error or ""))
        return report

    def weights_among_inputs(self, model: _engine.Model) -> set[str]:
        """Of this program, converted without weights."""
        names = {value.name for value in model.inputs}
        if self.option("export_params"):
            return names - {value.name for value in self.model.inputs}
        return names & {weight.name for weight in _engine.summarize(self.rebuild(False)).weights}

    @contextlib.contextmanager
    def _with(self, changes: Mapping[str, Any]) -> Iterator[_engine.Options]:
        before = {name: getattr(self.options, name) for name in changes}
        try:
            for name, value in changes.items():
                setattr(self.options, name, value)
            with self.within():
                yield self.options
        finally:
            for name, value in before.items():
                setattr(self.options, name, value)


def bytes_of(model: _engine.Model) -> bytes:
    """The model as protobuf has it.

    Raises:
        OnnxExporterError: It is too large for one message.
    """
    data, diagnostics = model.serialize()
    if not data:
        raise error_of(diagnostics)
    return data


@dataclasses.dataclass(frozen=True)
class ValueType:
    """An input or output of a model that no conversion made, as the engine's ``NamedType`` is one of a converted model."""

    name: str
    dtype: str
    sizes: list[str]
    position: int


def _text_of(dim: int | ir.SymbolicDim) -> str:
    return str(dim) if isinstance(dim, int) else dim.value or "?"


def value_types(values: Sequence[ir.Value]) -> list[ValueType]:
    """The types of a graph's inputs or outputs; what is no tensor has no dtype."""
    types = []
    for position, value in enumerate(values):
        dtype = "" if value.dtype is None else value.dtype.numpy().name
        types.append(ValueType(value.name or "", dtype, [] if value.shape is None else [_text_of(dim) for dim in value.shape], position))
    return types
