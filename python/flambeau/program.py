"""ONNXProgram: a converted model, in memory until it is saved."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _engine
from .errors import error_of

if TYPE_CHECKING:
    import onnx
    import onnx_ir
    import torch

__all__ = ["ONNXProgram"]

# Protobuf's limit is 2 GiB for a whole message; leave room for the graph.
_LARGEST_MESSAGE = 1_900_000_000


class ONNXProgram:
    """A converted model.

    Weights are read from where they are, the archive or the live module, when
    the model is serialized, saved or run: leave them unchanged until then.
    """

    def __init__(
        self,
        engine_model: _engine.Model,
        diagnostics: Sequence[_engine.Diagnostic],
        *,
        options: _engine.Options,
        rebuild: Callable[[bool], _engine.Program],
        exported_program: torch.export.ExportedProgram | None = None,
    ) -> None:
        """Made by :func:`flambeau.export` and :func:`flambeau.convert`.

        ``rebuild(export_params)`` captures the program anew, for :meth:`save`
        with other options than it was converted with.
        """
        self._engine_model = engine_model
        self._diagnostics = tuple(diagnostics)
        self._options = options
        self._rebuild = rebuild
        self._exported_program = exported_program
        self._proto: onnx.ModelProto | None = None
        self._model: onnx_ir.Model | None = None
        self._session: Any = None
        self._files: tempfile.TemporaryDirectory[str] | None = None

    @property
    def exported_program(self) -> torch.export.ExportedProgram | None:
        """The captured program; None if an archive was converted directly."""
        return self._exported_program

    @property
    def diagnostics(self) -> tuple[_engine.Diagnostic, ...]:
        """Notes and warnings of the conversion."""
        return self._diagnostics

    def report(self) -> str:
        """The diagnostics as text."""
        return _engine.report_text(list(self._diagnostics))

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model with its weights.

        Raises:
            OnnxExporterError: It has more than the 2 GB that protobuf allows; use :meth:`save`.
        """
        if self._proto is None:
            import onnx

            self._proto = onnx.load_model_from_string(self._serialize())
        return self._proto

    @property
    def model(self) -> onnx_ir.Model:
        """The model as ``onnx_ir`` holds it. Changes of it are not saved by :meth:`save`.

        Above 2 GB its weights are mapped from a temporary file.
        """
        if self._model is None:
            import onnx_ir

            if self._engine_model.weight_bytes < _LARGEST_MESSAGE:
                self._model = onnx_ir.from_proto(self.model_proto)
            else:
                self._model = onnx_ir.load(self._temporary_file())
        return self._model

    def save(
        self,
        destination: str | os.PathLike[str],
        *,
        include_initializers: bool | None = None,
        keep_initializers_as_inputs: bool | None = None,
        external_data: bool | str | None = None,
    ) -> None:
        """Write the model. The target is replaced at the end, or left as it was.

        Args:
            destination: Path of the ONNX file.
            include_initializers: False leaves the weights out. None: as converted.
            keep_initializers_as_inputs: True makes the weights inputs with
                defaults. None: as converted.
            external_data: Where weights go: "auto" (or None) keeps one file while
                it stays below 2 GB; "always" (or True) puts weights of 64 KB and
                more into ``destination`` + ".data"; "never" (or False) keeps one
                file; "reference" leaves them in the ``.pt2`` that they came from.

        Raises:
            ValueError: ``external_data`` is none of these.
            OnnxExporterError: The target cannot be written, or passes a limit.
        """
        from .conversion import external_data_mode

        mode = external_data_mode(external_data)
        model = self._with(include_initializers, keep_initializers_as_inputs)
        saved, diagnostics = model.save(os.fspath(destination), mode)
        if not saved:
            raise error_of(diagnostics)

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Run the model in onnxruntime, on the CPU.

        Args:
            args: What ``forward`` takes: tensors, numbers, and lists, tuples and
                dicts of them. Values that the capture made constant are ignored.
            kwargs: The same, by name.

        Returns:
            The outputs in pytree order; tensors if torch was used to make the
            program, else arrays. None outputs are left out.

        Raises:
            TypeError: There are more or fewer inputs than the model has.
        """
        from .session import Session

        if self._session is None:
            small = self._engine_model.weight_bytes < _LARGEST_MESSAGE
            self._session = Session(self._serialize() if small else self._temporary_file(), self._engine_model)
        return self._session.run(args, kwargs, self._exported_program)

    def release(self) -> None:
        """Free the onnxruntime session, the protobuf copy and temporary files."""
        self._session = self._proto = self._model = None
        if self._files is not None:
            self._files.cleanup()
            self._files = None

    def __repr__(self) -> str:
        model = self._engine_model

        def listed(values: Sequence[_engine.NamedType]) -> str:
            return ", ".join(f"{value.name}: {value.dtype}[{', '.join(value.sizes)}]" for value in values)

        return (
            f"ONNXProgram(opset {model.opset}, {model.node_count} nodes, {model.weight_bytes:,} bytes of weights,\n"
            f"    inputs: {listed(model.inputs)}\n    outputs: {listed(model.outputs)})"
        )

    def _serialize(self) -> bytes:
        data, diagnostics = self._engine_model.serialize()
        if not data:
            raise error_of(diagnostics)
        return data

    def _temporary_file(self) -> Path:
        if self._files is None:
            self._files = tempfile.TemporaryDirectory(prefix="flambeau-")
            self.save(Path(self._files.name, "model.onnx"), external_data=True)
        return Path(self._files.name, "model.onnx")

    def _with(self, include_initializers: bool | None, keep_initializers_as_inputs: bool | None) -> _engine.Model:
        """The model converted with these options, which is this one if nothing differs."""
        options = self._options
        before = options.export_params, options.keep_initializers_as_inputs
        wanted = (
            before[0] if include_initializers is None else include_initializers,
            before[1] if keep_initializers_as_inputs is None else keep_initializers_as_inputs,
        )
        if wanted == before:
            return self._engine_model
        try:
            options.export_params, options.keep_initializers_as_inputs = wanted
            model, diagnostics = _engine.convert(self._rebuild(wanted[0]), options)
        finally:
            options.export_params, options.keep_initializers_as_inputs = before
        if model is None:
            raise error_of(diagnostics)
        return model
