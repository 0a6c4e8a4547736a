"""Flambeau's own translators as symbolic functions: ``symbolic_opset9.relu(g, x)``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import _engine
from ..options import make_options
from ..errors import OnnxExporterError, error_of
from ..feed.exported_program import DTYPES

__all__ = ["call_builtin"]


_NUMBERS: dict[str, Callable[[Any], Any]] = {"IntType": int, "FloatType": float, "BoolType": bool}
_CONVERSIONS = {"IntType": "aten::Int", "FloatType": "aten::Float", "BoolType": "aten::Bool"}
"""What makes numbers of a tensor, by the types that schemas have."""


_LEFT_OUT = object()


class _Call:
    """One operator of PyTorch's between values of a symbolic function's graph."""

    def __init__(self, g: Any, name: str) -> None:
        self.g = g
        self.name = name
        self.restart()

    def restart(self) -> None:
        self.graph = torch._C.Graph()
        self.operands: list[Any] = []  # of g, for the inputs
        self._inputs: dict[int, Any] = {}

    def argument(self, given: Any, formal: Any) -> Any:
        """The argument as a value of the small graph, as the schema has it: numbers come as tensors from a symbolic function."""
        if isinstance(formal, torch._C.OptionalType):
            formal = formal.getElementType()
        if not isinstance(given, torch._C.Value):
            return self._constant(list(given) if isinstance(given, (list, tuple)) else given, formal)
        node = given.node()
        if node.mustBeNone():
            return self.graph.insertConstant(None)
        if node.kind() == "prim::ListConstruct":
            element = formal.getElementType() if isinstance(formal, torch._C.ListType) else torch._C.TensorType.get()
            elements = [self.argument(each, element) for each in node.inputs()]
            made = self.graph.insertNode(self.graph.create("prim::ListConstruct", elements, 1))
            made.output().setType(torch._C.ListType(element))
            return made.output()
        if node.kind() in ("onnx::Constant", "prim::Constant"):
            from ._values import _constant_of

            return self._constant(_constant_of(given), formal)
        value = self._input(given)
        if formal.kind() not in _CONVERSIONS:
            return value
        number = self.graph.insertNode(self.graph.create(_CONVERSIONS[formal.kind()], [value], 1)).output()
        number.setType(formal)
        return number

    def _input(self, given: Any) -> Any:
        if given.unique() not in self._inputs:
            value = self.graph.addInput()
            value.setType(torch._C.TensorType.get())
            self._inputs[given.unique()] = value
            self.operands.append(given)
        return self._inputs[given.unique()]

    def _constant(self, constant: Any, formal: Any) -> Any:
        """Raises:
        ValueError: It is none of what the schema has there.
        """
        if isinstance(constant, torch.Tensor) and formal.kind() != "TensorType":
            constant = constant.tolist()
        if formal.kind() == "ListType":
            if isinstance(constant, (int, float)):
                constant = [constant]
            if constant == []:
                made = self.graph.insertNode(self.graph.create("prim::ListConstruct", [], 1))
                made.output().setType(formal)
                return made.output()
        elif isinstance(constant, list):
            if len(constant) != 1:
                raise ValueError(f"a list for {formal}")
            (constant,) = constant
        if formal.kind() in _NUMBERS and constant is not None:
            constant = _NUMBERS[formal.kind()](constant)
        if formal.kind() == "DeviceObjType" and isinstance(constant, str):
            constant = torch.device(constant)
        return self.graph.insertConstant(constant)

    def describe(self, value: Any) -> _engine.ScriptInput:
        proto = self.g.sizes.to_onnx(value.type())
        dtype = value.type().dtype() if isinstance(value.type(), torch._C.TensorType) else None
        if proto is None or dtype is None or not proto.tensor_type.HasField("shape"):
            raise OnnxExporterError(
                f"{self.name} is translated by what is known of its operands, and of '%{value.debugName()}' "
                f"the dtype and rank are not: say them with setType"
            )
        sizes: list[int | str] = []
        for i, dim in enumerate(proto.tensor_type.shape.dim):
            which = dim.WhichOneof("value")
            sizes.append(getattr(dim, which) if which else f"unknown_{value.unique()}_{i}")
        return _engine.ScriptInput.tensor(DTYPES[dtype], sizes, f"operand_{value.unique()}")


def call_builtin(g: Any, name: str, *args: Any, **kwargs: Any) -> Any:
    """Append what Flambeau makes of ``aten::name`` with these arguments.

    Args:
        args: Values of `g`'s graph and constants, in the order of PyTorch's schema.
        kwargs: Further arguments of the schema.

    Returns:
        The result, or a tuple of them.

    Raises:
        OnnxExporterError: PyTorch has no such operator, or its operands' types are not known.
    """
    from ..feed.script_graph import import_graph

    if name == "size" and len(args) + len(kwargs) == 1:
        return g.op("Shape", *args, *kwargs.values())
    call = _Call(g, f"aten::{name}")
    for output in _insert(call, args, kwargs):
        call.graph.registerOutput(output)
    builder = import_graph(call.graph)
    options = make_options(opset_version=g.opset, metadata="release")
    program, diagnostics = builder.finish([call.describe(operand) for operand in call.operands], options)
    model = None
    if program is not None:
        model, diagnostics = _engine.convert(program, options)
    if model is None:
        raise error_of(diagnostics)
    return _append(g, model, call.operands)


def _insert(call: _Call, given: Sequence[Any], named: dict[str, Any]) -> Any:
    """The results of the operator, in the first overload that takes these arguments."""
    for schema in torch._C._jit_get_schemas_for_operator(call.name):
        formal = [argument.name for argument in schema.arguments]
        if len(given) > len(formal) or any(key not in formal[len(given) :] for key in named):
            continue
        try:
            order = []
            for argument, each in itertools.zip_longest(schema.arguments, given, fillvalue=_LEFT_OUT):
                each = named.get(argument.name, _LEFT_OUT) if each is _LEFT_OUT else each
                absent = each is None or (isinstance(each, torch._C.Value) and each.node().mustBeNone())
                if each is _LEFT_OUT or (absent and not isinstance(argument.type, torch._C.OptionalType)):
                    if argument.has_default_value():
                        order.append(call.graph.insertConstant(argument.default_value))
                else:
                    order.append(call.argument(each, argument.type))
        except (TypeError, ValueError):  # a constant is of another type
            order = []
        if len(order) == len(formal):
            node = call.graph.insertNode(call.graph.create(call.name, order, len(schema.returns)))
            for output, returned in zip(node.outputs(), schema.returns):
                output.setType(returned.type)
            matched = node.schema()
            if matched.startswith(call.name) and matched[len(call.name) :].partition("(")[0] == f".{schema.overload_name}".rstrip("."):
                return list(node.outputs())
            node.destroy()
        call.restart()
    raise OnnxExporterError(f"PyTorch has no {call.name} that takes these {len(given) + len(named)} arguments")


def _append(g: Any, model: Any, operands: Sequence[Any]) -> Any:
    import onnx

    from ._write import INLINED

    content, diagnostics = model.serialize()
    if not content:
        raise error_of(diagnostics)
    proto = onnx.load_model_from_string(content)
    g.inlined.append(proto)
    count = len(proto.graph.output)
    results = g.op(INLINED, *operands, index_i=len(g.inlined) - 1, outputs=count)
    results = results if isinstance(results, tuple) else (results,)
    for value, output in zip(results, proto.graph.output):
        type_ = g.sizes.from_onnx(output.type)
        if type_ is not None:
            value.setType(type_)
    return results[0] if count == 1 else results
