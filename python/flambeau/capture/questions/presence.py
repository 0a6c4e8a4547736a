"""What is there in general, where a model asks tensors for it to save work: whether a mask hides anything, how many tokens an
expert gets, which experts get some.

In general some elements of a mask are set and some are not, some numbers are not finite, tensors differ, no count is 0, and each of a known
number of indices occurs.
What is captured so does nothing where there is nothing to do: a loop over the experts that are hit goes over all of them.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import math
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import sympy
import torch
import torch.nn.functional as F
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack
from torch.utils.weak import WeakIdKeyDictionary

from ..failures import innermost_line
from ..sizes.proofs import expression_of
from .decisions import asks_to_go_on, passing_answer
from .emptiness import SOME, SOUND, where_filled

__all__ = ["Presence", "factors_asked_for", "rows_are_known"]


@dataclasses.dataclass(frozen=True)
class _Fact:
    """What is known of a tensor."""

    answer: bool | None = None
    """What its elements are in general, one by one or all of them together."""
    counts: bool = False
    """Its elements are integers from 0 on."""
    from_0: bool = False
    """Its elements are no less than 0."""
    total: bool = False
    """It tells whether there is anything of what is counted."""
    below: int | None = None
    """Its elements are indices, below this number."""
    occurring: int | None = None
    """Its rows are those indices below this number that occur, in order."""
    sound: bool = False
    """It tells whether matrices had no factors; all that is computed from it is as if they had."""
    out_of: Any = None
    """It counts the elements of a mask that are set, out of so many; of one of integers, if they are 0 and 1."""


_NOTHING = _Fact()


@dataclasses.dataclass
class _Factors:
    """Whether matrices are taken to have the factors that a model looks for; a script decides that in each run."""

    taken: bool
    asked: bool = False
    """Whether the model asks for that."""

    def ask(self) -> bool:
        self.asked = True
        return self.taken


_factors = contextvars.ContextVar("factors", default=_Factors(False))


@contextlib.contextmanager
def factors_asked_for(taken: bool = False) -> Iterator[_Factors]:
    """Says afterwards whether a model that was captured meanwhile asks for factors."""
    before = _factors.set(_Factors(taken))
    try:
        yield _factors.get()
    finally:
        _factors.reset(before)


def _functions(*names: str) -> tuple[Callable[..., Any], ...]:
    return tuple(getattr(owner, name) for owner in (torch, torch.Tensor) for name in names if hasattr(owner, name))


_Rule = Callable[..., _Fact]
"""Takes what is known of the first argument, and the call's arguments and result."""


