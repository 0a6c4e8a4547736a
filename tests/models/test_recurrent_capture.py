"""Captures of recurrent layers keep batch and time dynamic."""

import pytest
import torch
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from flambeau.capture import capture


class Packed(torch.nn.Module):
    def __init__(self, layer, enforce_sorted=False, whole=False):
        super().__init__()
        self.layer, self.enforce_sorted, self.whole = layer, enforce_sorted, whole

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, self.layer.batch_first, self.enforce_sorted)
        outputs, state = self.layer(packed)
        total = x.shape[1 if self.layer.batch_first else 0] if self.whole else None
        return pad_packed_sequence(outputs, self.layer.batch_first, total_length=total), state


def targets(exported):
    return [str(node.target) for node in exported.graph.nodes if node.op == "call_function"]


def run_at(exported, model, *args):
    with torch.no_grad():
        torch.testing.assert_close(exported.module()(*args), model(*args))


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU, torch.nn.RNN])
@pytest.mark.parametrize("options", [{}, {"batch_first": True, "bidirectional": True, "num_layers": 2}, {"bias": False}])
def test_batch_and_time_stay_dynamic(layer, options):
    model = layer(8, 10, **options).eval()
    exported = capture(model, (torch.randn(7, 2, 8),), {}, {"input": {0: "a", 1: "b"}})
    name = {"RNN": "rnn_tanh"}.get(layer.__name__, layer.__name__.lower())
    assert f"aten.{name}.input" in targets(exported)
    run_at(exported, model, torch.randn(5, 3, 8))


def test_projections_and_a_given_state():
    model = torch.nn.LSTM(8, 10, proj_size=3).eval()
    state = torch.randn(1, 2, 3), torch.randn(1, 2, 10)
    shapes = {"input": {0: "time", 1: "batch"}, "hx": ({1: "batch"}, {1: "batch"})}
    exported = capture(model, (torch.randn(7, 2, 8), state), {}, shapes)
    run_at(exported, model, torch.randn(4, 5, 8), (torch.randn(1, 5, 3), torch.randn(1, 5, 10)))


def test_relu_and_one_sequence_without_a_batch():
    model = torch.nn.RNN(8, 10, nonlinearity="relu").eval()
    exported = capture(model, (torch.randn(7, 8),), {}, {"input": {0: "time"}})
    assert "aten.rnn_relu.input" in targets(exported)
    run_at(exported, model, torch.randn(3, 8))


@pytest.mark.parametrize("layer", [torch.nn.LSTM, torch.nn.GRU])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("whole", [False, True])
def test_packed_sequences(layer, batch_first, whole):
    model = Packed(layer(8, 10, batch_first=batch_first, bidirectional=True), whole=whole).eval()
    shapes = {"x": {0: "a", 1: "b"}, "lengths": {0: "n"}}
    x = torch.randn(3, 7, 8) if batch_first else torch.randn(7, 3, 8)
    exported = capture(model, (x, torch.tensor([4, 7, 2])), {}, shapes)
    assert f"aten.{layer.__name__.lower()}.data" in targets(exported)
    other = torch.randn(4, 6, 8) if batch_first else torch.randn(6, 4, 8)
    run_at(exported, model, other, torch.tensor([4, 5, 2, 5]))


def test_packed_data_as_inputs():
    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.GRU(8, 10)

        def forward(self, data, batch_sizes):
            output, state = self.layer(PackedSequence(data, batch_sizes))
            return output.data, state

    model = Model().eval()
    shapes = {"data": {0: "rows"}, "batch_sizes": {0: "time"}}
    exported = capture(model, (torch.randn(7, 8), torch.tensor([3, 2, 2])), {}, shapes)
    run_at(exported, model, torch.randn(9, 8), torch.tensor([4, 3, 1, 1]))


def test_layers_are_themselves_after_a_capture():
    before = torch.nn.LSTM.forward, torch.nn.LSTM.check_forward_args, torch._VF.lstm
    with pytest.raises(Exception):
        capture(torch.nn.LSTM(8, 10), (torch.randn(3, 2, 9),), {}, None)
    assert (torch.nn.LSTM.forward, torch.nn.LSTM.check_forward_args, torch._VF.lstm) == before
    assert "lstm" not in vars(torch._VF)
