"""Archives that older torches saved (tools/make_old_archives.py), with what these torches computed."""

import zipfile
from pathlib import Path

import numpy
import onnxruntime
import pytest
import torch

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


class Takes(torch.nn.Module):
    def forward(self, a, b):
        return a, b


GENERAL, TALL, WIDE, SYMMETRIC = torch.randn(4, 4), torch.randn(6, 3), torch.randn(3, 6), torch.eye(4) + torch.ones(4, 4)
COLUMNS, SIGNAL, INTEGERS = torch.randn(6, 2), torch.randn(32), torch.arange(-3, 5)
IMAGES, resized = torch.randn(2, 3, 5, 7), torch.nn.functional.interpolate


def eigenvectors(a):
    values, vectors = torch.linalg.eig(a)
    return torch.view_as_real(values), torch.where(values.imag < 0, -vectors.imag, vectors.real)


def solution_and_rest(b, a):
    rest = (torch.linalg.qr(a, "complete").Q.T @ b)[a.shape[1] :]
    return torch.cat([torch.linalg.lstsq(a, b).solution, rest]), torch.geqrf(a).a


@pytest.mark.parametrize(
    ("code", "args", "today"),
    [
        ("torch.eig(a, True)", (GENERAL,), eigenvectors),
        ("(torch.eig(a))[0]", (GENERAL,), lambda a: eigenvectors(a)[0]),
        ("torch.frobenius_norm(a)", (GENERAL,), torch.linalg.norm),
        ("torch.linalg_matrix_rank(a, None, False)", (GENERAL,), torch.linalg.matrix_rank),
        ("torch.linalg_matrix_rank(a, None, True)", (SYMMETRIC,), torch.linalg.matrix_rank),
        ("torch.linalg_matrix_rank(a, 0.5, False)", (GENERAL,), lambda a: torch.linalg.matrix_rank(a, tol=0.5)),
        ("(torch.linalg_svd(a, False, True))[1]", (TALL,), torch.linalg.svdvals),
        ("torch.linalg_svd(a, True, False)", (TALL,), lambda a: (torch.zeros(0), torch.linalg.svdvals(a), torch.zeros(0))),
        ("torch.lstsq(b, a)", (TALL, COLUMNS), lambda a, b: solution_and_rest(b, a)),
        ("(torch.lstsq(b, a))[0]", (WIDE, COLUMNS[:3]), lambda a, b: torch.linalg.lstsq(a, b).solution),
        ("torch.unflatten(a, 1, [2, 2], None)", (GENERAL,), lambda a: a.unflatten(1, (2, 2))),
        ("torch.istft(torch.stft(a, 8, None, None, b, False, True, False), 8, None, None, b, True)", (SIGNAL, torch.ones(8)), lambda a, b: a[4:28]),
        ("torch.div(a, b, rounding_mode=\"true\")", (INTEGERS, INTEGERS + 10), torch.true_divide),
        ("torch.upsample_bilinear2d(a, [int(torch.floor(torch.mul(torch.to(ops.prim.NumToTensor(torch.size(a, 2)), 6), b))), 8], False, 2., 2.)",
         (torch.randn(1, 1, 4, 4), torch.tensor(2.0)), lambda a, b: torch.nn.functional.interpolate(a, scale_factor=2, mode="bilinear")),
        ("torch.irfft(torch.rfft(a, 1, False, True), 1, False, True, [])", (GENERAL,), lambda a: torch.fft.irfft(torch.fft.rfft(a), 5)),
        ("torch.irfft(torch.rfft(a, 2, True, True), 2, True, True, [])", (TALL,),
         lambda a: torch.fft.irfft2(torch.fft.rfft2(a, norm="ortho"), (6, 3), norm="ortho")),
        ("torch.irfft(torch.rfft(a, 1, False, True), 1, False, True, [4])", (GENERAL,), lambda a: a),
        ("torch.__upsample(a, None, 2, \"nearest\", None)", (IMAGES,), lambda a: resized(a, scale_factor=2)),
        ("torch.__upsample(a, [7, 6], None, \"bilinear\", True)", (IMAGES,), lambda a: resized(a, (7, 6), mode="bilinear", align_corners=True)),
        ("torch.__upsample(a, 9, None, \"bicubic\", None)", (IMAGES,), lambda a: resized(a, 9, mode="bicubic")),
        ("torch.__upsample_nearest(a, [3, 9], None)", (IMAGES,), lambda a: resized(a, (3, 9))),
        ("torch.__upsample_bilinear(a, None, [2, 3])", (IMAGES,), lambda a: resized(a, scale_factor=(2, 3), mode="bilinear", align_corners=True)),
        ("torch.__upsample_bilinear(a, 4, None)", (IMAGES,), lambda a: resized(a, 4, mode="bilinear", align_corners=True)),
        ("torch.__interpolate(a, None, 1.7, \"bilinear\", None, None, False)", (IMAGES,),
         lambda a: resized(a, scale_factor=1.7, mode="bilinear", recompute_scale_factor=True)),
        ("torch.__interpolate(a, None, 1.7, \"bilinear\", None, False, False)", (IMAGES,), lambda a: resized(a, scale_factor=1.7, mode="bilinear")),
        ("torch.__interpolate(a, None, [1.7, 0.6], \"nearest-exact\", None, False, False)", (IMAGES,),
         lambda a: resized(a, scale_factor=(1.7, 0.6), mode="nearest-exact")),
        ("torch.__interpolate(a, None, float(b), \"bilinear\", True, False, False)", (IMAGES, torch.tensor(1.7)),
         lambda a, b: resized(a, scale_factor=float(b), mode="bilinear", align_corners=True)),
        ("torch.__interpolate(a, [3, 4], None, \"bicubic\", None, None, True)", (IMAGES,), lambda a: resized(a, (3, 4), mode="bicubic", antialias=True)),
    ],
)  # fmt: skip
def test_calls_that_torch_no_longer_takes(code, args, today, tmp_path):
    wanted = today(*args)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    result = f"Tuple[{', '.join(['Tensor'] * len(wanted))}]" if len(wanted) > 1 else "Tensor"
    torch.jit.script(Takes()).save(str(tmp_path / "new.pt"))
    with zipfile.ZipFile(tmp_path / "new.pt") as new, zipfile.ZipFile(tmp_path / "old.pt", "w") as old:
        for name in new.namelist():
            text = new.read(name)
            if name.endswith(".py"):
                text = text.replace(b"Tuple[Tensor, Tensor]", result.encode()).replace(b"(a, b)", code.encode())
            old.writestr(name, text)
    inputs = {name: f"{str(each.dtype).removeprefix('torch.')}[{','.join(map(str, each.shape))}]" for name, each in zip("ab", args)}
    inputs.setdefault("b", "float32[]")
    program = flambeau.convert(tmp_path / "old.pt", tmp_path / "old.onnx", inputs=inputs)
    torch.testing.assert_close(tuple(program(*args, *[torch.tensor(0.0)] * (2 - len(args)))), wanted, rtol=1e-4, atol=1e-4)
