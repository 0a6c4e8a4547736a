"""Objects that hold tensors, among a model's arguments and results, made known to PyTorch's pytrees.

torch.export takes and returns trees of tensors. It refuses an instance of a
class that nobody registered: a decoder's cache, a dataclass of results.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from ..errors import CaptureError, warn
from ..pytrees import is_leaf

__all__ = ["caches_as_they_are", "known_results", "register_containers", "warn_of_windows"]

_Context = tuple[Sequence[Any], Mapping[str, Any]]
"""The keys of the children, and the attributes that hold no tensors."""

_NOT_CONTAINERS = {"torch", "numpy", "sympy", "builtins", *sys.stdlib_module_names} - {"__main__"}
"""Libraries whose objects hold no tensors of a model, or are tensors."""


def _inside(value: Any) -> Mapping[Any, Any]:
    """What an object of an unknown class holds, by key or by attribute's name."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, (list, tuple)):
        return dict(enumerate(value))
    library = type(value).__module__.partition(".")[0]
    if isinstance(value, (torch.nn.Module, type)) or library in _NOT_CONTAINERS:
        return {}
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if hasattr(value, field.name)}
    return dict(getattr(value, "__dict__", {}))


def _children(value: Any) -> Iterable[Any]:
    if is_leaf(value):
        return _inside(value).values()
    return _pytree.SUPPORTED_NODES[_pytree._get_node_type(value)].flatten_fn(value)[0]


def _holds_tensors(value: Any) -> bool:
    pending, seen = [value], {}
    while pending:
        each = pending.pop()
        if isinstance(each, torch.Tensor):
            return True
        if id(each) not in seen:
            seen[id(each)] = each
            pending += _children(each)
    return False


def _flatten(value: Any) -> tuple[list[Any], _Context]:
    inside = _inside(value)
    held = {key: child for key, child in inside.items() if _holds_tensors(child)}
    rest = {key: child for key, child in inside.items() if key not in held}
    return list(held.values()), (tuple(held), rest)


def _flatten_with_keys(value: Any) -> tuple[list[tuple[Any, Any]], _Context]:
    children, context = _flatten(value)
    key_of: Callable[[Any], Any] = _pytree.MappingKey if isinstance(value, Mapping) else _pytree.GetAttrKey
    return [(key_of(key), child) for key, child in zip(context[0], children)], context


def _unflatten(cls: type, children: Sequence[Any], context: _Context) -> Any:
    keys, rest = context
    inside = {**rest, **dict(zip(keys, children))}
    if issubclass(cls, Mapping):
        return cls(inside)
    if issubclass(cls, (list, tuple)):
        return cls(inside[position] for position in sorted(inside))
    value = cls.__new__(cls)
    for name, child in inside.items():
        object.__setattr__(value, name, child)
    return value


def _to_json(context: _Context) -> Any:
    keys, rest = context
    return [list(keys), {key: child for key, child in rest.items() if isinstance(child, (str, bool, int, float, type(None)))}]


def _by_transformers(value: Any) -> None:
    library = importlib.import_module("transformers.integrations.executorch")
    library._get_cache_dict(value)  # raises if it has layers that the library does not write as lists
    library.register_dynamic_cache_export_support()


_CHANGED: list[dict[type, tuple[Any, Any]]] = []
"""What contexts that are open put into the registry: by class, what was there, and what is there now."""


@contextlib.contextmanager
def caches_as_they_are() -> Iterator[None]:
    """While it is open, caches are built by :func:`_cache_of` where it is their library that registered them, whoever asked it to."""
    changed: dict[type, tuple[Any, Any]] = {}
    _CHANGED.append(changed)
    for cls in list(_pytree.SUPPORTED_NODES):
        _build_as_they_are(cls)
    try:
        yield
    finally:
        _CHANGED.pop()
        for cls, (before, ours) in changed.items():
            if _pytree.SUPPORTED_NODES.get(cls) is ours:
                _pytree.SUPPORTED_NODES[cls] = before


def _build_as_they_are(cls: type) -> None:
    node = _pytree.SUPPORTED_NODES.get(cls)
    if not _CHANGED or node is None or _name(cls) not in _BY_THEIR_LIBRARY:
        return
    if getattr(node.unflatten_fn, "__name__", "") == "_unflatten_dynamic_cache":
        ours = node._replace(unflatten_fn=functools.partial(_cache_of, node.unflatten_fn))
        _pytree.SUPPORTED_NODES[cls] = ours
        _CHANGED[-1][cls] = node, ours


