"""The parts of a Markdown report that show the captured program and the model, as those of torch.onnx do."""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch.export import ExportedProgram

    from . import _engine

__all__ = ["sections"]


def sections(exported: ExportedProgram | None, engine_model: _engine.Model | None) -> str:
    """Text to put after the engine's report; what is not there has no section."""
    text = ""
    if exported is not None:
        text += f"## Exported program\n\n```python\n{exported}\n```\n\n"
    if engine_model is not None:
        from .onnx._readable import readable

        text += f"## ONNX model\n\n```\n{readable(engine_model)}```\n\n"
    if exported is not None:
        text += _analysis(exported)
    return text


def _analysis(exported: ExportedProgram) -> str:
    signature = exported.graph_signature
    parameters = [exported.state_dict[name] for name in signature.parameters if name in exported.state_dict]
    buffers = [tensor for name in signature.buffers if (tensor := exported.state_dict.get(name, exported.constants.get(name))) is not None]
    calls = collections.Counter(str(node.target) for node in exported.graph.nodes if node.op == "call_function")
    lines = [
        "## Analysis",
        "",
        f"The model has {_elements(parameters):,} parameters{_by_dtype(parameters)} and {_elements(buffers):,} elements in "
        f"buffers{_by_dtype(buffers)}. The captured graph calls {sum(calls.values())} operators:",
        "",
        *(f"- `{target}`: {count}" for target, count in calls.most_common()),
    ]
    return "\n".join(lines) + "\n"


def _elements(tensors: Iterable[Any]) -> int:
    return sum(tensor.numel() for tensor in tensors)


def _by_dtype(tensors: Iterable[Any]) -> str:
    counts = collections.Counter[str]()
    for tensor in tensors:
        counts[str(tensor.dtype).removeprefix("torch.")] += tensor.numel()
    return f" ({', '.join(f'{dtype}: {count:,}' for dtype, count in counts.items())})" if counts else ""
