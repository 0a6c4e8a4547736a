"""Tensors that take each other's place from round to round, or on some paths: a write to one is none to the other."""

import re

import pytest
import torch
from checking import check
from torch import nn

import flambeau

SWAPPED = {}


def x(*sizes):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


def case(*args, others=(), refused=False):
    def note(forward):
        SWAPPED[forward.__name__] = forward, (args, *others), refused
        return forward

    return note


@case(x(3, 4), others=[(x(5, 4),), (x(1, 4),)])
def two_buffers(self, x):
    now, before = torch.zeros(4), torch.zeros(4)
    for i in range(x.size(0)):
        for j in range(4):
            now[j] = before[j] * 0.5 + x[i, j]
        now, before = before, now
    return before


@case(x(4), others=[(x(7),), (x(2),)])
def three_in_turn(self, x):
    a, b, c = torch.zeros(1), torch.ones(1), x[:1] * 2
    seen = []
    for i in range(x.size(0)):
        a, b, c = c, a, b
        a[0] += x[i]
        seen.append(b + c)
    return torch.cat(seen), a, b, c


@case(torch.tensor([1, 2, 3]), torch.tensor([1, 3, 3, 4]), others=[(torch.tensor([5, 2, 3, 7, 8]), torch.tensor([2, 3]))])
def edit_distance(self, a, b):
    before, now = torch.arange(b.size(0) + 1), torch.zeros(b.size(0) + 1, dtype=torch.long)
    before[0] = 0
    for i in range(a.size(0)):
        now[0] = i + 1
        for j in range(b.size(0)):
            other = 0 if bool(a[i] == b[j]) else 1
            now[j + 1] = torch.min(torch.min(now[j], before[j + 1]) + 1, before[j] + other)
        before, now = now, before
    return before[-1]


@case(x(3, 4), others=[(x(6, 4),), (-x(3, 4),)])
def swapped_on_a_path_of_a_round(self, x):
    a, b = torch.zeros(4), torch.ones(4)
    for i in range(x.size(0)):
        if bool(x[i, 0] > 0):
            a, b = b, a
        a[1] += x[i, 1]
        b.mul_(2)
    return a, b


@case(x(3, 4), others=[(-x(3, 4),)])
def swapped_on_a_path(self, x):
    a, b = x * 2, x + 1
    c, d = (a, b) if bool(x.sum() > 0) else (b, a)
    for i in range(x.size(0)):
        c[i, 0] = 5.0
    return c, d


@case(x(3, 4), others=[(x(4, 4),), (x(1, 4),)])
def one_of_three_is_made_anew_on_a_path_of_a_round(self, x):
    a, b, c = torch.zeros(4), torch.ones(4), x[0] * 1
    for i in range(x.size(0)):
        a, b, c = b, c, a
        c = c * 0.5 if i % 2 == 0 else c
        a.add_(1)
    return a, b, c


@case(x(3, 4), refused=True)
def one_is_read_by_its_first_name(self, x):
    a, b = torch.zeros(4), torch.ones(4)
    first = a
    for i in range(x.size(0)):
        a, b = b, a
        a[0] += x[i, 0]
    return a, first


@case(x(3, 4), refused=True)
def both_become_one_in_a_round(self, x):
    a, b = torch.zeros(4), torch.ones(4)
    for i in range(x.size(0)):
        a, b = b, a
        if bool(x[i, 0] > 0):
            b = a
        a[1] += x[i, 1]
    return a, b


@case(x(3, 4), refused=True)
def one_of_three_is_another_at_first(self, x):
    a, b = torch.zeros(4), torch.ones(4)
    c = a if bool(x.sum() > 0) else torch.ones(4)
    for i in range(x.size(0)):
        a, b, c = c, a, b
        a[1] += x[i, 1]
    return b, c


@pytest.mark.parametrize("name", SWAPPED)
def test_swapped_memory(name):
    forward, arguments, refused = SWAPPED[name]
    model = type(name, (nn.Module,), {"forward": forward})()
    names = [f"in{i}" for i in range(len(arguments[0]))]
    axes = {each: {0: f"n{i}"} for i, each in enumerate(names)}
    if not refused:
        check(model, arguments[0], others=arguments[1:], dynamic_axes=axes)
        return
    with pytest.raises(flambeau.errors.OnnxExporterError) as caught:
        check(model, arguments[0], dynamic_axes=axes)
    assert re.search(r"(?s)may share its memory.*unknown-aliasing.*test_swapped_memory\.py:\d+", str(caught.value))
