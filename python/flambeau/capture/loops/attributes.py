"""Attributes that a loop changes, as names of its own: ``self.h = self.cell(x, self.h)``."""

from __future__ import annotations

import ast
from collections.abc import Callable

from .names import CHANGES, within

__all__ = ["Attributes"]


class _Renamed(ast.NodeTransformer):
    def __init__(self, names: dict[tuple[str, str], str]) -> None:
        self.names = names

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        name = self.names.get((node.value.id, node.attr)) if isinstance(node.value, ast.Name) else None
        return node if name is None else ast.copy_location(ast.Name(name, node.ctx), node)


def _changed(body: list[ast.stmt]) -> set[tuple[str, str]]:
    """Attributes of names that a body assigns, or changes as lists."""
    found: set[tuple[str, str]] = set()
    assigned: set[str] = set()
    for node in within(body):
        owner: ast.AST | None = None
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            owner = node
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            owner = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            owner = node.func.value
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            assigned.add(node.id)
        if isinstance(owner, ast.Attribute) and isinstance(owner.value, ast.Name):
            found.add((owner.value.id, owner.attr))
    return {(owner, attribute) for owner, attribute in found if owner not in assigned}


class Attributes:
    """What becomes of the body of a loop: it changes names, which are the attributes again after the rounds.

    What else reads such an attribute meanwhile, as a method of the same object does, reads what it was: who keeps the loop
    compares it with the module.

    Attributes:
        names: By object and attribute, the new names.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        changed = sorted(_changed(body))
        self.names = {(owner, attribute): f"__flambeau_{owner}_{attribute}__" for owner, attribute in changed}
        self.body = [_Renamed(self.names).visit(statement) for statement in body] if changed else body

    def before(self, runtime: Callable[[str], ast.expr]) -> list[ast.stmt]:
        """What gives the names their values before the loop."""
        return [
            ast.Assign(
                [ast.Name(name, ast.Store())],
                ast.Call(runtime("attribute"), [ast.Name(owner, ast.Load()), ast.Constant(attribute)], []),
            )
            for (owner, attribute), name in self.names.items()
        ]

    def after(self) -> list[ast.stmt]:
        """What gives the attributes their values after it."""
        return [
            ast.Assign([ast.Attribute(ast.Name(owner, ast.Load()), attribute, ast.Store())], ast.Name(name, ast.Load()))
            for (owner, attribute), name in self.names.items()
        ]
