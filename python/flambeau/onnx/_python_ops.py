"""Autograd functions in traces: by their ``symbolic``, by what is registered for ``prim::PythonOp``, or inlined."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import torch

from .. import _engine
from ..capture.traces.autograd_functions import traced_alone
from ..errors import CaptureError
from ..feed.exported_program import DTYPES
from ..feed.script_graph import attribute_kind
from ..feed.script_types import recorded_type
from ._enums import OperatorExportTypes
from ._export_types import fallback_of, translators_of
from ._symbolic import SymbolicFunctions

if TYPE_CHECKING:
    from ._call import Translation

__all__ = ["Translations"]

_SPACE = "flambeau_python"
_Place = tuple[str, ...]  # of a call


class Translations:
    """All that a user, or an export type, puts in place of the engine's translators.

    Attributes:
        open_types: Whether PyTorch's own operators may become nodes of unknown types.
        calls: Of a trace, the calls of modules around each node, by its name: path → which one.
    """

    def __init__(
        self,
        opset: int,
        table: Mapping[str, Callable[[_engine.OperatorCall], Translation]],
        *,
        export_type: Any = OperatorExportTypes.ONNX,
        inline: bool = True,
    ) -> None:
        self.symbolic = SymbolicFunctions(opset)
        self.open_types = export_type != OperatorExportTypes.ONNX or bool(self.symbolic.translators())
        self.calls: Mapping[str, Mapping[str, str]] = {}
        self._table = dict(table)
        self._by_type = dict(translators_of(export_type))
        self._fallback: dict[str, Any] = {}
        self._places: set[_Place] = set()  # of the calls that fall back, …
        self._everywhere: set[str] = set()  # … and the operators of which all do
        self._export_type = export_type
        self._inline = inline and export_type != OperatorExportTypes.ONNX_FALLTHROUGH
        self._count = 0

    def translators(self) -> dict[str, Callable[[_engine.OperatorCall], Translation]]:
        # The most explicit one wins.
        return {**self._by_type, **self._fallback, **self.symbolic.translators(), **self._table}

    def fall_back(self, diagnostics: list[_engine.Diagnostic]) -> bool:
        """Whether calls that failed can be left to the runtime, as the export type wants it; then they are, from now on."""
        if self.symbolic.has_bug():
            return False
        places = {_place(each.location, *each.notes) for each in diagnostics if each.severity == "error"}
        # What stands for a function of autograd is none of PyTorch's operators: its own symbolic function has failed.
        names = {name for name, *_ in places if not name.startswith(f"{_SPACE}::")}
        found = {name: run for name in names if (run := fallback_of(self._export_type, name)) is not None}
        failed = {place for place in places if place[0] in found}
        # What fails once more is not told apart by its place: then it is every call of the operator.
        again = {name for name, *_ in failed & self._places}
        if not failed or again & self._everywhere:
            return False
        self._places |= failed
        self._everywhere |= again
        self._fallback |= {name: self._where_it_failed(run) for name, run in found.items()}
        return True

    def _where_it_failed(self, run: Callable[[_engine.OperatorCall], Translation]) -> Callable[[_engine.OperatorCall], Translation | None]:
        """Other calls of the operator are declined: the engine translates them."""

        def chosen(call: _engine.OperatorCall) -> Translation | None:
            # What is reported says the node in a note, if the captured program names it.
            place = _place(call.location, *([f"in the captured node '{call.node}'"] if call.node else []))
            return run(call) if place in self._places or call.op in self._everywhere else None

        return chosen

    def forget(self) -> None:
        """Before the program of torch.export is converted: a script in its place may have been tried."""
        self.symbolic.unpacked = None

    def begin(self, walk: Any) -> None:
        self.symbolic.unpacked = walk.unpacked
        self._count = 0  # the same names whenever the program is built: the calls are the same
        self.calls = walk.calls

    def leaves_open(self, node: Any) -> bool:
        space = node.kind().partition("::")[0]
        if space in ("prim", "quantized"):
            return False
        falls_back = self._export_type != OperatorExportTypes.ONNX
        return space != "aten" or falls_back or node.kind() in self.symbolic.translators() or node.kind() in self._table

    def keeps(self, function: Any) -> bool:
        """Whether a trace is to have that function of autograd as one operator, for `add`."""
        return not self._inline or getattr(function, "symbolic", None) is not None or self.symbolic.registered("prim::PythonOp") is not None

    def add(self, walk: Any, node: Any) -> bool:
        """Import a ``prim::PythonOp``; False if nothing is known of it."""
        function = _function_of(node)
        symbolic = getattr(function, "symbolic", None)
        registered = self.symbolic.registered("prim::PythonOp")
        if symbolic is not None:
            run = lambda g, args: symbolic(g, *args)  # noqa: E731
        elif registered is not None:
            attributes = {name: getattr(node, attribute_kind(node, name))(name) for name in node.attributeNames()}
            attributes.pop("Subgraph", None)
            run = lambda g, args: registered(g, *args, **attributes, name=_name_of(node))  # noqa: E731
        elif self._inline and node.hasAttribute("Subgraph"):
            self._inline_graph(walk, node)
            return True
        elif self._export_type == OperatorExportTypes.ONNX_FALLTHROUGH:
            run = _as_python_op(node)
        else:
            return False
        self._call(walk, node, run)
        return True

    def _inline_graph(self, walk: Any, node: Any) -> None:
        graph = node.g("Subgraph")
        walk.kept.append(graph)
        torch._C._jit_pass_inline(graph)
        outer = walk.values  # values are numbered within their graph
        walk.values = {inner.unique(): outer[given.unique()] for inner, given in zip(graph.inputs(), node.inputs(), strict=True)}
        walk.block(graph.nodes())
        if any(inner.kind().endswith("_") for inner in graph.nodes()):
            _pass_over(walk, node, graph, outer)
        results = [walk.values[value.unique()] for value in _as_returned(node, graph, walk.own_run)]
        walk.values = outer
        self._bind(walk, node, results)

    def _call(self, walk: Any, node: Any, run: Callable[..., Any]) -> None:
        """An operator of its own, which `run` translates."""
        tensors, scalars = list(node.inputs()), list(node.scalar_args())
        kinds = node.cconv()
        word = re.sub(r"\W", "_", _name_of(node))
        word, self._count = f"{word}_{self._count}", self._count + 1
        name = f"{_SPACE}::{word}"
        results = _results_of(node)
        names = [word, *(f"{word}_{i}" for i in range(1, len(results)))]
        formal = ", ".join(f"Tensor? input_{i}" for i in range(len(tensors)))
        walk.builder.declare_operator(f"{name}({formal}) -> ({', '.join(['Tensor'] * len(results))})")

        def arranged(g: Any, args: list[Any]) -> Any:
            values, constants = iter(args), iter(scalars)
            return run(g, [next(values) if kind == "d" else next(constants) for kind in kinds])

        self.symbolic.add(name, arranged, node)
        types = [recorded_type(type_) for type_ in results]
        handles = walk.builder.add_node(
            name,
            "",
            [walk.values[value.unique()] for value in tensors],
            [(result, walk.type(type_)) for result, type_ in zip(names, results, strict=True)],
            {} if None in types else {"recorded": types},
            walk.modules(node),
            walk.stack_trace(node),
        )
        walk.calls[word] = walk.calls.get(node.outputsAt(0).debugName(), {})
        self._bind(walk, node, handles)

    def _bind(self, walk: Any, node: Any, results: list[Any]) -> None:
        """The results as the node's outputs: one tensor, or a tuple of them."""
        outputs = list(node.outputs())
        if len(outputs) == len(results) and not isinstance(outputs[0].type(), torch._C.TupleType):
            for output, handle in zip(outputs, results):
                walk.values[output.unique()] = handle
            return
        (output,) = outputs
        (handle,) = walk.builder.add_node(
            "prim::TupleConstruct", "", results, [(output.debugName(), walk.type(output.type()))], {}, [], ""
        )
        walk.values[output.unique()] = handle


