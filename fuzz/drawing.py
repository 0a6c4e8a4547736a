"""Draws programs of the grammar, statement by statement, by running them on inputs of two sizes."""

from __future__ import annotations

import collections
import random
import re

import torch
import torch.nn.functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import grammar

SIZES = (4, 6)
Values = dict[str, torch.Tensor]


def cloned(values: Values) -> Values:
    return {name: value.clone() for name, value in values.items()}


def places(tensor: torch.Tensor) -> torch.Tensor:
    """Where the elements of a small tensor lie in its memory."""
    at = torch.tensor([tensor.storage_offset()])
    for size, stride in zip(tensor.shape, tensor.stride(), strict=True):
        at = (at.unsqueeze(-1) + torch.arange(size) * stride).flatten()
    return at


class Defined(TorchDispatchMode):
    """Raises where PyTorch leaves open what comes out: at writes to memory that overlaps itself or what is read, and
    conversions of floats that the integer type can't hold."""

    supports_higher_order_operators = True

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):  # type: ignore[no-untyped-def]
        kwargs = kwargs or {}
        schema = getattr(func, "_schema", None)
        if schema and schema.is_mutable:
            given = dict(zip((argument.name for argument in schema.arguments), args)) | kwargs
            for argument in schema.arguments:
                target = given.get(argument.name)
                if argument.alias_info and argument.alias_info.is_write and isinstance(target, torch.Tensor):
                    others = tree_leaves([value for name, value in given.items() if name != argument.name])
                    self.check_write(target, [other for other in others if isinstance(other, torch.Tensor)])
        if schema and schema.name.endswith("_scatter") and isinstance(args[0], torch.Tensor):
            self.check_write(args[0], [])  # it writes to a copy that overlaps itself, too
        source = given["src"] if (copies := func is torch.ops.aten.copy_.default) else args[0] if args else None
        if isinstance(source, torch.Tensor) and source.is_floating_point() and (copies or func is torch.ops.aten._to_copy.default):
            dtype = args[0].dtype if copies else kwargs.get("dtype") or source.dtype
            if not dtype.is_floating_point and dtype != torch.bool and source.numel():
                limits = torch.iinfo(dtype)
                if float(source.min()) <= limits.min - 1 or float(source.max()) >= limits.max + 1:
                    raise ArithmeticError("a float that the integer type can't hold")
        return func(*args, **kwargs)

    @staticmethod
    def check_write(target: torch.Tensor, others: list[torch.Tensor]) -> None:
        with torch.utils._python_dispatch._disable_current_modes():
            written = places(target)
            if written.unique().numel() < written.numel():
                raise ArithmeticError("a write to memory that overlaps itself")
            for other in others:
                shared = other.untyped_storage()._cdata == target.untyped_storage()._cdata and not other.is_set_to(target)
                if shared and bool(torch.isin(places(other), written).any()):
                    raise ArithmeticError("a write to memory that is read")


