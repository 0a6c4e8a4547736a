"""Loops: counted, open-ended, left early, over tensors and lists."""

from typing import List, Optional

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import script
from torch import Tensor, nn


case = Cases()


@case(x(3, 4), how=("script",))
class CountedLoop(nn.Module):
    def forward(self, x):
        out = torch.jit.annotate(List[Tensor], [])
        for i in range(x.size(0)):
            out.append(x[i] * i)
        return torch.stack(out)


@case(x(3), torch.tensor(2), how=("script",), others=[(x(3), torch.tensor(0)), (x(3), torch.tensor(5))])
class RunTimeLoop(nn.Module):
    def forward(self, x, n):
        k = 0
        for i in range(int(n)):
            x = x * 2 + i
            k = k + i
        return x, k


@case(x(3), how=("script",), others=[(x(3) * 100,)])
class While(nn.Module):
    def forward(self, x):
        n = 0
        while x.abs().sum() > 1.0:
            x = x / 2
            n += 1
        return x, n


@case(x(3).abs(), how=("script",), others=[(x(3) * 100,), (x(3) / 100,)])
class Break(nn.Module):
    def forward(self, x):
        for i in range(6):
            x = x * 1.5
            if x.abs().sum() > 4.0:
                break
            x = x + 0.1
        return x


@case(x(2, 3), torch.tensor(2), how=("script",), others=[(x(2, 3), torch.tensor(0)), (x(2, 3), torch.tensor(4))])
class NestedLoops(nn.Module):
    def forward(self, x, n):
        for i in range(int(n)):
            for j in range(i):
                x = x + j
            if x.sum() > 3:
                x = x - 1
        return x


@case(x(2, 3), torch.tensor(3), how=("script",), others=[(x(2, 3), torch.tensor(1)), (x(2, 3), torch.tensor(0))])
class GrowingTensor(nn.Module):
    def forward(self, x, n):
        y = x
        for _ in range(int(n)):
            y = torch.cat([y, x])
        return y


@case(x(4, 3), how=("script",), dynamic_axes={"x": {0: "n"}}, others=[(x(2, 3),), (x(7, 3),)])
class ListInDynamicLoop(nn.Module):
    def forward(self, x):
        out: List[Tensor] = []
        for i in range(x.size(0)):
            out.append(x[i] * i)
        return torch.stack(out), torch.cat(out), len(out)


@case(x(4, 3), how=("trace", "script"))
class BufferCounter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count += 1
        return x + self.count


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class AttributeUnderIf(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(2, 3))

    def forward(self, x):
        if x.sum() > 0:
            self.last = x + 1
        return self.last * 2


@case.forward(x(2, 3), torch.tensor(1), torch.tensor(9), torch.tensor(2), others=[
    (x(2, 3), torch.tensor(5), torch.tensor(2), torch.tensor(1)),
    (x(2, 3), torch.tensor(9), torch.tensor(0), torch.tensor(-2)),
])
def ranges_of_any_step(self, x, start, stop, step):
    for i in range(int(start), int(stop), int(step)):
        x = x + i
    return x


@case.forward(x(4, 3), dynamic_axes={"x": {0: "n"}}, others=[(x(6, 3),), (x(1, 3),)])
def best_so_far(self, x):
    best: Optional[Tensor] = None
    for row in x:
        if best is None or bool(row.sum() > best.sum()):
            best = row
    assert best is not None
    return best


@case.forward(x(2, 3), torch.tensor(3), others=[(x(2, 3), torch.tensor(0)), (x(2, 3), torch.tensor(1))])
def none_until_the_first_round(self, x, n):
    last: Optional[Tensor] = None
    for i in range(int(n)):
        if last is None:
            last = x[0]
        else:
            last = last + x[1]
    if last is None:
        return x[0] * 0
    return last


@case.forward(x(2, 3), torch.tensor(3), others=[(x(2, 3), torch.tensor(n)) for n in (0, 2, 9)])
def list_returned_from_a_loop(self, x, n):
    rows: List[Tensor] = []
    for i in range(int(n)):
        rows.append(x + i)
        if i == 3:
            return torch.stack(rows)
    rows.append(x - 1)
    return torch.stack(rows)


@case.forward(x(3, 4), x(3, 4, seed=8), dynamic_axes={"x": {0: "n"}, "y": {0: "n"}}, others=[(x(6, 4), x(6, 4, seed=7))])
def enumerates_pairs(self, x, y):
    total = torch.zeros(4)
    for i, (a, b) in enumerate(zip(x, y)):
        total = total + a * b * i
    return total


TRIPS = [(x(4, 3), torch.tensor(n)) for n in (0, 1, 2)]


@case.forward(x(4, 3), torch.tensor(3), others=TRIPS)
def integer_that_becomes_a_float(self, x, n):
    total = torch.tensor(0)
    for i in range(int(n)):
        total = total + x[i].sum() * i
    return x * total


