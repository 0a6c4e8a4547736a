"""``torch.onnx.utils``: symbolic functions, modes of models, and what is asked of an export beside its model."""

from __future__ import annotations

import contextlib
import inspect
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from .. import __version__, exporter
from ..eager import copied, with_the_gradients_it_asks_for
from ..errors import OnnxExporterError, UnsupportedOptionError, warn
from ..examples import example_call
from ..program import ONNXProgram
from ..state import kept_random_numbers, kept_state
from ._enums import OperatorExportTypes, TrainingMode
from ._globals import GLOBALS, exporting, trains
from .registration import registry, verify_name

__all__ = [
    "disable_apex_o2_state_dict_hook",
    "disable_log",
    "enable_log",
    "export",
    "export_to_pretty_string",
    "exporter_context",
    "is_in_onnx_export",
    "is_onnx_log_enabled",
    "model_signature",
    "producer_name",
    "producer_version",
    "register_custom_op_symbolic",
    "select_model_mode_for_export",
    "set_training",
    "setup_onnx_logging",
    "unconvertible_ops",
    "unpack_quantized_tensor",
    "unregister_custom_op_symbolic",
    "warn_on_static_input_change",
]

producer_name = "flambeau"
producer_version = __version__


def register_custom_op_symbolic(symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int) -> None:
    """Let a function translate an operator, PyTorch's own too.

    Args:
        symbolic_name: ``domain::name``, all overloads of it; ``::name`` is PyTorch's.
        symbolic_fn: ``fn(g, *args)``: gets a :class:`~flambeau.onnx.jit_utils.GraphContext`
            and all arguments of the operator's schema, and returns a value, several, or
            None where it cannot translate the call.
        opset_version: The opset from which it holds.

    Raises:
        OnnxExporterError: The name is none of an operator.
        TypeError: The function is none, or the opset no int.
    """
    if not callable(symbolic_fn):
        raise TypeError(f"symbolic_fn is {symbolic_fn!r}; it must be a function, fn(g, *args)")
    if not isinstance(opset_version, int):
        raise TypeError(f"opset_version is {opset_version!r}; it must be an int, such as 17")
    registry.register(verify_name(symbolic_name), opset_version, symbolic_fn)


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Undo :func:`register_custom_op_symbolic`, or torch's."""
    registry.unregister(verify_name(symbolic_name), opset_version)


def is_in_onnx_export() -> bool:
    """Whether an export is under way, torch's too."""
    return GLOBALS.in_onnx_export or torch.onnx.is_in_onnx_export()


# --- logging -----------------------------------------------------------------------

_log = logging.getLogger("flambeau")
_handler: logging.Handler | None = None


def enable_log() -> None:
    """Show what exports do on standard error, as ``verbose=True`` does of one."""
    global _handler
    if _handler is None:
        _handler = logging.StreamHandler(sys.stderr)
        _handler.setFormatter(logging.Formatter("%(message)s"))
        _log.addHandler(_handler)
    _log.setLevel(logging.INFO)


def disable_log() -> None:
    global _handler
    if _handler is not None:
        _log.removeHandler(_handler)
        _handler = None
    _log.setLevel(logging.NOTSET)


def is_onnx_log_enabled() -> bool:
    return _handler is not None


@contextlib.contextmanager
def setup_onnx_logging(verbose: bool) -> Iterator[None]:
    """The log is on while it is open, if `verbose`."""
    before = is_onnx_log_enabled()
    if verbose:
        enable_log()
    try:
        yield
    finally:
        if not before:
            disable_log()


# --- modes ---------------------------------------------------------------------------


@contextlib.contextmanager
def select_model_mode_for_export(model: Any, mode: Any) -> Iterator[None]:
    """The model is in the mode while it is open: EVAL, TRAINING, or PRESERVE, its own.

    Each of its modules gets its own mode back.
    """
    from ..capture import mode as put_in_mode

    if not isinstance(mode, TrainingMode):
        raise TypeError(f"mode is a {type(mode).__qualname__}; it must be a TrainingMode")
    if not hasattr(model, "training"):
        yield
        return
    training = trains(model, mode)
    with (
        put_in_mode(model, None if mode == TrainingMode.PRESERVE else training),
        exporting(training_mode=mode, export_training=training),
    ):
        yield


