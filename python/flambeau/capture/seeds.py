"""Whether a model seeds the random numbers that it draws: those of the ONNX model are others."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from .decomposition import operators
from .failures import innermost_line
from .folders import OWN, TORCH
from .replaced_functions import Replacements

__all__ = ["draws", "seeding_lines"]


@contextlib.contextmanager
def seeding_lines() -> Iterator[Mapping[str, None]]:
    """The model's lines that seed a generator while it is open; Flambeau does so itself where it compares."""
    lines: dict[str, None] = {}
    own = torch.Generator.manual_seed

    def seeded(generator: torch.Generator, *args: Any, **kwargs: Any) -> torch.Generator:
        frame = sys._getframe(1)
        while frame.f_back is not None and frame.f_code.co_filename.startswith(TORCH):
            frame = frame.f_back
        if not frame.f_code.co_filename.startswith(OWN):
            lines[innermost_line(traceback.extract_stack(frame))] = None
        return own(generator, *args, **kwargs)

    with Replacements() as replacements:
        replacements.set_of_builtin(torch.Generator, "manual_seed", seeded)
        yield lines


def draws(exported: ExportedProgram) -> bool:
    """Whether a program may draw random numbers."""
    return any(isinstance(each, torch._ops.OpOverload) and torch.Tag.nondeterministic_seeded in each.tags for each in operators(exported))
