"""Whether a captured program computes what the module does: for the example, and for others that are made of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import sympy
import torch
from torch.export import ExportedProgram

from .assumptions import conditions_not_decided
from .assumptions import environment as size_environment
from .larger_examples import sizes_where_not, where_none
from .loops import Unkept
from .questions.decisions import NOWHERE, Decision
from .questions.general import examples_of_special_cases, general_decisions, in_other_places, special_answers, special_sizes
from .results import computes_alike, results_of_model, say_little, writes_nothing

__all__ = ["Agreement"]


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Of programs with a module."""

    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    training: bool | None

    def alike(self, exported: ExportedProgram) -> bool:
        """Whether the program gives the module's results for the user's example.

        Raises:
            Exception: One of them does not run, or gives what cannot be compared.
        """
        return computes_alike(exported, self.model, self.args, self.kwargs, self.training)

    def on_example(self, exported: ExportedProgram) -> bool:
        """The same; False also where that does not show."""
        try:
            return self.alike(exported)
        except Exception:  # an index that is not there, for one
            return False

    def judged(self, exported: ExportedProgram, decided: Sequence[Decision]) -> list[Decision]:
        """The decisions, those marked needless of which nobody has to be warned.

        Needless is a decision for the general case if the program agrees with the module at sizes of the special case, too; and one
        that only decides whether a tensor is copied, if nothing is written that may be the copy. Conditions of torch's own (whether
        a slice is the whole tensor) are added as needless decisions, if the program agrees with the module where they do not hold.
        """
        copies = {each for each in decided if each.copies and writes_nothing(exported)}
        needless = copies | {each for each in set(general_decisions(exported, decided)) - copies if self.for_both_answers(exported, each)}
        judged = [dataclasses.replace(each, needless=True) if each in needless else each for each in decided]
        env = size_environment(exported)
        for condition in dict.fromkeys(conditions_not_decided(exported, judged)) if env is not None else ():
            if self._where_not(exported, condition):
                judged.append(Decision(env, condition, "", by_model=False, place=NOWHERE, repeats=False, beside=(), needless=True))
        return judged

    def _where_not(self, exported: ExportedProgram, condition: Any) -> bool:
        """Whether the program agrees with the module at sizes of the example for which a condition on one size does not hold."""
        symbol, *more = condition.free_symbols
        shown = False
        for size in sizes_where_not(condition, symbol) if not more else ():
            other = where_none(exported, [sympy.Ne(symbol, size)], self.args, self.kwargs)
            if other is None:
                return False
            try:
                results_of_model(self.model, *other, self.training)
            except Exception:  # the model may not take such sizes
                continue
            try:
                if not computes_alike(exported, self.model, *other, self.training):
                    return False
            except Exception:  # the program may not take them
                return False
            shown = True
        return shown

    def for_both_answers(self, exported: ExportedProgram, decision: Decision) -> bool:
        """Whether the program agrees with the module at sizes of the example for which it answers otherwise."""
        others = special_sizes(decision)
        for conditions in others or ():
            other = where_none(exported, conditions, self.args, self.kwargs)
            try:
                if other is None or not computes_alike(exported, self.model, *other, self.training):
                    return False
            except Exception:  # the model may not take such sizes
                return False
        return others is not None

    def refuse_what_differs(self, exported: ExportedProgram, presence: Sequence[str]) -> None:
        """Raises:
        Unkept: The captured program differs from the module on the example, or no example takes the special case of a question that
            was answered in general: neither the user's, nor those made of it in which more is alike.
        """
        unseen = set(presence)
        for made, (args, kwargs) in enumerate(examples_of_special_cases(self.args, self.kwargs)):
            try:
                with special_answers() as shown:
                    alike = computes_alike(exported, self.model, args, kwargs, self.training)
            except Exception:  # the model may not take what was made
                if not made:
                    raise
                continue
            if not alike:
                raise Unkept("the program computes something else for the example")
            if shown and self._by_chance(exported, args, kwargs):
                raise Unkept("the program computes the same for the example by chance")
            unseen -= set(shown)
            if not unseen:
                return
        raise Unkept(f"no example shows that the program computes the same in the special case of {', '.join(sorted(unseen))}")

    def _by_chance(self, exported: ExportedProgram, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether results of few distinct numbers agree in a special case, but no more with the example's elements in other places."""
        if not say_little(results_of_model(self.model, args, kwargs, self.training)):
            return False
        for other in in_other_places(args, kwargs):
            try:
                with special_answers() as shown:
                    if not computes_alike(exported, self.model, *other, self.training) and shown:
                        return True
            except Exception:  # the model may not take them there
                continue
        return False
