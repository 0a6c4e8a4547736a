"""Recurrent layers over packed sequences, with lengths that are known at run time only."""

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

import flambeau


class Packed(nn.Module):
    def __init__(self, layer, batch_first, **options):
        super().__init__()
        self.layer, self.batch_first, self.options = layer, batch_first, options

    def forward(self, x, lengths):
        packed = pack_padded_sequence(x, lengths, batch_first=self.batch_first, enforce_sorted=False)
        output, state = self.layer(packed)
        padded, sizes = pad_packed_sequence(output, batch_first=self.batch_first, **self.options)
        return padded, sizes, state


LAYERS = {
    "lstm": lambda **o: nn.LSTM(4, 3, 2, bidirectional=True, **o),
    "gru": lambda **o: nn.GRU(4, 3, **o),
    "tanh": lambda **o: nn.RNN(4, 3, bidirectional=True, bias=False, **o),
    "relu": lambda **o: nn.RNN(4, 3, nonlinearity="relu", **o),
    "projected": lambda **o: nn.LSTM(4, 5, proj_size=3, bidirectional=True, **o),
}


def compare(program, module, *inputs):
    wanted = torch.utils._pytree.tree_leaves(module(*inputs))
    got = program(*inputs)
    assert len(got) == len(wanted)
    for one, want in zip(got, wanted):
        assert one.shape == want.shape
        torch.testing.assert_close(one, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, batch_first):
    torch.manual_seed(3)
    module = Packed(LAYERS[name](batch_first=batch_first), batch_first).eval()
    x = torch.randn(3, 6, 4) if batch_first else torch.randn(6, 3, 4)
    program = flambeau.export(module, (x, torch.tensor([2, 5, 4])), verbose=False)
    with torch.no_grad():
        for lengths in ([2, 5, 4], [6, 1, 6], [1, 1, 1]):
            compare(program, module, x, torch.tensor(lengths))


def test_double():
    module = Packed(nn.GRU(4, 3, bidirectional=True).double(), False, padding_value=-1.0).eval()
    x = torch.randn(6, 3, 4, dtype=torch.float64)
    program = flambeau.export(module, (x, torch.tensor([2, 5, 4])), verbose=False)
    with torch.no_grad():
        compare(program, module, x, torch.tensor([3, 3, 6]))


class PaddedTo(nn.Module):
    """By the operator itself: pad_packed_sequence refuses to capture a total length."""

    def forward(self, data, batch_sizes):
        return torch._VF._pad_packed_sequence(data, batch_sizes, True, -2.0, 7)


def test_total_length():
    module = PaddedTo().eval()
    packed = pack_padded_sequence(torch.randn(6, 3, 4), torch.tensor([5, 4, 2]))
    program = flambeau.export(module, (packed.data, packed.batch_sizes), verbose=False)
    compare(program, module, packed.data, packed.batch_sizes)