@case.forward(x(4, 3), torch.tensor(3), others=TRIPS)
def scalar_that_becomes_a_row(self, x, n):
    row = torch.tensor(0.0)
    for i in range(int(n)):
        row = row * 2 + x[i] + i
    return row + x


@case.forward(x(4, 3), torch.tensor(3), others=TRIPS)
def dtypes_that_settle_after_two_rounds(self, x, n):
    a, b = torch.tensor(0), torch.tensor(1)
    i = 0
    while i < int(n):
        a, b = b, a + b + x[0]
        i += 1
    return b + a + x, i


@case.forward(x(4, 3), others=[(x(1, 3),), (x(6, 3),)], dynamic_axes={"x": [0]})
def integer_to_which_rows_are_added(self, x):
    total, last = torch.tensor(0), torch.zeros(3, dtype=torch.int32)
    for i in range(x.size(0)):
        total = total + x[i].sum()
    for row in x.unbind(0):
        last = last + row
    return total, last


@case.forward(x(3, 4), torch.tensor(4), others=[(x(3, 4), torch.tensor(n)) for n in (0, 1, 3)])
def returned_from_an_inner_loop(self, x, n):
    for i in range(int(n)):
        for j in range(i + 1):
            if i * j == 6:
                return x * 6, i, j
            if bool(x[0, 0] > 50):
                break
        x = x + 1
    return x, -1, -1


@case.forward(x(3, 4), torch.tensor(2), others=[(sign * x(3, 4).abs(), torch.tensor(n)) for n in (1, 2, 4) for sign in (-3, 3)])
def a_first_round_of_several_dtypes(self, x, n: int):
    total, before = torch.tensor(0), 1
    for _ in range(n):
        v = x if bool(x.sum() > 0) else x.long()
        total = (v * before).sum() * 0.5
        before = 2
    assert n > 0
    return total


@case.forward(x(3, 4), torch.tensor(2), others=[(x(3, 4), torch.tensor(n)) for n in (1, 2, 4)])
def a_first_round_of_several_ranks(self, x, n: int):
    total = torch.tensor(0)
    for _ in range(n):
        y = x.unsqueeze(0) if n > 2 else x
        if y.dim() == 3:
            y = y[0]
        total = total + y.sum() * 0.5
    assert n > 0
    return total


@case.forward(x(3, 4), torch.tensor(4), others=[(x(3, 4), torch.tensor(n)) for n in (0, 1, 3)])
def returned_while_it_grows(self, x, n):
    rows = x[x[:, 0] > -9]
    for i in range(int(n)):
        rows = torch.cat([rows, x[:1]])
        if rows.size(0) == 6:
            return rows, rows.size(0)
        rows = rows.view(rows.size(0), 2, 2).transpose(1, 2).reshape(rows.size(0), 4)
    return rows[1:], 0


def sums_of_rows(y: Tensor) -> Tensor:
    n = y.shape[0]
    sums = [torch.zeros(4, 3), torch.zeros(4, 3)]
    for _ in range(2):
        for j in range(2):
            sums[j] = torch.tensor(0.0)
            start: int = 0
            while start < n:
                places = torch.arange(start, min(n, start + 4))
                start = int(places[-1]) + 1
                sums[j] = sums[j] + torch.sum(y[places], dim=0)
        y = y + sums[0]
    return y + sums[0] + sums[1]


@case.forward(x(6, 4, 3), others=[(x(n, 4, 3),) for n in (1, 9)], dynamic_axes={"y": [0]})
def sums_that_start_as_numbers(self, y):
    return sums_of_rows(y)


@case.forward(x(6, 4, 3), others=[(x(n, 4, 3),) for n in (1, 5, 13)], dynamic_axes={"y": [0]})
def sums_of_windows_of_which_one_element_was_read(self, y):
    out = torch.zeros_like(y)
    start: int = 0
    while start < y.shape[0]:
        places = torch.arange(start, min(y.shape[0], start + 5))
        start = int(places[-1]) + 1
        out[places] = sums_of_rows(y[places])
    return out


@case.forward(x(6, 4).abs(), others=[(-x(6, 4).abs(),), (torch.cat([-x(6, 4).abs(), torch.tensor([[0.5, -1, 0, 0]])]),)], dynamic_axes={"x": [0]})
def asked_for_an_element_on_one_path_only(self, x):
    rows = x[x[:, 0] > 0]
    first = torch.zeros(4)
    if bool(x.sum() > 0):
        first = rows[1]
    if rows.shape[0] > 1:
        first = first + rows[1] * 2
    return first


test_program = case.test()


def test_what_is_taken_for_granted_of_a_loop_is_said():
    class Total(nn.Module):
        def forward(self, x):
            total = torch.tensor(0)
            for i in range(x.size(0)):
                total = total + x[i].sum()
            return total

    with pytest.warns(flambeau.errors.ConversionWarning, match="takes for granted that the loop has a round"):
        flambeau.export(script(Total()), (x(4, 3),), input_names=["x"], dynamic_axes={"x": [0]})
