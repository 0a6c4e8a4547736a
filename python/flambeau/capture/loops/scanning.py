"""Runs a function of one round for a dynamic number of rounds, as torch's ``scan``.

The rounds are traced once. What a round hands to the next is found by a trial run
on the values from before the loop: tensors that keep their type are carried, lists
that grow are gathered, and all else must stay what it is. Where it does not, the first
round is done apart, and the rest is tried again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any, NamedTuple

import sympy
import torch
from torch._higher_order_ops.scan import scan_op
from torch._subclasses.fake_tensor import FakeTensor
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.overrides import _get_current_function_mode_stack
from torch.utils import _pytree
from torch.utils._sympy.value_ranges import ValueRanges

from ...pytrees import children
from ..sizes.conversions import number_of, symbol_number
from ..sizes.progressions import is_integer
from .gathering import Appended, Gathered, Gathering, Growing, Nested, gathered, number
from .layouts import Layout
from .modes import ByPlaces, Inner, Outer, Unkept, under
from .pieces import cut_of
from .same import fixed, memory_of, same_type
from .strides import Stride, stride_of

__all__ = ["Lost", "Unkept", "as_scan", "item_at"]

_LOG = logging.getLogger("flambeau.capture")

_Round = Callable[..., tuple[Any, ...]]
_At = Callable[[Any], Any]


class Lost:
    """In place of a value that is not known: of a name without one, or of a number that each round changes."""

    def _use(self, *_: Any) -> Any:
        raise Unkept("a value that the rounds of a dynamic loop change is used")

    __bool__ = __index__ = __int__ = __float__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __getitem__ = __iter__ = _use
    __call__ = __len__ = __lt__ = __gt__ = __le__ = __ge__ = _use


def item_at(tensor: torch.Tensor, index: Any) -> torch.Tensor:
    return torch.select(tensor, 0, index)


class _Piece(NamedTuple):
    """One item a round, of a length that another round's need not have."""

    axis: int
    sizes: list[Any]
    """Those of all pieces together."""
    dtype: torch.dtype
    device: torch.device
    stride: Stride | None = None
    """How the pieces follow each other, where all but the last are of one length."""
    measured: bool = False
    """Whether a round alone says how long its piece is."""
    lengths: torch.Tensor | None = None
    """Those of all pieces, where they are known before."""


@dataclasses.dataclass
class _Plan:
    """What becomes of the values from before the loop."""

    gathered: set[int]
    """Which are lists that the rounds fill."""
    counted: set[int]
    """Which leaves are integers that the rounds change."""
    outer: Outer = dataclasses.field(default_factory=Outer)
    appended: dict[int, int] = dataclasses.field(default_factory=dict)
    """How many items a round appends."""
    layouts: dict[int, Layout] = dataclasses.field(default_factory=dict)
    """Of lists that get a tuple each round, what it is made of."""
    numbers: set[int] = dataclasses.field(default_factory=set)
    """Which lists get an integer each round."""
    several: set[int] = dataclasses.field(default_factory=set)
    """Which lists get several integers each round, in one tensor."""
    nothing: set[int] = dataclasses.field(default_factory=set)
    """Which lists the rounds fill with None: nobody knows their length afterwards."""
    front: set[int] = dataclasses.field(default_factory=set)
    """Which lists the rounds fill at their fronts."""
    nested: set[int] = dataclasses.field(default_factory=set)
    """Which lists the rounds of a loop within fill."""
    lost: set[int] = dataclasses.field(default_factory=set)
    """Which leaves are no longer known after a round."""
    pieces: dict[int, _Piece] = dataclasses.field(default_factory=dict)
    """Of lists that get a piece of something else each round, what that is."""
    forgotten: set[int] = dataclasses.field(default_factory=set)
    """Which values each round makes anew, of a type of its own: they are none after it."""


def _copied(values: Sequence[Any], gathered: Set[int]) -> list[Any]:
    """The values for a round to write into."""
    copies = [
        Gathering() if i in gathered else _pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, value)
        for i, value in enumerate(values)
    ]
    return copies


