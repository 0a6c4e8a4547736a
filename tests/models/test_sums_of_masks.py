"""Whether all of a mask is set, asked by how many of its elements are: ``if mask.sum().item() < mask.numel()``."""

import pytest
import torch

import flambeau

from .checking import compare, convert

QUESTIONS = {
    "fewer": lambda mask: mask.sum().item() < mask.shape[0] * mask.shape[1],
    "fewer, in a tensor": lambda mask: mask.sum() < mask.numel(),
    "not as many": lambda mask: mask.sum().item() != mask.numel(),
    "not as many, turned": lambda mask: not mask.numel() == mask.sum().item(),
    "int": lambda mask: mask.numel() > int(mask.sum()),
}
ALL, SOME = torch.ones(2, 4), torch.tensor([[1.0, 1, 1, 0], [1, 1, 0, 0]])


class Masked(torch.nn.Module):
    def __init__(self, question, change=False):
        super().__init__()
        self.question, self.change = question, change

    def forward(self, x, mask):
        if self.question(mask):
            x = x.sigmoid() if self.change else torch.where(mask.bool(), x, torch.full_like(x, -1))
        return x * 2


@pytest.mark.parametrize("dtype", [torch.int64, torch.bool])
@pytest.mark.parametrize("example", [ALL, SOME], ids=["all", "some"])
@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_nothing_is_done_where_nothing_is_hidden(question, example, dtype):
    x, mask = torch.rand(2, 4), example.to(dtype)
    with pytest.warns(flambeau.errors.ConversionWarning, match="some elements are set and some are not"):
        program = convert(Masked(question), (x, mask), ({0: "batch", 1: "time"},) * 2)
    compare(program, Masked(question), (x, ALL.to(dtype)), (x, SOME.to(dtype)), (torch.rand(1, 3), torch.tensor([[1, 0, 1]]).to(dtype)))


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_what_is_done_to_all_is_refused(question):
    with pytest.raises(flambeau.errors.CaptureError, match="test_sums_of_masks.py"):
        flambeau.export(Masked(question, change=True), (torch.rand(2, 4), SOME.long()), dynamic_shapes=({0: "batch", 1: "time"},) * 2)
