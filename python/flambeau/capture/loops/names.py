"""What statements read, assign and change: the names."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

__all__ = ["CHANGES", "assigned_first", "leaves", "locals_of", "names_in", "own_lists", "root_of", "within", "written"]

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVING = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom)


def within(nodes: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of these statements, without what scopes of their own hold; in no order."""
    pending: list[ast.AST] = list(nodes)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, _SCOPES):
            pending += ast.iter_child_nodes(node)


def root_of(node: ast.expr) -> str | None:
    """``out`` of ``out.states[i].T``."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


CHANGES = ("append", "extend", "insert", "pop", "remove", "reverse", "clear", "update", "setdefault", "add")
"""Methods that change a list, a dict or a set."""


def written(body: list[ast.stmt]) -> tuple[set[str], set[str]] | None:
    """The names that a round assigns, and those whose tensors and lists it changes; None if it changes others."""
    assigned, changed = set(), set()
    for node in within(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            return None
        elif isinstance(node, (ast.Subscript, ast.Attribute)) and isinstance(node.ctx, ast.Store):
            if isinstance(node, ast.Attribute) or (root := root_of(node)) is None:
                return None
            changed.add(root)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            changed.add(node.target.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func.attr
            if method in CHANGES or (method.endswith("_") and not method.endswith("__")):
                root = root_of(node.func.value)
                if root is not None:
                    changed.add(root)
    return assigned, changed


def names_in(expression: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(expression) if isinstance(node, ast.Name)}


def assigned_first(body: list[ast.stmt]) -> set[str]:
    """Names that each round assigns before it reads them, as far as that is plain to see."""
    first: set[str] = set()
    read: set[str] = set()
    pending = list(reversed(body))
    while pending:
        statement = pending.pop()
        if isinstance(statement, ast.With):
            pending += [*reversed(statement.body), *(ast.Expr(item.context_expr) for item in statement.items)]
            continue
        loads = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
            loads.add(statement.target.id)
        if isinstance(statement, ast.For):  # a loop within is taken to have a round
            anew = assigned_first([ast.Assign([statement.target], statement.iter), *statement.body])
            read |= loads - anew - first
            first |= anew - read
            continue
        read |= loads - first
        for target in targets:
            stored = {node.id for node in ast.walk(target) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            first |= stored - read
    return first


def locals_of(function: ast.AST) -> set[str]:
    arguments = function.args  # type: ignore[attr-defined]
    parameters = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg)
    return {each.arg for each in parameters if each is not None} | {
        node.id for node in within(function.body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)  # type: ignore[attr-defined]
    }


def _assignments(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets, and what each gets as far as that is plain to see: one of ``a, b = [], 0`` gets its own item."""
    value = getattr(statement, "value", None)
    if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or value is None:
        return
    for target in statement.targets if isinstance(statement, ast.Assign) else [statement.target]:
        several = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts)
        yield from zip(target.elts, value.elts) if several else [(target, value)]  # type: ignore[attr-defined]


def own_lists(function: ast.AST) -> set[str]:
    """Local names of lists that the function makes, which have no other name that is plain to see."""
    made: set[str] = set()
    renamed: set[str] = set()
    for target, value in itertools.chain.from_iterable(map(_assignments, within(function.body))):  # type: ignore[attr-defined]
        if isinstance(value, ast.List) and isinstance(target, ast.Name):
            made.add(target.id)
        elif isinstance(value, ast.Name):
            renamed.add(value.id)
    return made - renamed


def leaves(body: list[ast.stmt]) -> bool:
    """Whether a round may leave the loop, or needs the function's own frame."""
    for node in within(body):
        if isinstance(node, _LEAVING) or (isinstance(node, ast.Name) and node.id in ("super", "locals")):
            return True
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(node, (*_SCOPES, ast.For, ast.While)):
            pending += ast.iter_child_nodes(node)
    return False
