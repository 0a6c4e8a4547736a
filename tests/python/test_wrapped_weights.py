"""Weights that wrap other tensors, as torchao's do: each is a weight of its own."""

import io

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

import flambeau


class Int8Weight(torch.Tensor):
    """A matrix of bytes, and a scale for each row."""

    @staticmethod
    def __new__(cls, bytes, scale):
        return torch.Tensor._make_wrapper_subclass(cls, bytes.shape, dtype=scale.dtype, device=bytes.device)

    def __init__(self, bytes, scale):
        self.bytes, self.scale = bytes, scale

    def __tensor_flatten__(self):
        return ["bytes", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["bytes"], inner["scale"])

    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        if function is torch.nn.functional.linear:
            x, weight, bias = args
            return (x @ weight.bytes.to(x.dtype).t()) * weight.scale.flatten() + bias
        with torch._C.DisableTorchFunctionSubclass():
            return function(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, operator, types, args=(), kwargs=None):
        if operator in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return cls(*(operator(part) for part in (args[0].bytes, args[0].scale)))
        raise NotImplementedError(operator)


def quantized(linear):
    scale = linear.weight.detach().abs().amax(1, keepdim=True) / 127
    weight = Int8Weight(torch.round(linear.weight.detach() / scale).to(torch.int8), scale)
    linear.weight = torch.nn.Parameter(weight, requires_grad=False)
    return linear.requires_grad_(False)


@pytest.fixture
def model():
    torch.manual_seed(0)
    tied = quantized(torch.nn.Linear(96, 96))
    return torch.nn.Sequential(quantized(torch.nn.Linear(64, 96)), torch.nn.ReLU(), tied, tied).eval()


def exported(model, **options):
    n = torch.export.Dim("n")
    program = flambeau.export(model, (torch.randn(3, 64),), dynamic_shapes=({0: n},), **options)
    buffer = io.BytesIO()
    program.save(buffer)
    return onnx.load_from_string(buffer.getvalue())


def test_parts_are_weights_and_stay_bytes(model):
    proto = exported(model)
    assert [node.op_type for node in proto.graph.node] == ["DequantizeLinear", "Gemm", "Relu", "DequantizeLinear", "Gemm", "Gemm"]
    bytes_of = {each.name: onnx.numpy_helper.to_array(each) for each in proto.graph.initializer if each.data_type == onnx.TensorProto.INT8}
    assert set(bytes_of) == {"0.weight.bytes", "2.weight.bytes"}
    np.testing.assert_array_equal(bytes_of["0.weight.bytes"], model[0].weight.bytes.numpy())
    for rows in (1, 5):
        x = torch.randn(rows, 64)
        (got,) = onnxruntime.InferenceSession(proto.SerializeToString()).run(None, {proto.graph.input[0].name: x.numpy()})
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


def test_parts_of_rows_of_several_dimensions(model):
    x = torch.randn(2, 3, 64)
    buffer = io.BytesIO()
    flambeau.export(model, (x,)).save(buffer)
    session = onnxruntime.InferenceSession(buffer.getvalue())
    (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


class Whole(torch.nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.weight = weight

    def forward(self, x):
        return x.sum(), self.weight


def test_a_weight_that_is_used_whole_is_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="weight"):
        flambeau.export(Whole(model[0].weight), (torch.randn(3),))


class Named(torch.Tensor):
    """A tensor of a class of its own, which wraps none."""


class Offset(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("offset", torch.arange(96.0).as_subclass(Named))

    def forward(self, x):
        return x + self.offset


def test_an_archive_has_the_parts(model, tmp_path):
    model.append(Offset())
    archive, x = tmp_path / "model.pt2", torch.randn(3, 64)
    torch.export.save(torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim("n")},)), archive)
    flambeau.convert(archive, tmp_path / "model.onnx")
    proto = onnx.load(tmp_path / "model.onnx")
    bytes_of = {each.name: onnx.numpy_helper.to_array(each) for each in proto.graph.initializer if each.data_type == onnx.TensorProto.INT8}
    assert sorted(bytes_of) == ["0.weight.bytes", "3.weight.bytes"]
    np.testing.assert_array_equal(bytes_of["0.weight.bytes"], model[0].weight.bytes.numpy())
    for rows in (x, torch.randn(5, 64)):
        (got,) = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {proto.graph.input[0].name: rows.numpy()})
        np.testing.assert_allclose(got, model(rows).numpy(), rtol=1e-4, atol=1e-5)


def test_an_archive_of_a_weight_that_is_used_whole_is_refused(model, tmp_path):
    archive = tmp_path / "model.pt2"
    torch.export.save(torch.export.export(Whole(model[0].weight), (torch.randn(3),)), archive)
    with pytest.raises(flambeau.errors.OnnxExporterError, match="'weight' wraps other tensors"):
        flambeau.convert(archive, tmp_path / "model.onnx")
