"""Sizes known only at run time: names and expressions in the model, other sizes in its runs."""

import operator
import warnings

import pytest
import torch
from .checking import compare, convert, sizes_of

import flambeau

X, LONGER = torch.randn(3, 4), torch.randn(7, 4)


def model_of(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    return Model()


def nonzero_twice(x):
    return torch.cat([x.nonzero(), (x > 1).nonzero()])


def masked(x):
    return x[x > 0]


def size_from_a_number(x):
    count = (x > 0).sum().item()
    torch._check(count >= 0)
    return x.new_zeros(count) + 1


def size_from_two_numbers(x):
    count = (x > 0).sum().item()
    torch._check(count >= 0)
    return torch.arange(2 * count + 1)


@pytest.mark.parametrize(
    ("function", "sizes"),
    [
        (lambda x: torch.cat([x, x, x[:1]]), ["2*batch + 1", 4]),
        (lambda x: x.reshape(-1), ["4*batch"]),
        (lambda x: x[::2], ["floor(batch/2 + 1/2)", 4]),
        (lambda x: torch.nn.functional.pad(x, (1, 2, 3, 0)), ["batch + 3", 7]),
        (lambda x: x[:, None] + x, ["batch", "batch", 4]),
        (lambda x: torch.arange(x.shape[0] * 3), ["3*batch"]),
        (lambda x: x.new_full((x.shape[0] + 2, x.shape[0] - 1), 5.0), ["batch + 2", "batch - 1"]),
        (lambda x: torch.tensor([x.shape[0], x.numel()]), [2]),
    ],
)
def test_expressions_over_named_dimensions(function, sizes):
    model = model_of(function)
    program = convert(model, (X,), ({0: "batch"},))
    (found,) = sizes_of(program.model_proto.graph.output)
    assert len(found) == len(sizes)
    # The text is checked by its values: there are many ways to write one expression.
    for ours, theirs in zip(found, sizes):
        for batch in (3, 7, 8):
            names = {"batch": batch, "floor": lambda value: value.__floor__()}
            assert eval(str(ours), names) == eval(str(theirs), names)
    compare(program, model, (X,), (LONGER,))


@pytest.mark.parametrize("function", [nonzero_twice, masked, size_from_a_number, size_from_two_numbers])
def test_sizes_that_depend_on_values(function):
    model = model_of(function)
    program = convert(model, (X,), ({0: "batch"},))
    compare(program, model, (X,), (LONGER,), (-X.abs(),))


@pytest.mark.parametrize("function", [nonzero_twice, masked, size_from_a_number, size_from_two_numbers])
def test_no_name_is_one_of_the_capture(function):
    program = convert(model_of(function), (X,), ({0: "batch"},), optimize=False)
    graph = program.model_proto.graph
    words = {str(size) for sizes in sizes_of([*graph.input, *graph.value_info, *graph.output]) for size in sizes}
    assert sizes_of(graph.input) == [["batch", 4]]
    assert not [word for word in words if any(word.lstrip("0123456789*").startswith(c) and word[1:].isdigit() for c in "su")]


@pytest.mark.parametrize("size", [0, 1, 2])
def test_any_example_size_stays_dynamic(size):
    model = model_of(lambda x: (x * 2).sum(1) + x.shape[0])
    program = convert(model, (torch.randn(size, 4),), {"x": {0: "batch"}})
    assert sizes_of(program.model_proto.graph.input) == [["batch", 4]]
    compare(program, model, (X,), (LONGER,), (torch.randn(1, 4),))


def unroll(x):
    total = x[0]
    for i in range(1, operator.index(x.shape[0])):
        total = total + x[i]
    return total


def converted(x):
    total = x[0]
    for i in range(1, int(x.shape[0])):
        total = total + x[i]
    return total


def test_int_of_a_size_stays_dynamic():
    program = convert(model_of(converted), (X,), {"x": {0: "batch", 1: "width"}})
    assert sizes_of(program.model_proto.graph.input) == [["batch", "width"]]
    compare(program, model_of(converted), (X,), (LONGER,), (torch.randn(1, 4),))


def test_dimension_that_the_model_fixes_is_a_warning_with_its_line():
    with pytest.warns(Warning, match=r"(?s)dimension 0 of input 'x' was declared dynamic \('batch'\).*fixes it at 3"):
        program = flambeau.export(model_of(unroll), (X,), dynamic_shapes={"x": {0: "batch", 1: "width"}}, capture="export")
    assert sizes_of(program.model_proto.graph.input) == [[3, "width"]]
    (diagnostic,) = [d for d in program.diagnostics if "fixes it" in d.message]
    line = unroll.__code__.co_firstlineno + 2
    assert diagnostic.location.source.endswith(f"test_dynamic.py:{line}")
    compare(program, model_of(unroll), (torch.randn(3, 9),))


def skips_what_is_empty(x):
    rows = (x.sum(1) > 0).nonzero()[:, 0]
    return x.index_add(0, rows, x[rows] * 3) if len(rows) > 0 else x


def test_no_rows_are_as_right_as_some():
    """The capture decides that there are rows, says so, and what it computes holds for none as well."""
    model = model_of(skips_what_is_empty)
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"whether there is \(test_dynamic.py:\d+: return x.index_add"):
        program = convert(model, (X,), ({0: "batch"},))
    compare(program, model, (X,), (LONGER,), (-LONGER.abs(),))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[: int(x.shape[0] * 0.7)],
        lambda x: torch.nn.functional.interpolate(x[None, None], size=[int(x.shape[0] * (8 / min(x.shape[0], 4))), 4]),
        lambda x: x / len(x[x > 0]),
        lambda x: x + ((x.shape[1] == 4) ^ (x.shape[0] < 2)) + (True ^ (x.shape[0] < 5)),
    ],
)
def test_sizes_stay_dynamic_through_python_functions(function):
    model = model_of(function)
    program = convert(model, (X,), ({0: "batch"},))
    compare(program, model, (X,), (LONGER,))


