"""TorchScript programs, scripted or traced, as the engine's."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree

from .. import _engine
from ..errors import CaptureError, error_of
from ..script_graphs import infer_types
from .forward_hooks import called_graph
from .memory_questions import warn_of_memory_questions
from .script_graph import PythonFunctions, import_graph
from .script_inputs import Script, module_of, script_parameters
from .trace import Trace, import_trace

__all__ = ["build_script_program"]


def _inlined(graph: Any, module: torch.nn.Module | None = None) -> Any:
    """A copy without calls of functions and methods; ``module`` is what the first input is."""
    graph = graph.copy()
    torch._C._jit_pass_inline(graph)
    while _inline_forks(graph) or _call_managers(graph) or (module is not None and _inline_interfaces(graph, module)):
        torch._C._jit_pass_inline(graph)
    _apply_autocast(graph)
    return graph


def _apply_autocast(graph: Any) -> None:
    """Have the casts in the graph that torch makes before it runs one that says torch.autocast: it knows which operators get them."""

    def managers() -> list[Any]:
        nodes = [node for kind in ("prim::Enter", "prim::Exit") for node in graph.findAllNodes(kind, True)]
        return [node for node in nodes if node.inputsAt(0).type().str().endswith(_AUTOCAST)]

    if not managers():
        return
    try:
        torch._C._jit_pass_peephole(graph, True)
        torch._C._jit_pass_constant_propagation_immutable_types(graph)
        torch._C._jit_pass_autocast(graph)
    except RuntimeError as error:
        raise CaptureError(f"torch.autocast of a script that torch does not run either: {error}") from error
    for node in managers():
        if not node.output().uses():
            node.destroy()


def _inline_forks(graph: Any) -> bool:
    """Replace calls that other threads run by what they run: ONNX has none. Whether there were any."""
    forks = graph.findAllNodes("prim::fork", True)
    for node in forks:
        with graph.insert_point_guard(node):
            results = graph.insertGraph(node.g("Subgraph"), list(node.inputs()))
        for value, result in zip(node.outputs(), results, strict=True):
            value.replaceAllUsesWith(result)
        node.destroy()
    return bool(forks)


_AUTOCAST = ".amp.autocast_mode.autocast"

# Context managers of torch's own, of which the engine knows what they do.
_OWN_CLASSES = "__torch__.torch."


def _call_managers(graph: Any) -> bool:
    """Replace that a user's context managers are entered and left by calls of these methods. Whether there were any."""
    called = False
    for kind, method in (("prim::Enter", "__enter__"), ("prim::Exit", "__exit__")):
        for node in graph.findAllNodes(kind, True):
            manager = node.inputsAt(0)
            if manager.type().kind() != "ClassType" or manager.type().qualified_name().startswith(_OWN_CLASSES):
                continue
            with graph.insert_point_guard(node):
                raised = [graph.insertConstant(None)] * 3 if method == "__exit__" else []
                result = _added(graph, node, "prim::CallMethod", [manager, *raised], node.output().type(), name=method)
            node.output().replaceAllUsesWith(result)
            node.destroy()
            called = True
    return called


def _inline_interfaces(graph: Any, module: torch.nn.Module) -> bool:
    """Replace calls of methods of interfaces, which torch leaves, by those of what the objects are. Whether there were any."""
    inlined = False
    for node in graph.findAllNodes("prim::CallMethod", True):
        receiver, *_ = node.inputs()
        held = _object_of(receiver, next(graph.inputs()), module)
        picked = None if held is not None else _Picked.of(receiver, next(graph.inputs()), module)
        if held is None and picked is None:
            continue
        with graph.insert_point_guard(node):
            if held is not None:
                receiver.setType(held._type())
                results = graph.insertGraph(held._get_method(node.s("name")).graph, list(node.inputs()))
            else:
                results = picked.call(graph, node)
        for value, result in zip(node.outputs(), results, strict=True):
            value.replaceAllUsesWith(result)
        node.destroy()
        if picked is not None and not receiver.node().hasUses():
            receiver.node().destroy()
        inlined = True
    return inlined


def _object_of(value: Any, self_: Any, module: torch.nn.Module) -> Any:
    """The module that a value is by a chain of attributes that begins with ``self_``; None if it is no such chain."""
    names = []
    while value.unique() != self_.unique():
        if value.node().kind() != "prim::GetAttr":
            return None
        names.append(value.node().s("name"))
        value = next(value.node().inputs())
    held = module._c
    for name in reversed(names):
        held = held.getattr(name)
    return held if isinstance(held, (torch._C.ScriptModule, torch._C.ScriptObject)) else None


