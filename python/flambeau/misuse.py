"""Arguments of an export that are outdated, misspelt or of the wrong type, and errors of the model itself."""

from __future__ import annotations

import difflib
import inspect
import io
import os
import re
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.utils import _pytree

from .eager import copied, with_the_gradients_it_asks_for
from .errors import warn
from .onnx._enums import OperatorExportTypes, TrainingMode
from .state import kept_state

__all__ = [
    "failure_of_the_model", "refuse_unknown_names", "refuse_wrong_types", "warn_of_training_mode", "with_current_arguments", "with_current_positions",
    "without_boilerplate",
]  # fmt: skip


# Arguments of torch.onnx.export's older versions, and what is given for them now: None where there is nothing to say any more.
_FORMER: dict[str, Callable[[Any], dict[str, Any]] | None] = {
    "example_outputs": None,
    "enable_onnx_checker": None,
    "_retain_param_name": None,
    "fallback": lambda value: {"capture_strategies": ["non-strict", "strict", "torchscript"]} if value else {},
    "aten": lambda value: {"operator_export_type": OperatorExportTypes.ONNX_ATEN} if value else {},
    "strip_doc_string": lambda value: {} if value else {"metadata": "debug"},
    "use_external_data_format": lambda value: {"external_data": bool(value)},
}


def with_current_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with arguments of older versions of ``torch.onnx.export`` replaced by today's; a warning names them."""
    former = [name for name in options if name in _FORMER]
    today = {name: value for name, value in options.items() if name not in _FORMER}
    for name in former:
        replacement = _FORMER[name]
        today |= {} if replacement is None else replacement(options[name])
    if former:
        warn(f"{', '.join(map(repr, former))}: arguments of older versions of torch.onnx.export; leave out what has no meaning any more")
    if isinstance(training := today.get("training"), bool):
        today["training"] = TrainingMode.TRAINING if training else TrainingMode.EVAL
    if today.get("operator_export_type", OperatorExportTypes.ONNX) is None:
        del today["operator_export_type"]
    return today


# What followed `f` by position in all versions of torch.onnx.export that took more than three arguments so.
_FORMER_POSITIONS = ("export_params", "verbose", "training", "input_names", "output_names")


