"""Archives: what flambeau.save adds, and conversion of what is in a file."""

import base64
import json
import subprocess
import sys
import zipfile

import onnx
import pytest
import torch

import flambeau
from flambeau import __main__ as command


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = torch.nn.Linear(4, 2)

    def forward(self, pair, y):
        return self.fc(pair["a"]) + y, None, 7


ARGS = ({"a": torch.ones(3, 4)}, torch.ones(3, 1))
SHAPES = {"pair": {"a": {0: "batch"}}, "y": {0: "batch"}}


@pytest.fixture
def archive(tmp_path):
    batch = torch.export.Dim("rows")
    shapes = {"pair": {"a": {0: batch}}, "y": {0: batch}}
    model = Model()
    exported = torch.export.export(model, ARGS, dynamic_shapes=shapes)
    path = tmp_path / "model.pt2"
    flambeau.save(exported, path, dynamic_shapes=SHAPES)
    return model, path


def extra_of(path):
    with zipfile.ZipFile(path) as file:
        (name,) = [name for name in file.namelist() if name.endswith("extra/flambeau.json")]
        return json.loads(file.read(name))


def test_save_adds_names_and_outputs(archive):
    model, path = archive
    extra_files = {"flambeau.json": ""}
    loaded = torch.export.load(path, extra_files=extra_files)
    torch.testing.assert_close(loaded.module()(*ARGS)[0], model(*ARGS)[0])
    extra = extra_of(path)
    assert extra["dimension_names"] == [
        {"input": 0, "dim": 0, "name": "batch"},
        {"input": 1, "dim": 0, "name": "batch"},
    ]
    first, seven = extra["expected_outputs"]
    assert (first["dtype"], first["sizes"], seven["dtype"]) == ("float32", [3, 2], "int64")
    values = torch.frombuffer(bytearray(base64.b64decode(first["data"])), dtype=torch.float32)
    torch.testing.assert_close(values.reshape(3, 2), model(*ARGS)[0])


class Noisy(torch.nn.Module):
    def forward(self, x):
        return {"y": x + torch.randn_like(x), "name": "text"}


def test_what_save_runs_leaves_no_trace(tmp_path):
    exported = torch.export.export(Noisy(), (torch.ones(2, 3),))
    before = torch.get_rng_state()
    flambeau.save(exported, tmp_path / "model.pt2")
    assert torch.equal(torch.get_rng_state(), before)
    assert len(extra_of(tmp_path / "model.pt2")["expected_outputs"]) == 1


def test_save_of_a_program_without_weights(tmp_path):
    exported = torch.export.export(torch.nn.Linear(3, 2, device="meta"), (torch.ones(1, 3, device="meta"),))
    flambeau.save(exported, tmp_path / "model.pt2")
    assert extra_of(tmp_path / "model.pt2")["expected_outputs"] is None


def test_convert(archive, tmp_path):
    model, path = archive
    target = tmp_path / "model.onnx"
    program = flambeau.convert(path, target)
    onnx.checker.check_model(str(target), full_check=True)
    args = ({"a": torch.randn(5, 4)}, torch.randn(5, 1))
    torch.testing.assert_close(program(*args)[0], model(*args)[0])
    assert program.exported_program is None
    with pytest.raises(TypeError, match="2 inputs"):
        program(torch.ones(3, 4))


def test_names_of_dimensions_come_from_the_archive(archive):
    program = flambeau.export(archive[1])
    assert program.model.graph.inputs[0].shape == ("batch", 4)


def test_inspect(archive):
    summary = flambeau.inspect(archive[1])
    assert [weight.name for weight in summary.weights] == ["fc.weight", "fc.bias"]
    assert "aten::linear" in [operator.name for operator in summary.operators]


def test_inspect_knows_what_becomes_of_calls_that_write(tmp_path):
    class Writes(torch.nn.Module):
        def forward(self, x):
            y = x.clone().mul_(2).t_().resize_(2, 2)
            y[0] = 3
            torch.add(y, 1, out=y)
            torch._check(x.nonzero().shape[0] > 2)
            with torch.no_grad():
                y = y.unique_consecutive().relu_()
            return y, torch._convert_indices_from_csr_to_coo(x[0].long(), x[1].long())

    torch.export.save(torch.export.export(Writes(), (torch.ones(2, 3),)), tmp_path / "model.pt2")
    operators = flambeau.inspect(tmp_path / "model.pt2").operators
    names = {operator.name for operator in operators}
    assert names >= {"aten::mul_.Tensor", "aten::t_", "aten::resize_", "aten::add.out", "higher_order::wrap_with_set_grad_enabled"}
    assert [operator.name for operator in operators if not operator.supported] == ["aten::_convert_indices_from_csr_to_coo"]


def test_operators():
    assert any(row.schema.startswith("aten::linear(") for row in flambeau.operators())


