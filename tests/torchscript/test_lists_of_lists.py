"""Lists of lists whose number is known at run time only."""

from typing import List

import flambeau
import pytest
import torch
from cases import SIGNS, Cases, x
from checking import script
from torch import Tensor, nn

case = Cases()
SOME = [(x(3, 4), torch.tensor(n)) for n in (1, 5)]
ANY = [*SOME, (x(3, 4), torch.tensor(0))]


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def tensors_of_rows(self, x, n):
    whole: List[List[int]] = []
    real: List[List[float]] = []
    square: List[List[int]] = []
    for i in range(int(n)):
        whole.append([i, i * 2])
        real.append([float(x[0, 0]) * i, 2.0])
        row: List[int] = []
        for j in range(int(n)):
            row.append(i * j)
        square.append(row)
    return torch.tensor(whole), torch.tensor(real), torch.tensor(square), torch.tensor(whole, dtype=torch.float64)


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def rows_of_tensors(self, x, n):
    rows: List[List[Tensor]] = []
    for i in range(int(n)):
        row: List[Tensor] = []
        for j in range(i + 1):
            row.append(x[0] * j)
        rows.append(row)
    out = x.sum(0)
    for r in rows:
        for t in r:
            out = out + t
    return out, len(rows)


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def rows_are_stacked(self, x, n):
    rows: List[List[Tensor]] = []
    for i in range(int(n)):
        rows.append([x[0] * i, x[1]])
    return torch.stack([torch.cat(r) for r in rows])


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def rows_that_grow(self, x, n):
    beams: List[List[int]] = [[0]]
    for i in range(int(n)):
        new: List[List[int]] = []
        for b in beams:
            new.append(b + [i])
        beams = new
    return torch.tensor(beams)


@case.forward(x(2, 3), others=SIGNS)
def a_branch_adds_one(self, x):
    rows = [[1.0, 2.0]]
    if x.sum() > 0:
        rows.append([3.0, 4.0])
    return torch.tensor(rows)


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def read_from_the_end(self, x, n):
    rows: List[List[int]] = [[0, 1]]
    while len(rows) < int(n) + 2:
        last = rows[-1]
        rows.append([last[1], last[0] + last[1]])
    return torch.tensor(rows), rows[len(rows) - 1][0], rows[-2][1], list(rows)[int(n)][0]


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def a_stack(self, x, n):
    stack: List[List[int]] = [[int(n)]]
    total = 0
    while len(stack) > 0:
        top = stack.pop()
        total += top[0]
        if top[0] > 0:
            stack.append([top[0] - 1])
    return total


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def beside_other_lists(self, x, n):
    rows: List[List[Tensor]] = []
    counts: List[int] = []
    for i in range(int(n)):
        rows.append([x[0] * i])
        counts.append(i)
    y = x.sum(0)
    for k in range(len(rows)):
        y = y + rows[k][0] * counts[k]
    return y


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def changed_in_place(self, x, n: int):
    rows: List[List[int]] = [[i, i + 1] for i in range(n + 1)]
    rows[n] = [7, 8]
    rows[-1] = [rows[0][1], 9]
    rows.extend([[n, 2]])
    rows += rows[: n + 1]
    rows.insert(1, [5, 5])
    rows.insert(99, [6, 6])
    rows.reverse()
    del rows[0]
    second = rows.pop(1)
    return torch.tensor(rows), len(rows), second[0]


@case.forward(x(3, 4), torch.tensor(3), others=ANY)
def joined_and_sliced(self, x, n: int):
    rows: List[List[Tensor]] = [[x[0]]]
    for i in range(n):
        rows.append([x[0] * i, x[1] + i])
    more = [[x[2], x[2] * 2]] + rows + [[x[1]]]
    out = x[0]
    for k, row in enumerate(more[1:-1]):
        for tensor in row:
            out = out * 0.5 + tensor * k
    flat: List[Tensor] = []
    for row in more:
        flat.extend(row)
    return out, len(more), torch.stack(flat)


test_lists_of_lists = case.test()


class WritesToARowThatIsHeld(nn.Module):
    def forward(self, x, n):
        rows: List[List[int]] = []
        row = [1, 2]
        for i in range(int(n)):
            rows.append(row)
        row.append(3)
        return len(rows[0])


class WritesToARowThatIsRead(nn.Module):
    def forward(self, x, n):
        rows: List[List[int]] = []
        for i in range(int(n)):
            rows.append([i])
        rows[0].append(9)
        return len(rows[0])


@pytest.mark.parametrize("model", [WritesToARowThatIsHeld(), WritesToARowThatIsRead()], ids=lambda model: type(model).__name__)
def test_writes_to_rows_are_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.export(script(model), SOME[0], verbose=False)


def test_other_uses_are_refused():
    class Repeated(nn.Module):
        def forward(self, x, n):
            rows: List[List[int]] = []
            for i in range(int(n)):
                rows.append([i])
            return torch.tensor(rows * 2)

    class Returned(nn.Module):
        def forward(self, x, n):
            rows: List[List[Tensor]] = []
            for i in range(int(n)):
                rows.append([x, x * i])
            return rows

    for model, message in (Repeated(), "asks this of a list of lists"), (Returned(), "is a list of lists whose length"):
        with pytest.raises(flambeau.errors.OnnxExporterError, match=message):
            flambeau.export(script(model), SOME[0], verbose=False)
