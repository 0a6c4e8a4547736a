"""flambeau.onnx has torch.onnx's names, and flambeau.install() puts it behind them."""

import contextlib
import importlib
import inspect
import io
import logging
import re
import types

import onnx
import onnxruntime
import pytest
import torch
import torch.onnx

import flambeau
from flambeau import onnx as fonnx

PASSES = "a step of torch's own pipeline of passes over torch._C.Graph, which Flambeau has not"
INTERPOLATION = "makes symbolic functions of torch's own table; symbolic_opset9.upsample_* are Flambeau's"

# Names that flambeau.onnx has not, each with the reason.
WITHOUT_COUNTERPART = {
    "torch.onnx": {},
    "torch.onnx.errors": {},
    "torch.onnx.operators": {},
    "torch.onnx.verification": {},
    "torch.onnx.utils": {
        name: PASSES
        for name in (
            "_apply_friendly_debug_names _check_flatten_did_not_remove _create_jit_graph _decide_add_node_names "
            "_decide_constant_folding _decide_input_format _decide_keep_init_as_input _get_aten_op_overload_name "
            "_get_example_outputs _get_module_attributes _get_named_param_dict _get_param_count_list "
            "_is_constant_tensor_list _model_to_graph _optimize_graph _pre_trace_quant_model _reset_trace_module_map "
            "_resolve_args_by_export_type _run_symbolic_function _run_symbolic_method _set_input_and_output_names "
            "_setup_trace_module_map _should_aten_fallback _signature _split_tensor_list_constants "
            "_trace_and_get_graph_from_model _trace _trigger_symbolic_function_registration _validate_dynamic_axes "
            "_verify_custom_op_name"
        ).split()
    },
    "torch.onnx.symbolic_helper": {
        **{
            name: INTERPOLATION
            for name in (
                "_get_interpolate_attributes _interpolate_get_scales_and_mode _interpolate_get_scales_if_available "
                "_interpolate_get_scales _interpolate_helper _interpolate_size_to_scales _interpolate_warning"
            ).split()
        },
        "_arange_cast_helper": "part of torch's arange; symbolic_opset9.arange is Flambeau's",
        "_batchnorm_helper": "part of torch's batch_norm; symbolic_opset9.batch_norm is Flambeau's",
        "_index_fill_reshape_helper": "part of torch's index_fill; symbolic_opset9.index_fill is Flambeau's",
        "_repeat_interleave_single_value_repeat_helper": "part of torch's repeat_interleave; symbolic_opset9 has Flambeau's",
        "_repeat_interleave_split_helper": "part of torch's repeat_interleave; symbolic_opset9 has Flambeau's",
    },
}
# What torch.onnx imports for itself.
IMPORTS = {"TYPE_CHECKING", "annotations", "torch", "Any"}

X = torch.randn(2, 3)


def public_names(module):
    """What its own or its implementation's __all__ says, and deprecated names, which are in none."""
    names = set(getattr(module, "__all__", ()))
    with contextlib.suppress(ImportError, AttributeError):
        names |= set(importlib.import_module(module.__name__.replace("torch.onnx", "torch.onnx._internal.torchscript_exporter")).__all__)
    if module is torch.onnx or not names:
        names |= {name for name in vars(module) if not name.startswith("_")} - IMPORTS
    return names


@pytest.mark.parametrize("name", WITHOUT_COUNTERPART)
def test_every_name_has_its_counterpart_or_a_reason(name):
    theirs = importlib.import_module(name)
    ours = fonnx if name == "torch.onnx" else getattr(fonnx, name.rpartition(".")[2])
    lacking = {each for each in public_names(theirs) if not hasattr(ours, each)}
    assert lacking == set(WITHOUT_COUNTERPART[name])
    assert all(WITHOUT_COUNTERPART[name].values())


