"""What a model holds in its attributes: also in lists and dicts, and in objects of its own."""

from __future__ import annotations

import collections
import dataclasses
import functools
import sys
import types
from collections.abc import Container, Iterable
from typing import Any

import torch

from .places import MEMO, ClassAttributes, Names, Slots, assigned_names, classes_of, is_of_user, memos_of, values_beside

__all__ = ["Held", "are_same", "elements_of", "held_by", "held_by_object", "put_elements"]

_MOST_OBJECTS = 1 << 16
"""That are looked through; what holds more is no part of a model."""
_MOST_CODE = 2000
"""Functions and classes that are looked through, those nearest to the model first; a large library may be a user's, too."""
_NAMESPACES = ("argparse", "types", "collections", "weakref")
"""Of Python's library, where objects of models may be from."""
_KINDS: tuple[Any, ...] = (collections.OrderedDict, collections.deque, dict, list, set)
"""Of containers, those in front that are of one behind and do more."""
_OF_MODULES = frozenset(vars(torch.nn.Module()))
"""Attributes that torch's class has: also the tables of buffers, weights, modules and hooks."""
_PLACES = (Slots, ClassAttributes, Names)
_PLAIN = (bool, int, float, str, bytes, type(None))
"""Types of what most attributes are, and which holds nothing."""


def _contents(cell: types.CellType) -> list[Any]:
    try:
        return [cell.cell_contents]
    except ValueError:  # of a name that nothing has been assigned to
        return []


def _kind(container: Any) -> Any:
    own = type(container)
    return own if own in _KINDS else next(kind for kind in _KINDS if isinstance(container, kind))


def elements_of(container: Any) -> list[Any]:
    """What a container or another place holds: of a dict its keys, then its values."""
    if isinstance(container, types.CellType):
        return _contents(container)
    if isinstance(container, _PLACES):
        return container.elements()
    kind = _kind(container)
    return [*kind.keys(container), *kind.values(container)] if isinstance(container, dict) else list(kind.__iter__(container))


def _members(value: tuple[Any, ...] | frozenset[Any]) -> Iterable[Any]:
    """Also of a class that refuses to tell its length, or tells others."""
    return tuple.__iter__(value) if isinstance(value, tuple) else frozenset.__iter__(value)


