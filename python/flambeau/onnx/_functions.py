"""``export_modules_as_functions``: calls of modules as calls of the model's local functions.

Modules of the same class and structure share a function. What differs between them is an attribute
of it, "inferred::eps"; class variables that are annotated are attributes too, which no node of the
function reads. Weights are inputs.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import heapq
import math
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import onnx
import torch
from onnx import AttributeProto, FunctionProto, NodeProto, helper

from ..errors import UnsupportedOptionError

__all__ = ["with_functions"]

_LARGEST_CONSTANT = 64  # elements; what is larger is a weight
_NESTED = (AttributeProto.GRAPH, AttributeProto.GRAPHS)
_PREFIX = "inferred::"
_Step = tuple[str, str]  # a module's path, and which call of it


@dataclasses.dataclass
class _Group:
    """Nodes of one call of a module, in order: numbers of nodes, and groups within."""

    path: str
    members: list[int | _Group]

    def leaves(self) -> list[int]:
        return [leaf for member in self.members for leaf in ([member] if isinstance(member, int) else member.leaves())]


@dataclasses.dataclass
class _Function:
    """A function, and the values of its attributes for each call.

    A slot is an attribute of a node of the body: (node, attribute).
    """

    domain: str
    name: str
    body: list[NodeProto]
    inputs: list[str]
    outputs: list[str]
    slots: list[tuple[int, int]]
    names: list[str]  # of the slots as attributes of the function
    annotated: list[str]
    calls: list[list[AttributeProto]] = dataclasses.field(default_factory=list)

    @functools.cached_property
    def varying(self) -> frozenset[int]:
        """The slots in which calls differ; all calls are there when this is first asked for."""
        return frozenset(i for i in range(len(self.slots)) if len({call[i].SerializeToString() for call in self.calls}) > 1)

    @functools.cached_property
    def settled(self) -> frozenset[str]:
        """The names of the others, which are no attributes after all."""
        return frozenset(name for i, name in enumerate(self.names) if i not in self.varying)


class _Names:
    """Names that are each given once."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def unused(self, name: str) -> str:
        """The name, or it with the next number that is free."""
        unique, count = name, self._counts.get(name, 0)
        while unique in self._taken:
            count += 1
            unique = f"{name}_{count}"
        self._counts[name] = count
        self._taken.add(unique)
        return unique


def with_functions(
    model: onnx.ModelProto,
    module: torch.nn.Module,
    selected: bool | type[torch.nn.Module] | Collection[type[torch.nn.Module]],
    calls: Mapping[str, Mapping[str, str]],
) -> onnx.ModelProto:
    """The model with functions for the calls of all modules, or of those of some classes.

    Args:
        model: Says of each node in which modules it was made.
        module: The module itself, from which the model was made.
        calls: The calls of modules around each captured node, by its name: path → which one.
    """
    opset = next(each.version for each in model.opset_import if not each.domain)
    if opset < 15:
        raise UnsupportedOptionError(f"export_modules_as_functions needs opset 15 or newer, not {opset}: older models have no functions")
    classes = None if selected is True else {selected} if isinstance(selected, type) else set(selected)
    return _Splitter(model, module, classes, opset, calls).run()


