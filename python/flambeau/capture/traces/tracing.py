"""Runs torch's tracer on modules as users call them."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils import _pytree

from ...feed.script_graph import FROZEN
from ...feed.script_inputs import holds_packed_weights
from ...feed.trace import FrozenNumber, Trace
from ...held import held_by
from ...state import kept_state
from ..buffer_tables import BufferTables
from ..containers import register_containers
from ..failures import failure_of_trace, innermost_line, warn_of_another_way, warn_of_unrecorded_buffers
from ..held_constants import held_tensors
from ..late_dynamo import dynamo_apart
from ..operators.gradients import recorded_gradients
from ..operators.sparse_tensors import dense_calls, dense_state
from ..operators.tensor_data import seen_data
from ..operators.transformers import every_mask
from ..questions.ways_of_exports import gives_something_else, ways_of_exports
from ..replaced_functions import Replacements
from ..sizes.conversions import dynamic_types
from ..state_between_calls import warn_of_state_between_calls
from ..surroundings import casting_anew, exporting
from ..wrappers import uncheckpointed, uncompiled
from .autograd_functions import KeepsFunction, recorded_functions
from .counts import frozen_numbers
from .floats import exact
from .functions import numbers_stay_numbers
from .lists import sizes_in_lists
from .recorded_nodes import admit, restore
from .script_calls import sizes_in_script_calls
from .strides import strides_of_sizes
from .unrecorded_calls import recorded_calls
from .untraced import untraced
from .written_constants import constants_as_made

__all__ = ["trace", "traced_module"]


_OUTPUTS = (torch.Tensor, bool, int, float, np.generic, np.ndarray)


class _Bound(torch.nn.Module):
    """A module of which only the tensors among the arguments are left to give; its outputs are flat.

    torch.jit.trace takes no None, numbers and text, and returns none either.
    """

    def __init__(self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.leaves, self.structure = _pytree.tree_flatten((list(args), dict(kwargs)))

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left = iter(tensors)
        leaves = [next(left) if isinstance(leaf, torch.Tensor) else leaf for leaf in self.leaves]
        args, kwargs = _pytree.tree_unflatten(leaves, self.structure)
        results = self.model(*args, **kwargs)
        register_containers(results)
        outputs = _pytree.tree_leaves(results)
        return tuple(_as_output(output) for output in outputs if isinstance(output, _OUTPUTS))


def _as_output(value: Any) -> torch.Tensor:
    """Python's floats, also those of sizes, are of float64, as what a script or torch.export's program returns is."""
    if isinstance(value, torch.Tensor):
        return exact(value)  # type: ignore[no-any-return]
    if isinstance(value, (np.generic, np.ndarray)):
        return torch.from_numpy(np.array(value))
    return torch.tensor(value, dtype=torch.float64 if isinstance(value, float) else None)


class _BoundWithState(_Bound):
    """One whose last outputs are what is in buffers to which its run assigned another tensor, and then sizes that Python made numbers of."""

    def __init__(self, model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], tables: BufferTables) -> None:
        super().__init__(model, args, kwargs)
        self.parts = {path: module for path, module in model.named_modules() if not isinstance(module, torch.jit.ScriptModule)}
        self.before, self.tables = list(_state(self.parts)), tables
        self.rebound: list[str] = []
        self.frozen: list[FrozenNumber] = []
        self.numbers: Callable[[], list[FrozenNumber]] = list  # which sizes became numbers until now

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        outputs = super().forward(*tensors)
        self.frozen = self.numbers()
        states = _rebound_buffers(self.tables, self.before)
        self.rebound.extend(states)
        return *outputs, *states.values(), *(number.size for number in self.frozen)


def trace(
    model: torch.nn.Module, arguments: Mapping[str, Any], args: Sequence[Any], kwargs: Mapping[str, Any], keeps: KeepsFunction
) -> tuple[Trace | torch.jit.ScriptModule, list[torch.Tensor], list[str]]:
    """Trace a module with its example arguments.

    Args:
        arguments: The same arguments by the names of ``forward``.
        keeps: Of the functions of autograd, those that are operators of the trace.

    Returns:
        What was traced (a module if parts of the model are TorchScript already), the tensors that it takes, and their names.

    Raises:
        CaptureError: torch cannot trace the model; its error is the cause.
    """
    tensors, names = [], []
    gradients: list[str] = []
    asked: dict[str, str] = {}

    def run(beside: contextlib.AbstractContextManager[None]) -> tuple[Trace | torch.jit.ScriptModule, list[str], list[str]]:
        """What was traced, the attributes that the run changed, and the buffers whose new values are not in it."""
        tables = BufferTables(model)
        bound = _BoundWithState(model, args, kwargs, tables) if _holds_script(model) else _Bound(model, args, kwargs)
        bound.training = model.training  # of it alone: the modules within may be in other modes
        nonlocal gradients
        with _surroundings(model) as changed, recorded_functions(keeps), recorded_gradients() as gradients, ways_of_exports(asked, innermost_line), beside:
            tables.begin()
            # The model may change the shapes of its inputs in place.
            traced = _traced(bound, tables, tuple(tensor.detach().clone() for tensor in tensors))
            filled = tables.filled()
            assigned = {path: now for path, (_, now) in tables.assigned().items() if isinstance(now, torch.Tensor)}
        rebound = traced.rebound if isinstance(traced, Trace) else getattr(bound, "rebound", ())
        said = {id(assigned[path]) for path in rebound if path in assigned}  # a trace knows a tensor by one name
        return traced, [*changed, *filled], [path for path, now in assigned.items() if id(now) not in said]

    for name, value in arguments.items():
        leaves = [leaf for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
        tensors.extend(leaves)
        names.extend([name] if isinstance(value, torch.Tensor) else [f"{name}_{i}" for i in range(len(leaves))])
    try:
        try:
            traced, changed, lost = run(contextlib.nullcontext())
        except RuntimeError as error:
            if "dynamo-optimized" not in str(error):
                raise
            traced, changed, lost = run(uncompiled(beside_scripts=_holds_script(model)))
    except Exception as error:
        raise failure_of_trace(model, error, bool(gradients)) from error
    if asked and gives_something_else(model, tuple(args), dict(kwargs), None, asked.keys()):
        warn_of_another_way(asked)
    warn_of_unrecorded_buffers(lost, "a trace")
    warn_of_state_between_calls(model, tuple(args), dict(kwargs), None, changed)
    return traced, tensors, names


def traced_module(model: torch.nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[torch.jit.ScriptModule, list[torch.Tensor]]:
    """A trace that torch can run, and the tensors that it takes; its outputs are flat.

    Raises:
        CaptureError: torch cannot trace the model; its error is the cause.
    """
    register_containers(args, kwargs)
    bound = _Bound(model, args, kwargs)
    bound.training = model.training  # of it alone: the modules within may be in other modes
    tensors = [leaf for leaf in bound.leaves if isinstance(leaf, torch.Tensor)]
    try:
        with _surroundings(model):
            examples = tuple(tensor.detach().clone() for tensor in tensors)
            return torch.jit.trace(bound, examples, check_trace=False, strict=False), tensors
    except Exception as error:
        raise failure_of_trace(model, error, False) from error


@contextlib.contextmanager
def _surroundings(model: torch.nn.Module) -> Iterator[Sequence[str]]:
    """What stands in the place of what the tracer cannot see through. Gives what :func:`kept_state` does."""
    held = held_by(model, remembered=True)
    kept = kept_state(model, held)
    with exporting(), kept as changed, dense_state(held), dense_calls(), _checks_of_sizes(), casting_anew(), seen_data(), every_mask(), uncheckpointed():
        with dynamo_apart(), numbers_stay_numbers(), sizes_in_lists(), sizes_in_script_calls(), dynamic_types(), recorded_calls(), strides_of_sizes():
            yield changed


def _traced(bound: _Bound, tables: BufferTables, examples: Sequence[torch.Tensor]) -> Trace | torch.jit.ScriptModule:
    if isinstance(bound, _BoundWithState):  # torch runs scripts in a module of TorchScript only
        return _traced_by_torch(bound, examples)
    return _record(bound, tables, examples)


def _traced_by_torch(bound: _BoundWithState, examples: Sequence[torch.Tensor]) -> torch.jit.ScriptModule:
    """A trace that is a module of TorchScript, assigns to buffers what the run did, and says which sizes it holds as numbers."""
    with _typed_scripts(bound), frozen_numbers() as bound.numbers:
        traced = torch.jit.trace(bound, examples, check_trace=False, strict=False)
    graph = traced.graph
    results = next(graph.outputs()).node()

    def taken() -> Any:
        """The last of the results, which is one no more."""
        value = list(results.inputs())[-1]
        results.removeInput(results.inputsSize() - 1)
        return value

    for number in reversed(bound.frozen):
        graph.setInsertPoint(results)
        integer = graph.insertNode(graph.create("aten::Int", [taken()])).output().setType(torch._C.IntType.get())
        graph.insertNode(graph.create(FROZEN, [integer], 0).i_("example", int(number.size)).s_("stack", number.stack))
    for path in reversed(bound.rebound):
        *owners, name = f"model.{path}".split(".")
        owner, module = next(graph.inputs()), traced._c
        graph.setInsertPoint(results)
        for each in owners:
            module = module.getattr(each)
            read = graph.insertNode(graph.create("prim::GetAttr", [owner]).s_("name", each))
            owner = read.output().setType(module._type())
        graph.insertNode(graph.create("prim::SetAttr", [owner, taken()], 0).s_("name", name))
    results.output().setType(torch._C.TupleType([value.type() for value in results.inputs()]))
    return traced


@contextlib.contextmanager
def _typed_scripts(model: torch.nn.Module) -> Iterator[None]:
    """While it is open, each script has the type by which a module around it is told from others: what torch.jit.freeze makes lacks it."""
    untyped = [vars(each) for each in model.modules() if isinstance(each, torch.jit.RecursiveScriptModule) and "_concrete_type" not in vars(each)]
    for attributes in untyped:
        attributes["_concrete_type"] = torch._C.ConcreteModuleType.from_jit_type(attributes["_c"]._type())
    try:
        yield
    finally:
        for attributes in untyped:
            del attributes["_concrete_type"]


@contextlib.contextmanager
def _checks_of_sizes() -> Iterator[None]:
    """Under the tracer what compares sizes is a tensor, which ``torch._check`` takes no more: torch's own max_unpool2d fails."""
    check = torch._check_with

    def of_tensors_as_well(error_type: type, condition: Any, message: Callable[[], str]) -> None:
        with untraced():  # what is checked is taken for granted: no part of the trace
            check(error_type, bool(condition) if isinstance(condition, torch.Tensor) else condition, message)

    with Replacements() as replacements:
        replacements.set(torch, "_check_with", of_tensors_as_well)
        replacements.set(torch._C, "_infer_size", _broadcast)
        yield


