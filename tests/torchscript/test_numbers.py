"""Python's numbers, text and flags that are known at run time only."""

import math
from typing import Any, Dict, List, Optional, Tuple, Union

import flambeau
import onnx
import pytest
import torch
import torch.nn.functional as F
from cases import SIGNS, Cases, x
from checking import check, compare
from torch import Tensor, nn
from torch.onnx.operators import reshape_from_tensor_shape

case = Cases()
NUMBERS = [(torch.tensor(n),) for n in (1, 2, 5)]


def as_torchscript(*args, **options):
    """Decorates a forward of which TorchScript makes floats where Python makes integers: 2 ** n, round(n)."""

    def add(function):
        def make():
            return torch.jit.script(type(function.__name__, (nn.Module,), {"forward": function})())

        make.__name__ = function.__name__
        return case(*args, how=("script",), **options)(make)

    return add


@case.forward(torch.tensor(3), others=NUMBERS)
def functions_of_floats(self, n):
    f = float(n) / 8
    return (
        math.sin(f), math.cos(f), math.tan(f), math.asin(f), math.acos(f), math.atan(f), math.sinh(f), math.cosh(f), math.tanh(f),
        math.asinh(f), math.acosh(f + 1), math.atanh(f), math.atan2(f, 2.0), math.exp(f), math.expm1(f), math.log(f), math.log10(f),
        math.log1p(f), math.log(f, 3.0), math.sqrt(f), math.pow(f, 2), math.fmod(f, 0.2), math.fabs(-f), math.copysign(f, -1.0),
        math.ldexp(f, 3), math.degrees(f), math.radians(f), math.erf(f), math.erfc(f), math.lgamma(f),
    )  # fmt: skip


@as_torchscript(torch.tensor(3), others=NUMBERS)
def functions_of_integers(self, n):
    i, f = int(n), float(n) + 0.5
    return (
        math.gcd(i, 6), divmod(i + 7, 3), divmod(-i, 3), divmod(f, 0.7), 2**i, i**2, i**-1, pow(i, 2), math.pow(i, 2), round(i), round(f),
        math.log(i, 2), math.sin(i), math.fabs(-i), math.isnan(f), math.isinf(f), math.isfinite(f),
    )  # fmt: skip


@case.forward(torch.tensor(5.5), others=[(torch.tensor(n),) for n in (1.25, 8.75, 3.0)], how=("trace", "script"))
def ranges_of_integers_to_floats(self, n):
    return torch.arange(n), torch.arange(n, dtype=torch.int64), torch.arange(0.5, n, dtype=torch.int32), torch.arange(1, n, 1.5, dtype=torch.int16)


@as_torchscript(x(3, 2), dynamic_axes={"x": {0: "n"}}, others=[(x(5, 2),)])
def sizes_as_numbers(self, x):
    n = x.size(0)
    pairs = torch.tril_indices(n, n + 1, 1), torch.triu_indices(n, 2)
    return n**2, n**64, pairs[0], pairs[1], torch.range(0, n), torch.range(n, 0, -0.5), F.one_hot(torch.arange(2), n)


@case.forward(x(2, 3).abs(), others=SIGNS)
def numbers_of_paths_promote_as_numbers(self, x):
    weight, count, more = 2.0, 3, 1.0
    if bool(x.sum() > 0):
        weight, count = 1.5, 4
    for _ in range(int(x.abs().max()) + 1):
        more = more * 0.5
    h, i = x.half(), (x * 3).to(torch.int32)
    sums = x.mean() * weight, x.sum() + (1.0 if bool(x[0, 0] > 0) else 0.0), h.mean() * more - count, x.mean() * more / weight
    return sums, i.max() * count, i.max() * weight, i.max() // count, (i > 0).sum(dtype=torch.uint8) + count, torch.where(h > 0, h[0, 0], weight)


@case.forward(x(2, 3).abs(), others=SIGNS)
def flags_of_operators(self, x):
    flag = bool(x.sum() > 0)
    return x.sort(1, descending=flag)[0], x.clamp(max=2).argsort(0, descending=not flag)


@case.forward(x(2, 3).abs(), others=SIGNS)
def flags_that_are_decided_once(self, x):
    flag = bool(x.sum() > 0)
    y: Optional[Tensor] = None
    if flag:
        y = x * 2
    if flag and y is not None:
        x = x + y
    elif not flag:
        x = x.sum(0) if flag else x - 1
    return x


