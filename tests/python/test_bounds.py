"""Conditions on sizes as the bounds that they are."""

import itertools
import warnings

import pytest
import sympy
import torch
from torch.utils._sympy.functions import FloorDiv, Max, Min

import flambeau
from flambeau.capture.sizes.bounds import as_bound

SIZE = sympy.Symbol("n", integer=True, nonnegative=True)
HALF = FloorDiv(SIZE, 2)
QUANTITIES = [
    HALF, FloorDiv(SIZE + 7, 8), FloorDiv(3 * SIZE - 2, 4), FloorDiv(FloorDiv(SIZE + 1, 2) + 3, 5), FloorDiv(4 * Min(32, SIZE), SIZE),
    FloorDiv(Min(32, HALF), HALF), Min(5, SIZE), Max(5, SIZE), 4 * Min(9, SIZE), Max(0, SIZE - 7), Min(32, HALF), SIZE, 4 * SIZE, *map(sympy.Integer, (1, 4, 5)),
]  # fmt: skip


@pytest.mark.parametrize("relation", [sympy.Eq, sympy.Ne, sympy.Lt, sympy.Le, sympy.Gt, sympy.Ge], ids=lambda relation: relation.__name__)
def test_bounds_hold_where_the_conditions_do(relation):
    told = 0
    for one, other in itertools.product(QUANTITIES, QUANTITIES):
        condition = relation(one, other)
        bound = as_bound(condition) if condition.args else condition
        told += bound != condition
        for size in (*range(2, 16), *range(31, 35), 60, 61, *range(63, 68), 90):
            assert condition.subs({SIZE: size}) == bound.subs({SIZE: size}), (condition, bound, size)
    assert told > 10


@pytest.mark.parametrize(
    "condition, says",
    [
        (sympy.Ge(FloorDiv(4 * Min(32, SIZE), SIZE), 4), "n <= 32"),
        (sympy.Eq(FloorDiv(4 * Min(32, SIZE), SIZE), 4), "n <= 32"),
        (sympy.Ge(FloorDiv(4 * Min(32, HALF), HALF), 4), "n <= 65"),
        (sympy.Ge(HALF, Min(32, HALF)), "True"),
        (sympy.Gt(FloorDiv(SIZE + 7, 8), 1), "n >= 9"),
        (sympy.Ne(Min(16, SIZE), 16), "n < 16"),
        (sympy.Eq(4 * Min(9, SIZE), 4 * SIZE), "n <= 9"),
        (sympy.Lt(Max(0, SIZE - 7), 1), "n - 7 < 1"),
    ],
    ids=str,
)
def test_what_is_told(condition, says):
    assert str(as_bound(condition)) == says


class Rotary(torch.nn.Module):
    """As in Wan: a table of angles for each axis."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(32, 12), persistent=False)

    def forward(self, x):
        _, _, frames, height, width = x.shape
        height, width = height // 2, width // 2
        table = self.table.split([4, 4, 4], dim=1)
        one = table[0][:frames].view(frames, 1, 1, -1).expand(frames, height, width, -1)
        two = table[1][:height].view(1, height, 1, -1).expand(frames, height, width, -1)
        three = table[2][:width].view(1, 1, width, -1).expand(frames, height, width, -1)
        return torch.cat([one, two, three], -1).reshape(1, frames * height * width, 1, -1) + x.mean()


def test_what_a_model_takes_for_granted_is_told_as_bounds():
    model, x = Rotary(), torch.randn(2, 1, 2, 8, 8)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        program = flambeau.export(model, (x,), dynamic_shapes=({0: "batch", 2: "frames", 3: "height", 4: "width"},))
    conditions = [str(each.message).partition("only where ")[2].partition(":")[0] for each in said if issubclass(each.category, flambeau.errors.ConversionWarning)]
    assert sorted(conditions) == ["frames ≤ 32", "height ≤ 65", "width ≤ 65"]
    for sizes in ((3, 64, 12), (32, 65, 65), (2, 4, 4)):
        y = torch.randn(2, 1, *sizes)
        torch.testing.assert_close(program(y)[0], model(y))
