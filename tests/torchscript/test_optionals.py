"""Values that are None on some paths of those that only a run takes, or in some rounds."""

from typing import List, Optional, Tuple

import torch
from cases import Cases, x
from torch import Tensor, nn

case = Cases()

COUNT = torch.tensor(1)
OTHERS = [(x(5, 4), torch.tensor(0)), (x(3, 4).abs(), torch.tensor(2)), (-x(2, 4).abs(), torch.tensor(3))]
STEPS = {"how": ("script",), "others": [(x(5, 3, 4),), (x(1, 3, 4),)], "dynamic_axes": {"x": {0: "time", 1: "batch"}}}


def counted(function):
    return case.forward(x(3, 4), COUNT, others=OTHERS, dynamic_axes={"x": {0: "n"}})(function)


@counted
def of_an_inner_path(self, x, count: Tensor):
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        if int(count) > 1:
            y = x * 3
    return x if y is None else y * 2


@counted
def of_three_paths(self, x, count: Tensor):
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        if bool(x.max() > 0.5):
            if int(count) > 1:
                y = x * 3
        else:
            y = None
    return x if y is None else y * 2


@counted
def of_rounds_on_a_path(self, x, count: Tensor):
    y: Optional[Tensor] = None
    n: Optional[int] = None
    if bool(x.sum() > 0):
        for i in range(int(count)):
            y = x + i
            n = i
    else:
        i = 0
        while i < int(count):
            n = i * 2
            i += 1
    return x if y is None else y * 2, x if n is None else x * n


@counted
def of_lists(self, x, count: Tensor):
    y: Optional[List[Tensor]] = None
    if bool(x.sum() > 0):
        if int(count) > 1:
            y = [x * 3, x]
    return x if y is None else y[0] * 2 + y[1]


@counted
def set_where_it_is_none(self, x, count: Tensor):
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        if int(count) > 1:
            y = x
    if y is None:
        if int(count) == 0:
            y = x * 2
    return y if y is not None else -x


@counted
def of_a_dynamic_size(self, x, count: Tensor):
    y: Optional[Tensor] = None
    if int(count) > 0:
        y = x
    if y is None:
        y = torch.zeros(x.size(0), 4)
    return torch.relu(y) * 2 + x


@counted
def of_computed_sizes(self, x, count: Tensor):
    y: Optional[Tensor] = None
    double = torch.cat([x, x * 2]) + 0
    for i in range(int(count)):
        y = torch.cat([x, x + i])
    chosen = double if y is None else y
    return torch.relu(chosen) * 2 + double, x.sum() if y is None else y.sum()


@counted
def of_pairs(self, x, count: Tensor):
    pair: Optional[Tuple[Tensor, Tensor]] = None
    if int(count) > 0:
        pair = (x, x * 2)
    if pair is None:
        pair = (torch.zeros_like(x), x)
    return pair[0].relu() * 2 + x, pair[1].tanh() * 3 + x


def together(rows: List[Tensor]):
    if len(rows) == 0:
        return torch.zeros(1, 4)
    return torch.stack(rows)


@case.forward(
    x(5, 4), COUNT, others=[(x(5, 4), torch.tensor(0)), (x(6, 4), torch.tensor(4)), (x(4, 4), torch.tensor(2))], dynamic_axes={"x": {0: "n"}}
)
def of_lists_beside_a_text(self, x, count: Tensor):
    """One path after the other is walked by itself, to an output of which no rank is known."""
    rows: Optional[List[Tensor]] = None
    some: List[Tensor] = []
    text = "none"
    if int(count) > 0:
        rows = list(x.unbind(0))
        for i in range(int(count)):
            if i == 3:
                some = []
            some.append(x[i])
    else:
        text = "some"
    return x[0] * 0 if rows is None else together(rows), together(some), text == "none"


class Steps(nn.Module):
    """A state that the first round has not."""

    def __init__(self, cell):
        super().__init__()
        self.cell = cell


@case(x(3, 2, 4), **STEPS)
class OfState(Steps):
    def __init__(self):
        super().__init__(nn.RNNCell(4, 3))

    def forward(self, x):
        state: Optional[Tensor] = None
        for t in range(x.size(0)):
            state = self.cell(x[t], state)
        return state


@case(x(3, 2, 4), **STEPS)
class OfTwoStates(Steps):
    def __init__(self):
        super().__init__(nn.LSTMCell(4, 3))

    def forward(self, x):
        state: Optional[Tuple[Tensor, Tensor]] = None
        states: List[Tensor] = []
        for t in range(x.size(0)):
            state = self.cell(x[t], state)
            states.append(state[0])
        return torch.stack(states)


test_optionals = case.test()
