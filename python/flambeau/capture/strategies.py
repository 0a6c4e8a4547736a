"""Captures an ``nn.Module`` with ``torch.export``."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import logging
import time
import types
from collections.abc import Mapping, Sequence, Set
from typing import Any

import torch
from torch.export import ExportedProgram

from .agreement import Agreement
from .assumptions import frozen, sizes_of
from .attempt import Attempt
from .dynamic_shapes import dimension_names, model_arguments, one_size_a_name
from .environment import environment
from .failures import (
    failure,
    failure_without_export,
    innermost_line,
    warn_of_another_way,
    warn_of_emptiness,
    warn_of_numbers,
    warn_of_presence,
    warn_of_squeezes,
)
from .helps import OTHER_EXAMPLES, Help
from .larger_examples import where_none
from .loops import Unkept, kept_loops
from .operators.data_dependent import sized_kernels, unchecked_distributions
from .operators.gradients import levels_left, recorded_gradients, refuse_differentiation, refuse_unrecorded
from .operators.stand_ins import restore
from .operators.vmaps import without_vmap
from .questions.constants import KNOWN, KnownConstants
from .questions.decisions import Decision, Place, handled_questions, loops_of, recorded_decisions, unrolled_loops
from .questions.emptiness import MORE, left_open, taken_as_filled
from .questions.equality import taken_as_numbers
from .questions.general import general_answers, general_decisions, says_something_is, special_decisions, special_places
from .questions.ways_of_exports import FLAGS, OF_ONNX, gives_something_else, told_that_it_runs, ways_of_exports
from .remedies import CONFLICTS, Helped, Remedies, is_about_shapes
from .seeds import draws
from .sizes.numpys_functions import fails_in_numpy
from .sizes.squeezes import kept_ones
from .ways import Capture, ways

__all__ = ["DEFAULT_STRATEGIES", "STRATEGIES", "capture"]


STRATEGIES = ("non-strict", "strict", "draft")
DEFAULT_STRATEGIES = ("non-strict", "strict")

_MOST_ROUNDS = 5
"""So many captures, of which each asks the model's questions with the answers of the one before."""


@dataclasses.dataclass(frozen=True)
class _Captured:
    """What one try gave."""

    exported: ExportedProgram | None
    helps: tuple[Help, ...]
    error: Exception | None
    seconds: float
    decided: list[Decision]
    asked: Mapping[str, str]
    """The lines that asked whether a tensor holds anything, and what was assumed (see ``questions.emptiness``)."""
    equal: list[str]
    """The lines that compared tensors which were computed alike: they were taken to be equal."""
    presence: list[str]
    """The lines that asked which elements, indices or counts occur (see ``questions.presence``)."""
    loops: set[Place]
    """Loops that Python ran as often as the example says, or at which the capture failed."""
    gradients: bool
    """Whether the module computes gradients."""

    def helped(self, *more: Help) -> _Captured:
        """The same, which this helped besides."""
        return dataclasses.replace(self, helps=(*(each for each in self.helps if each not in more), *more))

    def special_places(self, *, remainders: bool = False) -> set[Place]:
        """Where the model asked for a special case: in the program, or, if a size became a number in it, anywhere in the capture."""
        kept_all = self.exported is None or not frozen(self.exported)
        return special_places(self.exported if kept_all else None, self.decided, remainders=remainders)


@dataclasses.dataclass(frozen=True)
class _Setting:
    """How a capture departs from running the model's Python on the example."""

    loops: Set[Place] = frozenset()
    """Of the model's source: they are kept."""
    special: Set[Place] | None = None
    """Questions that get the answer of the general case."""
    two_is_one: bool = True
    """Whether a capture with 2 for sizes of 1 will do."""
    loops_first: bool = False
    """Whether loops that are unrolled are left to a further try, without other help for this one."""
    keeping: bool = False
    """Whether a further try keeps the loops that this one finds."""
    constants: bool = False
    """Whether weights are taken for what they hold."""
    single: bool = False
    """Whether there is one of something where the model asks for more; else there are more, if that agrees on the example."""
    instead: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """The example at other sizes, to be captured in its place."""


_LOG = logging.getLogger("flambeau.capture")


