"""Questions by which models save work: what is captured serves the general case, where the example shows that it does."""

import warnings

import pytest
import torch
from torch.nn.functional import interpolate, pad

import flambeau
from .checking import compare, convert

SHAPES = ({0: "batch", 2: "height", 3: "width"},)
NATIVE, OTHER = torch.randn(2, 3, 4, 4), torch.randn(1, 3, 5, 6)


class Positions(torch.nn.Module):
    """As in vision transformers: a table of positions is stretched, unless the image has the table's size."""

    def __init__(self):
        super().__init__()
        self.table = torch.nn.Parameter(torch.randn(1, 3, 4, 4))


class Stretched(Positions):
    def forward(self, x):
        if x.shape[2] == 4 and x.shape[3] == 4:
            return x + self.table
        return x + interpolate(self.table, size=x.shape[2:], mode="bicubic")


class StretchedUnlessSame(Positions):
    def forward(self, x):
        table = self.table
        if x.shape[-2:] != table.shape[-2:]:
            table = interpolate(table, size=x.shape[-2:], mode="bilinear")
        return x + table


class Relative(torch.nn.Module):
    """As in ViTDet: a table of distances, whose length Python makes a number of."""

    def __init__(self):
        super().__init__()
        self.patches, self.table = torch.nn.Conv2d(3, 5, 2, 2), torch.nn.Parameter(torch.randn(3, 5))

    def forward(self, x):
        x = self.patches(x)
        rows, longest = x.shape[2], x.shape[2]
        distances = int(2 * max(rows, longest) - 1)
        table = self.table
        if table.shape[0] != distances:
            table = interpolate(table.T[None], size=distances, mode="linear")[0].T
        places = torch.arange(rows)[:, None] * max(longest / rows, 1.0) - torch.arange(longest)[None] + rows - 1
        return torch.einsum("bchw,hkc->bhwk", x, table[places.long()])


class RelativeToPositions(Relative):
    """After a table of positions of the same size, whose special case makes a number of the size that the other one is asked for."""

    def __init__(self):
        super().__init__()
        self.positions = torch.nn.Parameter(torch.randn(1, 3, 4, 4))

    def forward(self, x):
        positions = self.positions
        if x.shape[2] != 4 or x.shape[3] != 4:
            positions = interpolate(positions, size=x.shape[2:], mode="bicubic")
        return super().forward(x + positions)


class Merged(torch.nn.Module):
    """As between the stages of Swin: one row more, where their number is odd."""

    def forward(self, x):
        rows, columns = x.shape[2:]
        if rows % 2 == 1 or columns % 2 == 1:
            x = pad(x, (0, columns % 2, 0, rows % 2))
        return x[..., 0::2, 0::2] + x[..., 1::2, 1::2]


class Patched(torch.nn.Module):
    """As before the first stage: up to a multiple, but no whole one."""

    def forward(self, x):
        rows, columns = x.shape[2:]
        if columns % 4 != 0:
            x = pad(x, (0, 4 - columns % 4))
        if rows % 4 != 0:
            x = pad(x, (0, 0, 0, 4 - rows % 4))
        return x.unflatten(2, (-1, 4)).sum(3)


class Whole(torch.nn.Module):
    """Of the rows a whole 4 is added where nothing is left."""

    def forward(self, x):
        rows, columns = x.shape[2:]
        if columns % 4 != 0:
            x = pad(x, (0, 4 - columns % 4))
        return pad(x, (0, 0, 0, 4 - rows % 4)).unflatten(2, (-1, 4)).sum(3)


class ToMultiple(torch.nn.Module):
    """As in super-resolution: numbers are asked for, not compared."""

    def forward(self, x):
        height, width = x.shape[-2:]
        below, beside = (2 - height % 2) % 2, (2 - width % 2) % 2
        if below or beside:
            x = pad(x, (0, beside, 0, below), "reflect")
        if height % 2 or width % 2:
            x = x[..., :height, :width]
        return x * 2


class Beside(torch.nn.Module):
    """The padding is a tensor, and what comes of it is cut to as much as there was before."""

    def forward(self, x):
        rows, left = x.shape[2], x.shape[2] % 4
        if left != 0:
            x = torch.cat([x, x.new_zeros(*x.shape[:2], 4 - left, x.shape[3])], 2)
        x = x.unflatten(2, (-1, 4)).cumsum(3).flatten(2, 3)
        if x.shape[2] > rows:
            x = x[:, :, :rows]
        return x


