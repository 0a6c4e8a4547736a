"""Models that ask what is in their own constants."""

import logging
import math
import types

import numpy
import pytest
import torch

import flambeau
from flambeau.capture.sizes.scalars import RULES, Number
from flambeau.errors import CaptureError, OnnxExporterError


class Flags(torch.nn.Module):
    """A flag, a number that is computed from a buffer, and a count of rounds."""

    def __init__(self):
        super().__init__()
        self.register_buffer("initialized", torch.tensor(True))
        self.register_buffer("rounds", torch.tensor(3))
        self.weight = torch.nn.Parameter(torch.randn(4))

    def forward(self, x):
        if self.initialized:
            x = x * self.weight
        if not self.initialized.item():
            x = x - 1
        if self.rounds - 1 > 1:
            x = x + 1
        for _ in range(int(self.rounds)):
            x = x * 2
        return x


class DataInitialized(torch.nn.Module):
    """The activation normalization of flows: its first batch decides what it does."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.tensor(0))
        self.scale = torch.nn.Parameter(torch.ones(4))

    def forward(self, x):
        if self.seen == 0:
            self.scale.data = 1 / x.std(0)
            self.seen.fill_(1)
        return x * self.scale


class Gated(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = torch.nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        return x * self.gate if self.gate > 0 else x + float(self.gate)


class Learns(torch.nn.Module):
    """What decides is written."""

    def __init__(self):
        super().__init__()
        self.calls = torch.nn.Parameter(torch.tensor(0.0))

    def forward(self, x):
        self.calls.data = self.calls.data + 1
        if self.calls > 3:
            x = x + 1
        return x


class Counts(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        if self.calls > 3:
            x = x + 1
        self.calls += 1
        return x


class Steps(torch.nn.Module):
    """A solver that goes over times, which it makes itself."""

    def forward(self, x):
        times = torch.linspace(0, 1, 5)
        if times[0] > times[1]:
            times = -times
        for begin, end in zip(times[:-1], times[1:]):
            if end - begin > 0:
                x = x + (end - begin) * torch.tanh(x)
        return x


class StepsOfAGrid(torch.nn.Module):
    """A solver that writes into the times that it makes."""

    def forward(self, x):
        times = torch.tensor([0.0, 0.3, 1.0])
        grid = torch.arange(0, torch.ceil((times[-1] - times[0]) / 0.125 + 1).item(), dtype=times.dtype) * 0.125
        grid[-1:].copy_(times[-1:])
        grid[1] += 0.01
        seen = 1
        for begin, end in zip(grid[:-1], grid[1:]):
            x = x + (end - begin) * torch.tanh(x)
            while seen < len(times) and end >= times[seen]:
                x, seen = x * 2, seen + 1
        return x


class Kinds(torch.nn.Module):
    """Which columns are continuous, in a plain attribute, which was written before."""

    def __init__(self):
        super().__init__()
        self.continuous = torch.ones(4, dtype=torch.bool)
        self.continuous[1] = False

    def forward(self, x):
        return torch.stack([x[:, i] if kept else x[:, i] * 2 for i, kept in enumerate(self.continuous)], 1)


class CountsInAnAttribute(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = torch.tensor(0)

    def forward(self, x):
        if self.calls > 3:
            x = x + 1
        self.calls = self.calls + 1
        return x


class CountsByAssignment(Counts):
    def forward(self, x):
        if self.calls > 3:
            x = x + 1
        self.calls = self.calls + 1
        return x


class Drops(torch.nn.Module):
    """Whether a layer runs is drawn: one draw of the capture says nothing of the next run."""

    def __init__(self):
        super().__init__()
        self.register_buffer("rate", torch.tensor(0.5))

    def forward(self, x):
        if torch.rand_like(self.rate) < self.rate:
            x = x + 1
        return x


class DropsByRate(Drops):
    def forward(self, x):
        if torch.bernoulli(self.rate) > 0:
            x = x + 1
        return x


@pytest.mark.parametrize("model", [Flags(), DataInitialized(), Steps(), StepsOfAGrid(), Gated(), Kinds()], ids=lambda model: type(model).__name__)
def test_what_is_in_a_constant_decides(model):
    if isinstance(model, DataInitialized):
        model(torch.randn(8, 4))
    program = flambeau.export(model, (torch.randn(3, 4),), dynamic_shapes=({0: "rows"},))
    assert program.capture_strategy == "non-strict, with its constants known"
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(program(x)[0], model(x))


@pytest.mark.parametrize("model", [Counts(), CountsByAssignment(), CountsInAnAttribute(), Learns()], ids=lambda model: type(model).__name__)
def test_what_is_written_does_not(model):
    with pytest.raises(CaptureError, match=r"test_known_constants.py:\d+: if self.calls"):
        flambeau.export(model, (torch.randn(3, 4),))


@pytest.mark.parametrize("model", [Drops(), DropsByRate()], ids=lambda model: type(model).__name__)
def test_what_is_drawn_does_not(model):
    with pytest.raises(CaptureError, match=r"test_known_constants.py:\d+: if torch\."):
        flambeau.export(model, (torch.randn(3, 4),), capture="export")


def test_another_value_wants_another_export():
    model = Flags()
    program = flambeau.export(model, (torch.randn(3, 4),))
    state = {name: value.clone() for name, value in model.state_dict().items()}
    program.apply_weights({**state, "weight": torch.ones(4)})
    x = torch.randn(3, 4)
    torch.testing.assert_close(program(x)[0], 8 * (x + 1))
    with pytest.raises(OnnxExporterError, match="the value of 'rounds' decided what was captured"):
        program.apply_weights({**state, "rounds": torch.tensor(5)})
    gated = flambeau.export(Gated(), (torch.randn(3, 4),))
    with pytest.raises(OnnxExporterError, match="the value of 'gate' decided what was captured"):
        gated.apply_weights({"gate": torch.tensor(-0.5)})


class Padded(torch.nn.Module):
    """A codec pads to whole frames, which it computes with numbers in buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("stride", torch.tensor(4))
        self.register_buffer("kernel", torch.tensor(7))
        self.register_buffer("before", torch.tensor(3))

    def forward(self, x):
        length = x.shape[-1]
        frames = (length - self.kernel + self.before) / self.stride + 1
        after = (torch.ceil(frames).to(torch.int64) - 1) * self.stride + self.kernel - self.before - length
        more = 0
        if length <= max(self.before, after):
            more = max(self.before, after) - length + 1
            x = torch.nn.functional.pad(x, (0, more))
        padded = torch.nn.functional.pad(x, (self.before, after), "reflect")
        return padded[..., : padded.shape[-1] - more]