@contextlib.contextmanager
def set_training(model: Any, mode: bool | None) -> Iterator[None]:
    """The older form: True is training, False is evaluation, None leaves the model."""
    wanted = TrainingMode.PRESERVE if mode is None or model is None else TrainingMode.TRAINING if mode else TrainingMode.EVAL
    with select_model_mode_for_export(model, wanted):
        yield


@contextlib.contextmanager
def disable_apex_o2_state_dict_hook(model: Any) -> Iterator[None]:
    """Apex's hook that gives half-precision weights out as float32 is off while it is open."""
    removed = []
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        for key, hook in list(module._state_dict_hooks.items()):
            if type(hook).__name__ == "O2StateDictHook":
                removed.append((module._state_dict_hooks, key, module._state_dict_hooks.pop(key)))
    try:
        yield
    finally:
        for hooks, key, hook in removed:
            hooks[key] = hook


@contextlib.contextmanager
def exporter_context(model: Any, mode: Any, verbose: bool) -> Iterator[None]:
    """The three contexts of an export: mode, Apex's hook, logging."""
    with select_model_mode_for_export(model, mode), disable_apex_o2_state_dict_hook(model), setup_onnx_logging(verbose):
        yield


# --- exports ----------------------------------------------------------------------------


def export(model: Any, args: Any, f: Any = None, *former: Any, **options: Any) -> ONNXProgram:
    """:func:`flambeau.export` by tracing, as TorchScript's exporter captures modules, unless `dynamo` says otherwise."""
    return exporter.export(model, args, f, *former, **{"dynamo": False, **without_nones(options)})


def _export(
    model: Any,
    args: Any,
    f: Any,
    export_params: bool = True,
    verbose: bool = False,
    training: Any = TrainingMode.EVAL,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    operator_export_type: Any = OperatorExportTypes.ONNX,
    export_type: Any = None,
    opset_version: int | None = None,
    do_constant_folding: bool = True,
    dynamic_axes: Any = None,
    keep_initializers_as_inputs: bool | None = None,
    fixed_batch_size: bool = False,
    custom_opsets: Mapping[str, int] | None = None,
    add_node_names: bool = True,
    onnx_shape_inference: bool = True,
    export_modules_as_functions: Any = False,
    autograd_inlining: bool = True,
    **former: Any,
) -> Any:
    """:func:`export`, and what the module itself gives for the arguments: of old programs, which compare that with the model's results.

    Args:
        export_type: None, or a protobuf file's; other forms are not written.
        fixed_batch_size, add_node_names, onnx_shape_inference: Accepted, as torch's takes them, and change nothing.
        former: Arguments that :func:`export` had in older versions.
    """
    if export_type is not None and "protobuf" not in str(export_type).lower():  # an enumeration once, then a text
        raise UnsupportedOptionError(f"export_type is {export_type}; only protobuf files are written: leave it out")
    export(
        model, args, f, export_params=export_params, verbose=verbose, training=training, input_names=input_names, output_names=output_names,
        operator_export_type=operator_export_type, opset_version=opset_version, do_constant_folding=do_constant_folding,
        dynamic_axes=dynamic_axes, keep_initializers_as_inputs=keep_initializers_as_inputs, custom_opsets=custom_opsets,
        export_modules_as_functions=export_modules_as_functions, autograd_inlining=autograd_inlining, **former,
    )  # fmt: skip
    given, named = copied(example_call(model, args, None))
    mode = training if isinstance(training, TrainingMode) else TrainingMode.TRAINING if training else TrainingMode.EVAL
    kept = kept_state(model) if isinstance(model, torch.nn.Module) else contextlib.nullcontext()
    with select_model_mode_for_export(model, mode), exporting(in_onnx_export=True), kept_random_numbers(), kept:
        return with_the_gradients_it_asks_for(lambda: model(*given, **named))