@pytest.mark.parametrize("sizes", [(8, 8), (9, 9), (8, 9), (9, 8)])
@pytest.mark.parametrize("model", [Merged, Patched, Whole, ToMultiple, Beside], ids=lambda model: model.__name__)
def test_what_is_padded_to_a_multiple(model, sizes):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model(), (torch.randn(2, 3, *sizes),), SHAPES)
    compare(program, model(), *((torch.randn(1, 3, *each),) for each in ((8, 12), (7, 11), (8, 7), (5, 12))))


class Counting(torch.nn.Module):
    """What it has seen so far is a buffer; of an example without padding the general case is captured."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x):
        missing = (4 - x.shape[0] % 4) % 4
        if missing > 0:
            x = pad(x, (0, missing))
        self.seen.mul_(0.9).add_(x.sum() * 0.1)
        return self.seen + x.mean()


class Hidden(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(4))

    def forward(self, x):
        state = self.state
        for row in x:
            state = state * 0.5 + row
        self.state.copy_(state)
        return state


@pytest.mark.parametrize(("model", "sizes"), [(Counting, [(8,), (6,)]), (Hidden, [(3, 4), (5, 4)])], ids=["general", "loop"])
def test_runs_of_what_was_captured_leave_no_trace(model, sizes):
    module = model()
    program = convert(module, (torch.ones(sizes[0]),), ({0: "rows"},))
    assert all(not buffer.any() for buffer in module.buffers())
    for each in sizes:
        torch.testing.assert_close(program(torch.ones(each))[0], model()(torch.ones(each)))


class Cached(torch.nn.Module):
    """What an earlier call with the same length left is used again."""

    def __init__(self):
        super().__init__()
        self.length, self.phases = None, None

    def forward(self, x):
        if x.shape[3] != self.length:
            self.length, self.phases = x.shape[3], torch.arange(x.shape[3]).cos()
        return x * self.phases


@pytest.mark.parametrize("model", [Stretched, StretchedUnlessSame, Relative, RelativeToPositions], ids=lambda model: model.__name__)
def test_tables_for_one_size_are_stretched_for_others(model):
    model = model().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (NATIVE,), SHAPES)
    compare(program, model, (NATIVE,), (OTHER,))


class StretchedIfEither(Positions):
    """The sizes of a table are names, attributes and constants; the second is not asked for where the first differs."""

    height, factor = 4, 2

    def __init__(self, special=0.0):
        super().__init__()
        self.special = special

    def forward(self, x):
        height, columns = x.shape[2], x.shape[3]
        if self.height != height or columns * self.factor != self.table.shape[-1] * 2:
            return x + interpolate(self.table, size=(height, columns), mode="bicubic")
        return x + self.table + self.special


@pytest.mark.parametrize("special", [0.0, 1.0])
def test_where_two_sizes_make_the_special_case_both_are_tried_together(special):
    model = StretchedIfEither(special).eval()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", flambeau.errors.ConversionWarning)
        program = convert(model, (OTHER,), SHAPES)
    compare(program, model, (OTHER,), (torch.randn(3, 3, 4, 5),))
    found = [str(each.message) for each in warned if each.category is flambeau.errors.ConversionWarning]
    assert len(found) == bool(special) and all("height ≠ 4" in text and "if self.height != height" in text for text in found)


class StretchedIfAsked(Positions):
    """What else the test asks is computed by a call, of which nothing is known where it is not made."""

    def forward(self, x):
        if x.shape[2] != 4 or max(x.shape[3], 3) != 4:
            return x + interpolate(self.table, size=x.shape[2:], mode="bicubic")
        return x + self.table


def test_what_stands_behind_a_question_and_is_not_known_is_warned_of():
    with pytest.warns(flambeau.errors.ConversionWarning, match="right only where height ≠ 4"):
        convert(StretchedIfAsked(), (OTHER,), SHAPES)


class Windows(torch.nn.Module):
    """As in Swin transformers: a side is padded to a multiple of the windows' side, and cut again."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(16, 16)

    def forward(self, x):
        batch, channels, height, width = x.shape
        padding = (0, (4 - width % 4) % 4, 0, -height % 4)
        padded = padding[1] > 0 or padding[3] > 0
        if padded:
            x = pad(x, padding)
        windows = x.unflatten(2, (-1, 4)).unflatten(4, (-1, 4)).transpose(3, 4)
        x = self.linear(windows.flatten(-2)).unflatten(-1, (4, 4)).transpose(3, 4).flatten(4, 5).flatten(2, 3)
        if padded:
            x = x[:, :, :height, :width].contiguous()
        return x


