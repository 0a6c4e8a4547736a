"""torch.vmap with dynamic sizes: where torch's rules for batches would make numbers of them, its function is called for each example."""

import copy
import warnings

import pytest
import torch
from torch.func import functional_call, stack_module_state, vmap

import flambeau
from .checking import compare, convert


class Ensemble(torch.nn.Module):
    """Members that differ by their weights, as torch.func's documents have it."""

    def __init__(self, make, members=3):
        super().__init__()
        modules = [make().eval() for _ in range(members)]
        weights, buffers = stack_module_state(modules)
        self.names = list(weights) + list(buffers)
        for name, value in (weights | buffers).items():
            self.register_buffer(name.replace(".", "_"), value.detach())
        self.__dict__["member"] = copy.deepcopy(modules[0]).to("meta")

    def forward(self, x):
        state = {name: getattr(self, name.replace(".", "_")) for name in self.names}
        return vmap(lambda state, x: functional_call(self.member, state, (x,)), in_dims=(0, None))(state, x)


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(8, 24)

    def forward(self, x):
        q, k, v = self.projection(x).view(*x.shape[:2], 3, 2, 4).permute(2, 0, 3, 1, 4)
        return torch.nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)


def perceptron():
    return torch.nn.Sequential(torch.nn.Linear(8, 6), torch.nn.LayerNorm(6), torch.nn.GELU(), torch.nn.Linear(6, 2))


def convolutions():
    nn = torch.nn
    return nn.Sequential(nn.Conv1d(3, 6, 3), nn.GroupNorm(2, 6), nn.SiLU(), nn.MaxPool1d(2), nn.ConvTranspose1d(6, 3, 2, 2))


def embedded():
    return torch.nn.Sequential(torch.nn.Embedding(10, 4), torch.nn.Linear(4, 2))


ENSEMBLES = {
    "perceptron": (perceptron, torch.randn(4, 5, 8), torch.randn(2, 7, 8)),
    "attention": (Attention, torch.randn(4, 5, 8), torch.randn(2, 7, 8)),
    "convolutions": (convolutions, torch.randn(4, 3, 8), torch.randn(5, 3, 11)),
    "embedded": (embedded, torch.randint(10, (3, 4)), torch.randint(10, (2, 6))),
}


def convert_quietly(model, args, shapes):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        return convert(model, args, shapes)


@pytest.mark.parametrize("name", ENSEMBLES)
def test_an_ensemble_keeps_the_sizes_of_its_input_dynamic(name):
    make, example, other = ENSEMBLES[name]
    model = Ensemble(make)
    program = convert_quietly(model, (example,), ({0: "batch", 2 if name == "convolutions" else 1: "length"},))
    compare(program, model, (example,), (other,))


def chosen(x, i):
    return vmap(lambda row, at: row.index_select(0, at))(x, i)


def written(x, i):
    return vmap(lambda row, at: row.scatter(0, at, 1.0))(x, i)


def cast_within(x, i):
    return vmap(lambda row, at: (row[at], {"sum": at.float() * row.sum(), "row": row}), out_dims=(1, 0))(x, i)


def rows_of_columns(x, i):
    return vmap(lambda column, at: column.index_select(0, at % column.shape[0]), in_dims=(1, None), out_dims=1)(x, i[0])


def in_chunks(x, i):
    return vmap(lambda row, at: row.sort().values * at.sum(), chunk_size=2)(x, i)


@pytest.mark.parametrize("function", [chosen, written, cast_within, rows_of_columns, in_chunks], ids=lambda f: f.__name__)
def test_a_dynamic_number_of_examples_stays_dynamic(function):
    class Model(torch.nn.Module):
        def forward(self, x, i):
            return function(x, i)

    args, others = (
        (torch.randn(rows, length), torch.randint(length, (rows, picked))) for rows, length, picked in ((4, 5, 3), (6, 7, 2))
    )
    program = convert_quietly(Model(), args, ({0: "rows", 1: "length"}, {0: "rows", 1: "picked"}))
    compare(program, Model(), args, others, (args[0][:1], args[1][:1]))
