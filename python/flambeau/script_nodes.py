"""Which operator of a TorchScript program a value of an ONNX file is, by what the file says of its nodes."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from . import _engine
from .comparison import not_computed
from .errors import OnnxExporterError
from .feed.script_graph import full_paths, module_steps
from .file_nodes import Call, calls_of, pure, values_of_calls
from .node_values import computed, is_reshaped_elsewhere
from .script_graphs import inlined, results_within, without_module
from .verification import compare_tensors

if TYPE_CHECKING:
    import onnx

__all__ = ["ScriptMismatch", "Unmatched", "first_script_mismatch"]

_Kind = tuple[str, str]  # module path, operator


class Unmatched(Exception):
    """No node of the file can be told to be an operator of the program, and why."""


@dataclasses.dataclass(frozen=True)
class _Call:
    """A call of an operator in the program's main block, once all methods are inlined."""

    kind: _Kind
    place: int
    source: str


@dataclasses.dataclass
class ScriptMismatch:
    """The first value of the file that differs from what the operator gives in PyTorch.

    Attributes:
        checked: How many values were compared.
        operators: How many operators the program has outside of loops and branches.
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
            rest = ": the file has no value of its own for the others, or they are in loops and branches"
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
        clones = results_within(graph, [nodes[place].output() for place in wanted], "clone", [*before, *args, *behind])
    except RuntimeError as error:
        raise Unmatched(f"torch cannot give the values within this program: {str(error).splitlines()[0]}") from error
    values = dict(zip(wanted, clones, strict=True))
    names = list(matched)
    given, error = computed(names, compute)
    result = ScriptMismatch(0, len(calls))

    def found(name: str, comparison: _engine.Comparison) -> ScriptMismatch:
        call = calls[matched[name]]
        node = next(node for node in model.graph.node if name in node.output)
        result.comparison, result.source = comparison, call.source
        result.module, result.operator = call.kind
        result.node = f"{node.op_type} {node.name}".rstrip()
        return result

    for name, actual in zip(names, given):
        expected = values[matched[name]]
        if is_reshaped_elsewhere(actual, expected):
            continue
        result.checked += 1
        comparison = compare_tensors(name, actual.to(expected.dtype), expected, inputs=inputs, module=calls[matched[name]].kind[0])
        if not comparison.ok:
            return found(name, comparison)
    if error is not None and len(given) < len(names):
        name = names[len(given)]
        return found(name, not_computed(name, error, inputs=inputs))
    return result


def _matched(model: onnx.ModelProto, calls: Sequence[_Call]) -> dict[str, int]:
    """The place of the call that each value of the file is, in the order of the file."""
    in_file: defaultdict[_Kind, dict[str, None]] = defaultdict(dict)  # in the order in which they first appear
    for node in model.graph.node:
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
    return values_of_calls(model.graph, places.get)


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
    """The nodes of the main block that give one tensor, and what is known of each."""
    nodes = [node for node in graph.nodes() if node.kind().startswith("aten::") and _is_tensor(list(node.outputs()))]
    calls = []
    for place, node in enumerate(nodes):
        path = ".".join(name for name, _ in module_steps(node))
        calls.append(_Call((paths.get(path, path), pure(node.kind())), place, _line_of(node.sourceRange())))
    return nodes, calls


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
