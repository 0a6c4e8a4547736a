"""Functions of Python modules, and attributes of others: others in their place."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
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
def replaced_functions(replacements: Mapping[tuple[str, str], Callable[..., Any]], but_in: Collection[str] = ()) -> Iterator[None]:
    """While it is open, the functions are replaced in each module that has them, by whatever name.

    Args:
        replacements: By module and name; modules that nobody imported are left out.
        but_in: Packages that keep the functions as they are.
    """
    standing = {id(vars(sys.modules[owner])[name]): replacement for (owner, name), replacement in replacements.items() if owner in sys.modules}
    unchanged = {__name__.partition(".")[0], *but_in}  # what stands in for a function may call it
    with Replacements() as replaced:
        for module in list(sys.modules.values()):
            held = getattr(module, "__dict__", {})
            if standing.keys().isdisjoint(map(id, list(held.values()))) or module.__name__.partition(".")[0] in unchanged:
                continue
            for name, value in list(held.items()):
                if id(value) in standing:
                    replaced.set(module, name, standing[id(value)])
        yield
