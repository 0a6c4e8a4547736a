"""Comparisons with PyTorch of what is given in another order than PyTorch's: lists of tuples of run-time length, by field."""

from typing import List, Tuple

import flambeau
import pytest
import torch
from cases import x
from checking import script
from flambeau.verification.archives import verify_archive
from flambeau.archived import ArchivedProgram
from flambeau.onnx import verification
from torch import Tensor, nn


class Pairs(nn.Module):
    def forward(self, x, n: int):
        pairs: List[Tuple[Tensor, int]] = []
        fixed = [(x, n), (x * 2, n + 1)]
        for i in range(n):
            pairs.append((x + i, i * 5))
        return x, pairs, {"fixed": fixed, "more": pairs}, [(pairs, [x])], x + 5


class ListsInTuples(nn.Module):
    def forward(self, x, n: int):
        lists: List[List[Tensor]] = []
        for k in range(4):
            row = [x]
            for i in range(n - 1):
                row.append(x + i * k)
            lists.append(row)
        return [(lists[0], lists[1]), (lists[2], lists[3])]


@pytest.mark.filterwarnings("ignore:.*list of tuples")
@pytest.mark.parametrize("make", [Pairs, ListsInTuples])
def test_each_is_compared_with_its_own(make):
    args = (x(2), torch.tensor(2))
    program = flambeau.export(script(make()), args, verbose=False, verify=True)
    for n in (0, 2, 3):
        given = (x(2), torch.tensor(n))
        assert all(result.ok for result in flambeau.verify(program, given, reference=lambda x, n: make()(x, int(n))))


class Swapped(Pairs):
    def forward(self, x, n: int):
        pairs: List[Tuple[Tensor, int]] = []
        for i in range(n):
            pairs.append((x + n - 1 - i, i * 5))
        return x, pairs, {"fixed": [(x, n), (x * 2, n + 1)], "more": pairs}, [(pairs, [x])], x + 5


def test_what_differs_is_named():
    program = flambeau.export(script(Pairs()), (x(2), torch.tensor(2)), verbose=False)
    with pytest.raises(flambeau.errors.VerificationError) as raised:
        flambeau.verify(program, (x(2), torch.tensor(2)), reference=lambda x, n: Swapped()(x, int(n)))
    assert {each.name for each in raised.value.comparisons if not each.ok} == {program.outputs[k].name for k in (1, 7, 9)}


class OfRows(nn.Module):
    def forward(self, x):
        pairs: List[Tuple[Tensor, Tensor]] = []
        for row in x:
            pairs.append((row + 1, row * 2))
        return pairs, x


def test_archives_and_the_names_of_torch(tmp_path, capsys):
    model = script(OfRows())
    model.save(tmp_path / "model.pt")
    flambeau.export(model, (x(3, 2),), tmp_path / "model.onnx", dynamic_axes={"x": {0: "n"}}, input_names=["x"], verbose=False)
    assert verify_archive(ArchivedProgram(str(tmp_path / "model.pt")), tmp_path / "model.onnx")
    assert capsys.readouterr().out.count("agrees") == 2 * (4 + 7) + 2
    verification.verify(model, (x(3, 2),))
