import torch
from harness import case, floats
from torch import nn

HALVES = [torch.float16, torch.bfloat16]
x = floats(5, 2, 4)  # time, batch, features
first = floats(2, 5, 4)  # batch, time, features
FREE = {"dynamic": {0: [0, 1]}}
ROOM = {"tolerance": (3e-2, 3e-2)}

CASES = [
    *[
        case(kind(4, 3, layers, bias=bias, bidirectional=both), x, **FREE)
        for kind in (nn.LSTM, nn.GRU, nn.RNN)
        for layers in (1, 2)
        for bias, both in ((True, False), (True, True), (False, True))
    ],
    *[case(kind(4, 3, 2, batch_first=True, bidirectional=True), first, **FREE) for kind in (nn.LSTM, nn.GRU, nn.RNN)],
    case(nn.RNN(4, 3, nonlinearity="relu"), x, **FREE),
    case(nn.LSTM(4, 3), floats(5, 4), dynamic=False),
    case(nn.GRU(4, 3), x, floats(1, 2, 3), name="a given state", dynamic=False),
    case(nn.LSTM(4, 3, 2, dropout=0.5), x, (floats(2, 2, 3), floats(2, 2, 3)), name="given states", dynamic=False),
    case(nn.LSTM(4, 5, 2, proj_size=3), x, **FREE),
    case(nn.LSTM(4, 5, 2, proj_size=3, bidirectional=True, bias=False), x, **FREE),
    case(nn.LSTM(4, 3).double(), x.double(), name="float64", **FREE),
    case(nn.GRU(4, 3).double(), x.double(), name="float64", **FREE),
    *[case(torch.lstm_cell, floats(2, 4), (floats(2, 3), floats(2, 3)), floats(12, 4), floats(12, 3), *biases) for biases in ((), (floats(12), floats(12)))],
    *[case(torch.gru_cell, floats(2, 4), floats(2, 3), floats(9, 4), floats(9, 3), *biases) for biases in ((), (floats(9), floats(9)))],
    case(torch.gru_cell, floats(2, 4), floats(2, 3), floats(9, 4), floats(9, 3), dtypes=HALVES, **ROOM),
    *[case(cell, floats(2, 4), floats(2, 3), floats(3, 4), floats(3, 3), floats(3), floats(3)) for cell in (torch.rnn_tanh_cell, torch.rnn_relu_cell)],
    case(nn.LSTMCell(4, 3), floats(2, 4)),
]