class Framed(torch.nn.Module):
    """All of the time is one frame, unless frames are cut from it: a loop over places, behind which a buffer is asked."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kernel", torch.tensor(3))

    def forward(self, x):
        length, frames = x.shape[1], []
        for offset in range(0, length, length):
            frame = x[:, offset : offset + length]
            if self.kernel > 2:
                frame = torch.nn.functional.pad(frame, (1, 1), "reflect")
            frames.append(frame)
        return torch.stack(frames)


def test_a_constant_behind_a_loop():
    model, first, second = Framed(), torch.randn(2, 20), torch.randn(3, 7)  # of more rounds than are written out at once
    program = flambeau.export(model, (first,), dynamic_shapes=({0: "batch", 1: "time"},), capture="export")
    for x in (first, second):
        torch.testing.assert_close(program(x)[0], model(x))


def test_sizes_that_go_through_tensors():
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where .* < n"):
        program = flambeau.export(Padded(), (torch.randn(2, 1, 21),), dynamic_shapes=({0: "batch", 2: "n"},))
    for n in (21, 22, 23, 24, 40, 5):
        x = torch.randn(3, 1, n)
        torch.testing.assert_close(program(x)[0], Padded()(x))


def test_a_dimension_that_a_model_of_constants_fixes():
    class Fixed(Padded):
        def forward(self, x):
            return super().forward(x) * torch.eye(x.shape[0]).tolist()[0][0]

    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 2"):
        program = flambeau.export(Fixed(), (torch.randn(2, 1, 21),), dynamic_shapes=({0: "batch", 2: "n"},))
    x = torch.randn(2, 1, 30)
    torch.testing.assert_close(program(x)[0], Fixed()(x))


def test_a_number_that_a_size_went_into_and_that_is_written():
    class Written(Padded):
        def forward(self, x):
            self.stride.add_(1)
            if x.shape[-1] - self.stride > 4:
                x = x + 1
            return x

    with pytest.raises(CaptureError, match="data-dependent"):
        flambeau.export(Written(), (torch.randn(2, 1, 21),), dynamic_shapes=({2: "n"},), capture="export")


class Stretched(torch.nn.Module):
    """Pads by what `amount` makes of the length and a buffer, which a question decides."""

    def __init__(self, factor, amount):
        super().__init__()
        self.register_buffer("factor", torch.tensor(factor))
        self.amount = amount

    def forward(self, x):
        more = self.amount(x.shape[-1], self.factor)
        if more < 0:
            more = more * 0
        return torch.nn.functional.pad(x, (0, more))


_EXACT = {
    "up": (3, lambda n, k: torch.ceil(n / k).long()),
    "dyadic factor": (1.5, lambda n, k: torch.ceil(n * k).long() - n),
    "quotient and half": (3, lambda n, k: torch.floor(n / k + 0.5).int()),
    "bounded quotient": (7.0, lambda n, k: torch.maximum(n / k - 2, k * 0).to(torch.int64)),
    "quarters": (4, lambda n, k: (n / k * 3 / 2).ceil().long()),
    "whole quotient": (3, lambda n, k: torch.div(n * k + 1, 2 * k, rounding_mode="floor")),
}

_ROUNDED = {
    "product of a quotient": (3, lambda n, k: torch.ceil((n / k) * 3).long() - n),
    "factor": (1.1, lambda n, k: torch.ceil(n * k).long() - n),
    "divisor": (1.1, lambda n, k: torch.floor(n / k).long()),
    "quotient of a quotient": (3, lambda n, k: torch.ceil(n / k / 5).long()),
    "sum of quotients": (3, lambda n, k: torch.ceil(n / k + n / (2 * k)).long()),
    "many sums on a quotient": (3, lambda n, k: torch.ceil(n / k + 1 + 1 + 1 + 1).long()),
    "item of a quotient": (3, lambda n, k: math.ceil((n / k).item() * 3) - n),
}


@pytest.mark.parametrize("case", _EXACT)
@pytest.mark.filterwarnings("ignore::flambeau.errors.ConversionWarning")
def test_what_rounding_does_not_tell_is_followed(case):
    model = Stretched(*_EXACT[case])
    program = flambeau.export(model, (torch.randn(2, 7),), dynamic_shapes=({1: "n"},), capture="export")
    for n in (*range(3, 40), 1001, 4_000_001):
        assert program(torch.zeros(1, n).expand(2, n))[0].shape == model(torch.zeros(2, n)).shape, n


@pytest.mark.parametrize("case", _ROUNDED)
def test_what_rounding_may_tell_is_a_value(case):
    with pytest.raises(CaptureError, match="data-dependent"):
        flambeau.export(Stretched(*_ROUNDED[case]), (torch.randn(2, 7),), dynamic_shapes=({1: "n"},), capture="export")


@pytest.mark.parametrize("rounds", [8, 64])
def test_numbers_that_no_one_asks_for(rounds):
    """Expressions do not share what is used twice: that of all rounds would double with each."""

    class Grows(Stretched):
        def forward(self, x):
            total = x.shape[0] * self.factor
            if total < 3:
                x = x + 1
            for _ in range(rounds):
                total = torch.minimum((total + self.factor) // 2 + total, self.factor * 100)
            return x + total

    model = Grows(3, None)
    program = flambeau.export(model, (torch.randn(4, 2),), dynamic_shapes=({0: "n"},))
    x = torch.randn(7, 2)
    torch.testing.assert_close(program(x)[0], model(x))


def test_operations_are_counted():
    number = Number(3)
    followed = 0
    while (number := RULES[torch.add](number, number)) is not None:
        followed += 1
        assert number.operations < 64
    assert followed < 8


def test_a_mask_and_a_flag():
    class Masked(Flags):
        def forward(self, x, mask):
            x = super().forward(x)
            if not mask.all():
                x = x.masked_fill(~mask, 0)
            return x

    model = Masked()
    program = flambeau.export(model, (torch.randn(3, 4), torch.ones(4, dtype=torch.bool)), dynamic_shapes=({0: "rows"}, None))
    for mask in (torch.ones(4, dtype=torch.bool), torch.tensor([True, False, True, False])):
        x = torch.randn(5, 4)
        torch.testing.assert_close(program(x, mask)[0], model(x, mask))


class FixedFlags(Flags):
    def forward(self, x):
        return super().forward(x) * torch.eye(x.shape[0]).tolist()[0][0]


@pytest.mark.parametrize("dim", ["batch", torch.export.Dim("batch")], ids=["name", "Dim"])
def test_a_dimension_that_is_fixed_behind_a_flag(dim):
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 3"):
        program = flambeau.export(FixedFlags(), (torch.randn(3, 4),), dynamic_shapes=({0: dim},), capture="export")
    assert "with its constants known" in program.capture_strategy


def test_the_error_is_of_what_is_in_the_way_once_constants_are_known():
    class Decides(Flags):
        def forward(self, x):
            x = super().forward(x)
            if x.sum() > 0:
                x = x + 1
            return x

    with pytest.raises(CaptureError, match="conflicts between"):
        flambeau.export(FixedFlags(), (torch.randn(3, 4),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},), capture="export")
    with pytest.raises(CaptureError, match=r"if x.sum\(\) > 0"):
        flambeau.export(Decides(), (torch.randn(3, 4),), capture="export")


class Shares(torch.nn.Module):
    """It holds what others share, and counts in a namespace."""

    def __init__(self):
        super().__init__()
        self.logger, self.own = logging.getLogger("of a model"), types.SimpleNamespace(count=0)

    def forward(self, x):
        logging.getLogger("made in forward").debug("ran")
        self.own.count += 1
        return x + self.own.count


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_an_export_undoes_what_a_model_does_to_itself_alone(capture):
    model = Shares()
    logging.root.manager.loggerDict.pop("made in forward", None)
    flambeau.export(model, (torch.zeros(2),), capture=capture)
    assert model.own.count == 0
    assert "made in forward" in logging.root.manager.loggerDict


class Schedule:
    """Of a sampler: no module."""

    def __init__(self):
        self.alphas = torch.linspace(0.99, 0.1, 1000)

    def prepare(self, steps):
        self.times = torch.arange(1000 - 1, -1, -1000 // steps)
        self.sigmas = torch.from_numpy(numpy.array(((1 - self.alphas) / self.alphas) ** 0.5).astype(numpy.float32))

    def step(self, x, time):
        found = (self.times == time).nonzero()
        before = time - 333
        scale = self.alphas[before] if before >= 0 else torch.tensor(1.0)
        return x * scale - self.sigmas[self.times[found[1 if len(found) > 1 else 0].item()]]


class Samples(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.schedule = Schedule()

    def forward(self, x):
        self.schedule.prepare(4)
        for time in self.schedule.times:
            x = self.schedule.step(x, time)
        return x


def test_constants_of_objects_decide():
    model = Samples()
    program = flambeau.export(model, (torch.randn(3, 4),), dynamic_shapes=({0: "rows"},))
    assert vars(model.schedule).keys() == {"alphas"}, "an export leaves the model as it was"
    for rows in (3, 5):
        x = torch.randn(rows, 4)
        torch.testing.assert_close(program(x)[0], Samples()(x))
