"""Questions in ``and`` and ``or``, whose answer does not matter where what stands behind it decides alone."""

import warnings

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import flambeau
from .checking import compare, convert

SHAPES = ({0: "batch", 2: "time"},)


class Attention(torch.nn.Module):
    """As in transformers."""

    def __init__(self, masked, causal):
        super().__init__()
        self.masked, self.causal = masked, causal

    def forward(self, x):
        q = x[:, :, ::8]
        time = q.shape[2]
        mask = torch.zeros(time, time) if self.masked else None
        causal = time > 1 and mask is None and self.causal
        return scaled_dot_product_attention(q, q, q, attn_mask=mask, is_causal=causal)


class Asking(torch.nn.Module):
    def __init__(self, ask):
        super().__init__()
        self.ask, self.flag, self.factor, self.kind = ask, False, 1.0, "plain"
        self.calls = 0

    def forward(self, x):
        return x.sum(2) if self.ask(self, x, x.shape[2]) else x.mean(2)

    @property
    def counted(self):
        self.calls += 1
        return False


def in_an_if(self, x, time):
    if time > 8 and self.flag:
        return True
    return False


def as_an_argument(self, x, time):
    return bool(time > 8 and self.kind == "other")


def nested(self, x, time):
    return not (time > 8 or x.shape[0] > 3 and self.factor != 1.0 or self.kind == "plain")


def within_another(self, x, time):
    return (time > 8 or time < 4) and x is None


def turned(self, x, time):
    flag = not time > 8 and self.flag
    return flag


def named(self, x, time):
    large = time > 8
    return large and not self.kind and True


def two_sizes(self, x, time):
    return (time > 8 and x.shape[0] > 3 and self.flag) or not (time > 8 or self.flag is False)


def whose_rest_is_true(self, x, time):
    return time > 8 and self.flag is False


def whose_rest_is_called(self, x, time):
    return time > 8 and bool(x.sum)


def whose_rest_runs_code(self, x, time):
    return time > 8 and self.counted


def asked_again(self, x, time):
    no = time > 8 and self.flag
    return no or time > 8


def another_value(self, x, time):
    found = time > 8 and None
    return found is None


def counted(self, x, time):
    return -(time > 8 or 2) == -2


SIZES = (3, 5, 8, 9, 12)


@pytest.mark.parametrize("time", [24, 72])
@pytest.mark.parametrize("masked, causal", [(False, False), (True, True), (True, False)])
def test_whether_attention_is_causal(masked, causal, time):
    serves_all(Attention(masked, causal), torch.randn(2, 2, time, 4), *(torch.randn(3, 2, size, 4) for size in (8, 3, 33)))


@pytest.mark.parametrize("time", [6, 10])
@pytest.mark.parametrize("ask", [in_an_if, as_an_argument, nested, within_another, turned, named, two_sizes])
def test_what_the_rest_decides(ask, time):
    serves_all(Asking(ask), torch.randn(2, 3, time), *(torch.randn(5, 3, size) for size in SIZES))


def serves_all(model, example, *others):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (example,), SHAPES)
    compare(program, model, *((other,) for other in (example, *others)))


@pytest.mark.parametrize("ask", [whose_rest_is_true, whose_rest_is_called, whose_rest_runs_code, asked_again, another_value, counted])
def test_what_the_rest_does_not_decide_is_warned_of(ask):
    model = Asking(ask)
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where time ≤ 8"):
        program = convert(model, (torch.randn(2, 3, 6),), SHAPES)
    compare(program, model, (torch.randn(2, 3, 8),))
    assert model.calls == 0 or ask is whose_rest_runs_code


def test_no_code_of_the_model_runs_to_find_out():
    model = Asking(whose_rest_runs_code)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", flambeau.errors.ConversionWarning)
        convert(model, (torch.randn(2, 3, 6),), SHAPES)
    assert model.calls == 0
