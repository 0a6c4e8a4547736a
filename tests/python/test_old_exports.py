"""Programs that older torches exported (tools/make_old_archives.py --exported), with what these torches computed."""

from pathlib import Path

import numpy
import onnxruntime
import pytest

import flambeau

ARCHIVES = sorted((Path(__file__).parents[1] / "data/exported").glob("*.pt2"))


def test_archives_are_there():
    assert {"2.1", "2.2", "2.3", "2.4"} <= {archive.name.split(".torch-")[1][:3] for archive in ARCHIVES}


@pytest.mark.filterwarnings("ignore:.*writes")
@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_old_export(archive, tmp_path):
    flambeau.convert(archive, tmp_path / "model.onnx")
    with numpy.load(archive.with_suffix(".npz")) as stored:
        inputs, expected = ([stored[name] for name in sorted(stored.files) if name.startswith(kind)] for kind in ("in", "out"))
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    names = [value.name for value in session.get_inputs()]
    actual = session.run(None, dict(zip(names, inputs, strict=True)))
    for ours, theirs in zip(actual, expected, strict=True):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
