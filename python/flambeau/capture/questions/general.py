"""Questions that a model asks to save work, in a capture: the answer is that of the general case.

Whether a size is the one that a table was made for, whether something is left to pad, or what is there of a mask (``presence``)
chooses between ways to the same result; the general way serves both cases. That it does is checked for the example, whose case
must be the special one, or for others that are made of it.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree
from torch.utils._sympy.functions import CeilToInt, FloorDiv, FloorToInt, Max, Min, Mod, PythonMod

from ..assumptions import environment
from ..sizes.conversions import number_of
from ..sizes.proofs import INEQUALITIES, holds, zeros
from .decisions import Decision, Place, asking_place, asks_to_go_on
from .presence import Presence

__all__ = [
    "examples_of_special_cases",
    "general_answers",
    "general_decisions",
    "in_other_places",
    "says_something_is",
    "special_answers",
    "special_decisions",
    "special_places",
    "special_sizes",
]


def _asks_for_odd(condition: Any) -> bool:
    """Whether it is ``n % 2 == 1`` or ``n % 2 != 1``: whether one is left of pairs."""
    odd = [side for side in condition.args if isinstance(side, (Mod, PythonMod)) and side.args[1] == 2]
    return isinstance(condition, (sympy.Eq, sympy.Ne)) and len(odd) == 1 and sympy.S.One in condition.args


def says_something_is(condition: Any) -> bool:
    """Whether it says that something is there, or left.

    That is ``n // 4 > 0`` or ``n % 4 != 0``, or that one size is not what was computed as the other (``-(-n // 4) * 4 != n``).
    """
    if isinstance(condition, INEQUALITIES):
        return True
    return isinstance(condition, sympy.Ne) and condition.has(*(_REMAINDERS if sympy.S.Zero in condition.args else _QUOTIENTS))


_REMAINDERS = (Mod, PythonMod, CeilToInt, FloorDiv, FloorToInt)
_QUOTIENTS = (CeilToInt, FloorDiv, FloorToInt)


def _in_general(condition: Any, env: ShapeEnv) -> Any:
    """The answer to a question that tells one number from all others, where it is another; None to other questions.

    Whether what is never negative is above 0 is such a question, too.
    """
    if _asks_for_odd(condition):
        return sympy.true if isinstance(condition, sympy.Eq) else sympy.false
    if isinstance(condition, (sympy.Eq, sympy.Ne)):
        return sympy.false if isinstance(condition, sympy.Eq) else sympy.true
    if not isinstance(condition, INEQUALITIES):
        return None
    asked = condition.gts - condition.lts + (0 if isinstance(condition, (sympy.Lt, sympy.Gt)) else 1)  # whether it is above 0
    if not asked.is_integer:
        return None
    for quantity, answer in ((asked, sympy.true), (1 - asked, sympy.false)):
        if env.bound_sympy(quantity).lower == 0 or (_is_never_below_0(quantity) and not holds(quantity > 0, 2)):
            return answer
    return None


def _is_never_below_0(quantity: Any) -> bool:
    """Whether that is so of what is left of one size, ``8 * ((n + 7) // 8) - n`` or ``32 - min(n, 32)``: bounds tell it of no part alone."""
    return bool(quantity.has(*_QUOTIENTS, Max, Min)) and holds(quantity >= 0, 2)


def special_decisions(exported: ExportedProgram | None, decisions: Sequence[Decision], *, remainders: bool = False) -> list[Decision]:
    """What the model asked: whether a size is a certain one, or anything is left of it, and that of the example is that one.

    Args:
        remainders: Only where it asked whether anything is left.
    """
    return [
        each
        for each in decisions
        if each.by_model
        and not (each.repeats or each.copies)
        and (isinstance(each.condition, INEQUALITIES) or _asks_for_odd(each.condition) or not remainders)
        and _in_general(each.condition, each.env) is sympy.false
        and (exported is None or each.env is environment(exported))
    ]


def special_places(exported: ExportedProgram | None, decisions: Sequence[Decision], *, remainders: bool = False) -> set[Place]:
    """Where the model asked that."""
    return {each.place for each in special_decisions(exported, decisions, remainders=remainders)}


def general_decisions(exported: ExportedProgram, decisions: Sequence[Decision]) -> list[Decision]:
    """What the model asked of one size and got the general answer to, which another size may not give."""
    return [
        each
        for each in decisions
        if each.by_model
        and not (each.repeats or each.copies)
        and len(each.condition.free_symbols) == 1
        and _in_general(each.condition, each.env) is sympy.true
        and not holds(each.condition, 2)
        and each.env is environment(exported)
    ]


def special_sizes(decision: Decision) -> list[list[Any]] | None:
    """What has to be otherwise, together, to see every other way of the model; None if that is not known.

    What stands behind the question in ``if rows != 14 or columns != 14`` is otherwise as well: only then the ways part.
    """
    if decision.beside is None:
        return None
    beside = [canonical for each in decision.beside if each.free_symbols and (canonical := _general_form(each, decision.env)) is not None]
    if len(beside) != sum(bool(each.free_symbols) for each in decision.beside):
        return None
    return [[decision.condition], [decision.condition, *beside]] if beside else [[decision.condition]]


def _general_form(condition: Any, env: ShapeEnv) -> Any:
    """The condition or its opposite, as it holds in general; None where no answer is the general one."""
    answer = _in_general(condition, env)
    return None if answer is None else condition if answer is sympy.true else sympy.Not(condition)


_SIDES = (lambda tensor: -tensor.abs(), torch.abs, torch.zeros_like, lambda tensor: 1000 * (tensor.abs() + 1))
"""Of 0 on which all numbers are, and far from it."""

_OF_INTEGERS: tuple[Callable[[torch.Tensor], Any], ...] = (
    lambda tensor: tensor.max(),
    lambda tensor: 1,
    lambda tensor: torch.arange(tensor.shape[-1]),
    lambda tensor: -1 if tensor.dtype.is_signed else 0,
)
"""What all are at once: of indices, those that there are first."""

_Example = tuple[tuple[Any, ...], dict[str, Any]]


def examples_of_special_cases(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[_Example]:
    """The example, and others with its sizes that hold less of what a model looks for.

    Of which more is alike: tensors, which a model may compare, and then all rows, and all numbers, for tokens that are alike go to the same
    experts. Then each mask is empty in turn; of indices, no two columns are alike, as of edges that occur once, in whatever order and from the
    least to the greatest; and numbers are on one side of what the model compares them with, integers all alike, as the greatest of the example, or
    counted.
    """
    yield args, kwargs
    leaves, structure = _pytree.tree_flatten((args, kwargs))
    tensors = {at: leaf for at, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) and leaf.numel() > 1}

    def with_others(others: dict[int, torch.Tensor]) -> _Example:
        return _pytree.tree_unflatten([others.get(at, leaf) for at, leaf in enumerate(leaves)], structure)  # type: ignore[no-any-return]

    likes: dict[Any, torch.Tensor] = {}
    equal = {at: likes.setdefault((tensor.shape, tensor.dtype), tensor) for at, tensor in tensors.items()}
    if len(likes) < len(tensors):
        yield with_others(equal)
    for kept in (1, 0):
        alike = {at: tensor for at, tensor in tensors.items() if tensor.ndim > kept}
        yield with_others({at: tensor[(slice(0, 1),) * (tensor.ndim - kept)].expand(tensor.shape).clone() for at, tensor in alike.items()})
    for at, tensor in tensors.items():
        if not tensor.is_floating_point() and not tensor.is_complex():
            yield with_others({at: torch.zeros_like(tensor)})
            yield with_others({at: _columns_that_differ(tensor)})
            yield with_others({at: _columns_that_differ(tensor, in_order=True)})
    numbers = {at: tensor for at, tensor in tensors.items() if tensor.is_floating_point()}
    for moved in _SIDES if numbers else ():
        yield with_others({at: moved(tensor) for at, tensor in numbers.items()})
    integers = {at: tensor for at, tensor in tensors.items() if not tensor.is_floating_point() and not tensor.is_complex() and tensor.dtype is not torch.bool}
    for number in _OF_INTEGERS if integers else ():
        yield with_others({at: torch.zeros_like(tensor).copy_(torch.as_tensor(number(tensor))) for at, tensor in integers.items()})


def in_other_places(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[_Example]:
    """The example with the rows of each tensor in other places, and every second time floats that are smaller, each by a factor of its own."""
    leaves, structure = _pytree.tree_flatten((args, kwargs))
    places = torch.Generator().manual_seed(0)

    def moved(leaf: Any, smaller: bool) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.strided:
            return leaf
        rows = leaf.detach()[torch.randperm(leaf.shape[0], generator=places).to(leaf.device)] if leaf.ndim else leaf.detach()
        return rows * torch.rand(leaf.shape, generator=places).to(leaf) if smaller and leaf.is_floating_point() else rows

    for smaller in (False, True) * _SHUFFLES:
        yield _pytree.tree_unflatten([moved(leaf, smaller) for leaf in leaves], structure)


_SHUFFLES = 4


def _columns_that_differ(tensor: torch.Tensor, in_order: bool = False) -> torch.Tensor:
    """Numbers from 0 to the greatest of the example, each column the digits of its place; in order, from the first row on."""
    count, base = tensor.shape[-1], int(tensor.max()) + 1
    places = torch.arange(count)
    digits = [places // weight % base for weight in itertools.takewhile(lambda weight: weight < count, (base**row for row in itertools.count()))] if base > 1 else []
    rows = [digits[row] if row < len(digits) else torch.zeros_like(places) for row in range(tensor.numel() // count)]
    return torch.stack(rows[::-1] if in_order else rows).reshape(tensor.shape).to(tensor)


class _WhatIsLeft(TorchFunctionMode):
    """Cuts and paddings by what is left, also with ``torch.cat``, which is something in general, as they are where nothing is.

    ``x[:, :-left]``, of which torch makes a slice, leaves the size less that, and all where nothing is left;
    ``pad(x, (0, 4 - n % 4))`` adds a whole 4 there, and nothing if the model asked whether ``n % 4`` is 0.
    """

    def __init__(self, asked: Set[Any], differences: Set[Any]):
        super().__init__()
        self._asked, self._differences = asked, differences

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        if func in (torch.ops.aten.slice, torch.ops.aten.slice.Tensor) and len(args) > 3:
            tensor, dim, start, stop, *step = args
            if isinstance(stop, torch.SymInt):
                args = (tensor, dim, start, self._end(stop, tensor.shape[dim]), *step)
        elif func in _PADS and len(args) > 1 and isinstance(args[1], (tuple, list)):
            args = (args[0], type(args[1])(map(self._less_than_all, args[1])), *args[2:])
        elif func in _FILLED:
            args = _pytree.tree_map(self._less_than_all, args)
        return func(*args, **(kwargs or {}))

    def _end(self, stop: torch.SymInt, size: Any) -> Any:
        if _is_never_above_0(stop):
            return size + stop
        for difference in self._differences:
            if _is_0_where(stop.node.expr, difference):
                left = number_of(difference, stop.node.shape_env)
                return stop + size * (1 - torch.sym_min(1, torch.sym_max(left, -left)))
        return stop

    def _less_than_all(self, amount: Any) -> Any:
        """``4 - n % 4``, but 0 where that is 4; other amounts as they are."""
        for remainder in self._asked if isinstance(amount, torch.SymInt) else ():
            if amount.node.expr == remainder.args[1] - remainder:
                return amount % int(remainder.args[1])
        return amount


_FILLED = (torch.zeros, torch.ones, torch.full, torch.Tensor.new_zeros, torch.Tensor.new_ones, torch.Tensor.new_full)
"""Of which a model makes the padding that it puts beside a tensor."""
_PADS = (torch.nn.functional.pad, torch.constant_pad_nd, torch.ops.aten.pad, torch.ops.aten.pad.default)


def _is_never_above_0(number: torch.SymInt) -> bool:
    return bool(number.node.shape_env.bound_sympy(number.node.expr).upper <= 0)


def _is_0_where(number: Any, difference: Any) -> bool:
    """Whether a number is 0 where nothing is left, and only there, as the first sizes show of which that is so."""
    if number.free_symbols != difference.free_symbols or len(number.free_symbols) != 1:
        return False
    found = _zeros(number)
    return bool(found) and found == _zeros(difference)


@functools.lru_cache(maxsize=1024)
def _zeros(number: Any) -> tuple[int, ...]:
    """The first few sizes of which an expression of one size is 0."""
    return tuple(itertools.islice(zeros(number, range(2, 4096)), 4))


@contextlib.contextmanager
def special_answers() -> Iterator[list[str]]:
    """While it is open, a module runs. Gives the lines that asked what is there, and whose answer was not the general one."""
    lines: list[str] = []
    with Presence(lines, runs=True):
        yield lines


@contextlib.contextmanager
def general_answers(places: Set[Place] | None, filled: dict[str, str]) -> Iterator[list[str]]:
    """While it is open, the answer is the general one to questions what is there, and to those about sizes at these places; None leaves both.

    Gives the lines that asked what is there; those that asked whether there is anything are added to `filled`.
    """
    asked: list[str] = []
    if places is None:
        yield asked
        return
    evaluate = ShapeEnv._evaluate_expr
    remainders: set[Any] = set()
    differences: set[Any] = set()
    presence = Presence(asked, filled=filled)

    def answered(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(condition, (sympy.Eq, sympy.Ne, *INEQUALITIES)) and condition.free_symbols and asking_place() in places:
            answer = _in_general(condition, self)
            if answer is not None and not asks_to_go_on():
                if isinstance(condition, (sympy.Eq, sympy.Ne)):
                    differences.add(condition.lhs - condition.rhs)
                remainders.update(each for each in condition.atoms(Mod, PythonMod) if each.args[1].is_Integer)
                return answer
        if (answer := presence.answer(condition, self)) is not None:
            return answer
        return evaluate(self, condition, *args, **kwargs)

    ShapeEnv._evaluate_expr = answered
    try:
        with presence, _WhatIsLeft(remainders, differences):
            yield asked
    finally:
        ShapeEnv._evaluate_expr = evaluate
