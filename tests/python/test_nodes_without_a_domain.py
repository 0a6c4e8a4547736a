"""Nodes of ONNX's own domain that ONNX does not have: TensorRT and others find their plugins by name alone."""

import onnx
import pytest
import torch
from registering import CAPTURES, Call, registered

import flambeau
from flambeau.onnx import OperatorExportTypes

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.25]])


class Plugin(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        return x[:, :2] * scale, x.argmax(1)

    @staticmethod
    def symbolic(g, x, scale):
        return g.op("Plugin_TRT", x, scale_f=scale, outputs=2)


def shapes(model):
    return [(each.type.tensor_type.elem_type, [dim.dim_value for dim in each.type.tensor_type.shape.dim]) for each in model.graph.output]


@pytest.mark.parametrize("export_type", [OperatorExportTypes.ONNX, OperatorExportTypes.ONNX_FALLTHROUGH, OperatorExportTypes.ONNX_ATEN_FALLBACK], ids=str)
@pytest.mark.parametrize("by", [flambeau.onnx, torch.onnx], ids=["flambeau", "torch"])
def test_they_are_written_as_they_are(by, export_type, tmp_path):
    path = tmp_path / "model.onnx"
    options = dict(dynamo=False, operator_export_type=export_type)
    if by is torch.onnx:
        by.export(Call(lambda x: Plugin.apply(x, 0.5)), (X,), str(path), **options)
    else:
        with pytest.warns(UserWarning, match=r"Plugin_TRT, which is no operator of ONNX[\s\S]*mine::Plugin_TRT"):
            by.export(Call(lambda x: Plugin.apply(x, 0.5)), (X,), path, **options)
    model = onnx.load(path)
    (node,) = model.graph.node
    assert (node.domain, node.op_type, len(node.output)) == ("", "Plugin_TRT", 2)
    assert onnx.helper.get_node_attr_value(node, "scale") == 0.5
    assert [each.domain for each in model.opset_import] == [""]
    if by is flambeau.onnx:
        assert shapes(model) == [(onnx.TensorProto.FLOAT, [2, 2]), (onnx.TensorProto.INT64, [2])]


@CAPTURES
def test_among_others(dynamo):
    with registered("aten::relu", lambda g, x: g.op("Mul", g.op("PluginRelu", g.op("Neg", x)), x)), pytest.warns(UserWarning, match="PluginRelu"):
        program = flambeau.export(Call(lambda x: x.relu() + 1), (X,), dynamo=dynamo)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Neg", "PluginRelu", "Mul", "Add"]
    assert program.outputs[0].sizes == ["2", "3"] and program.outputs[0].dtype == "float32"


def test_in_functions_of_modules():
    class Block(torch.nn.Module):
        def forward(self, x):
            return Plugin.apply(x, 0.5)[0]

    with pytest.warns(UserWarning, match="Plugin_TRT"):
        program = flambeau.export(torch.nn.Sequential(Block(), torch.nn.ReLU()), (X,), dynamo=False, export_modules_as_functions={Block})
    (function,) = program.model_proto.functions
    assert [node.op_type for node in function.node] == ["Plugin_TRT"]


def test_those_that_newer_opsets_have_are_refused():
    with registered("aten::relu", lambda g, x: g.op("Gelu", x)), pytest.raises(flambeau.errors.OnnxExporterError, match="which opset 17 does not have"):
        flambeau.export(Call(torch.relu), (X,), dynamo=False, opset_version=17)


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def symbolic(g, x):
        raise RuntimeError("this form has no plugin")


@pytest.mark.parametrize("export_type", [OperatorExportTypes.ONNX_FALLTHROUGH, OperatorExportTypes.ONNX_ATEN_FALLBACK], ids=str)
def test_a_symbolic_function_that_fails_does_not_run_for_ever(export_type):
    with pytest.raises(RuntimeError, match="this form has no plugin"):
        flambeau.export(Call(Failing.apply), (X,), dynamo=False, operator_export_type=export_type)
