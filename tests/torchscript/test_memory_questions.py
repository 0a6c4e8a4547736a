"""Scripts that ask how an argument lies in memory."""

import warnings

import pytest
import torch

import flambeau


class Asks(torch.nn.Module):
    def forward(self, x):
        if x.is_contiguous():
            return x + 1
        return x + 2


@pytest.mark.parametrize("example", [torch.ones(2, 3).t(), torch.ones(4, 6)[:, ::2], torch.ones(1, 3).expand(2, 3)])
def test_an_example_that_is_not_contiguous_is_warned_of(example):
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"how a tensor lies in memory \(test_memory_questions\.py:13\)"):
        program = flambeau.export(torch.jit.script(Asks()), (example,))
    torch.testing.assert_close(program(example)[0], Asks()(example.contiguous()))


def test_another_one_is_not():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        flambeau.export(torch.jit.script(Asks()), (torch.ones(2, 3),))
