"""Loops that count by hand, as loops over a range: ``while i < n: …; i += 1``."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Set

from .attributes import Attributes
from .names import leaves, root_of, within, written

__all__ = ["as_ranges"]

_MIRRORED: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE}
_SIZES = ("len", "size")
"""Functions and methods whose results a round leaves as they are, if it leaves what they are called on."""


def as_ranges(function: ast.AST, lines: Set[int], runtime: Callable[[str], ast.expr]) -> None:
    """The loops of a function that are at these lines count in the place of their bodies.

    A body counts by a constant, once each round, and changes nothing of the bound.
    """
    _Counted(lines, runtime).visit(function)


class _Counted(ast.NodeTransformer):
    def __init__(self, lines: Set[int], runtime: Callable[[str], ast.expr]) -> None:
        self.lines, self.runtime = lines, runtime

    def visit_While(self, node: ast.While) -> ast.stmt | list[ast.stmt]:
        self.generic_visit(node)
        asked = any(node.test.lineno <= line <= (node.test.end_lineno or line) for line in self.lines)
        count = _counter(node) if asked and not node.orelse else None
        if count is None:
            return node
        name, step, stop = count
        before, each = f"__flambeau_start_{name}__", f"__flambeau_count_{name}__"
        limits = [ast.Name(before, ast.Load()), stop, ast.Constant(step)]
        start = ast.Assign([ast.Name(before, ast.Store())], ast.Name(name, ast.Load()))
        here = ast.Assign([ast.Name(name, ast.Store())], ast.Name(each, ast.Load()))
        iterated = ast.copy_location(ast.Call(ast.Name("range", ast.Load()), limits, []), node.test)
        rounds = ast.For(ast.Name(each, ast.Store()), iterated, [here, *node.body], [], None)
        after = ast.Assign([ast.Name(name, ast.Store())], ast.Call(self.runtime("counted"), copy.deepcopy(limits), []))
        return [ast.fix_missing_locations(ast.copy_location(statement, node)) for statement in (start, rounds, after)]


def _counter(loop: ast.While) -> tuple[str, int, ast.expr] | None:
    """What counts in a loop, by how much, and where it stops."""
    test = loop.test
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or leaves(loop.body):
        return None
    left, right, operator = test.left, test.comparators[0], type(test.ops[0])
    attributes = Attributes(copy.deepcopy(loop.body))
    names = written(attributes.body)
    if names is None:
        return None
    changed = names[0] | names[1]
    for counting, bound, way in ((left, right, operator), (right, left, _MIRRORED.get(operator, operator))):
        moved = _moved(counting, bound)
        if moved is None or way not in _MIRRORED:
            continue
        name, stop = moved
        step = _step(loop.body, name)
        if step and (step > 0) == (way in (ast.Lt, ast.LtE)) and _stays(stop, changed, attributes.names):
            beyond = {ast.LtE: ast.Add(), ast.GtE: ast.Sub()}.get(way)
            return name, step, stop if beyond is None else ast.BinOp(stop, beyond, ast.Constant(1))
    return None


def _moved(counting: ast.expr, bound: ast.expr) -> tuple[str, ast.expr] | None:
    """``i`` and the bound, of ``i``, ``i + k`` or ``i - k``."""
    if isinstance(counting, ast.Name):
        return counting.id, bound
    if isinstance(counting, ast.BinOp) and isinstance(counting.left, ast.Name):
        if isinstance(counting.op, ast.Add):
            return counting.left.id, ast.BinOp(bound, ast.Sub(), counting.right)
        if isinstance(counting.op, ast.Sub):
            return counting.left.id, ast.BinOp(bound, ast.Add(), counting.right)
    return None


def _step(body: list[ast.stmt], name: str) -> int | None:
    """By how much each round counts; None if it may be another number."""
    steps = []
    for i, statement in enumerate(body):
        stored = [node for node in within([statement]) if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Load)]
        if stored:
            steps.append((i, statement))
    if len(steps) != 1:
        return None
    ((place, statement),) = steps
    if any(isinstance(node, ast.Continue) for node in within(body[:place])):
        return None
    amount: ast.expr | None = None
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        amount, operator = statement.value, statement.op
    elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.BinOp) and isinstance(statement.value.left, ast.Name):
        own = statement.value.left.id == name and isinstance(statement.targets[0], ast.Name) and len(statement.targets) == 1
        amount, operator = (statement.value.right, statement.value.op) if own else (None, ast.Add())
    if not isinstance(amount, ast.Constant) or type(amount.value) is not int or not isinstance(operator, (ast.Add, ast.Sub)):
        return None
    return amount.value if isinstance(operator, ast.Add) else -amount.value


def _stays(bound: ast.expr, changed: Set[str], attributes: Collection[tuple[str, str]]) -> bool:
    """Whether a bound is the same in each round: a number, an attribute or a size of what the rounds leave alone."""
    for node in ast.walk(bound):
        if isinstance(node, ast.Call):
            named = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if named not in _SIZES:
                return False
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and (node.value.id, node.attr) in attributes:
            return False
        elif isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)) and root_of(node) in changed:
            return False
    return True
