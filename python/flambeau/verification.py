"""Compares a converted model with the PyTorch program that it came from."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree

from .errors import VerificationError
from .program import ONNXProgram

__all__ = ["verify"]

# Rounding of a few operators more or less; (relative, absolute).
_TOLERANCE = {torch.float64: (1e-7, 1e-7), torch.float16: (1e-2, 1e-2), torch.bfloat16: (5e-2, 5e-2)}
_FLOAT32_TOLERANCE = (1e-4, 1e-4)


def verify(program: ONNXProgram, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> None:
    """Run both models on the same inputs.

    Args:
        program: A program that was made from a live module or an ExportedProgram.
        args: Example positional arguments; the captured ones if there are none.
        kwargs: Example keyword arguments.

    Raises:
        VerificationError: An output has another shape or other numbers, or there
            are no example inputs.
    """
    exported = program.exported_program
    if exported is None:
        raise VerificationError("only a live module or an ExportedProgram can be verified; this is an archive")
    if not args and not kwargs:
        if exported.example_inputs is None:
            raise VerificationError("the ExportedProgram holds no example inputs; pass args")
        args, kwargs = exported.example_inputs
    kwargs = kwargs or {}
    # The program may write to its inputs; both must see the same values.
    actual = program(*args, **kwargs)
    with torch.no_grad():
        results = exported.module()(*_pytree.tree_map(_copy, args), **_pytree.tree_map(_copy, kwargs))
    expected = [torch.as_tensor(leaf) for leaf in _pytree.tree_leaves(results) if leaf is not None]
    if len(actual) < len(expected):
        raise VerificationError(f"the model has {len(actual)} outputs; PyTorch's has {len(expected)}")
    for index, (ours, theirs) in enumerate(zip(actual, expected)):
        theirs = theirs.detach().cpu()
        relative, absolute = _TOLERANCE.get(theirs.dtype, _FLOAT32_TOLERANCE)
        try:
            torch.testing.assert_close(ours, theirs, rtol=relative, atol=absolute, equal_nan=True)
        except AssertionError as error:
            raise VerificationError(f"output {index} differs from PyTorch's: {error}") from error


def _copy(value: Any) -> Any:
    return value.clone() if isinstance(value, torch.Tensor) else value
