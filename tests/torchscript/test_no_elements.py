"""Operators on tensors that have no elements when the model runs."""

from typing import List

import flambeau
import torch
import torch.nn.functional as F
from cases import Cases, x
from torch import Tensor, nn

case = Cases()


@case.forward(x(2, 4, 3, 5), dynamic_axes={"x": [0, 2, 3]}, how=("trace", "script"), others=[(x(0, 4, 7, 5),), (x(3, 4, 0, 5),), (x(3, 4, 6, 2),)])
def groups_of_no_instances(self, x):
    return F.group_norm(x, 2), F.group_norm(x.half(), 4, eps=0.1)


@case.forward(x(3, 4), torch.tensor(3.0), dynamic_axes={"x": [0, 1], "p": []}, others=[(x(5, 0), torch.tensor(torch.inf)), (x(5, 2), torch.tensor(torch.inf))])
def distances_of_rows_without_elements(self, x, p):
    return torch.cdist(x, x[1:], float("inf")), F.pdist(x, float("inf")), torch.cdist(x[None], x[None], float(p))


test_program = case.test()


class OfEmptyLists(nn.Module):
    def forward(self, x: Tensor):
        numbers: List[int] = []
        flags: List[bool] = []
        floats: List[float] = []
        return x[torch.tensor(numbers)], torch.tensor(flags), torch.tensor(floats), torch.tensor([numbers, numbers])


def test_tensors_of_empty_lists_are_of_the_types_of_the_lists():
    scripted = torch.jit.script(OfEmptyLists())
    ours = flambeau.export(scripted, (x(3, 4),), verbose=False)(x(3, 4))
    for own, theirs in zip(ours, scripted(x(3, 4)), strict=True):
        assert (own.dtype, own.shape) == (theirs.dtype, theirs.shape)