def _pass_over(walk: Any, call: Any, graph: Any, outer: dict[int, Any]) -> None:
    """Drop what the trace records of an autograd function once more, after its call: writes would count twice.

    It is there but for what nothing depends on, as what the function writes into tensors of its own.
    """
    same = {inner.unique(): given.unique() for inner, given in zip(graph.inputs(), call.inputs(), strict=True)}
    following: list[Any] = []  # up to the next call of a function, which has copies of its own
    while (node := next(walk.following, None)) is not None:
        following.append(node)
        if node.kind() == "prim::PythonOp":
            break
    at = 0
    for inner in graph.nodes():
        if at < len(following) and _is_copy(inner, following[at], same):
            for mine, theirs in zip(inner.outputs(), following[at].outputs(), strict=True):
                same[mine.unique()] = theirs.unique()
                outer[theirs.unique()] = walk.values[mine.unique()]
            at += 1
        elif inner.kind().endswith("_") and any(_is_at(inner, each) for each in following[at:]):
            raise CaptureError(f"{_name_of(call)} writes in place, and the trace does not say where its own nodes end; write to a clone")
    walk.following = itertools.chain(following[at:], walk.following)


def _as_returned(call: Any, graph: Any, own_run: bool) -> list[Any]:
    """The results of the graph, which are in the order in which they were made, in that in which the function returns them.

    Raises:
        CaptureError: Neither their types tell nor a call of the function by itself.
    """
    made = list(graph.outputs())
    if len(made) == 1 and call.outputsSize() == 1 and not isinstance(call.output().type(), torch._C.TupleType):
        return made
    by_type = {repr(recorded_type(value.type())): value for value in made}
    types = [repr(recorded_type(type_)) for type_ in _results_of(call)]
    if len(by_type) == len(made) and sorted(by_type) == sorted(types):
        return [by_type[type_] for type_ in types]
    results = _returned_alone(call, graph)
    if results is None or len(results) != len(types):
        name = _name_of(call)
        held = f"call it as {name}.apply(...), not by a method that was taken before"  # which is recorded by torch from 2.14 on
        remedy = held if own_run else "give the export the module, in place of a trace by torch.jit.trace"
        raise CaptureError(f"the trace does not say which result of {name} is which: {remedy}")
    return results


