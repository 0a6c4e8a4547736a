"""Which operator of a TorchScript program a value of an ONNX file is, by what the file says of its nodes."""

from __future__ import annotations

import dataclasses
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from .. import _engine
from ..errors import OnnxExporterError
from ..feed.module_paths import full_paths, module_steps
from ..script_graphs import inlined, recorded_within, without_module
from .comparison import differently, not_computed
from .file_nodes import Call, all_nodes, calls_of, graphs_of, pure, values_of_calls
from .node_values import computed, is_reshaped_elsewhere
from .outputs import compare_tensors

if TYPE_CHECKING:
    import onnx

__all__ = ["ScriptMismatch", "Unmatched", "first_script_mismatch"]

_Kind = tuple[str, str]  # module path, operator
Compute = Callable[[list[str]], Sequence[Any]]

_log = logging.getLogger(__name__)


class Unmatched(Exception):
    """No node of the file can be told to be an operator of the program, and why."""


@dataclasses.dataclass(frozen=True)
class _Call:
    """A call of an operator, once all methods are inlined."""

    kind: _Kind
    place: int
    source: str


@dataclasses.dataclass
class ScriptMismatch:
    """The first value of the file that differs from what the operator gives in PyTorch.

    Attributes:
        checked: How many values were compared.
        operators: How many operators the program has.
        comparison: The numbers; None if all agree.
        operator: "aten::relu".
        module: The path of its module.
        node: The ONNX node that makes the value.
        source: The line in Python.
    """

    checked: int
    operators: int
    comparison: _engine.Comparison | None = None
    operator: str = ""
    module: str = ""
    node: str = ""
    source: str = ""

    def __repr__(self) -> str:
        if self.comparison is None:
            rest = ": the file has no value of its own for the others, or they did not run"
            return f"no mismatch in {self.checked} of {self.operators} operators{rest if self.checked < self.operators else ''}"
        found = self.comparison
        difference = "" if found.cause.startswith("not computed") else f", largest difference {found.max_absolute:.3g}"
        where = f" at {self.source}" if self.source else ""
        return (
            f"first mismatch: {self.operator} in module '{self.module or '(model)'}'{where}\n"
            f"  node {self.node}, value '{found.name}': {found.cause} ({found.inputs}){difference}"
        )


def first_script_mismatch(
    model: onnx.ModelProto,
    script: Any,
    args: tuple[Any, ...],
    compute: Callable[[list[str]], tuple[Any, ...]],
    *,
    inputs: str,
    folder: str = "",
) -> ScriptMismatch:
    """Compare the values of a file with those of the program, in the order of the file's nodes.

    A value and a call belong together if as many calls of the operator in that module are
    in the program as in the file.

    Args:
        model: The file.
        script: A TorchScript module or method.
        args: What it is run with.
        compute: Runs the file, and gives values by name.
        inputs: What the comparisons call these inputs.
        folder: Where the file has its external data.

    Raises:
        Unmatched: The file says too little, or the program's operators cannot be run one by one.
    """
    graph, module, before, behind = _simplified(script)
    nodes, calls = _calls(graph, full_paths(module))
    matched = _matched(model, calls)
    if not matched:
        raise Unmatched("no node says that it comes from an operator of this program")
    wanted = sorted(set(matched.values()))
    try:
        recorded = recorded_within(graph, [nodes[place].output() for place in wanted], [*before, *args, *behind])
    except RuntimeError as error:
        raise Unmatched(f"torch cannot give the values within this program: {str(error).splitlines()[0]}") from error
    walk = _Walk(model, folder, matched, calls, dict(zip(wanted, recorded, strict=True)))
    for name, comparison in walk.graph(model.graph, compute, inputs):
        if not comparison.ok:
            call, node = calls[matched[name]], walk.makers[name]
            module_path, operator = call.kind
            where = f"{node.op_type} {node.name}".rstrip()
            return ScriptMismatch(len(walk.checked), len(calls), comparison, operator, module_path, where, call.source)
    return ScriptMismatch(len(walk.checked), len(calls))


