"""The graph that a symbolic function made, as an ONNX model that the engine takes in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import onnx
import torch
from onnx import AttributeProto, GraphProto, NodeProto, helper

from ..errors import OnnxExporterError
from ..feed.script_graph import attribute_kind
from ..forms import is_written_alike
from ._globals import GLOBALS
from ._shapes import tensor_proto
from .jit_utils import GraphContext, parse_node_kind

__all__ = ["DOMAINS", "INLINED", "Writer", "constant_node", "model_of", "with_local_functions"]

INLINED = "flambeau::Inlined"
# TorchScript's namespaces as domains.
DOMAINS = {"onnx": "", "aten": "org.pytorch.aten", "prim": "org.pytorch.prim"}

_BODIES = {"If": ("then_branch", "else_branch"), "Loop": ("body",), "Scan": ("body",)}
_READERS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "f": (AttributeProto.FLOAT, float),
    "fs": (AttributeProto.FLOATS, list),
    "i": (AttributeProto.INT, int),
    "is": (AttributeProto.INTS, list),
    "s": (AttributeProto.STRING, str.encode),
    "ss": (AttributeProto.STRINGS, lambda texts: [text.encode() for text in texts]),
    "t": (AttributeProto.TENSOR, tensor_proto),
    "ts": (AttributeProto.TENSORS, lambda tensors: [tensor_proto(tensor) for tensor in tensors]),
}
_FIELDS = {"f": "f", "fs": "floats", "i": "i", "is": "ints", "s": "s", "ss": "strings", "t": "t", "ts": "tensors"}


def _attribute(node: Any, name: str) -> AttributeProto:
    kind = attribute_kind(node, name)
    if kind not in _READERS:
        raise OnnxExporterError(f"the attribute '{name}' of {node.kind()} is of the kind '{kind}', which ONNX does not have")
    type_, read = _READERS[kind]
    proto = AttributeProto(name=name, type=type_)
    value = read(getattr(node, kind)(name))
    field = getattr(proto, _FIELDS[kind])
    if kind.endswith("s") and kind != "s":
        field.extend(value)
    elif kind == "t":
        field.CopyFrom(value)
    else:
        setattr(proto, _FIELDS[kind], value)
    return proto


def constant_node(name: str, tensor: torch.Tensor) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=tensor_proto(tensor))


class Writer:
    """Nodes of one context as ONNX's."""

    def __init__(self, context: GraphContext) -> None:
        self.context = context
        self.domains: set[str] = set()
        self._fresh = 0

    def name(self, value: Any) -> str:
        return f"value_{value.unique()}"

    def node(self, node: Any) -> list[NodeProto]:
        """A node, after what its inputs need."""
        kind = node.kind()
        domain, op = parse_node_kind(kind)
        if kind == INLINED:
            return self._inlined(node)
        if kind == "onnx::Constant" and list(node.attributeNames()) == ["value"] and node.kindOf("value") == "t":
            return [constant_node(self.name(node.output()), node.t("value"))]
        if domain == "prim" and op == "Constant":
            return self._python_constant(node)
        if domain == "prim" and op in ("ListConstruct", "TupleConstruct"):
            return []  # written where it is used
        before: list[NodeProto] = []
        inputs = [self._input(value, before) for value in node.inputs()]
        while inputs and not inputs[-1]:
            inputs.pop()
        made = NodeProto(
            op_type=op, domain=DOMAINS.get(domain, domain), input=inputs, output=[self.name(value) for value in node.outputs()]
        )
        made.attribute.extend(_attribute(node, name) for name in node.attributeNames())
        blocks = list(node.blocks())
        if blocks:
            names = _BODIES.get(op, ())
            if domain != "onnx" or len(names) != len(blocks):
                raise OnnxExporterError(f"{kind} has {len(blocks)} nested graphs, which is not ONNX's number of them")
            for attribute, block in zip(names, blocks):
                body = self.graph(block, list(block.inputs()), list(block.outputs()), attribute)
                made.attribute.append(helper.make_attribute(attribute, body))
        if made.domain:
            self.domains.add(made.domain)
        return [*before, made]

    def _input(self, value: Any, before: list[NodeProto]) -> str:
        node = value.node()
        if node.kind() == "prim::ListConstruct":
            return self._list(value, before)
        return "" if node.mustBeNone() else self.name(value)

    def _list(self, value: Any, before: list[NodeProto]) -> str:
        """A list as an input: of tensors a sequence, of numbers a vector."""
        elements = list(value.node().inputs())
        self._fresh += 1
        name = f"{self.name(value)}_list_{self._fresh}"
        element = value.type().getElementType()
        if isinstance(element, torch._C.TensorType):
            op = helper.make_node("SequenceConstruct", [self._input(each, before) for each in elements], [name])
            before.append(op)
            return name
        makers = [each.node() for each in elements]
        tensors = [maker.t("value") if maker.kind() == "onnx::Constant" and maker.hasAttribute("value") else None for maker in makers]
        if all(tensor is not None for tensor in tensors):
            dtype = torch.float32 if isinstance(element, torch._C.FloatType) else torch.int64
            joined = torch.stack([tensor.reshape(()) for tensor in tensors]) if tensors else torch.empty(0, dtype=dtype)
            before.append(constant_node(name, joined))
            return name
        before.append(constant_node(f"{name}_shape", torch.tensor([-1])))
        parts = []
        for i, each in enumerate(elements):
            parts.append(f"{name}_{i}")
            before.append(helper.make_node("Reshape", [self._input(each, before), f"{name}_shape"], [parts[-1]]))
        before.append(helper.make_node("Concat", parts, [name], axis=0))
        return name

    def _python_constant(self, node: Any) -> list[NodeProto]:
        value = node.output().toIValue()
        if isinstance(value, (bool, int, float)) or (isinstance(value, list) and value):
            value = torch.tensor(value)
        return [constant_node(self.name(node.output()), value)] if isinstance(value, torch.Tensor) else []

    def _inlined(self, node: Any) -> list[NodeProto]:
        """The nodes of a model, between this node's inputs and outputs."""
        graph = GraphProto()
        graph.CopyFrom(self.context.inlined[node.i("index")].graph)
        self._fresh += 1
        before: list[NodeProto] = []
        names = {each.name: self._input(value, before) for each, value in zip(graph.input, node.inputs(), strict=True)}
        outputs = [self.name(value) for value in node.outputs()]
        _rename(graph, names, f"inlined_{self._fresh}_")
        constants = [helper.make_node("Constant", [], [tensor.name], value=tensor) for tensor in graph.initializer]
        ends = [
            helper.make_node("Identity", [inner.name], [outer]) for inner, outer in zip(graph.output, outputs, strict=True)
        ]
        self.domains |= {each.domain for each in graph.node if each.domain}
        return [*before, *constants, *graph.node, *ends]

    def graph(self, block: Any, inputs: Sequence[Any], outputs: Sequence[Any], name: str) -> GraphProto:
        proto = GraphProto(name=name)
        for value in inputs:
            proto.input.append(self._value_info(value))
        for node in _needed(block, outputs):
            proto.node.extend(self.node(node))
            if not node.kind().startswith("prim::"):
                proto.value_info.extend(info for value in node.outputs() if (info := self._value_info(value)).HasField("type"))
        known = {each.name for each in proto.input} | {output for node in proto.node for output in node.output}
        for value in outputs:
            before: list[NodeProto] = []
            info = self._value_info(value)
            info.name = self._input(value, before)
            proto.node.extend(before)
            # A name can be an output once, and only what this graph makes can be one.
            if info.name in {each.name for each in proto.output} or (name and not before and info.name not in known):
                self._fresh += 1
                fresh = f"{info.name}_output_{self._fresh}"
                proto.node.append(helper.make_node("Identity", [info.name], [fresh]))
                info.name = fresh
            proto.output.append(info)
        return proto

    def _value_info(self, value: Any) -> onnx.ValueInfoProto:
        info = onnx.ValueInfoProto(name=self.name(value))
        type_ = self.context.sizes.to_onnx(value.type())
        if type_ is not None:
            info.type.CopyFrom(type_)
        return info


