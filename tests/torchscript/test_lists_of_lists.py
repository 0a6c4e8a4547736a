"""Lists of lists whose number is known at run time only."""

from typing import List

import flambeau
import numpy as np
import onnxruntime
import pytest
import torch
from cases import SIGNS, Cases, x
from checking import check, compare, script
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
def rows_from_a_place_on(self, x, n):
    rows: List[List[int]] = []
    for i in range(int(n)):
        rows.append([i])
    rows.extend(rows[1:])
    return len(rows), len(rows[:]), len(rows[1:]), len(rows[-2:])


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


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def repeated(self, x, n: int):
    rows: List[List[int]] = []
    for i in range(n):
        rows.append([i, n])
    twice = rows * 2
    twice[-1] = [5, 5]
    return torch.tensor(twice), torch.tensor(2 * rows), torch.tensor(rows * n), len(rows)


@case.forward(x(3, 4), torch.tensor(3), others=SOME)
def rows_of_other_lengths_in_their_places(self, x, n: int):
    rows: List[List[int]] = [[9]]
    for i in range(n):
        rows.append([i, i + 1])
    rows[n] = [1, 2, 3]
    rows[0] = rows[-1]
    total = 0
    for row in rows:
        total = total * 7 + len(row) + sum(row)
    del rows[n]
    return total, len(rows), rows.pop(0)[0]


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


@case.forward(x(4, 3), others=[(x(2, 5),), (x(7, 1),), (x(1, 3),)], dynamic_axes={"x": {0: "n", 1: "m"}})
def rows_of_a_tensor(self, x):
    floats: List[List[float]] = x.tolist()
    ints: List[List[int]] = (x * 10).long().tolist()
    flags: List[List[bool]] = (x > 0).tolist()
    n = 0
    for i in range(len(ints)):
        for j in range(len(ints[i])):
            if flags[i][j]:
                n += ints[i][j]
    ints.append([1, 2])
    ints[0] = [5]
    return n, floats[-1][0], torch.tensor(floats), floats, ints.pop(1), sum([sum(row) for row in ints])


@case.forward(x(4, 3) - 9, others=[(x(2, 3),), (x(7, 3),)], dynamic_axes={"x": {0: "n"}})
def rows_of_places(self, x):
    places: List[List[int]] = torch.nonzero(x > 0).tolist()
    s = torch.zeros(3)
    for place in places:
        s = s + x[place[0]] * place[1]
    return s, len(places)


@case.forward(x(3, 4), torch.tensor(1), others=[(x(3, 4), torch.tensor(0)), (-x(3, 4), torch.tensor(2))])
def so_many_lists_of_numbers(self, x, n):
    """How long each of them is, only the run knows."""
    after: List[List[int]] = [[7]]
    large: List[List[float]] = []
    signs: List[List[bool]] = []
    for i in range(3):
        row: List[int] = []
        reals: List[float] = []
        for j in range(4):
            if bool(x[i, j] > 0):
                row.append(j)
                reals.append(float(x[i, j]))
        after.append(row)
        large.append(reals)
        signs.append([each > 0.5 for each in reals])
    total = 0
    for k in after[int(n)]:
        total += k * 2
    real = 0.0
    for each in large[int(n)]:
        real += each / 2
    return total, real, any(signs[int(n)]), [len(each) for each in after]


@case.forward(x(3, 4), torch.tensor(1), others=ANY)
def a_tensor_of_a_row_that_is_written_afterwards(self, x, n):
    a = x.clone()
    rows: List[List[Tensor]] = []
    if int(n) > 2:
        rows.append([a, x])
    else:
        rows.append([x])
        rows.append([a])
    a.add_(1)
    return rows[0][0], rows[-1][0], len(rows)


test_lists_of_lists = case.test()


class WritesToARowThatIsHeld(nn.Module):
    def forward(self, x, n):
        rows: List[List[int]] = []
        row = [1, 2]
        for i in range(int(n)):
            rows.append(row)
        row.append(3)
        return len(rows[0])


class ReadsWhatWasHeldWhereARowWasWritten(nn.Module):
    def forward(self, x, n):
        first = [1]
        rows = [first]
        for i in range(int(n)):
            rows.append([i])
        rows[int(n)].append(9)
        return len(first)


class ReadsARowWhereWhatWasHeldWasWritten(nn.Module):
    def forward(self, x, n):
        first = [1]
        rows = [first]
        for i in range(int(n)):
            rows.append([i])
        row = rows[int(n)]
        first.append(9)
        return len(row)


