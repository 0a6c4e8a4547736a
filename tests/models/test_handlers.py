"""Models that handle errors: whether a check or a question within may be answered for them depends on what the handler does."""

import pytest
import torch

import flambeau
from .checking import compare, convert


class Sorted(torch.nn.Module):
    """As aggregations of graphs: what an error is about is said around what raises it."""

    def forward(self, x, index):
        try:
            return self.sums(x, index)
        except (IndexError, ValueError) as error:
            if index.numel() > 9:
                raise ValueError("many rows, of which one is too many") from error
            raise

    def sums(self, x, index):
        if not torch.all(index[:-1] <= index[1:]):
            raise ValueError("not sorted")
        return x.new_zeros(3, x.shape[1]).index_add(0, index, x)


class Resorting(Sorted):
    def forward(self, x, index):
        try:
            return self.sums(x, index)
        except ValueError:
            return self.sums(x, index.sort().values)


def test_checks_of_data_whose_errors_are_only_raised_anew_are_taken_for_granted():
    inputs = [(torch.rand(n, 4), torch.arange(n) * 3 // n) for n in (4, 7)]
    compare(convert(Sorted(), inputs[0], ({0: "rows"},) * 2), Sorted(), *inputs)
    mixed = (torch.rand(5, 4), torch.tensor([2, 0, 1, 1, 0]))
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"asks for that \(.*not torch.all"):
        program = convert(Resorting(), inputs[0], ({0: "rows"},) * 2)
    compare(program, Resorting(), *inputs, mixed)


class Inverse(torch.nn.Module):
    """To PyTorch's own errors an answer is at hand; that of a capture, which cannot decide by data, is another kind of error."""

    def forward(self, x):
        try:
            return torch.linalg.inv(x) if torch.det(x) != 0 else torch.linalg.pinv(x)
        except RuntimeError:
            return torch.zeros_like(x)


class Rows(torch.nn.Module):
    """The same for what a capture can do."""

    def forward(self, x):
        try:
            return x[(x > 0).nonzero()[:, 0]] * 2
        except RuntimeError:
            return x


def test_errors_of_the_capture_are_no_answer_to_what_the_model_asks():
    with pytest.raises(flambeau.errors.CaptureError, match=r"torch.det\(x\) != 0"):
        flambeau.export(Inverse(), (torch.rand(3, 3),))
    compare(convert(Rows(), (torch.rand(4, 2),), ({0: "rows"},)), Rows(), (torch.rand(4, 2),), (torch.randn(7, 2),))