class Heard(torch.nn.Module):
    """A spectrum of frames whose distance follows the signal's length, and a signal as long as its input, or a part of that."""

    def forward(self, x):
        window = torch.hann_window(16)
        spectra = torch.stft(x, 16, 4, window=window, return_complex=True)
        whole = torch.istft(spectra, 16, 4, window=window, length=x.shape[1])
        part = spectra.istft(16, 4, window=window, length=int(round(x.shape[1] / 1.5)))
        apart, one = (torch.stft(each, 16, x.shape[1] // 10, window=window, return_complex=True).abs() for each in (x, x[0]))
        return whole, part, apart, one


def test_signals_stay_dynamic():
    x, longer = torch.randn(2, 40), torch.randn(3, 63)
    compare(convert(Heard(), (x,), ({0: "batch", 1: "time"},)), Heard(), (x,), (longer,))


class Biased(torch.nn.Module):
    """Of one row whatever the sizes are, which torch takes for the sum of them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("bias", torch.randn(1, 4))

    def forward(self, x, past):
        bias = self.bias[max(0, 1 - x.shape[0] - past.shape[0]) :]
        return torch.cat([past, x]) * 2 + bias, x + bias


def test_a_row_that_is_cut_from_one_row_is_one():
    model = Biased()
    program = convert(model, (torch.randn(2, 4), torch.randn(3, 4)), ({0: "new"}, {0: "past"}))
    compare(program, model, *((torch.randn(new, 4), torch.randn(past, 4)) for new, past in ((2, 3), (4, 1), (1, 1), (1, 0), (5, 7))))


class Masked(torch.nn.Module):
    """The mask's batch is the sequence's; torch would have a size of their quotient."""

    def forward(self, x, mask):
        heads = mask[:, None].repeat_interleave(2, dim=0).view(x.shape[0], 2, -1, mask.shape[-1])
        x = x.view(x.shape[0], 2, 3, 4)
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=heads)


def test_dimensions_of_one_name_are_one_size():
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(Masked(), (torch.randn(2, 24), torch.randn(2, 3)), ({0: "batch"}, {0: "batch"}))
    compare(program, Masked(), *((torch.randn(batch, 24), torch.randn(batch, 3)) for batch in (2, 1, 5)))


class Windows(torch.nn.Module):
    """Overlapping windows of heads that a reshape sees without a copy, whatever the batch is."""

    def forward(self, x):
        time, batch, _ = x.shape
        heads = (x * 2).view(time, batch, 3, 2).permute(1, 2, 0, 3).reshape(batch * 3, time, 2)
        chunks = heads.view(batch * 3, torch.div(time, 4, rounding_mode="trunc"), 4, 2)
        sizes, strides = list(chunks.size()), list(chunks.stride())
        sizes[1], strides[1] = 2 * sizes[1] - 1, strides[1] // 2
        return chunks.as_strided(sizes, strides)


def test_windows_of_reshaped_heads():
    program = convert(Windows(), (torch.randn(8, 2, 6),), ({0: "time", 1: "batch"},))
    compare(program, Windows(), *((torch.randn(time, batch, 6),) for time, batch in ((8, 2), (12, 3), (16, 1))))


class MaskOfABatch(torch.nn.Module):
    """A mask is viewed by the batch of another input: how many rows are left for each, only the example says."""

    def forward(self, x, mask):
        heads = mask[:, None].repeat_interleave(2, dim=0).view(x.shape[0], 2, -1, mask.shape[1])
        return torch.nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=heads)


def test_sizes_that_only_the_example_says_to_be_one_are_asked_of_it():
    runs = [(torch.randn(batch, 2, time, 3), torch.randn(batch, time)) for batch, time in ((2, 4), (3, 5))]
    shapes = ({0: torch.export.Dim.AUTO, 2: "time"}, {0: torch.export.Dim.AUTO, 1: "time"})
    with pytest.warns(flambeau.errors.ConversionWarning, match="is right only where"):
        program = convert(MaskOfABatch(), runs[0], shapes)
    compare(program, MaskOfABatch(), *runs)
