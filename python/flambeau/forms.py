"""Operators of ONNX across opsets."""

from __future__ import annotations

from typing import Any

__all__ = ["is_written_alike"]


def is_written_alike(node: Any, version: int, opset: int) -> bool:
    """Whether a node of ``onnx_ir``, written for one opset, says the same at another."""
    import onnx

    if node.domain or version == opset:
        return True
    try:
        given, target = (onnx.defs.get_schema(node.op_type, at, "") for at in (version, opset))
    except onnx.defs.SchemaError:
        return False
    inputs = [value.name for value in given.inputs][: len(node.inputs)]
    return (
        inputs == [value.name for value in target.inputs][: len(inputs)]
        and len(node.outputs) <= target.max_output
        and all(name in target.attributes for name in node.attributes)
        and all(
            given.attributes[name].default_value == target.attributes[name].default_value
            for name in given.attributes
            if name in target.attributes
        )
        and not any(attribute.required for name, attribute in target.attributes.items() if name not in node.attributes)
    )