def test_every_name_of_ours_is_there():
    for name in fonnx.__all__:
        assert getattr(fonnx, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        fonnx.nothing  # noqa: B018


def test_options_are_torchs():
    theirs, ours = (inspect.signature(function).parameters for function in (torch.onnx.export, fonnx.export))
    assert set(theirs) <= set(ours)
    for name, parameter in theirs.items():
        assert ours[name].default == parameter.default or name == "args", name


def test_exceptions_are_caught_as_torchs():
    for name in ("OnnxExporterError", "UnsupportedOperatorError", "SymbolicValueError"):
        assert issubclass(getattr(fonnx.errors, name), getattr(torch.onnx.errors, name))
    assert issubclass(fonnx.CheckerError, torch.onnx.OnnxExporterError)
    with pytest.raises(torch.onnx.errors.UnsupportedOperatorError):
        raise fonnx.UnsupportedOperatorError("of our own making, with a message alone")
    assert str(fonnx.UnsupportedOperatorError("aten::foo", 9, 11)) == "aten::foo cannot be converted at opset 9; opset 11 has it"


def test_modules_that_bring_their_arguments():
    class Own(fonnx.ExportableModule):
        def forward(self, x):
            return torch.relu(x)

        def example_arguments(self):
            return (X,), None

        def input_names(self):
            return ("image",)

        def dynamic_shapes(self):
            return ({0: "batch"},)

    assert issubclass(fonnx.ExportableModule, getattr(torch.onnx, "ExportableModule", torch.nn.Module))
    program = Own().to_onnx(opset_version=18)
    assert isinstance(program, flambeau.ONNXProgram)
    assert [(value.name, value.sizes) for value in program.inputs] == [("image", ["batch", "3"])]


@pytest.mark.needs("torch.onnx.InputObserver")
def test_inputs_that_were_observed():
    observer, model = fonnx.InputObserver(), torch.nn.Linear(3, 4)
    with observer(model):
        for rows in (2, 3, 5):
            model(torch.randn(rows, 3))
    program = fonnx.export(model, observer.infer_arguments(), dynamic_shapes=observer.infer_dynamic_shapes())
    assert not program.inputs[0].sizes[0].isdecimal()
    assert [found["SUCCESS"] for found in observer.check_discrepancies(program)] == [True] * 3


# --- element types, modes, logs -----------------------------------------------------------


def test_element_types_are_torchs():
    from torch.onnx import JitScalarType as theirs

    ours = fonnx.JitScalarType
    assert [(each.name, each.value) for each in ours] == [(each.name, each.value) for each in theirs]
    for a, b in zip(ours, theirs):
        assert (a.scalar_name(), a.onnx_type(), a.onnx_compatible()) == (b.scalar_name(), b.onnx_type(), b.onnx_compatible())
        if a.name != "UNDEFINED":
            assert a.torch_name() == b.torch_name()
            assert a.dtype() == b.dtype() and ours.from_dtype(a.dtype()) == theirs.from_dtype(a.dtype())
    for value in (X, X.half(), torch.ones(1, dtype=torch.int64)):
        assert ours.from_value(value) == theirs.from_value(value)
    assert ours.from_value(None, ours.FLOAT) == ours.FLOAT
    assert ours.from_onnx_type(fonnx.TensorProtoDataType.INT8) == ours.INT8
    assert ours.from_name("Float") == ours.from_name("float") == ours.FLOAT
    with pytest.raises(fonnx.OnnxExporterError, match="no element type 'Real'"):
        ours.from_name("Real")


def test_symbolic_functions_of_an_opset_are_modules():
    from flambeau.onnx import symbolic_opset9
    from flambeau.onnx.symbolic_opset11 import relu

    assert relu.__name__ == "relu" and symbolic_opset9.sigmoid is importlib.import_module("flambeau.onnx.symbolic_opset9").sigmoid


def test_symbolic_functions_go_by_torchs_names():
    """Of arguments, which are not always the operator's; and what is no operator is torch's own function."""
    from flambeau.onnx import symbolic_opset9, symbolic_opset13

    class Both(torch.nn.Module):
        def forward(self, x):
            return torch.ops.aten.sigmoid_backward(x, x)

    def both(g, x, _):
        return symbolic_opset9.tanhshrink(g, symbolic_opset13.softmax(g, dim=1, input=symbolic_opset9.relu(g, input=x)))

    fonnx.register_custom_op_symbolic("aten::sigmoid_backward", both, 9)
    try:
        program = fonnx.export(Both(), (X,), dynamo=False)
    finally:
        fonnx.unregister_custom_op_symbolic("aten::sigmoid_backward", 9)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Relu", "Softmax", "Tanh", "Sub"]


def test_submodules_can_be_imported():
    for name in ("ops", "testing", "errors", "operators", "symbolic_helper", "symbolic_opset17", "utils", "verification"):
        theirs, ours = (importlib.import_module(f"{package}.{name}") for package in ("torch.onnx", "flambeau.onnx"))
        assert getattr(fonnx, name) is ours and {each for each in getattr(theirs, "__all__", ()) if not hasattr(ours, each)} == set()


@pytest.mark.parametrize("strategy", ["non-strict", "strict"])
@pytest.mark.parametrize("backend", ["onnxruntime", "reference"])
def test_programs_pass_torchs_own_check(strategy, backend):
    class Parts(torch.nn.Module):
        def forward(self, x, more, *, scale=2):
            return torch.fft.fft(x) * scale, None, more["y"].sum()

    program = fonnx.export(Parts(), (X, {"y": X}), kwargs={"scale": 3}, capture_strategies=[strategy])
    name = {"non-strict": "TorchExportNonStrictStrategy", "strict": "TorchExportStrictStrategy"}[strategy]
    fonnx.testing.assert_onnx_program(program, strategy=name, backend=backend)
    with pytest.raises(ValueError, match="Expected strategy 'TorchExportDraftExportStrategy'"):
        fonnx.testing.assert_onnx_program(program, strategy="TorchExportDraftExportStrategy")


@pytest.mark.parametrize("mode", ["EVAL", "TRAINING", "PRESERVE"])
def test_modes(mode):
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.ReLU().eval())
    before = [module.training for module in model.modules()]
    with fonnx.select_model_mode_for_export(model, getattr(fonnx.TrainingMode, mode)):
        expected = {"EVAL": [False] * 3, "TRAINING": [True] * 3, "PRESERVE": before}[mode]
        assert [module.training for module in model.modules()] == expected
    assert [module.training for module in model.modules()] == before
    with fonnx.set_training(model, False):
        assert not model.training
    with pytest.raises(TypeError, match="must be a TrainingMode"), fonnx.select_model_mode_for_export(model, True):
        pass


