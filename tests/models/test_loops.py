"""Python loops over a dynamic dimension that TorchScript does not take: they stay loops, as scans."""

import itertools
import math
import queue
import warnings

import pytest
import torch

import flambeau
from .checking import compare, convert, sizes_of

SHAPES = ({0: "batch", 1: "time"},)
EXAMPLE, LONGER, SHORT = torch.randn(2, 4, 3), torch.randn(3, 7, 3), torch.randn(1, 2, 3)


class Cells(torch.nn.Module):
    once = True  # whether a single round is enough

    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTMCell(3, 3)
        self.linear = torch.nn.Linear(3, 3)
        self.scale = torch.nn.Parameter(torch.rand(3))


class Recurrent(Cells):
    """The state is there from the second round on, the outputs are a list."""

    def forward(self, x):
        state, outputs = None, []
        for row in x.unbind(1):
            state = self.lstm(row) if state is None else self.lstm(row, state)
            outputs.append(state[0] * self.scale)
        return {"outputs": torch.stack(outputs, 1), "state": state}


class Layers(Cells):
    """A list of states, written by its places; the number of the round; two items a round."""

    def forward(self, x):
        states, outputs = [x.new_zeros(x.shape[0], 3) for _ in range(2)], []
        for i, row in enumerate(x.transpose(0, 1)):
            for layer in range(2):
                states[layer] = torch.tanh(self.linear(states[layer]) + (row if layer == 0 else states[0]))
            outputs.append(states[1] * i)
            outputs.append(row)
        return torch.cat(outputs[::-1] if len({*"ab"}) == 1 else outputs, -1), states


class LastOfList(Cells):
    """The state is what a list ends with, and no name has it."""

    def forward(self, x):
        states, sums, outputs = [torch.zeros_like(x[:, 0])], [x[:, 0]], list([*()])
        for row in x.unbind(1):
            states.append(torch.tanh(self.linear(states[-1]) + row))
            sums.append(sums[-1] * self.scale + states[-1])
            outputs.append(states[-1] - sums[-1])
        return torch.stack(states[1:], 1), torch.stack(sums), outputs[-1], states[-1]


class Written(Cells):
    """A tensor written in place, through itself a round before; a count of rounds."""

    def forward(self, x):
        result, rounds = torch.zeros_like(x), len({*"a"})
        for i in range(x.shape[1]):
            result[:, i] = x[:, i] * 2 + (result[:, i - 1] if i > 0 else 0)
            rounds = rounds + 1
        return result * rounds


class Backwards(Cells):
    """From the end, by twos, with rounds that are left early."""

    once = False

    def forward(self, x):
        state, outputs = x[:, 0], []
        for i in reversed(range(0, x.shape[1] - 1, 2)):
            with torch.no_grad():
                state = state * 0.5 + x[:, i + 1]
            outputs.append(state)
            if not isinstance(outputs, dict):
                continue
            state = state * 0
        return torch.stack(outputs[::-1], 1), outputs[-1]


class FromTheEnd(Cells):
    """The first number is a size less 2."""

    def forward(self, x):
        (result,) = [torch.zeros_like(x)]
        for i in range(x.shape[1] - 2, -1, -1):
            result[:, i] = torch.tanh(x[:, i + 1] + result[:, i + 1])
        return result


class Advantages(Cells):
    """Items go to the front of a list, from the end but one."""

    once = False

    def forward(self, x):
        advantage, advantages = torch.zeros(x.shape[0]), []
        for i in reversed(range(x.shape[1] - 1)):
            advantage = x[:, i, 0] + 0.9 * x[:, i + 1, 1] - x[:, i, 1] + 0.5 * advantage
            advantages.insert(0, advantage)
        return torch.stack(advantages, 1), advantages[0], advantages[-1]


class Window(Cells):
    """A list that keeps its length."""

    def forward(self, x):
        recent, sums = [torch.zeros_like(x[:, 0]) for _ in range(3)], []
        for row in x.unbind(1):
            recent.append(row)
            recent.pop(0)
            sums.append(sum(recent))
        return torch.stack(sums, 1), recent


