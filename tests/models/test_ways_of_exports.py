"""Models that go another way while they are exported, which cannot be captured, or is no way that they go otherwise."""

import pytest
import torch

import flambeau
from .checking import compare, convert


class Distilled(torch.nn.Module):
    """As in Informer: a mask that there is in an export only does not follow what is cut."""

    def forward(self, x):
        mask = torch.zeros(1, x.shape[1]) if torch.compiler.is_exporting() else None
        x = torch.nn.functional.avg_pool1d(x[:, None], 2)[:, 0]
        if mask is not None and mask.shape[1] != x.shape[1]:
            raise ValueError("mask has another length")
        return x * 2


class ByOlderName(torch.nn.Module):
    def forward(self, x):
        if torch._dynamo.is_compiling():
            raise ValueError("no way")
        return x * 2


class InBothWays(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_compiling() and not torch.compiler.is_exporting():
            raise ValueError("no way")
        if torch.compiler.is_exporting():
            raise ValueError("no way either")
        return x * 2


class InBothWaysTheOtherFirst(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_compiling():
            raise ValueError("no way")
        if torch.compiler.is_exporting():
            raise ValueError("no way either")
        return x * 2


class Refusing(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting():
            raise ValueError("no way")
        return x.numpy() * 2


@pytest.mark.parametrize("model", [Distilled(), ByOlderName(), InBothWays(), InBothWaysTheOtherFirst()], ids=lambda model: type(model).__name__)
def test_the_way_that_a_model_goes_otherwise_is_captured(model):
    program = convert(model, (torch.rand(2, 8),), ({0: "batch"},))
    assert program.capture_strategy == "non-strict, with the model told that it only runs"
    compare(program, model, (torch.rand(2, 8),), (torch.rand(5, 8),))
    assert not torch.compiler.is_exporting() and not torch.compiler.is_compiling() and not hasattr(torch.compiler, "_flambeau_flag")


class Exported(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.compiler.is_exporting() and torch.compiler.is_compiling() else x.clone().mul_(2).sqrt().pow(2)


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
def test_a_way_that_can_be_captured_stays():
    program = convert(Exported(), (torch.rand(2, 8),), ({0: "batch"},))
    assert program.capture_strategy == "non-strict"
    assert {node.op_type for node in program.model_proto.graph.node} <= {"Mul", "Add"}


def test_the_first_error_is_told_where_neither_way_can_be_captured():
    with pytest.raises(flambeau.errors.CaptureError, match="no way"):
        flambeau.export(Refusing(), (torch.rand(2, 8),), dynamic_shapes=({0: "batch"},), capture="export")


class Uncentred(torch.nn.Module):
    """As masks of decoders that there are in an export, and not otherwise where nothing is padded."""

    def forward(self, x):
        return x if torch.compiler.is_exporting() else x - x.mean(1, keepdim=True)


@pytest.mark.parametrize("dynamic", [None, ({0: "batch"},)])
def test_a_way_that_gives_something_else_is_warned_of(dynamic):
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"another path while it is exported \(test_ways_of_exports\.py:\d+: return x if .*PyTorch's run"):
        program = flambeau.export(Uncentred(), (torch.rand(2, 8),), dynamic_shapes=dynamic)
    x = torch.rand(2, 8)
    torch.testing.assert_close(program(x)[0], x)


class Drawing(torch.nn.Module):
    def forward(self, x):
        if torch.compiler.is_exporting():
            x = x + torch.rand_like(x)
        return x + torch.rand_like(x)


class Rounded(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(2, 8, dtype=torch.bfloat16))

    def forward(self, x):
        if torch.compiler.is_exporting():
            return (self.weight.float() * x).sum(1)
        return (self.weight * x.bfloat16()).sum(1).float()


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("model", [Drawing(), Rounded()], ids=lambda model: type(model).__name__)
def test_chance_and_rounding_are_no_other_way(model):
    flambeau.export(model, (torch.rand(2, 8),))


class OtherwiseInOnnx(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.onnx.is_in_onnx_export() else x * 3


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}], ids=["export", "trace"])
def test_a_way_of_exports_to_onnx_that_gives_something_else_is_warned_of(options):
    x = torch.rand(2, 8)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"another path while it is exported \(test_ways_of_exports\.py:\d+: return x \* 2 if"):
        program = flambeau.export(OtherwiseInOnnx(), (x,), **options)
    torch.testing.assert_close(program(x)[0], x * 2)


class OtherwiseInOnnxOnly(torch.nn.Module):
    """As libraries ask that put an export to ONNX behind other ones."""

    def forward(self, x):
        if torch.compiler.is_compiling():
            raise ValueError("no way")
        return x * 2 if torch.onnx.is_in_onnx_export() else x * 3


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
def test_a_model_told_that_it_only_runs_is_in_no_export_to_onnx_either():
    program = convert(OtherwiseInOnnxOnly(), (torch.rand(2, 8),), ({0: "batch"},))
    assert program.capture_strategy == "non-strict, with the model told that it only runs"
    compare(program, OtherwiseInOnnxOnly(), (torch.rand(2, 8),), (torch.rand(5, 8),))


class SameInOnnx(torch.nn.Module):
    def forward(self, x):
        return x.pow(2) if torch.onnx.is_in_onnx_export() else x * x


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("options", [{}, {"capture": "trace"}], ids=["export", "trace"])
def test_a_way_of_exports_to_onnx_that_gives_the_same_is_taken(options):
    x = torch.rand(2, 8)
    torch.testing.assert_close(flambeau.export(SameInOnnx(), (x,), **options)(x)[0], x * x)
    assert not torch.onnx.is_in_onnx_export() and not hasattr(torch.onnx, "_flambeau_flag")


class OtherwiseInTraces(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.jit.is_tracing() else x * 3


def test_a_way_of_traces_that_gives_something_else_is_warned_of():
    x = torch.rand(2, 8)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"another path while it is exported \(test_ways_of_exports\.py:\d+: return x \* 2 if"):
        program = flambeau.export(OtherwiseInTraces(), (x,), capture="trace")
    torch.testing.assert_close(program(x)[0], x * 2)
    assert not torch.jit.is_tracing() and not hasattr(torch.jit._trace, "_flambeau_flag")


class SameInTraces(torch.nn.Module):
    def forward(self, x):
        return x.pow(2) if torch.jit.is_tracing() else x * x


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("model, options", [(SameInTraces(), {"capture": "trace"}), (OtherwiseInTraces(), {}), (OtherwiseInTraces(), {"capture": "export"})])
def test_a_way_of_traces_that_none_goes_or_that_gives_the_same(model, options):
    x = torch.rand(2, 8)
    program = flambeau.export(model, (x,), **options)
    torch.testing.assert_close(program(x)[0], model(x))