def _state(values: Sequence[Any], gathered: Set[int]) -> tuple[list[Any], Any]:
    """What is handed on, and its structure: without the lists that are filled."""
    return _pytree.tree_flatten([None if i in gathered else value for i, value in enumerate(values)])


def _alike(value: Any, result: Any) -> bool:
    """Whether what a round makes of a value may stand in its place, as far as types tell."""
    (before, one), (after, other) = _pytree.tree_flatten(value), _pytree.tree_flatten(result)
    return one == other and all(
        same_type(a, b) if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor) else not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor)
        for a, b in zip(before, after)
    )


class _Trial(NamedTuple):
    """What one round did."""

    results: list[Any]
    leaves: list[Any]
    """Of what it was handed, without the lists that it fills."""
    structure: Any
    """Of these leaves."""
    written: set[Any]
    """The memory into which it wrote."""
    index: torch.SymInt
    known: Set[sympy.Symbol]
    """The symbols from before it."""


def _note_handed_on(plan: _Plan, trial: _Trial) -> bool:
    """Whether the round changes numbers that were not known to change.

    Raises:
        Unkept: A value becomes one of another type or structure.
    """
    after, structure = _state(trial.results, plan.gathered)
    if structure != trial.structure:
        raise Unkept("what a round hands on has another structure than what it takes")
    changed = False
    for i, (before, now) in enumerate(zip(trial.leaves, after)):
        if isinstance(before, torch.Tensor) and isinstance(now, torch.Tensor):
            if not same_type(before, now):
                raise Unkept("a tensor that a round hands on has another type than what it takes")
        elif isinstance(before, torch.Tensor) or isinstance(now, torch.Tensor):
            raise Unkept("a round makes a tensor of what was none, or none of one")
        elif i in plan.counted:
            if not isinstance(now, (int, torch.SymInt)):
                raise Unkept("a round makes something else of a number")
        elif isinstance(before, Lost):
            plan.lost.add(i)
        elif not fixed(before, now):
            if isinstance(before, bool) or not isinstance(before, (int, torch.SymInt)):
                raise Unkept("the rounds change a value that is no tensor")
            plan.counted.add(i)
            changed = True
    return changed


def _remembered(values: Sequence[Any], plan: _Plan) -> list[Any]:
    return [Lost() if i in plan.forgotten else value for i, value in enumerate(values)]


def _appended(plan: _Plan, stacked: list[torch.Tensor]) -> dict[int, Appended]:
    """What each list got, of the items of all lists, each of all rounds."""
    appended = {}
    for i in sorted(plan.gathered - plan.nothing):
        items, stacked = stacked[: plan.appended[i]], stacked[plan.appended[i] :]
        if i in plan.nested | plan.several:
            items = [each.flatten(0, 1) for each in items]
        appended[i] = Appended(items, i in plan.front, numbers=i in plan.numbers | plan.several, layout=plan.layouts.get(i))
    return {i: each for i, each in appended.items() if each.items or each.layout}


