"""Functions of autograd in a trace."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch.autograd.function import Function, _SingleLevelFunction

from ..replaced_functions import Replacements
from .untraced import untraced

__all__ = ["KeepsFunction", "recorded_functions", "traced_alone"]

KeepsFunction = Callable[[Any], bool]
"""Whether that function of autograd is one operator of the trace."""


# Below Function's own `apply`, of which models may hold the bound method. From torch 2.14 on that is written in C and calls nothing:
# what holds it is recorded by torch's tracer, and put in order as that of torch.jit.trace.
_CALLED = _SingleLevelFunction if isinstance(vars(Function)["apply"], classmethod) else Function


@contextlib.contextmanager
def recorded_functions(keeps: KeepsFunction) -> Iterator[None]:
    """While it is open, a trace has what the others compute in their place.

    torch's tracer puts an operator there, with a graph, and has the graph's nodes once more behind it. The graph's results
    are in the order in which they were made, which need not be the one in which they are returned; arguments are none.
    """

    def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
        own = super(_SingleLevelFunction, cls).apply
        state = torch._C._get_tracing_state()
        if state is None or keeps(cls):
            return own(*args, **kwargs)
        forward, returned = cls.forward, ()

        @functools.wraps(forward)
        def traced(*given: Any, **named: Any) -> Any:
            replaced.close()  # torch has looked it up, and the function may call itself
            torch._C._set_tracing_state(state)
            try:
                results = forward(*given, **named)
            finally:
                torch._C._set_tracing_state(None)
            nonlocal returned
            returned = results if isinstance(results, tuple) else (results,)
            return results

        with untraced(), Replacements() as replaced:
            replaced.set(cls, "forward", staticmethod(traced))
            results = own(*args, **kwargs)
        several = isinstance(results, tuple)
        # An argument that is returned is a view of itself, which torch made beside the trace.
        seen = tuple(
            inner.view_as(inner) if isinstance(inner, torch.Tensor) and inner is not outer else outer
            for inner, outer in zip(returned, results if several else (results,), strict=True)
        )
        return seen if several else seen[0]

    with Replacements() as replacements:
        replacements.set(_CALLED, "apply", classmethod(apply))
        yield


def traced_alone(function: Any, arguments: Sequence[Any]) -> Any:
    """The graph of one call of a function, whose output is a tuple of the tensors that it returns; None if it does not run so."""
    tensors = [each for each in arguments if isinstance(each, torch.Tensor)]

    def called(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        rest = iter(given)
        results = function.apply(*(next(rest) if isinstance(each, torch.Tensor) else each for each in arguments))
        return tuple(each for each in (results if isinstance(results, tuple) else (results,)) if isinstance(each, torch.Tensor))

    try:
        with warnings.catch_warnings(), torch.random.fork_rng(devices=[]), torch.no_grad(), recorded_functions(lambda each: each is not function):
            warnings.simplefilter("ignore")  # the trace that has the call brought the same ones
            warnings.filterwarnings("error", "Converting a tensor", torch.jit.TracerWarning)  # other numbers may take another path
            return torch.jit.trace(called, tuple(tensors), check_trace=False).graph
    except Exception:  # of a function that asks for more of its arguments than their dtypes and sizes
        return None
