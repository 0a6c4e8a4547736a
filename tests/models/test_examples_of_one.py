"""Examples in which a dynamic size is 1 or 0, where the model makes integers of sizes or counts with them: no other size follows from that."""

import math
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau

from .checking import compare, convert


class Step(nn.Module):
    """Of a decoder: what came before may be nothing, and there may be one token."""

    def forward(self, x, past):
        keys = torch.cat([past, x], 1)
        mask = torch.ones(x.shape[1], keys.shape[1], dtype=torch.bool).tril(keys.shape[1] - x.shape[1])
        return (x @ keys.mT).masked_fill(~mask, -1e9).softmax(-1) @ keys, keys


class Sparse(nn.Module):
    """As many queries as a logarithm says get values of their own."""

    def forward(self, queries, places):
        result, count = queries.clone(), int(math.log(queries.shape[1] + 2))
        result[torch.arange(queries.shape[0])[:, None], places[:, :count]] = queries[:, :count] * 2
        return result


class Capacity(nn.Module):
    """What an expert takes follows from the number of tokens."""

    def forward(self, x):
        tokens = x.shape[0] * x.shape[1]
        capacity = max(int(math.ceil(1.25 * tokens * 2 / 3)), 1)
        chosen = F.one_hot(x.reshape(tokens, 4).topk(2)[1], 4).permute(1, 0, 2).reshape(2 * tokens, 4)
        return ((chosen.cumsum(0) - 1) * chosen).sum(-1).view(2, tokens).t() < capacity


def tensors(*sizes):
    return tuple(torch.randn(each) for each in sizes)


def places(batch, time):
    return torch.randn(batch, time, 3), torch.arange(2).repeat(batch, 1)


CASES = {
    "first_step": (Step(), ({0: "batch", 1: "time"}, {0: "batch", 1: "past"}), [tensors((b, t, 4), (b, p, 4)) for b, t, p in ((2, 1, 0), (1, 1, 0), (2, 2, 3), (1, 1, 5), (3, 4, 0))]),
    "sparse": (Sparse(), ({0: "batch", 1: "time"}, {0: "batch"}), [places(*sizes) for sizes in ((1, 3), (3, 4), (2, 6))]),
    "capacity": (Capacity(), ({0: "batch", 1: "time"},), [tensors(sizes) for sizes in ((1, 1, 4), (2, 5, 4), (3, 1, 4))]),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_an_example_of_one_does_for_others(case):
    model, shapes, runs = case
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, runs[0], shapes)
    compare(program, model, *runs)


class Masked(nn.Module):
    """One new token, those before, and a mask of both that is made longer where it is too short."""

    def forward(self, x, mask, past):
        missing = x.shape[1] + past.shape[1] - mask.shape[1]
        if missing > 0:
            mask = F.pad(mask, (0, missing), value=True)
        keys = torch.cat([past, x], 1)
        return (x @ keys.mT).masked_fill(~mask[:, None], -1e4).softmax(-1) @ keys


def step(tokens, before):
    return torch.randn(2, tokens, 4), torch.ones(2, tokens + before, dtype=torch.bool), torch.randn(2, before, 4)


def test_a_size_that_is_two_together_grows_with_them():
    """The way is captured that the example takes, and what is said of it holds for the example."""
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"right only where .*time.* ≤ 0"):
        program = convert(Masked(), step(1, 6), ({1: "time"}, {1: "all"}, {1: "past"}))
    compare(program, Masked(), step(1, 6), step(4, 5), step(3, 1))


class Chunks(nn.Module):
    """A loop over chunks, of which the example has one, hands on a state and writes rows."""

    def forward(self, x):
        length = x.shape[1]
        missing = (4 - length % 4) % 4
        chunks = F.pad(x, (0, 0, 0, missing)).reshape(x.shape[0], -1, 4, x.shape[2])
        state, out = torch.zeros(x.shape[0], x.shape[2], x.shape[2]), torch.zeros_like(chunks)
        for i in range((length + missing) // 4):
            out[:, i] = chunks[:, i] @ state + chunks[:, i]
            state = state * 0.5 + chunks[:, i].mT @ chunks[:, i]
        return out.reshape(x.shape[0], length + missing, -1)[:, :length]


@pytest.mark.parametrize("length", [3, 4, 7])
def test_a_loop_of_one_round(length):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(Chunks(), tensors((2, length, 2)), ({0: "batch", 1: "time"},))
    compare(program, Chunks(), *(tensors(sizes) for sizes in ((2, length, 2), (3, 13, 2), (1, 2, 2))))


class Shifted(nn.Module):
    """What is written lies within chunks, of which the example has one."""

    def forward(self, x):
        chunks = F.pad(x, (0, (4 - x.shape[1] % 4) % 4)).reshape(x.shape[0], -1, 4)
        out = torch.zeros_like(chunks)
        out[..., 1:] = chunks[..., :-1]
        return out.flatten(1)[:, : x.shape[1]]


class Solved(nn.Module):
    """So do the rows of a triangular system, before a loop over the chunks."""

    def forward(self, x):
        chunks = F.pad(x, (0, (4 - x.shape[1] % 4) % 4)).reshape(x.shape[0], -1, 4)
        pairs = (chunks[..., None] * chunks[..., None, :]).tril(-1)
        for i in range(1, 4):
            pairs[..., i, :i] = pairs[..., i, :i] + (pairs[..., i, :i, None] * pairs[..., :i, :i]).sum(-2)
        solved = (pairs @ chunks[..., None]).squeeze(-1)
        state, out = torch.zeros(x.shape[0], 4), torch.zeros_like(chunks)
        for i in range(chunks.shape[1]):
            out[:, i] = solved[:, i] + state
            state = state * 0.5 + chunks[:, i]
        return out.flatten(1)[:, : x.shape[1]]


@pytest.mark.parametrize("model", [Shifted(), Solved()], ids=["shifted", "solved"])
def test_what_is_written_in_one_chunk_is_in_more(model):
    with warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = convert(model, tensors((2, 3)), ({0: "batch", 1: "time"},))
    compare(program, model, *(tensors(sizes) for sizes in ((2, 3), (3, 13), (1, 4), (2, 8))))