class Patches(Windows):
    """What is filled to a multiple of 2 with columns of its own would get 2 more where nothing is missing: these two ways are not alike."""

    def forward(self, x):
        if x.shape[3] % 2 != 0:
            x = torch.cat([x, x[..., : 2 - x.shape[3] % 2]], -1)
        return super().forward(x)


class AtMost(torch.nn.Module):
    def forward(self, x):
        left = max(0, 6 - x.shape[3])
        if left > 0:
            x = torch.cat([x, x.new_ones(*x.shape[:3], left)], -1)
        return x.sum(-1)


def test_what_is_left_over_is_padded_where_the_example_has_nothing():
    model, fits = Windows().eval(), torch.randn(2, 3, 8, 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (fits,), SHAPES)
    others = [(1, 3, 5, 6), (2, 3, 8, 3), (3, 3, 7, 12), (1, 3, 4, 4), (2, 3, 16, 12)]
    compare(program, model, (fits,), *((torch.randn(sizes),) for sizes in others))


def test_a_question_whose_ways_are_not_alike_leaves_the_answer_to_others_general():
    model = Patches().eval()
    with pytest.warns(flambeau.errors.ConversionWarning, match="the captured program is right only where") as warned:
        program = convert(model, (torch.randn(2, 3, 8, 8),), SHAPES)
    assert all("Mod(width, 2)" in str(each.message) for each in warned), [str(each.message) for each in warned]
    compare(program, model, *((torch.randn(1, 3, *sizes),) for sizes in ((8, 8), (5, 6), (7, 10), (4, 12))))


@pytest.mark.parametrize("width", [6, 9])
def test_what_is_missing_is_filled_where_the_example_lacks_nothing(width):
    program = convert(AtMost(), (torch.randn(2, 3, 4, width),), SHAPES)
    compare(program, AtMost(), *((torch.randn(2, 3, 4, other),) for other in (2, 5, 6, 9)))


def test_padding_that_is_more_than_padding_is_left_as_the_example_has_it():
    class Decides(torch.nn.Module):
        def forward(self, x):
            return x * 2 if -x.shape[2] % 4 > 0 else x - 1

    with pytest.warns(flambeau.errors.ConversionWarning, match="the captured program is right only where"):
        program = convert(Decides(), (NATIVE,), SHAPES)
    compare(program, Decides(), (NATIVE,))


def test_a_cache_of_the_example_is_not_used_for_others():
    model = Cached().eval()
    model(NATIVE)
    program = convert(model, (NATIVE,), SHAPES)
    compare(program, Cached(), (NATIVE,), (OTHER,))


def test_a_size_that_decides_what_is_computed_is_fixed():
    class Decides(torch.nn.Module):
        def forward(self, x):
            return x * 2 if x.shape[2] == 4 else x - 1

    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it"):
        program = convert(Decides(), (NATIVE,), SHAPES)
    compare(program, Decides(), (NATIVE,))


class Masked(torch.nn.Module):
    def forward(self, x, padding):
        if torch.isnan(x).any():
            raise ValueError("no number")
        mask = None if not padding.any() else padding[:, None, None, None]
        return x * 2 if mask is None else (x * 2).masked_fill(mask, 0)


def test_a_mask_that_hides_nothing_is_applied():
    none, some = torch.tensor([False, False]), torch.tensor([True, False])
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"asks for that \(.*padding.any\(\)"):
        program = convert(Masked(), (NATIVE, none))
    compare(program, Masked(), (NATIVE, none), (NATIVE, some))


def test_where_the_example_is_not_the_special_case_another_is_made():
    none, some = torch.tensor([False, False]), torch.tensor([True, False])
    program = convert(Masked(), (NATIVE, some))
    compare(program, Masked(), (NATIVE, none), (NATIVE, some))


class Coalesced(torch.nn.Module):
    """As of graphs: edges that occur several times are one."""

    def forward(self, edges):
        keys = (edges[0] * 100 + edges[1]).sort()[0]
        new = torch.cat([torch.ones(1, dtype=torch.bool), keys[1:] > keys[:-1]])
        return keys if new.all() else keys[new]


def test_edges_that_occur_once_are_made():
    edges, once = torch.tensor([[0, 1, 2, 0], [1, 2, 0, 1]]), torch.tensor([[3, 1, 2, 0, 0], [1, 3, 2, 1, 2]])
    with pytest.warns(flambeau.errors.ConversionWarning, match="some elements are set and some are not"):
        program = flambeau.export(Coalesced(), (edges,), dynamic_shapes=({1: "n"},))
    for each in (edges, once, once[:, [0, 0, 1]]):
        assert program(each)[0].equal(Coalesced()(each))


