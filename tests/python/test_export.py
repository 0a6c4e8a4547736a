"""Whole conversions of live modules: values, names, dimensions, options."""

import math

import numpy as np
import onnx
import pytest
import torch

import flambeau


class MLP(torch.nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.first = torch.nn.Linear(width, width)
        self.second = torch.nn.Linear(width, 4)

    def forward(self, x):
        return self.second(torch.sigmoid(self.first(x)))


class Documented(torch.nn.Module):
    """The example of torch.onnx's documentation."""

    def __init__(self):
        super().__init__()
        self.fc0 = torch.nn.Linear(8, 8)
        self.fc1 = torch.nn.Linear(8, 4)
        self.fc2 = torch.nn.Linear(4, 2)
        self.fc3 = torch.nn.Linear(2, 2)
        self.fc_combined = torch.nn.Linear(24, 8)

    def forward(self, tensor_x, input_dict, input_list):
        x = torch.cat([tensor_x, input_dict["tensor_x"], input_list[0]], dim=1)
        x = torch.sigmoid(self.fc_combined(x))
        x = torch.sigmoid(self.fc0(x))
        x = torch.sigmoid(self.fc1(x))
        x = torch.sigmoid(self.fc2(x))
        return self.fc3(x)


def check(program, model, *args, **kwargs):
    """The program gives what the model gives, and is a valid ONNX model."""
    onnx.checker.check_model(program.model_proto, full_check=True)
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(model.eval()(*args, **kwargs))
    actual = program(*args, **kwargs)
    expected = [torch.as_tensor(value) for value in expected if value is not None]
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected):
        torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("batch", [1, 3])
def test_mlp_with_another_batch(batch):
    model = MLP()
    program = flambeau.export(model, (torch.randn(batch, 8),), dynamic_shapes={"x": {0: "batch"}})
    check(program, model, torch.randn(5, 8))
    assert [dim.dim_param or dim.dim_value for dim in program.model_proto.graph.input[0].type.tensor_type.shape.dim] == ["batch", 8]


def test_model_of_the_documentation():
    model = Documented()
    inputs = (torch.rand(97, 8), {"tensor_x": torch.rand(97, 8)}, [torch.rand(97, 8)])
    program = flambeau.export(
        model,
        inputs,
        dynamic_shapes=({0: "batch_size"}, {"tensor_x": {0: "batch_size"}}, [{0: "batch_size"}]),
        input_names=["tensor_input", "tensor_x", "list_input_index_0"],
        output_names=["output"],
        dynamo=True,
    )
    graph = program.model.graph
    assert [value.name for value in graph.inputs] == ["tensor_input", "tensor_x", "list_input_index_0"]
    assert [value.name for value in graph.outputs] == ["output"]
    for value in graph.inputs:
        assert value.shape == ("batch_size", 8)
    check(program, model, torch.rand(5, 8), {"tensor_x": torch.rand(5, 8)}, [torch.rand(5, 8)])


def test_exported_program_keeps_the_names_given():
    model = MLP()
    exported = torch.export.export(model, (torch.randn(3, 8),), dynamic_shapes={"x": {0: torch.export.Dim("n")}})
    program = flambeau.export(exported, dynamic_shapes={"x": {0: "rows"}})
    assert program.exported_program is exported
    assert program.model.graph.inputs[0].shape == ("rows", 8)
    check(program, model, torch.randn(4, 8))


def test_dynamic_axes():
    model = MLP()
    program = flambeau.export(
        model, (torch.randn(3, 8),), input_names=["in"], output_names=["out"], dynamic_axes={"in": {0: "n"}, "out": {0: "n"}}
    )
    assert program.model.graph.inputs[0].shape == ("n", 8)
    assert program.model.graph.outputs[0].shape == ("n", 4)


