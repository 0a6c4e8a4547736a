"""Models that ask whether a size is a number."""

import numbers

import pytest
import torch

import flambeau


class Kind(type):
    pass


def made(x, n):
    """A type that is made, and asked for, meanwhile."""
    Made = type("Made", (object,), {"scale": 3})
    assert type(type.__new__(Kind, "Plain", (), {})) is Kind
    return isinstance(Made, type) and issubclass(Kind, type) and type(Kind("Other", (), {})) is Kind and type(Made()) is Made


QUESTIONS = {
    "int": lambda x, n: isinstance(n, int),
    "one of several": lambda x, n: isinstance(n, (list, int)),
    "a union": lambda x, n: isinstance(n, int | None),
    "abstract": lambda x, n: isinstance(n, numbers.Integral),
    "no float": lambda x, n: not isinstance(n, float),
    "a quotient": lambda x, n: isinstance(n / 2, float),
    "an answer": lambda x, n: isinstance(n > 2, bool),
    "all sizes": lambda x, n: all(isinstance(size, int) for size in x.shape),
    "its type": lambda x, n: type(n) is int,
    "equal types": lambda x, n: type(n + 1) == int,  # noqa: E721
    "one of several types": lambda x, n: type(n * 0.5) in (int, float),
    "a type of the model's": made,
}


class Asks(torch.nn.Module):
    def __init__(self, question):
        super().__init__()
        self.question = question

    def forward(self, x):
        return x * 2 if self.question(x, x.shape[0]) else x * 3


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("capture", [None, "trace"])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_size_is_one(question, capture):
    program = flambeau.export(Asks(QUESTIONS[question]), (torch.ones(3, 2),), dynamic_shapes=({0: "n"},), capture=capture)
    torch.testing.assert_close(program(torch.ones(5, 2))[0], torch.full((5, 2), 2.0))


def test_numbers_in_tensors_are_numbers():
    model = Asks(lambda x, n: isinstance(x.argmax().item(), int) and isinstance(x.sum().item(), float))
    program = flambeau.export(model, (torch.ones(3, 2),), dynamic_shapes=({0: "n"},))
    torch.testing.assert_close(program(torch.ones(5, 2))[0], torch.full((5, 2), 2.0))


def test_sizes_in_a_trace_are_tensors_as_well():
    model = Asks(lambda x, n: isinstance(n, torch.Tensor) if torch.jit.is_tracing() else True)
    program = flambeau.export(model, (torch.ones(3, 2),), dynamic_shapes=({0: "n"},), capture="trace")
    torch.testing.assert_close(program(torch.ones(5, 2))[0], torch.full((5, 2), 2.0))


@pytest.mark.parametrize("question", ["int", "its type", "one of several"])
def test_branches_ask_as_they_do(question):
    class Branches(Asks):
        def forward(self, x):
            return torch.cond(x.sum() > 0, super().forward, lambda x: x - 1, (x,))

    program = flambeau.export(Branches(QUESTIONS[question]), (torch.ones(3, 2),), dynamic_shapes=({0: "n"},))
    torch.testing.assert_close(program(torch.ones(5, 2))[0], torch.full((5, 2), 2.0))
