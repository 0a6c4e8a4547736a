"""Proof that the numbers are right: verify, find_mismatch, diff, doctor, and their command."""

import json

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from onnxscript import opset18 as op

import flambeau
from flambeau import __main__ as command
from flambeau import _engine
from flambeau.verification.comparison import compare
from flambeau.diff import diff_models
from flambeau.doctor import diagnose
from flambeau.errors import VerificationError
from flambeau.verification.mismatch import find_mismatch
from flambeau.verification.other_sizes import second_inputs
from flambeau.verification.script_nodes import first_script_mismatch
from flambeau.verification import verify


class Inner(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 3


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), Inner()
        torch.nn.init.eye_(self.first.weight)  # so that the second gets numbers of both signs

    def forward(self, x, ids):
        return self.second(self.first(x)).sum(1), ids + 1


ARGS = (torch.linspace(-2, 2, 12).reshape(3, 4), torch.tensor([4, 5, 6]))
SHAPES = {"x": {0: "rows"}, "ids": {0: "count"}}
WRONG_RELU = {torch.ops.aten.relu.default: lambda x: op.Abs(x)}


def test_verify_at_two_sizes():
    program = flambeau.export(Model(), ARGS, dynamic_shapes=SHAPES)
    comparisons = verify(program, ARGS)
    assert [(c.inputs, c.ok, c.dtype) for c in comparisons] == [
        ("example", True, "float32"), ("example", True, "int64"),
        ("count=6, rows=6", True, "float32"), ("count=6, rows=6", True, "int64"),
    ]


def test_verify_finds_a_frozen_size():
    """The example agrees; only inputs of another size show the constant."""
    table = {torch.ops.aten.sum.dim_IntList: lambda x, dim, keepdim=False, dtype=None: op.Mul(op.ReduceMean(x, dim, keepdims=0), 3.0)}

    class Sum(torch.nn.Module):
        def forward(self, x):
            return x.sum(0)

    with pytest.raises(VerificationError, match=r"output 0 'sum_1' \(rows=6\) differs from PyTorch's: values") as raised:
        flambeau.export(Sum(), (torch.randn(3, 4),), dynamic_shapes=({0: "rows"},), custom_translation_table=table, verify=True)
    assert [c.ok for c in raised.value.comparisons] == [True, False]


def test_second_inputs_keep_to_ranges_and_relations():
    class Two(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y])[: x.shape[0]] + x

    n = torch.export.Dim("n", min=2, max=3)
    exported = torch.export.export(Two(), (torch.ones(3), torch.ones(6)), dynamic_shapes=({0: n}, {0: 2 * n}))
    words, (args, _) = second_inputs(exported, *exported.example_inputs, [["n"], ["2*n"]])
    assert (words, [tuple(x.shape) for x in args]) == ("n=2", [(2,), (4,)])
    static = torch.export.export(Two(), (torch.ones(3), torch.ones(6)))
    assert second_inputs(static, *static.example_inputs) is None


def test_second_inputs_where_the_capture_narrowed_a_dimension_to_one_size():
    class Added(torch.nn.Module):
        def forward(self, x, y):
            return x + y, x.shape[0]

    args = (torch.randn(2, 3), torch.randn(3))
    program = flambeau.export(Added(), args, dynamic_axes={"x": [0, 1]}, verify=True)
    assert program.inputs[0].sizes == ["x_dynamic_axes_1", "3"]
    words, (others, _) = second_inputs(program.exported_program, args, {})
    assert [tuple(x.shape) for x in others] == [(5, 3), (3,)], words


def test_first_mismatch_is_located():
    program = flambeau.export(Model(), ARGS, custom_translation_table=WRONG_RELU)
    mismatch = find_mismatch(program)
    assert mismatch and (mismatch.node.name, mismatch.module, mismatch.checked) == ("relu", "second", 2)
    assert "torch.relu(x) * 3" in repr(mismatch) and mismatch.comparison.cause.startswith("values")
    assert not find_mismatch(flambeau.export(Model(), ARGS))


