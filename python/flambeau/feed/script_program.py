"""TorchScript programs, scripted or traced, as the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .. import _engine
from ..errors import error_of
from .script_graph import PythonFunctions, import_graph
from .script_inputs import Script, method_of, module_of, script_parameters
from .trace import Trace, import_trace

__all__ = ["build_script_program"]


def _inlined(graph: Any) -> Any:
    """A copy without calls of functions and methods."""
    graph = graph.copy()
    torch._C._jit_pass_inline(graph)
    torch._C._jit_pass_inline_fork_wait(graph)  # ONNX has no threads
    torch._C._jit_pass_inline(graph)  # what was forked
    return graph


def build_script_program(
    model: Script | Trace,
    inputs: Sequence[_engine.ScriptInput],
    *,
    bound: bool = False,
    packed: bool = False,
    functions: PythonFunctions | None = None,
    options: _engine.Options | None = None,
) -> _engine.Program:
    """Hand a TorchScript program to the engine, for these inputs. Weights are passed by pointer.

    Args:
        model: The module, function or trace. Its tensors must stay unchanged until
            the converted model is saved.
        inputs: What the program gets for each input (see :func:`describe_inputs`).
        bound: The module comes from :func:`.tracing.trace`.
        packed: An argument is a PackedSequence (see :func:`takes_packed`).
        functions: What becomes of autograd functions; None refuses them.
        options: Those of the conversion.

    Raises:
        OnnxExporterError: The program holds what the engine does not convert.
    """
    if isinstance(model, Trace):
        builder = import_trace(model, _inlined(model.graph), functions)
    else:
        module = module_of(model)
        graph = _inlined(method_of(model, packed).graph)
        names = script_parameters(model, packed)
        builder = import_graph(graph, module, names=names, bound=bound, functions=functions)
    options = options or _engine.Options()
    if functions is not None:
        options.set_translations(functions.translators())
    program, diagnostics = builder.finish(list(inputs), options)
    if program is None:
        raise error_of(diagnostics)
    return program