_OWN_BROADCAST = torch._C._infer_size


def _broadcast(one: Sequence[Any], other: Sequence[Any]) -> Any:
    """The sizes of two tensors together, which for torch have to be numbers: which of two are 1 is as in the example."""
    with untraced():
        numbers = [[int(size) for size in sizes] for sizes in (one, other)]
    common = _OWN_BROADCAST(*map(torch.Size, numbers))
    if all(isinstance(size, int) for size in (*one, *other)):
        return common
    known, ones, others = ([1] * (len(common) - len(sizes)) + list(sizes) for sizes in (numbers[0], one, other))
    return tuple(a if number == size else b for a, b, number, size in zip(ones, others, known, common))


def _holds_script(model: torch.nn.Module) -> bool:
    return holds_packed_weights(model) or any(isinstance(module, torch.jit.ScriptModule) for module in model.modules())


class _Scopes(dict[torch.nn.Module, int]):
    """Where torch's tracer asks how a module's scope is called, once for each call: its number, and which call it is."""

    def __init__(self, numbers: Mapping[torch.nn.Module, int]) -> None:
        super().__init__(numbers)
        self._calls = collections.Counter[int]()

    def __getitem__(self, module: torch.nn.Module) -> str:  # type: ignore[override]
        number = super().__getitem__(module)
        call = self._calls[number]
        self._calls[number] += 1
        return f"{number}.{call}"

    def get(self, module: torch.nn.Module, default: Any = None) -> Any:
        return self[module] if module in self else default