@pytest.mark.parametrize("dynamo", [True, False])
def test_models_see_the_export(dynamo):
    class Model(torch.nn.Module):
        def forward(self, x):
            assert fonnx.is_in_onnx_export() and torch.onnx.is_in_onnx_export()
            return x + 1

    assert not fonnx.is_in_onnx_export()
    fonnx.export(Model(), (X,), dynamo=dynamo)
    assert not fonnx.is_in_onnx_export() and not torch.onnx.is_in_onnx_export()


def test_log(capsys):
    fonnx.enable_log()
    assert fonnx.is_onnx_log_enabled() and logging.getLogger("flambeau").isEnabledFor(logging.INFO)
    fonnx.export(torch.nn.ReLU(), (X,))
    shown = capsys.readouterr().err
    assert re.search(r"capture: non-strict: \d+\.\d+ s", shown) and "conversion: converted" in shown
    fonnx.disable_log()
    fonnx.export(torch.nn.ReLU(), (X,))
    assert not fonnx.is_onnx_log_enabled() and "capture" not in capsys.readouterr().err


def test_stages_are_logged(caplog):
    with caplog.at_level(logging.DEBUG, logger="flambeau"):
        fonnx.export(torch.nn.ReLU(), (X,))
    assert any(record.levelno == logging.DEBUG and record.message.startswith("simplify: ") for record in caplog.records)


