"""Tracing, scripting, and both: as the documentation of torch.onnx shows them, through its interface."""

import io

import flambeau
import onnxruntime
import pytest
import torch
from checking import compare
from torch import nn

ONES, FIVE = torch.ones(2, 3, dtype=torch.long), torch.tensor(5)


class LoopModel(nn.Module):
    def forward(self, x, y):
        for i in range(y):
            x = x + i
        return x


@torch.jit.script
def loop(x, y):
    for i in range(int(y)):
        x = x + i
    return x


class LoopModel2(nn.Module):
    def forward(self, x, y):
        return loop(x, y)


def export(model, args, **options):
    file = io.BytesIO()
    program = flambeau.export(model, args, file, dynamo=False, verbose=False, **options)
    return program, onnxruntime.InferenceSession(file.getvalue())


def test_tracing_unrolls():
    program, session = export(LoopModel(), (ONES, FIVE))
    assert {node.op_type for node in program.model_proto.graph.node} <= {"Add", "Constant", "Identity"}
    given = {value.name: tensor.numpy() for value, tensor in zip(session.get_inputs(), (ONES, FIVE))}
    assert session.run(None, given)[0].tolist() == [[11, 11, 11], [11, 11, 11]]


@pytest.mark.parametrize("opset", [9, 11, 17, 20])
def test_a_scripted_loop_in_a_traced_module(opset):
    program, session = export(
        LoopModel2(), (ONES, FIVE), input_names=["input_data", "loop_range"], opset_version=opset
    )
    assert "Loop" in {node.op_type for node in program.model_proto.graph.node}
    given = {"input_data": ONES.numpy(), "loop_range": torch.tensor(9).numpy()}
    assert session.run(None, given)[0].tolist() == [[37, 37, 37], [37, 37, 37]]


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x)
        return x


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.jit.script(Gate())
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        return self.linear(self.gate(x))


def test_a_scripted_module_in_a_traced_one():
    model, x = Mixed(), torch.rand(2, 3)
    program, _ = export(model, (x,))
    compare(model, program, (x,))
    compare(model, program, (-x,))


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.traced = torch.jit.trace(nn.Linear(3, 3), torch.rand(2, 3))

    def forward(self, x):
        if bool(x.sum() > 0):
            x = self.traced(x)
        return self.traced(x)


def test_a_traced_module_in_a_scripted_one():
    model, x = Twice(), torch.rand(2, 3)
    program, _ = export(torch.jit.script(model), (x,))
    compare(model, program, (x,))
    compare(model, program, (-x,))


@pytest.mark.parametrize("kind", [nn.RNN, nn.GRU, nn.LSTM])
@pytest.mark.parametrize("packed", [False, True])
def test_a_recurrent_layer_scripted_alone(kind, packed):
    """Such a layer has a forward for tensors, and one for packed sequences."""
    torch.manual_seed(0)
    layer, x = kind(4, 6, 2, bidirectional=True), torch.rand(5, 3, 4)
    given = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5, 3, 2])) if packed else x
    _, session = export(torch.jit.script(layer), (given,))
    tensors = [tensor for tensor in given if tensor is not None] if packed else [x]
    actual = session.run(None, {value.name: tensor.numpy() for value, tensor in zip(session.get_inputs(), tensors)})
    expected = layer(given)[0]
    torch.testing.assert_close(torch.as_tensor(actual[0]), expected.data.detach(), rtol=1e-4, atol=1e-5)
