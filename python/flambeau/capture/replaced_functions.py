"""Functions of Python modules, and attributes of others: others in their place."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from torch.jit._builtins import _get_builtin_table

__all__ = ["Replacements", "replaced_functions"]


class Replacements(contextlib.ExitStack):
    """Attributes that get their old values back when it is closed. To TorchScript, which may be compiled meanwhile, they are what they were."""

    def set(self, owner: Any, name: str, value: Any) -> None:
        had, before = name in vars(owner), vars(owner).get(name)
        self.callback(setattr, owner, name, before) if had else self.callback(delattr, owner, name)
        setattr(owner, name, value)
        operators = _get_builtin_table()
        if id(before) in operators and id(value) not in operators:
            operators[id(value)] = operators[id(before)]
            self.callback(operators.pop, id(value), None)

    def set_of_builtin(self, owner: type, name: str, value: Any) -> None:
        """Of a type that is written in C, whose attributes Python does not let anybody set."""
        (attributes,) = gc.get_referents(vars(owner))

        def put(value: Any) -> None:
            attributes[name] = value
            ctypes.pythonapi.PyType_Modified(ctypes.py_object(owner))  # forgets where it found the name

        self.callback(put, attributes[name])
        put(value)


@contextlib.contextmanager
def replaced_functions(replacements: Mapping[tuple[str, str], Callable[..., Any]]) -> Iterator[None]:
    """While it is open, the functions are replaced in each module that has them by their names.

    Args:
        replacements: By module and name; modules that nobody imported are left out.
    """
    replaced: list[tuple[Any, str, Any]] = []
    for (owner, name), replacement in replacements.items():
        original = vars(sys.modules[owner])[name] if owner in sys.modules else None
        for module in list(sys.modules.values()) if original is not None else ():
            if getattr(module, "__dict__", {}).get(name) is original:
                replaced.append((module, name, original))
                setattr(module, name, replacement)
    try:
        yield
    finally:
        for module, name, original in replaced:
            setattr(module, name, original)
