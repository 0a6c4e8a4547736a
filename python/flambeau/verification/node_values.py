"""Compares the values of captured nodes with those of an ONNX model, also within branches and loops."""

from __future__ import annotations

import itertools
import logging
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from .. import _engine
from ..eager import copied
from ..feed.places import modules_of, trace_of
from ..program import ONNXProgram
from ..session import as_captured
from ..state import kept_state
from .comparison import differently, not_computed
from .file_nodes import calls_of, values_of_calls
from .outputs import captured, compare_tensors, examples

if TYPE_CHECKING:
    import onnx

    from .bodies import Bodies

__all__ = ["compare_nodes", "compare_values", "computed", "is_reshaped_elsewhere", "module_of"]

Compared = Iterator[tuple[torch.fx.Node, _engine.Comparison]]
Compute = Callable[[list[str]], Sequence[Any]]

_log = logging.getLogger(__name__)


def module_of(node: torch.fx.Node) -> str:
    """The path of its module; captures call the model itself otherwise within branches and loops."""
    stack = list((modules_of(node) or {}).values())
    path = stack[-1][0] if stack else ""
    return "" if path == "_export_root" else path.removeprefix("_export_root.")


def compare_nodes(
    program: ONNXProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    inputs: str = "example",
    exported: ExportedProgram | None = None,
) -> Compared:
    """Each captured node whose value the ONNX model still has, compared, in order.

    The model is converted once more without optimisation, which keeps most of them.

    Args:
        program: The converted model.
        args: Positional arguments to compute with; without any, the example's of the capture.
        kwargs: Keyword arguments.
        inputs: What the comparisons call these inputs.
        exported: As for :func:`flambeau.verify`.
    """
    exported = exported or captured(program)
    args, kwargs = examples(exported, args, kwargs)
    plain = program.without_optimization()

    def compute(names: list[str]) -> tuple[Any, ...]:
        return plain.values_within(names, plain.input_values(args, kwargs, exported))

    yield from compare_values(exported, args, kwargs, plain.model_proto, compute, inputs=inputs)


def compare_values(
    exported: ExportedProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    model: onnx.ModelProto,
    compute: Compute,
    *,
    folder: str = "",
    inputs: str = "example",
) -> Compared:
    """Each captured node that a value of the model is known to be, in order of execution.

    Args:
        exported: The captured program.
        args: What both are run with.
        kwargs: The same.
        model: The model.
        compute: Gives values of its main graph.
        folder: Where it has its external data.
        inputs: What the comparisons call these inputs.
    """
    from .bodies import Bodies  # which needs onnx

    run_args, run_kwargs = copied(as_captured(args, kwargs, exported))
    module = exported.module()
    recorded = _Recorded(module)
    with torch.no_grad(), kept_state(module):
        recorded.run(*_pytree.tree_leaves((run_args, run_kwargs)))
        yield from _Walk(Bodies(model, folder)).graph(recorded, model.graph, compute, inputs)


def is_reshaped_elsewhere(actual: torch.Tensor, expected: torch.Tensor) -> bool:
    """Optimisation moves transpositions and reshapes to other places: such values cannot be compared."""
    return actual.shape != expected.shape and actual.numel() == expected.numel()


def computed(names: list[str], compute: Compute) -> tuple[Sequence[Any], Exception | None]:
    """As many of the values as the runtime computes, and what it raised for the next: by halving."""
    try:
        return compute(names), None
    except Exception as error:  # of onnxruntime
        failure = error
    good, bad, values = 0, len(names), ()
    while good + 1 < bad:
        middle = (good + bad) // 2
        try:
            values, good = compute(names[:middle]), middle
        except Exception as error:
            failure, bad = error, middle
    return values, failure


# --- what PyTorch gives -----------------------------------------------------------


