"""Variables that are one thing or another: on each path, and around in a loop, live and from an archive."""

import enum
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

import pytest
import torch
from cases import Cases, x
from checking import compare
from torch import Tensor, nn

import flambeau

case = Cases()
ARCHIVED = {}
SIGNS = [x(2, 3).abs(), -x(2, 3).abs(), torch.zeros(2, 3)]


def each(*numbers):
    """Decorates a forward of a tensor and perhaps a number: with tensors of each sign, and from an archive with each number."""

    def add(function):
        tensor, *others = [(sign, *n) for n in (zip(numbers) if numbers else [()]) for sign in SIGNS]
        ARCHIVED[function.__name__] = (type(function.__name__, (nn.Module,), {"forward": function}), numbers)
        return case.forward(*tensor, others=[] if numbers else others)(function)

    return add


@each()
def refined_after_an_if(self, x: Tensor):
    u: Union[int, Tensor] = x.size(0)
    if bool(x.sum() > 0):
        u = x
    r = x[0]
    if isinstance(u, Tensor):
        r = u[1]
    return r


@each()
def one_of_three(self, x: Tensor):
    u: Union[int, Tensor, List[Tensor]] = [x, x * 2]
    if bool(x.sum() > 1):
        u = 3
    elif bool(x.sum() < -1):
        u = x
    if isinstance(u, int):
        return x + u
    elif isinstance(u, Tensor):
        return x * u
    else:
        return u[0] - u[1]


@each(1, 2, 3)
def perhaps_none(self, x: Tensor, n: int):
    u: Union[int, Tensor, None] = None
    if n > 1:
        u = n
    if n > 2:
        u = x
    if u is None:
        return x
    elif isinstance(u, Tensor):
        return u + x
    else:
        return x * u


@each(0, 1, 2, 3)
def in_rounds(self, x: Tensor, n: int):
    u: Union[float, Tensor, str] = 1.5
    while n > 0:
        if n == 2:
            u = x
        elif n == 1:
            u = "a"
        n -= 1
    if isinstance(u, str):
        return x - 1
    if isinstance(u, Tensor):
        return x + u
    return x * u


@each(0, 1, 2, 3)
def gone_after_a_round(self, x: Tensor, n: int):
    u: Optional[Tensor] = x
    r = x
    for i in range(n):
        if isinstance(u, Tensor):
            r = r + u
            u = None
        else:
            r = r * 2
    return r


@each(0, 1)
def of_a_list(self, x: Tensor, n: int):
    each: List[Union[int, Tensor]] = [n, x]
    u = each[n]
    if isinstance(u, Tensor):
        return u + x
    return x * u


class Way(enum.Enum):
    NEAR = "near"
    FAR = "far"


class Side(enum.Enum):
    NEAR = "near"
    FAR = "far"


@torch.jit.script
class Box:
    def __init__(self, n: int):
        self.n = n


@torch.jit.script
class Bag:
    def __init__(self, n: int):
        self.n = n


def factor_of_way(way: Union[int, str, Way] = Way.NEAR) -> int:
    if isinstance(way, int):
        return 2
    elif not isinstance(way, Way):
        return 3
    return 5 if way == Way.NEAR else 7


def factor_of_object(held: Union[int, Box, Bag]) -> int:
    if isinstance(held, int):
        return 2
    elif isinstance(held, Box):
        return 3 * held.n
    return 5


def factor_of_anything(held: Any) -> int:
    if isinstance(held, Side):
        return 2
    if isinstance(held, Bag):
        return 3
    if torch.jit.isinstance(held, Dict[str, int]):
        return 5
    if torch.jit.isinstance(held, List[str]):
        return 7
    return 11


@each()
def members_of_an_enum(self, x: Tensor):
    return x * factor_of_way() + factor_of_way(Way.FAR) + factor_of_way("far") * factor_of_way(0)


@each()
def a_member_that_a_run_picks(self, x: Tensor):
    way: Union[str, Way] = Way.NEAR
    if bool(x.sum() > 0):
        way = Way.FAR
    if isinstance(way, str):
        return x
    return x * 3


@each()
def objects_of_classes(self, x: Tensor):
    return x * factor_of_object(Box(4)) + factor_of_object(Bag(4)) - factor_of_object(4)


