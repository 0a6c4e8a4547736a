"""Operators that torch.export refuses, as other captures hold them: a stand-in is captured, and replaced."""

import pytest
import torch

import flambeau


class Sums(torch.nn.Module):
    """A bool of two tensors that is known at run time only, in the place of torch.equal."""

    def forward(self, x, y):
        return (x.sum() == y.sum()).item()


def program_of_equal(x, y, dynamic_shapes=None):
    exported = torch.export.export(Sums(), (x, y), dynamic_shapes=dynamic_shapes)
    item = next(node for node in exported.graph.nodes if node.target is torch.ops.aten.item.default)
    item.target, item.args = torch.ops.aten.equal.default, tuple(exported.graph.find_nodes(op="placeholder"))
    exported.graph.eliminate_dead_code()
    return flambeau.export(exported)


A = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


@pytest.mark.parametrize(
    "x, y",
    [
        (A, A.clone()),
        (A, A + torch.eye(2, 3)),
        (A, A.double()),
        (A.int(), A),
        (A > 2, A > 2),
        (A, A[0]),
        (torch.ones(1, 3), torch.ones(2, 3)),
        (torch.tensor(2.0), torch.tensor(2.0)),
        (torch.zeros(2, 0), torch.zeros(2, 0)),
        (torch.tensor([float("nan")]), torch.tensor([float("nan")])),
    ],
)
def test_equal(x, y):
    (same,) = program_of_equal(x, y)(x, y)
    assert same.dtype == torch.bool and same.shape == ()
    assert bool(same) == torch.equal(x, y)


def test_equal_of_dynamic_sizes_does_not_broadcast():
    size = torch.export.Dim.DYNAMIC
    program = program_of_equal(A, torch.ones(5, 3), ({0: size}, {0: size}))
    for x, y in ((A, A), (A, -A), (A[:1], A[:1].expand(2, 3)), (A, torch.cat([A, A]))):
        assert bool(program(x, y.clone())[0]) == torch.equal(x, y)


@pytest.mark.parametrize("opset", [9, 20])
@pytest.mark.parametrize("shape", [lambda x: torch._shape_as_tensor(x).flip(0), lambda x: torch.tensor([3, -1]), lambda x: torch.tensor([-1])])
def test_reshape_from_tensor(shape, opset):
    """torch.export decomposes it; a trace holds it."""

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch._reshape_from_tensor(x * 2, shape(x))

    program = flambeau.export(Model(), (A,), dynamo=False, opset_version=opset, input_names=["x"], dynamic_axes={"x": {0: "n"}})
    for x in (A, torch.randn(6, 3)):
        torch.testing.assert_close(program(x)[0], Model()(x))


def test_reshape_from_a_run_time_tensor():
    class Model(torch.nn.Module):
        def forward(self, x, shape):
            return torch._reshape_from_tensor(x, shape)

    program = flambeau.export(Model(), (A, torch.tensor([3, 2])), dynamo=False, dynamic_axes={"x": {0: "n"}})
    for x, shape in ((A, torch.tensor([3, 2])), (A, torch.tensor([-1, 1])), (torch.zeros(0, 3), torch.tensor([3, 0]))):
        torch.testing.assert_close(program(x, shape)[0], Model()(x, shape))
