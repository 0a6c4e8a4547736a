"""Generated tables are what the installed packages say.

Each generator runs in a process of its own: torch's list of schemas grows with whatever was imported before.
"""

import os
import pathlib
import subprocess
import sys

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[2] / "tools"
GENERATORS = {
    "generate_onnx_operators.py": "onnx",
    "generate_onnx_methods.py": "onnx",
    "generate_infer_cases.py": "onnx",
    "generate_ort_kernels.py": "onnxruntime",
    "generate_torch_schemas.py": "torch",
}


def test_every_generator_is_checked():
    assert {path.name for path in TOOLS.glob("generate_*.py")} == set(GENERATORS)


@pytest.mark.parametrize("tool", GENERATORS)
def test_tables_are_fresh(tool):
    pytest.importorskip(GENERATORS[tool])
    run = subprocess.run([sys.executable, TOOLS / tool, "--check"], capture_output=True, text=True, timeout=120)
    if run.returncode == 2:
        pytest.skip(run.stdout.strip())
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_page_of_operators_is_fresh():
    """``make docs`` writes it."""
    program = pathlib.Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin/flambeau"
    listed = subprocess.run([program, "ops", "--format", "markdown"], capture_output=True, text=True, check=True).stdout
    assert listed and (TOOLS.parent / "docs/operators.md").read_text(encoding="utf-8").endswith(listed)