# --- what an export would give -----------------------------------------------------------


def export_to_pretty_string(model: Any, args: Any, **options: Any) -> str:
    """The model that :func:`export` gives, as text. Takes what :func:`export` takes, but no path.

    ``export_type``, ``google_printer`` and ``add_node_names`` of torch's exporter are
    accepted and change nothing.
    """
    for name in ("export_type", "google_printer", "add_node_names", "export_params"):
        options.pop(name, None)
    return export(model, args, export_params=False, **options).text()


# What None stands for, in calls written for older versions of torch.
_DEFAULTS = {
    "operator_export_type": OperatorExportTypes.ONNX,
    "training": TrainingMode.EVAL,
}


def without_nones(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with their defaults where they are None and must not be."""
    return {name: _DEFAULTS.get(name) if value is None else value for name, value in options.items()}


def unconvertible_ops(
    model: Any,
    args: Any,
    training: Any = TrainingMode.EVAL,
    opset_version: int | None = None,
) -> tuple[Any, list[str]]:
    """Every operator of the model that cannot be converted, found in one run.

    Returns:
        The TorchScript graph, and the operators' names without overloads, sorted.
    """
    arguments = (args,) if isinstance(args, torch.Tensor) else tuple(args)
    with select_model_mode_for_export(model, training):
        graph = _graph(model, arguments)
        try:
            export(
                model,
                arguments,
                training=TrainingMode.PRESERVE,
                opset_version=opset_version,
                optimize=False,
                export_params=False,
            )
        except OnnxExporterError as error:
            failed = {each.location.operation for each in error.diagnostics if each.severity == "error"}
            if "" in failed or not failed:
                raise
            return graph, sorted({name.partition(".")[0] for name in failed})
    return graph, []


def _graph(model: Any, args: Sequence[Any]) -> Any:
    if isinstance(model, torch.jit.ScriptFunction):
        graph = model.graph.copy()
    elif isinstance(model, torch.jit.ScriptModule):
        graph = model.forward.graph.copy()
    else:
        with exporting(in_onnx_export=True):
            graph = torch.jit.trace(model, tuple(args), check_trace=False, strict=False).forward.graph.copy()
    torch._C._jit_pass_inline(graph)
    return graph


def model_signature(model: Any) -> inspect.Signature:
    return inspect.signature(model.forward if isinstance(model, torch.nn.Module) else model)


def warn_on_static_input_change(input_states: tuple[Any, Any]) -> None:
    """Warn of dicts and texts among a model's inputs that the model itself changed: the export has what they were."""
    for before, after in zip(*input_states):
        if isinstance(before, dict) and list(before) != list(after):
            warn("the keys of a dict among the inputs changed while the model ran; they are constants")
        elif isinstance(before, str) and before != after:
            warn("a text among the inputs changed while the model ran; it is a constant")


def unpack_quantized_tensor(value: Any, cast_onnx_accepted: bool = True) -> tuple[Any, ...]:
    """A quantized tensor as its integers, scale and zero point; anything else as itself.

    Args:
        cast_onnx_accepted: The scale is float32, as ONNX's operators want it.
    """
    if not isinstance(value, torch.Tensor) or not value.is_quantized:
        return (value,)
    scale = torch.tensor(value.q_scale(), dtype=torch.float32 if cast_onnx_accepted else torch.double)
    return value.int_repr(), scale, torch.tensor(value.q_zero_point(), dtype=torch.int64)


# --- nested graphs: symbolic functions that add If and Loop nodes call these -----------------


def _add_block(node: Any) -> Any:
    return node.addBlock()


def _add_input_to_block(block: Any) -> Any:
    return block.addInputToBlock()


def _add_output_to_block(block: Any, value: Any) -> int:
    return block.registerOutput(value)