def with_current_positions(args: tuple[Any, ...], options: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments as today's ``torch.onnx.export`` takes them, where an older version's took more by position; a warning names them.

    Raises:
        TypeError: There are too many, or one is given by name, too.
    """
    positions = 3
    more = args[positions:]
    if len(more) > len(_FORMER_POSITIONS):
        raise TypeError(f"export() takes a model, args and f by position, not {len(args)} arguments: give the others by name, as in opset_version=20")
    named = dict(zip(_FORMER_POSITIONS, more))
    if twice := named.keys() & options.keys():
        raise TypeError(f"export() got {', '.join(map(repr, sorted(twice)))} by position and by name")
    if named:
        warn(f"arguments after f are taken for {', '.join(named)}, as older versions of torch.onnx.export had them by position: give them by name")
    return args[:positions], {**options, **named}


def refuse_unknown_names(function: Callable[..., Any], given: Iterable[str]) -> None:
    """Raises:
    TypeError: A keyword argument has no such name; the message has the nearest.
    """
    known = list(inspect.signature(function).parameters)
    for name in given:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.6) or [each for each in known if each.startswith(name)]
            hint = f"; did you mean '{near[0]}'?" if near else ""
            raise TypeError(f"{function.__name__}() has no argument '{name}'{hint}")


# What an option may be, and how that is said.
_NAMES = "a sequence of names, such as ['x']"
_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "opset_version": (lambda value: isinstance(value, int) and not isinstance(value, bool), "an int, such as 20"),
    "training": (lambda value: isinstance(value, TrainingMode), "a torch.onnx.TrainingMode, such as TrainingMode.EVAL"),
    "operator_export_type": (
        lambda value: isinstance(value, OperatorExportTypes),
        "a torch.onnx.OperatorExportTypes, such as OperatorExportTypes.ONNX",
    ),
    "f": (
        lambda value: isinstance(value, (str, os.PathLike)) and value != "" or hasattr(value, "write") and not isinstance(value, io.TextIOBase),
        "a path, or a file that is open for writing bytes (mode 'wb')",
    ),
    "kwargs": (lambda value: isinstance(value, Mapping), "a dict of arguments by name"),
    "input_names": (lambda value: not isinstance(value, (str, bytes)) and isinstance(value, Iterable), _NAMES),
    "output_names": (lambda value: not isinstance(value, (str, bytes)) and isinstance(value, Iterable), _NAMES),
    "dynamic_axes": (lambda value: isinstance(value, Mapping), "a dict by names of inputs and outputs, such as {'x': {0: 'batch'}}"),
    "custom_translation_table": (lambda value: isinstance(value, Mapping), "a dict, such as {torch.ops.aten.relu.default: function}"),
    "custom_opsets": (lambda value: isinstance(value, Mapping), "a dict of versions by domain, such as {'mylib': 1}"),
    "user_metadata": (lambda value: isinstance(value, Mapping), "a dict of texts by key"),
}


def refuse_wrong_types(options: Mapping[str, Any]) -> None:
    """Raises:
    TypeError: An option has a value of another type; the message says of which it must be.
    """
    for name, (fits, words) in _TYPES.items():
        value = options.get(name)
        if value is not None and not fits(value):
            raise TypeError(f"{name} is {reprlib.repr(value)}; it must be {words}")


def warn_of_training_mode(model: torch.nn.Module) -> None:
    """Say that a module in training mode, or a part of it that is, is converted in evaluation mode, where that makes a difference."""
    names = [name or "the model itself" for name, module in model.named_modules() if _asks_for_its_mode(module)]
    if names:
        warn(
            f"{'the model' if getattr(model, 'training', False) else 'a part of the model'} is in training mode, and is converted in evaluation mode, which makes a difference to {_listed(names)}: "
            "call model.eval() before, or say training=TrainingMode.PRESERVE to convert it as it is"
        )


def _is_the_same_in_both_modes(module: torch.nn.Module) -> bool:
    """Whether it drops nothing, or is a norm without running statistics."""
    rates = (getattr(module, name, None) for name in ("p", "dropout", "drop_prob"))
    if any(isinstance(rate, (int, float)) and rate == 0 for rate in rates):
        return True
    if isinstance(module, torch.nn.RReLU):
        return module.lower == module.upper
    return getattr(module, "track_running_stats", None) is False and getattr(module, "running_mean", None) is None


def _asks_for_its_mode(module: torch.nn.Module) -> bool:
    if not getattr(module, "training", False) or _is_the_same_in_both_modes(module):
        return False
    if isinstance(module, torch.jit.ScriptModule):  # a trace recorded its mode, and has no program of `forward`
        graph = getattr(getattr(module, "forward", None), "graph", None)
        return graph is not None and any(node.s("name") == "training" for node in graph.findAllNodes("prim::GetAttr", True))
    code = getattr(type(module).forward, "__code__", None)
    return code is not None and "training" in code.co_names


def _listed(names: list[str]) -> str:
    shown = 3
    return ", ".join(names[:shown]) + (f" and {len(names) - shown} more" if len(names) > shown else "")


def failure_of_the_model(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Exception | None:
    """What the module itself raises for these arguments, in the mode that it is in; None if it runs, or cannot be run."""
    leaves = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    weights = [*model.parameters(), *model.buffers()]
    if any(tensor.is_meta or isinstance(tensor, torch._subclasses.FakeTensor) for tensor in [*leaves, *weights]):
        return None

    def run() -> None:
        given, named = copied((args, kwargs))
        with torch.random.fork_rng(devices=[]), kept_state(model):
            model(*given, **named)

    try:
        with_the_gradients_it_asks_for(run)
    except Exception as error:
        return error
    return None


_BOILERPLATE = (
    "For more information about this error",
    "For more information, run with",
    "For extended logs",
    "If you suspect the guard",
    "For more debugging help",
    "For C++ stack trace",
    "The error above occurred when calling torch.export.export",
    "consider using data-dependent friendly APIs",
    "The following call raised this error:",
    "Caused by: (",
)


# "Could not guard on data-dependent expression Eq(u0, 1) (unhinted: Eq(u0, 1)).  (Size-like symbols: none)"
_OF_SYMBOLS = re.compile(r" \(unhinted: .*\)\.\s+\(Size-like symbols: [^)]*\)")


def without_boilerplate(message: str) -> str:
    """torch's error without what it says in each."""
    kept: list[str] = []
    for line in _OF_SYMBOLS.sub("", message).splitlines():
        if not line.startswith(_BOILERPLATE) and (line.strip() or (kept and kept[-1].strip())):
            kept.append(line)
    return "\n".join(kept).rstrip()
