"""Feeds the engine with live TorchScript: the graph as torch holds it, weights by pointer."""

from __future__ import annotations

import enum
import functools
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import torch

from .. import _engine
from ..errors import CaptureError
from . import enums
from .exported_program import DTYPES
from .foreign_objects import Place
from .module_paths import full_paths, module_steps
from .recorded_pieces import has_pieces_of_example
from .script_types import class_name_of, holds_objects, kind_of, parts_of, recorded_type
from .weights import has_no_bytes
from .written_rows import drops_rows_of_example

__all__ = ["FROZEN", "GraphImport", "PythonFunctions", "attribute_kind", "import_graph", "stack_trace"]

_KINDS = {"c": "fs", "cs": "c", "fs": "cs"}

# Operators of these are in the engine's table, or nowhere.
_OWN_NAMESPACES = frozenset({"aten", "prim", "quantized"})

FROZEN = "flambeau::frozen"
"""Says of a number, which a trace has as a size, that Python counted by what it is in the example. Its attributes: that, and a place as text."""

# Of torch.jit.optimize_for_inference: a weight as oneDNN lays it out.
_ONEDNN_CONSTANT = "prim::ConstantMKLDNNTensor"

# The most frequent of those that could have some.
_WITHOUT_BLOCKS = frozenset({"prim::Constant", "prim::GetAttr", "prim::ListConstruct"})

# Where Flambeau captures, and the frame that calls the model, as torch writes it.
_CAPTURE = os.path.join(os.path.dirname(os.path.dirname(__file__)), "capture", "")
_TRACER = f"{os.path.join(_CAPTURE, 'traces', 'tracing.py')}("

_FRAME = re.compile(r"^(?P<file>.*)\((?P<line>\d+)\): (?P<function>.*)$")


@functools.lru_cache(maxsize=4096)
def _frame(line: str) -> str | None:
    """One line of torch's text of a source range, as Python writes it in tracebacks."""
    frame = _FRAME.match(line)
    return f'  File "{frame["file"]}", line {frame["line"]}, in {frame["function"]}' if frame else None


@functools.lru_cache(maxsize=1024)
def stack_trace(source: str) -> str:
    """Torch's text of a source range, as Python writes tracebacks: the innermost frame last.

    Of a trace it is the model's part of the stack: what is around is how Flambeau was called.
    """
    source = "" if source.startswith(_TRACER) else source.partition(f"\n{_TRACER}")[0]
    frames = [_frame(line) for line in source.splitlines() if not line.startswith(_CAPTURE)]  # what stands in for torch's functions
    if not frames or None in frames:
        return source  # a scripted function's, which is in this form
    return "\n".join(reversed(frames))


def tensor_constant(tensor: torch.Tensor, name: str) -> _engine.ScriptTensor:
    """A tensor by its place in memory.

    Raises:
        CaptureError: Its bytes are not plain strided ones.
    """
    if tensor.is_mkldnn:
        tensor = tensor.to_dense()
    if tensor.layout is not torch.strided or tensor.is_quantized:
        raise CaptureError(f"the tensor '{name}' is no plain strided tensor; replace it with its dense, dequantized form")
    if has_no_bytes(tensor):
        raise CaptureError(f"the tensor '{name}' has no numbers, as it is on the device \"meta\" or fake; load the weights before")
    if tensor.device.type != "cpu":
        tensor = tensor.cpu()
    tensor = tensor.detach().resolve_conj().resolve_neg()
    storage = tensor.untyped_storage()
    return _engine.ScriptTensor(
        dtype=DTYPES[tensor.dtype],
        sizes=list(tensor.shape),
        strides=list(tensor.stride()),
        storage_offset=tensor.storage_offset() * tensor.element_size(),
        storage_size=storage.nbytes(),
        address=storage.data_ptr(),
        owner=storage,
    )


def _name(value: Any, kind: str) -> str:
    """What torch calls a value; a weight that became a constant has its name in the state_dict, which torch puts between words of its own."""
    name: str = value.debugName()
    if kind == _ONEDNN_CONSTANT:
        name = name.removesuffix("_mkldnn")
    return name.removeprefix("self.") if kind in (_ONEDNN_CONSTANT, "prim::Constant") else name


def _engine_kind(node: Any) -> str:
    """What the engine calls the node. Constants that torch gives no Python object of are None but for their type."""
    kind: str = node.kind()
    if kind == "prim::Constant" and node.output().type().kind() == "GeneratorType":
        return "aten::Generator"
    return "prim::Constant" if kind == _ONEDNN_CONSTANT else kind