def _needed(block: Any, outputs: Iterable[Any]) -> list[Any]:
    """The nodes of the block that its outputs need, in order."""
    nodes = list(block.nodes())
    wanted = {value.unique() for value in outputs}
    needed = []
    for node in reversed(nodes):
        if not any(value.unique() in wanted for value in node.outputs()):
            continue
        needed.append(node)
        pending = [node]
        while pending:
            each = pending.pop()
            wanted |= {value.unique() for value in each.inputs()}
            for inner in each.blocks():
                wanted |= {value.unique() for value in inner.outputs()}
                pending.extend(inner.nodes())
    return needed[::-1]


def _rename(graph: GraphProto, names: Mapping[str, str], prefix: str) -> None:
    """Give every value of a graph a name of its own, except those in `names`."""
    renamed = dict(names)

    def new(name: str) -> str:
        return name and renamed.get(name, prefix + name)

    pending = [graph]
    while pending:
        each = pending.pop()
        for node in each.node:
            node.input[:] = [new(name) for name in node.input]
            node.output[:] = [new(name) for name in node.output]
            node.name = ""
            pending.extend(attribute.g for attribute in node.attribute if attribute.HasField("g"))
        for value in (*each.input, *each.output, *each.value_info, *each.initializer):
            value.name = new(value.name)




