"""Models that read numbers from what ``torch.arange`` makes of a size."""

import pytest
import torch

import flambeau

ROWS = (6, 9, 3, 40)


def between(numbers):
    """How many rows a model takes."""
    return lambda x: x[: int(numbers(torch.arange(x.shape[0]), x.shape[0]))]


def written_before(positions, n):
    positions[-1] = 1
    return positions[-1]


def written_as_a_part(positions, n):
    part = positions[1:]
    part -= 1
    return positions[-1]


READS = {
    "the last": lambda at, n: at[-1],
    "from the middle": lambda at, n: at[n // 2],
    "by item": lambda at, n: at[n - 2].item(),
    "the greatest": lambda at, n: at.max(),
    "the least of what falls": lambda at, n: (n - at).min(),
    "of rows": lambda at, n: at[None].expand(3, -1)[1, -1],
    "of a column": lambda at, n: at.view(-1, 1)[-2:][0, 0],
    "of a part": lambda at, n: at[1::2][-1],
    "turned around": lambda at, n: at.flip(0)[1],
    "computed": lambda at, n: 2 * at[-1] - n + 2,
    "a product": lambda at, n: (at * 3)[2] // 4,
    "in steps": lambda at, n: torch.arange(1, 2 * n, 3)[1],
    "behind another dimension": lambda at, n: at.unsqueeze(0)[..., -1].squeeze(),
    "an integer": lambda at, n: at.to(torch.int32)[-1],
}


class Windows(torch.nn.Module):
    """Goes on behind the last place of a window."""

    def forward(self, x):
        result, start, n = torch.zeros_like(x), 0, x.shape[0]
        while start < n:
            places = torch.arange(start, min(n, start + 4))
            start = int(places[-1]) + 1
            result[places] = x[places] / x[places].amax()
        return result


class ByPlace(torch.nn.Module):
    def forward(self, x):
        result = torch.zeros_like(x[0])
        for place in torch.arange(x.shape[0]):
            result = result * 0.5 + x[int(place)]
        return result


class Taken(torch.nn.Module):
    def __init__(self, numbers):
        super().__init__()
        self.numbers = numbers

    def forward(self, x):
        return between(self.numbers)(x)


def is_right(model):
    program = flambeau.export(model, (torch.rand(ROWS[0], 4) + 1,), dynamic_shapes=({0: "n"},))
    assert program.inputs[0].sizes == ["n", "4"]
    for rows in ROWS:
        x = torch.rand(rows, 4) + 1
        torch.testing.assert_close(program(x)[0], model(x.clone()))


@pytest.mark.filterwarnings("error::flambeau.errors.ConversionWarning")
@pytest.mark.parametrize("read", READS)
def test_a_number_of_a_size_is_one(read):
    is_right(Taken(READS[read]))


@pytest.mark.parametrize("read", [written_before, written_as_a_part])
def test_what_is_written_is_read_as_it_is(read):
    is_right(Taken(read))


@pytest.mark.parametrize("model", [Windows(), ByPlace()])
def test_loops_that_go_on_from_such_a_number(model):
    is_right(model)


class Branches(torch.nn.Module):
    """torch traces the branches by itself."""

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x * torch.arange(x.shape[0])[-1], lambda x: x - 1, (x,))


def test_branches_read_numbers_as_they_do():
    is_right(Branches())
