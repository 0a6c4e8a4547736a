"""`ONNXProgram`: what torch.onnx's has, and that changes of the model count."""

import copy
import gc
import io
import sys

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import flambeau


class MLP(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(8, 8)
        self.second = torch.nn.Linear(8, 4)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


X = torch.randn(3, 8)


@pytest.fixture
def model():
    return MLP()


@pytest.fixture
def program(model):
    return flambeau.export(model, (X,), dynamic_shapes=({0: "batch"},))


def test_has_what_torch_has():
    public = {name for name in dir(torch.onnx.ONNXProgram) if not name.startswith("_")}
    assert public <= set(dir(flambeau.ONNXProgram))


def test_copies_are_apart(program, model):
    """torch's own cannot be copied where it has a captured program."""
    early = copy.deepcopy(program)
    program.model.graph.outputs[0].name = "logits"
    program.rename_axes({"batch": "rows"})
    late = copy.deepcopy(program)
    program.model.graph.outputs[0].name = "scores"
    assert [each.model.graph.outputs[0].name for each in (early, late, program)] == ["linear_1", "logits", "scores"]
    assert list(late.model.graph.inputs[0].shape) == ["rows", 8] and list(early.model.graph.inputs[0].shape) == ["batch", 8]
    for each in (early, late):
        torch.testing.assert_close(each(X)[0], model(X), rtol=1e-5, atol=1e-5)
        assert each.exported_program is program.exported_program


def test_copies_are_optimized_by_themselves():
    class Nothing(torch.nn.Module):
        def forward(self, x):
            return (x + torch.zeros(8)).relu()

    plain = flambeau.export(Nothing(), (X,), optimize=False)
    better = copy.deepcopy(plain)
    better.optimize()
    assert len(better.model_proto.graph.node) < len(plain.model_proto.graph.node) == len(copy.deepcopy(plain).model_proto.graph.node)


def test_programs_of_models(program, model, tmp_path):
    """As torch.onnx.ONNXProgram(model, exported_program)."""
    own = copy.deepcopy(program.model)
    for made in (flambeau.ONNXProgram(own, program.exported_program), flambeau.ONNXProgram(own)):
        assert [(value.name, value.dtype, value.sizes) for value in made.inputs] == [("x", "float32", ["batch", "8"])]
        torch.testing.assert_close(made(X)[0], model(X), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(made.call_reference(X)[0], model(X), rtol=1e-5, atol=1e-5)
        torch.testing.assert_close(made.compute_values(["relu"], (X,))[0], model.first(X).relu(), rtol=1e-5, atol=1e-5)
        made.save(tmp_path / "model.onnx")
        assert onnx.load(tmp_path / "model.onnx").graph.input[0].name == "x"
        assert repr(made) == repr(program) and made._repr_html_().startswith("<pre>ONNXProgram(opset 20, 3 nodes")
        made.apply_weights({"second.bias": model.second.bias + 1})
        torch.testing.assert_close(made(X)[0], model(X) + 1, rtol=1e-5, atol=1e-5)
        made.apply_weights(model.state_dict())
        made.optimize()
        assert (made.diagnostics, made.archive, made.capture_strategy, made.report()) == ((), None, None, "")
        with pytest.raises(flambeau.errors.OnnxExporterError, match="made of an ONNX model"):
            made.conversion_report()
    assert not flambeau.find_mismatch(flambeau.ONNXProgram(own, program.exported_program))
    assert flambeau.verify(flambeau.ONNXProgram(own, program.exported_program))


def test_reference(program, model):
    torch.testing.assert_close(program.call_reference(X)[0], model(X), rtol=1e-5, atol=1e-5)


def test_arguments_that_the_model_needs_none_of_may_be_given():
    class Sizes(torch.nn.Module):
        def forward(self, maps, image):
            return torch.ones(maps.size(0) + image.size(1))

    x = torch.randn(2, 3)
    for captured in (torch.jit.script(Sizes()), Sizes()):
        program = flambeau.export(captured, (x, x), dynamo=False, verbose=False)
        assert program(x, x)[0].tolist() == program()[0].tolist() == [1] * 5


def test_a_trace_takes_the_arguments_of_its_example():
    class Scaled(torch.nn.Module):
        def forward(self, x, factor, negate=False):
            return -x * factor if negate else x * factor

    program = flambeau.export(Scaled(), (X, 2.5), kwargs={"negate": True}, capture="trace")
    torch.testing.assert_close(program(X, 2.5, negate=True)[0], -X * 2.5)


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}])
def test_another_value_for_a_constant_is_told(options, recwarn):
    class Model(torch.nn.Module):
        def forward(self, x, k, mask=None, how: str = "up"):
            return x * k if mask is None else x * mask

    x = torch.randn(3)
    program = flambeau.export(Model(), (x, 5), kwargs={"how": "up"}, **options)
    for same in (5, np.int64(5)):
        torch.testing.assert_close(program(x, k=same, how="up")[0], x * 5)
    assert not recwarn
    with pytest.warns(flambeau.errors.ConversionWarning, match="the argument 'k' is 5 in this model, as it was captured; 4 is not looked at"):
        program(x, 4, how="up")
    with pytest.warns(flambeau.errors.ConversionWarning, match="the argument 'how' is 'up' in this model"):
        program(x, 5, how="down")
    with pytest.raises(TypeError, match="the argument 'k' holds a tensor that is a constant"):
        program(x, torch.tensor(5), how="up")