class _Splitter:
    def __init__(
        self,
        model: onnx.ModelProto,
        module: torch.nn.Module,
        selected: set[type] | None,
        opset: int,
        calls: Mapping[str, Mapping[str, str]],
    ) -> None:
        self.model = model
        self.graph = model.graph
        self.module = module
        self.selected = selected
        self.opset = opset
        # Where weights are inputs, constants are nodes already; each function has its own again.
        self.small = [node for node in model.graph.node if _is_small_constant(node)]
        self.nodes = [node for node in model.graph.node if not _is_small_constant(node)]
        self.reads = [_reads(node) for node in self.nodes]
        self.readers: dict[str, set[int]] = {}
        for i, names in enumerate(self.reads):
            for name in names:
                self.readers.setdefault(name, set()).add(i)
        self.outputs = {value.name for value in self.graph.output}
        weights = set(module.state_dict())
        self.constants = {
            each.name: each for each in self.graph.initializer if each.name not in weights and math.prod(each.dims) <= _LARGEST_CONSTANT
        } | {node.output[0]: node.attribute[0].t for node in self.small}
        self.chains = self._chains(calls)
        self.functions: dict[bytes, _Function] = {}
        self.by_name: dict[tuple[str, str], _Function] = {}
        self.function_names: dict[str, _Names] = {}  # by domain
        self.node_names = _Names(node.name for node in self.nodes)

    def run(self) -> onnx.ModelProto:
        members = self._grouped(list(range(len(self.nodes))), 0)
        nodes = [self.nodes[member] if isinstance(member, int) else self._call(member) for member in members]
        finished = onnx.ModelProto()
        finished.CopyFrom(self.model)
        del finished.graph.node[:]
        finished.graph.node.extend(self._finished(node, None, []) for node in nodes)
        read = {name for node in finished.graph.node for name in _reads(node)} | self.outputs
        for i, node in enumerate(node for node in self.small if node.output[0] in read):
            finished.graph.node.insert(i, node)
        kept = [each for each in finished.graph.initializer if each.name in read]
        # Initializers may be inputs, too (keep_initializers_as_inputs).
        gone = {each.name for each in finished.graph.initializer} - read
        asked = [each for each in finished.graph.input if each.name not in gone]
        del finished.graph.initializer[:], finished.graph.input[:]
        finished.graph.initializer.extend(kept)
        finished.graph.input.extend(asked)
        made = {name for node in finished.graph.node for name in node.output} | read
        described = [each for each in finished.graph.value_info if each.name in made]
        del finished.graph.value_info[:]
        finished.graph.value_info.extend(described)
        finished.functions.extend(self._proto(function) for function in self.functions.values())
        domains = {each.domain for each in finished.opset_import}
        for domain in sorted({function.domain for function in self.functions.values()} - domains):
            finished.opset_import.append(helper.make_opsetid(domain, 1))
        return finished

    # --- which nodes belong together ------------------------------------------------------

    def _chains(self, calls: Mapping[str, Mapping[str, str]]) -> list[list[_Step]]:
        """The modules around each node that become functions, outermost first."""
        scopes: list[list[str]] = []
        for node in self.nodes:
            notes = {each.key: each.value for each in node.metadata_props}
            scopes.append(ast.literal_eval(notes.get("pkg.torch.onnx.name_scopes", "[]")))
        known = [calls.get(each[-1], {}) if each else {} for each in scopes]
        # A node of which nothing is known belongs to the call that came last, or to the first.
        last = {path: call for of_node in reversed(known) for path, call in of_node.items()}
        chains = []
        for each, of_node in zip(scopes, known):
            last |= of_node
            chains.append([(path, last.get(path, "")) for path in each[1:-1] if path and self._is_selected(path)])
        return chains

    def _is_selected(self, path: str) -> bool:
        try:
            found = type(self.module.get_submodule(path))
        except AttributeError:
            return False
        return self.selected is None or found in self.selected

    def _grouped(self, nodes: Sequence[int], depth: int, *, in_runs: bool = False) -> list[int | _Group]:
        """The nodes, as groups where they are of one call; where calls of a module are not told apart, what is between them does."""
        groups: dict[_Step, list[int]] = {}
        members: list[int | _Group] = []
        for node in nodes:
            if len(self.chains[node]) > depth:
                groups.setdefault(self.chains[node][depth], []).append(node)
            else:
                members.append(node)
        place = {node: i for i, node in enumerate(nodes)}
        for step, group in groups.items():
            whole = not in_runs and self._is_convex(group, nodes[place[group[0]] : place[group[-1]] + 1])
            members.extend(_Group(step[0], self._grouped(part, depth + 1)) for part in ([group] if whole else _runs(group, place)))
        ordered = self._in_order(members)
        # Groups may need each other's results, though none needs its own.
        return ordered if len(ordered) == len(members) else self._grouped(nodes, depth, in_runs=True)

    def _is_convex(self, group: Sequence[int], nodes: Sequence[int]) -> bool:
        """Whether nothing that the group reads depends on what it makes, through others.

        Args:
            nodes: From its first to its last one: what comes before depends on none of it, what comes after is not read.
        """
        if len(group) == len(nodes):
            return True
        inside, made, after = set(group), set[str](), set[str]()
        for node in nodes:
            if node in inside:
                if self.reads[node] & after:
                    return False
                made.update(self.nodes[node].output)
            elif not self.reads[node].isdisjoint(made) or not self.reads[node].isdisjoint(after):
                after.update(self.nodes[node].output)
        return True

    def _in_order(self, members: list[int | _Group]) -> list[int | _Group]:
        """What is read is made before; else the captured order. Members that need each other are left out."""
        leaves = [[member] if isinstance(member, int) else member.leaves() for member in members]
        maker = {name: i for i, own in enumerate(leaves) for leaf in own for name in self.nodes[leaf].output}
        needs = [{maker[name] for leaf in own for name in self.reads[leaf] if name in maker} - {i} for i, own in enumerate(leaves)]
        needed_by: list[list[int]] = [[] for _ in members]
        for i, makers in enumerate(needs):
            for each in makers:
                needed_by[each].append(i)
        missing = [len(makers) for makers in needs]
        ready = [(min(own), i) for i, own in enumerate(leaves) if not missing[i]]
        heapq.heapify(ready)
        order = []
        while ready:
            _, done = heapq.heappop(ready)
            order.append(members[done])
            for i in needed_by[done]:
                missing[i] -= 1
                if not missing[i]:
                    heapq.heappush(ready, (min(leaves[i]), i))
        return order

    # --- functions ----------------------------------------------------------------------------

    def _call(self, group: _Group) -> NodeProto:
        """The call that stands for a group; its function is there then."""
        module = self.module.get_submodule(group.path)
        leaves = group.leaves()
        inside = set(leaves)
        made = {name: None for leaf in leaves for name in self.nodes[leaf].output if name}
        outputs = [name for name in made if name in self.outputs or self.readers.get(name, set()) - inside]
        body = [self.nodes[member] if isinstance(member, int) else self._call(member) for member in group.members]
        read = list(dict.fromkeys(name for node in body for name in _ordered_reads(node)))
        constants = [name for name in read if name in self.constants]
        inputs = [name for name in read if name not in made and name not in self.constants]
        names = {name: f"input_{i}" for i, name in enumerate(inputs)} | {name: f"output_{i}" for i, name in enumerate(outputs)}
        body = [helper.make_node("Constant", [], [name], value=self.constants[name]) for name in constants] + body
        body = [self._with_defaults(_renamed(node, names)) for node in body]
        function = self._function(type(module), body, [names[each] for each in inputs], [names[each] for each in outputs])
        annotated = _annotated(module)
        function.annotated = list(annotated)
        values = [body[node].attribute[attribute] for node, attribute in function.slots]
        function.calls.append(values)
        name = self.node_names.unused(group.path)
        call = NodeProto(op_type=function.name, domain=function.domain, name=name, input=inputs, output=outputs)
        for name, value in zip(function.names, values):
            attribute = AttributeProto()
            attribute.CopyFrom(value)
            attribute.name = name
            call.attribute.append(attribute)
        call.attribute.extend(helper.make_attribute(name, value) for name, value in annotated.items())
        return call

    def _function(self, class_: type, body: list[NodeProto], inputs: list[str], outputs: list[str]) -> _Function:
        slots = [(i, k) for i, node in enumerate(body) for k, each in enumerate(node.attribute) if each.type not in _NESTED]
        key = FunctionProto(domain=class_.__module__, name=class_.__qualname__, input=inputs, output=outputs)
        for node in body:
            key.node.add().CopyFrom(node)
        for i, k in slots:
            shown = key.node[i].attribute[k]
            key.node[i].attribute[k].CopyFrom(AttributeProto(name=shown.name, type=shown.type))
        found = self.functions.get(key.SerializeToString(deterministic=True))
        if found is not None:
            return found
        of_slots = _Names()
        names = [of_slots.unused(_PREFIX + body[i].attribute[k].name.removeprefix(_PREFIX)) for i, k in slots]
        name = self.function_names.setdefault(class_.__module__, _Names()).unused(class_.__name__)
        made = _Function(class_.__module__, name, body, inputs, outputs, slots, names, [])
        self.functions[key.SerializeToString(deterministic=True)] = made
        self.by_name[made.domain, made.name] = made
        return made

    def _defaults(self, node: NodeProto) -> list[AttributeProto]:
        """What ONNX takes for the attributes that a node leaves out."""
        if node.domain or not onnx.defs.has(node.op_type):  # of another domain, or a plugin that names none
            return []
        schema = onnx.defs.get_schema(node.op_type, self.opset, "")
        return [each.default_value for each in schema.attributes.values() if each.default_value.name]

    def _with_defaults(self, node: NodeProto) -> NodeProto:
        """With all attributes, in one order: nodes that differ in whether they say a default are of one structure."""
        given = {each.name for each in node.attribute}
        attributes = [*node.attribute, *(each for each in self._defaults(node) if each.name not in given)]
        del node.attribute[:]
        node.attribute.extend(sorted(attributes, key=lambda each: each.name))
        return node

    def _finished(self, node: NodeProto, function: _Function | None, slots: Sequence[int | None]) -> NodeProto:
        """A node of the model, or of a function: what varies there refers to the function's attribute."""
        finished = NodeProto()
        finished.CopyFrom(node)
        del finished.attribute[:]
        called = self.by_name.get((node.domain, node.op_type))
        defaults = self._defaults(node)
        for k, attribute in enumerate(node.attribute):
            varies = function is not None and slots[k] in function.varying
            if not varies and attribute in defaults:
                continue
            if called is not None and attribute.name in called.settled:
                continue
            if varies:
                finished.attribute.add(name=attribute.name, type=attribute.type, ref_attr_name=function.names[slots[k]])
            else:
                finished.attribute.add().CopyFrom(attribute)
        return finished

    def _proto(self, function: _Function) -> FunctionProto:
        place = {position: slot for slot, position in enumerate(function.slots)}
        nodes = [
            self._finished(node, function, [place.get((i, k)) for k in range(len(node.attribute))])
            for i, node in enumerate(function.body)
        ]
        attributes = [name for slot, name in enumerate(function.names) if slot in function.varying]
        domains = sorted({node.domain for node in nodes} | {""})
        versions = {each.domain: each.version for each in self.model.opset_import}
        return FunctionProto(
            domain=function.domain,
            name=function.name,
            input=function.inputs,
            output=function.outputs,
            attribute=[*attributes, *function.annotated],
            node=nodes,
            opset_import=[helper.make_opsetid(domain, versions.get(domain, 1)) for domain in domains],
        )


