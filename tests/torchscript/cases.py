"""Programs as users trace and script them, collected by decorators."""

from collections.abc import Callable

import pytest
import torch
from checking import check
from torch import nn


def x(*sizes, seed=None):
    seed = sum(sizes) + len(sizes) if seed is None else seed
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


SIGNS = [(x(2, 3).abs(),), (-x(2, 3).abs(),)]
"""Arguments by which a program that asks for the sign of a sum takes either path."""

ROUNDS = [torch.tensor(n) for n in (0, 1, 2)]


class Cases:
    """The programs of one file: each is exported traced and scripted, and compared with PyTorch on all its arguments."""

    def __init__(self):
        self.rows = {}

    def __call__(self, *args, how=("trace", "script"), **options) -> Callable:
        """Decorates a module class, or a function that makes a module."""

        def add(make):
            for each in how:
                self.rows[f"{make.__name__}-{each}"] = (make, args, each, options)
            return make

        return add

    def forward(self, *args, how=("script",), **options) -> Callable:
        """Decorates the forward of a module that has nothing else."""

        def add(function):
            self(*args, how=how, **options)(type(function.__name__, (nn.Module,), {"forward": function}))
            return function

        return add

    def test(self) -> Callable:
        @pytest.mark.parametrize("name", self.rows)
        def test_program(name):
            make, args, how, options = self.rows[name]
            torch.manual_seed(0)
            check(make(), args, how=how, **options)

        return test_program
