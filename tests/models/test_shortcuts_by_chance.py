"""Branches that a model takes by what data holds, whose results are so few numbers that both ways may give the same for an example."""

import pytest
import torch

import flambeau

from .checking import compare, convert

TARGET = torch.tensor([1, 1, 0, 0])
SCORES = {"on both sides": [0.9, 0.3, 0.8, 0.4], "above a half": [0.9, 0.7, 0.8, 0.6]}


class Accuracy(torch.nn.Module):
    def forward(self, scores, target):
        if not torch.all((scores >= 0) * (scores <= 1)):  # they are logits
            scores = scores.sigmoid()
        return ((scores > 0.5).long() == target).float().mean()


class Classes(torch.nn.Module):
    def forward(self, scores, target):
        if not torch.all((scores >= 0) * (scores <= 1)):
            scores = scores.sigmoid()
        return (scores > 0.5) & (target > 0)


class Hidden(torch.nn.Module):
    """Both ways are the same where nothing is hidden."""

    def forward(self, scores, target):
        if not target.bool().all():
            scores = scores.masked_fill(target == 0, 0)
        return (scores > 0.5).sum()


@pytest.mark.parametrize("scores", SCORES.values(), ids=SCORES)
@pytest.mark.parametrize("model", [Accuracy, Classes], ids=lambda model: model.__name__)
def test_ways_that_agree_by_chance_are_not_taken_for_one(model, scores):
    with pytest.raises(flambeau.errors.CaptureError, match="scores <= 1"):
        flambeau.export(model(), (torch.tensor(scores), TARGET), dynamic_shapes=({0: "n"},) * 2, capture="export")
    program = convert(model(), (torch.tensor(scores), TARGET), ({0: "n"},) * 2)
    compare(program, model(), *((torch.randn(n), torch.randint(2, (n,))) for n in (4, 7)), *((torch.rand(n), torch.ones(n).long()) for n in (3, 9)))


@pytest.mark.parametrize("target", [[1, 1, 1, 1], [1, 0, 1, 1]], ids=["all", "some"])
def test_what_does_nothing_where_there_is_nothing_to_do_is_the_general_way(target):
    program = convert(Hidden(), (torch.rand(4), torch.tensor(target)), ({0: "n"},) * 2)
    compare(program, Hidden(), (torch.rand(5), torch.tensor([1, 0, 0, 1, 1])), (torch.rand(3), torch.ones(3).long()))
