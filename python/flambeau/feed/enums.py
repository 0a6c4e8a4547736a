"""Members of enums, and their classes as TorchScript names them: by module and name."""

from __future__ import annotations

import enum
import re
from typing import Any

import torch

from .. import _engine

__all__ = ["class_name", "member"]

_WRITTEN = re.compile(r"Enum<([^<>]*)>")


def class_name(type_: str) -> str:
    """Text of a type, without what torch writes around the names of enums in some places."""
    return _WRITTEN.sub(r"\1", type_)


def member(value: enum.Enum, held: Any) -> _engine.ScriptEnum:
    """The constant of a member.

    Args:
        held: Its value, as the engine takes it.
    """
    return _engine.ScriptEnum(torch._jit_internal._qualified_name(type(value)), value.name, held)