@pytest.mark.parametrize("scripted", [False, True])
def test_so_is_one_for_a_default(scripted, recwarn):
    class Model(torch.nn.Module):
        def forward(self, x, k: int = 2, negate: bool = False):
            return -x * k if negate else x * k

    x = torch.randn(3)
    program = flambeau.export(torch.jit.script(Model()) if scripted else Model(), (x,), capture="trace")
    torch.testing.assert_close(program(x, 2, negate=False)[0], x * 2)
    assert not [each for each in recwarn if issubclass(each.category, flambeau.errors.ConversionWarning)]
    with pytest.warns(flambeau.errors.ConversionWarning, match="the argument 'k' is 2 in this model"):
        program(x, k=3)
    with pytest.warns(flambeau.errors.ConversionWarning, match="the argument 'negate' is False in this model"):
        program(x, 2, True)


def test_numpy_inputs_run_anywhere(program, model):
    feeds = program.to_numpy_inputs(X)
    assert {name: (array.dtype, array.shape) for name, array in feeds.items()} == {"x": (np.float32, (3, 8))}
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, feeds)[0], model(X).detach(), rtol=1e-5, atol=1e-5)


def test_values_inside(program, model):
    with pytest.raises(ValueError, match="'nothing'"):
        program.compute_values(["nothing"], (X,))
    plain = program.without_optimization()
    assert {"relu", "linear"} <= plain.value_names()
    relu, first = plain.compute_values(["relu", "linear"], (X,))
    torch.testing.assert_close(first, model.first(X), rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(relu, first.relu())


def test_a_copy_keeps_the_files_of_its_weights(model, monkeypatch):
    monkeypatch.setattr("flambeau.program.LARGEST_MESSAGE", 100)  # as if the weights were of 2 GB
    original = flambeau.export(model, (X,), dynamic_shapes=({0: "batch"},))
    assert original.model.graph.initializers
    copied, expected = copy.deepcopy(original), original(X)[0]
    original.release()
    del original
    gc.collect()
    torch.testing.assert_close(copied(X)[0], expected)


def test_dimensions_without_names_are_not_one(program):
    unnamed = copy.deepcopy(program).model
    import onnx_ir

    for value in (*unnamed.graph.inputs, *unnamed.graph.outputs):
        value.shape = onnx_ir.Shape([None] * len(value.shape))
    assert [list(each.sizes) for each in flambeau.ONNXProgram(unnamed).inputs] == [["?", "?"]]


def test_session_of_the_users(program):
    seen = []

    def initializer(source):
        seen.append(type(source))
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        return onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])

    program.initialize_inference_session(initializer)
    assert program(X)[0].shape == (3, 4) and seen == [bytes]