class Path(Cells):
    """A list with an item before the rounds, turned around, gone through and cut."""

    def forward(self, x):
        state, places = x[:, 0], []
        for row in x.unbind(1):
            state, place = (state.unsqueeze(2) + row.unsqueeze(1)).max(1)
            places.append(place)
        last = state.argmax(1)
        path = [last]
        for place in reversed(places):
            last = place.gather(1, last.unsqueeze(1)).squeeze(1)
            path.append(last)
        path.reverse()
        doubled = [place * 2 for place in path]
        return torch.stack(path, 1), torch.stack(doubled[1:], 1), torch.stack(path[::-1][:-1], 1), path[1]


class Comprehension(Cells):
    def forward(self, x):
        rows = [(self.linear(row), i) for i, row in enumerate("ab")] if isinstance(x, str) else [self.linear(row) for row in x.unbind(1)]
        return torch.stack(rows, -1)


class Listed(Cells):
    def forward(self, x):
        return torch.cat(list(self.linear(x)) if len({*"a"}) else [], 0)


class Mapped(Cells):
    def forward(self, x):
        return torch.stack(list(map(lambda row, last: self.linear(row) * last, x, x.flip(0))), len({*"a"}))


class Repeated(Cells):
    """Lists of one item, or of a few, as long as a dimension is."""

    def forward(self, x):
        batch, time = x.shape[:2]
        rows = [x[0, 0]] * batch
        rows.append(self.scale)
        pairs = torch.cat(time * [x[0, :1], self.scale[None]]).sum(0) * len({*"a"})
        lengths = torch.tensor([time, 2] * batch)
        grown = [row + each[0] for row, each in zip([self.scale] * batch, x)]
        numbers = x.new_tensor([0.1] * time), torch.tensor([0.1, 2.0] * time), torch.tensor([True, False] * batch)
        return torch.stack(rows), pairs, lengths, torch.stack(grown, 1), numbers


class Pairs(Cells):
    """One loop over the pairs of two, in all the ways of saying it; a sum of what a generator makes."""

    def forward(self, x):
        batch, time = x.shape[:2]
        products = [x[i, j] * self.scale for i, j in itertools.product(range(batch), range(time))]
        pairs = torch.stack([x[i, j] * k for i in range(batch) for j in range(time) for k in range(2)])
        beside = torch.stack([x[0, j, k] for k in range(3) for j in range(time)])
        more = []
        for i, j in itertools.product(range(2), range(time)):
            more.append(x[0, j] + i)
        return torch.stack(products), torch.stack(more), pairs, beside, sum(row * 2 for row in x.unbind(1)), torch.stack([*x.unbind(1)])


class Placed(Cells):
    """Lists that are as long before as after, and written place by place; the greatest of what a generator makes."""

    def forward(self, x):
        count = x.shape[1]
        forward, backward = [None] * count, [None] * count
        for i in range(count):
            forward[i] = self.linear(x[:, i])
        for i in reversed(range(count)):
            backward[count - 1 - i] = forward[i] * self.scale
        sums = [x[:, 0]] * count
        for i in range(1, count):
            sums[i] = sums[i - 1] * 0.5 + x[:, i]
        first = [x.new_ones(3)] * x.shape[0]
        before, copy = first[0], list(first)
        first[0] = x[0, 0]
        greatest = max(row.sum() for row in x.unbind(1)) - min(row.sum() for row in x)
        return torch.stack(forward, 1), torch.stack(backward), torch.stack(sums[::-1]), torch.stack(first) + before + torch.stack(copy), sums[-1], greatest


class Within(Cells):
    """The loop is in a function of the function."""

    def forward(self, x):
        def smoothed(rows):
            state, states = rows[:, 0] * self.scale, []
            for i in range(rows.shape[1]):
                state = 0.1 * rows[:, i] + 0.9 * state
                states.append(state)
            return torch.stack(states, -1)

        return smoothed(x) + smoothed(x.flip(1))


