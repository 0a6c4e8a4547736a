"""Quantized modules, live and saved, against torch: the same integers but for a rounding, floats where it computes floats."""

import copy
import warnings

import numpy
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.ao import quantization
from torch.ao.nn.quantized import FloatFunctional
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import flambeau

pytestmark = pytest.mark.filterwarnings("ignore")
ENGINES = [engine for engine in ("fbgemm", "qnnpack", "x86", "onednn") if engine in torch.backends.quantized.supported_engines]


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.quantize, self.dequantize = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.norm, self.relu = nn.Conv2d(3, 6, 3, padding=1), nn.BatchNorm2d(6), nn.ReLU()
        self.up, self.pool, self.depthwise = nn.ConvTranspose2d(6, 6, 3, 2), nn.MaxPool2d(2), nn.Conv2d(6, 6, 3, groups=6, stride=2)
        self.sums, self.swish, self.linear = FloatFunctional(), nn.Hardswish(), nn.Linear(12 * 9, 5)

    def forward(self, x):
        y = self.relu(self.norm(self.first(self.quantize(x))))
        y = self.sums.add(y, self.pool(self.up(y)))
        y = self.depthwise(y)
        y = self.sums.cat([y, self.swish(y)], 1)
        return self.dequantize(self.linear(torch.flatten(y, 1)))


class OneDimension(nn.Module):
    def __init__(self):
        super().__init__()
        self.quantize, self.dequantize = quantization.QuantStub(), quantization.DeQuantStub()
        self.first, self.second = nn.Conv1d(3, 4, 3, padding=1), nn.Conv1d(4, 4, 3, padding=1, padding_mode="reflect")
        self.relu = nn.ReLU()

    def forward(self, x):
        return self.dequantize(self.second(self.relu(self.first(self.quantize(x)))))


class Activations(nn.Module):
    def __init__(self):
        super().__init__()
        self.quantize, self.dequantize = quantization.QuantStub(), quantization.DeQuantStub()
        self.linear, self.layer, self.group = nn.Linear(6, 6), nn.LayerNorm(6), nn.GroupNorm(1, 3)
        self.elu, self.leaky, self.six, self.sigmoid, self.tanh = nn.ELU(), nn.LeakyReLU(0.1), nn.ReLU6(), nn.Sigmoid(), nn.Tanh()
        self.more, self.less, self.product = FloatFunctional(), FloatFunctional(), FloatFunctional()

    def forward(self, x):
        x = self.linear(self.quantize(x))
        chosen = x.view(2, -1).transpose(0, 1)[1:9:2].reshape(-1) if x.size(0) == 2 else x
        numbers = [self.elu(x), self.leaky(x), self.six(x), self.sigmoid(x), self.tanh(x), chosen, x.relu(), x.clamp(-0.5, 0.5)]
        numbers += [self.more.add_scalar(x, 30.3), self.less.mul_scalar(x, -1.5), self.product.mul(x, x), self.layer(x), self.group(x)]
        return [self.dequantize(each) for each in numbers]


class Recurrent(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def grids(engine):
    """How a model is quantized for the engine: oneDNN's sums of products of whole bytes overflow on CPUs without instructions for them."""
    wide = engine != "onednn" or torch.cpu._is_vnni_supported()
    return quantization.get_default_qconfig(engine if wide else "fbgemm")


def quantized(model, x, engine):
    torch.backends.quantized.engine = engine
    model = model.eval()
    model.qconfig = grids(engine)
    for module in model.modules():
        if isinstance(module, nn.ConvTranspose2d):
            module.qconfig = quantization.QConfig(quantization.default_observer, quantization.default_weight_observer)
    prepared = quantization.prepare(model)
    prepared(x)
    return quantization.convert(prepared)


def leaves(outputs):
    return [outputs] if isinstance(outputs, torch.Tensor) else [leaf for each in outputs for leaf in leaves(each)]


def compare(program, model, x, tolerance):
    options = onnxruntime.SessionOptions()
    # Its fused kernels round products on grids of their own.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), options)
    actual = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    expected = [leaf.detach().numpy() for leaf in leaves(model(x))]
    assert len(actual) == len(expected)
    for ours, theirs in zip(actual, expected):
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        steps = numpy.diff(numpy.unique(theirs))
        quantum = steps[steps > 1e-6].min() if tolerance is None else tolerance
        numpy.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1.01 * quantum)


