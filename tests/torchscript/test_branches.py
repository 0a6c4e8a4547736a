"""Conditions that are known at run time only."""

import contextlib
import enum
import inspect
from typing import Dict, Optional, Tuple, Union

import flambeau
import pytest
import torch
import torch.nn.functional as F
from cases import SIGNS, Cases, x
from checking import check
from torch import Tensor, nn


case = Cases()


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class Branches(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            y = x * 2
            n = 1
        elif x.amax() > -0.5:
            y = x - 1
            n = 2
        else:
            y = x
            n = 3
        return y + n, n


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class BranchesOfTuples(nn.Module):
    def step(self, x) -> Tuple[Tensor, Tensor]:
        if x.mean() > 0:
            return x, x + 1
        return x - 1, x

    def forward(self, x):
        a, b = self.step(x)
        return a * b


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class EarlyReturn(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x
        y = x.abs()
        if y.sum() > 3:
            return y
        return y * 2


@case(x(2, 3), how=("script",), others=[(x(2, 3).abs(),), (-x(2, 3).abs(),)])
class BranchesOfLists(nn.Module):
    def forward(self, x):
        out = [x]
        if x.sum() > 0:
            out.append(x + 1)
        else:
            out.append(x - 1)
        return torch.cat(out)


@case(x(2, 3), how=("script",))
class Asserts(nn.Module):
    def forward(self, x):
        if x.dim() != 2:
            raise ValueError("rank")
        assert x.sum() < 1e9, "large"
        return F.relu(x)


# --- what the two paths do not have in common ------------------------------------------------


@case.forward(x(2, 3).abs(), others=SIGNS)
def ranks_differ(self, x):
    y = x.unsqueeze(0) if bool(x.sum() > 0) else x
    return y.sum(), y.flatten(), y.reshape(2, 3) + 1


@case.forward(x(2, 3).abs(), others=SIGNS)
def dtypes_differ(self, x):
    if bool(x.sum() > 0):
        y = x
    else:
        y = x.long()
    return y.float() * 2


@case.forward(x(2, 3).abs(), others=SIGNS)
def none_on_one_path(self, x):
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        y = x * 2
    z = x
    if y is None:
        z = z - 1
    else:
        z = z + y
    return z, z * 2


@case.forward(x(2, 3).abs(), others=SIGNS)
def changed_where_it_is_not_none(self, x):
    y: Optional[Tensor] = None
    if bool(x.sum() > 0):
        y = x * 2
    if y is not None:
        y = y.unsqueeze(0)
    z: Optional[Tensor] = None if y is not None else x
    if y is not None and z is None:
        x = x + y[0]
    if isinstance(z, Tensor):
        x = x * z
    return x


@case.forward(x(2, 3).abs(), others=SIGNS)
def none_for_an_operator(self, x):
    bias: Optional[Tensor] = None
    if bool(x.sum() > 0):
        bias = x[0, :2]
    return F.linear(x, torch.ones(2, 3), bias), F.layer_norm(x[:, :2], [2], bias)


@case(x(2, 4, 4), x(2, 3, 4), how=("script",), dynamic_axes={"x": {0: "b", 1: "s"}, "y": {0: "b"}}, others=[(x(3, 5, 4), x(3, 3, 4))])
class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 4, batch_first=True), 1)

    def forward(self, x, y):
        mask = torch.triu(torch.full((y.size(1), y.size(1)), float("-inf")), 1)
        return self.layers(y, x, tgt_mask=mask)


@case.forward(x(2, 3).abs(), others=SIGNS)
def number_or_none(self, x):
    row: Optional[int] = None
    if bool(x.sum() > 0):
        row = 1
    if row is not None:
        return x[row]
    return x[0] * 2


@case(x(2, 3).abs(), how=("script",), others=SIGNS)
class OptionalInTuple(nn.Module):
    def pick(self, x) -> Tuple[Tensor, Optional[Tensor]]:
        if bool(x.sum() > 0):
            return x + 1, x.sum(0)
        return x, None

    def forward(self, x):
        y, z = self.pick(x)
        if z is not None:
            y = y * z
        return y


@case.forward(x(2, 3).abs(), others=SIGNS)
def key_on_one_path(self, x):
    d: Dict[str, Tensor] = {"a": x}
    if bool(x.sum() > 0):
        d["b"] = x * 2
    if "b" in d:
        return d["b"]
    return d["a"] - 1


@case.forward(x(2, 3).abs(), others=SIGNS)
def two_in_a_row(self, x):
    y = x.unsqueeze(0) if bool(x.sum() > 0) else x
    z = x.long() if bool(x[0, 0] > 0.5) else x
    return y.sum(-1).flatten(), z.float().mean()


@torch.jit.script
def signed(x):
    if bool(x.sum() > 0):
        return x + 1
    return x * 2


@case.forward(x(2, 3).abs(), others=SIGNS)
def forked(self, x):
    future = torch.jit.fork(signed, x)
    return torch.jit.wait(future) + 1


