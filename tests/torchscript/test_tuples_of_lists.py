"""Tuples that hold lists, dicts or tuples, taken out of a list of known length at a place which only a run knows."""

from typing import Dict, List, Tuple

import flambeau
import pytest
import torch
from cases import Cases, x
from torch import Tensor

case = Cases()
PLACES = [(x(4, 3), torch.tensor(place)) for place in (0, 1, 2)]


@case.forward(*PLACES[1], others=PLACES)
def a_hypothesis(self, x, i):
    beams: List[Tuple[List[int], float, Tuple[Tensor, Tensor]]] = [
        ([1], 0.5, (x, x)), ([2, 3], 1.5, (x + 1, x * 2)), ([4, 5, 6], 0.1, (x * 3, -x))
    ]  # fmt: skip
    tokens, score, (h, c) = beams[int(i)]
    tokens.append(7)
    return torch.tensor(tokens), score, h, c, len(beams)


@case.forward(*PLACES[1], others=PLACES)
def the_best(self, x, i):
    beams: List[Tuple[List[Tensor], Tensor]] = []
    for k in range(3):
        beams.append(([x[k], x[k + 1]], x[k].sum() - (x[int(i)] ** 2).sum()))
    best = int(torch.stack([score for _, score in beams]).argmax())
    rows, score = beams[best]
    return torch.stack(rows), score, torch.stack(beams[-1][0])


@case.forward(*PLACES[1], others=PLACES)
def a_dict(self, x, i):
    found: List[Tuple[Dict[str, Tensor], int]] = [({"a": x}, 1), ({"a": x + 1}, 2), ({"a": x * 2}, 3)]
    fields, count = found[int(i)]
    fields["a"] = fields["a"] * count
    return fields["a"], count


test_program = case.test()


def read_through_the_tuple(x, i: int):
    rows: List[Tuple[List[Tensor], Tensor]] = [([x], x), ([x, x + 1], x)]
    rows[i][0].append(x)
    return len(rows[1][0])


def read_by_its_name(x, i: int):
    first = [x]
    rows: List[Tuple[List[Tensor], Tensor]] = [(first, x), ([x, x + 1], x)]
    rows[i][0].append(x)
    return len(first)


def read_after_a_write_to_that(x, i: int):
    first = [x]
    rows: List[Tuple[List[Tensor], Tensor]] = [(first, x), ([x, x + 1], x)]
    row = rows[i][0]
    first.append(x)
    return len(row)


@pytest.mark.parametrize("function", [read_through_the_tuple, read_by_its_name, read_after_a_write_to_that], ids=lambda f: f.__name__)
def test_a_list_that_may_have_been_written_is_refused(function):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="nobody knows what it holds"):
        flambeau.onnx.export(torch.jit.script(function), (x(2, 3), 1), None, dynamo=False)