@case(torch.tensor([2, 4, 1]), how=("trace", "script"), opset_version=9, others=[(torch.tensor([2**60 + 1, -(2**60) - 1, 2**60]),)])
class IntegersSortedBeforeOpset11(nn.Module):
    def forward(self, n):
        values, places = n.sort(descending=True)
        return values, places, n.sort()[0], n.int().argsort(), n.topk(2, largest=False)[0]


@case.forward(x(5, 2), dynamic_axes={"x": {0: "n"}}, others=[(x(2, 2),)])
def bools_and_nothing(self, x):
    flags = [x.size(0) > 3, x.size(1) > 3]
    none: List[float] = []
    return max(flags), min(flags), max([True, False]), sum(flags), float(sum(none)), torch.zeros(torch.Size([x.size(0), 2]))


@case.forward(torch.tensor(1), others=NUMBERS)
def operators_by_name(self, n):
    i = int(n) - 4
    return torch.ops.aten.angle(float(i)), torch.ops.aten.__round_to_zero_floordiv(i, 3)


@case.forward(x(2))
def parts_of_text(self, x):
    ends = "abcd".endswith("c", 0, 3), "abcd".endswith("d", 0, 3), "abcd".endswith("d", 1), "abcd".endswith("cd", -2)
    return x, "abcd".startswith("b", 1), "abcd".startswith("b"), "abcd".startswith("bc", 1, 2), ends


@case.forward(torch.tensor(2.5), others=[(torch.tensor(n),) for n in (4.0, 0.3, -1.7, 0.5, -0.0)])
def functions_of_several_steps(self, n):
    f = float(n)
    gamma = math.gamma(f) if f != 0 else 0.0
    return gamma, math.modf(f), math.frexp(f), math.remainder(f, 0.7), math.gamma(2.5), math.modf(-1.25)


@case.forward(torch.tensor(3), others=[(torch.tensor(n),) for n in (0, 1, 8)])
def factorials(self, n):
    return math.factorial(int(n)), math.factorial(5)


@case.forward(x(1, 2, 4, 6), torch.tensor(2.0), others=[(x(1, 2, 4, 6), torch.tensor(n)) for n in (1.5, 3.0, 0.5)], opset_version=17)
def interpolated(self, x, n):
    f = float(n)
    nearest = F.interpolate(x, scale_factor=f), F.interpolate(x[0], scale_factor=[f], mode="nearest-exact")
    linear = F.interpolate(x, scale_factor=f, mode="bilinear"), F.interpolate(x[0], scale_factor=f, mode="linear", align_corners=True)
    return nearest, linear, F.interpolate(x, scale_factor=[f, 2.0], mode="bicubic"), F.interpolate(x, scale_factor=f, recompute_scale_factor=True)


FACTORS = [(x(1, 1, 10, 33), torch.tensor(n, dtype=torch.float64)) for n in (2.0, 0.7, 0.6, 1.1, 2.1, 1 / 3)]


def of_factors(opset, dtype):
    class OfFactors(nn.Module):
        def forward(self, x, n):
            f = float(n)
            nearest = F.interpolate(x, scale_factor=f), F.interpolate(x, scale_factor=[f, 1.5], mode="nearest-exact")
            return nearest, F.interpolate(x, scale_factor=f, mode="bilinear"), F.interpolate(x[0], scale_factor=f, mode="linear")

    OfFactors.__name__ = OfFactors.__qualname__ = f"OfFactors{opset}{dtype}".replace("torch.", "")
    return OfFactors


for opset in (9, 11, 17):
    for dtype in (torch.float32, torch.float64):
        args = [(image.to(dtype), n) for image, n in FACTORS]
        case(*args[0], how=("script",), others=args[1:], dynamic_axes={"x": [2, 3]}, opset_version=opset)(of_factors(opset, dtype))


SIZES = [(x(2, 3, 6), torch.tensor(n), torch.tensor(step)) for n, step in ((2, 1), (3, 2), (6, 1))]


@case.forward(*SIZES[0], others=SIZES)
def windows(self, x, n: int, step: int):
    return x.unfold(2, n, step), x.unfold(1, step, n)


@case.forward(x(2, 3, 6), how=("trace", "script"), others=[(x(2, 5, 9),)], dynamic_axes={"x": {1: "c", 2: "t"}})
def windows_by_sizes(self, x):
    return x.unfold(2, x.shape[1], x.shape[1] - 1)


class BySizesInATensor(nn.Module):
    def forward(self, x, sizes):
        return reshape_from_tensor_shape(x, sizes)


