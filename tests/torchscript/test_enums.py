"""Members of enums: whether two are one object, and enums of one name in two modules."""

import enum
from typing import Any, Union

import pytest
import modules
import torch
from cases import Cases, x

import flambeau

case = Cases()


class Way(enum.Enum):
    UP = 1
    DOWN = 2


class Color(enum.Enum):
    RED = 1
    GREEN = 2


Here, There = Color, modules.Color


class Identities(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.way = Way.UP
        self.other = Way.UP

    def forward(self, x, given: Way = Way.UP):
        way = Way.UP
        same = way
        return way is same, way is Way.UP, way is not Way.UP, way is Way.DOWN, given is given, given is Way.UP, self.way is self.other, self.way is self.way, way == self.way, x


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("archive", [False, True])
def test_members_are_one_if_torchscript_has_one_object(tmp_path, archive):
    """Each constant and each attribute is one of its own."""
    scripted = torch.jit.script(Identities())
    if archive:
        scripted.save(str(tmp_path / "model.pt"))
        scripted = torch.jit.load(str(tmp_path / "model.pt"))
    args = (torch.ones(2), Way.UP)
    program = flambeau.export(scripted, args, verbose=False)
    assert [bool(value.all()) for value in program(args[0])] == [bool(value) if isinstance(value, bool) else True for value in scripted(*args)]
    assert any("one object" in diagnostic.message for diagnostic in program.diagnostics)


class Decided(torch.nn.Module):
    def forward(self, x):
        way = Way.UP
        if bool(x.sum() > 0):
            way = Way.DOWN
        return x * 2 if way is Way.UP else x


def test_a_member_that_paths_decide_is_not_asked_for_its_identity():
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"two members of an enum are one.*\n(.*\n)*.*compare them with =="):
        flambeau.export(torch.jit.script(Decided()), (x(2),), verbose=False)


class Equal(torch.nn.Module):
    def forward(self, x):
        pair = (1, 2)
        text = "sum"
        return x * (2 if pair is pair else 3) * (5 if text is "sum" else 7)  # noqa: F632


@pytest.mark.filterwarnings("ignore")
def test_text_and_tuples_are_objects():
    scripted = torch.jit.script(Equal())
    torch.testing.assert_close(flambeau.export(scripted, (x(2),), verbose=False)(x(2))[0], scripted(x(2)))


@case.forward(x(3, 4).abs(), others=[(-x(3, 4).abs(),)], how=("script",))
def enums_of_one_name(self, x):
    side: Union[Here, There] = Here.RED
    if bool(x.sum() > 0):
        side = There.RED
    other: Any = Here.GREEN if bool(x.sum() > 1) else Here.RED
    factor = 1
    if isinstance(side, Here):
        factor = 2
    if isinstance(other, There):
        factor *= 3
    return x * factor


class HeldSides(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.here, self.there = Here.RED, {"a": There.GREEN}

    def forward(self, x):
        here = torch.jit.annotate(Any, self.here)
        there = torch.jit.annotate(Any, self.there["a"])
        factor = 1 if isinstance(here, Here) else 2
        factor *= 3 if isinstance(here, There) else 5
        factor *= 7 if isinstance(there, Here) else 11
        return x * factor * (13 if isinstance(there, There) else 17)


case(x(3), how=("script",))(HeldSides)


class GivenSide(torch.nn.Module):
    def forward(self, x, side: Union[Here, There]):
        return x * (2 if isinstance(side, Here) else 3)


@pytest.mark.parametrize("side", [Here.RED, There.RED], ids=["here", "there"])
def test_a_member_among_the_arguments_is_of_its_class(side):
    scripted = torch.jit.script(GivenSide())
    program = flambeau.export(scripted, (x(2), side), verbose=False)
    torch.testing.assert_close(program(x(2))[0], scripted(x(2), side))


test_program = case.test()