def _reduced(answer: bool) -> _Rule:
    def rule(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> _Fact:
        if fact.sound:
            return fact
        return _Fact(answer) if len(args) == 1 and not kwargs else _NOTHING

    return rule


def _known(answer: bool) -> _Rule:
    def rule(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> _Fact:
        return _Fact(answer)

    return rule


def _negated(fact: _Fact, *_: Any) -> _Fact:
    return _NOTHING if fact.answer is None else _Fact(not fact.answer, sound=fact.sound)


def _same(fact: _Fact, *_: Any) -> _Fact:
    return dataclasses.replace(fact, occurring=None)


def _reshaped(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    """Rows of one index each are the indices."""
    keeps = result.ndim == 1 and args[0].ndim in (1, 2)
    return fact if keeps else _same(fact)


def _indexed(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    index = args[1] if isinstance(args[1], tuple) and not any(isinstance(each, torch.Tensor) for each in args[1]) else ()
    return fact if index == (slice(None), 0) and args[0].ndim == 2 else _same(fact)


def _integers(tensor: torch.Tensor) -> bool:
    return not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype is not torch.bool


def _moved(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    if fact.sound:
        return fact
    if fact.from_0 and _integers(result):
        return _Fact(counts=True)
    if fact.counts and result.is_floating_point():
        return _Fact(from_0=True)
    return fact if _integers(result) or result.dtype == args[0].dtype else _NOTHING


def _never_negative(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    return _Fact(counts=True) if _integers(result) else _Fact(from_0=result.is_floating_point())


def _as_before(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    """Of what makes no number from 0 on negative."""
    return _never_negative(fact, args, kwargs, result) if fact.from_0 or fact.counts else _NOTHING


def _clamped(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    least = kwargs.get("min", args[1] if len(args) > 1 else None)
    known = type(least) in (int, float) and least >= 0
    return _never_negative(fact, args, kwargs, result) if known else _NOTHING


def _filled(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    value = kwargs.get("value", args[2] if len(args) > 2 else None)
    return _as_before(fact, args, kwargs, result) if type(value) in (int, float) and value >= 0 else _NOTHING


def _scaled(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    factor = args[1] if len(args) == 2 else None
    return _as_before(fact, args, kwargs, result) if type(factor) in (int, float) and factor > 0 else _NOTHING


def _counted(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    return _Fact(counts=not result.is_floating_point())  # as those with weights are


def _summed(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    of_mask = args[0].dtype is torch.bool
    of_all = len(args) == 1 and not kwargs
    return _Fact(counts=fact.counts, total=of_all and not of_mask, out_of=args[0].numel() if of_all and (of_mask or _integers(args[0])) else None)


def _compared(of: Callable[[Any], bool | None], of_all: bool | None = None) -> _Rule:
    """A count beside a number, which may be that of all elements."""

    def rule(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
        number = args[1] if len(args) == 2 and isinstance(args[1], (int, torch.SymInt)) else None
        if number is None:
            return _NOTHING
        if fact.sound:
            of_more = of(0) if of_all is None else of_all  # what is asked of the others
            return _Fact(not of_more, sound=True) if number == 0 and _integers(args[0]) else _NOTHING
        if fact.out_of is not None and expression_of(number) == expression_of(fact.out_of):
            return _Fact(of_all)
        return _Fact(of(number), total=fact.total) if fact.counts else _NOTHING

    return rule


def _made(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    return _Fact(counts=not result.is_floating_point() and not result.is_complex())


def _scattered(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
    value = args[3] if len(args) > 3 else None
    return _Fact(counts=fact.counts and type(value) is int and value >= 0)


def _indices(at: int, default: int | None) -> _Rule:
    """Of elements along a dimension, which is the argument at this place; None for all elements."""

    def rule(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: torch.Tensor) -> _Fact:
        tensor, dim = args[0], kwargs.get("dim", args[at] if len(args) > at else default)
        size = math.prod(tensor.shape) if dim is None else tensor.shape[dim] if tensor.ndim else 1
        return _Fact(counts=True, below=size if type(size) is int else None)

    return rule


def _set(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> _Fact:
    mask = args[0]
    if len(args) > 1:  # a choice between values
        return _NOTHING
    known = mask.ndim == 1 and type(mask.shape[0]) is int
    return _Fact(counts=True, below=mask.shape[0], occurring=mask.shape[0]) if known else _Fact(counts=True)


def _distinct(fact: _Fact, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> _Fact:
    plain = len(args) == 1 and kwargs.get("sorted", True) and not any(value for name, value in kwargs.items() if name != "sorted")
    return dataclasses.replace(_same(fact), occurring=fact.below if plain else None)


_RULES: dict[Callable[..., Any], _Rule] = {
    **dict.fromkeys(_functions("any"), _reduced(True)),
    **dict.fromkeys(_functions("all"), _reduced(False)),
    **dict.fromkeys(_functions("isnan", "isinf", "isposinf", "isneginf"), _known(True)),
    **dict.fromkeys(_functions("isfinite"), _known(False)),
    **dict.fromkeys(_functions("logical_not", "bitwise_not", "__invert__"), _negated),
    **dict.fromkeys(_functions("contiguous", "clone", "permute", "transpose", "movedim", "unsqueeze", "expand", "repeat", "t"), _same),
    **dict.fromkeys((torch.Tensor.T.__get__, torch.Tensor.mT.__get__), _same),
    **dict.fromkeys(_functions("select", "unbind", "split", "chunk", "index_select", "gather", "take", "amax", "flip", "roll"), _same),
    **dict.fromkeys(_functions("flatten", "view", "reshape", "ravel", "squeeze", "detach", "cpu"), _reshaped),
    **dict.fromkeys(_functions("to", "long", "int", "bool", "short", "float", "double"), _moved),
    **dict.fromkeys(_functions("sum", "cumsum"), _summed),
    **dict.fromkeys((*_functions("relu", "relu_", "abs", "exp", "square", "sigmoid", "softmax"), F.relu, F.softplus, F.softmax), _never_negative),
    **dict.fromkeys(_functions("round", "round_", "ceil", "ceil_", "floor", "floor_", "trunc"), _as_before),
    **dict.fromkeys(_functions("clamp", "clamp_", "clamp_min", "clamp_min_", "clip", "clip_"), _clamped),
    **dict.fromkeys(_functions("masked_fill", "masked_fill_"), _filled),
    **dict.fromkeys(_functions("mul", "__mul__", "__rmul__", "div", "__truediv__"), _scaled),
    **dict.fromkeys((*_functions("bincount", "count_nonzero"), F.one_hot), _counted),
    **dict.fromkeys(_functions("zeros", "ones", "new_zeros", "new_ones", "zeros_like", "ones_like"), _made),
    **dict.fromkeys(_functions("scatter", "scatter_"), _scattered),
    **dict.fromkeys(_functions("gt", "greater", "__gt__"), _compared(lambda number: True if number == 0 else None)),
    **dict.fromkeys(_functions("ge", "greater_equal", "__ge__"), _compared(lambda number: True if number == 1 else None, False)),
    **dict.fromkeys(_functions("ne", "not_equal", "__ne__"), _compared(lambda number: True if number == 0 else None, True)),
    **dict.fromkeys(_functions("eq", "__eq__"), _compared(lambda number: False if number == 0 else None, False)),
    **dict.fromkeys(_functions("le", "less_equal", "__le__"), _compared(lambda number: False if number == 0 else None)),
    **dict.fromkeys(_functions("lt", "less", "__lt__"), _compared(lambda number: False if number == 1 else None, True)),
    **dict.fromkeys(_functions("topk"), _indices(2, -1)),
    **dict.fromkeys(_functions("argsort", "sort"), _indices(1, -1)),
    **dict.fromkeys(_functions("argmax", "argmin", "max", "min"), _indices(1, None)),
    **dict.fromkeys(_functions("nonzero", "argwhere", "where"), _set),
    **dict.fromkeys(_functions("unique"), _distinct),
    torch.Tensor.__getitem__: _indexed,
}

_FACTORS = {getattr(torch.linalg, name) for name in ("cholesky_ex", "inv_ex", "ldl_factor_ex", "lu_factor_ex", "solve_ex")}
_INDICES_COME_SECOND = set(_functions("topk", "sort", "max", "min"))
_MOST_ROUNDS = 1024
_COUNTS = _functions("bincount")
_TRUTHS = {torch.Tensor.__bool__, *_functions("is_nonzero")}
_READS = {*_TRUTHS, *_functions("item"), torch.Tensor.__int__, torch.Tensor.__index__}
_EQUALITIES = _functions("equal", "allclose")
_LISTS = torch.Tensor.tolist
_ARRAYS = (torch.Tensor.numpy, torch.Tensor.__array__)
_ROWS = _functions("unbind")


def _version(tensor: torch.Tensor) -> int:
    """How often it was written; those of inference mode do not know."""
    return 0 if tensor.is_inference() else tensor._version


class Presence(TorchFunctionMode):
    """Gives general answers; or, where a module runs, sees which of them are not its own."""

    def __init__(self, lines: list[str], runs: bool = False, filled: dict[str, str] | None = None) -> None:
        """`filled` gets the lines that asked whether there is anything, as of :func:`.emptiness.taken_as_filled`."""
        super().__init__()
        self.lines, self.runs, self.filled = lines, runs, filled
        self.facts = WeakIdKeyDictionary()  # tensors -> (what is known, the version of which it is)
        self.counts: dict[Any, str] = {}  # symbols of the capture -> the lines that read them
        self.parts: dict[Any, tuple[Any, str]] = {}  # of those that count elements of a mask: how many it has, and the lines

    def fact(self, tensor: Any) -> _Fact:
        if not isinstance(tensor, torch.Tensor):
            return _NOTHING
        fact, version = self.facts.get(tensor, (_NOTHING, 0))
        fact = fact if version == _version(tensor) else _NOTHING
        return dataclasses.replace(fact, counts=True) if tensor.dtype in (torch.bool, torch.uint8) else fact

    def rows(self, tensor: Any) -> int | None:
        """How many rows a tensor of indices has in general."""
        occurring = self.fact(tensor).occurring
        return occurring if occurring is None or occurring <= _MOST_ROUNDS else None

    def _learn(self, tensor: Any, fact: _Fact) -> None:
        if isinstance(tensor, torch.Tensor):
            self.facts[tensor] = fact, _version(tensor)

    def note(self, line: str) -> None:
        if line not in self.lines:
            self.lines.append(line)

    def answer(self, condition: Any, env: Any) -> Any:
        """What a condition on counts that the model read is in general; None for others."""
        of_part = self._of_part(condition)
        if of_part is not None and not asks_to_go_on():
            return of_part
        counts = getattr(condition, "free_symbols", set()) & self.counts.keys()
        answer = where_filled(condition, env, counts)
        if answer is None or asks_to_go_on():
            return None
        for count in sorted(counts, key=str):
            self.note(self.counts[count])
        return answer

    def _learn_part(self, part: Any, whole: Any, line: str) -> None:
        """Of a number that was read, how many elements it is a part of, if it is."""
        if self.runs and whole is not None and part == whole:
            self.note(line)
        elif isinstance(part, torch.SymInt) and whole is not None:
            self.parts[part.node.expr] = expression_of(whole), line

    def _of_part(self, condition: Any) -> Any:
        """Whether a part of a mask is less than all of it, or something else that is asked of the two."""
        if not isinstance(condition, sympy.core.relational.Relational):
            return None
        for part, whole, asked in ((*condition.args, condition), (*reversed(condition.args), condition.reversed)):
            expected, line = self.parts.get(part, (None, ""))
            if expected is not None and whole == expected:
                self.note(line)
                return sympy.true if isinstance(asked, (sympy.Lt, sympy.Le, sympy.Ne)) else sympy.false
        return None

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        fact = self.fact(args[0]) if args else _NOTHING
        goes_over = func is _LISTS or (func in _ROWS and args[1:] in ((), (0,)) and not kwargs)
        if goes_over and (rows := self.rows(args[0])) is not None:
            return self._occurring(rows, func, args)
        if fact.answer is not None and func in _READS:
            return self._answered(fact.answer, func, args, kwargs, fact)
        if fact.counts and args[0].dtype is not torch.bool and (func in _READS or func is _LISTS or func in _ARRAYS):
            return self._read(func, args, kwargs)
        result = func(*args, **kwargs)
        if func in _FACTORS:
            self._learn(result[-1], _Fact(answer=False, sound=True))
        if fact.out_of is not None and func in _READS:
            self._learn_part(result, fact.out_of, innermost_line(traceback.extract_stack()))
        if self.runs and func in _EQUALITIES and result:
            self.note(innermost_line(traceback.extract_stack()))
        if func in _COUNTS and not self.runs and fact.below is not None:
            size = kwargs.get("minlength", args[2] if len(args) > 2 else 0)
            if fact.below <= size:
                torch._check(result.shape[0] == size)
        if func in _RULES:
            several = isinstance(result, (tuple, list))
            if func in _INDICES_COME_SECOND:
                results = [result[1]] if several and len(result) == 2 else []
            else:
                results = list(result) if several else [result]
            for each in results:
                self._learn(each, _RULES[func](fact, args, kwargs, each))
        return result

    def _answered(self, answer: bool, func: Any, args: Any, kwargs: Any, fact: _Fact) -> Any:
        line = innermost_line(traceback.extract_stack())
        if self.runs:
            own = func(*args, **kwargs)
            if own != answer:
                self.note(line)
            return own
        if (passes := passing_answer()) is not None:
            return passes
        if fact.sound and not _factors.get().ask():
            return func(*args, **kwargs)
        if asks_to_go_on():  # and would for good
            return func(*args, **kwargs)
        if (fact.total or fact.sound) and self.filled is not None:
            self.filled.setdefault(line, SOUND if fact.sound else SOME)
        else:
            self.note(line)
        return answer

    def _read(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Counts as Python's numbers."""
        line = innermost_line(traceback.extract_stack())
        whole = self.fact(args[0]).out_of
        if self.runs:
            if bool((args[0] == 0).any()):
                self.note(line)
            found = func(*args, **kwargs)
            self._learn_part(found, whole, line)
            return found
        if func in _TRUTHS:
            return self._answered(True, func, args, kwargs, self.fact(args[0]))
        found = func(*args, **kwargs)
        self._learn_part(found, whole, line)
        pending = [found]
        while pending:
            value = pending.pop()
            if isinstance(value, list):
                pending += value
            elif isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
                torch._check(value >= 0)
                self.counts.setdefault(value.node.expr, line)
        return found

    def _occurring(self, size: int, func: Any, args: Any) -> Any:
        """The indices, as tensors or as Python's numbers."""
        line = innermost_line(traceback.extract_stack())
        if self.runs:
            found = func(*args)
            if len(found) != size:
                self.note(line)
            return found
        self.note(line)
        rows = args[0].ndim == 2
        if func is _LISTS:
            return [[index] if rows else index for index in range(size)]
        return tuple(torch.tensor([index] if rows else index) for index in range(size))


def rows_are_known(tensor: torch.Tensor) -> bool:
    """Whether a tensor whose number of rows depends on data is gone over as if all that there may be were there."""
    return any(isinstance(mode, Presence) and mode.rows(tensor) is not None for mode in _get_current_function_mode_stack())
