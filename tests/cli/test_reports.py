"""`flambeau convert --report …`: files that are written, also of a failure."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ARCHIVE = next((Path(__file__).parents[1] / "data/archives").glob("convnet.*.pt2"))


def run(flambeau, *arguments, cwd):
    return subprocess.run([flambeau, "convert", *map(str, arguments)], capture_output=True, text=True, cwd=cwd)


@pytest.mark.parametrize(("form", "name", "begins"), [("html", "model.report.html", "<!doctype html>"), ("markdown", "model.report.md", "# PyTorch ONNX")])
def test_beside_the_model(flambeau, tmp_path, form, name, begins):
    done = run(flambeau, ARCHIVE, "-o", "model.onnx", "--report", form, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "") and f"report: {name}" in done.stderr
    assert (tmp_path / name).read_text().startswith(begins)


def test_where_it_is_asked_for_and_a_trace(flambeau, tmp_path):
    done = run(flambeau, ARCHIVE, "-o", "model.onnx", "--report-file", "all.json", "--profile", "trace.json", "-q", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    report = json.loads((tmp_path / "all.json").read_text())
    assert (report["status"], report["model"], report["target"]) == ("converted", str(ARCHIVE), "model.onnx")
    assert report["nodes"] and report["torch_version"].startswith("2.5")
    assert [event["name"] for event in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]][-1] == "names"


def test_of_a_failure(flambeau, tmp_path):
    (tmp_path / "broken.pt2").write_bytes(b"no archive")
    done = run(flambeau, "broken.pt2", "--report-file", "report.json", cwd=tmp_path)
    assert done.returncode == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["status"] == "failed" and report["diagnostics"][0]["location"]["file"] == "broken.pt2"
    done = run(flambeau, ARCHIVE, "--opset", "3", "-o", "model.onnx", "--report", "html", cwd=tmp_path)
    assert done.returncode == 2 and "opset 3" in (tmp_path / "model.report.html").read_text()


def test_report_that_cannot_be_written(flambeau, tmp_path):
    done = run(flambeau, ARCHIVE, "-o", "model.onnx", "--report-file", "missing/report.html", cwd=tmp_path)
    assert done.returncode == 1 and "error: missing/report.html cannot be written: No such file or directory" in done.stderr


@pytest.mark.parametrize("name", ["report.txt", "report"])
def test_report_of_no_format(flambeau, tmp_path, name):
    done = run(flambeau, ARCHIVE, "-o", "model.onnx", "--report-file", name, cwd=tmp_path)
    assert done.returncode == 2 and f"error: --report-file: '{name}' ends in none of .html, .md and .json" in done.stderr
    assert not list(tmp_path.iterdir())


def test_metadata_may_hold_commas(flambeau, tmp_path):
    done = run(flambeau, ARCHIVE, "-o", "model.onnx", "--set-metadata", "note=a,b=c", "--set-metadata", "by=x", "-q", cwd=tmp_path)
    assert done.returncode == 0 and b"a,b=c" in (tmp_path / "model.onnx").read_bytes()


def test_names_of_files_that_are_no_text(flambeau, tmp_path):
    done = subprocess.run([flambeau, b"convert", b"bad\xff.pt2", b"--report", b"json"], capture_output=True, cwd=tmp_path)
    assert done.returncode == 1 and json.loads(done.stdout.decode())["diagnostics"][0]["location"]["file"] == "bad\ufffd.pt2"


@pytest.mark.parametrize("text", ["mylib", "mylib=x", "mylib=0"])
def test_custom_opset_that_makes_no_sense(flambeau, tmp_path, text):
    assert run(flambeau, ARCHIVE, "--custom-opset", text, "-q", cwd=tmp_path).returncode == 2


def test_commands_that_python_runs(flambeau, tmp_path):
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\nshift 2\necho "$@"\nexit 4\n')
    fake.chmod(0o755)
    done = subprocess.run([flambeau, "verify", "a.pt2", "--nodes", "b.onnx"], capture_output=True, text=True, env={"PYTHON": str(fake)})
    assert (done.returncode, done.stdout) == (4, "verify a.pt2 --nodes b.onnx\n")
    done = subprocess.run([flambeau, "doctor"], capture_output=True, text=True, env={"PYTHON": str(tmp_path / "none")})
    assert done.returncode == 1 and "set PYTHON" in done.stderr
    fake.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    done = subprocess.run([flambeau, "doctor"], capture_output=True, text=True, env={"PYTHON": str(fake)})
    assert done.returncode == 1 and done.stderr.startswith("flambeau: doctor needs the Python package flambeau, which ") and "Traceback" not in done.stderr
