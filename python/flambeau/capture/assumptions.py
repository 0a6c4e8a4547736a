"""What a capture took for granted about dynamic sizes without saying so in its shapes.

torch defers guards on sizes, and drops those that no node can check: the
program is right only where they hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv, canonicalize_bool_expr
from torch.utils import _pytree
from torch.utils._sympy.functions import FloatTrueDiv, IntTrueDiv, Max, Min, Mod, PythonMod, ToFloat
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.value_ranges import ValueRanges, bound_sympy

from .questions.decisions import Decision, answered_equations, asked_as_number
from .sizes.bounds import as_bound
from .sizes.proofs import INEQUALITIES, at, equal, holds, simplified

__all__ = ["assumptions", "conditions_not_decided", "environment", "frozen", "holds_for", "inputs", "sizes_of"]

_Sizes = dict[sympy.Symbol, int]


def inputs(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """Each leaf of the arguments with what the capture made of it."""
    fakes = {node.name: node.meta.get("val") for node in exported.graph.nodes if node.op == "placeholder"}
    recorded = [fakes.get(name) if isinstance(name, str) else None for name in exported.graph_signature.user_inputs]
    leaves = _pytree.tree_leaves((args, kwargs))
    if len(leaves) == len(recorded):
        yield from zip(leaves, recorded)


def sizes_of(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Sizes | None:
    """The symbols' values for these arguments; None if one symbol stands for two of them."""
    sizes: _Sizes = {}
    for leaf, fake in inputs(exported, args, kwargs):
        if not isinstance(leaf, torch.Tensor) or not isinstance(fake, torch.Tensor):
            continue
        for size, symbolic in zip(leaf.shape, fake.shape):
            if not isinstance(symbolic, torch.SymInt):
                continue
            expression = symbolic.node.expr
            if expression.is_Symbol and sizes.setdefault(expression, int(size)) != int(size):
                return None
    return sizes


def environment(exported: ExportedProgram) -> ShapeEnv | None:
    """Where torch keeps what it knows of the program's sizes; None if all are numbers."""
    for node in exported.graph.find_nodes(op="placeholder"):
        value = node.meta.get("val")
        if not isinstance(value, torch.Tensor):
            continue
        for size in value.shape:
            if isinstance(size, torch.SymInt):
                return size.node.shape_env
    return None


def _deferred(exported: ExportedProgram) -> list[Any]:
    """torch's guards that no node checks."""
    env = environment(exported)
    return [] if env is None else list(env.deferred_runtime_asserts.get(None, ()))


def _narrowed(exported: ExportedProgram) -> list[Any]:
    """Equations of sizes of inputs that became ranges of these."""
    env, ranges = environment(exported), exported.range_constraints
    return [
        condition
        for condition in (() if env is None else answered_equations(env))
        if condition.free_symbols <= ranges.keys() and any(ranges[symbol].upper != int_oo for symbol in condition.free_symbols)
    ]


def _asserted(exported: ExportedProgram) -> list[Any]:
    """Conditions on sizes of inputs that a node checks, which the model does not: branches that were not taken, for one."""
    ranges = exported.range_constraints
    sizes = {
        symbol
        for node in exported.graph.find_nodes(op="placeholder")
        if isinstance(node.meta.get("val"), torch.Tensor)
        for size in node.meta["val"].shape
        if isinstance(size, torch.SymInt)
        for symbol in size.node.expr.free_symbols
    }
    found = []
    for node in exported.graph.find_nodes(op="call_function", target=torch.ops.aten._assert_scalar.default):
        if not isinstance(node.args[0], torch.fx.Node):
            continue
        value = node.args[0].meta.get("val")
        condition = value.node.expr if isinstance(value, torch.SymBool) else None
        if condition is not None and condition.free_symbols and condition.free_symbols <= sizes & ranges.keys():
            found.append(condition)
    return found


def _is_specialised(condition: Any) -> bool:
    """A size is this number."""
    return isinstance(condition, sympy.Eq) and {side.is_Symbol for side in condition.args} == {True, False} and any(
        side.is_Integer for side in condition.args
    )