def test_file_that_is_no_archive(tmp_path):
    path = tmp_path / "model.pt2"
    path.write_bytes(b"no zip")
    target = tmp_path / "model.onnx"
    with pytest.raises(flambeau.errors.OnnxExporterError, match="model.pt2") as raised:
        flambeau.convert(path, target)
    assert raised.value.diagnostics
    assert not target.exists()


def test_an_operator_that_torch_has_removed(tmp_path):
    class Product(torch.nn.Module):
        def forward(self, b, A):
            return torch.mm(b, A)

    torch.jit.script(Product()).save(str(tmp_path / "new.pt"))
    with zipfile.ZipFile(tmp_path / "new.pt") as new, zipfile.ZipFile(tmp_path / "old.pt", "w") as old:
        for name in new.namelist():
            old.writestr(name, new.read(name).replace(b"torch.mm(b, A)", b"(torch.solve(b, A))[0]"))
    b, A = torch.randn(3, 2), torch.randn(3, 3)
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"aten::solve(.|\n)*flambeau.convert\(path, target, inputs="):
        flambeau.export(tmp_path / "old.pt", (b, A))
    program = flambeau.convert(tmp_path / "old.pt", tmp_path / "old.onnx", inputs={"b": "float32[n,2]", "A": "float32[n,n]"})
    torch.testing.assert_close(program(b, A)[0], torch.linalg.solve(A, b), rtol=1e-4, atol=1e-4)


def test_convert_without_torch(archive, tmp_path):
    """Neither import nor conversion may touch torch or onnx."""
    script = f"""
import sys
sys.modules["torch"] = sys.modules["onnx"] = sys.modules["onnx_ir"] = None
import flambeau
program = flambeau.convert({str(archive[1])!r}, {str(tmp_path / "model.onnx")!r})
print(program.diagnostics, flambeau.inspect({str(archive[1])!r}).torch_version, len(flambeau.operators()))
try:
    flambeau.export
except ImportError:
    print("export needs torch")
"""
    path = [folder for folder in sys.path if folder]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}\n{script}"], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("export needs torch\n")
    assert (tmp_path / "model.onnx").exists()


def test_interrupt_leaves_the_target(archive, tmp_path):
    target = tmp_path / "model.onnx"
    target.write_bytes(b"before")

    def progress(stage, done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flambeau.convert(archive[1], target, progress=progress)
    assert target.read_bytes() == b"before"


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """An archive of two models with a file beside them, and one of a module with two methods."""
    package_pt2 = pytest.importorskip("torch.export.pt2_archive._package").package_pt2

    folder = tmp_path_factory.mktemp("several")
    models = {
        "encoder": torch.export.export(torch.nn.Linear(4, 2), (torch.ones(3, 4),)),
        "decoder": torch.export.export(torch.nn.ReLU(), (torch.ones(3, 4),)),
    }
    package_pt2(str(folder / "several.pt2"), exported_programs=models, extra_files={"words.txt": "one two"})

    class Coder(torch.nn.Module):
        @torch.jit.export
        def encode(self, x):
            return torch.exp(x)

        @torch.jit.export
        def decode(self, x, scale: int):
            return torch.log(x) * scale

    torch.jit.save(torch.jit.script(Coder()), str(folder / "coder.pt"), {"words.txt": "one two"})
    return folder


@pytest.mark.parametrize(
    ("file", "choice", "operators"),
    [
        ("several.pt2", {"model_name": "encoder"}, ["Gemm"]),
        ("several.pt2", {"model_name": "decoder"}, ["Relu"]),
        ("coder.pt", {"method": "encode", "inputs": {"x": "float32[n]"}}, ["Exp"]),
        ("coder.pt", {"method": "decode", "inputs": {"x": "float32[n]", "scale": "3"}}, ["Log", "Mul"]),
    ],
)
def test_one_of_several(several, file, choice, operators):
    program = flambeau.convert(several / file, several / "model.onnx", **choice)
    assert [node.op_type for node in program.model_proto.graph.node] == operators
    summary = flambeau.inspect(several / file, **choice)
    assert sorted(summary.alternatives) == (["decoder", "encoder"] if file == "several.pt2" else ["decode", "encode"])
    assert ("words.txt", 7) in summary.extra_files


@pytest.mark.parametrize(
    ("file", "choice", "message"),
    [
        ("several.pt2", {}, "2 models, none of them named 'model'.*'encoder'"),
        ("several.pt2", {"model_name": "head"}, "no model 'head'.*'decoder'"),
        ("several.pt2", {"method": "forward"}, "the method 'forward' is asked for"),
        ("coder.pt", {}, "no method 'forward'.*choose one of its methods, .*: decode, encode"),
        ("coder.pt", {"method": "head"}, "no method 'head'.*decode, encode"),
        ("coder.pt", {"model_name": "model"}, "the model 'model' is asked for"),
    ],
)
def test_none_of_several(several, file, choice, message):
    with pytest.raises(flambeau.errors.OnnxExporterError, match=f"(?s){message}"):
        flambeau.convert(several / file, several / "none.onnx", **choice)
    assert not (several / "none.onnx").exists()


def test_one_of_several_is_exported_and_verified(several, capsys):
    target = several / "model.onnx"
    program = flambeau.export(several / "several.pt2", f=target, model_name="encoder", verify=True)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Gemm"]
    assert all(comparison.ok for comparison in flambeau.verify(program))
    assert not flambeau.find_mismatch(program)
    assert command.main(["verify", str(several / "several.pt2"), str(target), "--model", "encoder"]) == 0
    assert command.main(["verify", str(several / "several.pt2"), str(target), "--model", "head"]) == 1
    assert "no model 'head'; choose one by its name: 'decoder', 'encoder'" in capsys.readouterr().err
    converted = flambeau.convert(several / "several.pt2", target, model_name="decoder")
    assert all(comparison.ok for comparison in flambeau.verify(converted))


def test_one_method_is_exported_and_verified(several):
    path, target, x = several / "coder.pt", several / "coder.onnx", torch.rand(5) + 1
    for model in (path, torch.jit.load(path)):
        program = flambeau.export(model, (x, 3), f=target, method="decode", dynamic_shapes=({0: "n"}, None), verify=True)
        assert {"Log", "Mul"} <= {node.op_type for node in program.model_proto.graph.node}
    assert [value.name for value in flambeau.export(torch.jit.load(path).encode, (x,)).inputs] == ["x"]
    program = flambeau.convert(path, target, method="encode", inputs={"x": "float32[n]"})
    assert all(comparison.ok for comparison in flambeau.verify(program, (x,)))
    assert command.main(["verify", str(path), str(target), "--method", "encode"]) == 0
    with pytest.raises(flambeau.errors.OnnxExporterError, match="no method 'head'; choose one of decode, encode"):
        flambeau.export(path, (x,), method="head")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="Linear has none to choose from"):
        flambeau.export(torch.nn.Linear(4, 2), (torch.ones(3, 4),), method="encode")
    with pytest.raises(flambeau.errors.OnnxExporterError, match="model_name chooses among the models of an archive"):
        flambeau.export(torch.nn.Linear(4, 2), (torch.ones(3, 4),), model_name="encoder")


