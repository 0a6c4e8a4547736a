"""Python loops over a dynamic dimension stay loops in a capture: torch.export would unroll them.

``rewriting`` makes of such a loop, in the function's source, a function of one round
(``counted`` of one that counts by hand, ``attributes`` of one that changes attributes, ``last_items``
of one that reads what a list ends with; ``names`` are what they ask of statements);
``runtime`` is what the source calls then. ``rounds`` are the iterables whose number of rounds
is a symbol, and the lists that such a loop fills, ``places`` those that are as long before, ``alike`` those whose
items are all the same, ``tuples`` those of tuples (``layouts`` tells what the place of a round gives of one);
``rows`` are those of tensors into which rounds write;
``pieces`` are those of a tensor that data cuts; ``gathering`` is what a round fills lists with; ``scanning`` runs the rounds as torch's
``scan``, with ``modes`` between the rounds and torch. ``associative`` does so with the rows of
``associative_scan``.
"""

from __future__ import annotations

import builtins
import contextlib
import gc
import types
from collections.abc import Callable, Iterator, Mapping, Set

import torch
from torch._higher_order_ops.utils import first_slice_copy

from ..questions.decisions import Place
from ..replaced_functions import replaced_functions
from .associative import sequential_scans
from .pieces import loops_are_kept, uncounted_numbers
from .rewriting import RUNTIME, codes_within, rewritten
from .rounds import LoopsAsScans, pad_sequence
from .runtime import Runtime
from .scanning import Unkept

__all__ = ["Unkept", "kept_loops", "sequential_scans", "uncounted_numbers"]


def _row(first: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """torch's function for the type of a scan's rows, which reads the first: of as many as data decides there may be none."""

    def call(tensor: torch.Tensor, dim: int = 0) -> torch.Tensor:
        count = tensor.shape[dim]
        if not isinstance(count, torch.SymInt) or count.node.hint is not None:
            return first(tensor, dim)
        return tensor.new_empty([size for axis, size in enumerate(tensor.shape) if axis != dim % tensor.ndim])

    return call


@contextlib.contextmanager
def kept_loops(loops: Set[Place]) -> Iterator[Mapping[types.CodeType, types.CodeType]]:
    """While it is open, these loops are scans where the number of rounds is dynamic, if they can be.

    Gives for code that runs meanwhile the code in whose place it is.
    """
    if not loops:
        yield {}
        return
    codes = {
        code: new
        for code in {code for code, _ in loops}
        if (new := rewritten(code, {line for each, line in loops if each is code})) is not None
    }
    functions = [
        each
        for code in codes
        for each in gc.get_referrers(code)
        if isinstance(each, types.FunctionType) and each.__code__ is code
    ]
    before = [(function, function.__code__) for function in functions]
    setattr(builtins, RUNTIME, Runtime())
    try:
        for function, code in before:
            function.__code__ = codes[code]
        functions_of_loops = {
            ("torch.nn.utils.rnn", "pad_sequence"): pad_sequence(torch.nn.utils.rnn.pad_sequence),
            ("torch._higher_order_ops.utils", "first_slice_copy"): _row(first_slice_copy),
        }
        with LoopsAsScans(), loops_are_kept(), replaced_functions(functions_of_loops):
            yield {within: code for code, new in codes.items() for within in codes_within(new)}
    finally:
        for function, code in before:
            function.__code__ = code
        delattr(builtins, RUNTIME)