@case.forward(x(2, 3), others=SIGNS)
def ranks_that_meet_again(self, x):
    y = x.sum(1, keepdim=True) if bool(x.sum() > 0) else x.sum(0)
    return y + x


@case.forward(x(2, 3).abs(), others=[*SIGNS, (9 * x(2, 3).abs(),)])
def dtypes_differ_within_a_branch(self, x):
    if x.sum() > 0:
        y = torch.ones(3) if x.amax() > 5 else torch.ones(3, dtype=torch.int64)
    else:
        y = torch.zeros(3)
    return y.float() * 2


# --- what an operator has to know, and a path decides ------------------------------------------


@case.forward(x(2, 3).abs(), others=SIGNS)
def an_int_or_a_float(self, x):
    n: Union[int, float] = 1
    if x.sum() > 0:
        n = 2.5
    if isinstance(n, float):
        return x * n
    else:
        return x + n


@case.forward(x(2, 3).abs(), others=SIGNS)
def an_int_or_a_tensor(self, x):
    n: Union[int, Tensor] = 1
    if x.sum() > 0:
        n = x.sum()
    if isinstance(n, int):
        return x * n
    else:
        return x + n


@case.forward(x(2, 3).abs(), others=SIGNS)
def a_dtype(self, x):
    dtype = torch.float32
    if x.sum() > 0:
        dtype = torch.float64
    return torch.full((3,), 0.1, dtype=dtype).sum().float() + x


@case.forward(x(2, 3).abs(), others=SIGNS)
def a_dimension_and_a_size(self, x):
    dim = 1 if x.sum() > 0 else 0
    kernel = 2 if x.amax() > 0.5 else 1
    return x.softmax(dim).sum(0).sum(), F.avg_pool1d(x, kernel).sum()


@case.forward(x(2, 3).abs(), others=SIGNS)
def the_length_of_a_shape(self, x):
    if x.sum() > 0:
        shape = [3, 2]
    else:
        shape = [6]
    return x.view(shape).flatten() + 1


@torch.jit.script
class Holder:
    def __init__(self, x: Tensor, n: int):
        self.x = x
        self.n = n

    def scaled(self) -> Tensor:
        return self.x * self.n


@case.forward(x(2, 3).abs(), others=SIGNS)
def an_object(self, x):
    if x.sum() > 0:
        held = Holder(x, 2)
    else:
        held = Holder(x * 3, 4)
    held.n += 1
    return held.scaled(), held.n


@case.forward(x(2, 3).abs(), others=SIGNS)
def objects_in_a_list(self, x):
    all = [Holder(x, 2)]
    if x.sum() > 0:
        all.append(Holder(x + 1, 3))
    total = x
    for each in all:
        total = total + each.scaled()
    return total


@torch.jit.script
class Along:
    def __init__(self):
        self.dim = 0


@case.forward(x(2, 3).abs(), others=SIGNS)
def an_attribute(self, x):
    along = Along()
    if x.sum() > 0:
        along.dim = 1
    return x.softmax(along.dim).sum(0).sum() * 2, x.cumsum(along.dim)


# --- contexts of which nothing is left ----------------------------------------------------------


class NoneOnOnePath(nn.Module):
    def forward(self, x) -> Optional[Tensor]:
        y: Optional[Tensor] = None
        if bool(x.sum() > 0):  # here
            y = x
        return y


class DtypesOfOutputsDiffer(nn.Module):
    def forward(self, x):
        y = x
        if bool(x.sum() > 0):  # here
            y = x.long()
        return y


@pytest.mark.parametrize("model", [NoneOnOnePath(), DtypesOfOutputsDiffer()], ids=lambda model: type(model).__name__)
def test_outputs_that_differ_name_the_if(model):
    lines, first = inspect.getsourcelines(type(model))
    line = first + next(i for i, text in enumerate(lines) if "# here" in text)
    with pytest.raises(flambeau.errors.OnnxExporterError, match=rf"an output of the program[^\n]*\n[^\n]*test_branches\.py:{line}\b"):
        check(model, SIGNS[0], opset_version=15)  # before optional outputs


class AKeyAfterAChoice(nn.Module):
    def forward(self, x, n: int):
        y = x if bool(x.sum() > 0) else x.long()
        rows = {0: y.float(), 1: x}
        rows.pop(n)
        return rows[0]


def test_what_is_in_the_way_on_a_path_is_said():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="looks in a dict for a key that is known at run time only") as error:
        check(AKeyAfterAChoice(), (x(2, 3), torch.tensor(0)))
    assert "different things" not in str(error.value)


class SizesDiffer(nn.Module):
    def forward(self, x):
        y = x[:1] if bool(x.sum() > 0) else torch.cat([x, x])
        return y * 2


class RanksDiffer(nn.Module):
    def forward(self, x):
        y = x if bool(x.sum() > 0) else x[0]
        return y * 2


class AskedHowItLies(nn.Module):
    def forward(self, x):
        turned = x.t()
        y = turned + 1 if turned.is_contiguous() else turned - 1
        if x[:, :2].is_contiguous() or not x.is_contiguous():
            y = y * 3
        image = x[None].permute(0, 2, 1)[..., None]
        return y + 5 if image.is_contiguous(memory_format=torch.channels_last) else y


