"""Objects of scripted classes that a module holds: live, loaded where Python knows the class, and where it does not."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Dict, List, Optional, Tuple

import flambeau
import onnxruntime
import pytest
import torch
from checking import compare, script
from torch import Tensor, nn


@torch.jit.script
class Recipe:
    def __init__(self, order: List[int], scale: float, groups: Dict[int, Tuple[int, int]], shift: Optional[Tensor]):
        self.order = order
        self.scale = scale
        self.groups = groups
        self.shift = shift

    def apply(self, x: Tensor) -> Tensor:
        x = x.permute(self.order) * self.scale
        for key, group in self.groups.items():
            x = x + key * group[0] - group[1]
        shift = self.shift
        return x if shift is None else x + shift


class Cook(nn.Module):
    recipes: Dict[int, Recipe]
    courses: List[Recipe]
    dessert: Optional[Recipe]

    def __init__(self):
        super().__init__()
        self.first = Recipe([1, 0], 2.0, {3: (1, 2)}, None)
        self.recipes = {7: Recipe([0, 1], 0.5, {1: (2, 3), 2: (0, 1)}, torch.ones(3, 1))}
        self.courses = [Recipe([1, 0], 3.0, {4: (1, 1)}, None), self.first]
        self.dessert = Recipe([0, 1], -1.0, {5: (1, 0)}, torch.arange(3.0))

    def forward(self, x):
        x = self.recipes[7].apply(self.first.apply(x))
        for course in self.courses:
            x = course.apply(x)
        dessert = self.dessert
        if dessert is not None:
            x = dessert.apply(x.t())
        return x


X = torch.randn(4, 3)


def test_a_live_module_holds_them():
    model = Cook()
    compare(model, flambeau.export(script(model), (X,), verbose=False), (X,))


@pytest.mark.parametrize("frozen", [False, True])
def test_python_does_not_know_the_class(tmp_path, frozen):
    path = tmp_path / "cook.pt"
    model = script(Cook()).eval()
    (torch.jit.freeze(model) if frozen else model).save(path)
    code = f"""
import torch, flambeau
x = torch.arange(12.0).reshape(4, 3)
for model in ({str(path)!r}, torch.jit.load({str(path)!r})):
    (result,) = flambeau.export(model, (x,), verbose=False)(x)
    torch.testing.assert_close(result, torch.jit.load({str(path)!r})(x))
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_archive_of_them(tmp_path):
    path = tmp_path / "cook.pt"
    script(Cook()).save(path)
    program = flambeau.export(str(path), (X,), verbose=False)
    compare(Cook(), program, (X,))


@torch.jit.script
class Tally:
    def __init__(self, count: int):
        self.count = count

    def add(self, more: int):
        self.count += more


class Counts(nn.Module):
    mine: Tally
    yours: Tally

    def __init__(self, mine, yours):
        super().__init__()
        self.mine = mine
        self.yours = yours

    def forward(self, x):
        self.mine.add(2)
        return x * self.mine.count + self.yours.count


class CountsAlone(nn.Module):
    mine: Tally

    def __init__(self):
        super().__init__()
        self.mine = Tally(1)

    def forward(self, x):
        self.mine.add(2)
        return x * self.mine.count


def test_one_that_is_written():
    compare(CountsAlone(), flambeau.export(script(CountsAlone()), (X,), verbose=False), (X,))


def test_two_that_may_be_one(tmp_path):
    """torch makes Python objects of them anew each time; an archive says which are the same."""
    one = Tally(1)
    model = torch.jit.script(Counts(one, one))
    with pytest.raises(flambeau.errors.CaptureError, match="does not show whether 'mine' and 'yours' are one"):
        flambeau.export(model, (X,), verbose=False)
    path, made = tmp_path / "counts.pt", tmp_path / "counts.onnx"
    model.save(path)
    program = Path(os.environ["FLAMBEAU_BUILD_DIR"]) / "bin/flambeau"
    subprocess.run([program, "convert", path, "-o", made, "--input", "x=float32[4,3]"], check=True)
    (result,) = onnxruntime.InferenceSession(made).run(None, {"x": X.numpy()})
    torch.testing.assert_close(torch.from_numpy(result), torch.jit.load(path)(X))