@pytest.mark.parametrize(
    ("actual", "expected", "cause"),
    [
        (np.ones(3, np.float32), np.ones(3, np.float32) + 5e-5, None),
        (np.ones(3, np.float32), np.ones(3), "dtype"),
        (np.ones((3, 1)), np.ones(3), "shape"),
        (np.array([1, np.inf]), np.array([1, 2.0]), "not finite"),
        (np.array([np.nan, np.inf]), np.array([np.nan, np.inf]), None),
        (np.ones(3, np.float32), np.ones(3, np.float32) + 5e-4, "rounding"),
        (np.array([1, 2, 3]), np.array([1, 2, 4]), "values"),
        (np.array([True]), np.array([False]), "values"),
        (np.empty((0, 2)), np.empty((0, 2)), None),
        (np.array([1 + 1j]), np.array([1 + 2j]), "values"),
    ],
)
def test_causes(actual, expected, cause):
    result = compare("x", actual, expected)
    assert result.ok == (cause is None) and result.cause.startswith(cause or "")
    assert not result.ok or sum(result.histogram) == actual.size


@pytest.fixture
def files(tmp_path):
    exported = torch.export.export(Model(), ARGS, dynamic_shapes={"x": {0: torch.export.Dim("rows")}, "ids": {0: torch.export.Dim("count")}})
    torch.export.save(exported, tmp_path / "model.pt2")
    flambeau.export(exported, f=tmp_path / "right.onnx")
    flambeau.export(exported, f=tmp_path / "wrong.onnx", custom_translation_table=WRONG_RELU)
    return tmp_path


def test_command_verify(files, capsys):
    assert command.main(["verify", str(files / "model.pt2"), str(files / "right.onnx")]) == 0
    assert capsys.readouterr().out.count("agrees") == 4
    assert command.main(["verify", "--nodes", str(files / "model.pt2"), str(files / "wrong.onnx")]) == command.EXIT_DIFFERENT
    assert "DIFFERS (values" in capsys.readouterr().out
    assert command.main(["verify", str(files / "nothing.pt2"), str(files / "right.onnx")]) == 1
    assert "nothing.pt2" in capsys.readouterr().err


def test_command_says_which_file_is_no_model(files, capsys):
    for said, words in (
        (["verify", "right.onnx", "model.pt2"], "model.pt2 is an archive and no ONNX model; the archive comes first"),
        (["verify", "model.pt2", "nothing.onnx"], "nothing.onnx: No such file or directory"),
        (["diff", "nothing.onnx", "right.onnx"], "nothing.onnx: No such file or directory"),
    ):
        assert command.main([said[0], *(str(files / name) for name in said[1:])]) == 1
        assert words in capsys.readouterr().err


def test_mismatch_in_a_file_is_located(files, capsys):
    """The file itself is looked into, by the names that its values kept."""
    exported = torch.export.load(files / "model.pt2")
    flambeau.export(exported, f=files / "plain.onnx", custom_translation_table=WRONG_RELU, optimize=False)
    assert command.main(["verify", "--nodes", str(files / "model.pt2"), str(files / "plain.onnx")]) == command.EXIT_DIFFERENT
    said = capsys.readouterr().out
    assert "first mismatch: %relu" in said and "in module 'second'" in said and "cause: operator" in said


def test_kinds_of_mismatches():
    class Mean(torch.nn.Module):
        def forward(self, x):
            return x.sum(0)

    frozen = {torch.ops.aten.sum.dim_IntList: lambda x, dim, keepdim=False, dtype=None: op.Mul(op.ReduceMean(x, dim, keepdims=0), 3.0)}
    program = flambeau.export(Mean(), (torch.randn(3, 4),), dynamic_shapes=({0: "rows"},), custom_translation_table=frozen)
    assert (find_mismatch(program).kind, find_mismatch(program).node.name) == ("constant", "sum_1")
    program = flambeau.export(Model(), ARGS, custom_translation_table=WRONG_RELU)
    assert find_mismatch(program).kind == "operator"
    close = {torch.ops.aten.relu.default: lambda x: op.Mul(op.Relu(x), 1.0005)}
    assert find_mismatch(flambeau.export(Model(), ARGS, custom_translation_table=close)).kind == "rounding"

    class Small(torch.nn.Module):
        """What is wrong by a hundredth is not rounding, however small the numbers are."""

        def forward(self, x):
            return torch.softmax(x, -1)

    hotter = {torch.ops.aten.softmax.int: lambda x, dim: op.Softmax(op.Mul(x, 1.01), axis=dim)}
    assert find_mismatch(flambeau.export(Small(), (torch.randn(2, 64),), custom_translation_table=hotter)).kind == "operator"


