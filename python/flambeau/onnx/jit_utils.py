"""``GraphContext``: what a symbolic function gets as ``g``. Its graph and values are torch's own.

>>> def symbolic(g, x, alpha):
...     return g.op("mine::Foo", x, alpha_f=symbolic_helper._scalar(alpha), outputs=2)
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable
from typing import Any

import torch

from ..errors import OnnxExporterError
from ._shapes import Sizes

__all__ = ["GraphContext", "add_op_with_blocks", "constant_tensor", "get_device_from_value", "is_aten", "is_onnx", "is_prim", "parse_node_kind"]

_ATTRIBUTE = re.compile(r"(?P<name>.+)_(?P<kind>[ifstgz]|ty)$")
_NO_ATTRIBUTES_OF_ONNX = frozenset({"inplace", "aten"})


@dataclasses.dataclass
class GraphContext:
    """Appends ONNX nodes to a graph; what torch's own graph can do, it can too.

    Attributes:
        graph: The graph being made.
        block: The block of it to which nodes are appended.
        opset: The opset of the model.
        original_node: The call that is translated.
        new_nodes: The nodes that were appended, in order.
        sizes: The names of run-time sizes.
        known: What values are known to be, shapes that are computed, by their numbers.
        functions: ONNX Script functions that nodes call, by (domain, name).
        inlined: Models whose nodes stand for a node of the graph, by that node's index.
        params_dict, env, values_in_env: Empty; they have a meaning in torch's exporter only.
    """

    graph: Any
    block: Any
    opset: int
    original_node: Any
    params_dict: dict[str, Any] = dataclasses.field(default_factory=dict)
    env: dict[Any, Any] = dataclasses.field(default_factory=dict)
    values_in_env: set[Any] = dataclasses.field(default_factory=set)
    new_nodes: list[Any] = dataclasses.field(default_factory=list)
    sizes: Sizes = dataclasses.field(default_factory=Sizes)
    known: dict[int, torch.Tensor] = dataclasses.field(default_factory=dict)
    functions: dict[tuple[str, str], Any] = dataclasses.field(default_factory=dict)
    inlined: list[Any] = dataclasses.field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.graph, name)

    def op(self, opname: str, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Append a node.

        Args:
            opname: ``Relu``, or with a domain: ``mine::Foo``.
            raw_args: Its inputs: values, tensors and numbers (constants), None (absent).
            outputs: How many it has.
            kwargs: Its attributes: ``alpha_f`` is the float (or floats) ``alpha``; ``_i`` means
                int, ``_s`` string, ``_t`` tensor, ``_g`` graph. One that is None is left out.

        Returns:
            Its output, or a tuple of them.
        """
        domain, _, name = opname.rpartition("::")
        kind = f"onnx::{name}" if domain in ("", "ai.onnx") else opname  # two ways to write ONNX's own domain
        inputs = [self._value(argument) for argument in raw_args]
        if kind.startswith("onnx::") and len(inputs) > 1:
            from ._scalar_types import unified

            inputs = unified(self, kind.removeprefix("onnx::"), inputs)
        node = _append(self, kind, inputs, outputs)
        for key, value in sorted(kwargs.items()):
            if value is not None and key not in _NO_ATTRIBUTES_OF_ONNX:
                _set_attribute(node, key, value)
        self.new_nodes.append(node)
        from ._infer import infer_types

        infer_types(self, node)
        return node.output() if outputs == 1 else tuple(node.outputs())

    def aten_op(self, operator: str, *args: Any, overload_name: str = "", **kwargs: Any) -> Any:
        """Append a node that asks the runtime for PyTorch's own operator."""
        return self.op("aten::ATen", *args, operator_s=operator, overload_name_s=overload_name, **kwargs)

    at = aten_op

    def onnxscript_op(self, onnx_fn: Any, *raw_args: Any, outputs: int = 1, **kwargs: Any) -> Any:
        """Append a call of an ONNX Script function. Its body becomes part of the model."""
        self.functions[onnx_fn.opset.domain, onnx_fn.name] = onnx_fn
        return self.op(f"{onnx_fn.opset.domain}::{onnx_fn.name}", *raw_args, outputs=outputs, **kwargs)

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, torch._C.Value):
            return argument
        if argument is None:
            return none_value(self)
        if isinstance(argument, (bool, int, float)):
            argument = torch.tensor(argument)
        if not isinstance(argument, torch.Tensor):
            raise OnnxExporterError(f"{argument!r} is no input of a node; inputs are values, tensors and numbers")
        return constant_value(self, argument)


