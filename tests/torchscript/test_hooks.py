"""Forward hooks and pre-hooks that were scripted: of the module that is called, and of those within."""

import copy
from typing import Dict, List, Optional, Tuple

import pytest
import torch
from cases import Cases, x
from checking import check, compare
from torch import Tensor, nn

import flambeau

case = Cases()
ARCHIVED = {}
"""By its name: what makes a module with hooks, its arguments, and what is said of them where an archive is read."""


def archived(*args, inputs="float32[n,3]", **options):
    """Decorates a function that makes a module: exported, and read from an archive without torch."""

    def add(make):
        ARCHIVED[make.__name__] = (make, args, inputs)
        return case(*args, **options)(make)

    return add


def twice(self, inputs: Tuple[Tensor]) -> Tuple[Tensor]:
    return (inputs[0] * 2,)


def one_more(self, inputs: Tuple[Tensor]) -> Tensor:
    return inputs[0] + 1


def looks(self, inputs: Tuple[Tensor]) -> None:
    inputs[0].sum()


def with_inputs(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
    return output * 3 + inputs[0]


def looks_at_output(self, inputs: Tuple[Tensor], output: Tensor) -> None:
    output.sum()


def by_sign(self, inputs: Tuple[Tensor], output: Tensor) -> Optional[Tensor]:
    if bool(output.sum() > 0):
        return output - 1
    return None


def both(self, inputs: Tuple[Tensor], output: Tensor) -> Tuple[Tensor, Tensor]:
    return output, inputs[0]


def swapped(self, inputs: Tuple[Tensor], output: Tuple[Tensor, Tensor]) -> List[Tensor]:
    return [output[1], output[0] * 2]


def hooked(module, pre=(), after=()):
    for hook in pre:
        module.register_forward_pre_hook(hook)
    for hook in after:
        module.register_forward_hook(hook)
    return module


class Holds(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor):
        return self.inner(x)


@archived(x(2, 3), dynamic_axes={"x": {0: "n"}})
def OfTheModule():
    return hooked(nn.Linear(3, 3), [twice], [with_inputs])


@archived(x(2, 3), dynamic_axes={"x": {0: "n"}})
def InOrder():
    return hooked(Holds(nn.Linear(3, 3)), [twice, looks, one_more], [with_inputs, both, swapped])


@archived(x(2, 3).abs(), others=[(-x(2, 3).abs(),)], how=("script",))
def NoneOnOnePath():
    return hooked(Holds(nn.Identity()), [], [by_sign])


@archived(x(2, 3), dynamic_axes={"x": {0: "n"}})
def OfAModuleWithin():
    return Holds(hooked(nn.Linear(3, 3), [twice, looks], [with_inputs, looks_at_output]))


@archived(x(2, 3), dynamic_axes={"x": {0: "n"}})
def OfBoth():
    layers = [hooked(nn.Linear(3, 3), [one_more], [with_inputs]) for _ in range(2)]
    return hooked(nn.Sequential(*layers, hooked(nn.ReLU(), [], [with_inputs])), [twice], [with_inputs])


def scaled(self, inputs: Tuple[Tensor], output: Tensor) -> Tensor:
    self.calls += 1
    return self.inner(output) * self.factor + self.calls


def own(self, inputs: Tuple[Tensor]) -> Tensor:
    return self.shifted(inputs[0])


@archived(x(2, 3), how=("script",))
class WithItsState(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)
        self.factor = 2
        self.register_buffer("calls", torch.zeros(1))
        hooked(self, [own], [scaled])

    @torch.jit.export
    def shifted(self, x: Tensor) -> Tensor:
        return self.inner(x) + self.calls

    def forward(self, x: Tensor):
        return self.inner(x)


def nested(self, inputs: Tuple[Tuple[Tensor, Tensor]]) -> Tuple[Tuple[Tensor, Tensor]]:
    return ((inputs[0][1], inputs[0][0] * 2),)


@archived((x(2, 3), x(2, 3, seed=1)), inputs="(float32[n,3],float32[n,3])", how=("script",))
class OfATuple(nn.Module):
    def __init__(self):
        super().__init__()
        hooked(self, [nested])

    def forward(self, x: Tuple[Tensor, Tensor]):
        return x[0] - x[1]


test_program = case.test()


@pytest.mark.parametrize("name", ARCHIVED)
def test_archive(name, tmp_path):
    make, args, inputs = ARCHIVED[name]
    torch.manual_seed(0)
    model = make().eval()
    torch.jit.script(copy.deepcopy(model)).save(tmp_path / "net.pt")
    argument = "input" if name in ("OfTheModule", "OfBoth") else "x"
    program = flambeau.convert(tmp_path / "net.pt", tmp_path / "net.onnx", inputs={argument: inputs})
    compare(model, program, args)
    compare(model, flambeau.export(tmp_path / "net.pt", args, verbose=False), args)


def more(self, inputs: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
    return inputs[0], inputs[1] + 1


class Repeated(nn.Module):
    def forward(self, x: Tensor, n: int = 2):
        return x * n


def test_number_that_a_hook_changes():
    check(hooked(Repeated(), [more]), (x(2, 3), 3))


def keyed(self, inputs: Tuple[Dict[str, Tensor]]) -> Tuple[Dict[str, Tensor]]:
    return ({"a": inputs[0]["b"], "b": inputs[0]["a"]},)


class OfADict(nn.Module):
    def forward(self, x: Dict[str, Tensor]):
        return x["a"] - x["b"]


def test_dict_that_a_hook_makes():
    check(hooked(OfADict(), [keyed]), ({"a": x(2), "b": x(3)[:2]},))


def test_methods_run_none():
    """Neither do they in PyTorch: calls of the module do."""
    bare = nn.Linear(3, 3).eval()
    forward = torch.jit.script(hooked(copy.deepcopy(bare), [twice], [with_inputs])).forward
    compare(bare, flambeau.export(forward, (x(2, 3),), verbose=False), (x(2, 3),))


def test_scripted_part_of_a_module():
    model = Holds(torch.jit.script(hooked(nn.Linear(3, 3), [twice], [with_inputs]))).eval()
    for capture in ("trace", None):
        compare(model, flambeau.export(model, (x(2, 3),), verbose=False, **({"capture": capture} if capture else {})), (x(2, 3),))


def test_verified_with_its_hooks():
    scripted, args = torch.jit.script(hooked(nn.Linear(3, 3), [twice], [with_inputs])), (x(2, 3),)
    flambeau.verify(flambeau.export(scripted, args, verbose=False), args, reference=scripted)