def test_export_verifies_an_archive(files):
    program = flambeau.export(files / "model.pt2", verify=True)
    assert program.exported_program is None
    flambeau.export(files / "model.pt2", ARGS, verify=True)
    with pytest.raises(VerificationError, match="(?s)differs from PyTorch's.*first mismatch: %relu.*module 'second'"):
        flambeau.export(files / "model.pt2", verify=True, custom_translation_table=WRONG_RELU)


def test_export_verifies_torchscript_at_two_sizes(tmp_path, monkeypatch):
    class Rows(torch.nn.Module):
        def forward(self, x, y: int):
            return x.sum(0) * y

    path = tmp_path / "model.pt"
    torch.jit.script(Rows()).save(str(path))
    seen = []
    monkeypatch.setattr(_engine.ConversionReport, "add_comparison", lambda _, comparison: seen.append((comparison.inputs, comparison.ok)))
    program = flambeau.export(path, (torch.randn(3, 4), 2), dynamic_shapes={"x": {0: "rows"}}, verify=True)
    assert program.inputs[0].sizes == ["rows", "4"] and seen == [("example", True), ("rows=6", True)]
    frozen = {torch.ops.aten.sum.dim_IntList: lambda x, dim, keepdim=False, dtype=None: op.Mul(op.ReduceMean(x, dim, keepdims=0), 3.0)}
    with pytest.raises(VerificationError, match=r"\(rows=6\) differs"):
        flambeau.export(path, (torch.randn(3, 4), 2), dynamic_shapes={"x": {0: "rows"}}, verify=True, custom_translation_table=frozen)
    with pytest.raises(VerificationError, match="pass args"):
        flambeau.export(traced(tmp_path), verify=True)


def traced(folder):
    """An archive that says what its inputs are."""
    torch.jit.trace(torch.nn.ReLU(), torch.ones(2, 3)).save(str(folder / "traced.pt"))
    return folder / "traced.pt"


def test_command_verifies_torchscript(tmp_path, capsys):
    torch.jit.script(Inner()).save(str(tmp_path / "model.pt"))
    flambeau.export(torch.jit.load(tmp_path / "model.pt"), (torch.randn(3, 4),), tmp_path / "model.onnx", dynamic_shapes=({0: "n"},))
    assert command.main(["verify", str(tmp_path / "model.pt"), str(tmp_path / "model.onnx")]) == 0
    said = capsys.readouterr().out
    assert said.count("agrees") == 2 and "(n=4)" in said and "(n=7)" in said


def test_report_compares_by_module(tmp_path):
    flambeau.export(Model(), ARGS, verify=True, report=True, artifacts_dir=tmp_path)
    (path,) = tmp_path.glob("*.json")
    rows = json.loads(path.read_text())["comparisons"]
    assert [row["module"] for row in rows] == ["", "", "first", "second", "(model)"]
    with pytest.raises(VerificationError):
        flambeau.export(Model(), ARGS, verify=True, report=True, artifacts_dir=tmp_path / "bad", custom_translation_table=WRONG_RELU)
    (path,) = (tmp_path / "bad").glob("*_accuracy.json")
    rows = json.loads(path.read_text())["comparisons"]
    assert {row["module"]: row["ok"] for row in rows if row["module"]} == {"first": True, "second": False, "(model)": False}