def check(model, x, tmp_path, tolerance=None, dynamic=False):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced, scripted = torch.jit.trace(model, x, check_trace=False), torch.jit.script(model)
        axes = {"input_names": ["x"], "dynamic_axes": {"x": {0: "first"}}} if dynamic else {}
        for captured in (model, traced, scripted):
            program = flambeau.export(captured, (x,), verbose=False, **axes)
            compare(program, model, x, tolerance)
        assert "QuantizeLinear" in {node.op_type for node in program.model_proto.graph.node} or tolerance is not None
        sizes = ",".join(map(str, x.shape))
        dtype = str(x.dtype).removeprefix("torch.")
        for saved in (scripted, torch.jit.freeze(scripted), torch.jit.freeze(traced)):  # packed weights are constants of frozen ones
            saved.save(tmp_path / "model.pt")
            inputs = {saved.forward.schema.arguments[1].name: f"{dtype}[{sizes}]"}
            compare(flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs=inputs), model, x, tolerance)


def random(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(1))


@pytest.fixture(autouse=True)
def engine_and_seed():
    before = torch.backends.quantized.engine
    torch.manual_seed(0)
    yield
    torch.backends.quantized.engine = before


@pytest.mark.parametrize("engine", ENGINES)
def test_convolutions(engine, tmp_path):
    x = random(2, 3, 8, 8)
    check(quantized(Convolutions(), x, engine), x, tmp_path)


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_one_dimension(engine, tmp_path):
    x = random(2, 3, 9)
    check(quantized(OneDimension(), x, engine), x, tmp_path)


def test_three_dimensions(tmp_path):
    x = random(1, 2, 5, 5, 5)
    model = nn.Sequential(quantization.QuantStub(), nn.Conv3d(2, 4, 3), nn.BatchNorm3d(4), quantization.DeQuantStub())
    check(quantized(model, x, "fbgemm"), x, tmp_path)


@pytest.mark.parametrize("engine", ENGINES[:2])
def test_activations(engine, tmp_path):
    x = random(2, 3, 6)
    check(quantized(Activations(), x, engine), x, tmp_path)


RECURRENT = {
    "lstm": (lambda: nn.LSTM(5, 3, 2, bidirectional=True), (4, 2, 5)),
    "lstm_batch_first": (lambda: nn.LSTM(5, 3, batch_first=True), (2, 4, 5)),
    "gru": (lambda: nn.GRU(5, 3), (4, 2, 5)),
    "lstm_cell": (lambda: nn.LSTMCell(5, 3), (2, 5)),
    "gru_cell": (lambda: nn.GRUCell(5, 3), (2, 5)),
    "rnn_cell": (lambda: nn.RNNCell(5, 3), (2, 5)),
    "linear": (lambda: nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2)), (3, 5)),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_dynamic(name, tmp_path):
    make, sizes = RECURRENT[name]
    kinds = {nn.LSTM, nn.GRU, nn.Linear, nn.LSTMCell, nn.GRUCell, nn.RNNCell}
    torch.backends.quantized.engine = "fbgemm"
    model = quantization.quantize_dynamic(Recurrent(make()).eval(), kinds)
    check(model, random(*sizes), tmp_path, 1e-5)


def test_half_precision_weights(tmp_path):
    torch.backends.quantized.engine = "fbgemm"
    model = quantization.quantize_dynamic(Recurrent(nn.LSTM(5, 3)).eval(), {nn.LSTM}, dtype=torch.float16)
    check(model, random(4, 2, 5), tmp_path, 1e-5)


@pytest.mark.parametrize("make", [lambda: nn.EmbeddingBag(10, 8, mode="sum"), lambda: nn.Embedding(10, 8)])
def test_embeddings(make, tmp_path):
    torch.backends.quantized.engine = "fbgemm"
    model = Recurrent(make()).eval()
    model.layer.qconfig = quantization.float_qparams_weight_only_qconfig
    check(quantization.convert(quantization.prepare(model)), torch.tensor([[1, 2, 3], [4, 9, 0]]), tmp_path, 1e-5)


class PackedSequences(nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, enforce_sorted=False)
        outputs, states = self.layer(packed)
        padded, sizes = pad_packed_sequence(outputs)
        return padded, sizes, states


def run(program, *inputs):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString(), options)
    return session.run(None, {value.name: x.numpy() for value, x in zip(session.get_inputs(), inputs)})