class Draw:
    """Draws the statements of one program."""

    def __init__(self, rng: random.Random, capture: str) -> None:
        self.rng, self.capture = rng, capture
        width = rng.randint(2, 4)
        self.shapes = {
            "x0": ("n", width),
            "x1": ("n", width),
            "x2": ("n", rng.randint(2, 3), width),
            "x3": ("n",),
            "x4": ("n", width),
            "x5": ("n", 2, rng.randint(3, 5), rng.randint(3, 5)),
        }
        self.dtypes = dict.fromkeys(self.shapes, torch.float32)
        self.dtypes["x1"] = rng.choice((torch.float32, torch.float32, torch.float64, torch.float16))
        self.dtypes["x3"] = rng.choice((torch.int64, torch.int64, torch.int32))
        self.dtypes["x4"] = rng.choice((torch.bool, torch.int8, torch.uint8, torch.int16, torch.int32))
        self.statements: list[str] = []
        self.worlds_at_start = [self.inputs(size) for size in SIZES]
        self.worlds = [cloned(world) for world in self.worlds_at_start]
        # A trace that writes a constant keeps it written.
        self.expressions = [form for form in grammar.EXPRESSIONS if capture != "trace" or "torch.tensor([" not in form]

    def inputs(self, size: int) -> Values:
        generator = torch.Generator().manual_seed(self.rng.randrange(1 << 30))
        values = {}
        for name, shape in self.shapes.items():
            sizes = [size if dim == "n" else dim for dim in shape]
            floats, dtype = torch.randn(sizes, generator=generator), self.dtypes[name]
            whole = (floats * 4).round()
            values[name] = (floats if dtype.is_floating_point else whole.abs() if dtype == torch.uint8 else floats > 0 if dtype == torch.bool else whole).to(dtype)
        return values

    def index(self, tensor: torch.Tensor) -> str:
        parts: list[str] = []
        for size in tensor.shape[: self.rng.randint(1, max(1, tensor.dim()))]:
            last = max(0, min(size, 3) - 1)
            parts.append(self.rng.choice((":", "1:", ":-1", "::2", "None", str(self.rng.randint(-last, last)), "[0, -1]", "..." if "..." not in parts else ":")))
        return "[" + ", ".join(parts) + "]"

    def fill(self, form: str) -> str | None:
        """The form with variables in its places; None where there is none of the kind."""
        names: dict[str, str] = {}
        world = self.worlds[0]

        def place(match: re.Match[str]) -> str:
            key = match[1]
            if key[0] in grammar.KINDS and not key[1:].strip("23"):
                dtypes, rank = grammar.KINDS[key[0]]
                choices = [name for name, value in world.items() if (dtypes is None or value.dtype in dtypes) and rank in (None, value.dim())]
                if not choices:
                    raise LookupError
                recent = choices[-4:] if self.rng.random() < 0.7 else choices
                return names.setdefault(key, self.rng.choice(recent))
            if key == "new":
                return f"v{len(self.statements)}"
            first = world[next(iter(names.values()), "x0")]
            if key.startswith("dim"):
                return names.setdefault(key, str(self.rng.randrange(-first.dim(), first.dim()) if first.dim() else 0))
            if key == "index":
                return self.index(first)
            return str(self.rng.randint(1, 3)) if key == "c" else repr(self.rng.choice((-1.5, -0.5, 0.25, 2.0)))

        try:
            return re.sub(r"\{(\w+)\}", place, form)
        except LookupError:
            return None

    def form(self) -> str:
        kind = self.rng.random()
        if self.capture in ("script", "module") and kind < 0.15:
            return self.rng.choice(grammar.REGIONS)
        if self.capture == "export" and kind < 0.05:
            return self.rng.choice(grammar.HIGHER_ORDER)
        if kind < 0.35:
            return self.rng.choice(grammar.WRITES)
        if kind < 0.4:
            return self.rng.choice(grammar.BINDINGS)
        return "{new} = " + self.rng.choice(self.expressions)

    def step(self) -> None:
        """Adds a statement, or leaves the program as it was."""
        statement = self.fill(self.form())
        if statement is None:
            return
        statements = [*self.statements, statement]
        after = [ran(statements, world) for world in map(cloned, self.worlds_at_start)]
        if all(values is not None and sound(values) for values in after) and (self.capture != "script" or scripts(list(self.shapes), statements)):
            self.statements = statements
            self.worlds = [values for values in after if values is not None]

    def program(self, steps: int) -> None:
        for _ in range(4 * steps):
            if len(self.statements) < steps:
                self.step()


def ran(statements: list[str], values: Values) -> Values | None:
    """The tensors after the statements; None where PyTorch refuses one, or leaves open what it does."""
    scope = {"torch": torch, "F": F, **values}
    try:
        with Defined():
            exec("\n".join(statements), scope)
    except Exception:
        return None
    variables = {name: value for name, value in scope.items() if re.fullmatch(r"[xv]\d+b?", name)}
    if any(isinstance(value, (tuple, list)) for value in variables.values()):
        return None
    return {name: value for name, value in variables.items() if isinstance(value, torch.Tensor)}


def scripts(names: list[str], statements: list[str]) -> bool:
    """Whether TorchScript has the statements."""
    body = "\n".join(statements).replace("\n", "\n    ")
    try:
        torch.jit.CompilationUnit(f"def forward({', '.join(names)}):\n    {body}\n    return 0\n")
    except Exception:
        return False
    return True


def sound(values: Values) -> bool:
    """Whether there is something to compare, of a size and of numbers that rounding does not blow up."""
    for value in values.values():
        if value.numel() > 4096 or value.dim() > 5:
            return False
        if value.dtype != torch.bool and not bool((value.abs() < (1e4 if value.is_floating_point() else 1e6)).all()):
            return False
    return True


def bound(statements: list[str]) -> list[str]:
    """The names that the statements bind, but for those within a region."""
    names: collections.Counter[str] = collections.Counter()
    for line in "\n".join(statements).splitlines():
        for left in line.split(" = ")[:-1]:
            if re.fullmatch(r"v\d+b?(, v\d+b?)*", left):
                names.update(left.split(", "))
    return list(names)