def _decides(condition: Any, env: ShapeEnv | None) -> bool:
    """Whether PyTorch would go on, and otherwise, where the condition does not hold.

    It fails itself where sizes differ that must agree, and where one is no multiple
    of what it must be a multiple of, unless it is the remainder that it wants; and of
    0 and 1 torch always asks.
    """
    if not isinstance(condition, (sympy.Eq, sympy.Ne)):
        return False
    number = next((side for side in condition.args if side.is_number), None)
    remainder = condition.has(Mod, PythonMod)
    if isinstance(condition, sympy.Eq):
        wanted = env is not None and asked_as_number(env, condition)
        return number is not None and (wanted or not (remainder and number == 0))
    return number is not None and (remainder or number not in (0, 1))


def _tells_one(condition: Any, exported: ExportedProgram) -> bool:
    """Whether a question of PyTorch's is whether some size is 0 or 1.

    That is ``time ≠ 2`` of the size ``time - 1``, ``16*chunks ≠ 16``, ``batch*time ≠ 0``, ``max(1, time) ≠ 1`` and ``min(1, time) = 1``.
    """
    asked = next((side for side in condition.args if not side.is_number), None)
    number = next((side for side in condition.args if side.is_number), None)
    if asked is None or number is None:
        return False
    sizes = {
        size.node.expr
        for node in exported.graph.nodes
        if isinstance(node.meta.get("val"), torch.Tensor)
        for size in node.meta["val"].shape
        if isinstance(size, torch.SymInt)
    }
    if isinstance(asked, (Max, Min)) and number == 1 and len(asked.args) == 2 and 1 in asked.args:
        (size,) = set(asked.args) - {sympy.S.One}
        return size in sizes and isinstance(condition, sympy.Ne if isinstance(asked, Max) else sympy.Eq)
    if not isinstance(condition, sympy.Ne):
        return False
    if number == 0 and all(factor.is_number or factor in sizes for factor in sympy.Mul.make_args(asked)):
        return True
    return any(number + (size - asked) in (0, 1) or equal(number * size, asked) for size in sizes)


def _compares_sizes(condition: Any, env: ShapeEnv | None, decisions: Sequence[Decision]) -> bool:
    """Whether PyTorch itself found two sizes to differ, as where it looks at strides, and the model asked no such thing."""
    asked = [
        each
        for each in decisions
        if each.env is env and isinstance(each.condition, sympy.Ne) and canonicalize_bool_expr(each.condition) == condition
    ]
    return bool(asked) and not any(each.by_model or any(side.is_number for side in each.condition.args) for each in asked)