def test_changes_of_the_model_are_saved_and_run(program, tmp_path):
    before = program(X)[0]
    weight = program.model.graph.initializers["second.bias"]
    import onnx_ir

    weight.const_value = onnx_ir.tensor(weight.const_value.numpy() + 1)
    program.release()
    torch.testing.assert_close(program(X)[0], before + 1)
    program.model.graph.outputs[0].name = "logits"
    program.save(tmp_path / "model.onnx", external_data=True)
    saved = onnx.load(tmp_path / "model.onnx")
    assert saved.graph.output[0].name == "logits"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    kept = onnx.load(tmp_path / "model.onnx", load_external_data=False).graph.initializer
    assert {tensor.name: tensor.data_location for tensor in kept if "." in tensor.name} == {
        "first.weight": onnx.TensorProto.EXTERNAL, "first.bias": onnx.TensorProto.DEFAULT,
        "second.weight": onnx.TensorProto.DEFAULT, "second.bias": onnx.TensorProto.DEFAULT,
    }  # of 256 bytes and more


def test_programs_are_saved_into_open_files(program, tmp_path):
    with (tmp_path / "model.onnx").open("wb") as file:
        program.save(file)
    memory = io.BytesIO()
    program.save(memory, keep_initializers_as_inputs=True)
    saved = onnx.load_from_string(memory.getvalue())
    assert len(saved.graph.input) > len(onnx.load(tmp_path / "model.onnx").graph.input) == 1
    with pytest.raises(TypeError, match="destination is an open file"):
        program.save(memory, external_data=True)


def test_calls_by_name_or_by_position():
    class Model(torch.nn.Module):
        def forward(self, x, y=None, *, scale):
            return (x - y) * scale

    x, y, scale = torch.ones(2), torch.ones(2) * 3, torch.ones(1) * 2
    for args, kwargs in (((x, y), {"scale": scale}), ((x,), {"scale": scale, "y": y})):
        program = flambeau.export(Model(), args, kwargs=kwargs)
        for count in range(len(args) + 1):
            named = dict(zip(("x", "y"), (x, y)), scale=scale)
            given = [named.pop(name) for name in ("x", "y")[:count]]
            assert program(*given, **named)[0].tolist() == [-4, -4]
        with pytest.raises(TypeError, match=r"the model was captured with"):
            program(x, y, x=x, scale=scale)