class Chunks(Cells):
    """The number of rounds is computed, of a size that nothing has which the rounds take."""

    def forward(self, x):
        time = x.shape[1]
        count = (time + (2 - time % 2) % 2) // 2
        chunks = torch.nn.functional.pad(x, (0, 0, 0, 2 * count - time)).reshape(x.shape[0], -1, 2, 3)
        state, result = torch.zeros_like(chunks[:, 0]), torch.zeros_like(chunks)
        for i in range(count * len({*"a"})):
            state = torch.tanh(self.linear(state) + chunks[:, i])
            result[:, i] = state
        return result.flatten(1, 2)[:, :time]


@pytest.mark.parametrize("model", [Recurrent, Layers, LastOfList, Written, Backwards, FromTheEnd, Advantages, Window, Path, Comprehension, Listed, Mapped, Repeated, Pairs, Placed, Within, Chunks], ids=lambda model: model.__name__)
def test_loops_stay_loops(model):
    model = model().eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, (EXAMPLE,), SHAPES)
    assert sizes_of(program.model_proto.graph.input)[0][:2] == ["batch", "time"]
    compare(program, model, (EXAMPLE,), (LONGER,), (SHORT,))
    if model.once:
        compare(program, model, (SHORT[:, :1],))


def test_a_loop_over_what_data_says():
    """As mixtures of experts go over those that a token chose."""

    class Experts(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = torch.nn.Parameter(torch.randn(4, 3, 3))

        def forward(self, x, chosen):
            mask = torch.nn.functional.one_hot(chosen, 4).T
            result = torch.zeros_like(x)
            for expert in mask.sum(1).nonzero():
                tokens = mask[expert].squeeze(0).nonzero().squeeze(1)
                result.index_add_(0, tokens, x[tokens] @ self.weights[expert].squeeze(0))
            return result

    model = Experts().eval()
    x = torch.randn(5, 3)
    program = convert(model, (x, torch.tensor([0, 2, 2, 0, 3])), ({0: "tokens"}, {0: "tokens"}))
    compare(program, model, (x, torch.tensor([0, 2, 2, 0, 3])), (x[:2], torch.tensor([1, 1])))


def summed_up(x):
    total = torch.zeros(4)
    for row in x:
        total = total * 0.5 + row
    return total


def gathered(x):
    sums, state = [torch.ones(4)], torch.zeros(4)
    for before, i in zip(x, range(x.shape[0])):
        state = before - state
        sums.append(state * i)
    return torch.stack(sums, 1), torch.cat(sums), state


def written(x):
    result = x.new_zeros(x.shape[0], 4)
    for i in range(1, x.shape[0]):
        result[i] = x[i] + result.sum(0)
    return result, result.shape[0] * result.sum()


def chosen(x):
    total = torch.zeros(4)
    for row in (x.sum(1) > 0).nonzero():
        total = total * 0.5 + x[row].squeeze(0)
    return total


@pytest.mark.parametrize("function", [summed_up, gathered, written, chosen], ids=lambda function: function.__name__)
def test_a_loop_may_have_no_rounds(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    program = flambeau.export(Model(), (torch.ones(3, 4),), dynamic_shapes=({0: "n"},), capture_strategies=["non-strict"])
    compare(program, Model(), *((torch.randn(n, 4),) for n in (0, 1, 5)), (-torch.ones(3, 4),))


def test_a_loop_whose_first_round_is_another_needs_one():
    class Model(torch.nn.Module):
        def forward(self, x):
            state = x.new_zeros(2)
            for row in x:
                state = row + state.sum()
            return state

    program = flambeau.export(Model(), (torch.ones(3, 4),), dynamic_shapes=({0: "n"},), capture_strategies=["non-strict"])
    compare(program, Model(), (torch.randn(1, 4),), (torch.randn(5, 4),))
    with pytest.raises(Exception, match="Gather"):
        program(torch.zeros(0, 4))


def test_a_state_that_grows_is_unrolled():
    def growing(x):
        result = x[:, :1]
        for i in range(1, x.shape[1] * len({*"a"})):
            result = torch.cat([result, result[:, -1:] * x[:, i : i + 1]], 1)
        return result

    class Growing(torch.nn.Module):
        def forward(self, x):
            return growing(x)

    with pytest.warns(flambeau.errors.ConversionWarning, match=r"dimension 1 of input 'x'.*fixes it"):
        program = convert(Growing(), (EXAMPLE,), SHAPES)
    compare(program, Growing(), (EXAMPLE,))
    assert "__flambeau" not in str(growing.__code__.co_names)


def test_functions_are_as_they_were():
    before = Recurrent.forward.__code__
    convert(Recurrent().eval(), (EXAMPLE,), SHAPES)
    assert Recurrent.forward.__code__ is before


def test_a_script_that_does_not_do_what_the_module_does_is_not_taken():
    """TorchScript takes the sum for an integer, as which it begins, and fails."""

    class Sum(torch.nn.Module):
        def forward(self, x):
            total = 0
            for i in range(x.shape[1]):
                total = total + x[:, i]
            return total

    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 1"):
        program = convert(Sum(), (SHORT[:, :1],), SHAPES)
    assert program.capture_strategy != "torchscript"
    compare(program, Sum(), (SHORT[:, :1],))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_numbers_of_a_script_that_are_tensors_of_the_module_have_their_dtype(dtype):
    class Mean(torch.nn.Module):
        def forward(self, x):
            i, mean = 0, 0.0
            while 0 <= i < x.shape[0]:
                mean = mean * 0.5 + x[i]
                i += 1
            return mean

    x = torch.ones(3, dtype=dtype)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always", flambeau.errors.ConversionWarning)
        program = convert(Mean(), (x,), ({0: "rows"},))
    compare(program, Mean(), (x,))
    assert program(x)[0].dtype is dtype
    kept = program.capture_strategy == "torchscript"
    assert kept == (dtype is torch.float32) and kept != any("fixes it at 3" in str(each.message) for each in warned)


class Halves(torch.nn.Module):
    """How many rounds there are is computed by floats, which the rounds use as well."""

    def __init__(self, rounds):
        super().__init__()
        self.rounds = rounds

    def forward(self, x):
        count, state, states = self.rounds(x.shape[0]), torch.zeros(3), []
        for i in range(count):
            state = state * 0.5 + x[i] / math.sqrt(count)
            states.append(state * (count - i))
        return torch.stack(states)


ROUNDS = {
    "int": lambda n: max(int(n * 0.3), 1),
    "quotient": lambda n: int(n / 2),
    "ceil": lambda n: math.ceil(n * 0.25),
    "floor": lambda n: 2 * math.floor(n * 0.4) - 1,
    "root": lambda n: int(math.sqrt(n)),
    "round": lambda n: round(n / 3),
}


@pytest.mark.parametrize("rounds", ROUNDS.values(), ids=ROUNDS)
def test_rounds_may_be_counted_by_floats(rounds):
    model = Halves(rounds).eval()
    runs = [(torch.randn(length, 3),) for length in (12, 20, 7)]
    compare(convert(model, runs[0], ({0: "length"},), capture="export"), model, *runs)


CAPTURED_ROUNDS = queue.SimpleQueue()
"""No list: what an export leaves in one is taken out again."""


def noted(row):
    if isinstance(row, torch._subclasses.FakeTensor):
        CAPTURED_ROUNDS.put(row)
    return row


class ManyRows(torch.nn.Module):
    def forward(self, x):
        total, totals = torch.zeros(3), []
        for row in x:
            total = total * 0.5 + noted(row)
        for i in range(x.shape[0]):
            totals.append(noted(x[i]) - total)
        return torch.stack(totals)


def test_many_rounds_are_not_written_out_before_they_are_kept():
    runs = [(torch.randn(length, 3),) for length in (200, 7)]
    program = convert(ManyRows(), runs[0], ({0: "length"},), capture="export")
    assert 0 < CAPTURED_ROUNDS.qsize() < 50
    compare(program, ManyRows(), *runs)