# --- what is asked beside a model --------------------------------------------------------------


def test_pretty_strings():
    text = fonnx.export_to_pretty_string(torch.nn.Linear(3, 4), (X,), input_names=["image"], verbose=False)
    assert "Gemm" in text and "image" in text


def test_unconvertible_operators_are_listed_at_once():
    class Model(torch.nn.Module):
        def forward(self, x):
            # The second and third need the results of others that fail.
            return torch.ops.aten.sigmoid_backward(x, x) + torch.ops.aten.tanh_backward(torch.relu(torch.ops.aten.sigmoid_backward(x, x)), x)

    graph, operators = fonnx.utils.unconvertible_ops(Model(), (X,), opset_version=15)
    assert operators == ["aten::sigmoid_backward", "aten::tanh_backward"]
    assert any(node.kind() == "aten::relu" for node in graph.nodes())
    assert fonnx.unconvertible_ops(torch.nn.ReLU(), X)[1] == []


def test_shapes_as_tensors():
    class Model(torch.nn.Module):
        def forward(self, x):
            shape = fonnx.operators.shape_as_tensor(x)
            return fonnx.operators.reshape_from_tensor_shape(x * 2, shape.flip(0))

    program = fonnx.export(Model(), (X,), dynamo=False, input_names=["x"], dynamic_axes={"x": [0]})
    assert program(torch.randn(5, 3))[0].shape == (3, 5)


# --- verification ------------------------------------------------------------------------------------


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)

    def forward(self, x):
        a, b = self.second(torch.relu(self.first(x))).chunk(2, dim=1)
        return a.sigmoid() * b, [a]


@pytest.fixture
def wrong_relu():
    fonnx.register_custom_op_symbolic("aten::relu", lambda g, x: g.op("Tanh", x), 9)
    yield
    fonnx.unregister_custom_op_symbolic("aten::relu", 9)


def test_verify():
    options = fonnx.verification.VerificationOptions(backend=fonnx.verification.OnnxBackend.REFERENCE)
    fonnx.verification.verify(Net(), (X,))
    fonnx.verification.verify(
        Net(), X, input_names=["x"], dynamic_axes={"x": {0: "n"}}, additional_test_inputs=[torch.randn(5, 3)], options=options
    )


def test_verify_finds_differences(wrong_relu):
    with pytest.raises(AssertionError, match="output 0"):
        fonnx.verification.verify(Net(), (X,))
    lenient = fonnx.verification.VerificationOptions(acceptable_error_percentage=1.0)
    fonnx.verification.verify(Net(), (X,), options=lenient)


def test_find_mismatch(wrong_relu, capsys, tmp_path):
    info = fonnx.verification.find_mismatch(Net(), (X,))
    assert info.has_mismatch() and info.essential_node_count() == 6
    (leaf,) = info.all_mismatch_leaf_graph_info()
    assert leaf.essential_node_kinds() == {"aten::relu"}
    assert info.find_partition(leaf.id) is leaf
    leaf.pretty_print_mismatch()
    info.pretty_print_tree()
    shown = capsys.readouterr().out
    assert "✗ the whole graph, 6 operators" in shown and "aten::relu" in shown and "not close" in shown
    folder = leaf.export_repro(str(tmp_path), "relu")
    assert folder == str(tmp_path / "test_relu") and leaf.export_repro(str(tmp_path)) == str(tmp_path / f"test_mismatch_{leaf.id}")
    assert [node.op_type for node in onnx.load(f"{folder}/model.onnx").graph.node] == ["Tanh"]
    info.clear()
    assert not info.has_mismatch()


