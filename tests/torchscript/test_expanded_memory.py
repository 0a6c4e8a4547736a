"""Tensors of which several elements lie at one place in memory on some paths, or after some rounds."""

import flambeau
import pytest
import torch
from cases import SIGNS
from checking import check
from torch import nn


class ExpandedOnAPath(nn.Module):
    def forward(self, x):
        rows = x.clone()
        windows = rows.flatten().unfold(0, 2, 1)
        if bool(x.sum() > 0):
            rows = rows[0].expand(2, 3)
            windows = windows.flip(0)
        rows[0] += 2
        windows[0, 1] = 9
        return rows, windows


def test_a_row_of_what_is_expanded_on_one_path_is_written():
    check(ExpandedOnAPath(), SIGNS[0], others=SIGNS[1:])


class ExpandedInRounds(nn.Module):
    def forward(self, x, n):
        rows = x.clone()
        for _ in range(int(n)):
            rows = rows[0].expand(2, 3)
        rows[0] += 2
        return rows


class ExpandedInAList(nn.Module):
    def forward(self, x, n):
        rows = [x.clone()]
        for _ in range(int(n)):
            rows.append(x[0].clone().expand(2, 3))
        rows[-1][0] += 2
        return rows[-1]


@pytest.mark.parametrize("model", [ExpandedInRounds(), ExpandedInAList()], ids=lambda model: type(model).__name__)
def test_a_row_of_what_may_be_expanded_is_not_written(model):
    """How many rows the write changes, only the run knows."""
    with pytest.raises(flambeau.errors.OnnxExporterError, match="may share its memory"):
        flambeau.export(torch.jit.script(model), (*SIGNS[0], torch.tensor(1)), verbose=False)
