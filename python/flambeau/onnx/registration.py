"""Which symbolic function translates an operator, by opset."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from ..errors import OnnxExporterError, warn
from ..torch_names import found

__all__ = ["SymbolicRegistry", "custom_onnx_symbolic", "onnx_symbolic", "registry", "verify_name"]

_NAME = re.compile(r"[\w-]+::[A-Za-z_-][\w-]*$", re.ASCII)
_BASE_OPSET = 9
_Functions = dict[str, dict[int, Callable[..., Any]]]


def verify_name(name: str) -> str:
    """The name with its domain: ``::relu`` is ``aten::relu``.

    Raises:
        OnnxExporterError: It is not of the form ``domain::name``.
        ValueError: The domain is ONNX's own.
    """
    if name.startswith("::"):
        name = f"aten{name}"
    if not _NAME.match(name):
        raise OnnxExporterError(
            f"'{name}' cannot be registered; it must be domain::name, of letters, digits, '_' and '-', "
            "and the name must not begin with a digit"
        )
    if name.startswith("onnx::"):
        raise ValueError(f"'{name}' cannot be registered; ONNX's own operators are no operators of PyTorch")
    return name


def dispatch(opset: int, registered: Sequence[int]) -> int | None:
    """The registered opset whose function an export at `opset` uses: the newest that is not newer.

    Below 9 it is the oldest one from there up to 9.
    """
    if opset >= _BASE_OPSET:
        return max((version for version in registered if version <= opset), default=None)
    return min((version for version in registered if opset <= version <= _BASE_OPSET), default=None)


class SymbolicRegistry:
    """Symbolic functions by (``domain::name``, opset)."""

    def __init__(self) -> None:
        self._functions: dict[str, dict[int, Callable[..., Any]]] = {}

    def register(self, name: str, opset: int, func: Callable[..., Any], custom: bool = True) -> None:
        """Let a function translate an operator from an opset on.

        Args:
            custom: Accepted, as torch's takes it, and changes nothing: there are no others beside users'.

        Raises:
            ValueError: The name has no domain.
        """
        if "::" not in name:
            raise ValueError(f"'{name}' has no domain; it must be domain::name")
        self._functions.setdefault(name, {})[opset] = func

    def unregister(self, name: str, opset: int) -> None:
        functions = self._functions.get(name, {})
        if functions.pop(opset, None) is None and not _unregister_with_torch(name, opset):
            warn(f"no symbolic function is registered for '{name}' at opset {opset}")
        if not functions:
            self._functions.pop(name, None)

    def find(self, name: str, opset: int) -> Callable[..., Any] | None:
        return self._find(name, opset, _registered_with_torch())

    def _find(self, name: str, opset: int, with_torch: _Functions) -> Callable[..., Any] | None:
        functions = {**with_torch.get(name, {}), **self._functions.get(name, {})}
        version = dispatch(opset, list(functions))
        return None if version is None else functions[version]

    def is_registered_op(self, name: str, version: int) -> bool:
        return self.find(name, version) is not None

    def all_functions(self) -> set[str]:
        """The operators that have a function at some opset."""
        return {*self._functions, *_registered_with_torch()}

    def at(self, opset: int) -> Iterator[tuple[str, Callable[..., Any]]]:
        """What an export at `opset` uses."""
        with_torch = _registered_with_torch()
        for name in sorted({*self._functions, *with_torch}):
            function = self._find(name, opset, with_torch)
            if function is not None:
                yield name, function


def _torchs() -> Any | None:
    return found("torch.onnx._internal.torchscript_exporter.registration.registry")


def _registered_with_torch() -> _Functions:
    """What users registered with torch, as custom functions or by its decorator among torch's own, which are not ours.

    Nor are those that come with torchvision: its operators have translations here, at every opset.
    """
    of_torch = _torchs()
    if of_torch is None:
        return {}
    registered: _Functions = {}
    for name in of_torch.all_functions():
        functions = of_torch.get_function_group(name)._functions
        added = {opset: each for opset, each in functions._base.items() if not each.__module__.startswith("torch.onnx.")}
        found = {**added, **functions._overrides}
        if of_users := {opset: each for opset, each in found.items() if not each.__module__.startswith("torchvision.")}:
            registered[name] = of_users
    return registered


def _unregister_with_torch(name: str, opset: int) -> bool:
    """Whether there was a custom one; others stay, with torch too."""
    of_torch = _torchs()
    group = None if of_torch is None else of_torch.get_function_group(name)
    if group is None or not group._functions.overridden(opset):
        return False
    of_torch.unregister(name, opset)
    return True


registry = SymbolicRegistry()


def onnx_symbolic(
    name: str,
    opset: int | Sequence[int],
    decorate: Sequence[Callable[..., Any]] | None = None,
    custom: bool = True,
) -> Callable[..., Any]:
    """A decorator that registers a symbolic function.

    Args:
        name: ``domain::name``.
        opset: The opset from which it holds, or several.
        decorate: What is applied to the function that is registered, in order.
        custom: Accepted, and changes nothing.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        decorated = function
        for decorator in decorate or ():
            decorated = decorator(decorated)
        for version in (opset,) if isinstance(opset, int) else opset:
            registry.register(name, version, decorated, custom)
        return function

    return register


def custom_onnx_symbolic(
    name: str, opset: int | Sequence[int], decorate: Sequence[Callable[..., Any]] | None = None
) -> Callable[..., Any]:
    """As :func:`onnx_symbolic`."""
    return onnx_symbolic(name, opset, decorate)
