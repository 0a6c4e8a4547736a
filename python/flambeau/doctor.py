"""What this installation can do, and what it lacks for the rest."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
import sys
from dataclasses import dataclass

from . import _engine

__all__ = ["diagnose"]


@dataclass(frozen=True)
class _Package:
    name: str
    oldest: tuple[int, ...]
    needed_for: str


_PACKAGES = [
    _Package("numpy", (1, 26), "everything"),
    _Package("torch", (2, 7), "flambeau.export, flambeau.save, flambeau verify"),
    _Package("onnx", (1, 16), "ONNXProgram.model_proto, call_reference, flambeau diff"),
    _Package("onnx_ir", (0, 1), "ONNXProgram.model"),
    _Package("ml_dtypes", (0, 4), "bfloat16 and float8 arrays"),
    _Package("onnxruntime", (1, 20), "calling an ONNXProgram, verify"),
    _Package("onnxscript", (0, 6), "custom_translation_table"),
]


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _numbers(version: str) -> tuple[int, ...]:
    digits = []
    for part in version.split("+")[0].split(".")[:3]:
        number = "".join(c for c in part if c.isdigit())
        digits.append(int(number or 0))
    return tuple(digits)


def diagnose() -> tuple[list[str], bool]:
    """Lines for people, and whether everything that is installed fits and loads."""
    lines = [
        f"flambeau {_engine.__version__}: opsets 7 to {_engine.newest_opset()}, {len(_engine.supported_operators())} operators",
        f"python {platform.python_version()} on {sys.platform} {platform.machine()}",
    ]
    fine = True
    for package in _PACKAGES:
        version = _version(package.name)
        if version is None:
            lines.append(f"  missing  {package.name}: pip install {package.name}, for {package.needed_for}")
        elif _numbers(version) < package.oldest:
            fine = False
            oldest = ".".join(map(str, package.oldest))
            lines.append(f"  too old  {package.name} {version}: {oldest} or newer, for {package.needed_for}")
        else:
            problem = _loading_problem(package.name)
            fine &= problem is None
            lines.append(f"  {'ok' if problem is None else 'broken':<8} {package.name} {version}{f': {problem}' if problem else ''}")
    if _version("onnxruntime") is not None and _loading_problem("onnxruntime") is None:
        import onnxruntime

        lines.append(f"  runs on  {', '.join(onnxruntime.get_available_providers())}")
    return lines, fine


def _loading_problem(name: str) -> str | None:
    if importlib.util.find_spec(name) is None:
        return "it is installed, but cannot be imported"
    try:
        importlib.import_module(name)
    except Exception as error:  # whatever its import raises is the answer
        return f"{type(error).__name__}: {error}"
    return None