def _ordered_reads(node: NodeProto) -> list[str]:
    """What a node reads, its nested graphs included, without what these make."""
    found, pending = [name for name in node.input if name], [each.g for each in node.attribute if each.HasField("g")]
    made: set[str] = set()
    while pending:
        graph = pending.pop()
        made |= {each.name for each in (*graph.input, *graph.initializer)} | {name for each in graph.node for name in each.output}
        found += [each.name for each in graph.output]
        for each in graph.node:
            found += [name for name in each.input if name]
            pending += [attribute.g for attribute in each.attribute if attribute.HasField("g")]
    return [name for name in found if name not in made]


def _is_small_constant(node: NodeProto) -> bool:
    if node.op_type != "Constant" or node.domain or [each.name for each in node.attribute] != ["value"]:
        return False
    return math.prod(node.attribute[0].t.dims) <= _LARGEST_CONSTANT


def _reads(node: NodeProto) -> set[str]:
    return set(_ordered_reads(node))


def _runs(group: Sequence[int], place: Mapping[int, int]) -> list[list[int]]:
    """The group in parts without others between."""
    runs: list[list[int]] = []
    for node in group:
        if runs and place[runs[-1][-1]] + 1 == place[node]:
            runs[-1].append(node)
        else:
            runs.append([node])
    return runs


