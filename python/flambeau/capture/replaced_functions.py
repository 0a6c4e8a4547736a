"""Functions of Python modules, and attributes of others: others in their place."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any, ClassVar

from torch.jit._builtins import _get_builtin_table

__all__ = ["Replacements", "as_called", "replaced_functions"]


_ABSENT = object()


def _put(owner: Any, name: str, value: Any) -> None:
    delattr(owner, name) if value is _ABSENT else setattr(owner, name, value)


class Replacements(contextlib.ExitStack):
    """Attributes that get their old values back when it is closed. To TorchScript, which may be compiled meanwhile, they are what they were."""

    _open: ClassVar[list[Replacements]] = []

    def __init__(self) -> None:
        super().__init__()
        self._changes: list[tuple[Callable[[Any], None], Any, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        before = vars(owner).get(name, _ABSENT)
        self._change(functools.partial(_put, owner, name), before, value)
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

        self._change(put, attributes[name], value)

    def _change(self, put: Callable[[Any], None], before: Any, value: Any) -> None:
        if not self._changes:
            self._open.append(self)
            self.callback(self._open.remove, self)
        self._changes.append((put, before, value))
        self.callback(put, before)
        put(value)

    @classmethod
    @contextlib.contextmanager
    def suspended(cls) -> Iterator[None]:
        """While it is open, every attribute has the value that it had before anything was replaced."""
        changes = [change for each in cls._open for change in each._changes]
        for put, before, _ in reversed(changes):
            put(before)
        try:
            yield
        finally:
            for put, _, value in changes:
                put(value)


def as_called(own: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What the function gives. Where torch's tracer warns of it, that is said of the line that called, two frames away."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        result = own(*args, **kwargs)
    for each in said:
        warnings.warn(each.message, each.category, stacklevel=3)
    return result


_OWN = __name__.partition(".")[0]


def _held(others: Mapping[int, Any], paths: Iterable[str], names: Collection[str] | None) -> Iterator[tuple[Any, str, Any]]:
    """Each module and name, of these or of all, of what has one of these identities, and the other for it."""
    for path in paths:
        module = sys.modules.get(path)
        held = getattr(module, "__dict__", {})
        if names is None and others.keys().isdisjoint(map(id, list(held.values()))):
            continue
        for name in list(held) if names is None else names:
            if id(held.get(name)) in others:
                yield module, name, others[id(held[name])]


@contextlib.contextmanager
def replaced_functions(
    replacements: Mapping[tuple[str, str], Callable[..., Any]], but_in: Collection[str] = (), renamed: bool = False
) -> Iterator[None]:
    """While it is open, the functions are replaced in each module that has them by their names.

    Args:
        replacements: By module and name; modules that nobody imported are left out.
        but_in: Packages, or modules, that keep the functions as they are. So does this one: what stands in for a function may call it.
        renamed: Whether they are by any other name, too (``from math import sqrt as root``).
    """
    originals = {key: vars(sys.modules[key[0]])[key[1]] for key in replacements if key[0] in sys.modules}
    names = None if renamed else {name for _, name in originals}
    before = set(sys.modules)
    try:
        with Replacements() as replaced:
            paths = [path for path in before if {path, path.partition(".")[0]}.isdisjoint({_OWN, *but_in})]
            for module, name, stand_in in _held({id(original): replacements[key] for key, original in originals.items()}, paths, names):
                replaced.set(module, name, stand_in)
            yield
    finally:
        # Modules that were imported meanwhile have what stood in.
        imported = [path for path in sys.modules.keys() - before if path.partition(".")[0] != _OWN]
        for module, name, original in _held({id(replacements[key]): original for key, original in originals.items()}, imported, None):
            setattr(module, name, original)