class _Loop:
    def __init__(self, count: Any, at: _At, round: _Round, names: Sequence[str], written: Set[str], anew: Set[str] = frozenset()) -> None:
        self.count, self.at, self._round, self.names, self.written, self.anew = count, at, round, names, written, anew
        self.modes = [mode for mode in _get_current_function_mode_stack() if not type(mode).__module__.startswith("torch.fx")]

    def _index(self, index: Any, first: int) -> Any:
        torch._check(index >= first)
        torch._check(index < self.count)
        return index

    def _results(self, plan: _Plan, each: Any, given: Sequence[Any]) -> list[Any]:
        """What a round gives, with the integers that it adds to a list in one tensor."""
        return [gathered(result, given[i]) if i in plan.gathered else result for i, result in enumerate(self._round(each, *given))]

    def round(self, plan: _Plan, index: Any, given: Sequence[Any]) -> list[Any]:
        results = self._results(plan, self.at(index), given)
        for i, layout in plan.layouts.items():
            results[i] = layout.gathered(*results[i])
        for i in plan.gathered:
            if isinstance(results[i], Nested):
                results[i] = Gathered([results[i].stacked()])
                plan.nested.add(i)
        return _remembered(results, plan)

    def _size(self, symbol: sympy.Symbol) -> torch.SymInt:
        """The symbol as a number: the scan has to be given it, for its rounds to compute others of it."""
        return symbol_number(symbol, self.count.node.shape_env)

    def _of(self, expression: sympy.Expr) -> Any:
        return number_of(expression, self.count.node.shape_env)

    def trial(self, values: Sequence[Any], first: int) -> _Plan:
        """What a round does to the values.

        Raises:
            Unkept: A value becomes one of another type.
        """
        plan = _Plan({i for i, value in enumerate(values) if type(value) is list and not value}, set())
        for _ in range(4):
            if not self._tried(plan, _remembered(values, plan), first):
                return plan
            plan = _Plan(plan.gathered, plan.counted, lost=plan.lost, forgotten=plan.forgotten)
        raise Unkept("what the rounds hand on does not settle")

    def _tried(self, plan: _Plan, values: Sequence[Any], first: int) -> bool:
        """Whether the plan changed, and is to be tried again."""
        trial = self._traced(plan, values, first)
        forgotten = {
            i
            for i, (name, value, result) in enumerate(zip(self.names, values, trial.results))
            if name in self.anew and i not in plan.gathered and not _alike(value, result)
        }
        if not forgotten <= plan.forgotten:
            plan.forgotten |= forgotten
            plan.counted.clear()  # they are of other leaves
            return True
        grown = {
            i
            for i, (value, result) in enumerate(zip(values, trial.results))
            if i not in plan.gathered and type(value) is list and type(result) is list and len(result) > len(value)
        }
        if grown:
            plan.gathered |= grown
            return True
        for i in plan.gathered:
            self._note_appended(plan, i, trial, first)
        for name, value in zip(self.names, values):
            if name in self.written and not isinstance(value, (torch.Tensor, list, tuple, dict, int, float, Lost, torch.SymInt, type(None))):
                raise Unkept(f"a round changes {name}")
        return _note_handed_on(plan, trial)

    def _traced(self, plan: _Plan, values: Sequence[Any], first: int) -> _Trial:
        """A round on these values, of which nothing is recorded."""
        env = self.count.node.shape_env
        known = set(env.var_to_range)
        with disable_proxy_modes_tracing(), env.ignore_fresh_unbacked_symbols(), ByPlaces():
            given = _copied(values, plan.gathered)
            leaves, structure = _state(given, plan.gathered)
            for i in plan.counted:
                leaves[i] = env.create_unbacked_symint()
            given = [
                given[i] if i in plan.gathered else value for i, value in enumerate(_pytree.tree_unflatten(leaves, structure))
            ]
            plan.outer.own(given)
            index = self._index(env.create_unbacked_symint(), first)
            tensors = [(leaf, name) for name, value in zip(self.names, given) for leaf in _pytree.tree_leaves(value) if isinstance(leaf, torch.Tensor)]
            growing = [Growing(value) if type(value) is list and value and all(map(is_integer, value)) else value for value in given]
            with plan.outer:
                results = [list(result) if type(result) is Growing else result for result in self.round(plan, index, growing)]
            # Tensors of inference mode do not know whether they were written.
            written = {memory_of(tensor) for tensor, name in tensors if (name in self.written if tensor.is_inference() else tensor._version)}
            plan.outer.note_sizes(_pytree.tree_leaves([list(result) if type(result) is Gathered else result for result in results]))
        return _Trial(results, leaves, structure, written, index, known)

    def _note_appended(self, plan: _Plan, i: int, trial: _Trial, first: int) -> None:
        """Plan for what a round appends to a list.

        Raises:
            Unkept: Rounds cannot fill a list so.
        """
        items = trial.results[i]
        if items and all(item is None for item in items):
            plan.nothing.add(i)
            return
        several, front = items.numbers, items.front
        if several or [*map(is_integer, items)] == [True]:
            (plan.several if several else plan.numbers).add(i)
            plan.appended[i] = 1
            if front:
                raise Unkept("numbers come to the front of a list")
            if not several:
                return
        if not front and [isinstance(item, tuple) for item in items] == [True]:
            plan.layouts[i] = Layout(*items, trial.index, trial.known, self.count, first)
            with disable_proxy_modes_tracing():
                items = trial.results[i] = plan.layouts[i].gathered(*items)
        if not all(isinstance(item, torch.Tensor) for item in items):
            raise Unkept(f"{self.names[i]} is no list of tensors")
        plan.appended[i] = len(items)
        if front:
            plan.front.add(i)
        if trial.written & {memory_of(item) for item in items}:
            raise Unkept("a list gets a tensor into which rounds write")
        if (piece := _piece(items, trial.index, self.count, trial.known, first)) is not None:
            if i in plan.nested or i in plan.layouts:
                raise Unkept("a round fills a list with tuples of several sizes, or a loop within it with another number of items")
            plan.pieces[i] = piece

    def run(self, values: Sequence[Any], first: int) -> tuple[list[Any], dict[int, Appended]]:
        """The values after the rounds from this one on, and what was appended to lists."""
        before = set(self.count.node.shape_env.var_to_range)
        plan = self.trial(values, first)
        if plan.pieces:
            return self._with_pieces(plan, values, first)
        leaves, structure = _state(_remembered(values, plan), plan.gathered)
        carried = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor) or i in plan.counted]
        init = [number(leaves[i]) if i in plan.counted else leaves[i].clone(memory_format=torch.contiguous_format) for i in carried]
        tensors = list(plan.outer.tensors.values())
        known = {size.node.expr for tensor in (*tensors, *init) for size in tensor.shape if isinstance(size, torch.SymInt)}
        symbols = {symbol for expression in (*plan.outer.sizes, self.count.node.expr) for symbol in expression.free_symbols}
        missing = [self._size(symbol) for symbol in sorted(symbols - known, key=str) if symbol in before]
        if not init:
            init = [torch.zeros((), dtype=torch.int64)]
        in_place: set[int] = set()
        # Where the first round is done apart there has to be one: this place is none of a loop of no rounds.
        start = [torch.select(torch.arange(self.count), 0, 0) + first] if first else []

        def combine(*args: Any) -> list[torch.Tensor]:
            carries, place, lifted = args[: len(init)], args[len(init)], args[len(init) + 1 :]
            inner = {id(outer): within for outer, within in zip(tensors, lifted)}
            with under(self.modes, args), Inner(inner):
                rest = place >= lifted[-1] if first else None
                if first:  # onnxruntime's Scan does not go over nothing: the first round is there, and counts for nothing
                    place = torch.minimum(place.clamp(min=first), number(self.count - 1))
                index = self._index(place.item(), first)
                within = list(leaves)
                for i, value in zip(carried, carries):
                    within[i] = value.item() if i in plan.counted else value.clone()
                given = [
                    Gathering() if i in plan.gathered else value for i, value in enumerate(_pytree.tree_unflatten(within, structure))
                ]
                results = self.round(plan, index, given)
                after, _ = _state(results, plan.gathered)
                in_place.update(i for i in carried if after[i] is within[i])
                handed = [number(after[i]) if i in plan.counted else after[i] for i in carried] or list(carries)
                if first:
                    handed = [torch.where(rest, new, old) for new, old in zip(handed, carries)]
                gathered = [(item, i in plan.numbers) for i in sorted(plan.gathered - plan.nothing) for item in results[i]]
                items = [number(item) if is_number else item for item, is_number in gathered]
                return [each.clone(memory_format=torch.contiguous_format) for each in (*handed, *items)]

        lifted = [tensor if isinstance(tensor, FakeTensor) else tensor.clone() for tensor in tensors]  # a global may be as it is
        tried = any(isinstance(mode, Outer) for mode in self.modes)
        with torch._C._AutoDispatchBelowAutograd() if tried else contextlib.nullcontext():  # nobody asks a trial for gradients
            outputs = list(scan_op(combine, init, [torch.arange(self.count)], (*lifted, *missing, *start)))
        owners = dict(self._owners(structure))
        for i, value in zip(carried, outputs):
            if i in plan.counted:
                leaves[i] = value.item()
            elif i in in_place and owners.get(i) in self.written:
                leaves[i].copy_(value)
            else:
                leaves[i] = value
        for i in plan.lost:
            leaves[i] = Lost()
        after = _pytree.tree_unflatten(leaves, structure)
        for i in plan.gathered:
            after[i] = Lost() if i in plan.nothing else values[i]
        return after, _appended(plan, [output[first:] for output in outputs[len(init) :]])

    def _with_pieces(self, plan: _Plan, values: Sequence[Any], first: int) -> tuple[list[Any], dict[int, Appended]]:
        """The same, of rounds whose pieces are put together: those of one length stacked, others written where they belong."""
        pieces = plan.pieces
        if plan.front & pieces.keys():
            raise Unkept("pieces come to the front of a list")
        lengths = self._lengths(plan, values, first)
        starts = {i: each.cumsum(0) - each for i, each in lengths.items()}
        placed = {i: piece for i, piece in pieces.items() if piece.stride is None}
        sizes = {i: list(piece.sizes) for i, piece in placed.items()}
        for i, each in lengths.items():
            sizes[i][pieces[i].axis] = total = each.sum().item()
            torch._check(total >= 0)
        whole = [torch.zeros(sizes[i], dtype=piece.dtype, device=piece.device) for i, piece in placed.items()]

        def at(index: Any) -> tuple[Any, Any]:
            return index, self.at(index)

        def round(each: tuple[Any, Any], *given: Any) -> tuple[Any, ...]:
            index, item = each
            *results, written = (*self._results(plan, item, given[: len(values)]), list(given[len(values) :]))
            for i, piece in pieces.items():
                (item,) = results[i]
                results[i] = Gathered(() if piece.stride is None else [piece.stride.filled(item, piece.axis, self._of)])
                if piece.stride is not None:
                    continue
                length = item.shape[piece.axis]
                if piece.measured:
                    places = torch.select(starts[i], 0, index - first) + torch.arange(length, device=item.device)
                else:
                    places = cut_of(length).places(item.device)  # type: ignore[union-attr]
                to = list(placed).index(i)
                written[to] = written[to].index_copy(piece.axis, places, item)
            return (*results, *written)

        names = [*self.names, *("the pieces" for _ in placed)]
        before = [[] if i in plan.gathered else value for i, value in enumerate(values)]
        after, appended = _Loop(self.count, at, round, names, self.written, self.anew).run([*before, *whole], first)
        for i in plan.gathered:
            after[i] = Lost() if i in plan.nothing else values[i]
        for i, tensor in zip(placed, after[len(values) :]):
            appended[i] = Appended([tensor], False, placed[i].axis, lengths.get(i, placed[i].lengths), i in plan.several)
        for i in pieces.keys() - placed.keys():
            axis, stride = pieces[i].axis, pieces[i].stride
            (stacked,) = appended[i].items
            appended[i] = Appended([stride.joined(stacked, axis, self._of)], False, axis, numbers=i in plan.several)  # type: ignore[union-attr]
        return after[: len(values)], appended

    def _lengths(self, plan: _Plan, values: Sequence[Any], first: int) -> dict[int, torch.Tensor]:
        """How long the pieces are of which a round alone says it, found by going over the rounds for that."""
        measured = {i: piece.axis for i, piece in plan.pieces.items() if piece.measured}
        if not measured:
            return {}

        def round(each: Any, *given: Any) -> tuple[Any, ...]:
            results = self._results(plan, each, given)
            for i in plan.gathered:
                (*_, item) = results[i] or [None]
                results[i] = Gathered([number(item.shape[measured[i]])] if i in measured else ())
            return tuple(results)

        before = [[] if i in plan.gathered else value for i, value in enumerate(_copied(values, plan.gathered))]
        _, appended = _Loop(self.count, self.at, round, self.names, self.written, self.anew).run(before, first)
        return {i: appended[i].items[0] for i in measured}

    def _owners(self, structure: Any) -> Iterator[tuple[int, str]]:
        """The names to whose values the leaves belong."""
        i = 0
        for name, child in zip(self.names, children(structure)):
            for _ in range(child.num_leaves):
                yield i, name
                i += 1