def put_elements(container: Any, elements: list[Any]) -> None:
    """Have the container or place hold these. A class of its own, which may count what is put into it, is not told."""
    if isinstance(container, types.CellType):
        if elements:
            container.cell_contents = elements[0]
        else:
            del container.cell_contents
        return
    if isinstance(container, _PLACES):
        container.put(elements)
        return
    kind = _kind(container)
    kind.clear(container)
    if isinstance(container, dict):
        for key, value in zip(elements[: len(elements) // 2], elements[len(elements) // 2 :]):
            kind.__setitem__(container, key, value)
    else:
        (kind.update if kind is set else kind.extend)(container, elements)


def are_same(elements: list[Any], others: list[Any]) -> bool:
    """Whether they are, not only equal ones."""
    return len(elements) == len(others) and all(one is other for one, other in zip(elements, others))


def _attributes_of(value: Any) -> dict[str, Any] | None:
    """Of an object that may be part of a model: no tensor or type, nor one of Python's library, which all share."""
    of = type(value).__module__.partition(".")[0]
    if isinstance(value, (torch.Tensor, type)) or (of in sys.stdlib_module_names and of not in _NAMESPACES):
        return None
    try:
        held = object.__getattribute__(value, "__dict__")
    except Exception:  # it has none, or its class says so in its own way
        return None
    return held if type(held) is dict else None


@dataclasses.dataclass
class Held:
    """What was found."""

    attributes: list[tuple[dict[str, Any], list[Any]]] = dataclasses.field(default_factory=list)
    """Of modules and objects, by name; and the names and values."""
    containers: list[tuple[Any, list[Any]]] = dataclasses.field(default_factory=list)
    """Lists, dicts and other places, and what each holds."""
    tensors: list[torch.Tensor] = dataclasses.field(default_factory=list)
    """Also the weights."""
    arrays: list[Any] = dataclasses.field(default_factory=list)
    """NumPy's, that have memory of their own which can be written."""
    optimizers: list[torch.optim.Optimizer] = dataclasses.field(default_factory=list)
    generators: list[torch.Generator] = dataclasses.field(default_factory=list)
    """Of random numbers."""
    memos: list[tuple[Any, int]] = dataclasses.field(default_factory=list)
    """Functions that remember their results, and how many calls each had to compute."""
    code: int = 0
    """How many functions and classes were looked through."""

    def changed(self, model: torch.nn.Module) -> list[str]:
        """The attributes of the model's modules, by their paths, that are something else now, or hold something else: other modules,
        too. Not parameters, which torch.export replaces itself."""
        changed = {id(each): before for each, before in (*self.attributes, *self.containers) if not are_same(elements_of(each), before)}
        found = []
        for path, module in model.named_modules():
            own = vars(module)
            known = _before(own, changed)
            names = [name for name in own if name not in _OF_MODULES and (known.get(name, changed) is not own[name] or _reaches(own[name], changed))]
            table = own.get("_modules")
            if isinstance(table, dict):  # not of TorchScript, whose modules stay
                known = _before(table, changed)
                names += [name for name in {**known, **table} if known.get(name, changed) is not table.get(name, changed)]
            found += [f"{path}.{name}".lstrip(".") for name in names]
        return found


def _before(table: dict[str, Any], changed: dict[int, Any]) -> dict[str, Any]:
    """What a table of names held, which may be among those that hold something else now."""
    before = changed.get(id(table))
    return table if before is None else dict(zip(before[: len(before) // 2], before[len(before) // 2 :]))


def _reaches(value: Any, places: Container[int]) -> bool:
    """Whether one of the places is within a value, as an attribute of an object is, other modules aside."""
    left, seen = [value], set[int]()
    while left:
        each = left.pop()
        if type(each) in _PLAIN or id(each) in seen or isinstance(each, (torch.Tensor, torch.nn.Module)):
            continue
        if id(each) in places:
            return True
        seen.add(id(each))
        if isinstance(each, _KINDS):
            left += elements_of(each)
        elif isinstance(each, (tuple, frozenset)):
            left += _members(each)
        elif (attributes := _attributes_of(each)) is not None:
            left.append(attributes)
    return False


def held_by(model: torch.nn.Module, *, remembered: bool = False, but: Iterable[torch.nn.Module] = ()) -> Held:
    """What is held by the modules of a model, those in front that they hold themselves.

    Args:
        remembered: Whether also by what the code of users can reach: closures, classes, global names.
        but: Modules of which nothing is looked up.
    """
    left_out = {id(each) for module in but for each in (module, vars(module))}
    return _held([vars(each) for each in model.modules() if id(each) not in left_out], model.modules() if remembered else (), remembered, left_out)


def held_by_object(value: Any) -> Held:
    """What an object holds that has attributes."""
    return _held([vars(value)], [value])


def _held(places: list[dict[str, Any]], objects: Iterable[Any] = (), remembered: bool = False, left_out: Iterable[int] = ()) -> Held:
    found = Held()
    numpys = getattr(sys.modules.get("numpy"), "ndarray", None)
    own = set(map(id, places))
    left: collections.deque[Any] = collections.deque([*places, *objects])
    most = sum(map(len, places)) + _MOST_OBJECTS
    seen: set[int] = set(left_out)
    while left and len(seen) < most:
        value = left.popleft()
        if type(value) in _PLAIN or id(value) in seen:
            continue
        if isinstance(value, _KINDS):
            (found.attributes if id(value) in own else found.containers).append((value, elements := elements_of(value)))
            left += elements
        elif isinstance(value, (tuple, frozenset)):
            left += _members(value)
        elif isinstance(value, torch.Tensor):
            found.tensors.append(value)
        elif numpys is not None and type(value) is numpys:
            found.arrays += [value] if value.flags.owndata and value.flags.writeable else []
        elif isinstance(value, torch.Generator):
            found.generators.append(value)
        elif remembered and (beside := _beside(found, value)) is not None:
            left += beside
        else:
            if (attributes := _attributes_of(value)) is not None:
                own.add(id(attributes))
                left.append(attributes)
                if isinstance(value, torch.optim.Optimizer):
                    found.optimizers.append(value)
            if remembered:
                left += _of_classes(found, value)
            elif attributes is None:
                continue
        seen.add(id(value))
    return found


def _beside(found: Held, value: Any) -> Iterable[Any] | None:
    """What is reached through code, or a place of its own; None of anything else."""
    if isinstance(value, types.CellType):
        found.containers.append((value, elements := _contents(value)))
        return elements
    if isinstance(value, types.MethodType):
        return value.__func__, value.__self__
    if isinstance(value, functools.partial):
        return value.func, value.args, value.keywords
    if isinstance(value, (staticmethod, classmethod)):
        return (value.__func__,)
    if isinstance(value, property):
        return value.fget, value.fset
    if isinstance(value, functools.cached_property):
        return (value.func,)
    if isinstance(value, MEMO):
        found.memos.append((value, value.cache_info().misses))
        return (value.__wrapped__,)
    if isinstance(value, types.FunctionType):
        if not _is_followed(found, value):
            return ()
        found.containers += [(names, names.elements()) for names in assigned_names(value)]
        return values_beside(value)
    if isinstance(value, types.ModuleType):
        return memos_of(value)
    if isinstance(value, type):
        if not _is_followed(found, value):
            return ()
        found.containers.append((of_class := ClassAttributes(value), elements := of_class.elements()))
        return [*elements, type(value)]
    return None


def _is_followed(found: Held, code: Any) -> bool:
    if found.code >= _MOST_CODE or not is_of_user(code):
        return False
    found.code += 1
    return True


def _of_classes(found: Held, value: Any) -> list[Any]:
    """The classes of an object, those of libraries by their files, and what is in its slots."""
    classes, files = classes_of(value)
    if any(isinstance(each, types.MemberDescriptorType) for one in classes for each in vars(one).values()):
        found.containers.append((slots := Slots(value, classes), elements := slots.elements()))
        return [*classes, *files, *elements]
    return [*classes, *files]
