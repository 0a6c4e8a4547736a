"""What helps torch.export to capture a model: each departs from running the model's Python on the example."""

from __future__ import annotations

import enum
from collections.abc import Sequence

__all__ = ["OTHER_EXAMPLES", "Help", "described"]


class Help(enum.Enum):
    """One of them; its value says it in words, for ``capture_strategy`` and messages."""

    BELOW_AUTOGRAD = "below autograd"
    RUNS_ONLY = "with the model told that it only runs"
    CONSTANTS = "with its constants known"
    LOOPS_KEPT = "with loops kept"
    GENERAL_CASE = "for the general case"
    DYNAMIC_CONVERSIONS = "with int and float of sizes dynamic"
    DYNAMIC_CONVERSIONS_OF_TENSORS = "with int and float of tensors dynamic"
    TWO_FOR_ONE = "with 2 for sizes of 1"
    MORE_ROWS = "with more rows than the example has"
    OTHER_SIZES = "with other sizes than the example has"
    ONE_BY_ONE = "with the functions of torch.vmap called for each example"
    DECIDED_SLICES = "with the ends of slices from where they are in the example"
    CONSTANT_ONES = "with sizes of 0 and 1 as constants"
    REPEATED_SLICES = "with parts that are taken again as large as before"
    INPUTS_APART = "with views of the inputs, which get another shape"


OTHER_EXAMPLES = frozenset({Help.TWO_FOR_ONE, Help.MORE_ROWS})
"""Those that capture another example of which nobody asked whether it is like the user's."""


def described(strategy: str, helps: Sequence[Help]) -> str:
    """The strategy, and what helped it, in words."""
    return ", ".join([strategy, *(each.value for each in helps)])