@pytest.mark.parametrize("make", [lambda: nn.LSTM(4, 3, 2, bidirectional=True), lambda: nn.GRU(4, 3, bidirectional=True)])
def test_packed_sequences(make, tmp_path):
    torch.backends.quantized.engine = "fbgemm"
    model = quantization.quantize_dynamic(PackedSequences(make()).eval(), {nn.LSTM, nn.GRU})
    torch.jit.script(model).save(tmp_path / "model.pt")
    program = flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs={"x": "float32[5,3,4]", "lengths": "int64[3]"})
    x = random(5, 3, 4)
    for lengths in ([3, 5, 1], [5, 5, 5], [2, 1, 5]):
        expected = leaves(model(x, torch.tensor(lengths)))
        for ours, theirs in zip(run(program, x, torch.tensor(lengths)), expected, strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_tables_packed_by_row(bits, tmp_path):
    name = "byte" if bits == 8 else f"{bits}bit"
    operators = torch.ops.quantized
    lookup, unpack = getattr(operators, f"embedding_bag_{name}_rowwise_offsets"), getattr(operators, f"embedding_bag_{name}_unpack")

    class Rows(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("table", getattr(operators, f"embedding_bag_{name}_prepack")(random(10, 16)))

        def forward(self, indices, offsets):
            return lookup(self.table, indices, offsets), unpack(self.table)

    model, inputs = Rows(), (torch.tensor([1, 2, 3, 9]), torch.tensor([0, 3]))
    torch.jit.trace(model, inputs).save(tmp_path / "model.pt")
    described = {"indices": "int64[4]", "offsets": "int64[2]"}
    program = flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs=described)
    for ours, theirs in zip(run(program, *inputs), model(*inputs), strict=True):
        torch.testing.assert_close(torch.as_tensor(ours), theirs)


def test_integers_that_share_bytes(tmp_path):
    torch.backends.quantized.engine = "fbgemm"
    model = Recurrent(nn.EmbeddingBag(11, 6, mode="sum")).eval()
    model.layer.qconfig = quantization.float_qparams_weight_only_qconfig_4bit
    check(quantization.convert(quantization.prepare(model)), torch.tensor([[1, 2, 10], [4, 9, 0]]), tmp_path, 1e-5)


class ByChannel(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("scales", torch.tensor([0.1, 0.2, 0.05]))

    def forward(self, x):
        q = torch.quantize_per_channel(x, self.scales, torch.tensor([1, 2, 0]), 1, torch.qint8)
        between = torch.quantize_per_channel(x, self.scales, self.scales * 3, 1, torch.quint8)
        return q.dequantize(), q.q_per_channel_scales(), q.q_per_channel_zero_points(), between.dequantize(), between.int_repr()


def test_grids_by_channel(tmp_path):
    torch.jit.script(ByChannel()).save(tmp_path / "model.pt")
    x = random(2, 3, 4)
    program = flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs={"x": "float32[2,3,4]"})
    for ours, theirs in zip(run(program, x), ByChannel()(x), strict=True):
        torch.testing.assert_close(torch.as_tensor(ours), theirs)


class QuantizedWeights(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.quantize_per_tensor(random(3, 3), 0.1, 3, torch.qint8)
        self.others = [torch.quantize_per_channel(random(3, 3), torch.rand(3) + 0.1, torch.zeros(3), 0, torch.qint8) for _ in range(2)]

    def forward(self, x):
        return x @ self.weight.dequantize() + self.others[0].dequantize() + self.others[1].int_repr()


def test_quantized_tensors_that_are_constants(tmp_path):
    model, x = QuantizedWeights().eval(), random(3, 3)
    torch.jit.freeze(torch.jit.script(model)).save(tmp_path / "model.pt")
    compare(flambeau.convert(tmp_path / "model.pt", tmp_path / "model.onnx", inputs={"x": "float32[3,3]"}), model, x, 1e-5)


class Branches(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y = torch.quantize_per_tensor(x, 0.05, 10, torch.quint8)
        if bool(x.sum() > 0):
            y = torch.relu(y)
        else:
            y = y.flip([1])
        return y.dequantize(), y.q_scale(), y.q_zero_point(), y.int_repr()


def test_quantized_tensors_out_of_branches():
    model = torch.jit.script(Branches(nn.Identity()))
    x = random(2, 6)
    program = flambeau.export(copy.deepcopy(model), (x,), verbose=False)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    for each in (x.abs(), -x.abs(), x):
        expected = model(each)
        for ours, theirs in zip(session.run(None, {session.get_inputs()[0].name: each.numpy()}), expected):
            torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), check_dtype=False)


class Halves(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Upsample(scale_factor=2)

    def forward(self, x):
        x = torch.quantize_per_tensor(x, 0.05, 10, torch.quint8)
        first, second = x.chunk(2, 1)
        return first.dequantize(), self.up(second).dequantize()


@pytest.mark.parametrize("capture", [torch.jit.script, lambda model: torch.jit.trace(model, random(2, 4, 3, 3))])
def test_chunks_and_resizing(capture):
    x = random(2, 4, 3, 3)
    program = flambeau.export(capture(Halves()), (x,), verbose=False, input_names=["x"], dynamic_axes={"x": [0]})
    for batch in (x, random(3, 4, 3, 3)):
        for ours, theirs in zip(run(program, batch), Halves()(batch), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), theirs)


def test_chunks_of_a_dynamic_axis_are_refused():
    x = random(2, 4, 3, 3)
    with pytest.raises(torch.onnx.OnnxExporterError, match="a list of quantized tensors whose length is known at run time only"):
        flambeau.export(torch.jit.trace(Halves(), x), (x,), verbose=False, input_names=["x"], dynamic_axes={"x": [1]})


class Joined(nn.Module):
    def forward(self, x):
        a = torch.quantize_per_tensor(x, 0.07, 3, torch.quint8)
        b = torch.quantize_per_tensor(x * 2, 0.23, 7, torch.quint8)
        side_by_side, stacked = torch.cat([a, b, a], 1), torch.stack([b, a, b])
        return side_by_side.dequantize(), side_by_side.int_repr(), stacked.dequantize(), x * stacked.q_scale()


@pytest.mark.parametrize("capture", [torch.jit.script, lambda model: torch.jit.trace(model, random(2, 4))])
def test_what_is_joined_goes_over_to_the_grid_of_the_first(capture):
    x = random(2, 4)
    program = flambeau.export(capture(Joined()), (x,), verbose=False, input_names=["x"], dynamic_axes={"x": [0]})
    for batch in (x, random(3, 4) * 3):
        for ours, theirs in zip(run(program, batch), Joined()(batch), strict=True):
            torch.testing.assert_close(torch.as_tensor(ours), torch.as_tensor(theirs), check_dtype=False)


class FloatWeights(nn.Module):
    """Only what layers pass on is quantized; of their weights some are far larger than others."""

    def __init__(self):
        super().__init__()
        self.linear, self.convolution, self.up = nn.Linear(4, 4), nn.Conv2d(2, 4, 3), nn.ConvTranspose2d(2, 4, 3)
        with torch.no_grad():
            for layer in (self.linear, self.convolution, self.up):
                layer.weight[0] *= 100

    def forward(self, x, image):
        x, image = on_a_grid(x), on_a_grid(image)
        rows = on_a_grid(self.linear(x)), on_a_grid(self.linear(x[0]).relu().t())
        return rows, on_a_grid(F.max_pool2d(self.convolution(image), 2)), on_a_grid(self.up(image.transpose(2, 3)).clamp(0, 6))


def on_a_grid(x):
    return torch.fake_quantize_per_tensor_affine(x, 0.05, 128, 0, 255)


@pytest.mark.parametrize("opset", (11, 13, 18, 21))
def test_weights_that_are_not_quantized_stay_exact(opset):
    torch.manual_seed(0)
    model, x, image = FloatWeights().eval(), random(2, 3, 4), random(2, 2, 8, 7)
    program = flambeau.export(model, (x, image), dynamo=False, verbose=False, opset_version=opset)
    for ours, theirs in zip(program(x, image), torch.utils._pytree.tree_leaves(model(x, image)), strict=True):
        torch.testing.assert_close(ours, theirs)


class Scaled(nn.Module):
    """Numbers come before any module: FX keeps the first scale and zero point in buffers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)

    def forward(self, x):
        small = (x * 2 - 1).relu()
        return self.first(x * -0.5), small, 3 + x, x + 100, x - 100, x * 0


def test_numbers_where_scales_are_in_buffers(tmp_path):
    from torch.ao.quantization import quantize_fx

    x = random(2, 3, 8, 8)
    prepared = quantize_fx.prepare_fx(Scaled().eval(), quantization.get_default_qconfig_mapping(torch.backends.quantized.engine), (x,))
    prepared(x)
    check(quantize_fx.convert_fx(prepared), x, tmp_path, 2e-2)
