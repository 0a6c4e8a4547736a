"""A model as text, in the form of TorchScript's graphs: types, operators, scopes, and lines of the source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .. import _engine
from ..errors import error_of

__all__ = ["readable"]

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')
_LONGEST_LIST = 16


def readable(engine_model: _engine.Model) -> str:
    """The model's graph, without the numbers of its weights."""
    import onnx

    content, diagnostics = engine_model.serialize(weights=False)
    if not content:
        raise error_of(diagnostics)
    model = onnx.load_model_from_string(content)
    types = {value.name: _type(value.type) for value in (*model.graph.value_info, *model.graph.input, *model.graph.output)}
    for weight in model.graph.initializer:
        types[weight.name] = f"{_word(weight.data_type)}({', '.join(map(str, weight.dims))})"
    inputs = [value.name for value in model.graph.input]
    names = [*inputs, *(weight.name for weight in model.graph.initializer if weight.name not in inputs)]
    head = ",\n      ".join(_typed(name, types) for name in names)
    lines = [f"graph({head}):"]
    _nodes(model.graph.node, types, "  ", lines, onnx.helper.get_attribute_value)
    lines.append(f"  return ({', '.join(f'%{value.name}' for value in model.graph.output)})")
    return "\n".join(lines) + "\n"


def _word(code: int) -> str:
    import onnx

    return onnx.TensorProto.DataType.Name(code).capitalize()


def _type(proto: Any) -> str:
    if proto.WhichOneof("value") != "tensor_type" or not proto.tensor_type.elem_type:
        return "Sequence" if proto.HasField("sequence_type") else "Dynamic"
    if not proto.tensor_type.HasField("shape"):
        return _word(proto.tensor_type.elem_type)
    sizes = (dim.dim_param or (str(dim.dim_value) if dim.HasField("dim_value") else "*") for dim in proto.tensor_type.shape.dim)
    return f"{_word(proto.tensor_type.elem_type)}({', '.join(sizes)})"


def _typed(name: str, types: Mapping[str, str]) -> str:
    return f"%{name} : {types.get(name, 'Dynamic')}"


# Nested graphs are a model's own, as deep as the source nests.
def _nodes(nodes: Iterable[Any], types: Mapping[str, str], indent: str, lines: list[str], value_of: Any) -> None:
    for node in nodes:
        attributes = ", ".join(f"{each.name}={_value(value_of(each))}" for each in node.attribute if not each.HasField("g"))
        operator = f"{node.domain or 'onnx'}::{node.op_type}[{attributes}]({', '.join(f'%{name}' if name else '' for name in node.input)})"
        results = ", ".join(_typed(name, types) for name in node.output if name)
        lines.append(f"{indent}{results} = {operator}{_origin(node)}")
        for each in node.attribute:
            if each.HasField("g"):
                inner = {**types, **{value.name: _type(value.type) for value in (*each.g.value_info, *each.g.input, *each.g.output)}}
                lines.append(f"{indent}  {each.name}({', '.join(_typed(value.name, inner) for value in each.g.input)}):")
                _nodes(each.g.node, inner, indent + "    ", lines, value_of)
                lines.append(f"{indent}    -> ({', '.join(f'%{value.name}' for value in each.g.output)})")


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return f'"{value.decode(errors="replace")}"'
    if hasattr(value, "dims"):
        return f"<{_word(value.data_type)}({', '.join(map(str, value.dims))})>"
    if hasattr(value, "__len__") and not isinstance(value, str):
        shown = ", ".join(str(each) for each in list(value)[:_LONGEST_LIST])
        return f"[{shown}{', …' if len(value) > _LONGEST_LIST else ''}]"
    return str(value)


def _origin(node: Any) -> str:
    notes = {each.key: each.value for each in node.metadata_props}
    scope = notes.get("namespace", "").rpartition("/")[0]
    frames = _FRAME.findall(notes.get("pkg.torch.onnx.stack_trace", ""))
    source = f" # {frames[-1][0]}:{frames[-1][1]}" if frames else ""
    return f"{f', scope: {scope}' if scope else ''}{source}"
