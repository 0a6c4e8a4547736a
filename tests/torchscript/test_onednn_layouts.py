"""Modules whose weights and steps torch laid out for oneDNN: their elements are those of dense tensors."""

import copy
import warnings

import pytest
import torch
from checking import compare
from torch import nn
from torch.nn import functional
from torch.utils import mkldnn

import flambeau

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*deprecated"),
    pytest.mark.skipif(not torch.backends.mkldnn.is_available(), reason="torch was built without oneDNN"),
]


class Pieces(nn.Module):
    """All that the pass of torch has an operator of its own for."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3, stride=2)
        self.norm = nn.BatchNorm2d(4)
        self.grouped = nn.Conv2d(4, 4, 3, padding=1, groups=2)
        self.wide = nn.Conv2d(3, 4, 3, stride=2, dilation=(1, 1), bias=False)
        self.narrow = nn.Conv2d(3, 1, 3, stride=2)
        self.last = nn.Linear(4, 5)

    def forward(self, x):
        y = functional.relu(self.norm(self.first(x)))
        z = functional.hardswish(self.grouped(y) + y)
        z = functional.hardsigmoid(z) * z + self.wide(x) * self.narrow(x)
        z = torch.clamp(functional.hardtanh(z, -1.5, 1.0), -1.0, 1.5)
        pooled = functional.max_pool2d(z, 2)
        return z * 3.0, self.last(functional.adaptive_avg_pool2d(pooled, (1, 1)).flatten(1))


class Normed(nn.Module):
    """One that is written in place, and one that is not."""

    def __init__(self):
        super().__init__()
        self.convolution = nn.Conv2d(3, 3, 3, padding=1)
        self.norm = nn.LayerNorm(5, elementwise_affine=False)

    def forward(self, x):
        y = self.convolution(x)
        return self.convolution(functional.layer_norm(self.convolution(y), (5,))), functional.relu(self.norm(y)) + y


class OfOtherRanks(nn.Module):
    def __init__(self):
        super().__init__()
        self.line, self.space = nn.Conv1d(5, 3, 2), nn.Conv3d(1, 2, 2)

    def forward(self, x):
        return self.line(x[0]), self.space(x[:, None])


def optimized(model, x, how):
    model = copy.deepcopy(model)
    script = torch.jit.script(model) if how == "script" else torch.jit.freeze(torch.jit.trace(model, x))
    return torch.jit.optimize_for_inference(script)


def kinds(graph):
    for node in graph.nodes():
        yield node.kind()
        for block in node.blocks():
            yield from kinds(block)


@pytest.mark.parametrize("how", ["script", "trace"])
@pytest.mark.parametrize("make", [Pieces, Normed, OfOtherRanks])
def test_optimized_for_inference(make, how):
    model, x = make().eval(), torch.randn(2, 3, 5 if make is not Pieces else 11, 5 if make is not Pieces else 9)
    module = optimized(model, x, how)
    assert "aten::to_mkldnn" in set(kinds(module.graph))
    program = flambeau.export(module, (x,), input_names=["x"], dynamic_axes={"x": {0: "batch"}} if make is not OfOtherRanks else None)
    for batch in (2, 4) if make is not OfOtherRanks else (2,):
        compare(model, program, (torch.randn(batch, *x.shape[1:]),))


def test_pieces_of_the_pass():
    module = optimized(Pieces().eval(), torch.randn(2, 3, 11, 9), "script")
    for kind in ("BroadcastMKLDNNTensors", "ConstantMKLDNNTensor", "mkldnn_convolution", "MKLDNNClamp_", "MKLDNNHardTanh_", "MKLDNNHardSwish_"):
        assert f"prim::{kind}" in set(kinds(module.graph))


def test_weights_keep_their_names():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval()
    program = flambeau.export(optimized(model, None, "script"), (torch.randn(1, 3, 5, 5),))
    assert {weight.name for weight in program.model_proto.graph.initializer} == {"0.weight", "0.bias"}


def test_modules_of_torch_utils_mkldnn():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=(1, 0), stride=(2, 1)), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3)).eval()
    x = torch.randn(2, 3, 5, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.jit.script(nn.Sequential(mkldnn.to_mkldnn(copy.deepcopy(model))))
    compare(model, flambeau.export(module, (x,)), (x,))