def _renamed(node: NodeProto, names: dict[str, str]) -> NodeProto:
    """A copy with values by number, and nothing on where it came from."""

    def new(name: str) -> str:
        return names.setdefault(name, f"value_{len(names)}") if name else name

    copy = NodeProto()
    copy.CopyFrom(node)
    copy.name = copy.doc_string = ""
    del copy.metadata_props[:]
    copy.input[:] = [new(name) for name in node.input]
    copy.output[:] = [new(name) for name in node.output]
    pending = [each.g for each in copy.attribute if each.HasField("g")]
    while pending:
        graph = pending.pop()
        for each in graph.node:
            each.name = each.doc_string = ""
            del each.metadata_props[:]
            each.input[:] = [new(name) for name in each.input]
            each.output[:] = [new(name) for name in each.output]
            pending.extend(attribute.g for attribute in each.attribute if attribute.HasField("g"))
        for value in (*graph.input, *graph.output, *graph.value_info, *graph.initializer):
            value.name = new(value.name)
    return copy


def _annotated(module: torch.nn.Module) -> dict[str, Any]:
    """The values of annotated class variables that an attribute can hold."""
    try:
        names = typing.get_type_hints(type(module)).keys() - typing.get_type_hints(torch.nn.Module).keys()
    except Exception:  # of annotations that name what is not imported
        names = type(module).__annotations__.keys() if hasattr(type(module), "__annotations__") else set()
    plain: Callable[[Any], bool] = lambda value: isinstance(value, (bool, int, float, str))  # noqa: E731
    found = {name: getattr(module, name, None) for name in sorted(names)}
    return {
        name: int(value) if isinstance(value, bool) else value
        for name, value in found.items()
        if plain(value) or (isinstance(value, (list, tuple)) and value and all(map(plain, value)) and len({*map(type, value)}) == 1)
    }