def _returned_alone(call: Any, graph: Any) -> list[Any] | None:
    """The values of a function's graph that it returns when it is called by itself; None if that does not tell."""
    types, scalars = [recorded_type(value.type()) for value in call.inputs()], iter(call.scalar_args())
    if None in types:
        return None
    dtypes = {number: dtype for dtype, number in DTYPES.items()}
    tensors = iter([torch.zeros(type_[1:], dtype=dtypes[type_[0]]) for type_ in types if type_ is not None])
    alone = traced_alone(_function_of(call), [next(tensors) if kind == "d" else next(scalars) for kind in call.cconv()])
    if alone is None:
        return None
    torch._C._jit_pass_inline(alone)
    values = {value.unique(): value for value in (*graph.inputs(), *(value for node in graph.nodes() for value in node.outputs()))}
    same = {mine.unique(): value.unique() for mine, value in zip(alone.inputs(), graph.inputs(), strict=True)}
    nodes, at = list(graph.nodes()), 0
    for mine in alone.nodes():  # the graph may have more, on which nothing depends
        found = next((i for i in range(at, len(nodes)) if _computes_same(mine, nodes[i], same)), None)
        if found is not None:
            same |= {value.unique(): theirs.unique() for value, theirs in zip(mine.outputs(), nodes[found].outputs(), strict=True)}
            at = found + 1
    returned = [same.get(value.unique()) for value in alone.return_node().inputsAt(0).node().inputs()]
    return None if None in returned else [values[each] for each in returned]


def _is_at(inner: Any, other: Any) -> bool:
    return inner.kind() == other.kind() and inner.sourceRange() == other.sourceRange()


def _is_copy(inner: Any, again: Any, same: dict[int, int]) -> bool:
    return _is_at(inner, again) and _computes_same(inner, again, same)


def _computes_same(inner: Any, again: Any, same: dict[int, int]) -> bool:
    operands = [same.get(value.unique()) for value in inner.inputs()]
    alike = inner.kind() == again.kind() and operands == [value.unique() for value in again.inputs()]
    return alike and _is_same(_attributes(inner), _attributes(again))


def _attributes(node: Any) -> dict[str, Any]:
    return {name: getattr(node, attribute_kind(node, name))(name) for name in node.attributeNames()}


def _is_same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    if one.keys() != other.keys():
        return False
    for mine, theirs in zip(map(one.get, one), map(other.get, one)):
        if isinstance(mine, torch.Tensor) and isinstance(theirs, torch.Tensor) and mine.layout is torch.strided and not mine.is_meta:
            if mine.dtype != theirs.dtype or not torch.equal(mine, theirs):
                return False
        elif repr(mine) != repr(theirs):  # as text NaN is itself, and 1 is not 1.0
            return False
    return True


def _function_of(call: Any) -> Any:
    """What a ``prim::PythonOp`` calls: of autograd, the class."""
    return getattr(call.pyobj(), "__self__", call.pyobj())


def _name_of(call: Any) -> str:
    function = _function_of(call)
    return function.__name__ if isinstance(function, type) else call.pyname()


def _place(location: _engine.Location, *notes: str) -> _Place:
    return location.operation, location.module, location.source, *notes


def _results_of(node: Any) -> list[Any]:
    types = [output.type() for output in node.outputs()]
    if len(types) == 1 and isinstance(types[0], torch._C.TupleType):
        return types[0].elements()
    return types


def _as_python_op(node: Any) -> Callable[..., Any]:
    count, name = len(_results_of(node)), _name_of(node)

    def run(g: Any, args: list[Any]) -> Any:
        tensors = [value for value in args if isinstance(value, torch._C.Value)]
        return g.op("prim::PythonOp", *tensors, name_s=name, outputs=count)

    return run
