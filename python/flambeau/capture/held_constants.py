"""Names of tensors that a model holds in lists, dicts and objects: torch.export numbers them, or writes out how its code reads them."""

from __future__ import annotations

import collections
from collections.abc import Iterator
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind

__all__ = ["held_tensors", "name_held_constants"]

_MOST = 10_000
_PLAIN = (str, bytes, int, float, complex, type(None), torch.dtype, torch.device, type)
_PRIVATE = frozenset(vars(torch.nn.Module()))


def _place(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    try:
        return (tensor.data_ptr(), tensor.dtype, tensor.shape, tensor.stride()) if tensor.numel() else None
    except (NotImplementedError, RuntimeError, ValueError):  # of one that has no such memory
        return None


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        yield from ((str(i), each) for i, each in enumerate(value))
    elif isinstance(value, dict):
        yield from ((str(key), each) for key, each in value.items() if isinstance(key, (str, int)))
    elif isinstance(getattr(value, "__dict__", None), dict):
        yield from vars(value).items()


def held_tensors(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that attributes of modules hold, also in lists, dicts and objects, by their paths: the shortest of each first."""
    left: collections.deque[tuple[str, Any]] = collections.deque()
    for path, module in model.named_modules():
        left += ((f"{path}.{name}".lstrip("."), value) for name, value in vars(module).items() if name not in _PRIVATE)
    seen = set[int]()
    while left and len(seen) < _MOST:
        path, value = left.popleft()
        if isinstance(value, (torch.nn.Module, *_PLAIN)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            yield path, value
        else:
            left += ((f"{path}.{name}", part) for name, part in _parts(value))


def name_held_constants(exported: ExportedProgram, model: torch.nn.Module) -> None:
    """Call those constants of a capture by the paths that lead to them in the model: ``state.memory``, ``parts.0``."""
    specs = [each for each in exported.graph_signature.input_specs if each.kind is InputKind.CONSTANT_TENSOR]
    if not specs:
        return
    paths: dict[Any, str] = {}
    for path, tensor in held_tensors(model):
        paths.setdefault(_place(tensor), path)
    taken = {*exported.state_dict, *exported.constants}
    for spec in specs:
        tensor = exported.constants.get(spec.target)
        place = _place(tensor) if isinstance(tensor, torch.Tensor) else None
        path = paths.get(place) if place is not None else None
        if path is not None and path not in taken:
            exported.constants[path] = exported.constants.pop(spec.target)
            spec.target = path
            taken.add(path)