@pytest.mark.parametrize("dynamic", [False, True])
def test_a_script_asks_how_a_tensor_lies_in_memory(dynamic):
    axes = {"x": {0: "n"}} if dynamic else None
    check(AskedHowItLies(), (x(3, 4),), others=[(x(5, 4),)] if dynamic else (), dynamic_axes=axes)
    with pytest.warns(flambeau.errors.ConversionWarning, match="is not contiguous") if dynamic else contextlib.nullcontext():
        flambeau.export(torch.jit.script(AskedHowItLies()), (x(3, 4),), dynamo=False, input_names=["x"], dynamic_axes=axes)


class ANumberOrWhatIsChosen(nn.Module):
    def forward(self, x, n: int):
        if n > 1:
            y = x.sum()
        else:
            if n > 0:
                y = x
            else:
                y = x.sum(0)
        return y


@pytest.mark.parametrize("opset", [7, 11, 12, 13])
def test_a_number_on_one_path_and_unknown_ranks_on_the_other(opset):
    check(ANumberOrWhatIsChosen(), (x(2, 3), torch.tensor(1)), others=[(x(2, 3), torch.tensor(n)) for n in (0, 2)], opset_version=opset)


class OneOf(nn.Module):
    def forward(self, x, y):
        rows = x[(x[:, 0] > 0).nonzero().view(-1)]
        if rows.size(0) == 0:
            rows = x[:1] * 0
        z = x
        if y.size(0) > 5:
            z = torch.cat([x, y])
        elif y.size(0) == 3:
            z = y
        return torch.cat([rows, torch.ones(rows.size(0), 1)], 1), z, z.sum(0)


class SizeKnownOfOne(nn.Module):
    def forward(self, x):
        y = x + x.t() if x.size(0) == x.size(1) else x @ x.t()
        return y.sum(0), y.flatten()[: y.size(0)], y.reshape(y.size(1), -1)


@pytest.mark.parametrize("opset", [7, 9, 10])
def test_branches_of_several_shapes_before_opset_11(opset):
    """Readers take the sizes of one branch for those of the other: they are not to know them."""
    for model, target in ((SizesDiffer(), "ort"), (SizesDiffer(), "strict"), (RanksDiffer(), "ort")):
        check(model, SIGNS[0], opset_version=opset, target=target, others=SIGNS)
    check(SizeKnownOfOne(), (x(3, 4),), opset_version=opset, others=[(x(n, 4),) for n in (4, 5)], dynamic_axes={"x": {0: "n"}})
    if opset < 9:
        return  # nonzero
    others = [(-x(2, 3).abs(), x(7, 3)), (x(4, 3), x(2, 3))]
    check(OneOf(), (x(2, 3).abs(), x(3, 3)), opset_version=opset, others=others, dynamic_axes={"x": {0: "n"}, "y": {0: "m"}})


class Empty(nn.Module):
    def forward(self, x):
        rows = (x[:, 0] > 0).nonzero().flatten()
        y = x.index_select(0, rows) if rows.numel() > 0 else x.new_zeros((0, 3))
        return y, y.size(0)


def test_an_empty_branch_before_opset_11():
    check(Empty(), SIGNS[0], opset_version=10, others=SIGNS)
    check(Empty(), SIGNS[0], opset_version=11, others=SIGNS)


class Light(enum.Enum):
    RED = "stop"
    GREEN = "go"
    AMBER = "wait"


class Switched(nn.Module):
    light: Light

    def __init__(self):
        super().__init__()
        self.light = Light.RED

    def forward(self, x):
        chosen = Light.RED if x.sum() > 0 else Light.AMBER
        if x.size(0) > 5:
            self.light = Light.GREEN
        turns = 0
        light = Light.RED
        for _ in range(x.size(0)):
            if light == Light.RED:
                light = Light.GREEN
            elif light == Light.GREEN:
                light = Light.AMBER
            else:
                light = Light.RED
            turns += int(light != Light.AMBER)
        pair = (chosen, x) if x.size(0) > 2 else (light, x + 1)
        return x * 2 if chosen == Light.RED else x - 1, self.light == Light.GREEN, turns, chosen == light, pair[0] == Light.RED, pair[1]


def test_members_of_enums_that_differ_between_paths(tmp_path):
    others = [(x(6, 2),), (-x(6, 2).abs(),), (x(1, 2),)]
    check(Switched(), (x(3, 2).abs(),), others=others, dynamic_axes={"x": [0]}, input_names=["x"])
    torch.jit.script(Switched()).save(tmp_path / "model.pt")
    program = flambeau.export(tmp_path / "model.pt", (x(3, 2).abs(),), dynamic_shapes={"x": {0: "n"}})
    for (given,) in others:
        for expected, found in zip(Switched()(given), program(given)):
            torch.testing.assert_close(torch.as_tensor(found), torch.as_tensor(expected))


test_program = case.test()
