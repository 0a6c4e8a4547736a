"""Pools and convolutions over windows of which a size or a step is known to a run only."""

import torch
import torch.nn.functional as F
from cases import Cases, x

case = Cases()
IMAGES = {"others": [(x(2, 3, 13, 10),), (x(1, 3, 9, 17),)], "dynamic_axes": {"x": [0, 2, 3]}}


@case.forward(x(2, 3, 12, 10), how=("trace", "script"), **IMAGES)
def to_a_given_size(self, x):
    rows, columns = x.size(2) // 4, x.size(3) // 3
    kernel = [x.size(2) - 3 * rows, x.size(3) - 2 * columns]
    return F.avg_pool2d(x, kernel, [rows, columns]), F.max_pool2d(x, kernel, [rows, columns]), F.max_pool2d(x.long(), kernel, [rows, columns])


@case.forward(x(2, 3, 12, 10), **IMAGES)
def beside_padding(self, x):
    half = x.size(2) // 5 + 1
    means = [F.avg_pool2d(x, [half, 3], 2, [half // 2, 1], ceil, include) for ceil, include in [(False, True), (True, True), (False, False), (True, False)]]
    largest = [F.max_pool2d(-1 - x.abs(), [3, half], [half, 2], 1, 1, ceil) for ceil in [False, True]]
    return means, largest, F.avg_pool2d(x, [half, 2], 2, 1, True, True, 7), F.avg_pool1d(x[0], half, 2, half // 2, True)


@case.forward(x(2, 3, 12, 10), **IMAGES)
def padded_by_half_a_size(self, x):
    half = x.size(3) // 4
    return F.max_pool2d(x, 2 * half + 1, 1, half), F.max_pool2d(x, [3, half], 2, [1, half // 2], x.size(2) // 8), F.max_pool1d(x[0], half, dilation=half)


@case.forward(x(2, 3, 12, 10), x(4, 3, 2, 3), others=[(x(2, 3, 13, 16), x(4, 3, 2, 3))], dynamic_axes={"x": [0, 2, 3]}, input_names=["x", "w"])
def convolutions(self, x, w):
    step = x.size(3) // 5
    apart = F.conv2d(x, w, stride=[step, 1]), F.conv2d(x, w, torch.ones(4), 1, step, step), F.conv2d(x, w[:3, :1], None, step, groups=3)
    return apart, F.conv2d(x, w, padding="same", dilation=[1, step]), F.conv_transpose2d(x[:, :, :2], w.transpose(0, 1), None, [step, 2], [1, 0], [step - 1, 1])


test_program = case.test()