class Writing(torch.nn.Module):
    """Counts its runs, writes parts of a tensor of which it has another view, and gives a dict and None."""

    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(4)
        self.register_buffer("runs", torch.zeros(4))

    def forward(self, x, also, scale=None):
        self.runs[1:] += 1
        y = self.norm(x) + self.runs
        y[:, 0] = 5
        y = torch.relu(y).mul_(scale)
        return {"y": y.t(), "also": [also["x"] + 1]}, None


@pytest.mark.parametrize("mode", list(fonnx.TrainingMode.__members__.values()))
def test_find_mismatch_of_models_that_write(wrong_relu, mode):
    model, x = Writing(), torch.randn(3, 4)
    info = fonnx.verification.find_mismatch(model, (x, {"x": x}, {"scale": 2.0}), training=mode)
    assert [leaf.essential_node_kinds() for leaf in info.all_mismatch_leaf_graph_info()] == [{"aten::relu"}]
    assert not model.runs.any() and not model.norm.num_batches_tracked


def test_inputs_that_remain():
    def verify(*remaining):
        options = fonnx.verification.VerificationOptions(remained_onnx_input_idx=remaining)
        fonnx.verification.verify(torch.nn.Bilinear(3, 3, 2), (X, X), options=options)

    verify(0, 1)
    for remaining in ((0,), (0, 2)):
        with pytest.raises(ValueError, match="remained_onnx_input_idx is .*the model has 2 inputs"):
            verify(*remaining)


def test_nothing_to_find():
    class Loop(torch.nn.Module):
        def forward(self, x, n: int):
            for _ in range(n):
                x = x * 2
            return x

    assert not fonnx.verification.find_mismatch(Net(), (X,)).has_mismatch()
    assert not fonnx.verification.find_mismatch(torch.jit.script(Loop()), (X, 3)).has_mismatch()


# --- install ---------------------------------------------------------------------------------------------


def test_errors_that_torch_lost_are_back():
    with flambeau.installed():
        assert torch.onnx.errors.CheckerError is flambeau.errors.CheckerError
    assert not hasattr(torch.onnx.errors, "CheckerError")


def test_installed():
    theirs = torch.onnx.export, torch.onnx.ONNXProgram
    with flambeau.installed(), flambeau.installed():
        from torch.onnx import utils

        for call in (
            lambda f: torch.onnx.export(torch.nn.ReLU(), (X,), f),
            lambda f: torch.onnx.export(torch.nn.ReLU(), X, f, dynamo=False, keep_initializers_as_inputs=None),
            lambda f: utils.export(torch.nn.ReLU(), (X,), f, verbose=False),
            lambda f: importlib.import_module("torch.onnx.utils").export(torch.nn.ReLU(), (X,), f),
        ):
            file = io.BytesIO()
            call(file)
            assert onnx.load_model_from_string(file.getvalue()).producer_name == "flambeau"
        assert isinstance(torch.onnx.export(torch.nn.ReLU(), (X,)), torch.onnx.ONNXProgram)
        assert "Relu" in torch.onnx.export_to_pretty_string(torch.nn.ReLU(), (X,))
        assert isinstance(torch.onnx.verification.find_mismatch, types.FunctionType)
    assert (torch.onnx.export, torch.onnx.ONNXProgram) == theirs
    assert not hasattr(torch.onnx, "export_to_pretty_string")