class ReadsARowThatWasReadBefore(nn.Module):
    def forward(self, x, n):
        rows: List[List[int]] = [[1]]
        for i in range(int(n)):
            rows.append([i])
        row, again = rows[int(n)], rows[int(n)]
        again.append(9)
        return len(row)


class WritesToTheRowOfTheLastRound(nn.Module):
    def forward(self, x, n):
        rows: List[List[int]] = []
        row = [1]
        for i in range(int(n)):
            row.append(i)
            if bool(x[i % 3, 0] > 0):
                row = [1]
                rows.append(row)
        return len(rows[0])


class WritesToWhatMayBeARow(nn.Module):
    def forward(self, x, n):
        rows: List[List[int]] = []
        row = [1]
        maybe = row if bool(x.sum() > 0) else [2]
        for i in range(int(n)):
            rows.append([i])
        rows.append(row)
        maybe.append(9)
        return len(rows[-1])


WRITERS = [
    WritesToARowThatIsHeld(),
    ReadsWhatWasHeldWhereARowWasWritten(),
    ReadsARowWhereWhatWasHeldWasWritten(),
    ReadsARowThatWasReadBefore(),
    WritesToTheRowOfTheLastRound(),
    WritesToWhatMayBeARow(),
]


@pytest.mark.parametrize("model", WRITERS, ids=lambda model: type(model).__name__)
def test_writes_to_rows_are_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.export(script(model), SOME[0], verbose=False)


class IndexesBeyond(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x, n: int, at: int):
        rows: List[List[int]] = []
        for i in range(n):
            rows.append([i, i + 1])
        if self.how == "set":
            rows[at] = [7, 8]
        elif self.how == "delete":
            del rows[at]
        elif self.how == "pop":
            rows.pop(at)
        elif self.how == "get":
            rows.append(rows[at])
        return torch.tensor(rows), len(rows)


@pytest.mark.parametrize("how", ["set", "delete", "pop", "get"])
def test_places_that_a_list_of_lists_lacks(how):
    model = IndexesBeyond(how)
    args = (x(3, 4), torch.tensor(3), torch.tensor(1))
    program = flambeau.export(script(model), args, verbose=False)
    session = onnxruntime.InferenceSession(program.model_proto.SerializeToString())
    for at in range(-6, 7):
        given = {"x": np.zeros((3, 4), np.float32), "n": np.array(3), "at": np.array(at)}
        if -3 <= at < 3:
            expected = model(x(3, 4), 3, at)
            actual = session.run(None, given)
            assert actual[0].tolist() == expected[0].tolist() and actual[1] == expected[1]
        else:
            with pytest.raises(Exception, match="(?i)bound|invalid"):
                session.run(None, given)


def test_a_list_of_lists_is_given_out_as_one_sequence():
    class Returned(nn.Module):
        def forward(self, x, n):
            rows: List[List[Tensor]] = []
            for i in range(int(n)):
                rows.append([x, x * i])
            return rows

    program = flambeau.export(script(Returned()), SOME[0], verbose=False)
    assert any("gives the elements of all as one sequence" in each.message for each in program.diagnostics)
    compare(Returned(), program, SOME[1])


class OnlyTheEndsOfRows(nn.Module):
    def forward(self, x):
        rows: List[List[int]] = []
        for i in range(x.size(0)):
            row: List[int] = []
            for j in range(x.size(1)):
                if bool(x[i, j] > 0):
                    row.append(j)
            rows.append(row)
        return rows[0], rows[-1], len(rows)


@pytest.mark.parametrize("opset", [13, 14])
def test_lists_are_copied_where_identity_takes_none(opset):
    check(OnlyTheEndsOfRows(), (x(6, 4),), dynamic_axes={"x": {0: "n"}}, others=[(x(3, 4),), (-x(9, 4),)], opset_version=opset)


class WritesATensorOfARow(nn.Module):
    def forward(self, x, n):
        a = x.clone()
        rows = [[a]]
        for _ in range(int(n)):
            rows.append([x])
        a.add_(1)
        return rows[0][0]


class WritesATensorThroughItsRow(nn.Module):
    def forward(self, x, n):
        a = x.clone()
        rows = [[a]]
        for _ in range(int(n)):
            rows.append([x])
        rows[0][0].add_(1)
        return a


@pytest.mark.parametrize("model", [WritesATensorOfARow(), WritesATensorThroughItsRow()], ids=lambda model: type(model).__name__)
def test_memory_of_rows_from_before_a_loop_is_known(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="may share its memory"):
        flambeau.export(script(model), SOME[0], verbose=False)
