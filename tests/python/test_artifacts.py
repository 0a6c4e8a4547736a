"""What exports that fail leave behind, and what of that cannot be had."""

import json
import warnings

import pytest
import torch

import flambeau
from flambeau.errors import CaptureError, ConversionWarning, OnnxExporterError, UnsupportedOptionError

X = torch.randn(3, 3)


class Raises(torch.nn.Module):
    def forward(self, x):
        raise RuntimeError("out of paper")


def left_by(model, folder, error, **options):
    """The report of an export that raises the error, and the ending of its name."""
    with pytest.raises(error):
        flambeau.export(model, (X,), report=True, artifacts_dir=folder, **options)
    (path,) = folder.glob("*.json")
    assert {each.suffix for each in folder.iterdir()} == {".json", ".md", ".html"}
    return json.loads(path.read_text()), path.stem.split("_", 4)[-1]


@pytest.mark.parametrize("options", [{"capture": "trace"}, {"dynamo": False}, {"capture_strategies": ["torchscript"]}], ids=str)
def test_a_trace_that_fails(options, tmp_path):
    report, name = left_by(Raises(), tmp_path, CaptureError, **options)
    assert (report["status"], name) == ("capture-failed", "pt_export") and "out of paper" in report["failure"]
    (attempt,) = report["attempts"]
    assert attempt["strategy"] == "torchscript" and "out of paper" in attempt["error"]


def test_a_trace_that_fails_after_torch_export(tmp_path):
    report, _ = left_by(Raises(), tmp_path, CaptureError, capture_strategies=["non-strict", "torchscript"])
    assert [attempt["strategy"] for attempt in report["attempts"]] == ["non-strict", "torchscript"]
    assert all("out of paper" in attempt["error"] for attempt in report["attempts"])


def test_functions_that_cannot_be_had(tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(3, 3))
    report, name = left_by(model, tmp_path, UnsupportedOptionError, export_modules_as_functions=True, opset_version=13)
    assert (report["status"], name) == ("failed", "conversion") and "functions" in report["failure"]


def test_a_model_that_cannot_be_written(tmp_path):
    report, name = left_by(torch.nn.ReLU(), tmp_path / "reports", OnnxExporterError, f=tmp_path / "none" / "model.onnx")
    assert (report["status"], name) == ("failed", "conversion") and "there is no folder" in report["failure"]


def test_a_failure_comes_before_that_of_its_report():
    with pytest.raises(CaptureError, match="out of paper") as caught:
        flambeau.export(Raises(), (X,), dynamo=False, report=True, artifacts_dir="/dev/null/reports")
    assert "artifacts_dir chooses another folder" in caught.value.__notes__[0]


@pytest.mark.parametrize("options", [{"capture": "trace"}, {"dynamo": False}, {}], ids=str)
def test_there_is_no_captured_program_but_of_torch_export(options, tmp_path):
    model = torch.nn.ReLU() if options else torch.jit.script(torch.nn.ReLU())
    with pytest.warns(ConversionWarning, match="dump_exported_program writes what torch.export captured"):
        flambeau.export(model, (X,), dump_exported_program=True, artifacts_dir=tmp_path, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        flambeau.export(model, (X,), dump_exported_program=True, artifacts_dir=tmp_path, verbose=False, **options)
    assert not any(tmp_path.iterdir())


def test_an_archive_is_not_written_once_more(tmp_path):
    torch.export.save(torch.export.export(torch.nn.ReLU(), (X,)), tmp_path / "relu.pt2")
    with pytest.warns(ConversionWarning, match="from an archive"):
        flambeau.export(tmp_path / "relu.pt2", dump_exported_program=True, artifacts_dir=tmp_path / "dumps")
    assert not (tmp_path / "dumps").exists()
