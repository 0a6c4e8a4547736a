"""Dynamo, where it is loaded while PyTorch's functions are replaced: by a checkpoint within a model that is traced, say."""

from __future__ import annotations

import contextlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Iterator, Sequence

from .replaced_functions import Replacements

__all__ = ["dynamo_apart"]

_DYNAMO = "torch._dynamo"


class _Apart(importlib.abc.Loader):
    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        return self.loader.create_module(spec)

    def exec_module(self, module: types.ModuleType) -> None:
        assert module.__spec__
        module.__spec__.loader = module.__loader__ = self.loader
        with Replacements.suspended():
            self.loader.exec_module(module)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None) -> importlib.machinery.ModuleSpec | None:
        spec = importlib.machinery.PathFinder.find_spec(name, path, target) if name == _DYNAMO else None
        if spec and spec.loader:
            spec.loader = _Apart(spec.loader)
        return spec


@contextlib.contextmanager
def dynamo_apart() -> Iterator[None]:
    """While it is open, Dynamo finds PyTorch's and Python's own functions when it is loaded, of which it remembers which they are.

    A trace does without it, as it takes a second to load.
    """
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
