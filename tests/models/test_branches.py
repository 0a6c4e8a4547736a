"""Plain `if` on what only a run knows: the branch is an `If`, where what both ways do can be captured."""

import pytest
import torch

import flambeau
from .checking import compare, convert

ONE, OTHER = torch.randn(3, 4) - 2, torch.randn(5, 4) + 2
SHAPES = ({0: "rows"},)


class Branching(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)


class Both(Branching):
    def forward(self, x):
        if x.sum() > 0:
            y = self.linear(x)
        else:
            y = x - 1
        return y * 2


class OneSided(Branching):
    def forward(self, x):
        if x.sum() > 0 and not x[0, 0] > 100:
            x = self.linear(x) + 1
        return x * 2


class Returning(Branching):
    def forward(self, x):
        if x.sum() > 0:
            return self.linear(x), x[:1]
        elif x.max() > 100:
            return x, x[:1]
        y = x.exp()
        return y, y[1:2]


class Writing(Branching):
    """As in splines with tails: what lies inside is written."""

    def forward(self, x):
        y, count = torch.zeros_like(x), 3
        inside = x > 0
        if torch.any(inside):
            y[inside] = self.linear(x)[inside]
            count = 4
        return y, y + count


class Shorter(Branching):
    """The ways differ in a size."""

    def forward(self, x):
        if not x.mean() > 0:
            x = x[1:]
        return self.linear(x), x.sum(0)


class Expression(Branching):
    def forward(self, x):
        y = x * 2 if x.mean() > 0 else self.linear(x)
        return y * (1.0 if x.max() > 2 else 2.5)


class Flag(Branching):
    """A Python bool and a float from a tensor, used in several places."""

    def forward(self, x):
        scale = x.abs().sum().item()
        flag = x.mean().item() > 0
        if flag:
            x = x / scale
        for layer in (self.linear, torch.nn.functional.relu):
            if flag:
                x = layer(x)
        return x


class Nested(Branching):
    def forward(self, x):
        if x.mean() > 0:
            if x.max() > 100:
                x = x + 1
            else:
                x = x - 1
        else:
            x = self.linear(x)
        return x


class InLoop(Branching):
    """Inside of a loop that is kept, too."""

    def forward(self, x):
        total = x[0] * 0
        for row in x:
            if row.sum() > total.sum():
                total = total + row
            else:
                total = total * 0.5
        return total


class Listed(Branching):
    def forward(self, x):
        found = []
        for i in range(2):
            if x[i].sum() > 0:
                found.append(x[i] * 2)
            else:
                found.append(self.linear(x[i]))
        return torch.stack(found)


class Cut(Branching):
    """A size that only the run knows, within a branch and after it."""

    def forward(self, x):
        rest = 0
        if x.mean() > 0:
            count = (x[:, 0] > 2).sum().item()
            torch._check(count <= x.shape[0])
            x = x[:count]
            rest = 1
        return self.linear(x)[: x.shape[0] - rest].sum()


MODELS = [Both, OneSided, Returning, Writing, Shorter, Expression, Flag, Nested, InLoop, Listed, Cut]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.__name__)
@pytest.mark.parametrize("example", [ONE, OTHER], ids=["one way", "the other"])
def test_branches_become_ifs(model, example):
    model = model().eval()
    program = convert(model, (example,), SHAPES)
    assert any(node.op_type in ("If", "Scan") for node in program.model_proto.graph.node)
    compare(program, model, (ONE,), (OTHER,))


class Lost(Branching):
    """What is None on one path only is used after it."""

    def forward(self, x):
        scale = None
        if x.sum() > 0:
            scale = x.max()
        return x * scale if scale is not None else x


class Counting(Branching):
    """A path changes the module."""

    def forward(self, x):
        if x.sum() > 0:
            self.calls = 1
        return x * 2


@pytest.mark.parametrize("model", [Lost, Counting], ids=lambda model: model.__name__)
def test_branches_that_no_if_expresses_are_refused(model):
    with pytest.raises(flambeau.errors.CaptureError, match=r"if x.sum\(\) > 0:"):
        convert(model(), (ONE,), SHAPES)