def _piece(items: Sequence[torch.Tensor], index: torch.SymInt, count: torch.SymInt, known: Set[sympy.Symbol], first: int) -> _Piece | None:
    """What the item of a round is a piece of; None if the items of all rounds have one shape.

    Raises:
        Unkept: They have not, and differ in more than one dimension.
    """
    own = [(item, axis) for item in items for axis, size in enumerate(item.shape) if _symbols(size) - known]
    if not own:
        return None
    (item, axis), *more = own
    if more or len(items) != 1:
        raise Unkept("a round appends tensors of several sizes of its own")
    rest = {"dtype": item.dtype, "device": item.device}
    if (cut := cut_of(item.shape[axis])) is not None:
        return _Piece(axis, [cut.total if at == axis else size for at, size in enumerate(item.shape)], **rest, lengths=cut.lengths)
    if (stride := stride_of(item.shape[axis], index, count, first)) is not None:
        return _Piece(axis, [], stride=stride, **rest)
    return _Piece(axis, [None if at == axis else size for at, size in enumerate(item.shape)], **rest, measured=True)


def _symbols(size: Any) -> set[Any]:
    return set(size.node.expr.free_symbols) if isinstance(size, torch.SymInt) else set()


@contextlib.contextmanager
def _there_may_be_no_more(count: torch.SymInt) -> Iterator[None]:
    """What a round tells of the least number of rounds, such as that there is one, holds while it is open."""
    env, symbols = count.node.shape_env, count.node.expr.free_symbols
    before = {symbol: env.var_to_range[symbol] for symbol in symbols if symbol in env.var_to_range}
    try:
        yield
    finally:
        for symbol, found in before.items():
            now = env.var_to_range.get(symbol)
            if now is not None and not now.is_singleton():
                env.var_to_range[symbol] = ValueRanges(found.lower, now.upper)
        env._update_version_counter()