def test_a_file_that_says_nothing_of_its_nodes_is_compared_by_a_new_conversion(tmp_path, capsys):
    torch.jit.script(Inner()).save(str(tmp_path / "model.pt"))
    wrong = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 20]> m (float[n] x) => (float[n] y) { y = Abs(x) }')
    onnx.save(wrong, tmp_path / "wrong.onnx")
    said = ["verify", "--nodes", str(tmp_path / "model.pt"), str(tmp_path / "wrong.onnx")]
    assert command.main(said) == command.EXIT_DIFFERENT
    printed = capsys.readouterr().out
    assert "its nodes do not say what they come from" in printed and "a new conversion of the archive agrees at each operator" in printed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(flambeau.onnx.verification, "_run", lambda program, tensors, options: [torch.zeros(4)])
        assert command.main(said) == command.EXIT_DIFFERENT
    assert "first mismatch of a new conversion (n=4): aten::relu" in capsys.readouterr().out


class Blocks(torch.nn.Module):
    """Operators in branches on the module's own attributes, writes in place, and a batch norm that goes into the weights."""

    def __init__(self):
        super().__init__()
        layers = [[torch.nn.Conv2d(3, 3, 3, padding=1), torch.nn.BatchNorm2d(3), torch.nn.ReLU(inplace=True)] for _ in range(2)]
        self.layers = torch.nn.ModuleList([torch.nn.Sequential(*each) for each in layers])
        for layer in self.layers:
            torch.nn.init.constant_(layer[1].running_var, 0.25)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x) + x
        return torch.sigmoid(x).mean([2, 3])


SWAPPED = {torch.ops.aten.batch_norm.default: lambda x, w, b, m, v, t, mo, e, c: op.BatchNormalization(x, w, b, v, m, epsilon=e)}
TANH = {torch.ops.aten.sigmoid.default: lambda x: op.Tanh(x)}


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("capture", ["script", "trace", "export"])
def test_the_files_own_nodes_are_compared(capture, optimize, tmp_path, capsys):
    model, x = Blocks().eval(), torch.randn(2, 3, 4, 4)
    path = str(tmp_path / "model.pt2")
    if capture == "export":
        torch.export.save(torch.export.export(model, (x,)), path)
    else:
        (torch.jit.script(model) if capture == "script" else torch.jit.trace(model, x)).save(path)
    said = ["verify", "--nodes", path, str(tmp_path / "model.onnx")]
    for table, operator, module in ((TANH, "sigmoid", "(model)"), (SWAPPED, "batch_norm", "layers.0.1")):
        args = () if capture == "export" else (x,)
        flambeau.export(path, args, custom_translation_table=table, optimize=optimize).save(said[-1], external_data=table is TANH)
        assert command.main(said) == command.EXIT_DIFFERENT
        printed = capsys.readouterr().out
        if capture != "export":
            assert f"first mismatch: aten::{operator} in module '{module}' at " in printed and "new conversion" not in printed
        elif operator == "sigmoid":
            assert f"first mismatch: %{operator}" in printed
        else:  # which torch.export takes apart
            assert "no mismatch" not in printed or "DIFFERS" not in printed


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("make", [torch.jit.script, lambda model: torch.jit.trace(model, torch.randn(2, 3, 4, 4))], ids=["script", "trace"])
def test_right_values_are_taken_for_the_calls_that_give_them(make, optimize, tmp_path):
    """Whatever was merged: each value that has a counterpart agrees with it."""
    script, x = make(Blocks().eval()), torch.randn(2, 3, 4, 4)
    program = flambeau.export(script, (x,), optimize=optimize)
    found = first_script_mismatch(program.model_proto, script, (x,), lambda names: program.compute_values(names, (x,)), inputs="example")
    assert found.comparison is None and found.checked == (8 if optimize else 10) and found.operators == 10


class Methods(torch.nn.Module):
    def forward(self, x):
        return x

    @torch.jit.export
    def scaled(self, x, by: int, more: float = 1.0):
        return torch.relu(x) * by + more


