"""Paths that raise: a model does not take them, and nothing is learnt from them."""

from typing import Dict, List, Optional

import flambeau
import pytest
import torch
import torch.nn.functional as F
from cases import SIGNS, Cases, x
from checking import compare, script
from torch import Tensor, nn

case = Cases()
RATES = [(x(2, 3), torch.tensor(rate)) for rate in (8000, 16000)]


@case.forward(*RATES[0], others=RATES)
def the_last_of_a_chain(self, x, rate: int):
    if rate == 16000:
        y = x * 2
    elif rate == 8000:
        y = x + 1
    else:
        raise ValueError(f"{rate}")
    return y


@case.forward(*RATES[1], others=RATES[1:])
def each_way_of_an_if(self, x, rate: int):
    if rate == 16000:
        y = x * 2
    else:
        if rate > 3:
            raise ValueError("high")
        else:
            raise ValueError("low")
        y = x.long()
    return y


@case.forward(x(2, 3), torch.tensor(32000), others=[*RATES, (x(2, 3), torch.tensor(48000))])
def steps_of_a_rate(self, x, rate: int):
    rates = [8000, 16000]
    if rate != 16000 and rate % 16000 == 0:
        x = x[:, :: rate // 16000]
        rate = 16000
    if rate not in rates:
        raise ValueError(f"not in {rates}")
    return x, rate


@case.forward(x(5), others=[(torch.arange(5.0),), (-torch.arange(5.0),)])
def a_tensor_of_tensors(self, x):
    kept: List[Tensor] = []
    while x.shape[0] > 0:
        kept.append(x[0])
        x = x[1:][x[1:] < x[0]]
    if len(kept) > 0:
        return torch.stack(kept)
    return torch.tensor(kept)


@case(*SIGNS[0], how=("script",), others=SIGNS[:1])
class WhatIsKnownOfAModule(nn.Module):
    def __init__(self):
        super().__init__()
        self.strict = True
        self.table = {"one": torch.ones(3)}

    def other(self, x):
        y = self.table["two"] if not self.strict else x
        if self.strict:
            raise RuntimeError("strict")
        return y.long()

    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return self.other(x)


@case.forward(*SIGNS[0], others=SIGNS[:1])
def ranks_of_it_do_not_matter(self, x):
    if x.sum() > 0:
        y: Optional[Tensor] = x.sum(0)
    else:
        y = x[None, None] if x.amax() > 7 else None
        if y is None:
            raise ValueError("none")
        assert y is None, "some"
    assert y is not None
    return y @ x.t()


@case.forward(x(2, 3), torch.tensor(4), others=[(x(2, 3), torch.tensor(n)) for n in (0, 2)])
def in_the_rounds_of_a_loop(self, x, n: int):
    for i in range(n):
        if i == 3:
            x = x + 1
        elif i > 10:
            if i > 20:
                raise ValueError("many")
            else:
                raise ValueError("too many")
        else:
            x = x * 2
    return x


@case.forward(x(2, 3), torch.tensor(0))
def in_each_round(self, x, n: int):
    for i in range(n):
        if x.sum() > i:
            raise ValueError("one")
        else:
            raise ValueError("another")
    return x + 1


def no_form(x, n: int):
    """An operator that is not converted."""
    return x.clone().resize_([500, 2])


@case.forward(*RATES[0], others=RATES)
def what_cannot_be_converted_on_each_way_of_one(self, x, rate: int):
    if rate > 50000:
        x = x[:, :1] @ no_form(x, rate)
        if x.sum() > 0:
            raise ValueError("positive")
        elif rate > 60000:
            raise ValueError("high")
        else:
            x = no_form(x, rate)
            assert rate > 3, "low"
            raise ValueError("not so high")
        return x.long()
    else:
        y = x + 1
    return y * rate


@case.forward(*RATES[0], others=RATES)
def what_cannot_be_converted_in_rounds(self, x, rate: int):
    while rate > 50000:
        x = no_form(x, rate)
        raise ValueError("high")
    for i in range(rate - 50000):
        x = no_form(x, i)
        if x.sum() > 0:
            raise ValueError("positive")
        else:
            raise ValueError("negative")
    return x * rate


@case.forward(x(2, 3), torch.tensor(3), others=[(x(2, 3), torch.tensor(n)) for n in (1, 2)])
def a_loop_without_rounds(self, x, n: int):
    total = torch.tensor(0)
    rows: Dict[str, Tensor] = {}
    for i in range(n):
        total = total + x.sum() * 0.5 + i
        rows["x"] = rows["x"] + 1 if i > 0 else x
    if n < 1:
        raise ValueError("none")
    return total, rows["x"]


class Cell(nn.Module):
    def forward(self, x):
        if x.dim() not in (1, 2):
            raise ValueError("rank")
        return F.linear(x, torch.ones(3, 4))


@case(x(2, 4, 1), torch.tensor(1), how=("script",), others=[(x(2, 4, 1), torch.tensor(n)) for n in (2, 3)])
class SqueezedInEachBranch(nn.Module):
    """Whether the dimension goes is known at run time only; that it stays would raise."""

    def __init__(self):
        super().__init__()
        self.cell = Cell()

    def forward(self, x, n: int):
        x = x[:, :, : min(n, 1)]
        if n == 1:
            return self.cell(x.squeeze(-1)) + 1
        elif n == 2:
            return self.cell((x * 2).squeeze(-1))
        return self.cell((x * 3).squeeze(-1))


test_raising_path = case.test()


class Raises(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            raise ValueError("positive")  # here
        else:
            raise ValueError("negative")
        return x


def test_a_program_that_raises_on_all_paths_is_refused():
    with pytest.raises(flambeau.errors.OnnxExporterError, match=r"raises an exception for these inputs: negative .*\n.*test_raising_paths\.py"):
        flambeau.export(script(Raises()), SIGNS[0], verbose=False)


def test_a_squeeze_on_another_path_does_not_matter():
    """That a path raises is due to a squeeze only if that stands on it."""

    class Paths(nn.Module):
        def check(self, x):
            if x.sum() > 1:
                raise ValueError("high")
            else:
                raise ValueError("low")

        def forward(self, x, n: int):
            if n > 0:
                x = x.squeeze().reshape(-1)
            elif n < -9:
                self.check(x)
            else:
                x = x.reshape(-1) * 2
            return x

    program = flambeau.export(
        script(Paths()), (x(2, 3), torch.tensor(1)), input_names=["x", "n"], dynamic_axes={"x": {0: "rows"}}, verbose=False
    )
    for n in (1, 0):
        compare(Paths(), program, (x(4, 3), torch.tensor(n)))


def test_what_fails_on_a_path_is_no_reason_to_leave_the_path_out():
    class Fails(nn.Module):
        def forward(self, x, n: int):
            made: List[Tensor] = []
            if n > 3:
                made.append(no_form(x, n))
                if len(made) == 0:
                    raise ValueError("none")
            return x * n

    with pytest.raises(flambeau.errors.OnnxExporterError, match="resize_"):
        flambeau.export(script(Fails()), (x(3, 3), torch.tensor(1)), verbose=False)


def test_what_cannot_be_converted_is_reported_once():
    class Fails(nn.Module):
        def forward(self, x, n: int):
            y = no_form(x, n)
            z = x * n
            return y, z

    with pytest.raises(flambeau.errors.OnnxExporterError) as raised:
        flambeau.export(script(Fails()), (x(3, 3), torch.tensor(1)), verbose=False)
    assert [each.message for each in raised.value.diagnostics] == ["resize_ to more elements than the memory has: the new ones are undefined"]


def test_what_a_path_leaves_open_may_have_other_sizes():
    """Which of the two lists of rows goes on is decided twice; onnxruntime takes memory for the same where sizes are declared the same."""

    class Kept(nn.Module):
        def forward(self, x):
            rows = torch.cat([x[x.sum(1) > 1], x])
            j = 0
            while True:
                j += 1
                if j > 2:
                    break
                if bool(x.sum() > j):
                    continue
                if x.size(0) > 100:
                    rows = rows.flip(0)
            return rows

    program = flambeau.export(script(Kept()), (torch.ones(4, 3),), dynamic_shapes=({0: "n"},))
    for n, value in ((4, 1.0), (4, -1.0), (3, 0.0), (2, 0.25), (1, 0.5), (120, 0.0), (120, 1 / 240)):
        rows = torch.full((n, 3), value)
        torch.testing.assert_close(program(rows)[0], Kept()(rows))


def second_row(x, n: int):
    total = x.sum(0, keepdim=True)
    if n > 5:
        return total[1]
    return total[0]


def other_view(x, n: int):
    if n > 5:
        return x.view(4, -1)
    return x.view(3, -1)


def other_sizes(x, n: int):
    if n > 5:
        x = x + torch.ones(2, 4)
    elif n > 3:
        x = x @ torch.ones(2, 3)
    return x.sum(0)


def writes_of_other_sizes(x, n: int):
    x = x.clone()
    if n > 5:
        x.view(-1)[:2] = x.flip(0)[0]
    elif n > 4:
        x[0] += x
    elif n > 3:
        x[0].masked_fill_(x > 0, 2.0)
    return x


def writes_of_floats_to_integers(x, n: int):
    y = (x > 0).long()
    if n > 5:
        y.add_(0.5)
    elif n > 4:
        y /= 2
    elif n > 3:
        y[0] *= x[0]
    y += 1
    return y


def tanh_of_another_dtype(x, n: int):
    weights = [torch.ones(3, 5), torch.ones(3, 3), torch.ones(3), torch.ones(3)]
    state = torch.zeros(1, 1, 3)
    if n > 5:
        return torch.rnn_tanh(x[:, None].double(), state.double(), weights, True, 1, 0.0, False, False, False)[0]
    if n > 4:
        return torch.rnn_relu(x[:, None], state.double(), weights, True, 1, 0.0, False, False, False)[0]
    return torch.rnn_tanh(x[:, None], state, weights, True, 1, 0.0, False, False, False)[0]


def gates_of_another_dtype(x, n: int):
    weights = [torch.ones(12, 5), torch.ones(12, 3), torch.ones(12), torch.ones(12)]
    state = torch.zeros(1, 1, 3)
    if n > 5:
        return torch.lstm(x[:, None].double(), [state.double(), state.double()], weights, True, 1, 0.0, False, False, False)[0].float()
    if n > 4:
        return torch.gru(x[:, None].long(), state, [each[:9] for each in weights], True, 1, 0.0, False, False, False)[0].float()
    return torch.lstm(x[:, None], [state, state], weights, True, 1, 0.0, False, False, False)[0]


def bits_of_floats(x, n: int):
    y = (x > 0).long()
    if n > 5:
        return (x | y).long()
    if n > 4:
        return torch.bitwise_not(x).long()
    return y | n


OF_OTHER_DTYPES = [tanh_of_another_dtype, gates_of_another_dtype, bits_of_floats]


@pytest.mark.parametrize("function", [second_row, other_view, other_sizes, writes_of_other_sizes, writes_of_floats_to_integers, *OF_OTHER_DTYPES], ids=lambda f: f.__name__)
def test_a_path_on_which_a_call_raises_is_left_out_with_a_warning(function):
    scripted = torch.jit.script(function)
    with pytest.warns(flambeau.errors.ConversionWarning, match="leaves out the path that this is on, where PyTorch raises"):
        program = flambeau.onnx.export(scripted, (x(3, 5), 1), None, dynamo=False)
    torch.testing.assert_close(program(x(3, 5), 2)[0], scripted(x(3, 5), 2))


def test_a_call_that_raises_on_all_paths_is_an_error():
    @torch.jit.script
    def wrong(x, n: int):
        if n > 5:
            return x.view(4, -1)
        return x.view(7, -1)

    with pytest.raises(flambeau.errors.OnnxExporterError, match="bad-program"):
        flambeau.onnx.export(wrong, (x(3, 5), 1), None, dynamo=False)