class PythonFunctions(Protocol):
    """What becomes of calls of autograd functions (``prim::PythonOp``), and of operators that users translate."""

    open_types: bool
    """Whether PyTorch's own operators are translated in ways that may leave the types of results open."""

    def begin(self, walk: GraphImport) -> None:
        """Take note of the walk, before it imports nodes."""

    def leaves_open(self, node: Any) -> bool:
        """Whether the types of an operator's results may become known from an example only."""

    def add(self, walk: GraphImport, node: Any) -> bool:
        """Import the node; False if it stays as it is."""

    def translators(self) -> dict[str, Any]:
        """For the engine, once all nodes are imported."""


class GraphImport:
    """One walk over an inlined graph."""

    def __init__(
        self, graph: Any, module: torch.nn.Module | None, bound: bool, functions: PythonFunctions | None = None
    ) -> None:
        self.graph = graph
        self.functions = functions
        self.builder = _engine.ScriptBuilder()
        self.builder.set_torch_version(torch.__version__)
        self.builder.set_default_dtype(DTYPES[torch.get_default_dtype()])
        self.types: dict[str, int] = {}
        self.values: dict[int, int] = {}  # by torch._C.Value.unique()
        self.objects: dict[int, _engine.ScriptObject] = {}
        self.around: dict[tuple[str, str], list[tuple[str, str]]] = {}  # by a node's scope and hierarchy
        self.instances: dict[str, str] = {}  # the first path of an object, by scripted class
        self.kept: list[Any] = []  # what the keys above are ids of
        self.following: Iterator[Any] = iter(())  # the nodes of the block at hand that are not imported yet
        self.bound = bound  # `module` is a _Bound, of which nobody wants to hear
        self.own_run = bound  # Flambeau had torch record it
        # The number of elements, by the operator that makes a list and its node; None where inlined graphs have nodes of one name.
        self.unpacked: dict[tuple[str, str], int | None] = {}
        # The calls of modules around a node, by its name: path → which one. Only a trace tells them apart.
        self.calls: dict[str, Mapping[str, str]] = {}
        if functions is not None:
            functions.begin(self)
        self.roles: dict[str, tuple[_engine.InputKind, bool]] = {}
        self.order: dict[str, int] = {}  # of attributes, by their paths
        if bound:
            module = module.model
        self.root = "" if module is None else getattr(module, "original_name", type(module).__qualname__)
        self.paths = full_paths(module)
        if module is not None:
            state = list(module.state_dict())
            persistent = set(state)
            for name, _ in module.named_parameters(remove_duplicate=False):
                self.roles[name] = (_engine.InputKind.PARAMETER, True)
            for name, _ in module.named_buffers(remove_duplicate=False):
                self.roles[name] = (_engine.InputKind.BUFFER, name in persistent)
            # That of the state_dict, in which a module's own come before those of its children.
            for name in [*state, *self.roles]:
                for end in [i for i, letter in enumerate(name) if letter == "."] + [len(name)]:
                    self.order.setdefault(name[:end], len(self.order))

    @functools.cached_property
    def attributes(self) -> Mapping[str, Mapping[str, Any]]:
        return _attributes_by_class(self.graph)

    def type(self, type_: Any) -> int:
        text = "Tensor" if isinstance(type_, torch._C.TensorType) else str(type_)
        if text not in self.types:
            self.types[text] = self.builder.add_type(kind_of(type_), [self.type(each) for each in parts_of(type_)], class_name_of(type_))
        return self.types[text]

    def object(self, value: Any, path: str) -> _engine.ScriptObject:
        # torch makes a Python object anew each time that one asks for an attribute.
        key = value._c.hash() if hasattr(value, "_c") and hasattr(value._c, "hash") else id(value)
        if key in self.objects:
            return self.objects[key]
        self.kept.append(value)
        class_name = value._type().qualified_name()
        handle = self.builder.add_object(class_name, path)
        self.objects[key] = handle
        if class_name.startswith("__torch__.torch.classes."):  # written in C++: what it pickles says all
            state = value.__getstate__()[0]
            self.kept.append(state)
            self.builder.add_attribute(handle, "__state__", self.constant(state, path), _engine.InputKind.CONSTANT, True)
            return handle
        self.add_attributes(handle, class_name, path, value.hasattr, functools.partial(self.attribute, value))
        return handle

    def attribute(self, owner: Any, name: str, path: str) -> Any:
        type_ = self.attributes[owner._type().qualified_name()][name]
        try:
            value = owner.getattr(name)
        except RuntimeError:
            if type_ is None:
                raise
            return self.foreign(Place(owner).attribute(name, type_), type_, path)
        return self.constant(value, path)

    def foreign(self, place: Place, type_: Any, path: str) -> Any:
        """What may be, or hold, objects of classes that Python lacks."""
        kind, inner = type_.kind(), parts_of(type_)
        if not holds_objects(type_):
            return self.constant(place.value(), path)
        if kind == "ClassType":
            handle = self.add_instance(type_.qualified_name(), path)
            for name, its_type in self.attributes.get(type_.qualified_name(), {}).items():
                if its_type is not None:
                    value = self.foreign(place.attribute(name, its_type), its_type, f"{path}.{name}")
                    self.builder.add_attribute(handle, name, value, _engine.InputKind.CONSTANT, True)
            return handle
        if kind == "OptionalType":
            return None if place.is_none() else self.foreign(place.present(inner[0]), inner[0], path)
        if kind == "ListType":
            return [self.foreign(place.entry(i, inner[0]), inner[0], f"{path}.{i}") for i in range(place.length())]
        if kind == "DictType":
            return {key: self.foreign(place.entry(key, inner[1]), inner[1], f"{path}.{key}") for key in place.keys(inner[0])}
        if kind == "TupleType":
            return tuple(self.foreign(place.field(i, each), each, f"{path}.{i}") for i, each in enumerate(inner))
        raise CaptureError(f"'{path}' is of the type {type_}, whose objects are of classes that only the archive defines")

    def instance(self, value: Any, class_name: str, path: str) -> _engine.ScriptObject:
        """An object of a class that was scripted, of which torch makes one of the class in Python each time that one asks for it."""
        self.kept.append(value)
        handle = self.objects[id(value)] = self.add_instance(class_name, path)
        self.add_attributes(handle, class_name, path, functools.partial(hasattr, value), lambda name, path: self.constant(getattr(value, name), path))
        return handle

    def add_instance(self, class_name: str, path: str) -> _engine.ScriptObject:
        """
        Raises:
            CaptureError: The program writes to one of two objects, which may be the same.
        """
        first = self.instances.setdefault(class_name, path)
        if first != path and any(name == class_name and node.kind() == "prim::SetAttr" for name, node in _attribute_nodes(self.graph)):
            raise CaptureError(
                f"the program writes to an object of {class_name}, and torch does not show whether '{first}' and '{path}' are one; "
                "an archive does: torch.jit.save, then flambeau convert"
            )
        return self.builder.add_object(class_name, path)

    def add_attributes(
        self, handle: _engine.ScriptObject, class_name: str, path: str, has: Callable[[str], bool], get: Callable[[str, str], Any]
    ) -> None:
        """
        Args:
            get: What the engine gets for an attribute, by the attribute's name and path.
        """
        attributes = []
        for name in self.attributes.get(class_name, ()):
            inner = f"{path}.{name}" if path else name
            if path == "" and self.bound and name == "model":
                inner = ""
            if has(name):
                attributes.append((self.order.get(inner, len(self.order)), name, inner))
        for _, name, inner in sorted(attributes):
            role, persistent = self.roles.get(inner, (_engine.InputKind.CONSTANT, False))
            self.builder.add_attribute(handle, name, get(name, inner), role, persistent)

    def quantized(self, tensor: torch.Tensor, path: str) -> _engine.ScriptObject:
        """A quantized tensor, in the form in which torch pickles it."""
        if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            quantizer: tuple[Any, ...] = ("torch.per_tensor_affine", tensor.q_scale(), tensor.q_zero_point())
        else:
            scales, zero_points = tensor.q_per_channel_scales(), tensor.q_per_channel_zero_points()
            quantizer = ("torch.per_channel_affine", scales, zero_points, tensor.q_per_channel_axis())
        self.kept.append(quantizer)
        handle = self.builder.add_object("torch._utils._rebuild_qtensor", path)
        data = tensor_constant(integers(tensor), path)
        self.builder.add_attribute(handle, "data", data, _engine.InputKind.CONSTANT, True)
        self.builder.add_attribute(handle, "quantizer", self.constant(quantizer, path), _engine.InputKind.CONSTANT, True)
        return handle

    def constant(self, value: Any, name: str) -> Any:
        if value is None or isinstance(value, (bool, int, float, complex, str)):
            return value
        if isinstance(value, torch.Tensor):
            return self.quantized(value, name) if value.is_quantized else tensor_constant(value, name)
        if isinstance(value, torch.device):
            return _engine.ScriptDevice(str(value))
        if isinstance(value, torch.dtype):
            return DTYPES[value]
        if isinstance(value, enum.Enum):
            return enums.member(value, self.constant(value.value, name))
        if isinstance(value, list):
            return [self.constant(element, f"{name}.{i}") for i, element in enumerate(value)]
        if isinstance(value, tuple):
            return tuple(self.constant(element, f"{name}.{i}") for i, element in enumerate(value))
        if isinstance(value, dict):
            # Keys are numbers or text; a tensor cannot be one here.
            return {self.constant(key, name): self.constant(entry, f"{name}.{key}") for key, entry in value.items()}
        if isinstance(value, torch.jit.ScriptModule):
            value = value._c
        if isinstance(value, (torch._C.ScriptModule, torch._C.ScriptObject)):
            return self.object(value, name)
        if (scripted := torch.jit._state._get_script_class(type(value))) is not None:
            return self.instance(value, scripted.qualified_name(), name)
        return None

    def input(self, value: Any, name: str = "") -> None:
        self.values[value.unique()] = self.builder.add_input(name or value.debugName(), self.type(value.type()))

    def finished(self) -> _engine.ScriptBuilder:
        """Import the nodes, once the inputs are known."""
        self.block(self.graph.nodes())
        self.builder.set_outputs([self.values[value.unique()] for value in self.graph.outputs()])
        return self.builder

    def block(self, nodes: Any) -> None:
        around, self.following = self.following, iter(nodes)
        while (node := next(self.following, None)) is not None:
            self.node(node)
        self.following = around

    def node(self, node: Any) -> None:
        kind = node.kind()
        if kind == "prim::PythonOp" and self.functions is not None and self.functions.add(self, node):
            return
        if drops_rows_of_example(node):
            self.values[node.output().unique()] = self.values[node.inputsAt(0).unique()]
            return
        outputs = _outputs(node)
        if kind == "prim::ListUnpack" and len((unpacked := node.inputsAt(0)).uses()) == 1:
            key = unpacked.node().kind(), unpacked.debugName()
            self.unpacked[key] = len(outputs) if self.unpacked.get(key, len(outputs)) == len(outputs) else None
        handles = self.builder.add_node(
            _engine_kind(node),
            _overload(node),
            [self.values[value.unique()] for value in _inputs(node)],
            [(_name(value, kind), self.type(value.type())) for value in outputs],
            self.node_attributes(node) | self.recorded(node, outputs),
            self.modules(node),
            self.stack_trace(node),
            [self.type(type_) for type_ in node.tys("types")] if kind == "prim::isinstance" else (),
        )
        for value, handle in zip(outputs, handles, strict=True):
            self.values[value.unique()] = handle
        for block in _blocks(node):
            self.builder.begin_block()
            for value in block.inputs():
                self.input(value)
            self.block(block.nodes())
            self.builder.end_block([self.values[value.unique()] for value in block.outputs()])

    def node_attributes(self, node: Any) -> dict[str, Any]:
        kind = node.kind()
        if kind == "prim::Constant":
            output = node.output()
            if output.type().kind() in ("FunctionType", "GeneratorType", "NoneType"):
                return {}
            return {"value": self.constant(output.toIValue(), output.debugName())}
        if kind == _ONEDNN_CONSTANT:
            return {"value": tensor_constant(node.t("value"), node.output().debugName())}
        if kind == "prim::ListUnpack":
            return {"recorded_run": 1} if self.own_run and has_pieces_of_example(node) else {}
        if kind == "prim::PythonOp":
            return {"name": node.pyname()}
        kinds = {name: attribute_kind(node, name) for name in node.attributeNames()}
        return {name: getattr(node, kind)(name) for name, kind in kinds.items() if kind in ("s", "i", "f", "ss", "is", "fs")}

    @staticmethod
    def stack_trace(node: Any) -> str:
        if node.hasAttribute("stack"):  # what Flambeau itself recorded
            return stack_trace(node.s("stack"))
        # Torch says nothing of where a trace unpacks a list: that is the call that made it.
        return stack_trace(node.sourceRange() or (node.inputsAt(0).node().sourceRange() if node.kind() == "prim::ListUnpack" else ""))

    def recorded(self, node: Any, outputs: Sequence[Any]) -> dict[str, Any]:
        """Of an operator whose translation may leave the types of its results open: these, as the trace has them."""
        space = node.kind().partition("::")[0]
        if space == "prim" or node.kind() == FROZEN or (space == "aten" and (self.functions is None or not self.functions.open_types)):
            return {}
        if space not in _OWN_NAMESPACES and "(" in node.schema():
            self.builder.declare_operator(node.schema())
        types = [recorded_type(value.type()) for value in outputs]
        return {} if None in types else {"recorded": types}

    def modules(self, node: Any) -> list[tuple[str, str]]:
        """(path, class) of each module around the node, outermost first."""
        place = node.scopeName(), node.getModuleHierarchy()
        if place not in self.around:
            self.around[place] = self._around(*place)
        return self.around[place]

    def _around(self, scope: str, hierarchy: str) -> list[tuple[str, str]]:
        frames = [("", self.root)]
        path = ""
        # Of a trace: "__module.model/__module.model.layers.0". The hierarchy, "model(Net).0(Block)", leaves out containers.
        scopes = scope.split("/")
        steps = module_steps(hierarchy)
        traced = len(scopes) == len(steps) and all(scope.startswith("__module.") for scope in scopes)
        for i, (step, class_name) in enumerate(steps):
            if self.bound and not path and step == "model" and len(frames) == 1:
                continue
            if traced:
                path = scopes[i].removeprefix("__module.").removeprefix("model." if self.bound else "")
            else:
                path = f"{path}.{step}" if path else step
            frames.append((path if traced else self.paths.get(path, path), class_name))
        return frames if self.root or len(frames) > 1 else []