def test_command_verifies_a_method(tmp_path, capsys):
    path, file = str(tmp_path / "model.pt"), str(tmp_path / "model.onnx")
    torch.jit.script(Methods()).save(path)
    flambeau.export(path, (torch.randn(3), 2), file, method="scaled", dynamic_shapes=({0: "n"}, None))
    said = ["verify", path, file]
    assert command.main([*said, "--method", "scaled", "--input", "by=2"]) == 0
    assert capsys.readouterr().out.count("agrees") == 2
    assert command.main([*said, "--method", "scaled", "--input", "by=3", "--nodes"]) == command.EXIT_DIFFERENT
    assert "first mismatch: aten::mul" in capsys.readouterr().out
    assert command.main(said) == command.EXIT_DIFFERENT  # forward is another
    for more, words in (
        (["--method", "scaled"], "the argument 'by' (int); say what it was converted with: --input by=VALUE"),
        (["--method", "scaled", "--input", "of=2"], "no argument 'of'; it has x, by, more"),
        (["--method", "scaled", "--input", "by"], "write NAME=VALUE"),
        (["--method", "other"], "no method 'other'; choose one of forward, scaled"),
        (["--model", "other"], "the model 'other' is asked for"),
    ):
        capsys.readouterr()
        assert command.main([*said, *more]) == 1
        assert words in capsys.readouterr().err
    flambeau.export(path, (torch.randn(3), 2), file, method="scaled", dynamo=False)  # where numbers are inputs
    assert command.main([*said, "--method", "scaled"]) == 0


@pytest.mark.needs("torch.export.pt2_archive._package.package_pt2")
def test_command_verifies_one_of_several_models(tmp_path, capsys):
    from torch.export.pt2_archive._package import package_pt2

    path, file = str(tmp_path / "models.pt2"), str(tmp_path / "model.onnx")
    programs = {name: torch.export.export(module, (torch.randn(3),)) for name, module in (("a", Inner()), ("b", torch.nn.Tanh()))}
    package_pt2(path, exported_programs=programs)
    flambeau.export(path, f=file, model_name="a")
    assert command.main(["verify", path, file, "--model", "a"]) == 0
    assert command.main(["verify", path, file, "--model", "b"]) == command.EXIT_DIFFERENT
    capsys.readouterr()
    assert command.main(["verify", path, file]) == 1
    assert "choose one by its name: 'a', 'b'" in capsys.readouterr().err


def test_operators_of_a_module_with_plain_attributes_are_told_apart():
    """Scripted batch norms have bools among theirs."""
    model = torch.jit.script(Blocks().eval())
    info = flambeau.onnx.verification.find_mismatch(model, (torch.randn(2, 3, 4, 4),))
    assert not info.has_mismatch() and "aten::sigmoid" in info.essential_node_kinds()


def test_diff(files, capsys):
    assert command.main(["diff", str(files / "right.onnx"), str(files / "right.onnx")]) == 0
    assert command.main(["diff", str(files / "right.onnx"), str(files / "wrong.onnx")]) == command.EXIT_DIFFERENT
    lines = capsys.readouterr().out
    assert "nodes Abs in module" in lines and "nodes Relu in module" in lines and "Inner" in lines
    model = onnx.load(files / "right.onnx")
    onnx.helper.set_model_props(model, {"who": "me"})
    bias = next(tensor for tensor in model.graph.initializer if tensor.name == "first.bias")
    values = onnx.numpy_helper.to_array(bias).copy()
    values[1] += 0.5
    bias.CopyFrom(onnx.numpy_helper.from_array(values, "first.bias"))
    onnx.save(model, files / "changed.onnx")
    assert diff_models(files / "right.onnx", files / "changed.onnx") == [
        "weight 'first.bias': largest difference 0.5, in 1 of 4 elements",
        "metadata 'who': only in the second (me)",
    ]