def as_scan(
    count: Any, at: _At, round: _Round, names: Sequence[str], before: Sequence[Any], written: Set[str], anew: Set[str] = frozenset()
) -> tuple[list[Any], dict[int, Appended]]:
    """The values after all rounds, and what the rounds appended to lists, stacked.

    Args:
        count: How many rounds.
        at: What a round gets.
        round: Takes that and the values, and gives the next values.
        names: Of the values.
        before: The values before the loop.
        written: The names of values that a round may write into.
        anew: The names of values that no round takes from the one before it.

    Raises:
        Unkept: The loop cannot be a scan.
    """
    for forgettable in (frozenset(), anew) if anew else (anew,):
        loop = _Loop(count, at, round, names, written, forgettable)
        for apart in (0, 1) if count.node.hint is not None else (0,):  # else there may be no round
            try:
                values = _after_first(round, at, before) if apart else before
                torch._check(count >= apart)
                with _there_may_be_no_more(count):
                    return loop.run(values, apart)
            except Exception as error:  # whatever the round does not do with these values
                _LOG.debug("no loop%s", " after a first round apart" * apart, exc_info=error)
                failed = error
    raise failed


def _after_first(round: _Round, at: _At, before: Sequence[Any]) -> list[Any]:
    return list(round(at(0), *(list(value) if type(value) is list else value for value in before)))
