"""Libraries that call ``torch.onnx.export``, with Flambeau behind it.

`make test` has some of them; `make integrations` installs all into an environment of its own, and there a library
that is missing is an error.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pathlib
import sys
from types import ModuleType

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("YOLO_AUTOINSTALL", "false")

import torch

import flambeau


def library(name: str) -> ModuleType:
    """A library under test, or a skip that says where it is tested."""
    if importlib.util.find_spec(name.partition(".")[0]) is None and not os.environ.get("FLAMBEAU_INTEGRATIONS"):
        pytest.skip(f"{name} is not here: `make integrations` installs it", allow_module_level=True)
    torchvision()
    return importlib.import_module(name)


def torchvision() -> None:
    """Loads torchvision, beside a CPU torch: libraries import it by themselves."""
    tools = str(pathlib.Path(__file__).resolve().parents[2] / "tools")
    if tools not in sys.path:
        sys.path.append(tools)
    import torchvision_cpu

    torchvision_cpu.imported()


@pytest.fixture(autouse=True)
def behind_torch_onnx():
    """Flambeau is behind ``torch.onnx``, and was asked: no test passes by torch's own exporter."""
    from flambeau import _engine

    calls: list[int] = []
    convert = _engine.convert_with_report

    def counted(*args: object):
        calls.append(1)
        return convert(*args)

    torch.manual_seed(0)
    _engine.convert_with_report = counted
    try:
        with flambeau.installed():
            yield
    finally:
        _engine.convert_with_report = convert
    assert calls, "nothing was converted by Flambeau"
