"""The last item of a list that a loop fills, as a name of its own: ``states.append(step(states[-1]))``, ``ends.extend(more(ends[-1]))``."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

__all__ = ["LastItems"]


def _is_last_of(node: ast.AST, name: str) -> bool:
    if not isinstance(node, ast.Subscript) or not isinstance(node.ctx, ast.Load) or not isinstance(node.value, ast.Name) or node.value.id != name:
        return False
    index = node.slice
    return isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.USub) and isinstance(index.operand, ast.Constant) and index.operand.value == 1


def _added_to(statement: ast.stmt, name: str) -> ast.Call | None:
    """``name.append(item)``, or ``name.extend(items)``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    if call.func.attr not in ("append", "extend"):
        return None
    own = isinstance(call.func.value, ast.Name) and call.func.value.id == name and not call.keywords
    return call if own and not isinstance(call.args[0], ast.Starred) else None


class _Renamed(ast.NodeTransformer):
    def __init__(self, name: str, last: str) -> None:
        self.name, self.last = name, last

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.generic_visit(node)
        return ast.copy_location(ast.Name(self.last, ast.Load()), node) if _is_last_of(node, self.name) else node


class LastItems:
    """What becomes of the body of a loop.

    Of a list to which each round adds in one place, and of which it reads the last item and nothing else, the rounds hand on that item.

    Attributes:
        body: The new statements.
        names: The new names, and the list that each is of.
    """

    def __init__(self, body: list[ast.stmt], changed: Iterable[str], runtime: Callable[[str], ast.expr]) -> None:
        self.body, self.names, self._runtime = body, dict[str, str](), runtime
        for name in sorted(changed):
            self._take(name)

    def _take(self, name: str) -> None:
        places = [i for i, statement in enumerate(self.body) if _added_to(statement, name) is not None]
        nodes = [node for statement in self.body for node in ast.walk(statement)]
        uses = sum(isinstance(node, ast.Name) and node.id == name for node in nodes)
        reads = sum(_is_last_of(node, name) for node in nodes)
        if len(places) != 1 or not reads or uses != reads + 1:
            return
        last = f"__flambeau_last_{name}__"
        body = [_Renamed(name, last).visit(statement) for statement in self.body]
        (place,) = places
        call = _added_to(body[place], name)
        assert call is not None
        (given,) = call.args
        if call.func.attr == "append":  # type: ignore[attr-defined]
            before, call.args = [self._assigned(last, given)], [ast.Name(last, ast.Load())]
        else:
            items = f"__flambeau_items_of_{name}__"
            after = self._call("last_after", ast.Name(last, ast.Load()), ast.Name(items, ast.Load()))
            before, call.args = [self._assigned(items, given), self._assigned(last, after)], [ast.Name(items, ast.Load())]
        self.body = [*body[:place], *(ast.copy_location(each, body[place]) for each in before), *body[place:]]
        self.names[last] = name

    def _call(self, function: str, *args: ast.expr) -> ast.expr:
        return ast.Call(self._runtime(function), [*args], [])

    def _assigned(self, name: str, value: ast.expr) -> ast.stmt:
        return ast.Assign([ast.Name(name, ast.Store())], value)

    def before(self) -> list[ast.stmt]:
        """What gives the names their values before the loop."""
        return [
            self._assigned(last, self._call("last", ast.Name(name, ast.Load())))
            for last, name in self.names.items()
        ]