def capture(
    model: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    dynamic_shapes: Any,
    *,
    training: bool | None = False,
    verbose: bool = False,
    strategies: Sequence[str] | None = None,
    attempts: list[Attempt] | None = None,
    decisions: list[Decision] | None = None,
) -> ExportedProgram:
    """Capture a module.

    Dimensions that are only named ("batch") are tried as dynamic; where the
    model fixes one of them, the capture is done again and leaves that to torch.
    The engine then warns about each dimension that came out static. An example
    size of 0 or 1 does not make a dimension static.

    Args:
        training: The mode that the module is captured in; None keeps its own.
        strategies: Which of :data:`STRATEGIES` to try, in order.
        attempts: Gets what was tried; the last one succeeded.
        decisions: Gets what the capture took for granted of sizes.

    Raises:
        CaptureError: torch cannot capture the model, or the model does not run; its error is the cause.
        ValueError: A strategy has no such name.
    """
    strategies = DEFAULT_STRATEGIES if strategies is None else tuple(strategies)
    for strategy in strategies:
        if strategy not in STRATEGIES:
            raise ValueError(f"there is no capture strategy {strategy!r}; choose from {', '.join(STRATEGIES)}")
    attempts = [] if attempts is None else attempts
    tries = _Tries(model, args, kwargs, training, verbose, dynamic_shapes, Agreement(model, args, kwargs, training))
    for way in ways(model, args, kwargs, dynamic_shapes, strategies, attempts):
        captured = tries.best(way.capture) if "non-strict" in way.name else tries.compared(way.capture)
        unrolled = unrolled_loops(captured.decided)
        attempts.append(Attempt(way.name, captured.seconds, captured.error, unrolled, captured.gradients, way.helps + captured.helps))
        if captured.exported is not None:
            # Sizes that differ in the example are one where torch put off the check that they agree.
            differ = sizes_of(captured.exported, args, kwargs) is None
            if differ and (own := failure_without_export(model, args, kwargs, training)) is not None:
                raise own
            warn_of_emptiness(captured.asked)
            warn_of_numbers(captured.equal)
            warn_of_presence(captured.presence)
            warn_of_squeezes(kept_ones(captured.exported, args, kwargs))
            if tries.differs_from_runs(captured):
                warn_of_another_way(tries.flags)
            if decisions is not None:
                decisions += tries.agreement.judged(captured.exported, captured.decided)
            return captured.exported
    raise failure(model, args, kwargs, training, attempts)


