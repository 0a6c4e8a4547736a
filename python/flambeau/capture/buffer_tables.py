"""What a run leaves in the tables of buffers of a model's modules."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import torch

__all__ = ["BufferTables", "watched_buffers"]


def _place(tensor: torch.Tensor) -> tuple[Any, ...] | None:
    """Where a tensor lies in which memory: ``x.data = y``, ``x.set_(y)`` and ``x.t_()`` give the same tensor another place."""
    try:
        return tensor.untyped_storage()._cdata, tensor.storage_offset(), tensor.shape, tensor.stride()
    except (NotImplementedError, RuntimeError, ValueError):  # of one that has no such memory
        return None


class BufferTables:
    """The tables as they were when it was made, or last told that a run begins.

    They are looked at themselves: a module that stands twice in a model is another object for either of its names while torch.export runs
    it, and a table may be written to directly.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        named = model.named_modules(remove_duplicate=False)
        # Those of scripts give other objects for their tensors each time.
        self._tables = {path: table for path, module in named if isinstance(table := vars(module).get("_buffers"), dict)}
        self.begin()

    def begin(self) -> None:
        self._before = {path: dict(table) for path, table in self._tables.items()}
        self._places = {id(tensor): _place(tensor) for _, tensor in self._held()}

    def assigned(self) -> dict[str, tuple[torch.Tensor, Any]]:
        """The buffers, by their paths, that are another tensor now or lie elsewhere: what was there, and what is."""
        now = {path: self._at(path) for path, _ in self._held()}
        return {
            path: (before, now[path])
            for path, before in self._held()
            if now[path] is not before or _place(before) != self._places[id(before)]
        }

    def is_last_name(self, path: str) -> bool:
        """Whether no later name of the same module leads to the buffer: torch.export reads it by that one."""
        owner = path.rpartition(".")[0]
        return next(each for each in reversed(self._tables) if self._tables[each] is self._tables[owner]) == owner

    def filled(self) -> dict[str, torch.Tensor]:
        """The buffers, by their paths, where there was no tensor and one is now."""
        return {
            f"{path}.{name}".lstrip("."): now
            for path, table in self._tables.items()
            for name, now in table.items()
            if isinstance(now, torch.Tensor) and self._before[path].get(name) is None
        }

    def path_of(self, module: torch.nn.Module, name: str) -> str | None:
        """Of a tensor in the table of a module of the model, by whatever name, and of none that torch makes meanwhile."""
        table = vars(module).get("_buffers", {})
        paths = (path for path, each in self._tables.items() if each is table and table.get(name) is not None)
        return next((f"{path}.{name}".lstrip(".") for path in paths), None)

    def put(self, buffers: Mapping[str, torch.Tensor]) -> None:
        for path, tensor in buffers.items():
            owner, _, name = path.rpartition(".")
            self._tables[owner][name] = tensor

    def _at(self, path: str) -> Any:
        owner, _, name = path.rpartition(".")
        return self._tables[owner].get(name)

    def _held(self) -> Iterator[tuple[str, torch.Tensor]]:
        for path, table in self._before.items():
            for name, tensor in table.items():
                if isinstance(tensor, torch.Tensor):
                    yield f"{path}.{name}".lstrip("."), tensor


@contextlib.contextmanager
def watched_buffers(model: torch.nn.Module) -> Iterator[BufferTables]:
    """Gives the tables, which each call of the model while it is open is told to begin: torch.export puts stand-ins there before."""
    tables = BufferTables(model)
    hook = model.register_forward_pre_hook(lambda *_: tables.begin(), prepend=True)
    try:
        yield tables
    finally:
        hook.remove()
