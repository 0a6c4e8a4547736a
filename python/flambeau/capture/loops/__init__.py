"""Python loops over a dynamic dimension stay loops in a capture: torch.export would unroll them.

- The source: ``rewriting`` makes of a loop a function of one round, and a call of ``runtime`` in the loop's place. Before, ``counted`` (``while
  i < n``), ``attributes`` (``self.h = …``) and ``last_items`` (``states[-1]``) bring a loop into the form that this takes; ``names`` says
  which names statements read and write.
- What a loop goes over: ``rounds``; ``pieces`` that data cuts, and ``strides`` of one length.
- What a loop fills: ``gathering`` for what it appends, ``tuples`` and ``layouts`` where that is tuples, ``alike`` where it is always the
  same, ``places`` for ``rows[i] = …``, ``rows`` for rows of tensors.
- Running it: ``scanning`` tries one round, and runs all as torch's ``scan``; ``modes`` replaces what a round takes from outside;
  ``same`` compares types whatever the sizes are. ``associative`` does this for ``associative_scan``.
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
