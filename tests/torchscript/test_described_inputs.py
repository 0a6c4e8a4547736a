"""What the caller says of the inputs of an archive, which records neither dtypes nor sizes."""

import enum
from typing import Dict, List, Optional, Tuple

import onnxruntime
import pytest
import torch
from torch import Tensor

import flambeau


class Containers(torch.nn.Module):
    def forward(self, images: List[Tensor], pair: Tuple[Tensor, int], table: Dict[str, Tensor], bias: Optional[Tensor] = None):
        y = images[0].sum() + images[1].mean() + pair[0] * pair[1] + table["a"]
        return y if bias is None else y + bias


DESCRIBED = {"images": "[float32[3,h,w], float32[3,4,5]]", "pair": "(float32[n], 2)", "table": "{'a': float32[n]}"}


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "containers.pt"
    torch.jit.script(Containers()).save(path)
    return path


@pytest.mark.parametrize("bias", [None, "float32[n]"])
def test_containers_are_described_as_in_python(archive, tmp_path, bias):
    described = DESCRIBED if bias is None else {**DESCRIBED, "bias": bias}
    flambeau.convert(archive, tmp_path / "model.onnx", inputs=described)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    feeds = [torch.randn(3, 6, 7), torch.randn(3, 4, 5), torch.randn(2), torch.randn(2), torch.randn(2)][: len(session.get_inputs())]
    images, pair, table = feeds[:2], (feeds[2], 2), {"a": feeds[3]}
    expected = Containers()(images, pair, table, *feeds[4:])
    assert len(feeds) == (4 if bias is None else 5)
    actual = session.run(None, {value.name: feed.numpy() for value, feed in zip(session.get_inputs(), feeds, strict=True)})[0]
    torch.testing.assert_close(torch.from_numpy(actual), expected)


def test_errors_show_how(archive, tmp_path):
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"(?s)images \(List\[Tensor\]\).*table.*images=\[float32\[batch,3,224,224\]\]"):
        flambeau.convert(archive, tmp_path / "model.onnx")
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"describes no List\[Tensor\], which the input 'images' is"):
        flambeau.convert(archive, tmp_path / "model.onnx", inputs={**DESCRIBED, "images": "float32[3,4,5]"})
    with pytest.raises(flambeau.errors.OnnxExporterError, match="describes no input"):
        flambeau.convert(archive, tmp_path / "model.onnx", inputs={**DESCRIBED, "pair": "(float32[n], "})


def test_errors_show_how_to_describe_every_input(archive, tmp_path):
    with pytest.raises(flambeau.errors.OnnxExporterError) as caught:
        flambeau.convert(archive, tmp_path / "model.onnx")
    options = '--input "images=[float32[batch,3,224,224]]" --input "pair.0=float32[batch,3,224,224]" --input "pair.1=3" '
    assert options + "--input \"table={'text': float32[batch,3,224,224]}\"" in str(caught.value)


class Weighted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(3, 2)
        self.tied = self.fc
        self.register_buffer("scale", torch.ones(4, dtype=torch.float64))

    def forward(self, x: Tensor, images: List[Tensor], twice: bool = False):
        y = self.tied(self.fc(x).sum(1, keepdim=True).expand(-1, 3)) * self.scale[0]
        return (y * 2 if twice else y), images

    @torch.jit.export
    def rows(self, x: Tensor):
        return len(x)


