"""Arguments that are None or set on some paths only, of functions that want to know, and names that may be of one object."""

from typing import Optional

import itertools

import pytest
import torch
import torch.nn.functional as F
from cases import SIGNS, Cases, x

import flambeau

case = Cases()


@case.forward(*SIGNS[0], others=[SIGNS[1]])
def dtypes_on_one_path(self, x):
    kept: Optional[torch.dtype] = None
    if bool(x.sum() > 0):
        kept = torch.float32
    return x.to(kept), x.to(torch.device("cpu"), kept), x.to(dtype=kept) + 1


@case.forward(*SIGNS[0], others=[SIGNS[1]])
def copies_on_one_path(self, x):
    copied = x.to("cpu", torch.float32, False, bool(x.sum() > 0))
    copied += 1
    same = x.to(torch.float32, False, bool(x.sum() < 0))
    same *= 2
    return x, copied, same


@case.forward(x(1, 2, 5, 6), others=[(-x(1, 2, 5, 6),), (x(1, 2, 7, 3),)], dynamic_axes={"x": [2, 3]})
def corners_on_one_path(self, x):
    flag = bool(x.sum() > 0)
    cubic = F.interpolate(x, scale_factor=[1.5, float(x.size(2)) / 2], mode="bicubic", align_corners=flag)
    return cubic, F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=flag)


@case.forward(x(3), others=[(x(4),)], dynamic_axes={"x": [0]})
def devices_with_numbers(self, x):
    device = torch.device("cuda", 1)
    index = device.index
    return x + len(str(device)) + (0 if index is None else 10 * index) + (100 if device == torch.device("cuda:1") else 0)


@case.forward(x(3), others=[(x(4),)], dynamic_axes={"x": [0]})
def names_of_one_tensor(self, x):
    y = x
    z = x.clone()
    v = x.view(-1)
    w = z.add_(1)
    lists = [x]
    other = lists
    return x, [int(y is x), int(z is x), int(w is z), int(v is x), int(lists[0] is x), int(other is lists), int([x] is lists), int(z is not x)]


test_program = case.test()


ASKS = {
    "a branch": """
def forward(x):
  y = x
  if bool(x.sum() > 0):
    y = x + 1
  if y is x:
    return x * 10
  return y
""",
    "a loop": """
def forward(x):
  y = x
  for i in range(x.size(0)):
    if bool(x[i] > 0):
      y = y + 1
  if y is x:
    return x * 10
  return y
""",
    "an index": """
def forward(x):
  both = [x, x + 1]
  each = both[int(x.sum() > 100)]
  if each is not x:
    return x * 10
  return each
""",
    "lists": """
def forward(x):
  a = [x]
  b = a
  if bool(x.sum() > 0):
    b = [x + 1]
  if b is a:
    return x * 10
  return b[0]
""",
}


@pytest.mark.parametrize("code", ASKS.values(), ids=ASKS)
def test_names_that_may_be_of_one_object(code):
    """Whether they are is known nowhere in the model."""
    unit = torch.jit.CompilationUnit(code)
    try:
        program = flambeau.export(unit.forward, (x(3),), input_names=["x"], dynamic_axes={"x": [0]}, verbose=False, dynamo=False)
    except flambeau.errors.OnnxExporterError as error:
        assert "are one" in str(error)
        return
    for each in (torch.ones(3), -torch.ones(3), torch.ones(5), torch.ones(200)):
        torch.testing.assert_close(program(each)[0], unit.forward(each))


def test_extremes_with_nan_are_those_of_torchscript():
    unit = torch.jit.CompilationUnit("""
def forward(x):
  a, b = float(x[0]), float(x[1])
  return torch.tensor([min(a, b), max(a, b), min(b, a), max(b, a), min(a, 1.0), max(2.5, b), max([a, b, 2.5]), min([a, b, 2.5])])
""")
    program = flambeau.export(unit.forward, (x(2),), verbose=False, dynamo=False)
    for pair in ([2.0, 3.0], [float("nan"), 3.0], [3.0, float("nan")]):
        torch.testing.assert_close(program(torch.tensor(pair))[0], unit.forward(torch.tensor(pair)), equal_nan=True)


def test_extremes_of_lists_with_nan_are_those_of_torchscript():
    """A NaN is kept only from the first place of a list; of two lists the first one is taken only if it is beyond the other."""
    unit = torch.jit.CompilationUnit("""
def forward(x, y):
  a : List[float] = []
  for i in range(len(x)):
    a.append(float(x[i]))
  b : List[float] = []
  for i in range(len(y)):
    b.append(float(y[i]))
  return torch.tensor([max(a), min(a)]), torch.tensor(max(a, b)), torch.tensor(min(a, b))
""")
    program = flambeau.export(unit.forward, (x(2), x(3)), input_names=["x", "y"], dynamic_axes={"x": [0], "y": [0]}, verbose=False, dynamo=False)
    nan = float("nan")
    lists = ([2.0, 3.0], [nan, 3.0, 1.0], [3.0, nan], [3.0, nan, nan, 2.0], [3.0], [nan])
    for pair in itertools.product(lists, repeat=2):
        args = [torch.tensor(each) for each in pair]
        for ours, theirs in zip(program(*args), unit.forward(*args)):
            torch.testing.assert_close(ours, theirs, equal_nan=True)
