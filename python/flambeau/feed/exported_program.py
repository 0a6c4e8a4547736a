"""Walks an ExportedProgram and feeds the engine's ProgramBuilder.

One call of the builder a node: it takes torch's own objects, so all that is
left here is what only Python can know: names, signatures, nested modules.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import os
import traceback
from collections.abc import Iterable, Mapping
from typing import Any

import sympy
import torch
from sympy.printing.repr import srepr
from torch.export import ExportedProgram
from torch.export.graph_signature import ConstantArgument, InputKind, InputSpec, OutputKind
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from .. import _engine
from ..errors import CaptureError, error_of
from ..torch_names import by_name
from .places import modules_of, trace_of
from .triton_kernels import Launch, is_launch, launches_of
from .weights import add_weight

__all__ = ["DimensionName", "build_program", "canonical_name", "dtype_of_code", "user_tensors"]

DimensionName = tuple[int, int, str]
"""(position among the user's tensor inputs, dimension, name)"""

_PREFIX = "pkg.torch.export.ExportedProgram."

# By their numbers in c10::ScalarType.
DTYPES = {
    torch.uint8: 0,
    torch.int8: 1,
    torch.int16: 2,
    torch.int32: 3,
    torch.int64: 4,
    torch.float16: 5,
    torch.float32: 6,
    torch.float64: 7,
    torch.complex32: 8,
    torch.complex64: 9,
    torch.complex128: 10,
    torch.bool: 11,
    torch.bfloat16: 15,
    torch.float8_e5m2: 23,
    torch.float8_e4m3fn: 24,
    torch.float8_e5m2fnuz: 25,
    torch.float8_e4m3fnuz: 26,
    torch.uint16: 27,
    torch.uint32: 28,
    torch.uint64: 29,
    **({torch.float8_e8m0fnu: 44} if hasattr(torch, "float8_e8m0fnu") else {}),
}

_INPUT_KINDS = {
    InputKind.USER_INPUT: _engine.InputKind.USER,
    InputKind.PARAMETER: _engine.InputKind.PARAMETER,
    InputKind.BUFFER: _engine.InputKind.BUFFER,
    InputKind.CONSTANT_TENSOR: _engine.InputKind.CONSTANT_TENSOR,
    InputKind.CUSTOM_OBJ: _engine.InputKind.OBJECT,
    InputKind.TOKEN: _engine.InputKind.TOKEN,
}

_OUTPUT_KINDS = {
    OutputKind.USER_OUTPUT: _engine.OutputKind.USER,
    OutputKind.LOSS_OUTPUT: _engine.OutputKind.LOSS,
    OutputKind.BUFFER_MUTATION: _engine.OutputKind.BUFFER_MUTATION,
    OutputKind.GRADIENT_TO_PARAMETER: _engine.OutputKind.GRADIENT,
    OutputKind.GRADIENT_TO_USER_INPUT: _engine.OutputKind.GRADIENT,
    OutputKind.USER_INPUT_MUTATION: _engine.OutputKind.USER_INPUT_MUTATION,
    OutputKind.TOKEN: _engine.OutputKind.TOKEN,
    **by_name({"torch.export.graph_signature.OutputKind.PARAMETER_MUTATION": _engine.OutputKind.PARAMETER_MUTATION}),
}


def _word(constant: object) -> str:
    return str(constant).removeprefix("torch.")


@functools.cache
def _vocabulary() -> _engine.Vocabulary:
    layouts = (torch.strided, torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
    formats = (torch.contiguous_format, torch.preserve_format, torch.channels_last, torch.channels_last_3d)
    return _engine.Vocabulary(
        node=torch.fx.Node,
        tensor=torch.Tensor,
        device=torch.device,
        sym_int=torch.SymInt,
        sym_float=torch.SymFloat,
        sym_bool=torch.SymBool,
        dtypes=DTYPES,
        layouts={layout: _word(layout) for layout in layouts},
        memory_formats={fmt: _word(fmt) for fmt in formats},
    )


@functools.cache
def _target_name(target: Any) -> str:
    """``aten.add.Tensor``, ``torch.ops.higher_order.cond``, ``_operator.mul``."""
    if isinstance(target, torch._ops.HigherOrderOperator):
        return f"torch.ops.higher_order.{target.name()}"
    if isinstance(target, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return str(target)
    return f"{target.__module__}.{target.__qualname__}"


def canonical_name(target: Any) -> str:
    """The engine's name of an operator: ``aten::add.Tensor``, ``aten::relu``, ``_operator::mul``."""
    namespace, _, name = _target_name(target).removeprefix("torch.ops.").partition(".")
    return f"{namespace}::{name.removesuffix('.default')}"


def dtype_of_code(code: int) -> torch.dtype:
    """The dtype of a number in c10::ScalarType."""
    return next(dtype for dtype, number in DTYPES.items() if number == code)


def _print_expression(frozen: Mapping[sympy.Symbol, sympy.Basic], expression: sympy.Basic) -> int | str:
    if frozen:
        expression = expression.subs(frozen)
    return int(expression) if isinstance(expression, sympy.Integer) else srepr(expression)


class _Walk:
    """One walk. Fails with CaptureError; the message names the node."""

    def __init__(self, exported: ExportedProgram, export_params: bool) -> None:
        self.exported = exported
        self.export_params = export_params
        # What the capture found to have one value only, without saying so in the shapes.
        self.frozen = {
            symbol: interval.lower
            for symbol, interval in exported.range_constraints.items()
            if interval.lower == interval.upper
        }
        # The builder keeps the function: one that leads back to it would keep both, and the program, for ever.
        self.builder = _engine.ProgramBuilder(_vocabulary(), functools.partial(_print_expression, self.frozen))
        self.parameters: dict[int, torch.fx.Node] = {}  # by identity of the tensor
        self.wrappers: dict[int, str] = {}  # the first names of weights that wrap others, by identity
        self.parts: set[torch.fx.Node] = set()  # of those
        self.declared: set[torch._ops.OpOverload] = set()
        self.around: tuple[torch.fx.Node, ...] = ()  # what stands for the nested graphs, innermost first
        self.added: dict[torch.fx.Node, Any] = {}  # values of nodes that came after the capture

    @functools.cached_property
    def launches(self) -> dict[torch.fx.Node, Launch]:
        return launches_of(self.exported.graph_module)

    @functools.cached_property
    def fake_mode(self) -> Any:
        return torch._guards.detect_fake_mode([node.meta.get("val") for node in self.exported.graph.nodes])

    def inputs(self, nodes: Iterable[torch.fx.Node]) -> None:
        for node, spec in zip(nodes, self.exported.graph_signature.input_specs, strict=True):
            self._input(node, spec)

    def _input(self, node: torch.fx.Node, spec: InputSpec) -> None:
        kind = _INPUT_KINDS[spec.kind]
        value = node.meta.get("val")
        target = spec.target or ""
        persistent = spec.persistent is not False
        if isinstance(spec.arg, ConstantArgument) and spec.kind is InputKind.USER_INPUT:
            self.builder.add_input(_engine.InputKind.CONSTANT, node, node.name, spec.arg.value, target, persistent)
            return
        if spec.kind in (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR):
            owner = self.exported.state_dict if target in self.exported.state_dict else self.exported.constants
            self._weight(kind, node, owner[target], target, persistent)
            return
        self.builder.add_input(kind, node, node.name, value, target, persistent)

    def _weight(self, kind: _engine.InputKind, node: torch.fx.Node, tensor: torch.Tensor, target: str, persistent: bool) -> None:
        is_part = torch.ops.export.access_subclass_inner_tensor.default
        if is_traceable_wrapper_subclass(tensor) and all(part.target is is_part for part in node.users):
            # What wraps other tensors, as torchao's weights do, is those tensors, under their names in it.
            target = self.wrappers.setdefault(id(tensor), target)
            for part in node.users:
                name = part.args[1]
                self.parts.add(part)
                self._weight(kind, part, getattr(tensor, name), f"{target}.{name}", persistent)
            return
        if kind is _engine.InputKind.PARAMETER:
            # Tied: the first name in the state_dict stands for all of them.
            first = self.parameters.setdefault(id(tensor), node)
            if first is not node:
                self.builder.add_alias(node, first)
                return
        add_weight(self.builder, kind, node, tensor, target, persistent, self.export_params)

    def body(self, node: torch.fx.Node, module: torch.fx.GraphModule) -> None:
        """The nested graph that the get_attr `node` stands for."""
        outer, self.around = self.around, (node, *self.around)
        self.builder.begin_body()
        for inner in module.graph.nodes:
            if inner.op == "placeholder":
                self.builder.add_body_input(inner, inner.name, inner.meta.get("val"))
            elif inner.op == "output":
                outputs = inner.args[0]
                self.builder.end_body(node, outputs if isinstance(outputs, (tuple, list)) else (outputs,))
            else:
                self.node(inner)
        self.around = outer

    def node(self, node: torch.fx.Node) -> None:
        try:
            if node.op == "call_function":
                self._call(node)
            elif node.op == "get_attr":
                self._attribute(node)
            else:
                raise TypeError(f"a captured graph holds no '{node.op}' nodes")
        except (TypeError, ValueError, IndexError, OverflowError) as error:
            trace = trace_of(node, *self.around)
            where = f"\n{trace.rstrip()}" if trace else ""
            raise CaptureError(f"cannot read the captured node '{node.format_node()}': {error}{where}") from error

    def _call(self, node: torch.fx.Node) -> None:
        if node in self.parts:
            return
        if node.target is operator.getitem:
            self.value_of(node)
            of, index = node.args
            self.builder.add_item(node, of, self.launches[of].results.index(index) if is_launch(of) else index)
            return
        value = self.value_of(node)
        if is_launch(node):
            self._launch(node, self.launches[node])
            return
        names = None
        if isinstance(value, (list, tuple)):
            names = {user.args[1]: user.name for user in node.users if user.target is operator.getitem}
        # An operator that is an argument is what auto_functionalized and with_effects call.
        plain = isinstance(node.target, torch._ops.OpOverload)
        for target in (node.target,) if plain else (node.target, *node.args[:2]):
            if isinstance(target, torch._ops.OpOverload) and target not in self.declared:
                self.declared.add(target)
                if target.namespace != "aten":
                    self.builder.declare_operator(str(target._schema))
        self.builder.add_call(
            _target_name(node.target),
            node,
            node.name,
            node.args if plain else _named_operators(_within_int64(node)),
            node.kwargs,
            value,
            names,
            modules_of(node, *self.around),
            trace_of(node, *self.around),
        )

    def _launch(self, node: torch.fx.Node, launch: Launch) -> None:
        self.builder.declare_operator(launch.schema)
        values = node.meta.get("val") or {}
        users = {launch.results.index(user.args[1]): user.name for user in node.users if user.target is operator.getitem}
        results = tuple(values.get(name) for name in launch.results) if launch.results else None
        self.builder.add_call(
            launch.target,
            node,
            node.name,
            (),
            launch.arguments,
            results,
            users or None,
            modules_of(node, *self.around),
            trace_of(node, *self.around),
        )

    def value_of(self, node: torch.fx.Node) -> Any:
        """What the capture recorded; of a node that was put into the graph later, what its operator gives now."""
        if "val" in node.meta:
            return node.meta["val"]
        if node in self.added or isinstance(node.target, torch._ops.HigherOrderOperator):
            return self.added.get(node)
        args, kwargs = torch.fx.map_arg((node.args, node.kwargs), self.value_of)
        with self.fake_mode or contextlib.nullcontext(), torch.no_grad():
            self.added[node] = node.target(*args, **kwargs) if node.op == "call_function" else None
        return self.added[node]

    def _attribute(self, node: torch.fx.Node) -> None:
        value = operator.attrgetter(node.target)(node.graph.owning_module)
        if isinstance(value, torch.fx.GraphModule):
            self.body(node, value)
        elif isinstance(value, torch.Tensor):
            kind = _engine.InputKind.CONSTANT_TENSOR
            add_weight(self.builder, kind, node, value, node.target, False, self.export_params)
        else:
            raise TypeError(f"'{node.target}' is a {type(value).__qualname__}, not a tensor or a nested graph")

    def outputs(self, node: torch.fx.Node) -> None:
        for value, spec in zip(node.args[0], self.exported.graph_signature.output_specs, strict=True):
            self.builder.add_output(_OUTPUT_KINDS[spec.kind], value, spec.arg.name or "", spec.target or "")

    def ranges(self) -> None:
        for symbol, interval in self.exported.range_constraints.items():
            if symbol in self.frozen:
                continue
            self.builder.set_range(str(symbol), _bound(interval.lower), _bound(interval.upper))


def _within_int64(node: torch.fx.Node) -> tuple[Any, ...]:
    """The arguments; torch bounds sizes by numbers beyond int64 now and then, which no size reaches."""
    if node.target not in (operator.le, operator.ge):
        return node.args
    return tuple(min(max(arg, -(2**63)), 2**63 - 1) if isinstance(arg, int) else arg for arg in node.args)


def _named_operators(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments; an operator that is one, by its name."""
    operators = torch._ops.OpOverload, torch._ops.HigherOrderOperator
    return tuple(_target_name(arg) if isinstance(arg, operators) else arg for arg in args)


def user_tensors(exported: ExportedProgram) -> list[torch.Tensor]:
    """The user's inputs that are tensors, as the capture has them."""
    names = set(exported.graph_signature.user_inputs)
    values = [node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder" and node.name in names]
    return [value for value in values if isinstance(value, torch.Tensor)]


def _frozen_by(exported: ExportedProgram, inputs: list[torch.Tensor], position: int, dim: int) -> str:
    """The line of the model that made a dimension a constant, "model.py:17"; nothing if torch does not say."""
    size = inputs[position].shape[dim] if position < len(inputs) and dim < inputs[position].ndim else None
    if not isinstance(size, torch.SymInt):
        return ""
    symbol = size.node.expr
    interval = exported.range_constraints.get(symbol)
    if interval is None or not interval.is_singleton():
        return ""
    bounds = getattr(size.node.shape_env, "var_to_range_sloc", {}).get(symbol)
    frame = bounds and (bounds.lower.maybe_user_loc or bounds.lower.framework_loc)
    if isinstance(frame, traceback.FrameSummary):
        return f"{os.path.basename(frame.filename)}:{frame.lineno}"
    # torch's own text: "code  # path:line in function", the path cut to a width.
    return str(frame or "").rpartition("# ")[2].partition(" in ")[0].rpartition(os.sep)[2]


def _bound(value: sympy.Basic) -> int | None:
    number = int(value) if isinstance(value, (int, sympy.Integer)) else None
    return number if number is not None and abs(number) < 2**63 - 1 else None


def build_program(
    exported: ExportedProgram,
    *,
    dimension_names: Iterable[DimensionName] = (),
    export_params: bool = True,
    guards: Iterable[str] = (),
    diagnostics: list[_engine.Diagnostic] | None = None,
) -> _engine.Program:
    """Hand a captured program to the engine. Weights are passed by pointer.

    Args:
        exported: The captured program. Its tensors must stay unchanged until the
            converted model is saved.
        dimension_names: The user's names of dimensions.
        export_params: False allows fake and meta tensors as weights.
        guards: What torch took for granted of sizes, if nobody told the user yet.
        diagnostics: Becomes what the engine warns of.

    Raises:
        CaptureError: The program holds something that no archive could hold, or a
            weight has no bytes.
    """
    walk = _Walk(exported, export_params)
    builder = walk.builder
    builder.set_torch_version(torch.__version__)
    builder.set_default_dtype(DTYPES[torch.get_default_dtype()])
    builder.set_metadata(_PREFIX + "graph_signature", str(exported.graph_signature))
    builder.set_metadata(_PREFIX + "range_constraints", str(exported.range_constraints))
    walk.ranges()
    for guard in dict.fromkeys(guards):
        builder.add_guard(guard)
    nodes = list(exported.graph.nodes)
    inputs = user_tensors(exported)
    for position, dim, name in dimension_names:
        builder.name_dimension(position, dim, name, _frozen_by(exported, inputs, position, dim))
    first = len(exported.graph_signature.input_specs)
    walk.inputs(nodes[:first])
    for node in nodes[first:]:
        if node.op == "output":
            walk.outputs(node)
        else:
            walk.node(node)
    program, found = builder.finish()
    if program is None:
        raise error_of(found)
    if diagnostics is not None:
        diagnostics[:] = found
    return program