def test_large_weights_of_a_changed_model_go_beside_it(tmp_path):
    program = flambeau.export(torch.nn.Linear(200, 200), (torch.ones(1, 200),))
    assert program.model.graph.initializers
    program.save(tmp_path / "model.onnx", external_data=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    (name,) = (value.name for value in session.get_inputs())
    expected = program(torch.ones(1, 200))[0]
    np.testing.assert_allclose(session.run(None, {name: np.ones((1, 200), np.float32)})[0], expected, rtol=1e-5)
    with pytest.raises(flambeau.errors.OnnxExporterError, match="archive"):
        program.save(tmp_path / "model.onnx", external_data="reference")


def test_weights_later(model, tmp_path):
    with torch.device("meta"):
        empty = MLP()
    program = flambeau.export(empty, (torch.ones(3, 8, device="meta"),), export_params=False)
    with pytest.warns(flambeau.errors.ConversionWarning, match="'other'"):
        program.apply_weights({**model.state_dict(), "other": torch.ones(1)})
    assert {"first.weight", "second.bias"} <= set(program.model.graph.initializers)
    torch.testing.assert_close(program(X)[0], model(X), rtol=1e-5, atol=1e-5)
    program.save(tmp_path / "bare.onnx", include_initializers=False)
    bare = onnx.load(tmp_path / "bare.onnx").graph
    assert not bare.initializer and [value.name for value in bare.input] == ["x"]


def test_other_weights_than_were_folded():
    """Of a convolution and the normalisation behind it one convolution is left; a recurrent layer's weights are put in another order."""

    def model():
        layers = torch.nn.Sequential(torch.nn.Conv1d(3, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.LSTM(6, 5)).eval()
        layers[1].running_mean.normal_()
        layers[1].running_var.uniform_(0.5, 2)
        return layers

    first, second, x = model(), model(), torch.randn(2, 3, 8)
    program = flambeau.export(first, (x,))
    program.apply_weights(second.state_dict())
    torch.testing.assert_close(program(x)[0], second(x)[0], rtol=1e-4, atol=1e-5)
    program.apply_weights({"1.bias": first[1].bias})
    second[1].bias = first[1].bias
    torch.testing.assert_close(program(x)[0], second(x)[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"'1.bias' has the sizes \[7\], in the model \[4\]"):
        program.apply_weights({"1.bias": torch.ones(7)})
    looked_at = flambeau.export(first, (x,))
    assert looked_at.model.graph.inputs
    with pytest.raises(flambeau.errors.OnnxExporterError, match="the weight '0.weight' was folded"):
        looked_at.apply_weights(second.state_dict())


class Folding(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm, self.scale = torch.nn.Conv1d(3, 4, 3), torch.nn.BatchNorm1d(4), torch.nn.Parameter(torch.randn(1))
        self.norm.running_mean.normal_()
        self.norm.running_var.uniform_(0.5, 2)
        self.eval()

    def forward(self, x):
        return self.norm(self.convolution(x)) * (self.scale + 1)


@pytest.mark.parametrize("made", ["traced", "scripted", "torchscript archive", "archive", "without torch"])
def test_other_weights_than_traces_and_archives_folded(made, tmp_path):
    first, second, x, path = Folding(), Folding(), torch.randn(2, 3, 8), str(tmp_path / "model.pt2")
    if made in ("archive", "without torch"):
        torch.export.save(torch.export.export(first, (x,)), path)
    elif made != "traced":
        torch.jit.save(torch.jit.script(first), path)
    if made == "without torch":
        program = flambeau.convert(path, tmp_path / "model.onnx")
    elif made == "archive":
        program = flambeau.export(path)
    else:
        program = flambeau.export(first if made == "traced" else path if "archive" in made else torch.jit.load(path), (x,), dynamo=False)
    program.apply_weights(second.state_dict())
    torch.testing.assert_close(program(x)[0], second(x), rtol=1e-4, atol=1e-4)
    program.apply_weights({"scale": torch.full((1,), 3.0)})
    second.scale.data = torch.full((1,), 3.0)
    torch.testing.assert_close(program(x)[0], second(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("options", [{}, {"dynamo": False}, {"export_params": False}])
def test_weights_of_another_dtype_are_refused(options, model):
    program = flambeau.export(model, (X,), **options)
    given = {**model.state_dict(), "second.bias": model.second.bias.double()}
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"'second.bias' is of (DOUBLE|64).*in the model of"):
        program.apply_weights(given)
    if "export_params" not in options:
        torch.testing.assert_close(program(X)[0], model(X), rtol=1e-5, atol=1e-5)  # as it was
    program.apply_weights({name: tensor + 1 for name, tensor in model.state_dict().items()})
    other = MLP()
    other.load_state_dict({name: tensor + 1 for name, tensor in model.state_dict().items()})
    torch.testing.assert_close(program(X)[0], other(X), rtol=1e-4, atol=1e-4)


def test_weights_are_given_again(model):
    program, state = flambeau.export(model, (X,)), model.state_dict()
    assert program.model.graph.inputs
    for step in range(3):
        given = {name: tensor + step for name, tensor in state.items()}
        program.apply_weights(given)
        copy.deepcopy(program).apply_weights(given)
        other = MLP()
        other.load_state_dict(given)
        torch.testing.assert_close(program(X)[0], other(X), rtol=1e-4, atol=1e-4)
    program.replace_proto(program.model_proto)  # which might have them folded
    with pytest.raises(flambeau.errors.OnnxExporterError, match="was folded"):
        program.apply_weights(state)


def test_weights_without_bytes():
    """As torch's exporter has it: fake weights are exported, and replaced."""
    with torch.device("meta"):
        empty = MLP()
    program = flambeau.export(empty, (torch.ones(3, 8, device="meta"),))
    model = MLP()
    program.apply_weights(model.state_dict())
    torch.testing.assert_close(program(X)[0], model(X), rtol=1e-5, atol=1e-5)
    with torch._subclasses.FakeTensorMode():
        fake, x = MLP(), torch.ones(3, 8)
        program = flambeau.export(fake, (x,))
    program.apply_weights(model.state_dict())
    torch.testing.assert_close(program(X)[0], model(X), rtol=1e-5, atol=1e-5)


class Tied(MLP):
    def __init__(self):
        super().__init__()
        self.again, self.again.bias = torch.nn.Linear(8, 8), self.first.bias
        self.register_buffer("scale", torch.randn(8))
        self.register_buffer("scale_again", self.scale)
        self.other = self.again

    def forward(self, x):
        return self.second(self.again(torch.relu(self.first(x)) * self.scale) + self.other.weight.sum() - self.scale_again)


@pytest.mark.parametrize("made", ["live", "without weights", "loaded", "looked at", "traced", "scripted"])
def test_tied_weights_are_one_under_any_of_their_names(made, recwarn, tmp_path):
    model, other = Tied(), Tied()
    if made == "loaded":
        torch.export.save(torch.export.export(model, (X,)), tmp_path / "model.pt2")
        program = flambeau.export(torch.export.load(tmp_path / "model.pt2"))
    else:
        given = torch.jit.script(model) if made == "scripted" else model
        kept = {"optimize": made not in ("looked at", "traced", "scripted"), "export_params": made != "without weights"}
        program = flambeau.export(given, (X,), dynamo=made != "traced", **kept)
    if made == "looked at":
        assert program.model.graph.inputs
    state = {name: tensor.clone() for name, tensor in other.state_dict().items()}
    assert state.keys() >= {"first.bias", "again.bias", "scale", "scale_again", "other.weight"}
    program.apply_weights(state)
    torch.testing.assert_close(program(X)[0], other(X), rtol=1e-4, atol=1e-3)
    program.apply_weights({"again.bias": torch.ones(8), "other.weight": torch.eye(8), "scale_again": torch.full((8,), 2.0)})
    other.first.bias.data, other.again.weight.data, other.scale[:] = torch.ones(8), torch.eye(8), 2
    torch.testing.assert_close(program(X)[0], other(X), rtol=1e-4, atol=1e-3)
    assert not [each for each in recwarn if issubclass(each.category, flambeau.errors.ConversionWarning)]
    with pytest.raises(flambeau.errors.OnnxExporterError, match="'first.bias' and 'again.bias' are one weight of the model, and are given"):
        program.apply_weights({"first.bias": torch.ones(8), "again.bias": torch.zeros(8)})


def test_rename_axes():
    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.cat([x, y]), torch.cat([x, x])

    program = flambeau.export(
        Model(), (torch.ones(3), torch.ones(4)), dynamic_shapes=({0: "a"}, {0: "b"})
    )
    graph = program.model.graph
    program.rename_axes({graph.inputs[0].shape[0]: "b", "b": "a"})
    assert [list(value.shape) for value in graph.inputs] == [["b"], ["a"]]
    assert str(graph.outputs[1].shape[0]).replace(" ", "") in ("2*b", "b*2")
    with pytest.raises(ValueError, match="3"):
        program.rename_axes({3: "x"})


def test_optimize(model):
    class Model(torch.nn.Module):
        def forward(self, x):
            return (x + torch.zeros(4)).reshape(3, 4).reshape(4, 3) * torch.arange(3).float()

    program = flambeau.export(Model(), (torch.ones(3, 4),), optimize=False)
    before, result = len(program.model_proto.graph.node), program(torch.ones(3, 4))[0]
    program.optimize()
    assert len(program.model_proto.graph.node) < before
    torch.testing.assert_close(program(torch.ones(3, 4))[0], result)


def test_inputs_may_come_flat():
    class Model(torch.nn.Module):
        def forward(self, pair, scale):
            return pair[0] * pair[1] * scale

    pair = torch.ones(2), torch.ones(2) * 3
    program = flambeau.export(Model(), (pair, 2.0))
    assert program(*pair)[0].tolist() == program(pair, 2.0)[0].tolist() == [6, 6]


def test_notebooks_show_the_graph(program):
    shown = program._repr_html_()
    summary, frame, page = shown.partition("<iframe ")
    assert summary.startswith("<pre>ONNXProgram(opset") and 'name="#graph"' in page and "first.weight" in page
    assert "float32[batch, 8]" in repr(program).replace("x: ", "")


@pytest.mark.parametrize(
    ("package", "use"),
    [
        ("onnxruntime", lambda program: program(X)),
        ("onnxruntime", lambda program: flambeau.export(MLP(), (X,), verify=True)),
        ("onnx", lambda program: program.model_proto),
        ("onnx_ir", lambda program: program.model),
        ("onnx.reference", lambda program: program.call_reference(X)),
    ],
)
def test_what_is_not_installed_is_said(package, use, monkeypatch):
    program = flambeau.export(MLP(), (X,))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ModuleNotFoundError, match=f"needs {package.partition('.')[0]}, which is not installed: pip install"):
        use(program)


class Sameness(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(torch.ones(2, 3))  # not a rate of dropping out

    def forward(self, x):
        return x.reshape(-1), self.p * 2


@pytest.mark.parametrize("dtype", [torch.complex64, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2], ids=str)
def test_arguments_and_results_that_numpy_lacks(dtype):
    x = torch.arange(6.0).reshape(2, 3).to(dtype)
    if dtype.is_complex:
        x = (x * 1j).conj()
    program = flambeau.export(Sameness(), (x,))
    y, doubled = program(x)
    expected = torch.view_as_real(x.reshape(-1).resolve_conj()) if dtype.is_complex else x.reshape(-1)
    assert y.dtype == expected.dtype and torch.equal(y.float(), expected.float())
    assert torch.equal(doubled, torch.full((2, 3), 2.0))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn], ids=str)
def test_results_without_dimensions_that_numpy_lacks(dtype):
    class Doubled(torch.nn.Module):
        def forward(self, x):
            return (x.float() * 2).to(dtype)

    x = torch.tensor(1.5).to(dtype)
    (found,) = flambeau.export(Doubled(), (x,))(x)
    assert found.dtype is dtype and found.shape == () and found.float() == 3


class WithExtraState(torch.nn.Linear):
    def get_extra_state(self):
        return {"a": 1}

    def set_extra_state(self, state):
        pass


@pytest.mark.parametrize("capture", ("export", "trace"))
def test_states_that_are_no_tensors_are_no_weights(capture):
    model, other, x = WithExtraState(4, 4), WithExtraState(4, 4), torch.randn(2, 4)
    program = flambeau.export(model, (x,), capture=capture)
    program.apply_weights(other.state_dict())
    torch.testing.assert_close(program(x)[0], other(x))


def test_tied_weights_that_are_not_numbers_are_equal():
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = torch.nn.Embedding(5, 4), torch.nn.Linear(4, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, i):
            return self.head(self.embedding(i))

    i = torch.tensor([[0, 1]])
    program = flambeau.export(Tied(), (i,))
    weight = torch.full((5, 4), torch.nan)
    program.apply_weights({"embedding.weight": weight.clone(), "head.weight": weight.clone()})
    assert program(i)[0].isnan().all()
