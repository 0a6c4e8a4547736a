"""What an old opset has no operator for, and says in other words."""

import torch
import torch.nn.functional as F
from cases import Cases, x

case = Cases()


@case.forward(x(3, 4), how=("trace", "script"), others=[(x(5, 2),), (x(4, 4),)], dynamic_axes={"x": [0, 1]}, opset_version=9)
def steps_of_run_time(self, x):
    return x.diagonal(), x.diag(1), x.diag(-1), x.trace()


@case.forward(x(2, 3, 8, 10), how=("trace", "script"), others=[(x(3, 2, 12, 9),)], dynamic_axes={"x": [0, 1, 2, 3]}, opset_version=9)
def patches_of_images_of_any_size(self, x):
    size = [x.size(2), x.size(3)]
    ones = F.fold(F.unfold(torch.ones_like(x), 3, padding=1), size, 3, padding=1)
    apart = F.unfold(x, [3, 2], [1, 2], [1, 0], [2, 3])
    return F.fold(F.unfold(x, 3, padding=1) * 2, size, 3, padding=1) / ones, F.fold(apart, size, [3, 2], [1, 2], [1, 0], [2, 3])


@case.forward(torch.arange(7), how=("trace", "script"), others=[(torch.zeros(5).long(),), (torch.zeros(0).long(),)], dynamic_axes={"x": [0]}, opset_version=17)
def bits_of_nothing(self, x):
    some = x[x > 3]
    return some & 1, some | 3, some ^ x[x > 3], ~some & 2, some.int() & 1, some.to(torch.uint8) ^ 3


test_program = case.test()