@each()
def anything(self, x: Tensor):
    y = x * factor_of_anything(Way.NEAR) + factor_of_anything(Side.NEAR) * factor_of_anything(Bag(1)) * factor_of_anything(Box(1))
    return y + factor_of_anything({"a": 1}) - factor_of_anything({1: 1}) + factor_of_anything(["a"]) * factor_of_anything([1])


test_program = case.test()


@pytest.mark.parametrize("name", ARCHIVED)
def test_archive(name, tmp_path):
    make, numbers = ARCHIVED[name]
    torch.jit.script(make()).save(tmp_path / "net.pt")
    for n in numbers or (None,):
        given = {"x": "float32[n,3]"} | ({} if n is None else {"n": str(n)})
        program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs=given)
        for sign in SIGNS:
            compare(make(), program, (sign,) if n is None else (sign, n))


class OfAFunction(nn.Module):
    def pick(self, x: Tensor, n: int) -> Union[int, Tensor]:
        if n > 2:
            return x
        return n

    def forward(self, x: Tensor, n: int):
        u = self.pick(x, n)
        if isinstance(u, int):
            return x + u
        return u * 3


@pytest.mark.parametrize("n", [1, 3])
def test_result_of_a_function(n, tmp_path):
    torch.jit.script(OfAFunction()).save(tmp_path / "net.pt")
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[2,3]", "n": str(n)})
    compare(OfAFunction(), program, (x(2, 3), n))


class OfNothing(nn.Module):
    def forward(self, x: Tensor):
        numbers: List[int] = []
        names: List[str] = []
        held: Union[List[int], List[str]] = numbers
        if x.size(0) > 2:
            held = names
        return x * (2 if torch.jit.isinstance(held, List[str]) else 3)


def test_a_type_that_is_not_known():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="which of several types"):
        flambeau.export(torch.jit.script(OfNothing()), (x(2, 3),))


class PairedWithOptional(torch.nn.Module):
    def forward(self, x):
        z: Optional[Tensor] = None
        if bool(x.sum() > 0):
            z = x * 2
        q: Union[Tensor, Tuple[Tensor, Optional[Tensor]]] = (x, z)
        return x + 1 if torch.jit.isinstance(q, Tuple[Tensor, Optional[Tensor]]) else x - 1


def test_a_tuple_that_holds_an_optional():
    model, x = PairedWithOptional(), torch.randn(2, 3)
    program = flambeau.export(torch.jit.script(model), (x,))
    for each in (x.abs(), -x.abs()):
        compare(model, program, (each,))


class MemberThatARunPicks(nn.Module):
    def forward(self, x: Tensor):
        way: Way = Way.NEAR
        if bool(x.sum() > 0):
            way = Way.FAR
        held: Any = way
        if isinstance(held, int):
            return x + 1
        if isinstance(held, Side):
            return x + 2
        return x + 3 if isinstance(held, Way) else x


class TupleOfSuchAMember(nn.Module):
    def forward(self, x: Tensor):
        way: Way = Way.NEAR
        if bool(x.sum() > 0):
            way = Way.FAR
        held: Any = (way, 1)
        if isinstance(held, Tuple[int, int]):
            return x + 1
        return x + 2 if isinstance(held, Tuple[Way, int]) else x


class ListOfOptionals(nn.Module):
    def forward(self, x: Tensor):
        rows: List[Optional[Tensor]] = [x, x]
        held: Any = rows
        if isinstance(held, List[Tensor]):
            return x + 1
        return x + 2 if isinstance(held, List[Optional[Tensor]]) else x


class ListOfNoOptionals(nn.Module):
    def forward(self, x: Tensor):
        rows: List[Tensor] = [x, x]
        held: Any = rows
        return x + 1 if isinstance(held, List[Optional[Tensor]]) else x


class DictOfOptionals(nn.Module):
    def forward(self, x: Tensor):
        rows: Dict[str, Optional[Tensor]] = {"a": x}
        held: Any = rows
        return x + 1 if isinstance(held, Dict[str, Tensor]) else x


class OneListOrAnother(nn.Module):
    def forward(self, x: Tensor):
        held: Union[List[int], List[Optional[int]]] = torch.jit.annotate(List[Optional[int]], [1, 2])
        return x + 1 if isinstance(held, List[int]) else x


