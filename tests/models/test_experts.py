"""Mixtures of experts as models write them: loops over the experts that are hit, and questions whether one is."""

import warnings

import numpy
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import flambeau

from .checking import compare, convert

SIZE, EXPERTS, CHOSEN = 8, 4, 2
SHAPES = ({0: "batch", 1: "time"},)
RUNS = [(torch.randn(*sizes, SIZE),) for sizes in ((2, 5), (3, 1), (1, 1), (4, 9))]


class Expert(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, 2 * SIZE), nn.Linear(2 * SIZE, SIZE)

    def forward(self, x):
        return self.down(F.silu(self.up(x)))


class Routed(nn.Module):
    """Gives each token the sum of what its experts make of it; `mixed` says how."""

    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(SIZE, EXPERTS), nn.ModuleList(Expert() for _ in range(EXPERTS))
        self.named = nn.ModuleDict({f"expert_{i}": expert for i, expert in enumerate(self.experts)})
        self.ups = nn.Parameter(torch.randn(EXPERTS, SIZE, SIZE))

    def forward(self, x):
        tokens = x.reshape(-1, SIZE)
        weights, chosen = self.gate(tokens).softmax(-1).topk(CHOSEN, dim=-1)
        return self.mixed(tokens, weights, chosen).reshape(x.shape)


def places(chosen):
    return F.one_hot(chosen, num_classes=EXPERTS).permute(2, 1, 0)


class OverRowsThatAreHit(Routed):
    def mixed(self, tokens, weights, chosen):
        mask, result = places(chosen), torch.zeros_like(tokens)
        hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert in hit:
            rank, token = torch.where(mask[expert].squeeze(0))
            of_expert = self.experts[expert](tokens[None, token].reshape(-1, SIZE)) * weights[token, rank, None]
            result.index_add_(0, token, of_expert)
        return result


