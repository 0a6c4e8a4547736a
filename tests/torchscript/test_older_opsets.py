"""What an old opset has no operator for, and says in other words."""

from typing import List

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


@case.forward(x(2, 3, 8, 10).double(), how=("trace", "script"), others=[(x(3, 2, 12, 9).double(),), (x(1, 1, 4, 5).double(),)], dynamic_axes={"x": [0, 1, 2, 3]}, opset_version=18)
def patches_of_doubles(self, x):
    """Of which onnxruntime has no Col2Im."""
    size = [x.size(2), x.size(3)]
    apart = F.unfold(x, [3, 2], [1, 2], [1, 0], [2, 3])
    return F.fold(F.unfold(x, 3, padding=1) * 2, size, 3, padding=1), F.fold(apart, size, [3, 2], [1, 2], [1, 0], [2, 3])


@case.forward(torch.arange(7), how=("trace", "script"), others=[(torch.zeros(5).long(),), (torch.zeros(0).long(),)], dynamic_axes={"x": [0]}, opset_version=17)
def bits_of_nothing(self, x):
    some = x[x > 3]
    return some & 1, some | 3, some ^ x[x > 3], ~some & 2, some.int() & 1, some.to(torch.uint8) ^ 3


@case.forward(x(4, 5), how=("script",), others=[(x(7, 3),)], dynamic_axes={"x": [0, 1]}, opset_version=11)
def pieces_that_are_stacked(self, x):
    """Before opset 13 lists in loops are tensors: that the elements are of one shape is said by who stacks them."""
    windows: List[torch.Tensor] = []
    for i in range(x.size(0) - 2):
        windows.append(x[i : i + 3].sum(1))
    padded: List[torch.Tensor] = []
    for i in range(x.size(0)):
        kept = i % x.size(1)
        padded.append(F.pad(x[i, :kept], [0, x.size(1) - kept]))
    return torch.stack(windows), torch.stack(padded, 1), len(padded)


@case(x(5, 2, 3), x(2, 4), how=("script",), others=[(x(2, 6, 3), x(6, 4))], dynamic_axes={"x": [0, 1], "y": [0]}, opset_version=11)
class StatesOfAnotherName(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = torch.nn.GRUCell(3, 4)

    def forward(self, x, y):
        states: List[torch.Tensor] = []
        for i in range(x.size(0)):
            y = self.cell(x[i], y)
            states.append(y)
        return torch.stack(states), y


@case.forward(x(4, 6), how=("trace", "script"), others=[(x(4, 9),), (x(4, 5),)], dynamic_axes={"x": [1]}, opset_version=9)
def pieces_that_are_unpacked(self, x):
    a, b = x.unsafe_chunk(2, 1)
    c, d, e = torch.unsafe_chunk(x, 3, 1)
    f, g, h = torch.unsafe_split(x, (x.size(1) + 2) // 3, 1)
    i, j = torch.unsafe_split_with_sizes(x, [2, x.size(1) - 2], 1)
    return a, b, c, d, e, f, g, h, i, j, x.tensor_split(3, 1)[1], x.hsplit([1, 3])[2], x.unbind(1)[0]


def antialiased(opset):
    class Antialiased(torch.nn.Module):
        def forward(self, x):
            smaller = F.interpolate(x, scale_factor=0.6, mode="bilinear", antialias=True)
            square = F.interpolate(x, size=[3, x.size(3) + 2], mode="bicubic", antialias=True)
            return smaller, square, F.interpolate(x[:, :, :3, :4], size=(2, 7), mode="bilinear", antialias=True)

    Antialiased.__name__ = Antialiased.__qualname__ = f"Antialiased{opset}"
    return Antialiased


for opset in (9, 11, 17):
    case(x(2, 3, 8, 9), others=[(x(1, 3, 10, 6),)], dynamic_axes={"x": [0, 2, 3]}, opset_version=opset)(antialiased(opset))


@case.forward(x(4, 6), how=("script",), others=[(x(7, 5),), (x(2, 3),)], dynamic_axes={"x": [0, 1]}, opset_version=11)
def rows_that_are_cut_out(self, x):
    """In a round its number is below that of all rounds, so each of these is one row, or two."""
    rows: List[torch.Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i : i + 1] * 2)
    columns: List[torch.Tensor] = []
    for i in range(x.size(1) - 1):
        columns.append(x[:, i : i + 2].sum(0))
    later: List[torch.Tensor] = []
    for i in range(1, x.size(0)):
        later.append(x[i - 1 : i + 1])
    return torch.cat(rows), torch.cat(columns), torch.cat(later, 1)


test_program = case.test()
