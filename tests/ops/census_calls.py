"""Calls of operators as words, which `tests/data/census.tsv` holds, and as modules.

A tensor is `@float32[2|3,16]`: what varies has two values, those of two runs. `const` before it says that the model holds
it. `<0..98>` behind it are an integer tensor's least and greatest elements, with `!` where no two are equal, `<5|7>` a
mask's number of ones, and `<+>` says that no element is negative. `@int 5|7` is a number that depends on sizes. Other
words are what they stand for.
"""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Callable, Iterator
from typing import Any

import torch

TENSOR = re.compile(r"@(?P<constant>const )?(?P<dtype>\w+)\[(?P<sizes>[^\]]*)\](<(?P<values>.*)>)?")
NUMBER = re.compile(r"@(?P<kind>int|float|bool) (?P<first>[^|]*)(\|(?P<second>.*))?")
LIMIT = 2**31
LIMIT_OF_DISTINCT = 2**20

# --- from values to words ------------------------------------------------------------------


def word(value: Any, *, constant: bool = False, varies: bool = False) -> Any:
    """A JSON value for an argument."""
    if isinstance(value, torch.Tensor):
        dtype = str(value.dtype).removeprefix("torch.")
        return f"@{'const ' if constant else ''}{dtype}[{','.join(map(str, value.shape))}]{_values(value)}"
    if isinstance(value, (torch.dtype, torch.layout, torch.memory_format)):
        return f"@{value}"
    if isinstance(value, torch.device):
        return f"@device {value}"
    if varies and isinstance(value, (bool, int, float)):
        return f"@{type(value).__name__} {value}"
    return value


def _values(tensor: torch.Tensor) -> str:
    if tensor.numel() == 0 or tensor.is_complex():
        return ""
    if tensor.dtype == torch.bool:
        return f"<{int(tensor.sum())}>"
    if tensor.is_floating_point():
        return "<+>" if bool((tensor >= 0).all()) else ""
    distinct = "!" if tensor.numel() > 1 and torch.unique(tensor).numel() == tensor.numel() else ""
    rising = "^" if tensor.dim() == 1 and tensor.numel() > 1 and bool((tensor[1:] >= tensor[:-1]).all()) else ""
    return f"<{int(tensor.min())}..{int(tensor.max())}{distinct}{rising}>"


def merged(first: Any, second: Any) -> Any:
    """One word for what two runs gave."""
    if isinstance(first, list):
        return [merged(a, b) for a, b in zip(first, second)] if len(first) == len(second) else first
    if isinstance(first, dict):
        return {key: merged(value, second[key]) for key, value in first.items()}
    if not isinstance(first, str) or first == second:
        return first
    one, two = TENSOR.fullmatch(first), TENSOR.fullmatch(second)
    if one and two:
        pairs = list(zip(one["sizes"].split(","), two["sizes"].split(",")))
        sizes = ",".join(a if a == b else f"{a}|{b}" for a, b in pairs)
        return f"@{one['constant'] or ''}{one['dtype']}[{sizes}]{_merged_values(one['values'], two['values'])}"
    return f"{first}|{second.split(' ')[1]}" if NUMBER.fullmatch(first) else first


def _merged_values(first: str | None, second: str | None) -> str:
    if first is None or second is None:
        return ""
    return f"<{first}>" if first == second else f"<{first}|{second}>"


# --- sizes of calls ------------------------------------------------------------------------


