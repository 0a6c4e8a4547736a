"""Calls whose record torch's own passes over a trace refuse: of a bool for a number, and of a ``view`` as another dtype."""

import pytest
import torch
import torch.nn.functional as F
from checking import Calls

import flambeau


def writes(x):
    y, z = x.clone(), x > 0
    y[0] = True
    y.fill_diagonal_(True)
    z.fill_(False)
    z[1] = True
    z.masked_fill_(x > 1, True)
    z |= False
    z.bitwise_and_(True)
    return y.pow_(True).clamp_(max=True), z


def writes_through_a_view(x):
    y = x.clone()
    bits = y.view(torch.int32)
    bits[0] = 0
    bits.bitwise_and_(0x7FFFFFFF)
    return y, bits


FUNCTIONS = {
    "masked_fill": lambda x: (x.masked_fill(x > 0, True), (x > 0).masked_fill(x > 1, False), x.long().masked_fill(x > 0, True)),
    "powers": lambda x: (x**True, True**x, (x > 0) ** True, x.int() ** True, torch.float_power(x, True)),
    "xlogy": lambda x: (torch.xlogy(x.abs(), True), torch.xlogy(True, x.abs()), torch.xlogy(x > 0, True)),
    "where": lambda x: (
        torch.where(x > 0, True, True),
        torch.where(x > 0, True, x > 1),
        torch.where(x > 0, x, False),
        torch.where(x > 0, True, 2),
        torch.where(x > 0, True, 1.5),
        torch.where(x > 0, True, x.to(torch.int8)),
    ),
    "clamp": lambda x: (x.clamp(True, 2), x.clip(False, True), x.clamp_min(True)),
    "index_fill": lambda x: (x.index_fill(0, torch.tensor([0]), True), x.scatter(0, torch.zeros(1, 3, dtype=torch.int64), True)),
    "comparisons": lambda x: (x == True, x.eq(False), x.lt(True), (x > 0) != True, ((x > 0) == (x.size(0) == 4)).any() == True),  # noqa: E712
    "bits": lambda x: ((x > 0) & True, (x > 0) | False, (x > 0) ^ True, True & (x > 0), x.int() & True, torch.bitwise_or(x > 0, True), x.int() << True),
    "made": lambda x: (
        torch.full((2,), True),
        torch.full((2,), False, dtype=torch.float16),
        torch.full_like(x, True),
        torch.full_like(x > 0, True),
        x.new_full((2,), True),
        torch.scalar_tensor(True),
        torch.arange(True, 4),
        torch.linspace(False, True, 3),
    ),
    "layers": lambda x: (torch.threshold(x, True, False), F.hardtanh(x, False, True), F.leaky_relu(x, True), F.elu(x, True), F.pad(x, (1, 1), value=True)),
    "factors": lambda x: (torch.add(x > 0, x > 1, alpha=True), x.addcmul(x, x, value=True), x.addmm(x, torch.ones(3, 3), beta=True, alpha=True)),
    "remainders": lambda x: (x.fmod(True), x.remainder(True), x.long() % True, x.copysign(True), torch.lerp(x, x + 1, True), x.norm(True)),
    "used again": lambda x: torch.cat([torch.where(x > 0, True, False), torch.full((1, 3), True)]).sum(0) + torch.full((3,), True),
    "writes": writes,
    "views": lambda x: (
        x.view(torch.int32),
        x.view(torch.int16),
        x.view(torch.uint8)[:, 3::4] + 1,
        (x > 0).view(torch.uint8).sum(),
        x.half().view(dtype=torch.int16).view(torch.float16).view(-1),
    ),
    "writes through a view": writes_through_a_view,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_the_tracer_records(function, dynamic):
    model = Calls(function)
    axes = {"dynamic_axes": {"x": [0]}} if dynamic else {}
    program = flambeau.export(model, (torch.randn(4, 3),), dynamo=False, input_names=["x"], verbose=False, **axes)
    for x in (torch.randn(4, 3), torch.randn(6, 3))[: 1 + dynamic]:
        wanted = model(x)
        torch.testing.assert_close(tuple(program(x)), wanted if isinstance(wanted, tuple) else (wanted,))


class HoldsScript(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.jit.script(torch.nn.ReLU())

    def forward(self, x):
        return self.inner(x).masked_fill(x > 0, True)


def test_models_that_hold_scripts_are_told_what_is_in_the_way():
    with pytest.raises(flambeau.errors.CaptureError, match=r"finds no operator for the aten::masked_fill.*\n  hint: .*1 for True") as failed:
        flambeau.export(HoldsScript(), (torch.randn(4, 3),), dynamo=False, verbose=False)
    assert "INTERNAL ASSERT" not in str(failed.value)