class _Recorded(torch.fx.Interpreter):
    """Runs a captured graph, and keeps what each call gives; of those that hold graphs, what they are given."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module)
        self.kept: dict[torch.fx.Node, Any] = {}

    def run_node(self, node: torch.fx.Node) -> Any:
        if node.op == "call_function" and node.target in _ROUNDS:
            args, _ = self.fetch_args_kwargs_from_env(node)
            self.kept[node] = _pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, args)
        result = super().run_node(node)
        if node.op == "call_function" and isinstance(result, torch.Tensor):
            self.kept[node] = result.detach().clone()
        return result


class _Round(NamedTuple):
    """One run of the graphs that a call holds: what they give, in order."""

    name: str
    graphs: list[_Recorded]


def _recorded(module: torch.fx.GraphModule, inputs: Sequence[Any]) -> tuple[_Recorded, list[Any]]:
    recorded = _Recorded(module)
    results = recorded.run(*inputs)
    return recorded, list(results) if isinstance(results, (tuple, list)) else [results]


_BRANCHES = {True: "true branch", False: "false branch"}


def _branch(condition: Any, if_true: Any, if_false: Any, operands: Sequence[Any]) -> Iterator[_Round]:
    yield _Round(_BRANCHES[bool(condition)], [_recorded(if_true if condition else if_false, operands)[0]])


def _rounds_while(condition: Any, body: Any, carried: Sequence[Any], additional: Sequence[Any]) -> Iterator[_Round]:
    again = _recorded(condition, [*carried, *additional])[1][0]
    for number in itertools.count(1):
        if not again:
            return
        done, carried = _recorded(body, [*carried, *additional])
        asked, (again,) = _recorded(condition, [*carried, *additional])
        yield _Round(f"round {number}", [done, asked])


def _rounds_over(body: Any, carried: Sequence[Any], xs: Sequence[Any], additional: Sequence[Any]) -> Iterator[_Round]:
    for number, row in enumerate(zip(*xs), 1):
        recorded, results = _recorded(body, [*carried, *row, *additional])
        carried = results[: len(carried)]
        yield _Round(f"round {number}", [recorded])


_ROUNDS: dict[Any, Callable[..., Iterator[_Round]]] = {
    torch.ops.higher_order.cond: _branch,
    torch.ops.higher_order.while_loop: _rounds_while,
    torch.ops.higher_order.scan: _rounds_over,
    torch.ops.higher_order.map_impl: lambda body, xs, additional: _rounds_over(body, (), xs, additional),
}
"""How often, and on what, a call runs its graphs."""


# --- side by side ---------------------------------------------------------------------


class _Walk:
    """Goes through a captured program and a model at once."""

    def __init__(self, bodies: Bodies) -> None:
        self._bodies = bodies

    def graph(self, recorded: _Recorded | list[_Recorded], graph: onnx.GraphProto, compute: Compute, words: str) -> Compared:
        """The values of a run of a graph, or of graphs that became one."""
        parts = recorded if isinstance(recorded, list) else [recorded]
        values = {node: value for part in parts for node, value in part.kept.items()}
        called = _values_in(graph, [part.module.graph.nodes for part in parts])
        wanted = [node for node, value in values.items() if node in called and isinstance(value, torch.Tensor)]
        given, error = computed([called[node] for node in wanted], compute) if wanted else ((), None)
        found = dict(zip(wanted, given))
        for node, expected in values.items():
            if not isinstance(expected, torch.Tensor):
                yield from self._bodies_of(node, expected, graph, compute, words)
            elif node in found:
                if called[node] == node.name or not is_reshaped_elsewhere(found[node], expected):
                    yield node, compare_tensors(node.name, found[node], expected, inputs=words, module=module_of(node))
            elif node in called and error is not None:
                yield node, not_computed(node.name, error, inputs=words, module=module_of(node))
                return

    def _bodies_of(self, node: torch.fx.Node, args: Sequence[Any], graph: onnx.GraphProto, compute: Compute, words: str) -> Compared:
        """What is within the graphs of a call, as far as one node of the model is known to be it."""
        from .bodies import HOLDERS

        holders = [each for each in graph.node if each.op_type in HOLDERS and [call.name for call in calls_of(each)] == [node.name]]
        if len(holders) != 1 or node.target is torch.ops.higher_order.while_loop and _holds_graphs(args[0]):
            return  # the engine tests such a condition at the start of each round, and goes one more
        around = next((each for each in node.all_input_nodes if each.op == "get_attr"), node)
        # The interpreted modules are copies.
        for inner in (inner for each in args if isinstance(each, torch.fx.GraphModule) for inner in each.graph.nodes):
            inner.meta |= {"nn_module_stack": modules_of(inner, around), "stack_trace": trace_of(inner, around)}
        rounds, runs = _ROUNDS[node.target](*args), self._bodies.runs(holders[0], compute)
        for number in itertools.count():
            of_program = next(rounds, None)
            try:
                of_model = next(runs, None)
            except Exception as error:  # of onnxruntime, or of what cannot be handed on
                _log.info("the values within %s are not compared: %s", node.name, error)
                return
            if of_program is None or of_model is None:
                if of_program is not of_model:
                    cause = f"rounds: more than PyTorch's {number}" if of_program is None else f"rounds: {number}, which are fewer than PyTorch's"
                    yield node, differently(node.name, cause, inputs=words, module=module_of(node))
                return
            if of_model.taken is not None and of_program.name != _BRANCHES[of_model.taken]:
                cause = f"branch: {_BRANCHES[of_model.taken]} instead of {of_program.name}"
                yield node, differently(node.name, cause, inputs=words, module=module_of(node))
                return
            yield from self.graph(of_program.graphs, of_model.graph, of_model.compute, f"{words}, {of_program.name} of {node.name}")


def _holds_graphs(module: torch.fx.GraphModule) -> bool:
    return any(isinstance(child, torch.fx.GraphModule) for child in module.children())


def _values_in(graph: onnx.GraphProto, of_program: Iterable[Iterable[torch.fx.Node]]) -> Mapping[torch.fx.Node, str]:
    """Which value of a graph each captured node is: by what nodes say of where they come from, else by name.

    Names that several captured graphs have are left out.
    """
    nodes: dict[str, torch.fx.Node | None] = {}
    for part in of_program:
        for node in part:
            if node.op == "call_function":
                nodes[node.name] = None if node.name in nodes else node
    names = [name for name, node in nodes.items() if node is not None]
    place = {name: at for at, name in enumerate(names)}
    known = {names[at]: value for value, at in values_of_calls(graph, lambda call: place.get(call.name)).items()}
    for node in graph.node:
        calls = {call.name for call in calls_of(node)}
        for name in node.output:
            # A node that comes from another call only happens to have the name.
            if name in place and (not calls or not calls.isdisjoint((name, _source(nodes[name]).name))):
                known[name] = name
    return {nodes[name]: value for name, value in known.items()}


def _source(node: torch.fx.Node) -> torch.fx.Node:
    """The call that gives a result by this name."""
    while node.target is operator.getitem and isinstance(node.args[0], torch.fx.Node):
        node = node.args[0]
    return node
