"""Lists whose length is known at run time only, of tuples or dicts that hold lists, dicts or tuples."""

from typing import Dict, List, Tuple

import flambeau
import pytest
import torch
from cases import Cases, x
from checking import script
from torch import Tensor, nn

case = Cases()
ANY = [(x(6, 3, seed=k), torch.tensor(n)) for k, n in enumerate((0, 1, 2, 6))]
THREE = (x(6, 3), torch.tensor(3))


@case.forward(*THREE, others=ANY)
def hypotheses_that_ended(self, x, n):
    """A beam search's: the tokens of each, and its score."""
    beams: List[Tuple[List[int], float]] = [([0], 0.0), ([1], -1.0)]
    ended: List[Tuple[List[int], float]] = []
    for step in range(int(n)):
        longer: List[Tuple[List[int], float]] = []
        for tokens, score in beams:
            token = int(x[step].argmax())
            if token == 2:
                ended.append((tokens + [token], score))
            longer.append((tokens + [token], score + float(x[step, token])))
        beams = longer
    for beam in beams:
        ended.append(beam)
    best = 0
    for k in range(len(ended)):
        if ended[k][1] / len(ended[k][0]) > ended[best][1] / len(ended[best][0]):
            best = k
    return torch.tensor(ended[best][0]), ended[best][1], len(ended)


@case.forward(*THREE, others=ANY)
def beams_that_begin_as_one(self, x, n):
    beams: List[Tuple[List[int], float]] = [([0], 0.0)]
    for step in range(int(n)):
        found: List[Tuple[List[int], float]] = []
        for tokens, score in beams:
            for k in range(3):
                found.append((tokens + [k], score + float(x[step, k])))
        best = torch.tensor([each[1] for each in found]).topk(3)[1]
        beams = [found[int(k)] for k in best]
    return torch.tensor(beams[0][0]), beams[-1][1], len(beams)


@case.forward(*THREE, others=ANY)
def lists_of_all_lengths(self, x, n):
    rows: List[Tuple[List[int], Tensor, List[Tensor]]] = []
    for i in range(int(n)):
        places: List[int] = []
        for j in range(i):
            places.append(j)
        rows.append((places, x[i], [x[0]] if bool(x[i, 0] > 0) else [x[i], x[0]]))
    total = x[0]
    for places, row, others in rows:
        total = total + sum(places) * row + others[-1] * len(others)
    return total, len(rows)


@case.forward(*THREE, others=ANY)
def tuples_and_dicts_within(self, x, n):
    rows: List[Tuple[int, Tuple[Tensor, float]]] = []
    named: List[Tuple[Dict[str, Tensor], int]] = []
    for i in range(int(n)):
        rows.append((i, (x[i], float(x[i, 1]))))
        named.append(({"a": x[i], "b": x[i] * 2}, i))
    total = x[0]
    for i, (row, factor) in rows:
        total = total + row * factor * i
    for fields, i in named:
        total = total - fields["b"] * i
    return total


@case.forward(*THREE, others=ANY)
def lists_in_dicts(self, x, n):
    found: List[Dict[str, List[Tensor]]] = []
    for i in range(int(n)):
        found.append({"a": [x[i], x[i] + 1], "b": [x[i]]})
    total = x[0]
    for each in found:
        total = total + each["a"][1] * len(each["b"])
    return total, len(found)


@case.forward(*THREE, others=ANY[1:])
def changed_and_joined(self, x, n):
    rows: List[Tuple[List[int], Tensor]] = []
    for i in range(int(n)):
        rows.append(([i] * (i + 1), x[i]))
    rows.insert(0, ([7, 8], x[5]))
    rows[-1] = ([9], x[0])
    rows.extend([([1, 2, 3], x[1])])
    tokens, row = rows.pop()
    more = rows + rows[1:]
    more.reverse()
    del more[0]
    return tokens, row, len(more), more[0][0], more[-1][1], [len(each[0]) for each in more]


@case.forward(x(6, 3), torch.tensor(1), others=[(x(6, 3), torch.tensor(n)) for n in (0, 2)])
def from_a_place_on(self, x, n):
    """Of known lists."""
    at = int(n)
    rows = [[1], [2, 3], [4]]
    pairs = [(x, 1), (x + 1, 2), (x + 2, 3)]
    nested = [([1], 2), ([2, 3], 4), ([4], 7)]
    dicts = [{"a": x}, {"a": x + 1}]
    rest, part, last = rows[at:], pairs[at:], nested[: at + 1]
    more = (rows * at) + [[9]]
    inserted, beside = list(rows), list(nested)
    inserted.insert(at, [7])
    beside.insert(at, ([7], 1))
    numbers = len(part), part[0][1], len(last), len(pairs * at)
    return rest[0], part[0][0], last[-1][0], len(dicts[:at]), more[-1], inserted[2], beside[2][0], numbers, rows


test_program = case.test()


class WritesWhatWasPutIn(nn.Module):
    def forward(self, x, n):
        rows: List[Tuple[List[int], int]] = []
        row = [1]
        for i in range(int(n)):
            rows.append((row, i))
        row.append(2)
        return len(rows[0][0])


class ReadsWhatWasPutInBefore(nn.Module):
    def forward(self, x, n):
        row = [1]
        rows = [(row, 1)]
        for i in range(int(n)):
            rows.append(([i], i))
        rows[0][0].append(2)
        return len(row)


class WritesToAField(nn.Module):
    def forward(self, x, n):
        rows: List[Tuple[List[int], int]] = []
        for i in range(int(n)):
            rows.append(([i], i))
        rows[0][0].append(2)
        return len(rows[0][0])


class WritesToADict(nn.Module):
    def forward(self, x, n):
        fields = {"a": x}
        rows = [(fields, 0)]
        for i in range(int(n)):
            rows.append(({"a": x * i}, i))
        fields["a"] = x + 1
        return rows[0][0]["a"]


class WritesThroughASlice(nn.Module):
    def forward(self, x, n):
        rows = [([1], 0), ([2], 1)]
        rest = rows[int(n) - 3 :]
        rows[0][0].append(2)
        return len(rest[0][0])


WRITERS = [WritesWhatWasPutIn(), ReadsWhatWasPutInBefore(), WritesToAField(), WritesToADict(), WritesThroughASlice()]


@pytest.mark.parametrize("model", WRITERS, ids=lambda model: type(model).__name__)
def test_a_field_that_may_have_been_written_is_refused(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.export(script(model), THREE, verbose=False)