def test_what_was_written_for_dynamo_export(tmp_path):
    class Scaled(Net):
        def forward(self, x, also, *, scale=1.0):
            return super().forward(x)[0] * scale, {"also": also[0] + 1, "none": None}

    model, args = Scaled(), (X, [torch.randn(2, 5)])
    with flambeau.installed():
        options = torch.onnx.ExportOptions(dynamic_shapes=True)
        program = torch.onnx.dynamo_export(model, *args, scale=2.0, export_options=options)
        fixed = torch.onnx.dynamo_export(model, *args)
        assert torch.onnx.utils.is_in_onnx_export() is False
    assert [value.sizes for value in fixed.inputs] == [["2", "3"], ["2", "5"]]
    assert [[size.isdecimal() for size in value.sizes] for value in program.inputs] == [[False, True], [False, False]]  # weights fix one
    program.save(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    args = torch.randn(4, 3), [torch.randn(7, 2)]
    feeds = {each.name: value.numpy() for each, value in zip(session.get_inputs(), program.adapt_torch_inputs_to_onnx(*args, scale=2.0))}
    expected = program.adapt_torch_outputs_to_onnx(model(*args, scale=2.0))
    for given, wanted in zip(session.run(None, feeds), expected, strict=True):
        torch.testing.assert_close(torch.from_numpy(given), wanted)
    for option in ("fake_context", "onnx_registry"):
        with pytest.raises(flambeau.errors.UnsupportedOptionError, match=option):
            fonnx.ExportOptions(**{option: object()})


def test_install_until_uninstall(tmp_path):
    theirs = torch.onnx.export
    flambeau.install()
    try:
        torch.onnx.export(torch.nn.ReLU(), (X,), str(tmp_path / "model.onnx"), dynamo=False)
    finally:
        flambeau.uninstall()
    assert torch.onnx.export is theirs
    assert onnx.load(tmp_path / "model.onnx").producer_name == "flambeau"


def test_every_dimension_of_keywords_is_dynamic_in_any_order():
    class Keywords(torch.nn.Module):
        def forward(self, x, *rest, a=None, b=None, c=1.0, **others):
            return x * 2 + a.sum() - b.mean(0).sum() * c + sum(each.sum() for each in (*rest, *others.values()))

    options = flambeau.onnx.ExportOptions(dynamic_shapes=True)
    given = {"d": torch.randn(2), "c": 2.0, "b": torch.randn(2, 3, 4), "a": torch.randn(5)}
    program = flambeau.onnx.dynamo_export(Keywords(), torch.randn(3, 4), torch.randn(6), export_options=options, **given)
    assert not [size for value in program.inputs for size in value.sizes if size.isdecimal()]


class Normed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x, y=None):
        return self.norm(x), {"y": y if torch.onnx.is_in_onnx_export() else None}


@pytest.mark.parametrize("where", ["torch.onnx", "torch.onnx.utils", "flambeau.onnx.utils"])
def test_exports_that_return_the_results(where):
    """``torch.onnx._export``, by which old programs compare results."""
    model, file = Normed().eval(), io.BytesIO()
    with flambeau.installed():
        function = importlib.import_module(where)._export
        results = function(model, (X, {"y": X + 1}), file, True, False, input_names=["x"], output_names=["out"])
    exported = onnx.load_model_from_string(file.getvalue())
    assert exported.producer_name == "flambeau" and exported.graph.output[0].name == "out"
    torch.testing.assert_close(results, (model(X)[0], {"y": X + 1}))
    actual = onnxruntime.InferenceSession(file.getvalue()).run(None, {"x": X.numpy(), "y": (X + 1).numpy()})
    torch.testing.assert_close([torch.from_numpy(each) for each in actual], [results[0], X + 1])


def test_the_results_of_an_export_are_those_of_its_mode():
    model = Normed().eval()
    before = model.norm.running_mean.clone()
    results = fonnx.utils._export(model, (X,), io.BytesIO(), training=fonnx.TrainingMode.TRAINING, verbose=False)
    torch.testing.assert_close(results[0].mean(0), torch.zeros(3), atol=1e-5, rtol=0)
    assert torch.equal(model.norm.running_mean, before) and not model.training
    with pytest.raises(flambeau.errors.UnsupportedOptionError, match="export_type is"):
        fonnx.utils._export(model, (X,), io.BytesIO(), export_type="Saves model in the specified ZIP file.")