def integers(tensor: torch.Tensor) -> torch.Tensor:
    """The integers of a quantized tensor, one a byte where torch packs several into it."""
    stored = tensor.int_repr()
    bits = {torch.quint4x2: 4, torch.quint2x4: 2}.get(tensor.dtype)
    if bits is None:
        return stored
    parts = torch.stack([stored.flatten() >> shift & (1 << bits) - 1 for shift in range(0, 8, bits)], -1)
    return parts.flatten()[: tensor.numel()].reshape(tensor.shape)


def attribute_kind(node: Any, name: str) -> str:
    """The name of the accessor of a node's attribute; torch calls lists of floats "c", as it lists its names in another order."""
    kind: str = node.kindOf(name)
    return _KINDS.get(kind, kind)


# torch makes iterators slowly: of the graph of a model, that would be half of the walk.
def _inputs(node: Any) -> list[Any]:
    return [node.inputsAt(i) for i in range(node.inputsSize())]


def _outputs(node: Any) -> list[Any]:
    return [node.outputsAt(i) for i in range(node.outputsSize())]


def _blocks(node: Any) -> Sequence[Any]:
    kind = node.kind()
    return () if kind in _WITHOUT_BLOCKS or not kind.startswith("prim::") else list(node.blocks())


def _overload(node: Any) -> str:
    schema = node.schema()
    name = schema[: schema.find("(")]
    if not name and node.kind() == "aten::view":  # for torch takes the dtype of a trace for a number
        return "dtype"
    return name.partition(".")[2] if name.startswith(node.kind()) else ""


