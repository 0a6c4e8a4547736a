"""What a model keeps in plain attributes from one call to the next is no part of the ONNX model, which says so."""

import warnings

import pytest
import torch

import flambeau

X = torch.linspace(-1, 1, 4)


class Keeps(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.calls, self.rows, self.cache = torch.zeros(4), 0, [torch.zeros(4)], None
        self.register_buffer("mean", torch.zeros(4))


class WritesAttributes(Keeps):
    def forward(self, x):
        result = x + self.last * self.calls
        self.last, self.calls = x, self.calls + 1
        return result


class Appends(Keeps):
    def forward(self, x):
        result = x + self.rows[-1]
        self.rows.append(x)
        return result


class Caches(Keeps):
    def forward(self, x):
        self.cache = x if self.cache is None else torch.cat([self.cache, x])
        return self.cache * 2


class Within(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = WritesAttributes()

    def forward(self, x):
        return self.inner(x)


class Bag:
    def __init__(self):
        self.last = torch.zeros(4)


class InAnObject(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.bags = [Bag()]

    def forward(self, x):
        result = x + self.bags[0].last
        self.bags[0].last = x
        return result


class FillsABuffer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", None)

    def forward(self, x):
        self.mean = x if self.mean is None else self.mean * 0.5 + x
        return x + self.mean


class OnlyLookedAt(Keeps):
    """What nothing reads before it is written, and what is computed but once."""

    def forward(self, x):
        if self.cache is None:
            self.cache = torch.arange(4.0)
        self.last, self.calls = x * 2, self.calls + 1
        self.rows.append(self.last)
        return self.last + self.cache


class FillsATable(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("table", None)

    def forward(self, x):
        if self.table is None:
            self.table = torch.arange(4.0)
        return x + self.table


class KeepsABufferToo(Keeps):
    """The state of which comes with state outputs."""

    def forward(self, x):
        self.last, self.mean = x, self.mean * 0.5 + x
        return x + self.mean


def warned(model, options):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        flambeau.export(model, (X,), state_outputs=True, **options)
    return [str(each.message) for each in said if issubclass(each.category, flambeau.errors.ConversionWarning)]


OPTIONS = pytest.mark.parametrize("options", [{}, {"capture": "trace"}, {"capture_strategies": ["strict"]}], ids=["export", "trace", "strict"])


@OPTIONS
@pytest.mark.parametrize(
    ("model", "names"),
    [
        (WritesAttributes, "'last', 'calls'"),
        (Appends, "'rows'"),
        (Caches, "'cache'"),
        (Within, "'inner.last', 'inner.calls'"),
        (FillsABuffer, "'mean'"),
        (InAnObject, "'bags'"),
    ],
)
def test_state_that_is_lost_is_warned_of(model, names, options):
    (text,) = warned(model(), options)
    assert f"the model changes {names}, and a second call with the example gives something else" in text


@OPTIONS
@pytest.mark.parametrize("model", [OnlyLookedAt, FillsATable, KeepsABufferToo])
def test_other_attributes_are_not(model, options):
    assert not [text for text in warned(model(), options) if "a second call" in text]


class WithGradients(Keeps):
    def forward(self, x):
        with torch.enable_grad():
            x = x.clone().requires_grad_()
            slope = torch.autograd.grad((x * x * x).sum() + (x * self.last).sum(), x)[0]
        self.last = slope
        return slope


def test_state_of_a_model_that_computes_gradients_is_warned_of():
    (text,) = warned(WithGradients(), {})
    assert "the model changes 'last', and a second call with the example gives something else" in text


class Counts(torch.nn.Module):
    def __init__(self, start):
        super().__init__()
        self.register_buffer("count", torch.full((3,), start))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


class ReplacesAModule(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Counts(1.0)

    def forward(self, x):
        first = self.part(x)
        self.part = Counts(5.0)
        return first * self.part(x)


@pytest.mark.parametrize("capture", ["export", "trace"])
def test_a_module_that_is_replaced_is_state(capture):
    with pytest.warns(flambeau.errors.ConversionWarning, match="the model changes 'part', and a second call"):
        flambeau.export(ReplacesAModule(), (torch.randn(3),), capture=capture)
