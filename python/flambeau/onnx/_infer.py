"""Types of the nodes that symbolic functions make, by ONNX's own inference."""

from __future__ import annotations

from typing import Any

import onnx
import onnx.checker
import onnx.shape_inference
from onnx import helper

from ._globals import GLOBALS
from .jit_utils import GraphContext

__all__ = ["infer_types"]


def infer_types(g: GraphContext, node: Any) -> None:
    """Set the types of a node's outputs, as far as ONNX knows them."""
    from ._write import INLINED, Writer

    if node.kind() == "onnx::Constant" and node.hasAttribute("value") and node.kindOf("value") == "t":
        node.output().inferTypeFrom(node.t("value"))
        return
    domain, _, op = node.kind().partition("::")
    if not GLOBALS.onnx_shape_inference or domain != "onnx" or node.kind() == INLINED:
        return
    try:
        schema = onnx.defs.get_schema(op, g.opset, "")
        *before, proto = Writer(g).node(node)
        if before:
            return
        types, constants = {}, {}
        for value, name in zip(node.inputs(), proto.input):
            type_ = g.sizes.to_onnx(value.type())
            if name and type_ is not None:
                types[name] = type_
            made_by = value.node()
            if made_by.kind() == "onnx::Constant" and made_by.hasAttribute("value") and made_by.kindOf("value") == "t":
                constants[name] = Writer(g).node(made_by)[0].attribute[0].t
        inferred = onnx.shape_inference.infer_node_outputs(
            schema, proto, types, constants, opset_imports=[helper.make_opsetid("", g.opset)]
        )
    except (onnx.defs.SchemaError, onnx.shape_inference.InferenceError, onnx.checker.ValidationError, KeyError, ValueError):
        return  # an input has no type; or the engine reports what is wrong with the node
    for value, name in zip(node.outputs(), proto.output):
        if name in inferred and (type_ := g.sizes.from_onnx(inferred[name])) is not None:
            value.setType(type_)
