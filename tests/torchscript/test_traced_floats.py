"""What Python's math makes of sizes is a float to a trace as to PyTorch: of the default dtype in tensors, of float64 while Python computes with it."""

import math
import queue

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from checking import Calls

import flambeau


FUNCTIONS = {
    "tensors": lambda x: (torch.tensor(math.sqrt(x.size(0))), torch.as_tensor(1 / math.sqrt(x.shape[0])), torch.scalar_tensor(math.log(x.size(0)))),
    "tensors of lists": lambda x: (
        torch.tensor([math.log(x.size(0)), 1.0]),
        torch.tensor([[x.size(0), 2], [math.sqrt(x.size(0)), x.size(0) / 3]]),
        torch.as_tensor([x.size(0), True]),
    ),
    "tensors of a dtype": lambda x: (
        torch.tensor(math.sqrt(x.size(0)), dtype=torch.float64),
        torch.as_tensor(math.sqrt(x.size(0)), dtype=torch.float64) * torch.arange(3),
        torch.as_tensor(x.size(0), dtype=torch.float64) * torch.arange(3),
        torch.full((2,), math.hypot(x.size(0), 3), dtype=torch.float64),
    ),
    "integers": lambda x: (x.long() * math.sqrt(x.size(1)), (x > 0) * math.log(x.size(0)), torch.arange(x.size(0)) * math.log(x.size(0))),
    "floats of 16 bits": lambda x: (x.half() * math.sqrt(x.size(0)), torch.where(x > 0, math.sqrt(x.size(0)), x.half())),
    "floats of 64 bits": lambda x: (x.double() * math.sqrt(x.size(0)), torch.add(x.double(), x.double(), alpha=math.cos(x.size(0)))),
    "no dimensions": lambda x: (
        x.half()[0, 0] * math.sqrt(x.size(0)),
        x.int()[0, 0] + math.exp(x.size(0) / 10),
        abs(math.cos(x.size(0))) * x.half()[0, 0],
        x.to(torch.int8)[0, 0] * math.ceil(x.size(0) / 2),
    ),
    "where": lambda x: torch.where(x > 0, math.sqrt(x.size(1)), 0.0),
    "limits": lambda x: (x.clamp(max=math.log(x.size(0))), x.masked_fill(x > 0, math.sqrt(x.size(0)))),
    "comparisons": lambda x: (x.long() > math.sqrt(x.size(0)), x.double() == math.sqrt(x.size(0)), math.sqrt(x.size(0)) < x),
    "powers": lambda x: (torch.pow(math.sqrt(x.size(0)), x), math.sqrt(x.size(0)) ** x.long()),
    "arithmetic": lambda x: x.double() * (1 / math.sqrt(x.size(0)) - math.pow(x.size(0), 0.3) ** 2 % 3 + 2 ** math.log2(x.size(0) + 1) // 2),
    "two numbers": lambda x: x.double() * (math.fmod(x.size(0), 2.5) - math.atan2(3, x.size(0)) + math.copysign(x.size(0), -1.0) + math.hypot(3, x.size(0))),
    "angles": lambda x: x.double() + math.degrees(x.size(0)) * math.radians(x.size(0)) + math.asinh(x.size(0)) - math.erf(x.size(0) / 9),
    "extremes": lambda x: x.long() * max(2.5, math.sqrt(x.size(0))) + min(2.5, math.sqrt(x.size(0)), x.size(0)) * torch.tensor(round(math.sqrt(x.size(0)), 2)),
    "products with other quotients": lambda x: x.long() * (math.sqrt(x.size(0)) * (x.size(0) / 3)) + (x.size(0) / 3 + math.sqrt(x.size(0)) * x.size(0)),
    "sizes": lambda x: (
        x[:, : math.floor(math.sqrt(x.size(0)) * 2)],
        x[:, : math.ceil(math.log(x.size(0)) / math.log(2))],
        torch.arange(math.trunc(math.fabs(x.size(0)))),
    ),
    "tensors of another dtype": lambda x: (
        torch.as_tensor(x.size(0)).to(torch.float16) * torch.arange(3),
        torch.as_tensor(x.size(0)).to(torch.float32) * x.half()[0, 0],
        torch.as_tensor(math.sqrt(x.size(0))).to(torch.float64) * torch.arange(3),
        torch.as_tensor(math.sqrt(x.size(0))).to(torch.float16) * torch.arange(3),
    ),
    "tens": lambda x: (x.long() * round(x.size(0) * 7, -1), x.long() * round(x.size(0) * 7, 1)),
    "layers": lambda x: F.linear(x.long() * math.sqrt(x.size(1)), torch.ones(3, x.size(1))),
}


def check(function, *sizes):
    model = Calls(function)
    example = torch.randn(*sizes[0]) * 3
    dynamic = {"dynamic_axes": {"x": [0, 1]}} if len(sizes) > 1 else {}
    program = flambeau.export(model, (example,), dynamo=False, input_names=["x"], verbose=False, **dynamic)
    for x in (torch.randn(*shape) * 3 for shape in sizes):
        wanted = model(x)
        torch.testing.assert_close(tuple(program(x)), wanted if isinstance(wanted, tuple) else (wanted,))


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("sizes", [[(4, 16)], [(4, 16), (8, 17)]], ids=["static", "dynamic"])
def test_floats_of_sizes(function, sizes):
    check(function, *sizes)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16])