class _Walk:
    """Goes through a file, and compares its values with what the calls gave that they are: the n-th of one with the n-th of the other."""

    def __init__(
        self,
        model: onnx.ModelProto,
        folder: str,
        matched: Mapping[str, int],
        calls: Sequence[_Call],
        recorded: Mapping[int, Sequence[torch.Tensor]],
    ) -> None:
        from .bodies import Bodies

        self.checked: set[str] = set()
        self.makers = {name: node for graph in graphs_of(model) for node in graph.node for name in node.output}
        self._bodies, self._matched, self._calls, self._recorded = Bodies(model, folder), matched, calls, recorded
        self._seen: defaultdict[int, int] = defaultdict(int)  # of a call: loops hold some twice, the first round apart

    def graph(self, graph: onnx.GraphProto, compute: Compute, words: str) -> Iterator[tuple[str, _engine.Comparison]]:
        """Each value of a run of the graph that is known to be one of the program, in order."""
        from .bodies import HOLDERS

        names = [name for node in graph.node for name in node.output if name in self._matched]
        given, error = computed(names, compute) if names else ((), None)
        found = dict(zip(names, given))
        for node in graph.node:
            if node.op_type in HOLDERS:
                yield from self._within(node, compute, words)
            for name in node.output:
                if name not in self._matched:
                    continue
                if name not in found:
                    yield name, not_computed(name, error or RuntimeError(), inputs=words, module=self._module(name))
                    return
                yield from self._value(name, found[name], words)

    def _within(self, node: onnx.NodeProto, compute: Compute, words: str) -> Iterator[tuple[str, _engine.Comparison]]:
        runs = self._bodies.runs(node, compute)
        for number in itertools.count(1):
            try:
                run = next(runs, None)
            except Exception as error:  # of onnxruntime, or of what cannot be handed on
                _log.info("the values within %s are not compared: %s", node.name, error)
                return
            if run is None:
                return
            what = f"round {number}" if run.taken is None else f"{str(run.taken).lower()} branch"
            yield from self.graph(run.graph, run.compute, f"{words}, {what} of {node.name or node.op_type}")

    def _value(self, name: str, actual: torch.Tensor, words: str) -> Iterator[tuple[str, _engine.Comparison]]:
        place = self._matched[name]
        expected, number = self._recorded[place], self._seen[place]
        self._seen[place] += 1
        self.checked.add(name)
        if number >= len(expected):
            yield name, differently(name, f"rounds: more than PyTorch's {len(expected)}", inputs=words, module=self._module(name))
        elif is_reshaped_elsewhere(actual, expected[number]):
            self.checked.discard(name)
        else:
            tensor = expected[number]
            yield name, compare_tensors(name, actual.to(tensor.dtype), tensor, inputs=words, module=self._module(name))

    def _module(self, name: str) -> str:
        return self._calls[self._matched[name]].kind[0]


def _matched(model: onnx.ModelProto, calls: Sequence[_Call]) -> dict[str, int]:
    """The place of the call that each value of the file is, in the order of the file."""
    in_file: defaultdict[_Kind, dict[str, None]] = defaultdict(dict)  # in the order in which they first appear
    graphs = graphs_of(model)
    for node in all_nodes(model.graph):
        for module, operator, name in calls_of(node):
            in_file[module, operator].setdefault(name)
    if not in_file:
        raise Unmatched("its nodes do not say what they come from; metadata 'default' of the conversion keeps that")
    in_program: defaultdict[_Kind, list[int]] = defaultdict(list)
    for call in calls:
        in_program[call.kind].append(call.place)
    places = {
        Call(*kind, name): at
        for kind, names in in_file.items()
        if len(names) == len(in_program[kind])
        for name, at in zip(_in_order(names), in_program[kind])
    }
    return {name: place for graph in graphs for name, place in values_of_calls(graph, places.get).items()}


def _in_order(names: Collection[str]) -> list[str]:
    """Optimisation moves nodes; where calls are numbered, the numbers say their order."""
    return sorted(names, key=int) if all(name.isdigit() for name in names) else list(names)


# --- the program -------------------------------------------------------------------


def _simplified(script: torch.jit.ScriptModule | torch._C.ScriptMethod) -> tuple[Any, torch.nn.Module, list[Any], list[Any]]:
    """The graph, inlined, its module, and what it takes before and behind the arguments. Branches on what the module's attributes say are taken where that is known."""
    graph, module = inlined(script)
    try:
        weights = without_module(graph, module)
    except OnnxExporterError:
        return inlined(script)[0], module, [module], []
    torch._C._jit_pass_constant_propagation(graph)
    return graph, module, [], weights


def _calls(graph: Any, paths: Mapping[str, str]) -> tuple[list[Any], list[_Call]]:
    """The nodes that give one tensor, also those in branches and loops, and what is known of each."""
    nodes = [node for node in _nodes(graph) if node.kind().startswith("aten::") and _is_tensor(list(node.outputs()))]
    calls = []
    for place, node in enumerate(nodes):
        path = ".".join(name for name, _ in module_steps(node.getModuleHierarchy()))
        calls.append(_Call((paths.get(path, path), pure(node.kind())), place, _line_of(node.sourceRange())))
    return nodes, calls


def _nodes(block: Any) -> Iterator[Any]:
    for node in block.nodes():
        yield node
        for inner in node.blocks():
            yield from _nodes(inner)


def _is_tensor(outputs: Sequence[Any]) -> bool:
    return len(outputs) == 1 and outputs[0].type().isSubtypeOf(torch._C.TensorType.get())


def _line_of(source_range: str) -> str:
    """"model.py:17", of a scripted or a traced node."""
    for line in source_range.splitlines():
        line = line.strip()
        if line.startswith('File "'):
            file, _, rest = line.removeprefix('File "').partition('", line ')
            return f"{file}:{rest.partition(',')[0]}"
        file, opened, rest = line.partition("(")
        if opened and rest.partition(")")[0].isdigit():
            return f"{file}:{rest.partition(')')[0]}"
    return ""
