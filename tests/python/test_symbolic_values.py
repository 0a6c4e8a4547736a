"""What symbolic functions are told of values, and how they name ONNX's operators."""

import pytest
import torch

import flambeau

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