def words(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from words(one)
    elif isinstance(value, dict):
        yield from words(list(value.values()))
    else:
        yield value


def _tensors(call: Any) -> Iterator[re.Match[str]]:
    for value in words(call[1:3]):
        if isinstance(value, str) and (found := TENSOR.fullmatch(value)):
            yield found


def size(call: Any) -> tuple[int, int]:
    """How large a call is: its elements, and the length of what it says."""
    elements = sum(math.prod(int(s.split("|")[0]) for s in t["sizes"].split(",") if s) for t in _tensors(call))
    return elements, len(str(call))


def constant_sizes(call: Any) -> set[int]:
    return {int(s) for t in _tensors(call) for s in t["sizes"].split(",") if s and "|" not in s}


def resized(call: Any, old: int, new: int) -> Any:
    """The call with another number in the place of a constant size, and of equal numbers."""

    def change(value: Any) -> Any:
        if isinstance(value, list):
            return [change(one) for one in value]
        if isinstance(value, dict):
            return {key: change(one) for key, one in value.items()}
        if type(value) is int:
            return new if value == old else value
        if isinstance(value, str) and (found := TENSOR.fullmatch(value)):
            sizes = ",".join(str(new) if s == str(old) else s for s in found["sizes"].split(","))
            values = re.sub(rf"\.\.{old - 1}\b", f"..{new - 1}", found["values"] or "")
            return f"@{found['constant'] or ''}{found['dtype']}[{sizes}]" + (f"<{values}>" if values else "")
        return value

    return [call[0], change(call[1]), change(call[2])]


# --- from words to calls --------------------------------------------------------------------


def target(name: str) -> Callable[..., Any]:
    """The operator of that name; AttributeError where its library is not loaded."""
    if name.startswith(("_operator.", "math.", "torch.sym_")):
        module, _, function = name.rpartition(".")
        return getattr(importlib.import_module(module), function)
    found: Any = torch.ops
    for part in name.removeprefix("torch.ops.").split("."):
        found = getattr(found, part)
    return found


def tensor(match: re.Match[str], run: int, generator: torch.Generator) -> torch.Tensor:
    """A tensor that fits a word, at the sizes of a run."""
    sizes = [int(size.split("|")[-1 if run else 0]) for size in match["sizes"].split(",") if size]
    dtype, values = getattr(torch, match["dtype"]), (match["values"] or "").split("|")[-1 if run else 0]
    count = math.prod(sizes)
    if dtype == torch.bool:
        ones = min(int(values or 0), count)
        return (torch.randperm(count, generator=generator) < ones).reshape(sizes)
    if not dtype.is_floating_point and not dtype.is_complex:
        return _integers(values or "0..0", count, generator).reshape(sizes).to(dtype)
    if dtype.is_complex:
        return torch.randn(*sizes, generator=generator, dtype=dtype)
    if values == "+":
        return (torch.rand(sizes, generator=generator) + 0.1).to(dtype)
    return torch.randn(sizes, generator=generator).to(dtype)


def _integers(values: str, count: int, generator: torch.Generator) -> torch.Tensor:
    low, high = (max(min(int(v), LIMIT), -LIMIT) for v in values.rstrip("!^").split(".."))
    if "!" in values and count <= high - low + 1 < LIMIT_OF_DISTINCT:
        drawn = torch.randperm(high - low + 1, generator=generator)[:count] + low
    else:
        drawn = torch.randint(low, high + 1, (count,), generator=generator)
    if "^" in values and count > 1:
        drawn = drawn.sort().values
        drawn[0], drawn[-1] = low, high
    return drawn


class Call(torch.nn.Module):
    """A call as a module: it holds the constant tensors, and takes the others, and what has the numbers as its size."""

    def __init__(self, call: Any) -> None:
        super().__init__()
        self.name, self.arguments, self.keywords = call
        self.operator = target(self.name)
        schema = getattr(self.operator, "_schema", None)
        self.writes = schema is not None and schema.is_mutable
        generator = torch.Generator().manual_seed(len(str(call)))
        self.held = torch.nn.ParameterList()
        self.inputs: list[tuple[torch.Tensor, torch.Tensor]] = []  # at the two sizes
        self.dynamic: dict[int, list[int]] = {}
        self.places = self._placed([self.arguments, self.keywords], generator)

    def _placed(self, value: Any, generator: torch.Generator) -> Any:
        if isinstance(value, list):
            return [self._placed(one, generator) for one in value]
        if isinstance(value, dict):
            return {key: self._placed(one, generator) for key, one in value.items()}
        if not isinstance(value, str):
            return lambda _: value
        if found := TENSOR.fullmatch(value):
            first, second = tensor(found, 0, generator), tensor(found, 1, generator)
            if found["constant"]:
                return self._hold(first)
            return self._take(first, second, [d for d, size in enumerate(found["sizes"].split(",")) if "|" in size])
        if found := NUMBER.fullmatch(value):
            return self._number(found)
        if value.startswith("@device "):
            return lambda _: torch.device(value.removeprefix("@device "))
        if value.startswith("@torch."):
            constant = getattr(torch, value.removeprefix("@torch."))
            return lambda _: constant
        return lambda _: value

    def _hold(self, constant: torch.Tensor) -> Callable[..., Any]:
        at = len(self.held)
        self.held.append(torch.nn.Parameter(constant, requires_grad=False))
        return lambda _: self.held[at].clone() if self.writes else self.held[at]

    def _take(self, first: torch.Tensor, second: torch.Tensor, dynamic: list[int]) -> Callable[..., Any]:
        at = len(self.inputs)
        self.inputs.append((first, second))
        if dynamic:
            self.dynamic[at] = dynamic
        return lambda given: given[at].clone() if self.writes else given[at]

    def _number(self, found: re.Match[str]) -> Callable[..., Any]:
        kind = {"int": int, "float": float, "bool": lambda text: text == "True"}[found["kind"]]
        first, second = kind(found["first"]), kind(found["second"] or found["first"])
        if found["kind"] != "int" or min(abs(first), abs(second)) < 2:
            return lambda _: first
        sign = -1 if first < 0 else 1
        size = self._take(torch.zeros(abs(first), dtype=torch.bool), torch.zeros(abs(second), dtype=torch.bool), [0])
        return lambda given: sign * size(given).shape[0]

    def forward(self, *given: torch.Tensor) -> Any:
        def filled(place: Any) -> Any:
            if isinstance(place, list):
                return [filled(one) for one in place]
            if isinstance(place, dict):
                return {key: filled(one) for key, one in place.items()}
            return place(given)

        arguments, keywords = filled(self.places)
        return self.operator(*arguments, **keywords)


def runs(call: Any) -> bool:
    """Does PyTorch take it, at both sizes?"""
    try:
        module = Call(call)
        with torch.no_grad():
            for run in (0, 1):
                module(*(pair[run] for pair in module.inputs))
    except Exception:
        return False
    return True