def test_what_an_archive_tells_before_its_inputs_are_described(tmp_path):
    torch.jit.script(Weighted()).save(tmp_path / "weighted.pt", _extra_files={"labels.txt": b"cat"})
    summary = flambeau.inspect(tmp_path / "weighted.pt")
    assert [(tensor.name, tensor.type) for tensor in summary.inputs] == [("x", "Tensor"), ("images", "List[Tensor]"), ("twice", "bool")]
    assert [tensor.type for tensor in summary.outputs] == ["Tuple[Tensor, List[Tensor]]"]
    weights = {tensor.name: (tensor.kind, tensor.dtype, tensor.sizes) for tensor in summary.weights}
    assert weights["fc.weight"] == ("parameter", "float32", ["2", "3"]) and weights["scale"] == ("buffer", "float64", ["4"])
    assert summary.weight_bytes == (2 * 3 + 2) * 4 + 4 * 8
    assert sorted(summary.alternatives) == ["forward", "rows"] and summary.extra_files == [("labels.txt", 3)]
    assert [name for name, _ in summary.undescribed] == ["x", "images"] and not summary.operators

    # The examples describe; so does whoever knows better. What is left is said.
    described = dict(summary.undescribed) | {"x": "float32[n,3]"}
    whole = flambeau.inspect(tmp_path / "weighted.pt", inputs=described)
    assert not whole.undescribed and whole.operators and whole.weight_bytes == summary.weight_bytes
    del described["images"]
    assert [name for name, _ in flambeau.inspect(tmp_path / "weighted.pt", inputs=described).undescribed] == ["images"]
    with pytest.raises(flambeau.errors.OnnxExporterError, match="describes no input"):
        flambeau.inspect(tmp_path / "weighted.pt", inputs={"x": "float32["})


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3, bias=False)
        self.second = torch.nn.Linear(3, 3, bias=False)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x))


def test_tied_weights_count_once(tmp_path):
    torch.export.save(torch.export.export(Tied(), (torch.ones(2, 3),)), tmp_path / "tied.pt2")
    torch.jit.trace(Tied(), (torch.ones(2, 3),)).save(tmp_path / "tied.pt")
    assert flambeau.inspect(tmp_path / "tied.pt2").weight_bytes == 3 * 3 * 4
    assert flambeau.inspect(tmp_path / "tied.pt", inputs={"x": "float32[2,3]"}).weight_bytes == 3 * 3 * 4


class Defaulted(torch.nn.Module):
    def forward(self, x, times: int = 3, dims: Optional[List[int]] = None, offset: Optional[float] = 0.5, negate: bool = True):
        x = x.sum(dims) * times
        if offset is not None:
            x = x + offset
        return -x if negate else x


@pytest.mark.parametrize("given", [{}, {"times": 5}, {"dims": [1]}, {"offset": None, "negate": False}])
def test_what_has_a_default_may_be_left_out(tmp_path, given):
    torch.jit.script(Defaulted()).save(tmp_path / "defaulted.pt")
    described = {"x": "float32[n,4]"} | {name: str(value) for name, value in given.items()}
    flambeau.convert(tmp_path / "defaulted.pt", tmp_path / "model.onnx", inputs=described)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert [each.name for each in session.get_inputs()] == ["x"]
    for x in (torch.rand(3, 4), torch.rand(5, 4)):
        torch.testing.assert_close(torch.from_numpy(session.run(None, {"x": x.numpy()})[0]), Defaulted()(x, **given))


class Tint(enum.Enum):
    RED = "r"
    GREEN = "g"


class Tinted(torch.nn.Module):
    def forward(self, x, first: Tint, others: List[Tint], last: Optional[Tint] = None):
        for each in others:
            x = x * 3 if each == Tint.GREEN else x + 5
        if last is not None:
            x = x / 2
        return -x if first.value == "r" else x


def test_members_of_enums_as_arguments():
    model, x = torch.jit.script(Tinted()), torch.rand(2, 3)
    given = [(x, Tint.RED, [Tint.GREEN, Tint.RED]), (x, Tint.GREEN, [Tint.RED, Tint.GREEN], Tint.RED)]
    for arguments in given:
        program = flambeau.export(model, arguments)
        torch.testing.assert_close(program(*arguments)[0], model(*arguments))
    with pytest.warns(flambeau.errors.ConversionWarning, match="'first' is <Tint.GREEN: 'g'> in this model"):
        program(*given[0])


@pytest.mark.parametrize("text", ["'RED'", "1", "float32[2]"])
def test_other_constants_are_no_members(tmp_path, text):
    torch.jit.script(Tinted()).save(tmp_path / "tinted.pt")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="describes no .*Tint, which the input 'first' is"):
        flambeau.convert(tmp_path / "tinted.pt", tmp_path / "model.onnx", inputs={"x": "float32[2,3]", "first": text, "others": "[]"})