@pytest.mark.parametrize("opset", [10, 11, 13, 14])
def test_sizes_in_a_tensor(opset):
    """Before opset 14 a 0 says something else to ONNX."""
    given = [(x(2, 6), torch.tensor(sizes)) for sizes in ([3, 4], [-1, 2], [12, 1])]
    program = check(BySizesInATensor(), given[0], how="trace", others=given, opset_version=opset)
    compare(BySizesInATensor(), program, (x(2, 6), torch.tensor([1, -1])))
    program = check(BySizesInATensor(), given[0], how="trace", dynamic_axes={"x": {0: "n"}, "sizes": {}}, opset_version=opset)
    for sizes in ([0, 7], [5, 0], [0, 0]):
        compare(BySizesInATensor(), program, (x(0, 6), torch.tensor(sizes)))


FLAGS = [(x(2, 3), torch.tensor(flag)) for flag in (True, False)]


@case.forward(*FLAGS[0], others=FLAGS)
def rank_by_a_flag(self, x, flag):
    keep = bool(flag)
    mean = x.mean(1, keepdim=keep)
    if keep:
        mean = mean.squeeze(1)
    return x.amax(1, keepdim=keep).sum(), mean, x.max(1, keepdim=keep)[0].flatten()


@case.forward(x(3, 4), torch.tensor(3), others=[(x(3, 4), torch.tensor(n)) for n in (1, 2)])
def floats_that_meet_numbers_in_tensors(self, x, n):
    p, k = float(x[0, 0]), x[2, 2].item()
    total = torch.ones(())
    for i in range(int(n)):
        total = 0.5 * (total + p / total) + float(x[i, 1])
    return total, x[1, 1] / p, p * x.sum(), p - x[0, 0], x.sum() + k, x.sum().half() * 0.5 + p, n / p, n * int(x.abs().sum())


