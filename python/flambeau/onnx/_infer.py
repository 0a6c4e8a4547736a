"""Types of the nodes that symbolic functions make, by ONNX's own inference, and what shapes they compute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy
import onnx
import onnx.checker
import onnx.reference
import onnx.shape_inference
import torch
from onnx import NodeProto, TensorProto, helper

from ._globals import GLOBALS
from ._shapes import tensor_proto
from .jit_utils import GraphContext, constant_tensor

__all__ = ["infer_types"]

_OF_SHAPES = frozenset({
    "Add", "Cast", "Concat", "ConstantOfShape", "Div", "Equal", "Expand", "Gather", "Identity", "Mul", "Range", "ReduceProd", "Reshape", "Slice",
    "Sub", "Squeeze", "Unsqueeze", "Where",
})  # fmt: skip
"""Operators by which symbolic functions compute shapes."""
_LARGEST = 64
"""Elements of a tensor that is computed for its shape to be known."""


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
            if name and (known := _known(g, value)) is not None:
                constants[name] = tensor_proto(known)
        inferred = onnx.shape_inference.infer_node_outputs(
            schema, proto, types, constants, opset_imports=[helper.make_opsetid("", g.opset)]
        )
    except (onnx.defs.SchemaError, onnx.checker.ValidationError):
        return
    except (onnx.shape_inference.InferenceError, KeyError, ValueError):
        _infer_dtypes(node, schema)  # an input has no type; or the engine reports what is wrong with the node
        return
    for value, name in zip(node.outputs(), proto.output):
        if name in inferred and (type_ := g.sizes.from_onnx(inferred[name])) is not None:
            value.setType(type_)
    if op in ("Reshape", "ConstantOfShape"):
        _infer_rank(node)
    _compute(g, node, op, proto, constants)


def _known(g: GraphContext, value: Any) -> torch.Tensor | None:
    """What a value is known to be: a constant, or computed of shapes that are known."""
    constant = constant_tensor(value)
    return g.known.get(value.unique()) if constant is None else constant


def _compute(g: GraphContext, node: Any, op: str, proto: NodeProto, constants: Mapping[str, TensorProto]) -> None:
    """Note what the node computes, if it can only be one thing and may be a shape."""
    if op == "Shape":
        sizes = next(node.inputs()).type().sizes()
        if sizes is not None and all(isinstance(size, int) for size in sizes):
            ends = {attribute.name: attribute.i for attribute in proto.attribute}
            g.known[node.output().unique()] = torch.tensor(sizes[ends.get("start", 0) : ends.get("end")], dtype=torch.int64)
        return
    type_ = node.output().type() if node.outputsSize() == 1 else None
    sizes = type_.sizes() if isinstance(type_, torch._C.TensorType) else None
    small = sizes is not None and None not in sizes and torch.Size(sizes).numel() <= _LARGEST
    if op not in _OF_SHAPES or not small or any(name and name not in constants for name in proto.input):
        return
    graph = helper.make_graph([proto], "", [], [helper.make_empty_tensor_value_info(proto.output[0])])
    for name, tensor in constants.items():
        graph.initializer.add().CopyFrom(tensor)
        graph.initializer[-1].name = name
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", g.opset)])
    try:
        (result,) = onnx.reference.ReferenceEvaluator(model).run(None, {})
    except Exception:  # of a node that no runtime could compute either
        return
    g.known[node.output().unique()] = torch.tensor(numpy.array(result, order="C"))  # what is sliced from its end runs backwards


def _infer_rank(node: Any) -> None:
    """As many dimensions as a shape has elements, where it is computed."""
    output, shape = node.output(), list(node.inputs())[-1].type()
    length = shape.sizes() if isinstance(shape, torch._C.TensorType) else None
    if not isinstance(output.type(), torch._C.TensorType) or output.type().dim() is not None or not length or length[0] is None:
        return
    output.setType(output.type().with_sizes([None] * length[0]))


def _infer_dtypes(node: Any, schema: Any) -> None:
    """What a schema says of the outputs' dtypes by those inputs that have one."""
    known: dict[str, torch.dtype] = {}
    for i, value in enumerate(node.inputs()):
        formal = schema.inputs[min(i, len(schema.inputs) - 1)].type_str if schema.inputs else ""
        dtype = value.type().dtype() if isinstance(value.type(), torch._C.TensorType) else None
        if dtype is not None:
            known.setdefault(formal, dtype)
    for value, formal in zip(node.outputs(), schema.outputs):
        if formal.type_str in known and value.type().dtype() is None:
            value.setType(torch._C.TensorType.get().with_dtype(known[formal.type_str]))
        elif formal.type_str == "tensor(bool)":
            value.setType(torch._C.TensorType.get().with_dtype(torch.bool))
