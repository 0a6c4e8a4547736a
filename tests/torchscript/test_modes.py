"""What torch keeps beside a program, and a program asks for: whether gradients are recorded."""

import torch
from cases import ROUNDS, SIGNS, Cases, x

case = Cases()


@case.forward(x(2, 3))
def gradients_in_a_block(self, x):
    asked = [torch.is_grad_enabled()]
    with torch.no_grad():
        asked.append(torch.is_grad_enabled())
        with torch.no_grad():
            y = x * 2
        asked.append(torch.is_grad_enabled())
    asked.append(torch.is_grad_enabled())
    return y, asked


@case.forward(x(2, 3).abs(), others=SIGNS)
def gradients_on_one_path(self, x):
    if bool(x.sum() > 0):
        torch.set_grad_enabled(False)
    asked = torch.is_grad_enabled()
    with torch.no_grad():
        if torch.is_grad_enabled():
            x = x + 1
    left = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    if asked:
        x = x - 1
    return x, asked, left, torch.is_grad_enabled()


@case.forward(x(2, 3), ROUNDS[0], others=[(x(2, 3), n) for n in ROUNDS])
def gradients_in_rounds(self, x, n):
    for i in range(int(n)):
        with torch.no_grad():
            if not torch.is_grad_enabled() and bool(x.sum() < 9):
                x = x + 1
        if torch.is_grad_enabled():
            x = x * 2
    return x, torch.is_grad_enabled()


test_gradients = case.test()
