"""Models that give sizes to NumPy's functions."""

import numpy
import pytest
import torch
import torch.nn.functional as F

import flambeau
from flambeau.errors import ConversionWarning

COLUMNS = (6, 9, 4, 33)


class OfColumns(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x, x.shape[1])


def scaled(number):
    return lambda x, n: x * number(n)


def cut(number):
    return lambda x, n: torch.cat([x, x], 1)[:, : int(number(n))]


FUNCTIONS = {
    "ceil": cut(lambda n: numpy.ceil(n / 4)),
    "floor": cut(lambda n: numpy.floor(n / 4)),
    "trunc": cut(lambda n: numpy.trunc(n / 4)),
    "round": cut(lambda n: numpy.round(n / 4)),
    "rint of an integer": cut(lambda n: numpy.rint(n)),
    "floats without a fraction": lambda x, n: torch.ones_like(x, dtype=torch.int64) * numpy.floor(n / 4),
    "a power of two": lambda x, n: F.pad(x, (0, int(2 ** numpy.ceil(numpy.log2(n))) - n)),
    "fmod": scaled(lambda n: numpy.fmod(5 - n, 4)),
    "fmod of floats": scaled(lambda n: numpy.fmod(5.5 - n, 4)),
    "mod": scaled(lambda n: numpy.mod(5 - n, 4)),
    "divmod": scaled(lambda n: numpy.divmod(n, 4)[1]),
    "log1p": scaled(numpy.log1p),
    "arctan2": scaled(lambda n: numpy.arctan2(n, 3.0)),
    "hypot": scaled(lambda n: numpy.hypot(n, 3)),
    "gcd": scaled(lambda n: numpy.gcd(n, 6)),
    "sign": scaled(lambda n: numpy.sign(n - 6)),
    "sign of floats": scaled(lambda n: numpy.sign(n / 2 - 3)),
    "maximum": cut(lambda n: numpy.maximum(n, 7)),
    "minimum": cut(lambda n: numpy.minimum(7, n)),
    "clip": cut(lambda n: numpy.clip(n, 5, 10)),
    "greatest of a list": cut(lambda n: numpy.max([n, 7])),
    "least of a tuple": cut(lambda n: numpy.min((n, 7))),
    "sum": cut(lambda n: numpy.sum([n, 2]) // 2),
    "NumPy's own number": scaled(lambda n: numpy.float64(2.0) * n),
    "an array of numbers": lambda x, n: x * torch.from_numpy(numpy.arange(3) * 2)[1] * n,
    "floors in an array": lambda x, n: x * numpy.floor(numpy.array([n, 2]) / 2)[0],
    "what is finite": lambda x, n: x * 0 if numpy.isnan(n) else x,
}


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("function", FUNCTIONS)
def test_sizes_stay_dynamic(function):
    model = OfColumns(FUNCTIONS[function])
    program = flambeau.export(model, (torch.rand(2, COLUMNS[0]),), dynamic_shapes=({1: "n"},))
    for columns in COLUMNS:
        x = torch.rand(2, columns)
        torch.testing.assert_close(program(x)[0], model(x))


def around(x, n):
    return x[:, numpy.pad(numpy.arange(n), (n // 2, n // 2), mode="wrap")]


def reflected(x, n):
    return x[:, numpy.pad(numpy.arange(n), 2, mode="reflect")]


def wrapped(x, n):
    places = numpy.fmod(numpy.arange(-2, n + 3, dtype="int32") + 0.5, 2 * (n - 0.5 + 0.5))
    return x[:, numpy.array(numpy.where(places >= n, 2 * n - places, places) - 0.5, dtype="int32")]


@pytest.mark.parametrize("function", [around, reflected, wrapped])
def test_arrays_that_numpy_makes_by_sizes_have_those_of_the_example(function):
    model = OfColumns(function)
    with pytest.warns(ConversionWarning, match="frozen-dimension"):
        program = flambeau.export(model, (torch.rand(2, 6),), dynamic_shapes=({0: "b", 1: "n"},))
    assert program.inputs[0].sizes == ["b", "6"]
    x = torch.rand(3, 6)
    torch.testing.assert_close(program(x)[0], model(x))
