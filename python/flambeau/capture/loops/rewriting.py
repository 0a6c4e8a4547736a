"""A loop in a function's source, as a function of one round beside it."""

from __future__ import annotations

import __future__
import ast
import copy
import types
from collections.abc import Iterator, Set

from ..source import called, repeated_list, spread_rows, statements
from .attributes import Attributes
from .counted import as_ranges
from .last_items import LastItems
from .names import assigned_first, leaves, locals_of, names_in, own_lists, written

__all__ = ["RUNTIME", "codes_within", "rewritten"]

RUNTIME = "__flambeau_loops__"
"""The name by which rewritten functions call :class:`.runtime.Runtime`."""

_ITERATORS = ("range", "enumerate", "zip", "map", "reversed", "len")
_CUTS = ("chunk", "split", "unbind")
"""Functions, and methods, of a tensor's parts."""
_REDUCTIONS = ("sum", "max", "min")
_FUTURES = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def rewritten(code: types.CodeType, lines: Set[int]) -> types.CodeType | None:
    """The code with the loops at these lines of its file as functions of a round; None if there is none that can be one."""
    if code.co_name == "<lambda>" or code.co_flags & (0x20 | 0x80 | 0x200):  # generators and coroutines
        return None
    tree, before = statements(code)
    if tree is None or len(tree.body) != 1 or not isinstance(tree.body[0], ast.FunctionDef):
        return None
    function = tree.body[0]
    own = {line - before for line in lines}
    as_ranges(function, own, _runtime)
    rewriter = _Rewriter(own)
    rewriter.visit(function)
    if not rewriter.changed:
        return None
    _bare(function)
    body: ast.stmt = function
    names = code.co_qualname.split(".")
    if len(names) > 1 and names[-2].isidentifier():  # its private names are mangled
        body = ast.ClassDef(names[-2], [], [], [body], [], **_no_type_parameters())
    outer = [ast.arg(name) for name in code.co_freevars if name != "__class__"]
    arguments = ast.arguments([], outer, None, [], [], None, [])
    factory = ast.FunctionDef("__factory__", arguments, [body], [], None, **_no_type_parameters())
    module = ast.fix_missing_locations(ast.Module([factory], []))
    ast.increment_lineno(module, before)
    compiled = compile(module, code.co_filename, "exec", flags=code.co_flags & _FUTURES, dont_inherit=True)
    new = next((each for each in codes_within(compiled) if each.co_name == code.co_name and each.co_freevars == code.co_freevars), None)
    return new


def _no_type_parameters() -> dict[str, list[ast.AST]]:
    return {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}


