"""Names of inputs and outputs that are given twice."""

import dataclasses
import warnings

import pytest
import torch

import flambeau


class Net(torch.nn.Module):
    def forward(self, x, y):
        return x + y, x * 2, x - y


ARGS = torch.rand(2), torch.rand(2)


def shapes(values):
    return {value.name: [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values}


@pytest.mark.parametrize(
    ("options", "inputs", "outputs"),
    [
        ({"output_names": ["a", "a", "a"]}, ["x", "y"], ["a.1", "a.2", "a"]),
        ({"output_names": ["a", "a.1", "a"]}, ["x", "y"], ["a.2", "a.1", "a"]),
        ({"input_names": ["i", "i"], "output_names": ["a", "b", "c"]}, ["i.1", "i"], ["a", "b", "c"]),
        ({"input_names": ["x"], "output_names": ["b", "x", "c"]}, ["x.1", "y"], ["b", "x", "c"]),
    ],
)
def test_the_last_keeps_it(options, inputs, outputs):
    with pytest.warns(flambeau.errors.ConversionWarning, match="have names twice: .* where it stands first; give names that differ"):
        program = flambeau.export(Net(), ARGS, dynamo=False, **options)
    graph = program.model_proto.graph
    assert [each.name for each in graph.input] == inputs
    assert [each.name for each in graph.output] == outputs
    for ours, theirs in zip(program(*ARGS), Net()(*ARGS), strict=True):
        torch.testing.assert_close(ours, theirs)
    with pytest.raises(flambeau.errors.OnnxExporterError, match="is given twice"):
        flambeau.export(Net(), ARGS, **options)


@pytest.mark.parametrize(("inputs", "new"), [(["x", "y"], ["x.1", "y.1"]), (["x", "x"], ["x.1", "x.2"])])
def test_dynamic_axes_are_of_all_that_have_the_name(inputs, new):
    axes = {name: {0: "n"} for name in {*inputs, "x", "y"}}
    options = {"input_names": inputs, "output_names": ["x", "y", "z"], "dynamic_axes": axes}
    graph = flambeau.export(Net(), ARGS, dynamo=False, verbose=False, **options).model_proto.graph
    assert shapes(graph.input) == dict.fromkeys(new, ["n"])
    assert shapes(graph.output) == dict.fromkeys("xyz", ["n"])


def test_names_that_differ_are_nothing_to_warn_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        flambeau.export(Net(), ARGS, dynamo=False, input_names=["a", "b"], output_names=["c", "d"])


@dataclasses.dataclass
class Remembered:
    memory: torch.Tensor


class Holds(torch.nn.Module):
    """Tensors in an object, a list and a dict."""

    def __init__(self):
        super().__init__()
        self.state, self.parts, self.named = Remembered(torch.zeros(3)), [torch.ones(3)], {"last": torch.ones(3) * 2}

    def forward(self, x):
        self.state.memory.add_(x)
        self.parts[0].mul_(x)
        self.named["last"].copy_(x)
        return x + self.state.memory


@pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"capture_strategies": ["strict"]}], ids=["export", "trace", "strict"])
def test_state_in_objects_and_containers_is_named_by_its_path(options):
    model, x = Holds(), torch.tensor([1.0, 2.0, 3.0])
    program = flambeau.export(model, (x,), state_outputs=True, **options)
    expected = {"state.memory_out": x + 0, "parts.0_out": x + 0, "named.last_out": x + 0}
    given = dict(zip((each.name for each in program.outputs), program(x), strict=True))
    assert given.keys() >= expected.keys() and len(given) == 4
    for name, value in expected.items():
        torch.testing.assert_close(given[name], value)
    assert not model.state.memory.any()
