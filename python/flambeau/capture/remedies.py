"""One capture by ``torch.export``, and what helps where it fails, or makes a number of a size."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

import torch
import torch.backends.opt_einsum
from torch.export import ExportedProgram

from .assumptions import frozen, holds_for
from .dynamic_shapes import two_for_one
from .environment import Seen, replacements
from .helps import Help
from .inputs_apart import inputs_apart
from .larger_examples import with_more_rows
from .operators.vmaps import called_one_by_one
from .sizes.conversions import dynamic_conversions
from .sizes.slices import decided_slices, repeated_slices
from .torch_export import above_autograd

__all__ = ["CONFLICTS", "Helped", "Remedies", "is_about_shapes", "with_remedies"]

CONFLICTS = "conflicts between user-specified ranges"
"""What torch says of dimensions that the model fixes."""
_PARTS_AGAIN = "Pending unbacked symbols"
"""What torch says of parts that data decides and that autograd takes again."""
_WANTS_NUMBER = re.compile(r"Could not extract specialized integer|data-dependent expression zuf\d+ \(unhinted")
"""What torch says of ``int`` and ``float`` of a tensor."""
_ANOTHER_SIZE = ("inconsistencies were found", "not a subset of src_bound")

Helped = tuple[ExportedProgram, tuple[Help, ...]]
"""The captured program, and what helped."""


@dataclasses.dataclass(frozen=True)
class Remedies:
    """What may be tried where a capture fails, or makes a number of a size."""

    two_is_one: bool
    """Whether a capture of a larger example will do, with 2 for sizes of 1."""
    pointless: Callable[[], bool]
    """Whether nothing of it helps: loops were unrolled, which have to be kept first."""
    conversions_first: bool
    """Whether ``int`` and ``float`` of sizes stay dynamic from the start: they had to in a capture before."""
    instead: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    """The example at other sizes, to be captured in its place, or not at all."""


def with_remedies(
    model: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    shapes: Any,
    strict: bool,
    remedies: Remedies,
    export: Callable[..., ExportedProgram] = above_autograd,
    *,
    decided: bool = False,
) -> Helped:
    """The captured program, and what helped.

    torch is asked to leave a dynamic size of 0 or 1 dynamic (to be "oblivious" of
    it). It does so even where the model makes it a number, or broadcasts it: then
    the capture is done again with 2 for 1, unless that is known to be wrong for 1;
    and else with 0 and 1 for constants.

    Args:
        decided: Whether slices count from where they do in the example.
    """
    return _Export(model, args, kwargs, shapes, strict, remedies, export, decided).captured()


@dataclasses.dataclass
class _Export:
    """A module to capture in one way, as :func:`with_remedies` is given it."""

    model: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    shapes: Any
    strict: bool
    remedies: Remedies
    export: Callable[..., ExportedProgram]
    decided: bool
    repeated: bool = False
    """Whether a part of a tensor that is taken again is as large as before."""
    apart: bool = False
    """Whether the model is called with views of its inputs."""
    seen: Seen = dataclasses.field(default_factory=lambda: Seen([], []))
    """What the last capture went over."""
    conversions: list[str] = dataclasses.field(default_factory=list)
    """The lines that made a number of a size."""

    def captured(self) -> Helped:
        """The program that keeps most sizes dynamic, and what helped.

        Raises:
            Exception: What torch raised, where nothing helps.
        """
        if self.remedies.instead is not None:
            exported = self.once(True, self.remedies.instead)
            exported.example_inputs = self.args, self.kwargs
            return exported, (Help.OTHER_SIZES,)
        if self.remedies.conversions_first and not self.strict and (kept := self.with_dynamic_conversions) is not None:
            return kept
        try:
            exported = self.once(oblivious=True)
        except Exception as error:
            if (helped := self.after(error)) is None:
                raise
            return helped
        if self.shapes and not self.strict and frozen(exported):
            if self.remedies.pointless():
                return exported, ()
            if (helped := self.unfrozen(exported)) is not None:
                return helped
        return self.holding_for_the_example(exported)

    def after(self, error: Exception) -> Helped | None:
        """What helps against this error; None if nothing does."""
        if self.remedies.pointless():
            return None
        if self.shapes and self.seen.vmaps and (general := self.with_single_calls()) is not None:
            return general
        if self.seen.undecided_slices and not self.decided and "data-dependent" in str(error):
            with contextlib.suppress(Exception), decided_slices():
                return self.again(Help.DECIDED_SLICES, decided=True)
        if not self.strict and not self.repeated and _PARTS_AGAIN in str(error):
            with repeated_slices():
                return self.again(Help.REPEATED_SLICES, repeated=True)
        if not self.strict and not self.apart and isinstance(error, IndexError):  # torch looks for sizes of a dimension that an input did not have
            with contextlib.suppress(Exception):
                return self.again(Help.INPUTS_APART, apart=True)
        if "pecializ" in str(error) and (general := self.with_two_for_one()) is not None:
            return general
        if not self.strict and any(words in str(error) for words in _ANOTHER_SIZE):  # a size that is 1 was taken for another
            return self.with_two_for_one() or self.with_constant_ones()
        if not self.strict and CONFLICTS in str(error) and (kept := self.with_dynamic_conversions) is not None:
            return kept
        if not self.strict and _WANTS_NUMBER.search(str(error)):
            return self.with_conversions_of_tensors()
        if not self.strict and self.shapes and not is_about_shapes(error) and not any(word in str(error) for word in (CONFLICTS, "data-dependent")):
            with contextlib.suppress(Exception):  # what is refused may be another size than the example's, which is 1
                return self.with_constant_ones()
        return None

    def again(self, helped: Help, **changed: bool) -> Helped:
        """What is captured with another setting, and with what helps then."""
        made, more = dataclasses.replace(self, seen=Seen([], []), conversions=[], **changed).captured()  # type: ignore[arg-type]
        return made, (helped, *more)

    def unfrozen(self, exported: ExportedProgram) -> Helped | None:
        """A capture that keeps the sizes dynamic which this one made numbers of; None if there is none."""
        if self.seen.vmaps and (general := self.with_single_calls()) is not None:
            return general
        if (general := self.with_two_for_one()) is not None:
            return general
        if self.remedies.two_is_one and (more := with_more_rows(exported, self.args, self.kwargs)) is not None:
            if (of_more := self.with_example(more)) is not None:
                return of_more, (Help.MORE_ROWS,)
        return self.with_dynamic_conversions

    def holding_for_the_example(self, exported: ExportedProgram) -> Helped:
        """The capture, or another one where it does not hold for the example, or not for larger ones."""
        if not self.shapes or holds_for(exported, self.args, self.kwargs):
            special = self.larger is not None and not holds_for(exported, *self.larger)
            return (self.with_two_for_one() if special else None) or (exported, ())
        return self.with_two_for_one() or self.with_constant_ones()

    def once(self, oblivious: bool, example: tuple[tuple[Any, ...], dict[str, Any]] | None = None) -> ExportedProgram:
        """One capture, of the user's example or another; `oblivious`: sizes of 0 and 1 may stay dynamic."""
        args, kwargs = example or (self.args, self.kwargs)
        with (
            contextlib.nullcontext(Seen([], [])) if self.strict else replacements(self.model, self.conversions) as self.seen,
            torch.fx.experimental._config.patch(backed_size_oblivious=oblivious),
            torch.backends.opt_einsum.flags(enabled=False),  # its orders are of the example's sizes
            inputs_apart(self.model) if self.apart else contextlib.nullcontext(),
        ):
            return self.export(self.model, args, kwargs, dynamic_shapes=self.shapes, strict=self.strict)

    @functools.cached_property
    def larger(self) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
        """The example with 2 for sizes of 1, where that may be captured instead."""
        if self.strict or not self.shapes or not self.remedies.two_is_one:
            return None
        return two_for_one(self.model, self.args, self.kwargs, self.shapes)

    def with_example(self, other: tuple[tuple[Any, ...], dict[str, Any]]) -> ExportedProgram | None:
        """The capture of another example; None if it fails, or makes a dynamic size a number."""
        with contextlib.suppress(Exception):
            exported = self.once(True, other)
            if not frozen(exported):
                exported.example_inputs = self.args, self.kwargs
                return exported
        return None

    def with_two_for_one(self) -> Helped | None:
        """The capture of the example with 2 for sizes of 1."""
        exported = None if self.larger is None else self.with_example(self.larger)
        return None if exported is None else (exported, (Help.TWO_FOR_ONE,))

    def with_constant_ones(self) -> Helped:
        """The capture in which sizes of 0 and 1 are constants, as torch.export has it by default."""
        return self.once(oblivious=False), (Help.CONSTANT_ONES,)

    @functools.cached_property
    def with_dynamic_conversions(self) -> Helped | None:
        """The capture in which ``int`` and ``float`` of sizes stay dynamic; None if the model makes no number of a size, or if it fails."""
        if not self.conversions and not self.remedies.conversions_first:
            return None
        with contextlib.suppress(Exception), dynamic_conversions():
            exported = self.once(oblivious=True)
            if holds_for(exported, self.args, self.kwargs) and not frozen(exported):
                return exported, (Help.DYNAMIC_CONVERSIONS,)
            return self.with_two_for_one()
        return None

    def with_conversions_of_tensors(self) -> Helped | None:
        """The capture in which ``int`` and ``float`` of tensors' elements stay dynamic, too.

        Raises:
            Exception: It fails at another question about data, behind the one that stopped the capture before.
        """
        try:
            with dynamic_conversions():
                return self.with_two_for_one() or (self.once(oblivious=True), (Help.DYNAMIC_CONVERSIONS_OF_TENSORS,))
        except Exception as later:
            if "data-dependent" in str(later):  # it came further, and says what is in the way there
                raise later from None
        return None

    def with_single_calls(self) -> Helped | None:
        """The capture in which the functions of ``torch.vmap`` are called for each example by itself."""
        with contextlib.suppress(Exception), called_one_by_one():
            exported = self.once(oblivious=True)
            return None if frozen(exported) or not holds_for(exported, self.args, self.kwargs) else (exported, (Help.ONE_BY_ONE,))
        return None


def is_about_shapes(error: Exception | None) -> bool:
    """Whether torch refused a capture because the model fixes a dimension."""
    return isinstance(error, (torch._dynamo.exc.UserError, ValueError)) and "onstraint" in str(error)