class Near(NamedTuple):
    at: Tensor
    steps: int


class Counted(NamedTuple):
    at: Tensor
    count: int


class Placed(NamedTuple):
    at: int
    steps: int


def is_near(held: Any) -> bool:
    return isinstance(held, Near)


def is_counted(held: Any) -> bool:
    return isinstance(held, Counted)


def is_placed(held: Any) -> bool:
    return isinstance(held, Placed)


def is_pair(held: Any) -> bool:
    return isinstance(held, Tuple[Tensor, int])


class NamedTuples(nn.Module):
    def forward(self, x: Tensor):
        near = Near(x, 1)
        return x + int(is_near(near)) + 2 * int(is_placed(near)) + 4 * int(is_pair(near)) + 8 * int(is_near((x, 1)))


class ListOfEither(nn.Module):
    def forward(self, x: Tensor):
        rows: List[Union[int, str]] = [1, "a"]
        held: Any = rows
        return x + 1 if isinstance(held, List[Union[str, int]]) else x


def is_any_list(held: Any) -> bool:
    return isinstance(held, list)


def is_any_tuple(held: Any) -> bool:
    return isinstance(held, tuple)


class AnyListOrTuple(nn.Module):
    def forward(self, x: Tensor):
        return x + int(is_any_list((1, x))) + 2 * int(is_any_tuple((1, x)))


def kind_of(held: Union[float, Tuple[int, int], List[int]]) -> int:
    if isinstance(held, tuple):
        return 2
    return 3 if isinstance(held, list) else 5


class AnyTupleOfAUnion(nn.Module):
    def forward(self, x: Tensor):
        return x * kind_of((1, 2)) + kind_of(1.0) - kind_of([1])


# Python's own isinstance does not take such types.
@pytest.mark.parametrize(
    "make",
    [
        MemberThatARunPicks,
        TupleOfSuchAMember,
        ListOfOptionals,
        ListOfNoOptionals,
        DictOfOptionals,
        OneListOrAnother,
        NamedTuples,
        ListOfEither,
        AnyListOrTuple,
        AnyTupleOfAUnion,
    ],
)
def test_what_a_variable_of_any_type_was_declared_as(make, tmp_path):
    model = torch.jit.script(make())
    model.save(tmp_path / "net.pt")
    live = flambeau.export(model, (x(2, 3),))
    archived = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[n,3]"})
    for sign in SIGNS:
        compare(model, live, (sign,))
        compare(model, archived, (sign,))


class FieldsOfOtherNames(nn.Module):
    def forward(self, x: Tensor):
        return x + int(is_counted(Near(x, 1)))


def test_named_tuples_of_other_fields(tmp_path):
    """Of which a live graph does not tell."""
    model = torch.jit.script(FieldsOfOtherNames())
    model.save(tmp_path / "net.pt")
    compare(model, flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={"x": "float32[n,3]"}), (x(2, 3),))
    with pytest.raises(flambeau.errors.OnnxExporterError, match="which of several types"):
        flambeau.export(model, (x(2, 3),))


class MemberOfOneOfTwo(nn.Module):
    def forward(self, x: Tensor):
        way = Way.NEAR
        side = Side.NEAR
        if bool(x.sum() > 0):
            way = Way.FAR
            side = Side.FAR
        held: Union[Way, Side] = way
        if bool(x[0].sum() > 0):
            held = side
        return x + 1 if isinstance(held, Way) else x


def test_members_of_which_a_run_knows_the_enum():
    model = torch.jit.script(MemberOfOneOfTwo())
    program = flambeau.export(model, (x(2, 3),))
    for sign in (*SIGNS, x(2, 3), -x(2, 3)):
        compare(model, program, (sign.expand(2, 3).clone(),))


class NumberOrMember(nn.Module):
    def forward(self, x: Tensor):
        held: Union[int, Way] = int(x[0, 0])
        if bool(x.sum() > 0):
            held = Way.FAR
        return x + 1 if isinstance(held, Way) else x


def test_declarations_that_do_not_tell():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="which of several types"):
        flambeau.export(torch.jit.script(NumberOrMember()), (x(2, 3),))