class NumbersOfSizes(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.full((n,), 1.5), x.long() / 3, x + torch.arange(3.0), torch.hann_window(3), torch.cat([x, x]).sum() * 0.1


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.float32], ids=str)
def test_programs_tell_the_default_dtype_of_their_capture(tmp_path, dtype):
    args, before = (torch.arange(12.0).reshape(4, 3),), torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        expected = NumbersOfSizes()(*args)
        exported = torch.export.export(NumbersOfSizes(), args, dynamic_shapes={"x": {0: torch.export.Dim.DYNAMIC}})
    finally:
        torch.set_default_dtype(before)
    torch.export.save(exported, tmp_path / "model.pt2")
    for source in (exported, tmp_path / "model.pt2"):
        program = flambeau.export(source)
        for ours, theirs in zip(program(*args), expected, strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("loss", [torch.nn.functional.multi_margin_loss, torch.nn.functional.multilabel_margin_loss])
def test_margin_losses_of_one_sample_have_the_rank_that_eager_gives(loss, tmp_path):
    class Loss(torch.nn.Module):
        def forward(self, scores, target):
            each = loss(scores, target, reduction="none")
            return each, each * 2 + scores

    target = torch.tensor(2) if loss is torch.nn.functional.multi_margin_loss else torch.tensor([1, 0, -1, 2])
    args = torch.randn(4), target
    torch.export.save(torch.export.export(Loss(), args), tmp_path / "model.pt2")
    program = flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    for got, want in zip(program(*args), Loss()(*args), strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_program_captured_within_autocast(dtype, tmp_path):
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.LayerNorm(8), torch.nn.Linear(8, 3), torch.nn.Softmax(-1))
    x = torch.randn(2, 4)
    with torch.autocast("cpu", dtype=dtype):
        expected = model(x)
        torch.export.save(torch.export.export(model, (x,)), tmp_path / "model.pt2")
    program = flambeau.convert(tmp_path / "model.pt2", tmp_path / "model.onnx")
    (got,) = program(x)
    torch.testing.assert_close(got, expected, rtol=2e-2, atol=2e-2)


def test_metadata_is_that_of_exports(archive, tmp_path):
    for opset, version, said in ((13, 7, False), (18, 10, True)):
        model = flambeau.convert(archive[1], tmp_path / "model.onnx", opset_version=opset).model_proto
        assert (model.ir_version, any(node.metadata_props for node in model.graph.node)) == (version, said)