class OverStackedWeights(Routed):
    def mixed(self, tokens, weights, chosen):
        mask, result = places(chosen), torch.zeros_like(tokens)
        with torch.no_grad():
            hit = torch.greater(mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert in hit:
            expert = expert[0]
            if expert == EXPERTS:
                continue
            rank, token = torch.where(mask[expert])
            result.index_add_(0, token, F.linear(tokens[token], self.ups[expert]) * weights[token, rank, None])
        return result


class ByName(Routed):
    def mixed(self, tokens, weights, chosen):
        mask, result = places(chosen), torch.zeros_like(tokens)
        for expert in torch.argwhere(mask.sum((-1, -2)) != 0):
            rank, token = torch.where(mask[expert].squeeze(0))
            result.index_add_(0, token, self.named[f"expert_{expert[0]}"](tokens[token]) * weights[token, rank, None])
        return result


class OverNumbers(Routed):
    def mixed(self, tokens, weights, chosen):
        result, hit = torch.zeros_like(tokens), (chosen[..., None] == torch.arange(EXPERTS)).sum((0, 1))
        for expert in torch.nonzero(hit, as_tuple=True)[0].tolist():
            rank = chosen == expert
            result[rank.any(-1)] += self.experts[expert](tokens[rank.any(-1)]) * weights[rank, None]
        return result


class OverDistinctOnes(Routed):
    def mixed(self, tokens, weights, chosen):
        first, result = chosen[:, 0], torch.zeros_like(tokens)
        for expert in first.unique():
            mask = first == expert
            result[mask] = self.experts[expert](tokens[mask])
        return result


class IfAny(Routed):
    def mixed(self, tokens, weights, chosen):
        result = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            mask = (chosen == i).any(-1)
            if not mask.any():
                continue
            result[mask] += expert(tokens[mask]) * (weights * (chosen == i)).sum(-1)[mask, None]
        return result


class IfCounted(Routed):
    def mixed(self, tokens, weights, chosen):
        result, counts = torch.zeros_like(tokens), torch.bincount(chosen.flatten(), minlength=EXPERTS).tolist()
        for i, expert in enumerate(self.experts):
            if counts[i] == 0:
                continue
            token, rank = torch.where(chosen == i)
            result[token] += expert(tokens[token]) * weights[token, rank, None]
        return result


class IfSummed(Routed):
    def mixed(self, tokens, weights, chosen):
        result = torch.zeros_like(tokens)
        for i, expert in enumerate(self.experts):
            mask = chosen[:, 0] == i
            if mask.sum().item() > 0 and mask.sum() > 0 and mask.sum():
                result[mask] = expert(tokens[mask])
        return result


class Sorted(Routed):
    """The tokens in the order of their experts, in pieces of as many as each gets."""

    def pieces(self, tokens, counts):
        return [expert(piece) for expert, piece in zip(self.experts, tokens.split(counts.tolist()))]

    def mixed(self, tokens, weights, chosen):
        order = chosen.view(-1).argsort()
        made = torch.cat(self.pieces(tokens[order // CHOSEN], self.counts(chosen)))
        back = torch.empty_like(made)
        back[order] = made
        return (back.view(*chosen.shape, -1) * weights.unsqueeze(-1)).sum(1)

    def counts(self, chosen):
        return chosen.view(-1).bincount(minlength=EXPERTS)


class SortedByNumPy(Sorted):
    def counts(self, chosen):
        return chosen.new_zeros((len(chosen), EXPERTS)).scatter_(1, chosen, 1).sum(0)

    def pieces(self, tokens, counts):
        made, start = [], 0
        for i, count in enumerate(counts.cpu().numpy()):
            end = start + count
            if count == 0:
                continue
            made.append(self.experts[i](tokens[start:end]))
            start = end
        return made


ROUTED = [each for base in (Routed, Sorted) for each in base.__subclasses__()]


@pytest.mark.parametrize("routed", ROUTED, ids=lambda routed: routed.__name__)
def test_experts_that_are_hit_are_those_of_each_run(routed):
    model = routed().eval()
    program = convert(model, RUNS[0], SHAPES)
    compare(program, model, *RUNS)


def test_the_line_that_asks_is_named():
    with pytest.warns(flambeau.errors.ConversionWarning, match=r"each index occurs.* \(test_experts.py:\d+: for expert in hit:\)"):
        convert(OverRowsThatAreHit().eval(), RUNS[0], SHAPES)


class Raised(nn.Module):
    def forward(self, x):
        if (x > 100).sum().item() > 0:
            x = x - 1
        return x


class Bonus(Routed):
    """An expert that is hit by no token would add to all of them."""

    def mixed(self, tokens, weights, chosen):
        for expert in chosen.unique():
            tokens = tokens + self.experts[expert](tokens)
        return tokens


class Chosen(nn.Module):
    """What is chosen of two values may be below 0."""

    def forward(self, x):
        return x + 1 if torch.where(x.sum() > 0, 1, -1).item() > 0 else x - 1


@pytest.mark.parametrize("model", [Raised(), Bonus(), Chosen()], ids=lambda model: type(model).__name__)
def test_what_does_something_where_there_is_nothing_is_refused(model):
    with pytest.raises(flambeau.errors.CaptureError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flambeau.export(model, RUNS[0], capture="export")


@pytest.mark.parametrize("model", [Raised(), Chosen()], ids=lambda model: type(model).__name__)
def test_a_script_does_it(model):
    program = convert(model, RUNS[0])
    compare(program, model, *((sign * RUNS[0][0],) for sign in (1, -1, 200)))


class Numbered(nn.Module):
    def forward(self, x):
        total = x.new_zeros(())
        for at in x[0].nonzero().flatten():
            total = total + x[0, at] * at + 1
        return total


def test_rounds_that_need_no_module_of_their_own_are_a_loop_over_what_is_there():
    program = convert(Numbered(), (torch.tensor([[0.0, 1.0, 0.0]]),))
    compare(program, Numbered(), *((torch.tensor([row]),) for row in ([0.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0])))


class Limits(nn.Module):
    """Integers that NumPy computes with."""

    def forward(self, x, lengths):
        ends = numpy.cumsum(lengths.numpy())
        return x[: ends[-1]].sum(0)


def test_integers_of_a_tensor_may_go_through_numpy():
    x, runs = torch.randn(12, 3), (torch.tensor([2, 3, 1]), torch.tensor([4, 0, 5]))
    program = convert(Limits(), (x, runs[0]))
    compare(program, Limits(), *((x, lengths) for lengths in runs))


class Padded(nn.Module):
    """A question about data, and then one about what is left of a size."""

    def forward(self, x, mask):
        left = (8 - x.shape[1] % 8) % 8
        y = F.pad(x, (0, left)).sin()
        if mask.any():
            y = y.masked_fill(mask, 0)
        if left > 0:
            y = y[:, :-left]
        return y + x


def test_questions_that_a_capture_comes_to_later_get_general_answers_as_well():
    none = torch.zeros(8).bool().repeat(2)
    program = convert(Padded(), (torch.randn(2, 16), none), ({0: "batch", 1: "time"}, None))
    compare(program, Padded(), *((torch.randn(rows, 16), mask) for rows in (2, 3) for mask in (none, ~none)))


class Attention(nn.Module):
    """Each token attends to some that data chooses, as in Longformer; there may be none."""

    def forward(self, x, chosen):
        keys = x.transpose(0, 1)[chosen]  # as many as are chosen, batch, size
        scores = keys.transpose(0, 1) @ x.transpose(1, 2)
        return scores.transpose(1, 2) @ keys.transpose(0, 1), scores


def test_products_over_what_data_chooses_are_zeros_where_it_chooses_nothing():
    x, chosen = torch.randn(3, 5, 4), torch.tensor([True, False, True, False, False])
    program = convert(Attention(), (x, chosen), ({0: "batch"}, None))
    compare(program, Attention(), (x, chosen), (x[:2], ~chosen), (x, torch.zeros(5).bool()))
