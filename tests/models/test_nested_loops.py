"""Python loops over dynamic dimensions within others, loops that count by hand, and loops whose state is in attributes and dicts."""

import warnings

import pytest
import torch

import flambeau
from .checking import compare, convert

EXAMPLES = (torch.randn(5, 4), torch.randn(3, 4))
OTHERS = ((torch.randn(8, 4), torch.randn(6, 4)), (torch.randn(2, 4), torch.randn(7, 4)))


class Model(torch.nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function
        self.linear = torch.nn.Linear(4, 4)
        self.cell = torch.nn.GRUCell(4, 4)

    def forward(self, x, y):
        return self.function(self, x, y)


def products_of_pairs(model, x, y):
    total = x.new_zeros(4)
    for a in x:
        for b in y:
            total = total + a * b.tanh()
    return total


def a_table_of_pairs(model, x, y):
    table = []
    for a in x:
        row = []
        for b in y:
            row.append((a - b).norm())
        table.append(torch.stack(row))
    return torch.stack(table)


def a_list_of_pairs(model, x, y):
    pairs = []
    for a in x:
        pairs.append(a)
        for b in y:
            pairs.append(a * b)
    return torch.stack(pairs)


def a_recurrence_for_each(model, x, y):
    states = []
    for a in x:
        state = a[None]
        for b in y:
            state = model.cell(b[None], state)
        states.append(state)
    return torch.cat(states)


def time_warping(model, x, y):
    n, m = x.shape[0], y.shape[0]
    cost = torch.full((n + 1, m + 1), 1e4)
    cost[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            least = torch.minimum(torch.minimum(cost[i - 1, j], cost[i, j - 1]), cost[i - 1, j - 1])
            cost[i, j] = (x[i - 1] - y[j - 1]).abs().sum() + least
    return cost[n, m]


def sums_of_what_was(model, x, y):
    sums = []
    for i in range(x.shape[0]):
        so_far = torch.zeros(4)
        for j in range(i + 1):
            so_far = so_far + model.linear(x[j])
        sums.append(so_far)
    return torch.stack(sums)


def three_deep(model, x, y):
    total = x.new_zeros(())
    for a in x:
        for b in y:
            scaled = a * b
            for c in x:
                total = total + (scaled * c).sum().tanh()
    return total


def neighbours(model, x, y):
    rows = x.unbind(0)
    return torch.stack([model.linear(a) - b for a, b in zip(rows[:-1], rows[1:])])


NESTED = [
    products_of_pairs, a_table_of_pairs, a_list_of_pairs, a_recurrence_for_each, time_warping, sums_of_what_was, three_deep, neighbours
]  # fmt: skip


def counting(model, x, y):
    i, state = 0, torch.zeros(4)
    while i < x.shape[0]:
        state = state * 0.5 + model.linear(x[i])
        i += 1
    return state * i


def counting_first(model, x, y):
    i, states = 0, []
    while len(x) > i:
        row = x[i]
        i = i + 1
        states.append(row * i)
    return torch.stack(states)


def counting_down(model, x, y):
    i, state = x.size(0) - 1, torch.zeros(4)
    while i >= 0:
        state = state * 0.5 + model.linear(x[i])
        i -= 1
    return state + i


def counting_in_pairs(model, x, y):
    i, sums = 0, []
    while i + 2 <= x.shape[0]:
        sums.append(x[i : i + 2].sum(0))
        i += 2
    return torch.stack(sums), x[i:]


def counting_within(model, x, y):
    i, total = 0, torch.zeros(4)
    while i < x.shape[0]:
        j = 0
        while j < y.shape[0]:
            total = total + x[i] * y[j].tanh()
            j += 1
        i += 1
    return total


def state_in_an_attribute(model, x, y):
    model.state = torch.zeros(1, 4)
    for row in x:
        model.state = model.cell(row[None], model.state)
    return model.state


def counting_with_an_attribute(model, x, y):
    i, model.state, states = 0, torch.zeros(1, 4), []
    while i < len(x):
        model.state = model.cell(x[i][None], model.state)
        states.append(model.state)
        i += 1
    return torch.cat(states)


def state_in_a_dict(model, x, y):
    states = {"hidden": torch.zeros(1, 4), "sum": torch.zeros(())}
    for row in x:
        states["hidden"] = model.cell(row[None], states["hidden"])
        states["sum"] = states["sum"] + row.sum()
    return states


def state_in_a_dict_of_an_attribute(model, x, y):
    model.states = {"hidden": torch.zeros(1, 4)}
    for row in x:
        model.states["hidden"] = model.cell(row[None], model.states["hidden"])
    return model.states["hidden"]


OTHER_FORMS = [
    counting, counting_first, counting_down, counting_in_pairs, counting_within,
    state_in_an_attribute, counting_with_an_attribute, state_in_a_dict, state_in_a_dict_of_an_attribute,
]  # fmt: skip


@pytest.mark.parametrize("function", [*NESTED, *OTHER_FORMS], ids=lambda f: f.__name__)
def test_all_sizes_stay_dynamic(function):
    model = Model(function).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, EXAMPLES, ({0: "rows"}, {0: "others"}))
    compare(program, model, EXAMPLES, *OTHERS)


def test_a_method_that_reads_an_attribute_meanwhile_is_not_given_the_old_value():
    class Reading(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.state = torch.zeros(4)

        def doubled(self):
            return self.state * 2

        def forward(self, x):
            self.state, outputs = x[0] * 0, []
            for row in x:
                self.state = self.state + row
                outputs.append(self.doubled())
            return torch.stack(outputs)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", flambeau.errors.ConversionWarning)
        program = convert(Reading(), EXAMPLES[:1], ({0: "rows"},))
    compare(program, Reading(), EXAMPLES[:1])


class Shrinking(torch.nn.Module):
    def forward(self, x):
        i, end, total = 0, x.shape[0], torch.zeros(4)
        while i < end:
            total = total + x[i]
            i += 1
            end -= 1
        return total


class ShrinkingAttribute(torch.nn.Module):
    def forward(self, x):
        i, self.end, total = 0, x.shape[0], torch.zeros(4)
        while i < self.end:
            total = total + x[i]
            i += 1
            self.end -= 1
        return total


class Leaving(torch.nn.Module):
    def forward(self, x):
        i = 0
        while i < x.shape[0]:
            if i * 2 >= x.shape[0]:
                break
            i += 1
        return x * i


@pytest.mark.parametrize("model", [Shrinking(), ShrinkingAttribute(), Leaving()], ids=lambda m: type(m).__name__)
def test_what_does_not_count_to_a_bound_is_as_python_has_it(model):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", flambeau.errors.ConversionWarning)
        program = convert(model, EXAMPLES[:1], ({0: "rows"},))
    compare(program, model, EXAMPLES[:1])
