"""``g.onnxscript_op`` with functions that are written for another opset than the model's."""

import onnx
import onnxscript
import pytest
import torch
from onnxscript.onnx_opset import opset15 as op15
from onnxscript.onnx_opset import opset17 as op17

import flambeau

DOMAIN = onnxscript.values.Opset("flambeau_script", 1)
X = torch.tensor([0.5, -1.0, 2.0])


@onnxscript.script(DOMAIN, default_opset=op17)
def Half(x):
    return op17.Mul(x, op17.CastLike(op17.Constant(value_float=0.5), x))


@onnxscript.script(DOMAIN, default_opset=op15)
def Halved(x):
    return op15.Mul(x, op15.Constant(value_float=0.5))


@onnxscript.script(DOMAIN, default_opset=op15)
def SumOfSquares(x):
    return op15.ReduceSumSquare(x, axes=[0])


class Call(torch.nn.Module):
    """A module that calls an ONNX Script function; its results' types are said, or not."""

    def __init__(self, function, forward, typed):
        super().__init__()

        def symbolic(g, x):
            made = g.onnxscript_op(function, x)
            return made.setType(x.type()) if typed else g.op("Identity", made)

        members = {"forward": staticmethod(lambda ctx, x: forward(x)), "symbolic": staticmethod(symbolic)}
        self.function = type("Function", (torch.autograd.Function,), members)

    def forward(self, x):
        return self.function.apply(x)


TYPED = pytest.mark.parametrize("typed", [True, False])


@TYPED
@pytest.mark.parametrize(("function", "opset"), [(Half, 15), (Half, 17), (Half, 20), (Halved, 13), (Halved, 20)])
def test_what_is_written_alike_is_of_the_models_opset(typed, function, opset):
    program = flambeau.export(Call(function, lambda x: x * 0.5, typed), (X,), dynamo=False, opset_version=opset)
    model = program.model_proto
    onnx.checker.check_model(model, full_check=True)
    imported = [{each.domain: each.version for each in made.opset_import} for made in (model, *model.functions)]
    assert [versions[""] for versions in imported] == [opset] * (2 if typed else 1)
    torch.testing.assert_close(program(X)[0], X * 0.5)


@TYPED
@pytest.mark.parametrize(
    ("function", "operator", "version", "opset"), [(Half, "CastLike", 17, 13), (SumOfSquares, "ReduceSumSquare", 15, 18)]
)
def test_what_is_not_is_refused(typed, function, operator, version, opset):
    text = (
        f"the ONNX Script function flambeau_script::{function.name} uses {operator} of opset {version}, which the model's, {opset}, "
        f"does not have in that form: export with opset_version={version}, or write the function for opset {opset}"
    )
    with pytest.raises(flambeau.errors.OnnxExporterError, match=text):
        flambeau.export(Call(function, lambda x: x.square().sum(0, keepdim=True), typed), (X,), dynamo=False, opset_version=opset)