def test_keyword_and_constant_arguments():
    class Model(torch.nn.Module):
        def forward(self, x, scale=1.0, *, bias=None, flag=False):
            y = x * scale
            return y + bias if flag else y

    model, x, bias = Model(), torch.randn(3), torch.randn(3)
    for args, kwargs in [
        ((x, 2.0), {"bias": bias, "flag": True}),
        ((x,), {"flag": True, "bias": bias, "scale": 3}),
        ((x,), {}),
        ((x, 2.0, {"bias": bias, "flag": True}), None),
    ]:
        program = flambeau.export(model, args, kwargs=kwargs)
        if kwargs is None:
            args, kwargs = args[:-1], args[-1]
        check(program, model, *args, **kwargs)


def test_outputs_that_are_no_tensors():
    class Model(torch.nn.Module):
        def forward(self, x):
            return {"y": x + 1, "none": None, "int": 3, "float": 0.5, "bool": True, "size": x.shape[0]}

    program = flambeau.export(Model(), (torch.randn(3, 2),), dynamic_shapes={"x": {0: "n"}})
    y, three, half, true, size = program(torch.zeros(5, 2))
    assert (y == 1).all()
    assert (three.item(), half.item(), true.item(), size.item()) == (3, 0.5, True, 5)
    assert true.dtype == torch.bool


def test_evaluation_mode_by_default():
    model = torch.nn.Sequential(torch.nn.Dropout(), torch.nn.ReLU()).train()
    program = flambeau.export(model, (torch.ones(3),))
    assert model.training
    assert (program(torch.ones(3))[0] == 1).all()


def test_ties_are_kept():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(4, 4, bias=False)
            self.b = torch.nn.Linear(4, 4, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x):
            return self.b(torch.relu(self.a(x)))

    model = Model()
    program = flambeau.export(model, (torch.randn(2, 4),))
    assert [tensor.name for tensor in program.model_proto.graph.initializer] == ["a.weight"]
    check(program, model, torch.randn(2, 4))


def test_save(tmp_path):
    model, x = MLP(256), torch.randn(3, 256)
    path = tmp_path / "model.onnx"
    program = flambeau.export(model, (x,), path)
    assert {file.name for file in tmp_path.iterdir()} == {"model.onnx", "model.onnx.data"}
    program.save(tmp_path / "one.onnx", external_data=False)
    assert not (tmp_path / "one.onnx.data").exists()
    onnx.checker.check_model(str(path), full_check=True)
    with pytest.raises(flambeau.errors.OnnxExporterError):
        program.save(tmp_path / "missing" / "model.onnx")
    with pytest.raises(ValueError, match="external_data"):
        program.save(path, external_data="perhaps")


def test_save_without_weights_or_with_weights_as_inputs(tmp_path):
    program = flambeau.export(MLP(), (torch.randn(3, 8),))
    program.save(tmp_path / "bare.onnx", include_initializers=False)
    bare = onnx.load(tmp_path / "bare.onnx")
    assert not bare.graph.initializer and [value.name for value in bare.graph.input] == ["x"]
    assert {"first.weight", "second.bias"} <= {value.name for value in bare.graph.value_info}
    program.save(tmp_path / "asking.onnx", include_initializers=False, keep_initializers_as_inputs=True)
    asking = onnx.load(tmp_path / "asking.onnx")
    assert not asking.graph.initializer and len(asking.graph.input) == 5
    onnx.checker.check_model(asking)
    program.save(tmp_path / "inputs.onnx", keep_initializers_as_inputs=True)
    inputs = [value.name for value in onnx.load(tmp_path / "inputs.onnx").graph.input]
    assert {"first.weight", "x"} <= set(inputs)
    assert "first.weight" in [tensor.name for tensor in program.model_proto.graph.initializer]


def test_fake_weights_without_parameters():
    with torch.device("meta"):
        program = flambeau.export(MLP(), (torch.ones(3, 8),), export_params=False)
    assert not program.model_proto.graph.initializer
    assert "first.weight" in [value.name for value in program.model_proto.graph.input]


def test_verify(monkeypatch):
    model, x = MLP(), torch.randn(3, 8)
    program = flambeau.export(model, (x,), verify=True)
    monkeypatch.setattr(type(program), "run_inputs", lambda *_, **__: [torch.full((3, 4), math.inf)])
    with pytest.raises(flambeau.errors.VerificationError, match="output 0"):
        flambeau.export(model, (x,), verify=True)


