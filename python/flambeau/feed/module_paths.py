"""The modules around a node of an inlined graph, as torch writes them beside it."""

from __future__ import annotations

import re

import torch

__all__ = ["full_paths", "module_steps"]

_HIERARCHY = re.compile(r"(?P<path>[\w.]+)\((?P<type>[\w.]+)\)")
# What torch calls the class of a function that was inlined, and the path of a method that another of the same module calls.
_FUNCTION, _SELF = "UNKNOWN_TYPE", "SELF"


def module_steps(hierarchy: str) -> list[tuple[str, str]]:
    """(name in its parent, class) of each module in the hierarchy of a node of an inlined graph, outermost first: "layers(Sequential).0(Linear)"."""
    frames = _HIERARCHY.finditer(hierarchy)
    steps = [(frame["path"].lstrip("."), frame["type"]) for frame in frames]
    return [(name, class_name) for name, class_name in steps if class_name != _FUNCTION and name != _SELF]


def full_paths(module: torch.nn.Module | None) -> dict[str, str]:
    """Paths of modules by what a graph's steps make of them: these leave out ModuleLists, which nobody calls. Ambiguous ones are missing."""
    found: dict[str, str] = {}
    ambiguous, uncalled = set(), set()
    for path, each in module.named_modules(remove_duplicate=False) if module is not None else ():
        if getattr(each, "original_name", type(each).__name__) in ("ModuleList", "ModuleDict"):
            uncalled.add(path)
        steps = path.split(".")
        short = ".".join(step for i, step in enumerate(steps, 1) if ".".join(steps[:i]) not in uncalled)
        if path not in uncalled and found.setdefault(short, path) != path:
            ambiguous.add(short)
    return {short: path for short, path in found.items() if short not in ambiguous}
