"""Members of enums that a number of run time picks, and the number of a device."""

import enum

import torch
from cases import Cases, x

case = Cases()


class Light(enum.Enum):
    RED = "stop"
    GREEN = "go"
    AMBER = "wait"


@case.forward(x(3, 4), dynamic_axes={"x": {0: "n"}}, others=[(x(n, 4),) for n in (1, 2, 6)])
def picked_by_a_size(self, x):
    lights = [Light.RED, Light.GREEN, Light.AMBER]
    light = lights[x.size(0) % 3]
    turns = 0
    for i in range(x.size(0)):
        if lights[i % 3] == Light.GREEN:
            turns += 1
    return x * (2 if light == Light.GREEN else 3), turns, light == Light.AMBER, light != lights[0]


@case.forward(x(2, 3))
def numbers_of_devices(self, x):
    numbers = [x.device.index, torch.device("cuda:12").index, torch.device("cuda").index, torch.device("cpu").index]
    total = 0
    for number in numbers:
        if number is not None:
            total += number + 1
    return x * total


test_program = case.test()