def test_unsupported_operators_are_all_listed():
    def operator(name):
        op = torch.library.custom_op(f"flambeau_test::{name}", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
        op.register_fake(torch.empty_like)
        return op

    first, second = operator("first"), operator("second")

    class Model(torch.nn.Module):
        def forward(self, x):
            return first(x) + second(x)

    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="(?s)flambeau_test::first.*flambeau_test::second") as raised:
        flambeau.export(Model(), (torch.ones(2),))
    assert {diagnostic.kind for diagnostic in raised.value.diagnostics} == {"unsupported-operator"}


@pytest.mark.parametrize(("pad", "sizes"), [((3, -2), None), ((-3, 2), None), ((0, 0, 1, -2), None), ((3, -2), ({2: torch.export.Dim.DYNAMIC},))])
def test_circular_pads_of_what_is_not_there_are_refused(pad, sizes):
    """PyTorch's kernel copies from where it has not written yet."""

    class Padded(torch.nn.Module):
        def forward(self, x):
            return torch.nn.functional.pad(x, pad, mode="circular")

    x = torch.ones(1, 2, 4) if len(pad) == 2 else torch.ones(1, 2, 2, 4)
    with pytest.raises(flambeau.errors.UnsupportedOperatorError, match="has not written"):
        flambeau.export(Padded(), (x,), dynamic_shapes=sizes)


def test_dimension_that_came_out_static_warns():
    class Model(torch.nn.Module):
        def forward(self, x):
            return x + torch.ones(3)

    with pytest.warns(flambeau.errors.ConversionWarning, match="n"):
        program = flambeau.export(Model(), (torch.ones(3),), dynamic_shapes={"x": {0: "n"}})
    assert "frozen-dimension" in [diagnostic.kind for diagnostic in program.diagnostics]


def test_the_line_at_which_a_dimension_came_out_static_is_the_models():
    class Model(torch.nn.Module):
        def forward(self, x, places):
            rows, columns = zip(*places)
            return x[rows, columns]

    line = Model.forward.__code__.co_firstlineno + 1
    with pytest.warns(flambeau.errors.ConversionWarning, match=rf"at test_export.py:{line}"):
        flambeau.export(Model(), (torch.ones(3, 4), torch.tensor([[0, 1], [2, 3], [1, 1]])), dynamic_shapes=({0: "rows"}, {0: "n"}))


def test_opset():
    program = flambeau.export(MLP(), (torch.randn(3, 8),), opset_version=18)
    assert [(entry.domain, entry.version) for entry in program.model_proto.opset_import] == [("", 18)]
    with pytest.raises(flambeau.errors.OnnxExporterError, match="opset"):
        flambeau.export(MLP(), (torch.randn(3, 8),), opset_version=3)


def test_wrong_number_of_inputs_and_another_structure():
    program = flambeau.export(MLP(), (torch.randn(3, 8),))
    with pytest.raises(TypeError, match="the arguments are"):
        program([torch.randn(3, 8)])


def test_conversion_is_quiet(capfd, recwarn):
    flambeau.export(MLP(), (torch.randn(3, 8),), dynamic_shapes={"x": {0: "n"}})
    assert capfd.readouterr() == ("", "")
    assert not [warning for warning in recwarn if "flambeau" in str(warning.filename)]


def test_two_conversions_give_the_same_bytes():
    model, x = MLP(), torch.randn(3, 8)
    first, second = (flambeau.export(model, (x,)).model_proto.SerializeToString(deterministic=True) for _ in range(2))
    assert first == second


def test_representation_and_release():
    program = flambeau.export(MLP(), (torch.randn(3, 8),))
    assert "x: float32[3, 8]" in repr(program)
    before = program(torch.ones(3, 8))[0]
    program.release()
    assert np.array_equal(before, program(torch.ones(3, 8))[0])
