"""What symbolic functions are told of values, and how they name ONNX's operators."""

import pytest
import torch
from onnxscript import opset11
from registering import registered

import flambeau
from flambeau import onnx as fonnx
from flambeau import torch_names
from flambeau.onnx._globals import GLOBALS

X = torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.0, -0.25]])


class Call(torch.nn.Module):
    """A module that calls an autograd function with a symbolic one."""

    def __init__(self, symbolic):
        super().__init__()
        forward = lambda ctx, x: x.relu()  # noqa: E731
        self.function = type("Function", (torch.autograd.Function,), {"forward": staticmethod(forward), "symbolic": staticmethod(symbolic)})

    def forward(self, x):
        return self.function.apply(x)


def test_onnxs_domain_may_be_said():
    program = flambeau.export(Call(lambda g, x: g.op("ai.onnx::Relu", x)), (X,), dynamo=False)
    (node,) = program.model_proto.graph.node
    assert (node.domain, node.op_type) == ("", "Relu")
    torch.testing.assert_close(program(X)[0], X.relu())


@pytest.mark.parametrize("dynamic", [False, True])
def test_types_are_complete_where_sizes_are_static(dynamic):
    seen = []

    def symbolic(g, x):
        made = g.op("Relu", x)
        for value in (x, made, g.op("Shape", x)):
            seen.append((value.isCompleteTensor(), value.type().strides(), str(value.type().device())))
        open_ = g.op("mine::Foo", made)
        seen.append((open_.isCompleteTensor(), open_.type().strides(), None))
        return made

    options = {"input_names": ["x"], "dynamic_axes": {"x": [0]}} if dynamic else {}
    flambeau.export(Call(symbolic), (X,), dynamo=False, **options)
    of_x = (not dynamic, None if dynamic else [3, 1], "cpu")
    assert seen[:4] == [of_x, of_x, (True, [1], "cpu"), (False, None, None)]


@pytest.mark.parametrize("again", [lambda program: program.apply_weights({}), lambda program: program.optimize(), lambda program: program.conversion_report()])
def test_a_conversion_that_is_done_once_more_has_the_options_of_the_export(again):
    seen = []

    def relu(x):
        seen.append((GLOBALS.export_onnx_opset_version, GLOBALS.training_mode, GLOBALS.in_onnx_export))
        return opset11.Relu(x)

    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    options = dict(opset_version=11, training=fonnx.TrainingMode.TRAINING, optimize=False, verbose=False)
    table = {torch.ops.aten.relu.default: relu}
    program = flambeau.export(model, (torch.ones(1, 2),), dynamo=False, custom_translation_table=table, **options)
    times = len(seen)
    again(program)
    assert len(seen) > times and set(seen) == {(11, fonnx.TrainingMode.TRAINING, True)}
    assert (GLOBALS.training_mode, GLOBALS.in_onnx_export) == (fonnx.TrainingMode.EVAL, False)


TORCHS = torch_names.found("torch.onnx._internal.torchscript_exporter._globals.GLOBALS")
EVAL, PRESERVE, TRAINING = (getattr(torch.onnx.TrainingMode, name) for name in ("EVAL", "PRESERVE", "TRAINING"))


@pytest.mark.parametrize("mode, trains, expected", [(EVAL, True, False), (TRAINING, False, True), (PRESERVE, True, True), (PRESERVE, False, False)])
def test_whether_the_model_is_exported_as_it_trains(mode, trains, expected):
    seen = []

    def symbolic(g, x):
        seen.extend((each.training_mode, each.export_training) for each in (GLOBALS, TORCHS))
        return g.op("Relu", x)

    model = Call(symbolic).train(trains)
    flambeau.export(model, (X,), dynamo=False, training=mode)
    flambeau.export(torch.nn.DataParallel(model), (X,), dynamo=False, training=mode)
    assert set(seen) == {(mode, expected)}
    assert model.training == trains and not GLOBALS.export_training and not TORCHS.export_training


def test_nodes_that_are_appended_to_the_block():
    """As torch's graphs of symbolic functions have one; what `op` appends stands in it, too."""

    def symbolic(g, x):
        doubled = g.op("Add", x, x)
        node = g.block.addNode("onnx::Sub", [doubled, x])
        node.output().setType(x.type())
        assert [each.kind() for each in g.block.nodes()][-2:] == ["onnx::Add", "onnx::Sub"]
        assert not list(g.block.outputs())
        return g.op("Relu", node.output())

    program = flambeau.export(Call(symbolic), (X,), dynamo=False)
    assert [node.op_type for node in program.model_proto.graph.node] == ["Add", "Sub", "Relu"]
    torch.testing.assert_close(program(X)[0], X.relu())