def test_floats_are_of_the_default_dtype(dtype):
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        for name in ("tensors", "tensors of lists", "integers", "arithmetic"):
            check(FUNCTIONS[name], (4, 16), (8, 17))
    finally:
        torch.set_default_dtype(before)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_what_python_reads_is_whole():
    said = queue.SimpleQueue()  # a list would be as it was before

    def reads(x):
        root = math.sqrt(x.size(0))
        said.put([float(root), int(math.log(8) / math.log(2 * x.size(0)) * 3), f"{root:.12f} {root}", str(root), root > 1.7320508, root == math.sqrt(3)])
        return x * root

    x = torch.randn(3, 4)
    flambeau.export(Calls(reads), (x,), dynamo=False, verbose=False)
    while not said.empty():
        traced = said.get()
    reads(x)
    assert traced == said.get()


def test_the_tracers_warning_names_the_models_line():
    with pytest.warns(torch.jit.TracerWarning, match="Python float") as found:
        flambeau.export(Calls(lambda x: x * float(math.sqrt(x.size(0)))), (torch.randn(3, 4),), dynamo=False, verbose=False)
    assert {each.filename for each in found if each.category is torch.jit.TracerWarning} == {__file__}


@pytest.mark.parametrize("options", [{}, {"dynamic_axes": {"x": [0]}}], ids=["static", "dynamic"])
def test_floats_that_are_returned(options):
    """They have the dtypes that the other captures give them, though they are float32 in tensors."""
    model, x = Calls(lambda x: (x, 1.5, math.sqrt(x.size(0)), x.size(0) / 3, x.size(0) // 2, x.size(0) > 2)), torch.randn(3, 4)
    program = flambeau.export(model, (x,), dynamo=False, input_names=["x"], verbose=False, **options)
    dtypes = [result.dtype for result in program(x)]
    assert dtypes == [result.dtype for result in flambeau.export(model, (x,), verbose=False)(x)]
    assert dtypes == [torch.float32, *[torch.float64] * 3, torch.int64, torch.bool]
    torch.testing.assert_close([float(each) for each in program(x)[1:4]], [1.5, math.sqrt(3), 1.0], rtol=1e-15, atol=0)


QUOTIENTS = {
    "quotient": lambda n: math.floor(n / 7 * 0.7 * 10),
    "of a number": lambda n: math.ceil(21 / n * 3),
    "product": lambda n: math.floor(0.1 * n * 30) + math.floor(n * np.float64(0.7) * 10),
    "power": lambda n: math.floor(n**-1 * 5) + math.floor(n**1.5),
    "remainder": lambda n: math.floor(n % 0.3 * 100) + math.floor(n // 0.3),
    "of two sizes": lambda n: math.floor((n + 1) / (n + 3) * 100),
    "both": lambda n: divmod(n, 3)[1] + divmod(100, n)[0] + divmod(n, 2.5)[1],
    "float": lambda n: n / 3,
}


def test_quotients_of_sizes_are_as_precise_as_pythons():
    program = flambeau.export(
        Calls(lambda x: tuple(of(x.size(0)) for of in QUOTIENTS.values())),
        (torch.randn(3),),
        dynamo=False,
        input_names=["x"],
        dynamic_axes={"x": [0]},
        verbose=False,
    )
    for n in range(1, 200):
        assert [number.item() for number in program(torch.zeros(n))] == [of(n) for of in QUOTIENTS.values()], n


def test_numbers_of_numpy_are_returned():
    values = np.int32(3), np.float32(2.5), np.bool_(True), np.arange(3.0)
    program = flambeau.export(Calls(lambda x: (x, *values)), (torch.randn(3),), dynamo=False, verbose=False)
    for result, value in zip(program(torch.zeros(3))[1:], values, strict=True):
        torch.testing.assert_close(result, torch.from_numpy(np.array(value)))