@dataclasses.dataclass(frozen=True)
class _Tries:
    """A module to capture, and what for."""

    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    training: bool | None
    verbose: bool
    dynamic_shapes: Any
    agreement: Agreement
    helped: set[Help] = dataclasses.field(default_factory=set)
    """What captures needed so far."""
    flags: dict[str, str] = dataclasses.field(default_factory=dict)
    """The functions by which the model asked whether it is exported, and the first line that called each."""

    def best(self, attempt: Capture) -> _Captured:
        """The capture that depends least on the example: loops are kept, and questions get the answer of the general case."""
        names = dimension_names(model_arguments(self.model, self.args, self.kwargs), self.dynamic_shapes)
        with one_size_a_name(self.model, names):
            captured = self._general(attempt)
            settled = captured.exported is not None or is_about_shapes(captured.error) or CONFLICTS in str(captured.error)
            return captured if settled else self._as_it_runs(attempt) or captured

    def compared(self, attempt: Capture) -> _Captured:
        """The capture, unless it gives something else for the example: Dynamo reads a class attribute that the model has assigned as it was before."""
        captured = self.once(attempt)
        if captured.exported is None or draws(captured.exported):
            return captured
        try:
            alike = self.agreement.alike(captured.exported)
        except Exception:  # of tensors without numbers, for one
            return captured
        return captured if alike else dataclasses.replace(captured, exported=None, error=Unkept("the program computes something else for the example"))

    def _as_it_runs(self, attempt: Capture) -> _Captured | None:
        """The capture of a model that takes another path while it is exported, with that hidden from it; None if it differs on the example.

        That it is exported to ONNX is hidden where it gives something else otherwise.
        """
        hidden: set[str] = set()
        on_a_path = None
        while asked := [name for name in FLAGS if name in self.flags.keys() - hidden]:  # what follows the first question may ask another
            hidden.add(asked[0])

            def within(remedies: Remedies, hidden: Set[str] = frozenset(hidden)) -> Helped:
                with ways_of_exports(self.flags, innermost_line, hidden):
                    return attempt(remedies)

            with told_that_it_runs() if OF_ONNX in hidden else contextlib.nullcontext():  # what it gives is compared meanwhile
                captured = self._general(within)
            if captured.exported is None:
                continue
            captured = captured.helped(Help.RUNS_ONLY)
            with told_that_it_runs():
                if self.agreement.on_example(captured.exported):
                    return captured
            if on_a_path is None and self.agreement.on_example(captured.exported):
                on_a_path = captured
        return on_a_path

    def differs_from_runs(self, captured: _Captured) -> bool:
        """Whether a model that asks whether it is exported computes something else then, as the example shows: more than rounding or random numbers."""
        told = self.flags.keys() & {OF_ONNX} if Help.RUNS_ONLY in captured.helps else self.flags.keys()
        if not told or captured.exported is None:
            return False

        def alike() -> bool:
            return self.agreement.alike(captured.exported)

        return gives_something_else(self.model, self.args, self.kwargs, self.training, told, alike)

    def _general(self, attempt: Capture) -> _Captured:
        """The capture with loops kept, then with weights known where questions about them stop it, then with general answers."""
        captured = self.once(attempt, _Setting(loops_first=True))
        constants, stuck = False, _is_stuck(captured.error)
        if stuck:
            known = self.once(attempt, _Setting(constants=True))
            if known.exported is not None or _came_to_the_end(known.error):
                captured, constants = known.helped(Help.CONSTANTS), True
            elif "data-dependent" in str(known.error):  # of this line or of one further on
                captured = dataclasses.replace(captured, error=known.error)
        loops: set[Place] = set()
        kept = self._with_loops(attempt, captured, loops, None, constants)
        if kept is captured and captured.loops and not constants and (captured.exported is None or frozen(captured.exported)):
            found, kept = captured.loops, self.once(attempt)
            captured = kept
            if _is_stuck(captured.error):  # behind the loop at which the first try ended
                behind: set[Place] = set()
                known = self._with_loops(attempt, dataclasses.replace(captured, loops=found), behind, None, True)
                if known.exported is not None:
                    kept, loops, constants, stuck = known, behind, True, True
        captured = kept.helped(Help.CONSTANTS) if constants and kept is not captured else kept
        special = captured.special_places()
        if not special and not (stuck and captured.exported is None):
            return self._with_remainders(attempt, captured, loops, None, constants)
        remainders = special_places(captured.exported, captured.decided, remainders=True)
        choices = [False, True] if remainders and remainders != special else [False]
        for known_too, only_remainders in itertools.product((False, True) if stuck else (False,), choices):
            places = remainders if only_remainders else special
            general, places = self._with_answers(attempt, loops, places, known_too, only_remainders)
            left = special_places(general.exported, general.decided)
            if general.exported is not None and (left.isdisjoint(places) if only_remainders else not left):
                general = general.helped(*[Help.CONSTANTS] * known_too, Help.GENERAL_CASE)
                return self._with_remainders(attempt, general, loops, places, known_too)
        if captured.exported is not None and general.exported is None and not isinstance(general.error, Unkept):
            return self._of_other_sizes(attempt, captured.exported, captured.decided, loops, special) or captured
        return captured

    def _of_other_sizes(
        self, attempt: Capture, exported: ExportedProgram, decided: Sequence[Decision], loops: Set[Place], places: Set[Place]
    ) -> _Captured | None:
        """The capture of an example of other sizes, for which the model itself answers in general; None if it still asks for a special case.

        The user's example may not be able to take the general path: an empty tensor has no view with a -1 in it.
        """
        asked = dict.fromkeys(each.condition for each in special_decisions(exported, decided))
        other = where_none(exported, list(asked), self.args, self.kwargs)
        if other is None:
            return None
        general = self.once(attempt, _Setting(loops, places, instead=other))
        if general.exported is None or special_places(general.exported, general.decided):
            return None
        return general.helped(Help.GENERAL_CASE)

    def _with_remainders(
        self, attempt: Capture, captured: _Captured, loops: Set[Place], places: Set[Place] | None, constants: bool
    ) -> _Captured:
        """The capture in which nothing remaining counts as something (``if n % 4 != 0: pad by 4 - n % 4``), if it agrees at sizes without a remainder.

        The same for quotients (``if n // 4 > 0``): what is done with something is done with nothing.
        """
        if captured.exported is None:
            return captured
        asked = [each for each in set(general_decisions(captured.exported, captured.decided)) if says_something_is(each.condition)]
        differ = [each for each in asked if not self.agreement.for_both_answers(captured.exported, each)]
        if not differ:
            return captured
        found = {each.place for each in differ}
        general = self.once(attempt, _Setting(loops, found | (places or set()), constants=constants))
        alike = general.exported is not None and all(self.agreement.for_both_answers(general.exported, each) for each in differ)
        return dataclasses.replace(general, helps=captured.helps).helped(Help.GENERAL_CASE) if alike else captured

    def _with_answers(
        self, attempt: Capture, loops: set[Place], places: Set[Place], constants: bool, remainders: bool
    ) -> tuple[_Captured, Set[Place]]:
        """The capture with general answers at these places, and at further ones that the model then asks at; and all of these places."""
        for _ in range(_MOST_ROUNDS):
            general = self._with_loops(attempt, self.once(attempt, _Setting(loops, places, constants=constants)), loops, places, constants)
            found = general.special_places(remainders=remainders)
            if found <= places:
                break
            places = places | found
        return general, places

    def once(self, attempt: Capture, setting: _Setting = _Setting()) -> _Captured:
        """One capture, repeated with less help where the help assumed something that the user's example contradicts."""
        captured = self._tried(attempt, setting)
        if captured.error is not None and not OTHER_EXAMPLES.isdisjoint(captured.helps):
            return self.once(attempt, _Setting(setting.loops, setting.special, two_is_one=False, constants=setting.constants))
        if MORE in captured.asked.values() and (
            isinstance(captured.error, Unkept) or (captured.exported is not None and not self.agreement.on_example(captured.exported))
        ):
            other = self.once(attempt, dataclasses.replace(setting, single=True, instead=None))
            if other.exported is not None and self.agreement.on_example(other.exported):
                return other
        return captured

    def _tried(self, attempt: Capture, setting: _Setting) -> _Captured:
        start = time.perf_counter()
        decided: list[Decision] = []
        asked: dict[str, str] = {}
        equal: list[str] = []
        presence: list[str] = []
        gradients: list[str] = []
        sizes: dict[Any, Any] = {}
        replaced: Mapping[types.CodeType, types.CodeType] = {}
        exported, failed = None, None
        helps: tuple[Help, ...] = ()

        def own(place: Place) -> Place:
            """In the model's own source."""
            code, line = place
            return replaced.get(code, code), line

        def pointless() -> bool:
            """Whether loops were unrolled that a further try keeps."""
            return setting.loops_first and bool(unrolled_loops(decided))

        try:
            with (
                levels_left(),
                recorded_gradients() as gradients,
                environment(self.model, self.args, self.kwargs, self.training, self.verbose, bool(self.dynamic_shapes)),
                taken_as_filled(innermost_line, sizes, small=setting.special is not None, single=setting.single) as asked,
                taken_as_numbers(innermost_line) as equal,
                general_answers(setting.special, asked) as presence,
                KnownConstants(self.model) if setting.constants else contextlib.nullcontext() as known,
                recorded_decisions(decided, lambda place: (setting.loops_first or setting.keeping) and own(place) not in setting.loops),
                sized_kernels(),
                unchecked_distributions(),
                ways_of_exports(self.flags, innermost_line),
                kept_loops(setting.loops) as replaced,
                torch.fx.experimental._config.patch(backed_size_oblivious=True),
                handled_questions() as handled,
            ):
                exported, helps = attempt(Remedies(setting.two_is_one, pointless, Help.DYNAMIC_CONVERSIONS in self.helped, setting.instead))
                self.helped.update(helps)
                refuse_differentiation(exported)
                refuse_unrecorded(exported)
                exported = without_vmap(exported)
            restore(exported)
            left_open(exported, sizes)
            if known is not None and not known.hold(exported):
                raise Unkept("a weight that decides what the model does is written")
            if known is not None:
                exported.graph_module.meta[KNOWN] = known.decisive()
            if setting.loops or setting.special is not None or not OTHER_EXAMPLES.isdisjoint(helps) or (known is not None and known.follows_sizes):
                self.agreement.refuse_what_differs(exported, presence)
            if handled and not self.agreement.on_example(exported):  # the model went on with what it does after an error of its own
                raise handled[0]
        except Exception as error:
            exported, failed = None, error
            _LOG.debug("not captured", exc_info=error)
        found = set(map(own, loops_of(decided, failed)))
        return _Captured(exported, helps, failed, time.perf_counter() - start, decided, asked, equal, presence, found, bool(gradients))

    def _with_loops(
        self, attempt: Capture, captured: _Captured, loops: set[Place], special: Set[Place] | None, constants: bool
    ) -> _Captured:
        """The capture with all loops kept that captures unrolled; `loops` gets them."""
        found = captured.loops
        while not found <= loops:
            loops |= found
            kept = self.once(attempt, _Setting(loops, special, keeping=True, constants=constants))
            found = kept.loops
            if kept.exported is not None:
                captured = kept.helped(Help.LOOPS_KEPT)
        return captured


def _is_stuck(error: Exception | None) -> bool:
    """Whether a capture failed at a question about data, which weights may answer."""
    return "data-dependent" in str(error) or fails_in_numpy(error)


def _came_to_the_end(error: Exception | None) -> bool:
    """Whether a capture failed only because the model fixes a dimension."""
    return (is_about_shapes(error) or CONFLICTS in str(error)) and "data-dependent" not in str(error)
