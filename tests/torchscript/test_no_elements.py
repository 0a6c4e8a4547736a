"""Operators on tensors that have no elements when the model runs."""

import torch
import torch.nn.functional as F
from cases import Cases, x

case = Cases()


@case.forward(x(2, 4, 3, 5), dynamic_axes={"x": [0, 2, 3]}, how=("trace", "script"), others=[(x(0, 4, 7, 5),), (x(3, 4, 0, 5),), (x(3, 4, 6, 2),)])
def groups_of_no_instances(self, x):
    return F.group_norm(x, 2), F.group_norm(x.half(), 4, eps=0.1)


@case.forward(x(3, 4), torch.tensor(3.0), dynamic_axes={"x": [0, 1], "p": []}, others=[(x(5, 0), torch.tensor(torch.inf)), (x(5, 2), torch.tensor(torch.inf))])
def distances_of_rows_without_elements(self, x, p):
    return torch.cdist(x, x[1:], float("inf")), F.pdist(x, float("inf")), torch.cdist(x[None], x[None], float(p))


test_program = case.test()
