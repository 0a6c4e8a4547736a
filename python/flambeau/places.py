"""Where else than in attributes and containers Python keeps what a model remembers: closures, slots, classes, global names and memos."""

from __future__ import annotations

import dis
import functools
import os
import sys
import sysconfig
import types
from collections.abc import Iterable, Iterator
from typing import Any

import torch

__all__ = ["MEMO", "ClassAttributes", "Names", "Slots", "assigned_names", "classes_of", "is_of_user", "left_in_memos", "memos_of", "values_beside"]

MEMO = type(functools.cache(len))
"""What ``functools.cache`` and ``lru_cache`` make of a function."""

_LIBRARIES = tuple(
    {os.path.realpath(path) + os.sep for path in map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))}
    | {os.path.dirname(path) + os.sep for path in (torch.__file__, os.path.abspath(__file__))}
)
"""Where code is from that many share."""
_WITHOUT_STATE = {"torch", "numpy", *sys.stdlib_module_names} - {"__main__"}
_UNSET = object()


@functools.lru_cache(maxsize=1024)
def _is_of_library(filename: str) -> bool:
    return filename.startswith("<frozen") or os.path.realpath(filename).startswith(_LIBRARIES)


def is_of_user(value: Any) -> bool:
    """Whether a class or function is from no library: what a library's hold, all share, and there may be much of it."""
    if isinstance(value, types.FunctionType):
        return not _is_of_library(value.__code__.co_filename)
    module = sys.modules.get(value.__module__)
    filename = getattr(module, "__file__", None)
    return module is not None and value.__module__ != "builtins" and (filename is None or not _is_of_library(filename))


def classes_of(value: Any) -> tuple[list[type], list[types.ModuleType]]:
    """Those of an object that are a user's, and the files of those from libraries; PyTorch's and Python's hold nothing of models."""
    users, files = [], []
    for each in type(value).__mro__:
        if each.__module__.partition(".")[0] in _WITHOUT_STATE:
            continue
        if is_of_user(each):
            users.append(each)
        elif each.__module__ in sys.modules:
            files.append(sys.modules[each.__module__])
    return users, files


class Slots:
    """Those that the users' classes of an object have."""

    def __init__(self, value: Any, classes: list[type]) -> None:
        self._value = value
        self._members = [each for one in classes for each in vars(one).values() if isinstance(each, types.MemberDescriptorType)]

    def elements(self) -> list[Any]:
        return [self._of(member) for member in self._members]

    def put(self, elements: list[Any]) -> None:
        for member, element in zip(self._members, elements):
            if element is not self._of(member):
                member.__delete__(self._value) if element is _UNSET else member.__set__(self._value, element)

    def _of(self, member: Any) -> Any:
        try:
            return member.__get__(self._value)
        except AttributeError:
            return _UNSET


class ClassAttributes:
    """Those of one class, but for what Python keeps there itself."""

    def __init__(self, of: type) -> None:
        self._of = of

    def elements(self) -> list[Any]:
        return [each for item in vars(self._of).items() if not item[0].startswith("__") for each in item]

    def put(self, elements: list[Any]) -> None:
        before, now = dict(zip(elements[::2], elements[1::2])), dict(vars(self._of))
        for name, value in before.items():
            if now.get(name, _UNSET) is not value:
                setattr(self._of, name, value)
        for name in now.keys() - before.keys():
            if not name.startswith("__"):
                delattr(self._of, name)


class Names:
    """Those of a file that a function assigns."""

    def __init__(self, namespace: dict[str, Any], names: Iterable[str]) -> None:
        self._namespace, self._names = namespace, tuple(names)

    def elements(self) -> list[Any]:
        return [self._namespace.get(name, _UNSET) for name in self._names]

    def put(self, elements: list[Any]) -> None:
        for name, value in zip(self._names, elements):
            if value is _UNSET:
                self._namespace.pop(name, None)
            else:
                self._namespace[name] = value


_READS, _WRITES = ("LOAD_GLOBAL", "LOAD_NAME"), ("STORE_GLOBAL", "DELETE_GLOBAL")
_READS_OF, _WRITES_OF = ("LOAD_ATTR", "LOAD_METHOD"), ("STORE_ATTR", "DELETE_ATTR")


@functools.lru_cache(maxsize=4096)
def _names_in(code: types.CodeType) -> tuple[dict[str, None], ...]:
    """The global names that a function reads, and those that it assigns; and the same of attributes. Also those of functions within."""
    found: tuple[dict[str, None], ...] = {}, {}, {}, {}
    for each in dis.get_instructions(code):
        for names, operations in zip(found, (_READS, _WRITES, _READS_OF, _WRITES_OF)):
            if each.opname in operations:
                names[each.argval] = None
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            for own, inner in zip(found, _names_in(constant)):
                own.update(inner)
    return found


def _files_of(function: types.FunctionType) -> list[dict[str, Any]]:
    """What is in the users' files that a function knows by a global name."""
    files = (function.__globals__.get(name) for name in _names_in(function.__code__)[0])
    return [vars(each) for each in files if isinstance(each, types.ModuleType) and not _is_of_library(getattr(each, "__file__", None) or "<frozen>")]


def assigned_names(function: types.FunctionType) -> list[Names]:
    """The global names that a user's function assigns, and the names in other files."""
    _, written, _, written_of = _names_in(function.__code__)
    others = [Names(file, names) for file in _files_of(function) if (names := written_of.keys() & file.keys())]
    return [Names(function.__globals__, written), *others] if written else others


def values_beside(function: types.FunctionType) -> Iterator[Any]:
    """What a user's function can reach: its closure, defaults and attributes, and what it knows by names of its file and of others."""
    yield from function.__closure__ or ()
    yield from (function.__defaults__, function.__kwdefaults__, function.__dict__)
    read, _, read_of, _ = _names_in(function.__code__)
    for namespace, names in [(function.__globals__, read), *((file, read_of) for file in _files_of(function))]:
        for name in names:
            value = namespace.get(name)
            if not isinstance(value, types.ModuleType):
                yield value


def memos_of(file: types.ModuleType) -> list[Any]:
    """What a library remembers of calls; of what else its code can reach there is too much to look through."""
    return [each for each in list(vars(file).values()) if type(each) is MEMO]


def left_in_memos(memo: Any, misses: int) -> None:
    """Have a memo forget, if it was given results since it had missed so many calls: there is no way to tell it which."""
    if memo.cache_info().misses != misses:
        memo.cache_clear()
