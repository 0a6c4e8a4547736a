"""One call of an operator, as the engine describes it, translated by Python code that appends to torch's graph."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import onnx
import torch

from .. import _engine
from ..errors import OnnxExporterError
from ..operand_types import recorded_sizes
from ._fakes import fake_results
from ._schemas import most_results, result_types
from ._write import model_of
from .jit_utils import GraphContext, constant_value, none_value

__all__ = ["Translation", "Written", "translate", "translation_of", "written"]

Translation = bytes | tuple[bytes, list[int]] | str
_LAYOUTS = ("strided", "sparse_coo", "sparse_csr", "_mkldnn", "sparse_csc", "sparse_bsr", "sparse_bsc", "jagged")
_MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


@dataclasses.dataclass
class Written:
    """What a function made of a call: values of the graph of `g`, None for those that are absent."""

    g: GraphContext
    operands: list[Any]
    results: list[Any]


def translate(call: _engine.OperatorCall, run: Callable[[GraphContext, list[Any]], Any], original: Any = None) -> Translation:
    """The model that `run` makes of a call, or this and which results its outputs are.

    Args:
        run: Gets the arguments as TorchScript's exporter hands them over; its values
            are the results.
        original: The node that is translated; None makes one up.
    """
    return translation_of(call, written(call, run, original))


def written(call: _engine.OperatorCall, run: Callable[[GraphContext, list[Any]], Any], original: Any = None) -> Written:
    graph = torch._C.Graph()
    g = GraphContext(graph, graph.block(), call.opset, original)
    operands = []
    for value in call.operands:
        operand = graph.addInput()
        operand.setType(g.sizes.tensor_type(_dtype(value), recorded_sizes(value)))
        operands.append(operand)
    args = [_argument(g, given, operands) for _, given in call.arguments]
    if original is None:
        holder = torch._C.Graph()  # has the node as long as the function runs
        g.original_node = _node_of(call, g, operands, holder)
    results = run(g, args)
    if original is None:
        g.original_node = None
    if results is None:
        raise OnnxExporterError(f"the symbolic function of {call.op} returned None, it cannot translate this call")
    if not isinstance(results, (list, tuple)):
        results = [results]
    if len(results) > (own := most_results(call.op)):
        raise OnnxExporterError(f"the symbolic function of {call.op} returned {len(results)} values, and the operator has {own}")
    flat: list[Any] = []
    for result in results:
        if isinstance(result, torch._C.Value) and result.node().kind() in ("prim::ListConstruct", "prim::TupleConstruct"):
            flat.extend(result.node().inputs())
        else:
            flat.append(None if result is None else g._value(result))
    return Written(g, operands, flat)


def translation_of(call: _engine.OperatorCall, made: Written) -> Translation:
    """The model of what a function wrote for the call, with the types that are known of its results."""
    g, flat = made.g, made.results
    present = [i for i, value in enumerate(flat) if value is not None and not value.node().mustBeNone()]
    types = [(_dtype(recorded), recorded_sizes(recorded)) for recorded in call.results]
    if not types and any(_is_open(flat[i]) or _is_vague(flat[i]) for i in present):  # scripts record none
        types = fake_results(call)
    for i in present:
        if i < len(types) and _takes(flat[i], types[i], recorded=bool(call.results)):
            flat[i].setType(g.sizes.tensor_type(*types[i]))
    places = list(present)
    if present and present[-1] != len(flat) - 1 and not any(isinstance(each, torch._C.ListType) for each in result_types(call.op) or ()):
        # The engine has as many results as places say: one that nobody reads comes after the absent ones, unless a list would take it.
        present.append(present[-1])
        places.append(len(flat))
    model = model_of(g, made.operands, [flat[i] for i in present]).SerializeToString()
    return model if places == list(range(len(flat))) else (model, places)


def _is_open(value: Any) -> bool:
    """Whether a value is one of a node that ONNX does not know."""
    space, _, name = value.node().kind().partition("::")
    return not onnx.defs.has(name) if space == "onnx" else space not in ("prim", "flambeau")


def _is_vague(value: Any) -> bool:
    """Whether the dtype or the rank of a tensor is not known, as that of an If is not."""
    type_ = value.type()
    return isinstance(type_, torch._C.TensorType) and (type_.dtype() is None or type_.dim() is None)


def _takes(value: Any, known: tuple[torch.dtype | None, list[int | None] | None], *, recorded: bool) -> bool:
    """Whether a result gets the type that is known of the operator: that of a node that ONNX does not know, and in a script a vague one."""
    if recorded:
        return _is_open(value)
    return _is_vague(value) and value.type().dtype() in (None, known[0])


def _dtype(value: _engine.OperatorCallValue) -> torch.dtype | None:
    return getattr(torch, value.dtype, None)


def _node_of(call: _engine.OperatorCall, g: GraphContext, operands: Sequence[Any], graph: Any) -> Any:
    """The call as a node of a graph of its own."""
    inputs = []
    for operand in operands:
        inputs.append(graph.addInput())
        inputs[-1].setType(operand.type())
    base = call.op.partition(".")[0] if "::" in call.op else f"prim::{call.op}"
    node = graph.insertNode(graph.create(base, inputs, max(len(call.results), 1)))
    for output, recorded in zip(node.outputs(), call.results):
        output.setType(g.sizes.tensor_type(_dtype(recorded), recorded_sizes(recorded)))
    return node


def _argument(g: GraphContext, given: Any, operands: Sequence[Any]) -> Any:
    """An argument as TorchScript's exporter hands it over: a value, a constant of the graph."""
    if given is None:
        return none_value(g)
    if isinstance(given, _engine.Operand):
        return operands[given.index]
    if isinstance(given, _engine.DtypeCode):
        return constant_value(g, torch.tensor(given.code))
    if isinstance(given, (bool, int, float, complex)):
        return constant_value(g, _tensor_of(given))
    if isinstance(given, str):
        return _text(g, given)
    if given and all(type(element) is type(given[0]) and isinstance(element, (bool, int, float)) for element in given):
        return constant_value(g, _tensor_of(list(given)))
    elements = [_argument(g, element, operands) for element in given]
    node = g.graph.insertNode(g.graph.create("prim::ListConstruct", elements, 1))
    node.output().setType(torch._C.ListType(_element_type(given)))
    return node.output()


def _tensor_of(given: Any) -> torch.Tensor:
    """Numbers as torch's exporter has them: floats are double."""
    first = given[0] if isinstance(given, list) else given
    return torch.tensor(given, dtype=torch.float64 if isinstance(first, float) else None)


def _element_type(given: Sequence[Any]) -> Any:
    kinds: Mapping[type, Any] = {bool: torch._C.BoolType, int: torch._C.IntType, float: torch._C.FloatType, str: torch._C.StringType}
    constants = [kinds[type(element)] for element in given if type(element) in kinds]
    if not given or (constants and len(constants) == len(given)) or torch._C.IntType in constants:
        return (constants[0] if constants else torch._C.IntType).get()
    element = torch._C.TensorType.get()
    return torch._C.OptionalType(element) if any(each is None for each in given) else element


def _text(g: GraphContext, given: str) -> Any:
    """Devices, layouts and memory formats come as words; torch's exporter has numbers for the last two."""
    for words in (_LAYOUTS, _MEMORY_FORMATS):
        if given in words:
            return constant_value(g, torch.tensor(words.index(given)))
    node = g.graph.insertNode(g.graph.create("onnx::Constant", [], 1))
    node.s_("value", given)
    node.output().setType(torch._C.StringType.get())
    return node.output()