@case(x(3, 4), how=("script",))
class FloatOfABuffer(nn.Module):
    """A branch on what a buffer holds is decided at conversion; its paths differ in rank."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.tensor([0.5]))

    def forward(self, x):
        if float(self.scale) < 1:
            return x.sum(0)
        return x * float(self.scale)


@case.forward(x(2), torch.tensor(4), others=[(x(2), torch.tensor(n)) for n in (0, 1, 2, 7)])
def windows_of_a_length(self, x, n: int):
    symmetric = torch.hann_window(n, periodic=False), torch.hamming_window(n, False, 0.6, 0.3), torch.blackman_window(n, False)
    return torch.hann_window(n), torch.hamming_window(n), torch.bartlett_window(n), symmetric, torch.bartlett_window(n, False, dtype=torch.float64)


@case.forward(x(2), torch.tensor(4), others=[(x(2), torch.tensor(n)) for n in (0, 1, 2, 7, 50)])
def kaiser_windows_of_a_length(self, x, n: int):
    whole = torch.kaiser_window(n), torch.kaiser_window(n, True), torch.kaiser_window(n + x.size(0), False)
    return whole, torch.kaiser_window(n, False, 5.0), torch.kaiser_window(n, True, beta=8.5, dtype=torch.float64)


@case.forward(x(6, 4), torch.tensor(3), dynamic_axes={"x": {0: "n"}, "k": {}}, others=[(x(n, 4), torch.tensor(k)) for n, k in ((6, 1), (2, 1), (3, 4), (4, 0))])
def resized_by_numbers(self, x, k: int):
    fewer, other = x.clone(), x * 2
    fewer.resize_([k, 2])
    part = (x + 1)[:, 1]
    rows = other[:2]
    other.resize_([4, x.size(0)])
    rows.mul_(3)
    other[0].add_(1)
    nothing = torch.empty(0).resize_([k, x.size(0)]).fill_(2)
    return fewer, other, rows, nothing, x.clone().resize_([k]).neg_(), part


test_numbers = case.test()


class ComparesText(nn.Module):
    def forward(self, x):
        return x * 2 if str(int(x.sum())) == "3" else x


class TextAsKey(nn.Module):
    def forward(self, x):
        found: Dict[str, Tensor] = {}
        found[str(int(x.sum()))] = x
        found[str(int(x.sum() + 1))] = x * 2
        return found["1"]


def reads_of_text():
    def length(self, x):
        return len("n" + str(int(x.sum())))

    def start(self, x):
        return str(int(x.sum())).startswith("1")

    def part(self, x):
        return "1" in str(int(x.sum()))

    def digits(self, x):
        return str(int(x.sum())).isdigit()

    def code(self, x):
        return ord(str(int(x.sum()))[0])

    def pieces(self, x):
        return len(str(int(x.sum())).split("1"))

    def number(self, x):
        return int(str(int(x.sum())))

    def order(self, x):
        return sorted(["7", str(int(x.sum()))])[0]

    def place(self, x):
        return str(int(x.sum())).find("1")

    return [type(read.__name__, (nn.Module,), {"forward": read})() for read in (length, start, part, digits, code, pieces, number, order, place)]


@pytest.mark.parametrize("model", [ComparesText(), TextAsKey(), *reads_of_text()], ids=lambda model: type(model).__name__)
def test_text_that_exists_at_run_time_decides_nothing(model):
    with pytest.raises(flambeau.errors.OnnxExporterError, match="known at run time only"):
        check(model, (torch.ones(3),))


class SizesThatWrap(nn.Module):
    def forward(self, x):
        n = x.size(0)
        hashed = (n + 6364136223846793005) * 1442695040888963407
        return hashed, hashed % 1000, n - (-9223372036854775807 - n), (n * 4611686018427387904 + n) * 4 // 3


def test_sizes_of_which_a_part_overflows_wrap():
    """As TorchScript's integers do, not Python's."""
    scripted = torch.jit.script(SizesThatWrap())
    program = flambeau.export(scripted, (x(3, 2),), dynamic_axes={"x": {0: "n"}}, input_names=["x"], dynamo=False, verbose=False)
    for n in (1, 2, 3, 7):
        assert [int(each) for each in program(x(n, 2))] == list(scripted(x(n, 2)))


class GivesNothing(nn.Module):
    def forward(self, x):
        made: List[Tensor] = []
        return made


class GivesComplexNumber(nn.Module):
    def forward(self, x):
        return x + 1, complex(1.5, -2.0)


def test_nothing_given_out_is_an_error():
    with pytest.raises(flambeau.errors.OnnxExporterError, match="gives out no tensor and no number"):
        flambeau.export(torch.jit.script(GivesNothing()), (torch.ones(3),))


def test_a_complex_number_given_out_is_a_pair():
    program = flambeau.export(torch.jit.script(GivesComplexNumber()), (torch.ones(3),))
    assert [output.tolist() for output in program(torch.ones(3))] == [[2.0] * 3, [1.5, -2.0]]


class GivesFloats(nn.Module):
    def forward(self, x, y: float):
        of_tensors = (x.sum().item(), x.double().sum().item(), x.half().sum().item(), float(x.sum()) + y, float(x.double().sum()) * 2.0)
        return of_tensors, (2.5, y, y * 2.0, x.size(0) / 2, math.sqrt(x.size(0)))


def test_dtypes_of_floats():
    """Python's are float64; a number that comes out of a tensor has its dtype, and one that is computed of such at least float32."""
    program = flambeau.export(torch.jit.script(GivesFloats()), (torch.ones(3), 0.5), input_names=["x"], dynamic_axes={"x": {0: "n"}})
    kinds = [onnx.TensorProto.DataType.Name(output.type.tensor_type.elem_type) for output in program.model_proto.graph.output]
    assert kinds == ["FLOAT", "DOUBLE", "FLOAT16", "FLOAT", "DOUBLE"] + ["DOUBLE"] * 5


class JoinsFloats(nn.Module):
    def forward(self, x, n):
        chosen, total, of_tensors = 0.1, 0.0, 0.0
        if bool(x.sum() > 0):
            chosen = 0.2
        for i in range(int(n)):
            total = total + 0.1
            of_tensors = of_tensors + float(x[0])
        return chosen, total, of_tensors, x * chosen + total


def test_floats_keep_their_digits_through_paths_and_rounds():
    module = JoinsFloats()
    program = flambeau.export(torch.jit.script(module), (torch.ones(3), torch.tensor(2)))
    for x, n in ((torch.ones(3), torch.tensor(3)), (-torch.ones(3), torch.tensor(10)), (torch.ones(3), torch.tensor(0))):
        *floats, y = program(x, n)
        assert [value.dtype for value in floats] == [torch.float64, torch.float64, torch.float32]
        *expected, expected_y = module(x, n)
        assert [float(value) for value in floats[:2]] == expected[:2] and float(floats[2]) == pytest.approx(expected[2])
        torch.testing.assert_close(y, expected_y)