def _cache_of(library: Callable[..., Any], values: Sequence[Any], context: Any) -> Any:
    """A cache of these tensors as they are: the library cuts them down to the layers' windows, which leaves no size of an input a symbol."""
    names = context[0] if context and isinstance(context[0], list) else context  # some versions add the windows
    lists = dict(zip(names, values))
    keys, values_of = lists.get("key_cache", ()), lists.get("value_cache", ())
    cache = library([[] for _ in values], context)
    if not keys or len(cache.layers) < len(keys) or not all(isinstance(key, torch.Tensor) for key in keys):
        return library(values, context)
    for layer, key, value in zip(cache.layers, keys, values_of):
        layer.keys, layer.values, layer.dtype, layer.device, layer.is_initialized = key, value, key.dtype, key.device, True
        if hasattr(layer, "cumulative_length"):
            layer.cumulative_length = key.shape[-2]
    return cache


_BY_THEIR_LIBRARY: Mapping[str, Callable[[Any], None]] = {
    "transformers.cache_utils.DynamicCache": _by_transformers,
}
"""What registers a class whose library has a layout for it that users may know."""


def _name(cls: type) -> str:
    return f"{cls.__module__}.{cls.__qualname__}"


def _is_of_library(value: Any) -> bool:
    return _name(type(value)) in _BY_THEIR_LIBRARY


def _windows(cache: Any) -> Iterator[tuple[int, int, int]]:
    """Of each layer that keeps a window: which it is, how many tokens it has seen, and how many it holds.

    How many it has seen is a number of the cache's, which is not among its tensors: models count what a layer holds.
    """
    for i, layer in enumerate(cache.layers if _is_of_library(cache) else ()):
        seen, keys = getattr(layer, "cumulative_length", None), getattr(layer, "keys", None)
        if isinstance(seen, int) and isinstance(keys, torch.Tensor) and keys.ndim > 1:
            yield i, seen, keys.shape[-2]


def _refuse_slid(cache: Any) -> None:
    for i, seen, held in _windows(cache):
        if seen != held:
            raise CaptureError(
                f"layer {i} of the cache has seen {seen} tokens and holds {held}, and the model counts those that it holds: "
                "give a cache whose windows hold all that they have seen"
            )


def _register(value: Any) -> None:
    cls = type(value)
    name = _name(cls)
    if name in _BY_THEIR_LIBRARY:
        with contextlib.suppress(ImportError, AttributeError, RuntimeError):
            _BY_THEIR_LIBRARY[name](value)
            _build_as_they_are(cls)
    if is_leaf(value):
        _pytree.register_pytree_node(
            cls,
            _flatten,
            lambda children, context: _unflatten(cls, list(children), context),
            serialized_type_name=name,
            to_dumpable_context=_to_json,
            from_dumpable_context=lambda context: (tuple(context[0]), context[1]),
            flatten_with_keys_fn=_flatten_with_keys,
        )


def register_containers(*values: Any, given: bool = False) -> None:
    """Make the classes in these trees known that hold tensors and that no one has registered.

    Args:
        given: Whether these are a model's arguments, of which the program gets the tensors alone.

    Raises:
        CaptureError: An argument says more than its tensors do.
    """
    pending, seen = list(values), {}
    while pending:
        value = pending.pop()
        if isinstance(value, torch.Tensor) or id(value) in seen:
            continue
        seen[id(value)] = value
        theirs = _is_of_library(value)
        if given and theirs:
            _refuse_slid(value)
        if is_leaf(value) and _holds_tensors(value):
            _register(value)
        if not is_leaf(value):
            pending += _children(value)


def warn_of_windows(*values: Any) -> None:
    """Warns where a cache among a model's arguments will forget tokens, and how many there were."""
    pending = list(values)
    while pending:
        value = pending.pop()
        if layers := [str(i) for i, _, _ in _windows(value)]:
            which = f"layer {layers[0]} of the cache keeps" if len(layers) == 1 else f"layers {', '.join(layers)} of the cache keep"
            warn(
                f"{which} a window of the tokens, and the model takes those that it holds for all that were seen: "
                "masks and positions are right only until the window is full"
            )
        elif not isinstance(value, torch.Tensor) and not is_leaf(value):
            pending += _children(value)


@contextlib.contextmanager
def known_results(model: torch.nn.Module) -> Iterator[None]:
    """While it is open, what the model returns is known."""

    def register(module: torch.nn.Module, args: Any, result: Any) -> None:
        register_containers(result)

    hook = model.register_forward_hook(register)
    try:
        yield
    finally:
        hook.remove()
