"""Ranges of a dynamic size, and lists of their numbers, that a model indexes, cuts, hands on and goes over."""

import pytest
import torch

from .checking import compare, convert


def spread(positions):
    """Of a list, only what ends it and its length are asked."""
    return torch.arange(positions[-1], positions[0] - 1, -1) + len(positions)


def every_other(positions):
    return positions[1::2]


def handed_list(x):
    return x[:, :1] + spread(list(range(x.shape[1])))[:, None]


def handed_range(x):
    return x[:, :1] + spread(range(1, x.shape[1]))[:, None]


def cut(x):
    positions = range(x.shape[1])[::2]
    others = every_other(list(range(x.shape[1])))
    return x[:, torch.arange(positions[0], positions[-1] + 1, 2)], x[:, others[0] : others[-1]] * len(others)


def cut_from_the_end(x):
    positions = range(x.shape[1])
    last, rest = positions[-3:], positions[: len(positions) - 2]
    turned = positions[::-1]
    return x + last[0] * rest[-1], x * turned[0] - turned[-1], x + len(range(0, x.shape[1], 3)), x * positions.stop


def gone_over(x):
    places, differences, turned = range(1, x.shape[1]), [], []
    for i in places:
        differences.append(x[:, i] - x[:, i - 1])
    for i in places[::-1]:
        turned.append(x[:, i] * i)
    return torch.stack(differences, 1), torch.stack(turned)


def may_be_empty(x):
    few = range(x.shape[1] - 8)
    return x + len(few), x + len(list(few)), x * sum(1 for _ in range(x.shape[1] - 8))


def indexing(x):
    positions = list(range(x.shape[1]))
    front, back = positions[: len(positions) // 2], positions[len(positions) // 2 :]
    return x[:, front], x[:, back], x[:, [0] + positions], x[:, list(reversed(range(x.shape[1])))], x + torch.tensor(range(x.shape[1]))[:, None]


def turned(x):
    counted = list(range(x.shape[1] - 1))[::-1]
    return x[:, 1:] * torch.tensor(counted)[:, None], x[:, counted], x + counted[0], x[:, list(range(x.shape[1]))[::-2]]


@pytest.mark.parametrize("function", [handed_list, handed_range, cut, cut_from_the_end, gone_over, indexing, may_be_empty, turned], ids=lambda function: function.__name__)
def test_ranges_stay_dynamic(function):
    class Model(torch.nn.Module):
        def forward(self, x):
            return function(x)

    runs = [(torch.randn(2, length, 3),) for length in (12, 17, 5)]
    compare(convert(Model(), runs[0], ({1: "length"},), capture="export"), Model(), *runs)
