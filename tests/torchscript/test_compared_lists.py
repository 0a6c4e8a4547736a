"""Lists of numbers beside each other: which are equal, and which comes first."""

from typing import List

import pytest
import torch
from cases import Cases, x
from checking import check

import flambeau

case = Cases()

SIZES = [(x(n, 3),) for n in (1, 2, 3, 4, 7)]


@case.forward(x(5, 3), others=SIZES, dynamic_axes={"x": {0: "n"}})
def of_run_time_length(self, x):
    places = [i for i in range(x.size(0))]
    none: List[int] = []
    return places == [0, 1, 2], places != [0, 1, 2], places == none, [0, 1] == places, places == places[:-1], max(places, [0, 1, 1]), min([0, 3], places)


@case.forward(x(5, 3), others=SIZES, dynamic_axes={"x": {0: "n"}})
def of_floats_and_bools(self, x):
    floats = [float(row.sum()) for row in x]
    bools = [bool(row.sum() > 0) for row in x]
    firsts = [bool(row[0] > 0) for row in x]
    return floats == [v + 1 for v in floats], floats == [v * 1.0 for v in floats], min(floats, [100.0]), bools == firsts, bools != firsts


@case.forward(x(5, 3), others=SIZES, dynamic_axes={"x": {0: "n"}})
def of_known_length(self, x):
    n = x.size(0)
    sizes, other = [n, 2, 1], [3, n]
    return max(sizes, other), min(sizes, other), min([n], [2]), max(sizes, sizes), min([1, 2], [1, 1, 5])


@case.forward(x(5, 3), others=SIZES, dynamic_axes={"x": {0: "n"}})
def decide_how_long_a_loop_runs(self, x):
    made: List[int] = []
    while made != [0, 1, 2] and len(made) < x.size(0):
        made.append(len(made))
    return made, made == [0, 1, 2]


test_program = case.test()


class Written(torch.nn.Module):
    def forward(self, x):
        made = [i for i in range(x.size(0))]
        last = max(made, [0, 1, 2])
        last.append(9)
        return len(made), last


def test_the_greater_list_that_is_written_is_one_of_two():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="unknown-aliasing"):
        check(Written(), (x(5, 3),), dynamic_axes={"x": {0: "n"}})


class WrittenBesideAConstant(torch.nn.Module):
    def forward(self, x):
        made = [i for i in range(x.size(0))]
        constant = [0, 1, 2]
        last = max(made, constant)
        last.append(9)
        return len(last) + len(constant), x * 2


def test_the_greater_list_that_is_written_may_be_the_constant():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="unknown-aliasing"):
        check(WrittenBesideAConstant(), (x(5, 3),), dynamic_axes={"x": {0: "n"}})