class ListsOfFloats(nn.Module):
    def forward(self, x, n: int):
        made, table = [0.1], [0.1, 0.2, 1.0 / 3.0, 0.7, 0.9]
        pairs: List[Tuple[float, int]] = []
        for i in range(n):
            made.append(made[i] * 1.1)
            pairs.append((0.1 * i, i))
        total = 0.0
        for value, weight in pairs:
            total += value * weight
        exact = made[-1], sum(made), max(made), total, table[n], 0.2 in made, made.index(made[n]), sorted(made)[0]
        return exact, made, torch.tensor(made), torch.tensor(made, dtype=torch.float64), torch.tensor([total, 0.1], dtype=torch.float64), x * made[-1]


@pytest.mark.parametrize("opset", [13, 20])
def test_floats_keep_their_digits_in_lists_of_run_time_length(opset):
    module = ListsOfFloats()
    args = (torch.ones(3), torch.tensor(3))
    program = flambeau.export(torch.jit.script(module), args, opset_version=opset, verify=True)
    for n in range(5):
        exact, made, *tensors = module(torch.ones(3), n)
        actual = list(program(torch.ones(3), torch.tensor(n)))
        assert [value.item() for value in actual[: len(exact)]] == pytest.approx(exact, rel=1e-15, abs=1e-15)
        assert [value.item() for value in actual[len(exact)]] == made
        for ours, theirs in zip(actual[len(exact) + 1 :], tensors, strict=True):
            torch.testing.assert_close(ours, theirs, rtol=1e-15 if theirs.dtype == torch.float64 else 1e-6, atol=0)


def test_rounding_makes_floats_in_torchscript():
    """Of whatever number, unlike in Python."""

    @torch.jit.script
    def rounded(n: Tensor, x: Tensor):
        whole, fraction = n.sum().item(), x.sum().item()
        return round(whole), n * round(whole), n * round(fraction), n * round(n[0].item() + 2)

    args = torch.tensor([3, 4]), torch.tensor([1.5, 2.25])
    for actual, expected in zip(flambeau.export(rounded, args)(*args), rounded(*args), strict=True):
        torch.testing.assert_close(actual, torch.as_tensor(expected, dtype=torch.float64 if isinstance(expected, float) else None))


class IntOrList(nn.Module):
    def forward(self, x, y: Union[int, List[int]]):
        if isinstance(y, int):
            return x * y
        return x - 1


class TensorOrInt(nn.Module):
    def forward(self, x, y: Optional[Union[Tensor, int]]):
        if y is None:
            return x
        if isinstance(y, int):
            return x * y
        return x - 1


class Whatever(nn.Module):
    def forward(self, x, y: Any):
        if isinstance(y, int):
            return x * y
        if isinstance(y, Tensor):
            return x - y
        return x - 1


@pytest.mark.parametrize(
    "model, given, other",
    [
        (IntOrList(), 3, 5),
        (IntOrList(), [3], None),
        (TensorOrInt(), 3, 5),
        (TensorOrInt(), torch.tensor(3), torch.tensor(5)),
        (TensorOrInt(), None, None),
        (Whatever(), 3, 5),
        (Whatever(), 3.0, 5.0),
        (Whatever(), torch.tensor(3), torch.tensor(5)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_isinstance_tells_a_number_from_a_tensor(model, given, other):
    scripted = torch.jit.script(model)
    program = flambeau.onnx.export(scripted, (x(2, 3), given), None, dynamo=False)
    for y in (given, given if other is None else other):
        torch.testing.assert_close(program(x(2, 3), y)[0], scripted(x(2, 3), y))


class Ranges(torch.nn.Module):
    def forward(self, n: torch.Tensor):
        end = float(n)
        return torch.arange(5.5, dtype=torch.int64), torch.arange(-0.5, end, dtype=torch.int64), torch.arange(end, 0.5, -1.5, dtype=torch.int64)


# As the releases themselves give them, for 2.5.
COUNTED = {"2.13.0": ([0, 1, 2, 3, 4], [0, 1], [2, 1]), "2.14.1+cpu": ([0, 1, 2, 3, 4, 5], [0, 1, 2], [2, 1])}


@pytest.mark.parametrize("release", COUNTED)
def test_ranges_of_floats_to_int64_are_those_of_the_release(release, monkeypatch):
    monkeypatch.setattr(torch, "__version__", release)
    program = flambeau.export(torch.jit.script(Ranges()), (torch.tensor(1.5),), verbose=False)
    assert [each.tolist() for each in program(torch.tensor(2.5))] == list(COUNTED[release])
