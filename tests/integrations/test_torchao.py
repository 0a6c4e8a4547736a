"""torchao: models whose weights it quantized, and its PT2E programs. Quantized weights stay bytes, or halves of them."""

from __future__ import annotations

import collections
import io

import onnx
import onnxruntime
import pytest
import torch

import flambeau

from .conftest import library

library("torchao")
from torchao.quantization import (  # noqa: E402
    Float8WeightOnlyConfig,
    Int8DynamicActivationInt8WeightConfig,
    Int8DynamicActivationIntxWeightConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    quantize_,
)
from torchao.quantization.granularity import PerAxis, PerGroup  # noqa: E402
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e  # noqa: E402
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86  # noqa: E402

BATCH = ({0: torch.export.Dim("n")},)
# The config, and the type of the model's weights, which opsets before 21 have in bytes.
CONFIGS = {
    "int8": (Int8WeightOnlyConfig(), "INT8"),
    "int8, activations too": (Int8DynamicActivationInt8WeightConfig(), "INT8"),
    "4 bits in groups": (IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=PerGroup(32)), "INT4"),
    "2 bits in groups": (IntxWeightOnlyConfig(weight_dtype=torch.int2, granularity=PerGroup(32)), "INT4"),
    "8 bits by rows": (IntxWeightOnlyConfig(weight_dtype=torch.int8, granularity=PerAxis(0)), "INT8"),
    "4 bits, activations too": (Int8DynamicActivationIntxWeightConfig(weight_dtype=torch.int4, weight_granularity=PerGroup(32)), "INT4"),
    "float8": (Float8WeightOnlyConfig(), "FLOAT8E4M3FN"),
}


def check(program, model, inputs, tolerance=1e-4):
    buffer = io.BytesIO()
    program.save(buffer)
    proto = onnx.load_from_string(buffer.getvalue())
    onnx.checker.check_model(proto, full_check=True)
    session = onnxruntime.InferenceSession(buffer.getvalue())
    for x in inputs:
        (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
        torch.testing.assert_close(torch.from_numpy(got), model(x), rtol=tolerance, atol=tolerance)
    return proto


@pytest.mark.parametrize("opset", [19, 20, 21, 23])
@pytest.mark.parametrize("name", CONFIGS)
def test_quantized_weights(name, opset):
    torch.manual_seed(0)
    config, dtype = CONFIGS[name]
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)).eval()
    quantize_(model, config)
    program = flambeau.export(model, (torch.randn(3, 64),), dynamic_shapes=BATCH, opset_version=opset)
    with torch.no_grad():
        proto = check(program, model, [torch.randn(rows, 64) for rows in (1, 3, 5)])
    large = [each for each in proto.graph.initializer if len(each.dims) == 2 and each.dims[0] * each.dims[1] >= 64 * 256]
    if opset < 21 and dtype == "INT4":
        dtype = "INT8"
    assert [onnx.TensorProto.DataType.Name(each.data_type) for each in large] == [dtype, dtype]


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.Conv2d(8, 8, 3, padding=1)
        self.last = torch.nn.Linear(8, 10)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return self.last((x + self.second(x)).mean((2, 3)))


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_pt2e(is_dynamic):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 16, 16)
    module = torch.export.export(Convolutions().eval(), (x,), dynamic_shapes=BATCH).module()
    quantizer = x86.X86InductorQuantizer().set_global(x86.get_default_x86_inductor_quantization_config(is_dynamic=is_dynamic))
    prepared = prepare_pt2e(module, quantizer)
    for _ in range(3):
        prepared(torch.randn(2, 3, 16, 16))
    converted = convert_pt2e(prepared)
    program = flambeau.export(converted, (x,), dynamic_shapes=BATCH)
    # A number that lies halfway between two of the grid goes either way.
    proto = check(program, converted, [torch.randn(n, 3, 16, 16) for n in (2, 5)], tolerance=5e-3)
    counts = collections.Counter(node.op_type for node in proto.graph.node)
    assert counts["QuantizeLinear"] == 3 and counts["DequantizeLinear"] == 6
