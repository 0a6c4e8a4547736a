"""Tensors that torch's tracer makes of numbers, sizes and arguments, promote as the numbers that PyTorch computes with."""

import math
from math import ceil
from math import sqrt as square_root

import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch.nn.functional import scaled_dot_product_attention as attend

import flambeau
from flambeau.onnx.operators import shape_as_tensor


class Parameter(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.tensor(1.5, dtype=torch.float16))

    def forward(self, x):
        return self.gain * (1.0 / x.size(0)), self.gain + x.numel(), -(x.size(0) // 2) * self.gain


class Calls(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


def halves(x):
    h = x.half()[0, 0]
    n = x.size(0)
    return h.mean() * (n**0.5), torch.where(h > 0, h, n / 2), 2 * n - h, h % n, h**n, n // h.abs().add(1), x.half() * (n / 3)


def counts(x):
    lengths = x.abs().to(torch.int32)
    return lengths.max() - x.size(0), lengths.sum(dtype=torch.uint8) * x.size(1), lengths.max() / x.size(0), x.size(0) + x.size(1) * torch.tensor(2, dtype=torch.int8)


def tensors_of_sizes(x):
    """These are no numbers to PyTorch either."""
    return torch.tensor(x.size(0)) * torch.tensor(2, dtype=torch.int32), shape_as_tensor(x)[0] + torch.tensor(1, dtype=torch.int8)


@pytest.mark.parametrize("model", [Parameter(), *map(Calls, (halves, counts, tensors_of_sizes))], ids=["parameter", "halves", "counts", "tensors"])
@pytest.mark.parametrize("dynamic", [False, True])
def test_sizes_promote_as_numbers(model, dynamic):
    torch.manual_seed(0)  # a quotient of halves may be rounded across a whole number, as onnxruntime adds halves in float32
    axes = {"x": {0: "n"}} if dynamic else None
    program = flambeau.export(model, (torch.randn(2, 4),), input_names=["x"], dynamic_axes=axes, capture="trace", verbose=False)
    for n in (2, 5) if dynamic else (2,):
        x = torch.randn(n, 4)
        torch.testing.assert_close(tuple(program(x)), tuple(model(x)), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("function", "number"),
    [
        (lambda x, z: x.mean() * z, 2.5),
        (lambda x, z: torch.stack([x[0, 0], x[0, 1] * z]), 2.5),
        (lambda x, z: x.half().mean() - (z + 1) / 2, 2.5),
        (lambda x, z: x.to(torch.int32).max() * z, 2),
        (lambda x, z: x.to(torch.int8)[0, 0] + z * z, 3),
        (lambda x, z: x * z, 2.5),
        (lambda x, z: torch.where(x > 0, z, 0.0).sum() + torch.linspace(0, z, 3), 2.5),
        (lambda x, z: torch.as_tensor(z) - x.max().clamp(max=z), 2.5),
        (lambda x, z: (x * 0 + 0.1).min() == z, 0.1),
    ],
)
def test_arguments_promote_as_numbers(tmp_path, function, number):
    x = torch.randn(2, 4)
    flambeau.onnx.export(Calls(function), (x, number), tmp_path / "m.onnx", dynamo=False)
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    kinds = {"tensor(float)": torch.float32, "tensor(double)": torch.float64, "tensor(int64)": torch.int64}
    assert kinds[session.get_inputs()[1].type] == (torch.float64 if isinstance(number, float) else torch.int64)
    for each in (number, number + 1):
        given = {value.name: torch.as_tensor(given, dtype=kinds[value.type]).numpy() for value, given in zip(session.get_inputs(), (x, each))}
        torch.testing.assert_close(torch.from_numpy(session.run(None, given)[0]), function(x, each))


def filled(x, z):
    return x.clone().fill_(z)


@pytest.mark.parametrize("make", [lambda: Calls(filled), lambda: torch.jit.script(filled)], ids=["trace", "script"])
def test_what_is_filled_at_run_time_stays_an_input(tmp_path, make):
    flambeau.onnx.export(make(), (torch.randn(4, 4), torch.tensor(2.5)), tmp_path / "m.onnx", dynamo=False, input_names=["x", "z"])
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    assert [value.name for value in session.get_inputs()] == ["x", "z"]


FUNCTIONS_OF_SIZES = {
    "ceil": lambda x: F.pad(x, (0, math.ceil(x.shape[1] / 8) * 8 - x.shape[1])),
    "floor": lambda x: x[:, : math.floor(x.shape[1] * 0.7)] + math.ceil(x.shape[1]),
    "trunc": lambda x: x[:, : math.trunc(x.shape[1] / 2)] * math.fabs(x.shape[1]),
    "logarithms": lambda x: x * (math.log(x.shape[1]) + math.log(x.shape[1], 2) + math.log2(x.shape[1])) / math.sqrt(x.shape[1]),
    "a power of 2": lambda x: F.pad(x, (0, 2 ** math.ceil(math.log2(x.shape[1])) - x.shape[1])),
    "bits": lambda x: F.pad(x, (0, (1 << (x.shape[1] - 1).bit_length()) - x.shape[1])),
    "powers": lambda x: x * math.pow(x.shape[1], 0.5) + math.exp(-x.shape[1]) + math.sin(x.shape[1]),
    "round": lambda x: F.interpolate(x[None], size=round(x.shape[1] * 0.3)) + round(x.shape[1]) + round(x.shape[1] / 7, 1) + round(20 / x.shape[1]),
    "by their own names": lambda x: F.pad(x, (0, ceil(x.shape[1] / 8) * 8 - x.shape[1])) * square_root(x.shape[1]),
    "max": lambda x: F.pad(x, (0, max(14, x.shape[1]) - x.shape[1])) * max(x.shape) + max(1.0, math.log(x.shape[1]) / math.log(13)),
    "min": lambda x: x[:, : min(14, x.shape[1], x.shape[0] * 50)] * min([1.0, x.shape[1] / 14]) + max([1, 2], key=abs),
    "len": lambda x: torch.arange(len(x))[:, None] + x.expand(len(x), -1) / len(x[0]) + len(x.shape) + x[len(x) - 1],
}


LISTS_OF_ONE_SIZE = {
    "max_pool1d": lambda x: F.max_pool1d(x[None], x.shape[1]),
    "max_pool2d": lambda x: F.max_pool2d(x[None, None, :2], (2, x.shape[1] // 4), stride=x.shape[0] // 2),
    "avg_pool1d": lambda x: F.avg_pool1d(x[None], kernel_size=x.shape[1] // 2, ceil_mode=True),
    "avg_pool2d": lambda x: F.avg_pool2d(x[None, None], x.shape[0]),
    "lp_pool1d": lambda x: F.lp_pool1d(x[None], 2, x.shape[1]),
    "roll": lambda x: x.roll(x.shape[1] // 2, 1) + torch.roll(x, x.shape[0] // 2),
    "adaptive_avg_pool1d": lambda x: F.adaptive_avg_pool1d(x, x.shape[1] // 2) + torch.adaptive_avg_pool1d(x, output_size=x.shape[1] // 2),
    "adaptive_max_pool1d": lambda x: F.adaptive_max_pool1d(x, x.shape[1] // 2) + torch.adaptive_max_pool1d(x, x.shape[1] // 2)[1],
    "a module": lambda x: torch.nn.AdaptiveAvgPool1d(x.shape[1] // 2)(x),
}


@pytest.mark.parametrize("function", [*FUNCTIONS_OF_SIZES.values(), *LISTS_OF_ONE_SIZE.values()], ids=[*FUNCTIONS_OF_SIZES, *LISTS_OF_ONE_SIZE])
def test_functions_of_sizes(function):
    """torch's tracer makes constants of these, and keeps sizes for integers in lists only."""
    model = Calls(function)
    program = flambeau.export(model, (torch.randn(2, 12),), input_names=["x"], dynamic_axes={"x": [0, 1]}, dynamo=False)
    for x in (torch.randn(2, 12), torch.randn(4, 17)):
        torch.testing.assert_close(program(x)[0], model(x))


def test_what_the_tracer_warns_of_is_said_of_the_models_line():
    with pytest.warns(torch.jit.TracerWarning) as said:
        flambeau.export(Calls(lambda x: x * max(float(x.mean()), math.exp(x.sum()))), (torch.randn(2, 3),), dynamo=False)
    assert {each.filename for each in said if each.category is torch.jit.TracerWarning} == {__file__}


@pytest.mark.parametrize("function", [lambda x: x * round(x.mean()), lambda x: x * x.sum().bit_length()])
def test_tensors_are_no_numbers_to_functions_of_numbers(function):
    with pytest.raises(flambeau.errors.CaptureError, match="__round__|bit_length"):
        flambeau.export(Calls(function), (torch.randn(2, 3),), dynamo=False)


@torch.jit.script_if_tracing
def scripted_while_traced(x):
    size = x.shape[1]
    if size > 4:
        return F.interpolate(x[None], size=[math.floor(size * 2.3)], mode="linear")[0].roll(1, 1)
    return F.max_pool1d(x, 2)


def test_what_is_compiled_while_a_model_is_traced():
    """Functions that stand in for torch's are torch's to TorchScript."""
    model = Calls(lambda x: scripted_while_traced(x))
    program = flambeau.export(model, (torch.randn(2, 12),), input_names=["x"], dynamic_axes={"x": [1]}, dynamo=False)
    for x in (torch.randn(2, 12), torch.randn(2, 9), torch.randn(2, 4)):
        torch.testing.assert_close(program(x)[0], model(x))


def python_numbers(x):
    integers, flags = x.long(), x > 0
    of_integers = integers * 0.5, integers - 1.5, integers.sum() * 0.1, torch.unsqueeze(integers, 0) / 2.5 + 2.5, integers.add(1.5, alpha=2)
    return *of_integers, flags * 2, flags * 2.5, x.to(torch.uint8) + 300, x.sum() * 0.1 + x.size(0), torch.tensor(2) * 0.5 - x.half()


def tensors_of_python_numbers(x):
    """These are tensors to PyTorch, also when it runs what it has loaded."""
    return x.long() * torch.tensor(0.5, dtype=torch.float64), x.sum() * torch.tensor(0.5, dtype=torch.float64)


def complex_numbers(x):
    return torch.view_as_real(x * (1 + 2j)), torch.view_as_real(x.sum() * (1 + 2j)), torch.view_as_real(x.long() * 2j)


@pytest.mark.parametrize("function", [python_numbers, tensors_of_python_numbers, complex_numbers])
@pytest.mark.filterwarnings("ignore:.*:torch.jit.TracerWarning")
def test_numbers_of_a_loaded_trace_promote_as_numbers(function, tmp_path):
    """Its graph has them as 0-d tensors of float64 and int64, without the dtypes of results."""
    x = torch.randn(2, 4)
    torch.jit.trace(Calls(function), (x,), check_trace=False).save(str(tmp_path / "trace.pt"))
    program = flambeau.convert(tmp_path / "trace.pt", tmp_path / "trace.onnx", inputs={"x": "float32[n,4]"})
    loaded = torch.jit.load(str(tmp_path / "trace.pt"))
    for n in (2, 5):
        x = torch.randn(n, 4)
        torch.testing.assert_close(tuple(program(x)), tuple(loaded(x)), rtol=1e-3, atol=1e-3)
        torch.testing.assert_close(tuple(program(x)), tuple(function(x)), rtol=1e-3, atol=1e-3)


def attended(x):
    return attend(x, x, x, is_causal=x.size(1) > 1), F.scaled_dot_product_attention(x, x, x, None, 0.0, x.size(1) > 9)


def test_sizes_that_decide_whether_attention_is_causal():
    """They do as for the example."""
    with pytest.warns(torch.jit.TracerWarning, match="Python boolean"):
        program = flambeau.export(Calls(attended), (torch.randn(2, 4, 8),), dynamic_shapes={"args": ({0: "n", 1: "m"},)}, capture="trace")
    for x in (torch.randn(2, 4, 8), torch.randn(3, 7, 8)):
        torch.testing.assert_close(tuple(program(x)), attended(x), rtol=1e-4, atol=1e-4)