def _attribute_nodes(graph: Any) -> Iterator[tuple[str, Any]]:
    """(class, node) of what reads, asks for or writes attributes."""
    pending = [graph]
    while pending:
        block = pending.pop()
        for node in block.nodes():
            if node.kind() in ("prim::GetAttr", "prim::SetAttr", "prim::hasattr"):
                type_ = next(iter(node.inputs())).type()
                if type_.kind() == "ClassType":
                    yield type_.qualified_name(), node
            pending.extend(_blocks(node))


def _attributes_by_class(graph: Any) -> dict[str, dict[str, Any]]:
    """Class → the attributes that the graph reads or writes, with the types of those that it reads."""
    attributes: dict[str, dict[str, Any]] = {}
    for class_name, node in _attribute_nodes(graph):
        read = node.output().type() if node.kind() == "prim::GetAttr" else None
        types = attributes.setdefault(class_name, {})
        types[node.s("name")] = types.get(node.s("name")) or read
    return attributes


def import_graph(
    graph: Any,
    module: torch.jit.ScriptModule | None = None,
    *,
    names: Sequence[str] | None = None,
    bound: bool = False,
    functions: PythonFunctions | None = None,
) -> _engine.ScriptBuilder:
    """Hand an inlined graph to the engine; ``names`` are those of its inputs but ``self``."""
    walk = GraphImport(graph, module, bound, functions)
    # A loaded program numbers its values ("x.1"); the schema has the names.
    own = ["self"] if module is not None else []
    named = [value.debugName() for value in graph.inputs()] if names is None else [*own, *names]
    for value, name in zip(graph.inputs(), named, strict=True):
        walk.input(value, name)
    if module is not None:
        walk.builder.set_self(walk.object(module._c, ""))
    return walk.finished()
