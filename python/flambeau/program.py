"""ONNXProgram: a converted model, in memory until it is saved."""

from __future__ import annotations

import copy
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _engine
from .converted import Conversion, bytes_of, value_types
from .errors import OnnxExporterError, error_of, imported
from .options import external_data_mode
from .progress import shown_progress
from .saving import LARGEST_MESSAGE, proto_with_weights, weight_bytes

if TYPE_CHECKING:
    import io

    import numpy as np
    import onnx
    import onnx_ir
    import onnxruntime
    import torch

    from .archived import ArchivedProgram
    from .capture import Attempt
    from .converted import ValueType

__all__ = ["ONNXProgram"]


def _cpu_session(model: str | bytes) -> onnxruntime.InferenceSession:
    from .session import cpu_session

    return cpu_session(model)


class ONNXProgram:
    """A converted model.

    Weights are read from where they are, the archive or the live module, when
    the model is serialized, saved or run: leave them unchanged until then.

    Once :attr:`model` was asked for, it is the model: changes of it are what is
    saved and run.
    """

    def __init__(self, model: onnx_ir.Model, exported_program: torch.export.ExportedProgram | None = None) -> None:
        """A program of a model that is there already; :func:`flambeau.export` and :func:`flambeau.convert` make others.

        Args:
            model: The model.
            exported_program: What it was made of: calls are then as those of the captured module.
        """
        self._start(None, exported_program)
        self._model = model

    @classmethod
    def of_conversion(cls, conversion: Conversion, exported_program: torch.export.ExportedProgram | None = None) -> ONNXProgram:
        """The program of a model that the engine made."""
        program = cls.__new__(cls)
        program._start(conversion, exported_program)
        return program

    def _start(self, conversion: Conversion | None, exported_program: torch.export.ExportedProgram | None) -> None:
        self._conversion = conversion
        self._exported_program = exported_program
        self._proto: onnx.ModelProto | None = None
        self._model: onnx_ir.Model | None = None
        self._session: Any = None
        self._archived: Any = None  # what PyTorch loads of the archive, where a call has asked for its names
        self._folded = True  # weights may have been folded into what uses them
        self._as_given: set[str] = set()  # weights that were found to be in the model as they were given, and may have changed since
        self._files: tempfile.TemporaryDirectory[str] | None = None
        self._changed_files: str | None = None  # the folder among them of the last changed model that was run

    def __deepcopy__(self, memo: dict[int, Any]) -> ONNXProgram:
        """A program with a model of its own. What it was made of does not change, and is shared: so are weights that were not read yet."""
        program = type(self).__new__(type(self))
        program._start(self._conversion, self._exported_program)
        program._model, program._folded = copy.deepcopy(self._model, memo), self._folded
        program._as_given = set(self._as_given)
        program._files = self._files  # where its weights may lie: they go with the last program that holds them
        return program

    # --- what it is -----------------------------------------------------------

    @property
    def exported_program(self) -> torch.export.ExportedProgram | None:
        """The captured program; None if an archive was converted directly."""
        return self._exported_program

    @exported_program.setter
    def exported_program(self, exported_program: torch.export.ExportedProgram | None) -> None:
        self._exported_program = exported_program

    @property
    def archive(self) -> ArchivedProgram | None:
        """The archive that was converted, and what of it; None for what was live."""
        return self._conversion.archive if self._conversion is not None else None

    @property
    def capture_strategy(self) -> str | None:
        """How the module was captured; None if it came captured."""
        return self.captured_by.strategy if self.captured_by is not None else None

    @property
    def captured_by(self) -> Attempt | None:
        """The way to capture the module that succeeded; None if it came captured."""
        attempts = self._conversion.attempts if self._conversion is not None else ()
        return attempts[-1] if attempts else None

    @property
    def _capture_strategy(self) -> str | None:
        """The same as torch's exporter calls it: ``torch.onnx.testing.assert_onnx_program`` asks for this."""
        return self.captured_by.torch_name if self.captured_by is not None else None

    @property
    def diagnostics(self) -> tuple[_engine.Diagnostic, ...]:
        """Notes and warnings of the conversion."""
        return tuple(self._conversion.diagnostics) if self._conversion is not None else ()

    @property
    def inputs(self) -> Sequence[_engine.NamedType | ValueType]:
        """The model's inputs as it was converted: ``name``, ``dtype``, ``sizes``."""
        return self._conversion.model.inputs if self._conversion is not None else value_types(self._own_inputs())

    @property
    def outputs(self) -> Sequence[_engine.NamedType | ValueType]:
        """The model's outputs as it was converted."""
        return self._conversion.model.outputs if self._conversion is not None else value_types(self.model.graph.outputs)

    @property
    def may_have_further_outputs(self) -> bool:
        """Whether there may be outputs behind those that PyTorch gives: states, or whatever a model has that no conversion made."""
        return self._conversion is None or bool(self._conversion.option("state_outputs"))

    def report(self) -> str:
        """The diagnostics as text."""
        return _engine.report_text(list(self.diagnostics))

    def conversion_report(self) -> _engine.ConversionReport:
        """Everything about the conversion, which is done once more: ``.html()``, ``.markdown()``, ``.json()``.

        Raises:
            OnnxExporterError: The model was not converted by Flambeau.
        """
        if self._conversion is None:
            raise OnnxExporterError("this program was made of an ONNX model, and no conversion: there is nothing to report")
        return self._conversion.report()

    def text(self) -> str:
        """The model as text, in ONNX's own syntax, without its large weights."""
        if self._conversion is not None and self._model is None:
            return self._conversion.model.text()
        return imported("onnx.printer", "a changed model as text").to_text(self.model_proto)

    @property
    def model_proto(self) -> onnx.ModelProto:
        """The model with its weights.

        Raises:
            OnnxExporterError: It has more than the 2 GB that protobuf allows; use :meth:`save`.
        """
        if self._model is not None:
            return proto_with_weights(self._model)
        if self._proto is None:
            onnx = imported("onnx", "ONNXProgram.model_proto")
            self._proto = onnx.load_model_from_string(self._serialize())
        return self._proto

    def replace_proto(self, proto: onnx.ModelProto) -> None:
        """From now on, that is the model which is saved and run."""
        self._model = imported("onnx_ir", "a changed model").from_proto(proto)
        self._proto = self._session = None
        self._as_given = set()

    @property
    def model(self) -> onnx_ir.Model:
        """The model as ``onnx_ir`` holds it. Changes of it are saved and run from now on.

        A call runs the model as it was when the first one after this was asked for, or :meth:`release` called. Above 2 GB
        the weights are mapped from a temporary file.
        """
        self._session = None
        if self._model is None:
            onnx_ir = imported("onnx_ir", "ONNXProgram.model")
            if self._weight_bytes() < LARGEST_MESSAGE:
                self._model = onnx_ir.from_proto(self.model_proto)
            else:
                self._model = onnx_ir.load(self._temporary_file())
            self._proto = None
        return self._model

    @model.setter
    def model(self, model: onnx_ir.Model) -> None:
        self._model = model
        self._proto = self._session = None
        self._as_given = set()

    # --- changing it ----------------------------------------------------------

    def optimize(self) -> None:
        """Make the graph smaller, in place, if the model was converted with ``optimize=False``.

        A :attr:`model` that was asked for is optimised by ONNX Script.
        """
        if self._model is not None:
            from onnxscript import optimizer

            self.model = optimizer.optimize(self._model) or self._model
        elif self._conversion is not None and not self._conversion.option("optimize"):
            self._conversion = self._conversion.again(optimize=True)
            self.release()

    def apply_weights(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Put weights into the model, by their names in the state_dict; what it lacks is warned about.

        Weights that were left out (``export_params=False``) become initializers. Others had been folded into the nodes
        that use them: the program is converted anew; a :attr:`model` that was asked for before is kept, and refuses
        weights that were folded.

        Raises:
            OnnxExporterError: Such a weight was folded, a weight has other sizes or another dtype, or two are given that are
                one in the model, as the tied weights of a language model are.
        """
        imported("onnx_ir", "ONNXProgram.apply_weights")
        from .applying import converted_without_weights, own_weights, put_weights, under_own_names

        self._refuse_known(state_dict)
        conversion, weights = self._conversion, own_weights(self._exported_program, self._conversion)
        if self._folded and weights and conversion is not None and conversion.option("export_params"):
            late, names = converted_without_weights(conversion)
            given = under_own_names(late.graph, state_dict, weights)
            if unknown := sorted(names - {*weights, *given}):
                raise OnnxExporterError(f"the weight '{unknown[0]}' is to be given, too")
            if self._model is None:
                put_weights(late.graph, {**{name: weights[name] for name in names}, **given})
                self._model, self._folded, self._proto, self._session = late, False, None, None
                return
            used = [value.name for value in late.graph.inputs if value.name in names and value.uses()]
            self._refuse_folded({name: weights[name] for name in used if name in given})
        put_weights(self.model.graph, under_own_names(self.model.graph, state_dict, weights))
        self._session = None

    def rename_axes(self, rename_mapping: Mapping[Any, str]) -> None:
        """Rename dynamic dimensions, also inside expressions such as ``2*s0 + 1``.

        Args:
            rename_mapping: From names, or ``onnx_ir.SymbolicDim``s of the model, to names.
        """
        from .axes import rename_axes

        rename_axes(self.model, rename_mapping)
        self._session = None

    # --- saving ---------------------------------------------------------------

    def save(
        self,
        destination: str | os.PathLike[str] | io.IOBase,
        *,
        include_initializers: bool = True,
        keep_initializers_as_inputs: bool = False,
        external_data: bool | str | None = None,
    ) -> None:
        """Write the model. The target is replaced at the end, or left as it was.

        Args:
            destination: Path of the ONNX file, or a file that is open for writing bytes, which gets all in one.
            include_initializers: False leaves the weights out. What the model then says of them is
                their types alone, unless they are kept as inputs.
            keep_initializers_as_inputs: True makes the weights inputs with
                defaults.
            external_data: Where weights go: "auto" (or None) keeps one file while
                it stays below 2 GB; "always" (or True) puts weights of 256 bytes
                and more into ``destination`` + ".data"; "never" (or False) keeps one
                file; "reference" leaves them in the ``.pt2`` that they came from.

        Raises:
            ValueError: ``external_data`` is none of these.
            OnnxExporterError: The target cannot be written, or passes a limit.
        """
        mode = external_data_mode(external_data)
        if hasattr(destination, "write"):
            if mode in (_engine.ExternalData.ALWAYS, _engine.ExternalData.REFERENCE):
                raise TypeError("weights can go beside a model only where it has a path; destination is an open file")
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder, "model.onnx")
                self.save(
                    path,
                    include_initializers=include_initializers,
                    keep_initializers_as_inputs=keep_initializers_as_inputs,
                    external_data=False,
                )
                with path.open("rb") as written:
                    shutil.copyfileobj(written, destination)
            return
        if self._model is not None:
            from .saving import save_model

            left_out = self._conversion is not None and not (include_initializers or keep_initializers_as_inputs)
            out = self._conversion.weights_among_inputs(self._conversion.model) if left_out else set()
            save_model(self._model, Path(destination), include_initializers, keep_initializers_as_inputs, mode, out)
            return
        assert self._conversion is not None, "there is a model, or what it was made of"
        model = self._conversion.stored(include_initializers, keep_initializers_as_inputs).model
        if not include_initializers and not keep_initializers_as_inputs:
            from .saving import save_bytes, without_weights

            save_bytes(without_weights(bytes_of(model), self._conversion.weights_among_inputs(model)), Path(destination))
            return
        with shown_progress(None) as shown:
            saved, diagnostics = model.save(os.fspath(destination), mode, shown)
        if not saved:
            raise error_of(diagnostics)

    # --- running --------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model in onnxruntime, on the CPU unless :meth:`initialize_inference_session` chose otherwise.

        Args:
            args: What ``forward`` takes: tensors, numbers, and lists, tuples and
                dicts of them; or the model's inputs, in order. Values that the
                capture made constant are left out; a warning names one that is another than that.
            kwargs: The same, by the names that ``forward`` has for them; those of the
                model's inputs, if an ONNX model is all there is.

        Returns:
            The outputs in pytree order; tensors if torch was used to make the
            program, else arrays. None outputs are left out.

        Raises:
            TypeError: ``forward`` does not take these, or there are more or fewer than
                the model has inputs.
        """
        return self.run_inputs(self.input_values(args, kwargs))

    def run_inputs(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs for the values of the model's inputs, in order."""
        if self._session is None:
            self.initialize_inference_session()
        return self._session.run(values)

    def call_reference(self, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Run the model in ``onnx.reference``: slow, and independent of onnxruntime."""
        from .session import tensor_of

        reference = imported("onnx.reference", "ONNXProgram.call_reference")
        evaluator = reference.ReferenceEvaluator(self.model_proto)
        results = evaluator.run(None, self.to_numpy_inputs(*args, **kwargs))
        torch = sys.modules.get("torch")
        return tuple(results if torch is None else (tensor_of(result, torch) for result in results))

    def compute_values(
        self, value_names: Sequence[str], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> tuple[Any, ...]:
        """Values inside the model, in the order of their names, for these inputs.

        Raises:
            ValueError: The model has no value of that name.
        """
        return self.values_within(value_names, self.input_values(tuple(args), dict(kwargs or {})))

    def values_within(self, value_names: Sequence[str], values: Sequence[Any]) -> tuple[Any, ...]:
        """The same for the values of the model's inputs, in order."""
        from .saving import with_outputs
        from .session import Session, cpu_session

        data = with_outputs(self.model_proto, value_names)
        return Session(cpu_session(data), self._input_types()).run(values)

    def value_names(self) -> set[str]:
        """Names of what the nodes of the main graph give."""
        if self._model is not None:
            return {value.name for node in self._model.graph for value in node.outputs if value.name}
        return {name for node in self.model_proto.graph.node for name in node.output if name}

    def to_numpy_inputs(self, *args: Any, **kwargs: Any) -> dict[str, np.ndarray]:
        """The arguments as what any ONNX runtime takes: arrays by the names of the inputs."""
        from .session import to_numpy

        values = self.input_values(args, kwargs)
        return {name: to_numpy(value, dtype, name) for (name, dtype), value in zip(self._input_types(), values)}

    def adapt_torch_inputs_to_onnx(self, *args: Any, model_with_state_dict: Any = None, **kwargs: Any) -> list[Any]:
        """The values of the model's inputs, in order, for what ``forward`` takes; as torch's programs had it before 2.6."""
        return self.input_values(args, kwargs)

    def adapt_torch_outputs_to_onnx(self, model_outputs: Any, model_with_state_dict: Any = None) -> list[Any]:
        """What ``forward`` returned as the model's outputs are, in order; as torch's programs had it before 2.6."""
        from torch.utils import _pytree

        return [leaf for leaf in _pytree.tree_leaves(model_outputs) if leaf is not None and not isinstance(leaf, str)]

    def initialize_inference_session(
        self, initializer: Callable[[str | bytes], onnxruntime.InferenceSession] = _cpu_session
    ) -> None:
        """Make the onnxruntime session that calls use.

        Args:
            initializer: Makes a session of a model's bytes, or of its path if it is
                larger than 1.9 GB; by default one on the CPU.
        """
        from .session import Session

        large = self._weight_bytes() >= LARGEST_MESSAGE
        if self._model is not None and not large:
            source: str | bytes = self.model_proto.SerializeToString()
        else:
            source = str(self._temporary_file()) if large else self._serialize()
        self._session = Session(initializer(source), self._input_types())

    def release(self) -> None:
        """Free the onnxruntime session, the protobuf copy and temporary files."""
        self._session = self._proto = None
        if self._model is None:
            self._files = None

    def without_optimization(self) -> ONNXProgram:
        """The same program converted with ``optimize=False``: nearly every captured node is a value of it, and its nodes say which.

        A program that no conversion made is as it is.
        """
        if self._conversion is None:
            return self
        changes = {"optimize": False}
        if self._conversion.option("metadata") is not _engine.Metadata.DEBUG:
            changes["metadata"] = _engine.Metadata.DEFAULT
        return ONNXProgram.of_conversion(self._conversion.again(**changes), self._exported_program)

    # --- how it looks ---------------------------------------------------------

    def __repr__(self) -> str:
        def listed(values: Sequence[_engine.NamedType | ValueType]) -> str:
            return ", ".join(f"{value.name}: {value.dtype}[{', '.join(value.sizes)}]" for value in values)

        if self._conversion is not None:
            opset, count = self._conversion.model.opset, self._conversion.model.node_count
        else:
            opset, count = self.model.graph.opset_imports.get(""), sum(1 for _ in self.model.graph.all_nodes())
        return (
            f"ONNXProgram(opset {opset}, {count} nodes, {self._weight_bytes():,} bytes of weights,\n"
            f"    inputs: {listed(self.inputs)}\n    outputs: {listed(self.outputs)})"
        )

    def _repr_html_(self) -> str:
        """For notebooks: a summary, and the report in a frame, at its graph. Where frames are not shown, the summary remains."""
        import html

        if self._conversion is None:
            return f"<pre>{html.escape(repr(self))}</pre>"
        page = html.escape(self.conversion_report().html(), quote=True)
        return (
            f"<pre>{html.escape(repr(self))}</pre>"
            f'<iframe name="#graph" srcdoc="{page}" style="width: 100%; height: 640px; border: 1px solid #8884"></iframe>'
        )

    # --- within ---------------------------------------------------------------

    def _own_inputs(self) -> list[onnx_ir.Value]:
        """Those of :attr:`model` that are no weights."""
        graph = (self._model or self.model).graph
        return [value for value in graph.inputs if value.name not in graph.initializers]

    def _weight_bytes(self) -> int:
        if self._model is None and self._conversion is not None:
            return self._conversion.model.weight_bytes
        return weight_bytes(self._model or self.model)

    def _input_types(self) -> list[tuple[str, str]]:
        """(name, PyTorch's dtype) of the user's inputs, in the order of the conversion, in which values are given."""
        types = [(value.name, value.dtype) for value in self.inputs]
        if self._model is None or self._conversion is None:
            return types
        names = [value.name for value in self._own_inputs()]
        dtypes = dict(types)
        if len(names) == len(types):
            renamed = iter([name for name in names if name not in dtypes])
            return [((name if name in names else next(renamed)) or "", dtype) for name, dtype in types]
        return [(name or "", dtypes.get(name or "", "float32")) for name in names]

    def input_values(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], exported: torch.export.ExportedProgram | None = None
    ) -> list[Any]:
        """The values of the model's inputs, in order, for what ``forward`` takes.

        Args:
            args, kwargs: As calls take them.
            exported: What the program was made of, where it does not know that itself.

        Raises:
            TypeError: ``forward`` does not take these, or there are more or fewer than the model has inputs.
        """
        from .session import flat_inputs

        exported = exported or self._exported_program
        inputs = self._input_types()
        call = self._conversion.call if self._conversion is not None else None
        if exported is not None:
            values = flat_inputs(args, kwargs, exported)
        elif call is not None:
            values = call.values(args, kwargs, len(inputs))
        else:
            values = self._uncaptured_values(args, kwargs, [name for name, _ in inputs])
        if self._conversion is not None and not self._conversion.option("keep_unused_inputs"):
            used = [value.position for value in self._conversion.model.inputs]
            if len(values) != len(used) and len(values) > max(used, default=0):
                values = [values[position] for position in used]
        if len(values) != len(inputs):
            names = ", ".join(name for name, _ in inputs)
            raise TypeError(f"the model has {len(inputs)} inputs ({names}); {len(values)} were given")
        return values

    def _uncaptured_values(self, args: tuple[Any, ...], kwargs: dict[str, Any], names: Sequence[str]) -> list[Any]:
        """The same where no capture says what ``forward`` takes: an archive does, if torch is there to ask it."""
        from .session import flat_inputs, named_inputs

        nested = any(isinstance(value, (Mapping, list, tuple)) for value in args)
        if self.archive is not None and "torch" in sys.modules and (kwargs or nested):
            if self._archived is None:
                self._archived = self.archive.script() if self.archive.is_torchscript else self.archive.exported()
            if not self.archive.is_torchscript:
                return flat_inputs(args, kwargs, self._archived)
            from .calls import named_arguments
            from .feed.script_inputs import script_signature, takes_packed

            signature = script_signature(self._archived, takes_packed(args))
            given = named_arguments(signature, args, kwargs)
            missing = [name for name in signature.parameters if name not in given]
            if missing and any(isinstance(value, (bool, int, float)) for value in given.values()):
                raise TypeError(f"missing a required argument: '{missing[0]}'")  # a number may be a constant or an input: which, only all say
            args, kwargs = tuple(given.values()), {}
        values = named_inputs(args, kwargs, names)
        if len(values) > len(names):  # a script may have numbers as constants
            values = [value for value in values if not isinstance(value, (bool, int, float))]
        return values

    def _refuse_known(self, state_dict: Mapping[str, torch.Tensor]) -> None:
        """Raise where a weight that decided what was captured is to get another value."""
        exported = self._exported_program
        if exported is None:
            return
        import torch

        from .capture.questions.constants import KNOWN

        own = {**exported.constants, **exported.state_dict}
        for name in exported.graph_module.meta.get(KNOWN, ()):
            if name in state_dict and not torch.equal(state_dict[name], own[name]):
                raise OnnxExporterError(f"the value of '{name}' decided what was captured: give it to the model, and export that again")

    def _refuse_folded(self, own: Mapping[str, torch.Tensor]) -> None:
        """Raise an error if the model's weights are not what they were."""
        from .session import to_numpy

        for name, tensor in own.items():
            value = self.model.graph.initializers.get(name)
            if value is not None and value.const_value is not None and name in self._as_given:
                continue
            array = to_numpy(tensor, str(tensor.dtype).removeprefix("torch."))
            given = None if value is None or value.const_value is None else value.const_value
            if given is None or tuple(given.shape) != array.shape or given.tobytes() != array.tobytes():
                raise OnnxExporterError(
                    f"the weight '{name}' was folded into the nodes that use it: apply weights before anything asks for "
                    "the program's model, or export with export_params=False"
                )
        self._as_given |= own.keys()

    def _serialize(self) -> bytes:
        assert self._conversion is not None, "there is a model, or what it was made of"
        return bytes_of(self._conversion.model)

    def _temporary_file(self) -> Path:
        if self._files is None:
            self._files = tempfile.TemporaryDirectory(prefix="flambeau-")
        folder = self._files.name
        if self._model is not None:
            # Its weights may lie in the file of the model before it was changed, of which copies of the program may be, too.
            if self._changed_files is not None:
                shutil.rmtree(self._changed_files, ignore_errors=True)
            folder = self._changed_files = tempfile.mkdtemp(dir=folder)
        path = Path(folder, "model.onnx")
        if not path.exists():
            included = self._model is not None or self._conversion is None or self._conversion.option("export_params")
            inputs_too = self._conversion is not None and self._conversion.option("keep_initializers_as_inputs")
            self.save(path, include_initializers=included, keep_initializers_as_inputs=inputs_too, external_data=True)
        return path
