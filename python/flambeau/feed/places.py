"""Where in the user's model a captured node comes from."""

from __future__ import annotations

from typing import Any

import torch

__all__ = ["calls_around", "modules_of", "trace_of"]

_FRAME = 'File "'
_NO_MODULES = "_empty_nn_module_stack_from_metadata_hook"


def modules_of(node: torch.fx.Node, *around: torch.fx.Node) -> dict[str, tuple[str, Any]] | None:
    """Path and class of each module that the node is within, outermost first; None if that is not known.

    Args:
        node: The node.
        around: The nodes that stand for the graphs around it, innermost first: captures often do not say more of what is
            within a branch or loop.
    """
    modules = node.meta.get("nn_module_stack")
    if modules and _NO_MODULES not in modules:
        return modules
    return modules_of(*around) if around else None


def calls_around(graph: torch.fx.Graph) -> dict[str, dict[str, str]]:
    """The calls of modules around each node, by its name: path → which one, as torch.export tells calls apart."""
    return {node.name: {path: call for call, (path, _) in (modules_of(node) or {}).items()} for node in graph.nodes}


def trace_of(node: torch.fx.Node, *around: torch.fx.Node) -> str:
    """The lines of Python that called it, innermost last. What torch made up to capture a branch or loop is none of them."""
    trace = node.meta.get("stack_trace") or ""
    while (last := trace.rfind(_FRAME)) >= 0 and trace[last + len(_FRAME) :].startswith("<"):
        trace = trace[:last]
    if trace.strip():
        return trace
    return trace_of(*around) if around else ""
