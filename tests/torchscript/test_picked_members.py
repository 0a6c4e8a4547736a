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


class Step(enum.Enum):
    SMALL = 1
    LARGE = 7
    NONE = 0


class Factor(enum.Enum):
    HALF = 0.5
    FULL = 1.0


PATHS = [(x(1, 4).abs(),), (-x(2, 4).abs(),), (x(6, 4),), (x(4, 4).abs() + 0.01,)]


@case.forward(x(3, 4).abs(), dynamic_axes={"x": {0: "n"}}, others=PATHS)
def values_of_members(self, x):
    step, factor = Step.SMALL, Factor.HALF
    if bool(x.sum() > 0):
        step = Step.LARGE
        factor = Factor.FULL
    return x * step.value, x * factor.value, [Step.SMALL, Step.NONE, Step.LARGE][x.size(0) % 3].value, step.value + 1


@case.forward(x(3, 4).abs(), dynamic_axes={"x": {0: "n"}}, others=PATHS)
def values_in_rounds(self, x):
    total = 0
    turn = Step.NONE
    for i in range(x.size(0)):
        total = total * 10 + turn.value
        if turn == Step.SMALL:
            turn = Step.LARGE
        elif bool(x[i, 0] > 0):
            turn = Step.SMALL
    return total, turn.value


@case.forward(x(3, 4).abs(), dynamic_axes={"x": {0: "n"}}, others=PATHS)
def text_of_members(self, x):
    light = [Light.RED, Light.GREEN, Light.AMBER][x.size(0) % 3]
    if light.value == "go":
        y = x * 2
    elif light.value == "stop":
        y = x - 1
    else:
        y = x.relu()
    return y, light.name == "AMBER"


@case.forward(x(3, 4).abs(), others=[(-x(3, 4).abs(),)])
def names_of_members(self, x):
    light = Light.AMBER
    if bool(x.sum() > 0):
        light = Light.GREEN
    factors = {"RED": 1.0, "GREEN": 2.0, "AMBER": 3.0}
    return x * factors[light.name], len(light.value)


class Held(torch.nn.Module):
    """An enum that an attribute holds, besides the members that the code names."""

    def __init__(self):
        super().__init__()
        self.step = Step.LARGE

    def forward(self, x):
        step = self.step if bool(x.sum() > 0) else Step.NONE
        return x * step.value, step.name == "LARGE"


case(x(3, 4).abs(), others=[(-x(3, 4).abs(),)], how=("script",))(Held)


@case.forward(x(2, 3))
def numbers_of_devices(self, x):
    numbers = [x.device.index, torch.device("cuda:12").index, torch.device("cuda").index, torch.device("cpu").index]
    total = 0
    for number in numbers:
        if number is not None:
            total += number + 1
    return x * total


test_program = case.test()