def test_diff_of_what_nodes_are_given():
    """As many nodes of each operator, and yet another model."""

    def model(body):
        return ir.from_proto(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 20]> m (float[2] x, float[2] y) => (float[2] z) {{ {body} }}'))

    first = model('a = Gelu(x) b = Sub(a, y) z = Gelu<approximate="tanh">(b)')
    assert diff_models(first, model('c = Gelu(x) d = Sub(c, y) z = Gelu<approximate="tanh">(d)')) == []
    assert diff_models(first, model("a = Gelu(x) b = Sub(a, y) z = Gelu(b)")) == ["attributes of Gelu in module '(model)': (approximate=tanh) / ()"]
    assert diff_models(first, model('a = Gelu(x) b = Sub(y, a) z = Gelu<approximate="tanh">(b)')) == [
        "inputs of Sub in module '(model)': (Gelu, input y) / (input y, Gelu)"
    ]


def test_doctor(monkeypatch, capsys):
    lines, fine = diagnose()
    assert fine and lines[0].startswith(f"flambeau {flambeau.__version__}: opsets 7 to")
    assert any(line.split()[:2] == ["ok", "torch"] for line in lines)
    import importlib.metadata

    real = importlib.metadata.version

    def version(name):
        if name == "onnxscript":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.0.0" if name == "torch" else real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    assert command.main(["doctor"]) == 1
    text = capsys.readouterr().out
    assert "missing  onnxscript: pip install onnxscript" in text and "too old  torch 1.0.0" in text


def test_a_size_that_was_frozen_is_found_where_the_runtime_fails(files, capsys):
    """The model does not even run at other sizes: that is no reason to say less."""
    frozen = {torch.ops.aten.relu.default: lambda x: op.Reshape(op.Relu(x), op.Constant(value_ints=[3, 8]))}

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = torch.nn.Linear(4, 8), torch.nn.ReLU()

        def forward(self, x):
            return self.second(self.first(x)) * 2

    x, options = torch.randn(3, 4), {"dynamic_shapes": ({0: "rows"},), "custom_translation_table": frozen}
    exported = torch.export.export(Net(), (x,), dynamic_shapes=({0: torch.export.Dim("rows")},))
    program = flambeau.export(exported, f=files / "frozen.onnx", custom_translation_table=frozen, optimize=False)
    mismatch = find_mismatch(program)
    assert (mismatch.kind, mismatch.node.name, mismatch.module) == ("constant", "relu", "second")
    with pytest.raises(flambeau.errors.VerificationError, match=r"(?s)output 0 'mul' \(rows=6\) is not computed: .*module 'second'.*a constant"):
        flambeau.export(Net(), (x,), verify=True, **options)
    torch.export.save(exported, files / "net.pt2")
    assert command.main(["verify", "--nodes", str(files / "net.pt2"), str(files / "frozen.onnx")]) == command.EXIT_DIFFERENT
    said = capsys.readouterr().out
    assert "agrees   mul (example)" in said and "DIFFERS (not computed" in said and "in module 'second'" in said


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}], ids=["export", "trace"])
def test_a_model_is_afterwards_what_it_was(options):
    class Counts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("seen", torch.zeros(3))

        def forward(self, x):
            self.seen.add_(1)
            return x + self.seen

    model = Counts()
    program = flambeau.export(model, (torch.ones(2, 3),), dynamic_shapes=({0: "n"},), verify=True, **options)
    assert torch.equal(model.seen, torch.zeros(3)) and torch.equal(program(torch.ones(2, 3))[0], torch.full((2, 3), 2.0))


@pytest.mark.parametrize("rows", [3, 0])
def test_second_inputs_are_where_the_first_are(rows):
    class Both(torch.nn.Module):
        def forward(self, x, ids):
            return x * 2, ids + 1

    n = torch.export.Dim("n", min=0)
    args = torch.empty(3, 4, device="meta"), torch.empty(3, dtype=torch.int64, device="meta")
    exported = torch.export.export(Both(), args, dynamic_shapes=({0: n}, {0: n}))
    given = tuple(each[:rows] for each in args)
    _, (others, _) = second_inputs(exported, given, {})
    assert [(each.device.type, each.dtype, len(each)) for each in others] == [("meta", torch.float32, rows + 3), ("meta", torch.int64, rows + 3)]
