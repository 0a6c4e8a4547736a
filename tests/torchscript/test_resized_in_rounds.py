"""Tensors that the rounds of a loop give another shape in place, where the first round does it, or none."""

import torch
from cases import Cases, x

case = Cases()
TIMES = [torch.tensor(n) for n in (2, 1, 0)]


def rounds(*sizes):
    """A loop over as many rounds as the run says, of a tensor of these sizes."""
    return case.forward(x(*sizes), TIMES[0], others=[(x(*sizes), n) for n in TIMES[1:]])


@rounds(4, 3)
def squeezed_of_nothing(self, x, n):
    z = x.clone()
    for _ in range(int(n)):
        z.squeeze_()
        z.add_(1)
    return z


@rounds(4, 1)
def squeezed_once(self, x, n):
    z = x.clone()
    for i in range(int(n)):
        z.squeeze_()
        z.add_(i)
    return z


@rounds(4, 1)
def squeezed_and_summed(self, x, n):
    z = x.clone()
    also = z
    for _ in range(int(n)):
        also.squeeze_()
    return z.sum(0)


@rounds(3, 3)
def cut(self, x, n):
    z = x.clone()
    for _ in range(int(n)):
        z.resize_(2, 2)
    return z


@case.forward(x(3, 3), TIMES[0], dynamic_axes={"x": [0, 1]}, others=[(x(2, 3), TIMES[1]), (x(3, 2), TIMES[2])])
def made_to_fit(self, x, n):
    z = torch.zeros(1)
    for i in range(int(n)):
        torch.sum(x + i, 1, out=z)
    return z


test_program = case.test()