def _bare(function: ast.FunctionDef) -> None:
    """What the definition alone evaluates is none of the code's concern."""
    function.decorator_list, function.returns = [], None
    arguments = function.args
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [each and ast.Constant(None) for each in arguments.kw_defaults]
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def codes_within(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code itself, and that of functions in it."""
    pending = [code]
    while pending:
        each = pending.pop()
        yield each
        pending += [constant for constant in each.co_consts if isinstance(constant, types.CodeType)]


class _Continues(ast.NodeTransformer):
    """``continue`` ends the round."""

    def __init__(self, result: ast.expr) -> None:
        self.result = result

    def visit_Continue(self, node: ast.Continue) -> ast.stmt:
        return ast.copy_location(ast.Return(self.result), node)

    def visit_For(self, node: ast.For) -> ast.stmt:
        return node

    visit_While = visit_FunctionDef = visit_For  # type: ignore[assignment]


class _Symbolic(ast.NodeTransformer):
    """``range`` and the like, as the runtime has them."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _ITERATORS:
            node.func = _runtime(node.func.id)
        elif isinstance(node.func, ast.Attribute) and node.func.attr in _CUTS:
            method = node.func.attr
            node.args.insert(0, node.func.value)
            node.func = _runtime(method)
        elif called(node) == "product":
            node.args.insert(0, node.func)
            node.func = _runtime("product")
        return node


def _runtime(name: str) -> ast.expr:
    return ast.Attribute(ast.Name(RUNTIME, ast.Load()), name, ast.Load())


def _target_names(generator: ast.comprehension) -> list[str] | None:
    """The names that an item gets; None for other targets, and if it may be left out."""
    target = generator.target
    names = [target] if isinstance(target, ast.Name) else list(getattr(target, "elts", []))
    if generator.ifs or generator.is_async or not names or not all(isinstance(name, ast.Name) for name in names):
        return None
    return [name.id for name in names if isinstance(name, ast.Name)]


def _independent(generators: list[ast.comprehension]) -> list[str] | None:
    """The names of the items, if each generator gives one name and takes none of the others'."""
    names: list[str] = []
    for generator in generators:
        own = _target_names(generator)
        if own is None or not isinstance(generator.target, ast.Name) or names_in(generator.iter) & {*names}:
            return None
        names += own
    return names


def _names(names: list[str], context: ast.expr_context) -> ast.expr:
    return ast.Tuple([ast.Name(name, context) for name in names], context)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, lines: Set[int]) -> None:
        self.lines = lines
        self.changed = False
        self.functions: list[ast.AST] = []
        self.kept = 0  # loops around the node that are to be kept
        self.loops = 0

    def _asked(self, iterated: ast.expr | ast.stmt) -> bool:
        return any(iterated.lineno <= line <= (iterated.end_lineno or line) for line in self.lines)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        self.functions.append(node)
        self.generic_visit(node)
        self.functions.pop()
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """``list(rows)``, ``x.unbind()``: the runtime's list of the rows. What takes the items that a generator makes gets a list of them."""
        alone = len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp) and called(node) not in ("next", "iter")
        if alone and self._asked(node.args[0]):
            generator: ast.GeneratorExp = node.args[0]  # type: ignore[assignment]
            node.args[0] = ast.copy_location(ast.ListComp(generator.elt, generator.generators), generator)
            if isinstance(node.func, ast.Name) and node.func.id in _REDUCTIONS and not node.keywords:
                node.func = ast.copy_location(_runtime(node.func.id), node)
        elif isinstance(node.func, ast.Name) and node.func.id in _REDUCTIONS and len(node.args) == 1 and not node.keywords:
            self.changed |= self._asked(node)  # of a list that a loop fills elsewhere, too
            node.func = ast.copy_location(_runtime(node.func.id), node)
        self.generic_visit(node)
        if called(node) == "unbind" and isinstance(node.func, ast.Attribute) and self._asked(node):
            self.changed = True
            node.args.insert(0, node.func.value)
            node.func = ast.copy_location(_runtime("unbind"), node)
            return node
        if isinstance(node.func, ast.Name) and node.func.id == "range" and self._asked(node):
            self.changed = True
            node.func = ast.copy_location(_runtime("range"), node)
            return node
        taken = isinstance(node.func, ast.Name) and node.func.id in ("list", "tuple") and len(node.args) == 1 and not node.keywords
        if taken and not isinstance(node.args[0], ast.Starred) and self._asked(node):
            self.changed = True
            node.args = [node.func, _Symbolic().visit(node.args[0])]
            node.func = ast.copy_location(_runtime("collected"), node)
        return node

    def visit_List(self, node: ast.List) -> ast.expr:
        """``[*rows]``."""
        self.generic_visit(node)
        rows = spread_rows(node)
        if rows is None or not self._asked(node):
            return node
        self.changed = True
        return ast.copy_location(ast.Call(_runtime("collected"), [ast.Name("list", ast.Load()), _Symbolic().visit(rows)], []), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        """``[row] * count``."""
        self.generic_visit(node)
        repeated = repeated_list(node)
        if repeated is None or not self._asked(node):
            return node
        self.changed = True
        return ast.copy_location(ast.Call(_runtime("repeated"), list(repeated), []), node)

    def visit_ListComp(self, node: ast.ListComp) -> ast.expr:
        """``[f(row) for row in rows]``: the runtime's list of what a function gives."""
        self.generic_visit(node)
        walrus = any(isinstance(each, ast.NamedExpr) for each in ast.walk(node))
        if walrus or not any(self._asked(generator.iter) for generator in node.generators):
            return node
        (generator, *more) = node.generators
        names = _independent(node.generators) if more else _target_names(generator)
        if names is None:
            return node
        iterables = [_Symbolic().visit(each.iter) for each in node.generators]
        if more:  # all tuples of items are one loop
            iterables = [ast.Call(_runtime("product"), [_runtime("tuples"), *iterables], [])]
        spread = ast.Constant(bool(more) or not isinstance(generator.target, ast.Name))
        function = ast.Lambda(ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, []), node.elt)
        self.changed = True
        return ast.copy_location(ast.Call(_runtime("listed"), [*iterables, function, spread], []), node)

    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        """``offsets.extend(tensor.tolist())``."""
        self.generic_visit(node)
        call = node.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "extend":
            return node
        return self._extended(node, call.func.value, call.args[0]) if len(call.args) == 1 and not call.keywords else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        """``offsets += tensor.tolist()``."""
        self.generic_visit(node)
        return self._extended(node, node.target, node.value) if isinstance(node.op, ast.Add) else node

    def _extended(self, node: ast.stmt, extended: ast.expr, items: ast.expr) -> ast.stmt:
        """A new list of the runtime's, in the place of one that has no other name."""
        if not isinstance(extended, ast.Name) or isinstance(items, ast.Starred) or self.kept or not self.functions:
            return node
        if not self._asked(node) or extended.id not in own_lists(self.functions[-1]):
            return node
        self.changed = True
        call = ast.Call(_runtime("extended"), [ast.Name(extended.id, ast.Load()), items], [])
        return ast.copy_location(ast.Assign([ast.Name(extended.id, ast.Store())], call), node)

    def visit_For(self, node: ast.For) -> ast.stmt | list[ast.stmt]:
        left = leaves(node.body)
        asked = self._asked(node.iter)
        anew = assigned_first([ast.Assign([node.target], node.iter), *node.body])
        self.kept += asked
        self.generic_visit(node)
        self.kept -= asked
        if left or not asked or node.orelse or not self.functions:
            return node
        round, each, items = self._names_of_loop()
        plain = copy.deepcopy(ast.For(node.target, ast.Name(items, ast.Load()), node.body, [], None))
        attributes = Attributes(node.body)
        names = written([ast.Assign([node.target], ast.Name(each, ast.Load())), *attributes.body])
        if names is None:
            return node
        assigned, changed = names
        own = {*attributes.names.values()}
        local = locals_of(self.functions[-1]) | own
        last = LastItems(attributes.body, changed & local, _runtime)
        carried = sorted((assigned & self._read_elsewhere(node, assigned - anew)) | (changed & local) | last.names.keys() | own)
        result = _names(carried, ast.Load())
        target = ast.Assign([node.target], ast.Name(each, ast.Load()))
        body = [_Continues(result).visit(statement) for statement in last.body]
        parameters = [ast.arg(each), *map(ast.arg, carried)]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        function = ast.FunctionDef(round, arguments, [target, *body, ast.Return(result)], [], None, **_no_type_parameters())
        before = ast.List([_value(name) for name in carried], ast.Load())
        given = ast.List([ast.Constant(name) for name in carried], ast.Load())
        writes = ast.List([ast.Constant(name) for name in sorted(changed)], ast.Load())
        fresh = ast.List([ast.Constant(name) for name in sorted(anew)], ast.Load())
        run = ast.Call(_runtime("run"), [ast.Name(items, ast.Load()), ast.Name(round, ast.Load()), given, before, writes, fresh], [])
        ran: ast.stmt = ast.Assign([_names(carried, ast.Store())], run) if carried else ast.Expr(run)
        dynamic = ast.Call(_runtime("dynamic"), [ast.Name(items, ast.Load())], [])
        self.changed = True
        iterated = ast.Assign([ast.Name(items, ast.Store())], _Symbolic().visit(node.iter))
        kept = [*attributes.before(_runtime), *last.before(), function, ran, *attributes.after()]
        return [ast.copy_location(statement, node) for statement in (iterated, ast.If(dynamic, kept, [plain]))]

    def _names_of_loop(self) -> tuple[str, str, str]:
        """Names of a loop's own, which a loop around it has no part in: its function of a round, an item, and the items."""
        self.loops += 1
        return f"__flambeau_round_{self.loops}__", f"__flambeau_each_{self.loops}__", f"__flambeau_items_{self.loops}__"

    def _read_elsewhere(self, loop: ast.For, names: Set[str]) -> set[str]:
        """Names that code around the loop reads, or a round before it assigns them."""
        own = {id(node) for node in ast.walk(loop)}
        read = {
            node.id
            for node in ast.walk(self.functions[-1])
            if id(node) not in own and isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        }
        given = {node.id for node in ast.walk(loop.target) if isinstance(node, ast.Name)}
        return read | (set(names) - given - assigned_first(loop.body))


def _value(name: str) -> ast.expr:
    """What the name holds; of one that holds nothing yet, the runtime says so."""
    scope = ast.Call(ast.Name("locals", ast.Load()), [], [])
    get = ast.Attribute(scope, "get", ast.Load())
    return ast.Call(get, [ast.Constant(name), _runtime("unset")], [])
