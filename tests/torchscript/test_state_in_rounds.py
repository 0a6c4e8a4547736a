"""Modules that keep a state while a loop calls them, as a detector does that hears a signal piece by piece."""

from typing import List

import torch
import torch.nn.functional as F
from cases import Cases, x
from torch import Tensor, nn

case = Cases()

SIGNALS = {"others": [(x(1, 20),), (x(1, 4),)], "dynamic_axes": {"a": {1: "time"}}, "how": ["script"]}


class Hearing(nn.Module):
    """Its state is empty before the first piece."""

    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(0))
        self.batch: int = 0

    def hear(self, piece):
        if piece.size(-1) != 4:
            raise ValueError("a piece has 4 samples")
        if self.batch and self.batch != piece.size(0):
            self.state = torch.zeros(0)
        if not len(self.state):
            self.state = torch.zeros(piece.size(0), 4)
        self.state = self.state * 0.5 + piece
        self.batch = piece.size(0)
        return self.state.sum(1, keepdim=True)

    def forward(self, a):
        heard: List[Tensor] = []
        self.state = torch.zeros(0)
        self.batch = 0
        for i in range(0, a.size(1), 4):
            heard.append(self.hear(a[:, i : i + 4]))
        return torch.cat(heard, 1)


case(x(1, 12), **SIGNALS)(Hearing)


@case(x(1, 12), **{**SIGNALS, "others": [*SIGNALS["others"], (x(1, 6),), (x(1, 3),)]})
class HearingWholePieces(Hearing):
    """Without a piece there would be nothing to join: PyTorch raises, and the model takes it that there is one."""

    def forward(self, a):
        heard: List[Tensor] = []
        self.state = torch.zeros(0)
        self.batch = 0
        if a.size(1) % 4:
            a = F.pad(a, (0, 4 - a.size(1) % 4))
        for i in range(0, a.size(1), 4):
            heard.append(self.hear(a[:, i : i + 4]))
        return torch.cat(heard, 1)


@case.forward(x(2, 3), others=[(-x(2, 3),), (x(4, 3),)], dynamic_axes={"a": {0: "rows"}})
def nothing_to_stack(self, a):
    found: List[Tensor] = []
    if bool(a.sum() < 100):
        found.append(a)
    return torch.stack(found).sum(0)


test_program = case.test()