def _record(bound: _Bound, tables: BufferTables, examples: Sequence[torch.Tensor]) -> Trace:
    """Run a module under torch's tracer."""
    modules = dict(bound.model.named_modules())
    state = list(_state(modules))
    state += _held_beside(bound.model, {id(tensor) for _, tensor in state})
    scopes = _Scopes({module: i for i, module in enumerate(modules.values())})
    before, torch.jit._trace._trace_module_map = torch.jit._trace._trace_module_map, scopes
    try:
        frozen: list[FrozenNumber] = []
        rebound: list[str] = []
        admitted = False

        def and_more(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
            outputs = bound.forward(*tensors)
            frozen.extend(numbers())
            states = _rebound_buffers(tables, state)
            rebound.extend(states)
            results = (*outputs, *states.values(), *(number.size for number in frozen))
            nonlocal admitted
            admitted = admit(torch._C._get_tracing_state().graph(), results)
            return results

        with constants_as_made() as written, frozen_numbers() as numbers:
            graph, _ = torch._C._create_graph_by_tracing(
                and_more,
                [*examples, *(tensor for _, tensor in state)],
                torch.jit._trace._create_interpreter_name_lookup_fn(),
                strict=False,
                force_outplace=False,
            )
            constants = written()
        if admitted:
            restore(graph)
    finally:
        torch.jit._trace._trace_module_map = before
    return Trace(graph, bound.model, state, [(path, type(module).__name__) for path, module in modules.items()], constants, frozen, rebound)


def _state(modules: Mapping[str, torch.nn.Module]) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors of modules, each once: parameters, buffers, attributes."""
    seen = set()
    for path, module in modules.items():
        for name, tensor in [*module._parameters.items(), *module._buffers.items(), *vars(module).items()]:
            if isinstance(tensor, torch.Tensor) and id(tensor) not in seen:
                seen.add(id(tensor))
                yield f"{path}.{name}" if path else name, tensor


_layout = torch.Tensor.layout.__get__  # type: ignore[attr-defined]
"""Not as a model with sparse tensors may ask for it."""


def _held_beside(model: torch.nn.Module, known: set[int]) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors in lists, dicts and objects that are attributes, but for those that are known."""
    for path, tensor in held_tensors(model):
        if id(tensor) not in known and _layout(tensor) is torch.strided and not tensor.is_quantized:
            known.add(id(tensor))
            yield path, tensor


def _rebound_buffers(tables: BufferTables, before: Sequence[tuple[str, torch.Tensor]]) -> dict[str, torch.Tensor]:
    """What is now in buffers to which the run assigned another tensor, or gave other memory, by their paths: the tracer records writes alone."""
    found = {}
    with untraced():  # the tracer warns of shapes that are compared
        assigned = tables.assigned()
    for path, _ in before:
        _, now = assigned.get(path, (None, None))
        if isinstance(now, torch.Tensor):
            torch._C._get_value_trace(now)  # also of what the run did not compute
            found[path] = now
    return found
