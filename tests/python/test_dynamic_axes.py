"""What the names in ``dynamic_axes`` stand for, as torch's TorchScript exporter takes them."""

import warnings

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


class Late(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(3))

    def forward(self, x, gap=None, y=None):
        return x * self.scale + y


@pytest.mark.parametrize(
    ("names", "args", "ignored"),
    [(["x", "gap", "y"], (torch.ones(2, 3), None, torch.ones(2, 3)), "gap"), (["x", "y", "w"], (torch.ones(2, 3), {"y": torch.ones(2, 3)}), "w")],
    ids=["a None", "a weight"],
)
def test_dynamic_axes_of_what_is_no_tensor_of_the_call_are_warned_of(names, args, ignored):
    with pytest.warns(flambeau.errors.ConversionWarning, match=f"dynamic_axes names '{ignored}', which is no input or output"):
        program = flambeau.export(Late(), args, input_names=names, dynamic_axes={name: {0: "n"} for name in names}, dynamo=False)
    assert [(value.name, value.sizes) for value in program.inputs] == [("x", ["n", "3"]), ("y", ["n", "3"])]
    x = torch.rand(4, 3)
    torch.testing.assert_close(program(x, None, x)[0], x * 2)


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("scripted", [False, True])
def test_axes_of_outputs_count_from_the_end_too(dynamo, scripted):
    model = torch.jit.script(Rows()) if scripted else Rows()
    program = flambeau.export(
        model, (torch.ones(2, 3),), input_names=["x"], output_names=["rows", "kept"], dynamo=dynamo, verbose=False,
        dynamic_axes={"x": {0: "n"}, "rows": {-1: "found"}, "kept": {-2: "found", -9: "none"} if not dynamo else {-2: "found"}},
    )
    assert [value.sizes for value in program.outputs] == [["found"], ["found", "3"]]
    x = torch.tensor([[1.0, 2.0, 3.0], [-1.0, -1.0, -1.0], [0.0, 0.0, 1.0]])
    for ours, theirs in zip(program(x), Rows()(x), strict=True):
        torch.testing.assert_close(ours, theirs)


class Rows(torch.nn.Module):
    def forward(self, x):
        rows = torch.nonzero(x.sum(1) > 0).squeeze(1)
        return rows, x[rows]


class RowsAndTwo(torch.nn.Module):
    def forward(self, x):
        return x * 2, x.sum(0, keepdim=True).repeat(2, 1)


@pytest.mark.parametrize("dynamo", [True, False])
@pytest.mark.parametrize("scripted", [False, True])
@pytest.mark.parametrize(
    ("axes", "said"),
    [
        ({7: "k"}, "7.* which has 2|7.* it has 2 dimensions"),
        ({-3: "k"}, "-3.* which has 2|-3.* it has 2 dimensions"),
        ({0: "k"}, r"0 of output 'two' was declared dynamic \('k'\).* fixes it at 2"),
    ],
)
def test_axes_of_outputs_that_are_not_dynamic_are_warned_of(dynamo, scripted, axes, said):
    model = torch.jit.script(RowsAndTwo()) if scripted else RowsAndTwo()
    with pytest.warns(flambeau.errors.ConversionWarning, match=said) as caught:
        program = flambeau.export(
            model, (torch.ones(4, 3),), input_names=["x"], output_names=["all", "two"], dynamo=dynamo, dynamic_axes={"x": {0: "n"}, "two": axes}
        )
    assert sum(" of output 'two'" in str(each.message) or "of 'two'" in str(each.message) for each in caught) == 1
    assert [value.sizes for value in program.outputs] == [["n", "3"], ["2", "3"]]


@pytest.mark.parametrize("dynamo", [True, False])
def test_axes_of_outputs_that_nobody_named_are_not_warned_of(dynamo):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        flambeau.export(RowsAndTwo(), (torch.ones(4, 3),), input_names=["x"], output_names=["all", "two"], dynamo=dynamo, dynamic_axes={"x": {0: "n"}, "two": [0]})
