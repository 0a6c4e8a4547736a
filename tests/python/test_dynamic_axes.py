"""What the names in ``dynamic_axes`` stand for, as torch's TorchScript exporter takes them."""

import pytest
import torch

import flambeau


class Differences(torch.nn.Module):
    def forward(self, a, b, c):
        return a * 2 - b.sum(0) - c.sum(0)


@pytest.mark.parametrize(
    ("names", "axes", "dynamic"),
    [(["b", "a"], {"a": {0: "n"}}, 1), (["c", "a", "b"], {"a": {0: "n"}}, 1), (["q", "c"], {"q": {0: "n"}}, 0), (["q"], {"b": {0: "n"}}, 1)],
)
def test_dynamic_axes_go_by_the_names_that_inputs_get(names, axes, dynamic):
    args = torch.randn(2, 4), torch.randn(3, 4), torch.randn(5, 4)
    program = flambeau.export(Differences(), args, input_names=names, dynamic_axes=axes, dynamo=False, verbose=False)
    assert [i for i, value in enumerate(program.model.graph.inputs) if not isinstance(value.shape[0], int)] == [dynamic]


def test_dynamic_axes_of_a_container_are_warned_of():
    pair = torch.randn(2, 3), torch.randn(2, 3)
    with pytest.warns(flambeau.errors.ConversionWarning, match="dynamic_axes names 'pair', which is no input"):
        flambeau.export(Pair(), (pair,), dynamic_axes={"pair": {0: "n"}}, dynamo=False, verbose=False)


class Pair(torch.nn.Module):
    def forward(self, pair):
        return pair[0] + pair[1]
