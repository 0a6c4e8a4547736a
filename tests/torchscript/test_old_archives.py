"""Archives that older torches saved (tools/make_old_archives.py), with what these torches computed."""

from pathlib import Path

import numpy
import onnxruntime
import pytest

import flambeau

ARCHIVES = sorted((Path(__file__).parents[1] / "data/torchscript").glob("*.pt"))
INPUTS = {"dynamic": ["x"], "language": ["x", "n"], "layers": ["x"], "mobile": ["x"], "quantized": ["x"], "regions": ["x"]}
# Traces before torch 1.10 name an input as the module does that takes it first.
TRACED_INPUTS = {"layers": ["input"], "quantized": ["X"]}
# Floats are as exact as floats are; of quantized models the last number is a quantum's multiple.
TOLERANCE = {"dynamic": 1e-5, "language": 1e-5, "layers": 1e-5, "mobile": 1e-5, "regions": 1e-5}


def arrays(archive, kind):
    stem = archive.name.rpartition(".")[0].rpartition(".")[0]
    with numpy.load(archive.with_name(f"{stem}.npz")) as stored:
        names = [name for name in stored.files if name.startswith(kind)]
        return [stored[name] for name in sorted(names, key=lambda name: int(name[len(kind) :]))]


def quantum(values):
    """The smallest step between numbers on a grid."""
    steps = numpy.diff(numpy.unique(values))
    return steps[steps > 1e-6].min()


def test_archives_are_there():
    assert len({archive.name.split(".torch-")[1].split(".")[1] for archive in ARCHIVES}) >= 5


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: path.name)
def test_old_archive(archive, tmp_path):
    case = archive.name.split(".")[0]
    inputs, expected = arrays(archive, "in"), arrays(archive, "out")
    old_trace = archive.name.endswith("traced.pt") and int(archive.name.split("-1.")[1].split(".")[0]) < 10
    names = (TRACED_INPUTS if old_trace else INPUTS)[case]
    described = {name: f"{array.dtype}[{','.join(map(str, array.shape))}]" for name, array in zip(names, inputs)}
    flambeau.convert(archive, tmp_path / "model.onnx", inputs=described)
    options = onnxruntime.SessionOptions()
    # Its fused kernels round quantized products on grids of their own.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", options)
    actual = []
    for value in session.run(None, dict(zip([value.name for value in session.get_inputs()], inputs))):
        actual.extend(value if isinstance(value, list) else [value])
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        tolerance = TOLERANCE.get(case) or 1.01 * quantum(theirs)
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=tolerance)