def test_a_special_case_of_which_there_is_no_example_is_refused():
    class Full(Masked):
        def forward(self, x):
            return super().forward(x, x.abs().sum((1, 2, 3)) + 1 > 0)

    with pytest.raises(flambeau.errors.CaptureError, match=r"padding.any\(\)"):
        convert(Full(), (NATIVE,))


class Spline(torch.nn.Module):
    """As in flows: what is inside of an interval is transformed, if anything is."""

    def forward(self, x):
        inside = (x >= -3) & (x <= 3)
        out = torch.zeros_like(x)
        out[~inside] = x[~inside]
        if torch.any(inside):
            out[inside] = torch.sinh(x[inside]) * 2
        return out


class CheckedSpline(Spline):
    """Asks what is inside for its least element, of which nothing has one."""

    def forward(self, x):
        inside = x[(x >= -3) & (x <= 3)]
        out = super().forward(x)
        if torch.any((x >= -3) & (x <= 3)):
            if torch.min(inside) < -3 or torch.max(inside) > 3:
                raise ValueError("outside of the interval")
            out = out * 2
        return torch.where((x >= -3) & (x <= 3), out, x)


class Positive(torch.nn.Module):
    def forward(self, x):
        out = x.clone()
        if (x > 0).any():
            out[x > 0] = x[x > 0] * 2
        return out


class Cleaned(torch.nn.Module):
    def forward(self, x):
        x = x / x.sum()
        return torch.nan_to_num(x, 0.5) if torch.isnan(x).any() or not torch.isfinite(x).all() else x


class Halved(torch.nn.Module):
    """Asks for the dtype last."""

    def forward(self, x):
        mean = x.sum() / 3
        return x.float().mean() if torch.isnan(mean) and x.dtype == torch.float16 else mean


@pytest.mark.parametrize("model", [Spline(), Positive(), Cleaned(), Halved(), CheckedSpline()], ids=lambda model: type(model).__name__)
def test_what_the_data_passes_is_as_in_examples_that_are_made(model):
    x = torch.tensor([[-4.0, -1.0, 2.0, 5.0], [1.0, 2.0, -2.0, 7.0]])
    program = convert(model, (x,), dynamic_shapes=({0: "rows"},))
    for other in (-x.abs() - 4, x.abs() + 4, x / 9, torch.zeros(3, 4)):
        torch.testing.assert_close(program(other)[0], model(other), equal_nan=True)


def test_a_mask_that_decides_what_is_computed_is_refused():
    class Decides(torch.nn.Module):
        def forward(self, x):
            return x * 2 if (x > 9).any() else x - 1

    with pytest.raises(flambeau.errors.CaptureError, match="any"):
        convert(Decides(), (NATIVE,), capture="export")
    compare(convert(Decides(), (NATIVE,)), Decides(), (NATIVE,), (NATIVE.abs() + 9,))


class LengthRegulator(torch.nn.Module):
    """As in FastSpeech: each token lasts for some frames, and one for all where none is foreseen."""

    def forward(self, x, durations):
        durations = torch.clamp(torch.round(durations.exp() - 1), min=0).long().masked_fill(durations > 2.9, 0)
        if durations.sum() == 0:
            durations[durations.sum(dim=1).eq(0)] = 1
        longest = torch.sum(durations, dim=1).max()
        result = torch.zeros(x.size(0), longest, x.size(2))
        for i, (row, duration) in enumerate(zip(x, durations)):
            repeated = torch.repeat_interleave(row, duration, dim=0)
            result[i, : repeated.size(0)] = repeated
        return result


class Rectified(torch.nn.Module):
    def forward(self, x, durations):
        durations = (torch.relu(durations.round()) * 1.5).long()
        if not durations.sum():
            return x[0, :1]
        return torch.repeat_interleave(x[0], durations[0], dim=0)


@pytest.mark.parametrize("model", [LengthRegulator, Rectified], ids=lambda model: model.__name__)
def test_that_anything_is_counted_is_taken_for_granted_with_a_warning(model):
    runs = [(torch.randn(batch, time, 3), torch.rand(batch, time) * 3) for batch, time in ((2, 5), (1, 7))]
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"there is something where .*durations\.sum\(\)"):
        program = convert(model(), runs[0], ({0: "batch", 1: "time"}, {0: "batch", 1: "time"}))
    compare(program, model(), *runs)


