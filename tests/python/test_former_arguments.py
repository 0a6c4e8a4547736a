"""Arguments as older versions of `torch.onnx.export` took them."""

import contextlib

import onnx
import pytest
import torch

import flambeau
import flambeau.onnx
from flambeau.errors import CaptureError

X = torch.randn(3, 4)


class Branch(torch.nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


def test_arguments_of_older_versions(tmp_path):
    """As the older documents have them: without a meaning, or said otherwise today."""
    model = torch.nn.Linear(4, 2)
    with pytest.warns(flambeau.errors.ConversionWarning, match="'example_outputs', '_retain_param_name', 'strip_doc_string'"):
        program = flambeau.export(
            model, (X,), dynamo=False, example_outputs=X, _retain_param_name=True, strip_doc_string=False, training=False, operator_export_type=None
        )
    assert any(entry.key == "pkg.torch.onnx.stack_trace" for node in program.model_proto.graph.node for entry in node.metadata_props)
    with pytest.warns(flambeau.errors.ConversionWarning, match="'aten'"):
        program = flambeau.export(model, (X,), dynamo=False, aten=True)
    assert {node.op_type for node in program.model_proto.graph.node} == {"ATen"}
    with pytest.raises(CaptureError, match="torch.cond"):
        flambeau.export(Branch(), (X,), fallback=False, capture="export")
    for dynamo in (True, False):
        with pytest.warns(flambeau.errors.ConversionWarning, match="'fallback'"):
            program = flambeau.export(Branch(), (X,), fallback=True, dynamo=dynamo)
        assert program.capture_strategy == "torchscript"
    with pytest.raises(TypeError, match="no argument 'retain_param_name'"):
        flambeau.export(model, (X,), retain_param_name=True)


@pytest.mark.parametrize("installed", [False, True])
def test_arguments_that_older_versions_took_by_position(tmp_path, installed):
    model, path = torch.nn.Linear(4, 2), tmp_path / "model.onnx"
    said = pytest.warns(flambeau.errors.ConversionWarning, match="export_params, verbose, training, input_names")
    with flambeau.installed() if installed else contextlib.nullcontext(), said:
        export = torch.onnx.export if installed else flambeau.export
        program = export(model, (X,), path, True, False, False, ["in"], dynamo=False)
    assert [value.name for value in onnx.load(path).graph.input] == ["in"]
    torch.testing.assert_close(program(X)[0], model(X))
    with pytest.warns(flambeau.errors.ConversionWarning, match="export_params"):
        flambeau.onnx.utils.export(model, (X,), path, True)
    with pytest.raises(TypeError, match="'verbose' by position and by name"):
        flambeau.export(model, (X,), path, True, False, verbose=True)
    with pytest.raises(TypeError, match="not 9 arguments: give the others by name"):
        flambeau.export(model, (X,), path, True, False, False, ["in"], ["out"], 13)
