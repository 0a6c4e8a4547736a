"""A capture takes most of an export's time: how many of them there are is counted."""

import operator

import pytest
import torch
import torch.nn.functional as F

import flambeau

X, Y = torch.randn(2, 10), torch.randn(2, 15)


@pytest.fixture
def captures(monkeypatch):
    calls = []
    export = torch.export.export

    def counted(*args, **kwargs):
        calls.append(args)
        return export(*args, **kwargs)

    monkeypatch.setattr(torch.export, "export", counted)
    return calls


class Halved(torch.nn.Module):
    def forward(self, x):
        if x.shape[1] % 4 != 0:
            x = F.pad(x, (0, 4 - x.shape[1] % 4))
        return x[:, : int(x.shape[1] * 0.3)]


def test_conversions_of_sizes_that_stayed_dynamic_once_do_so_at_first(captures):
    program = flambeau.export(Halved(), (X,), dynamic_shapes={"x": {1: "n"}})
    assert len(captures) <= 3  # that makes a number of a size, that does not, and that for the general case
    assert flambeau.verify(program, (Y,), reference=Halved())


class Indexed(torch.nn.Module):
    def forward(self, x):
        return x * operator.index(x.shape[1])


def test_conversions_are_not_tried_where_there_are_none(captures):
    with pytest.warns(flambeau.errors.ConversionWarning, match="fixes it at 10"):
        flambeau.export(Indexed(), (X,), dynamic_shapes={"x": {1: "n"}})
    assert len(captures) <= 3  # that for the general case, and that with the dimension left to torch