class Cropped(torch.nn.Module):
    """Images of a batch are cut to the sizes that they have."""

    def forward(self, x, sizes):
        pieces = [image[:, : size[0] // 2, : size[1] // 2].flatten(1).T for image, size in zip(x, sizes)]
        patches = torch.cat(pieces)[None]
        return patches.softmax(1) if patches.shape[1] > 1 else patches


def test_that_a_slice_holds_something_is_taken_for_granted_with_a_warning():
    runs = [(torch.randn(2, 3, 8, 8), torch.tensor(sizes)) for sizes in ([[8, 6], [10, 16]], [[4, 6], [16, 2]])]
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"there is something where .*patches.shape\[1\] > 1"):
        program = convert(Cropped(), runs[0])
    compare(program, Cropped(), *runs)


class FramesOfTable(torch.nn.Module):
    """From a table, which is made anew where it is too short; of the frames that tokens last for, or of the rows that are kept."""

    def __init__(self, limit=1000):
        super().__init__()
        self.limit, self.table = limit, torch.arange(limit).float().sin().unsqueeze(-1)

    def forward(self, x, durations=None):
        frames = x[x[:, 0] > 0] if durations is None else torch.zeros(durations.clamp(min=0).sum().item(), x.shape[1])
        if self.table.shape[0] < 2 * frames.shape[0] - 1:
            return frames * 0
        return frames + self.table[: frames.shape[0]]


@pytest.mark.parametrize("runs", [[(torch.randn(n, 3).abs(),) for n in (6, 1, 40)], [(torch.ones(1, 3), torch.arange(n)) for n in (4, 9)]])
def test_that_a_table_has_room_is_taken_for_granted_with_a_warning(runs):
    dims = ({0: "rows"}, {0: "tokens"})[: len(runs[0])]
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"is as small as in the example, .*if self\.table\.shape\[0\] < 2 \* frames"):
        program = convert(FramesOfTable(), runs[0], dims if len(runs[0]) == 1 else (None, dims[1]))
    compare(program, FramesOfTable(), *runs)


def test_a_table_that_is_too_short_for_the_example_is_not_taken_to_have_room():
    with pytest.raises(flambeau.errors.CaptureError, match=r"self\.table\.shape\[0\]"):
        convert(FramesOfTable(300), (torch.randn(400, 3).abs(),))


class Suppressed(torch.nn.Module):
    """As lists of candidates are thinned in Python: the best is kept, and what is like it is not."""

    def forward(self, places, scores):
        order = scores.argsort(descending=True)
        kept = []
        while order.numel() > 0:
            kept.append(order[0])
            order = order[1:][(places[order[0]] - places[order[1:]]).abs() > 0.3]
        return torch.stack(kept)


class CountedRounds(torch.nn.Module):
    def any_left(self, x):
        return len(x) != 0

    def forward(self, x):
        rounds = 0
        while self.any_left(x):
            x = x[1:][x[1:] > x[0]]
            rounds = rounds + 1
        return x.sum() + rounds


class Rejects(torch.nn.Module):
    """Draws until all that was drawn is accepted."""

    def forward(self, x):
        done = torch.zeros(x.shape, dtype=torch.bool)
        while not done.all():
            drawn = torch.rand(x.shape)
            accepted = drawn > x
            x = torch.where(accepted, drawn, x)
            done = done | accepted
        return x


@pytest.mark.parametrize(("model", "inputs"), [(Suppressed, 2), (CountedRounds, 1), (Rejects, 1)], ids=["Suppressed", "CountedRounds", "Rejects"])
def test_a_while_that_goes_on_as_long_as_there_is_something_is_refused(model, inputs):
    """That there is something has no end."""
    with pytest.raises(flambeau.errors.CaptureError, match="test_general_case.py"):
        convert(model(), tuple(torch.rand(6) for _ in range(inputs)), ({0: "n"},) * inputs, capture="export")


@pytest.mark.parametrize(("model", "inputs"), [(Suppressed, 2), (CountedRounds, 1)], ids=["Suppressed", "CountedRounds"])
def test_a_script_goes_on_as_long_as_there_is_something(model, inputs):
    runs = [tuple(torch.rand(n) for _ in range(inputs)) for n in (6, 9, 2, 1)]
    compare(convert(model(), runs[0], ({0: "n"},) * inputs), model(), *runs)


def test_a_script_draws_until_all_is_accepted():
    program, x = convert(Rejects(), (torch.full((6,), 0.8),), ({0: "n"},)), torch.full((64,), 0.8)
    (drawn,) = program(x)
    assert drawn.shape == x.shape and bool((drawn > 0.8).all()) and len(drawn.unique()) > 32