def _append(g: GraphContext, kind: str, inputs: list[Any], outputs: int) -> Any:
    node = g.block.addNode(kind, inputs)
    for _ in range(1, outputs):
        node.addOutput()
    if outputs == 0:
        node.eraseOutput(0)
    return node


def none_value(g: GraphContext) -> Any:
    """An absent input."""
    node = _append(g, "prim::Constant", [], 1)
    node.output().setType(torch._C.NoneType.get())
    return node.output()


def constant_value(g: GraphContext, tensor: torch.Tensor) -> Any:
    node = _append(g, "onnx::Constant", [], 1)
    node.t_("value", tensor)
    node.output().inferTypeFrom(tensor)
    return node.output()


def constant_tensor(value: Any) -> torch.Tensor | None:
    """What a value is if it is a constant tensor, in the graph that is made."""
    node = value.node()
    is_one = node.kind() == "onnx::Constant" and node.hasAttribute("value") and node.kindOf("value") == "t"
    return node.t("value") if is_one else None


def _set_attribute(node: Any, key: str, value: Any) -> None:
    match = _ATTRIBUTE.match(key)
    if match is None:
        raise ValueError(f"the attribute '{key}' must end with its type, as in 'dim_i' or 'scale_f'")
    kind = match["kind"]
    if isinstance(value, torch._C.Value):
        value = _constant_of(value, kind)
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes, torch.Tensor, torch._C.Graph)):
        kind, value = f"{kind}s", list(value)
    getattr(node, f"{kind}_")(match["name"], value)


def _constant_of(value: Any, kind: str) -> Any:
    """What an argument of the operator is known to be: symbolic functions may put it into an attribute as it comes."""
    from ._values import _is_packed_list, _maybe_get_const, _parse_arg

    constant = _maybe_get_const(value, "t")
    several = _is_packed_list(value) or (isinstance(constant, torch.Tensor) and constant.ndim > 0)
    return _parse_arg(value, f"{kind}s" if several and kind in ("i", "f") else kind)


def add_op_with_blocks(
    graph_context: GraphContext, opname: str, *inputs: Any, outputs: int = 1, n_blocks: int = 1, **attributes: Any
) -> tuple[Any, tuple[GraphContext, ...], Any]:
    """Append a node with nested graphs: If, Loop, Scan.

    Returns:
        Its output or outputs, a context for each nested graph, and the node.
    """
    values = graph_context.op(opname, *inputs, outputs=outputs, **attributes)
    node = (values[0] if isinstance(values, tuple) else values).node()
    blocks = tuple(dataclasses.replace(graph_context, block=node.addBlock()) for _ in range(n_blocks))
    return values, blocks, node


def get_device_from_value(value: Any) -> torch.device | None:
    return value.type().device() if isinstance(value.type(), torch._C.TensorType) else None


def parse_node_kind(kind: str) -> tuple[str, str]:
    """The domain and the name of ``domain::name``."""
    domain, separator, name = kind.partition("::")
    if not separator or "::" in name:
        raise ValueError(f"'{kind}' is no operator; it must be domain::name")
    return domain, name


def is_aten(domain: str) -> bool:
    return domain == "aten"


def is_prim(domain: str) -> bool:
    return domain == "prim"


def is_onnx(domain: str) -> bool:
    return domain == "onnx"