@dataclasses.dataclass(frozen=True)
class _Picked:
    """A module of a ModuleList or ModuleDict at a place, or of a name, that only a run knows."""

    container: Any
    index: Any
    modules: Sequence[tuple[int | str, str, Any]]
    """What the index is for each, its name, and itself."""

    @staticmethod
    def of(value: Any, self_: Any, module: torch.nn.Module) -> _Picked | None:
        """None if the value is something else."""
        if value.node().kind() != "prim::ModuleContainerIndex":
            return None
        container, index = value.node().inputs()
        held = _object_of(container, self_, module)
        if held is None:
            return None
        places = index.type().kind() == "IntType"
        modules = torch._C.ModuleDict(held).items()
        return _Picked(container, index, [(place if places else name, name, each) for place, (name, each) in enumerate(modules)])

    def call(self, graph: Any, call: Any) -> list[Any]:
        """Call the method of the module that it is: by Ifs on which half it is in, or by one for each name, as PyTorch raises where
        there is no other."""
        if len(self.modules) == 1:
            ((_, name, module),) = self.modules
            attribute = _added(graph, call, "prim::GetAttr", [self.container], module._type(), name=name)
            _, *arguments = call.inputs()
            return graph.insertGraph(module._get_method(call.s("name")).graph, [attribute, *arguments])
        by_place = isinstance(self.modules[0][0], int)
        middle = len(self.modules) // 2 if by_place else 1
        asked = graph.insertConstant(self.modules[middle if by_place else 0][0])
        is_it = _added(graph, call, "aten::lt" if by_place else "aten::eq", [self.index, asked], torch._C.BoolType.get())
        chosen = graph.insertNode(graph.create("prim::If", [is_it], call.outputsSize()))
        chosen.copyMetadata(call)
        for modules in (self.modules[:middle], self.modules[middle:]):
            block = chosen.addBlock()
            with graph.insert_point_guard(block.returnNode()):
                for result in dataclasses.replace(self, modules=modules).call(graph, call):
                    block.registerOutput(result)
        for value, result in zip(call.outputs(), chosen.outputs(), strict=True):
            result.setType(value.type())
        return list(chosen.outputs())


def _added(graph: Any, call: Any, kind: str, operands: Sequence[Any], type_: Any, **attributes: str) -> Any:
    """The result of a node that is written at the place of the call."""
    node = graph.insertNode(graph.create(kind, list(operands), 1))
    node.copyMetadata(call)
    for name, text in attributes.items():
        node.s_(name, text)
    node.output().setType(type_)
    return node.output()


def _device(examples: Any, model: Script | Trace) -> str:
    """That of the arguments, or else of the weights; where some are on the CPU, that of the others."""
    given = [leaf for leaf in _pytree.tree_leaves(examples) if isinstance(leaf, torch.Tensor)]
    weights = [] if given or not isinstance(model, torch.nn.Module) else [*model.parameters(), *model.buffers()]
    return next((str(tensor.device) for tensor in [*given, *weights] if tensor.device.type not in ("cpu", "meta")), "cpu")


def build_script_program(
    model: Script | Trace,
    inputs: Sequence[_engine.ScriptInput],
    *,
    bound: bool = False,
    packed: bool = False,
    functions: PythonFunctions | None = None,
    options: _engine.Options | None = None,
    diagnostics: list[_engine.Diagnostic] | None = None,
    examples: Sequence[Any] | None = None,
) -> _engine.Program:
    """Hand a TorchScript program to the engine, for these inputs. Weights are passed by pointer.

    Args:
        model: The module, function or trace. Its tensors must stay unchanged until
            the converted model is saved.
        inputs: What the program gets for each input (see :func:`describe_inputs`).
        bound: The module comes from :func:`.tracing.trace`.
        packed: An argument is a PackedSequence (see :func:`takes_packed`).
        functions: What becomes of autograd functions; None refuses them.
        options: Those of the conversion.
        examples: Arguments that the program can be run with, where results of operators that users
            translate have no types that are known otherwise.
        diagnostics: Becomes what the engine warns of.

    Raises:
        OnnxExporterError: The program holds what the engine does not convert.
    """
    if isinstance(model, Trace):
        builder = import_trace(model, _inlined(model.graph), functions)
    else:
        module = module_of(model)
        graph = _inlined(called_graph(model, packed), module)
        warn_of_memory_questions(graph, examples)
        names = script_parameters(model, packed)
        if functions is not None and examples is not None:
            infer_types(graph, functions.leaves_open, module, examples)
        builder = import_graph(graph, module, names=names, bound=bound, functions=functions)
    builder.set_device(_device(examples, model))
    options = options or _engine.Options()
    if functions is not None:
        options.set_translations(functions.translators())
    program, found = builder.finish(list(inputs), options)
    if program is None:
        raise error_of(found)
    if diagnostics is not None:
        diagnostics[:] = found
    return program