def holds_for(exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether no dynamic size was made a number, and the program is right for these arguments."""
    sizes = sizes_of(exported, args, kwargs)
    if sizes is None:
        return False
    ranges = exported.range_constraints
    if any(symbol in ranges and not ranges[symbol].lower <= size <= ranges[symbol].upper for symbol, size in sizes.items()):
        return False
    conditions = [deferred.expr for deferred in _deferred(exported)]
    return not any(_is_specialised(condition) or at(condition, sizes) == sympy.false for condition in conditions)


def frozen(exported: ExportedProgram) -> list[sympy.Eq]:
    """What the model computed from sizes and made a number of."""
    conditions, env = [*(deferred.expr for deferred in _deferred(exported)), *_narrowed(exported)], environment(exported)
    return [condition for condition in conditions if isinstance(condition, sympy.Eq) and _decides(condition, env) and simplified(condition) != sympy.true]


_SIGNS = {sympy.Eq: "=", sympy.Ne: "≠", sympy.Lt: "<", sympy.Le: "≤", sympy.Gt: ">", sympy.Ge: "≥"}


def _excludes_one(condition: Any) -> bool:
    """Whether an inequality says of a size that it is neither 0 nor 1, which PyTorch asks of all sizes."""
    return condition.lts in ((0, 1) if isinstance(condition, (sympy.Lt, sympy.Gt)) else (1, 2))


def _decided(exported: ExportedProgram, decisions: Sequence[Decision]) -> Iterator[tuple[Any, str]]:
    """Conditions on the program's sizes that Python decided, and the lines that asked; but for what holds from 2 on.

    What PyTorch's own code asks matters where the program holds for a part of the sizes only.
    """
    ranges = exported.range_constraints
    env = environment(exported)
    for decision in decisions:
        condition = decision.condition
        symbols = condition.free_symbols
        if decision.needless or decision.env is not env or not symbols or not symbols <= ranges.keys() or _is_specialised(condition):
            continue
        if not (decision.by_model or decision.traced) and (len(symbols) > 1 or not isinstance(condition, INEQUALITIES) or _excludes_one(condition)):
            continue
        known = bound_sympy(condition, {symbol: ranges[symbol] | ValueRanges(2, int_oo) for symbol in symbols})
        from_two = bound_sympy(condition, dict.fromkeys(symbols, ValueRanges(2, int_oo)))
        if not any(bounds.is_singleton() and bounds.lower == sympy.true for bounds in (known, from_two)) and not holds(condition, 2):
            yield condition, decision.line


def _readable(side: Any) -> Any:
    """Without floats where they are integers: ``6*n`` for ``2.0*ToFloat(3*n)``."""
    if side.has(IntTrueDiv, FloatTrueDiv):
        return side
    side = side.replace(ToFloat, lambda number: number)
    return side.xreplace({number: sympy.Integer(int(number)) for number in side.atoms(sympy.Float) if float(number).is_integer()})


def _parts(condition: Any) -> Any:
    """What is the same for ``16 ≠ n`` and ``n ≠ 16``."""
    return (condition.func, frozenset(condition.args)) if isinstance(condition, (sympy.Eq, sympy.Ne)) else condition


def _number_last(condition: Any) -> Any:
    turned = isinstance(condition, (sympy.Eq, sympy.Ne)) and condition.lhs.is_number and not condition.rhs.is_number
    return condition.func(condition.rhs, condition.lhs, evaluate=False) if turned else condition


def conditions_not_decided(exported: ExportedProgram, decisions: Sequence[Decision]) -> Iterator[Any]:
    """Conditions that the program needs beside those that Python decided."""
    env = environment(exported)
    needless = {_parts(canonicalize_bool_expr(each.condition)) for each in decisions if each.needless and not each.copies and each.env is env}
    for condition in (*(each.expr for each in _deferred(exported)), *_narrowed(exported), *_asserted(exported)):
        forms = [form for form in (condition, simplified(condition)) if form.args]
        if _parts(condition) not in needless and _decides(condition, env) and not _compares_sizes(condition, env, decisions) and not any(_tells_one(form, exported) for form in forms):
            yield condition


def assumptions(
    exported: ExportedProgram, names: Sequence[tuple[int, int, str]], decisions: Sequence[Decision] = ()
) -> dict[str, str]:
    """Conditions on sizes under which the program is right, and which the model does not check; by whom they are asked for.

    Args:
        names: Of dimensions: (position among the tensor inputs, dimension, name).
        decisions: What the capture recorded.

    Returns:
        For each condition the line of the model, if it is known.
    """
    user_inputs = {name for name in exported.graph_signature.user_inputs if isinstance(name, str)}
    tensors = [
        node.meta["val"]
        for node in exported.graph.nodes
        if node.op == "placeholder"
        and node.name in user_inputs
        and isinstance(node.meta.get("val"), torch.Tensor)
    ]
    called = {}
    for position, dim, name in names:
        size = tensors[position].shape[dim] if position < len(tensors) and dim < tensors[position].ndim else None
        if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
            called.setdefault(size.node.expr, sympy.Symbol(name, integer=True, nonnegative=True))
    fixed = {
        size.node.expr
        for tensor in tensors
        for size in tensor.shape
        if isinstance(size, torch.SymInt) and (bounds := exported.range_constraints.get(size.node.expr)) is not None and bounds.is_singleton()
    }
    found: dict[str, str] = {}
    for condition, line in (*_decided(exported, decisions), *((each, "") for each in conditions_not_decided(exported, decisions))):
        condition = _number_last(as_bound(simplified(condition)))
        if _is_specialised(condition) and condition.lhs in fixed:
            continue  # the model's input is of that size
        sign = _SIGNS.get(type(condition))
        named = [_readable(side.xreplace(called)) for side in condition.args]
        # It always holds; or a size has become a number since, or dimensions of one name are one size.
        if condition == sympy.true or holds(condition, 2) or sign and sympy.true in (condition.func(*condition.args), condition.func(*named)):
            continue
        sides = list(map(str, named)) if sign else [str(condition.xreplace(called))]
        found.setdefault(f" {sign} ".join(sides), line)
    return found
