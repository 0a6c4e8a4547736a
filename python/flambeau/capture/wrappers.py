"""What is in the way of a module's own ``forward``: modules that only call another one, torch.compile and checkpoints."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import torch
from torch._guards import TracingContext, tracing
from torch.utils.checkpoint import CheckpointFunction

from .replaced_functions import Replacements

__all__ = ["uncheckpointed", "uncompiled", "unwrapped"]

_INSIDE = {
    "torch._dynamo.eval_frame.OptimizedModule": "_orig_mod",
    "torch.nn.parallel.data_parallel.DataParallel": "module",
    "torch.nn.parallel.distributed.DistributedDataParallel": "module",
    "torch.optim.swa_utils.AveragedModel": "module",
}
"""Where modules of these classes keep the one that they call with their own arguments. By name: some take long to import."""

_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


def unwrapped(model: Any) -> Any:
    """The module that computes, whose ``forward`` has names for the arguments: its wrappers take any.

    A wrapper with hooks of its own stays, and so does one of a class that adds something.
    """
    while (inside := _INSIDE.get(f"{type(model).__module__}.{type(model).__qualname__}")) is not None:
        if any(vars(model).get(hooks) for hooks in _HOOKS):
            break
        model = getattr(model, inside)
    return model


@contextlib.contextmanager
def uncompiled(*, beside_scripts: bool = False) -> Iterator[None]:
    """While it is open, what torch.compile made runs as it was written; torch's tracer refuses it otherwise.

    Args:
        beside_scripts: Whether scripts are called, which torch calls in a wrong way where it is told that it exports; so it is told
            that it runs a kernel.
    """
    if beside_scripts:
        with tracing(TracingContext(types.SimpleNamespace(in_kernel_invocation=True, shape_env=None))):  # type: ignore[arg-type]
            yield
        return
    before = torch.compiler._is_exporting_flag
    torch.compiler._is_exporting_flag = True
    try:
        with tracing(TracingContext(None)):
            yield
    finally:
        torch.compiler._is_exporting_flag = before


@contextlib.contextmanager
def uncheckpointed() -> Iterator[None]:
    """While it is open, checkpoints (of the reentrant kind) only call what they are given; torch's tracer fails in them otherwise."""
    with Replacements() as replacements:
        replacements.set(CheckpointFunction, "apply", staticmethod(lambda function, preserve_rng_state, *args: function(*args)))
        yield
