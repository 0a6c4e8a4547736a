"""Programs whose ONNX model was asked for and changed, and programs made of a model that lies in files."""

import copy
import io

import flambeau
import ml_dtypes
import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import torch
from flambeau.errors import OnnxExporterError

X = torch.randn(2, 16)


@pytest.fixture
def model():
    return torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.Linear(16, 16))


@pytest.fixture
def large(monkeypatch):
    """Weights are as if they took 2 GB."""
    monkeypatch.setattr("flambeau.program.LARGEST_MESSAGE", 100)


def put(program, state):
    for name, value in program.model.graph.initializers.items():
        value.const_value = ir.tensor(state[name].numpy(), name=name)


def test_a_run_after_a_change_is_of_the_changed_model(model):
    program = flambeau.export(model, (X,), verbose=False)
    before = program(X)[0]
    torch.testing.assert_close(program(X)[0], model(X))
    put(program, {name: torch.zeros_like(weight) for name, weight in model.state_dict().items()})
    assert before.any() and not program(X)[0].any()


class Difference(torch.nn.Module):
    def forward(self, a, b):
        return a - b


def test_inputs_in_another_order_and_of_another_name():
    a, b = torch.full((2,), 3.0), torch.ones(2)
    program = flambeau.export(Difference(), (a, b), verbose=False)
    inputs = program.model.graph.inputs
    inputs.append(inputs.pop(0))
    assert [value.name for value in inputs] == ["b", "a"]
    assert program(a, b)[0].tolist() == program(b=b, a=a)[0].tolist() == [2, 2]
    inputs[1].name = "first"
    assert program(a, b)[0].tolist() == [2, 2] and set(program.to_numpy_inputs(a, b)) == {"first", "b"}
    program.release()
    assert program(a, b)[0].tolist() == [2, 2]


def test_a_changed_copy_leaves_the_weights_of_the_original(model, large):
    original, other = flambeau.export(model, (X,), verbose=False), copy.deepcopy(model)
    with torch.no_grad():
        other[0].weight.neg_()
    assert original.model.graph.initializers
    copied = copy.deepcopy(original)
    put(copied, other.state_dict())
    torch.testing.assert_close(copied(X)[0], other(X))
    torch.testing.assert_close(original(X)[0], model(X))


def test_a_large_model_may_be_run_again_and_again(model, large):
    program = flambeau.export(model, (X,), verbose=False)
    initializers = program.model.graph.initializers
    weight = initializers.pop("0.weight")
    weight.name = "last"
    initializers.add(weight)
    for _ in range(3):
        program.initialize_inference_session()
        torch.testing.assert_close(program(X)[0], model(X))


def test_a_model_may_become_large(model, monkeypatch):
    """Weights that are put in later count, too."""
    program = flambeau.export(model, (X,), export_params=False, verbose=False)
    program.apply_weights(model.state_dict())
    seen = []

    def initializer(source):
        seen.append(type(source))
        return onnxruntime.InferenceSession(source, providers=["CPUExecutionProvider"])

    for limit in (10_000, 100):
        monkeypatch.setattr("flambeau.program.LARGEST_MESSAGE", limit)
        program.initialize_inference_session(initializer)
        torch.testing.assert_close(program(X)[0], model(X))
    assert seen == [bytes, str]


def test_a_model_whose_weights_lie_in_a_file(model, tmp_path):
    flambeau.export(model, (X,), tmp_path / "model.onnx", verbose=False)
    assert (tmp_path / "model.onnx.data").exists()
    program = flambeau.ONNXProgram(ir.load(tmp_path / "model.onnx"))
    expected = model(X)
    torch.testing.assert_close(program(X)[0], expected)
    torch.testing.assert_close(program.call_reference(X)[0], expected)
    assert all(tensor.data_location == onnx.TensorProto.DEFAULT for tensor in program.model_proto.graph.initializer)
    whole = io.BytesIO()
    program.save(whole)
    program.save(tmp_path / "one.onnx", external_data=False)
    for each in (onnx.load_from_string(whole.getvalue()), onnx.load(tmp_path / "one.onnx", load_external_data=False)):
        torch.testing.assert_close(flambeau.ONNXProgram(ir.from_proto(each))(X)[0], expected)


def test_a_model_is_saved_over_the_file_of_its_weights(model, tmp_path):
    path = tmp_path / "model.onnx"
    flambeau.export(model, (X,), path, verbose=False)
    program = flambeau.ONNXProgram(ir.load(path))
    initializers = program.model.graph.initializers
    initializers.add(initializers.pop("0.weight"))  # it lies elsewhere in the new file
    for _ in range(2):
        program.save(path, external_data=True)
        torch.testing.assert_close(flambeau.ONNXProgram(ir.load(path))(X)[0], model(X))
        torch.testing.assert_close(program(X)[0], model(X))


def test_a_folder_is_no_file_to_save_to(model, tmp_path):
    program = flambeau.export(model, (X,), verbose=False)
    assert program.model.graph.initializers
    with pytest.raises(OnnxExporterError, match="is a folder"):
        program.save(tmp_path)
    assert not list(tmp_path.iterdir())


def test_other_bytes_are_no_small_floats():
    program = flambeau.export(torch.nn.Identity(), (torch.ones(3, dtype=torch.bfloat16),), verbose=False)
    for other in (torch.ones(3).half(), torch.ones(3, dtype=torch.int16), torch.ones(3), np.ones(3, np.float16)):
        with pytest.raises(TypeError, match="'input' is of bfloat16, and .* was given"):
            program(other)
    expected = torch.full((3,), 2.5, dtype=torch.bfloat16)
    for same in (expected, np.full(3, 2.5, ml_dtypes.bfloat16)):
        assert torch.equal(program(same)[0], expected)
