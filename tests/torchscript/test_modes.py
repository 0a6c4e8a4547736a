"""What torch keeps beside a program, and a program asks for or depends on: whether gradients are recorded, the default dtype."""

from typing import List

import pytest
import torch
import torch.nn.functional as F
from cases import ROUNDS, SIGNS, Cases, x
from checking import check, compare
from torch import nn

import flambeau

case = Cases()


@case.forward(x(2, 3))
def gradients_in_a_block(self, x):
    asked = [torch.is_grad_enabled()]
    with torch.no_grad():
        asked.append(torch.is_grad_enabled())
        with torch.no_grad():
            y = x * 2
        asked.append(torch.is_grad_enabled())
    asked.append(torch.is_grad_enabled())
    return y, asked


@case.forward(x(2, 3).abs(), others=SIGNS)
def gradients_on_one_path(self, x):
    if bool(x.sum() > 0):
        torch.set_grad_enabled(False)
    asked = torch.is_grad_enabled()
    with torch.no_grad():
        if torch.is_grad_enabled():
            x = x + 1
    left = torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    if asked:
        x = x - 1
    return x, asked, left, torch.is_grad_enabled()


@case.forward(x(2, 3), ROUNDS[0], others=[(x(2, 3), n) for n in ROUNDS])
def gradients_in_rounds(self, x, n):
    for i in range(int(n)):
        with torch.no_grad():
            if not torch.is_grad_enabled() and bool(x.sum() < 9):
                x = x + 1
        if torch.is_grad_enabled():
            x = x * 2
    return x, torch.is_grad_enabled()


test_gradients = case.test()


@pytest.fixture(params=[torch.float64, torch.float16, torch.float32], ids=["float64", "float16", "float32"])
def default_dtype(request):
    before = torch.get_default_dtype()
    torch.set_default_dtype(request.param)
    yield request.param
    torch.set_default_dtype(before)


class TensorsOfNumbers(nn.Module):
    def forward(self, x):
        n, total = x.size(0), float(x.sum())
        made: List[float] = []
        for i in range(n):
            made.append(float(x[i, 0]))
        return (
            (torch.tensor(2.5), torch.tensor(n / 3), torch.tensor(total), torch.scalar_tensor(n), torch.as_tensor(0.5)),
            (torch.tensor([1.5, 0.1]), torch.tensor([1.5, float(n)]), torch.tensor([[1.0, 2.0], [n * 1.0, 3.0]]), torch.tensor(made)),
            (torch.tensor(made, dtype=torch.float32), torch.tensor(0.1, dtype=torch.float64), torch.tensor([n, 2])),
        )


class TensorsOfSizes(nn.Module):
    def forward(self, x):
        n = x.size(0)
        return torch.zeros(n), torch.ones(2), torch.full((n,), 1.5), torch.arange(0.0, n), torch.linspace(0, 1, n), torch.eye(n), torch.hann_window(5)


class FloatsOfIntegers(nn.Module):
    def forward(self, x):
        n = x.long()
        return n / 3, n * 0.5, n.sum() / 2, torch.sqrt(n.abs()), (x > 0) * 1.5, n.float().mean(), x[0, 0] * 0.1, F.one_hot(n[0] % 3, 3) * 0.5


@pytest.mark.parametrize("model", [TensorsOfNumbers(), TensorsOfSizes(), FloatsOfIntegers()], ids=lambda model: type(model).__name__)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_default_dtype_of_scripts(model, dtype, default_dtype):
    x = (torch.arange(12.0).reshape(4, 3) - 5.5).to(dtype)
    check(model, (x,), dynamic_axes={"x": {0: "n"}}, others=[(torch.cat([x, x]),)])


@pytest.mark.parametrize("how", ["trace", "export"])
@pytest.mark.parametrize("model", [TensorsOfSizes(), FloatsOfIntegers()], ids=lambda model: type(model).__name__)
def test_default_dtype_of_captures(model, how, default_dtype):
    check(model, (torch.arange(12.0).reshape(4, 3) - 5.5,), how=how)


class Copied(nn.Module):
    def forward(self, x):
        y = x.clone()
        y[0] = 0.1
        y[1:].copy_(torch.tensor(0.7, dtype=torch.float64))
        return y


def test_numbers_are_written_with_all_their_digits():
    x = torch.ones(3, dtype=torch.float64)
    program = check(Copied(), (x,))
    assert torch.equal(program(x)[0], Copied()(x))


@pytest.mark.parametrize("how", ["trace", "script"])
def test_each_module_keeps_its_own_mode(how):
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Sequential(nn.InstanceNorm1d(3, track_running_stats=True), nn.BatchNorm1d(3)).eval())
    modes = [module.training for module in model.modules()]
    check(model, (x(4, 3, 5),), how=how, training=torch.onnx.TrainingMode.PRESERVE)
    flambeau.export(model, (x(4, 3, 5),), capture="trace", training=torch.onnx.TrainingMode.PRESERVE)
    assert [module.training for module in model.modules()] == modes


class Asked(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        x = self.norm(x)
        return x * 2 if self.training else x


@pytest.mark.parametrize("mode, trained", [("EVAL", False), ("TRAINING", True), ("PRESERVE", None)])
@pytest.mark.parametrize("own", [True, False])
def test_scripts_are_converted_in_the_mode_that_is_asked_for(mode, trained, own):
    model = torch.jit.script(Asked()).train(own)
    program = flambeau.export(model, (x(4, 3),), training=getattr(torch.onnx.TrainingMode, mode), verbose=False)
    assert all(module.training == own for module in model.modules())
    compare(model.train(own if trained is None else trained), program, (x(4, 3),))


def test_scripts_in_training_mode_are_warned_of():
    with pytest.warns(UserWarning, match="makes a difference to the model itself, norm"):
        flambeau.export(torch.jit.script(Asked()), (x(4, 3),))


def test_frozen_scripts_have_no_mode():
    flambeau.export(torch.jit.freeze(torch.jit.script(Asked().eval())), (x(4, 3),), verify=True)


@pytest.mark.parametrize("mode, trained", [("EVAL", False), ("TRAINING", True), ("PRESERVE", None)])
@pytest.mark.parametrize("own", [True, False])
@pytest.mark.filterwarnings("ignore:.*deprecated")
def test_scripts_within_modules_are_in_the_mode_that_is_asked_for(mode, trained, own):
    model = nn.Sequential(nn.BatchNorm1d(3), torch.jit.script(Asked())).train(own)
    program = flambeau.export(model, (x(4, 3),), training=getattr(torch.onnx.TrainingMode, mode), verbose=False)
    assert all(module.training == own for module in model.modules())
    compare(model.train(own if trained is None else trained), program, (x(4, 3),))