def model_of(context: GraphContext, inputs: Sequence[Any], outputs: Sequence[Any]) -> onnx.ModelProto:
    """The model that computes the outputs from the inputs.

    Calls of ONNX Script functions stay calls, of local functions of the model, if the types
    of their results are known; else the functions' bodies are in their places.
    """
    writer = Writer(context)
    graph = writer.graph(context.graph, inputs, outputs, "")
    graph.name = "translation"
    imports = [helper.make_opsetid("", context.opset), *(helper.make_opsetid(domain, 1) for domain in sorted(writer.domains))]
    model = helper.make_model(graph, opset_imports=imports, ir_version=10)
    if not context.functions:
        return model
    functions = _function_protos(context)
    if all(_has_type(value) for node in context.new_nodes if _called(node) in context.functions for value in node.outputs()):
        GLOBALS.local_functions.update(functions)
        return model
    return _inlined(model, functions)


def _called(node: Any) -> tuple[str, str]:
    return parse_node_kind(node.kind())


def _has_type(value: Any) -> bool:
    return isinstance(value.type(), torch._C.TensorType) and value.type().scalarType() is not None


def _function_protos(context: GraphContext) -> dict[tuple[str, str], onnx.FunctionProto]:
    """The functions that are called, and what these call, for the opset of the model.

    Raises:
        OnnxExporterError: One is written for an opset that has an operator in another form.
    """
    import onnx_ir as ir

    protos: dict[tuple[str, str], onnx.FunctionProto] = {}
    for function in context.functions.values():
        for body in (function.function_ir, *(each.function_ir for each in function.function_ir.get_called_functions().values())):
            _require_opset(body, context.opset)
            proto = ir.to_proto(body)
            for each in proto.opset_import:
                if not each.domain:
                    each.version = context.opset
            protos.setdefault((proto.domain, proto.name), proto)
    return protos


def _require_opset(body: Any, opset: int) -> None:
    import onnx_ir as ir

    version = body.opset_imports.get("", opset)
    for node in ir.traversal.RecursiveGraphIterator(body.graph):
        if not is_written_alike(node, version, opset):
            raise OnnxExporterError(
                f"the ONNX Script function {body.domain}::{body.name} uses {node.op_type} of opset {version}, which the model's, {opset}, "
                f"does not have in that form: export with opset_version={version}, or write the function for opset {opset}"
            )


def _inlined(model: onnx.ModelProto, functions: Mapping[tuple[str, str], onnx.FunctionProto]) -> onnx.ModelProto:
    import onnx_ir as ir
    from onnx_ir.passes import common

    model.functions.extend(functions.values())
    inlined = ir.from_proto(model)
    for identifier in inlined.functions:
        inlined.graph.opset_imports.setdefault(identifier[0], 1)
    common.InlinePass()(inlined)
    return ir.to_proto(inlined)


def with_local_functions(model: onnx.ModelProto, functions: Mapping[tuple[str, str], onnx.FunctionProto]) -> onnx.ModelProto:
    """The model with those of the functions that it calls; the model itself if it calls none."""
    called: dict[tuple[str, str], onnx.FunctionProto] = {}
    pending = list(model.graph.node)
    while pending:
        node = pending.pop()
        key = (node.domain, node.op_type)
        if key in functions and key not in called:
            called[key] = functions[key]
            pending.extend(functions[key].node)
        for attribute in node.attribute:
            pending.extend(attribute.g.node)
    if not called:
        return model
    finished = onnx.ModelProto()
    finished.CopyFrom(model)
    finished.functions.extend(called[key] for key in sorted(called))
    imported = {each.domain for each in model.opset_import}
    for each in [each for function in finished.functions for each in function.opset_import]:
        if each.domain not in imported:
            finished.opset_import.append(each)
            imported.add(each.domain)
    return finished
