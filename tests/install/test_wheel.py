"""The wheel, installed in a fresh environment without torch, converts an archive."""

import os
import shutil
import subprocess
import sys
import venv
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "wheel"  # as deep as build/make: the compiler's cache sees the same relative paths


def run(*command, **options):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.mark.slow
def test_wheel_converts_where_torch_is_not_installed(tmp_path):
    torch = pytest.importorskip("torch")

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.sigmoid(x) * 2

    archive = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Model(), (torch.ones(3, 4),)), archive)

    wheels = tmp_path / "wheels"
    run(sys.executable, "-m", "pip", "wheel", *_build_options(), "--no-deps", "--wheel-dir", wheels, ROOT, env={"CXX": "c++", **os.environ})
    (wheel,) = wheels.glob("flambeau-*.whl")

    environment = tmp_path / "venv"
    venv.create(environment, with_pip=True)
    python = environment / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", wheel)
    target = tmp_path / "model.onnx"
    code = (
        "import importlib.util, sys, flambeau\n"
        "assert importlib.util.find_spec('torch') is None\n"
        "flambeau.convert(sys.argv[1], sys.argv[2])\n"
    )
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "FLAMBEAU_PYTHON")}
    run(python, "-c", code, archive, target, cwd=tmp_path, env=clean)

    onnx = pytest.importorskip("onnx")
    onnx.checker.check_model(str(target), full_check=True)


def _build_options():
    """The flags of `make build`: what it left in the compiler's cache serves here."""
    shutil.rmtree(BUILD, ignore_errors=True)
    options = [f"-Cbuild-dir={BUILD}", "-Ccmake.build-type=Release", "-Ccmake.define.CMAKE_CXX_FLAGS_RELEASE=-O2"]
    if shutil.which("ccache"):
        options.append("-Ccmake.define.CMAKE_CXX_COMPILER_LAUNCHER=ccache")
    if all(map(find_spec, ("scikit_build_core", "nanobind", "netron"))):
        options.append("--no-build-isolation")  # no download
    return options
