"""C++ users find the installed library by CMake, and build the example against it."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ARCHIVE = ROOT / "tests/data/archives/inplace.torch-2.5.1.pt2"


def run(*command):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory):
    folder = tmp_path_factory.mktemp("prefix")
    for component in ("development", "runtime"):
        run("cmake", "--install", os.environ["FLAMBEAU_BUILD_DIR"], "--prefix", folder, "--component", component)
    return folder


def test_the_example_builds_and_runs_against_the_installed_tree(prefix, tmp_path):
    build = tmp_path / "build"
    run("cmake", "-S", ROOT / "examples/cpp", "-B", build, f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=None")
    run("cmake", "--build", build)
    target = tmp_path / "mlp.onnx"
    out = run(build / "example", ARCHIVE, target)
    onnx = pytest.importorskip("onnx")
    model = onnx.load(target)
    onnx.checker.check_model(model, full_check=True)
    assert [i.version for i in model.opset_import] == [21]
    for value in (*model.graph.input, *model.graph.output):
        assert f"put  {value.name}: " in out or f"put {value.name}: " in out
    tiny = out.partition("built in memory: ")[2].splitlines()
    assert int(tiny[0].removesuffix(" bytes")) > 0
    assert tiny[1:] == ["  input  x: float32[batch, 3]", "  output y: float32[batch, 2]"]


def test_the_installed_command_runs(prefix, tmp_path):
    run(prefix / "bin/flambeau", "convert", ARCHIVE, "-o", tmp_path / "mlp.onnx")
    assert (tmp_path / "mlp.onnx").stat().st_size > 0
    assert {"flambeau.1", "flambeau-convert.1"} <= {path.name for path in (prefix / "share/man/man1").iterdir()}


def test_the_program_of_the_page_builds_and_runs(prefix, tmp_path):
    blocks = dict(re.findall(r"^```(cpp|cmake)\n(.*?)^```$", (ROOT / "docs/cpp.md").read_text(), re.DOTALL | re.MULTILINE))
    (tmp_path / "main.cpp").write_text(blocks["cpp"])
    (tmp_path / "CMakeLists.txt").write_text(blocks["cmake"])
    run("cmake", "-S", tmp_path, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_BUILD_TYPE=None")
    run("cmake", "--build", tmp_path / "build")
    out = run(tmp_path / "build/page", ARCHIVE, tmp_path / "page.onnx")
    assert ": float32[" in out and out.endswith(" bytes of report\n")
    assert (tmp_path / "page.onnx").stat().st_size > 0


def test_no_header_shows_what_users_do_not_have(prefix):
    installed = {path.relative_to(prefix / "include").as_posix() for path in (prefix / "include").rglob("*.*")}
    assert installed == {path.relative_to(ROOT / "include").as_posix() for path in (ROOT / "include").rglob("*.*")}
