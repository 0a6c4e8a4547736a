"""PyTorch's transformers with masks that are inputs: what the example's hold decides nothing."""

import warnings

import pytest
import torch
from torch import nn

import flambeau

LENGTH = 5
CAUSAL = nn.Transformer.generate_square_subsequent_mask(LENGTH)
NONE, SOME = torch.zeros(LENGTH, LENGTH), torch.randn(LENGTH, LENGTH)
LAST = torch.tensor([[False, False, False, True, True], [False] * LENGTH])
FIRST = LAST.flip(1)
X, Y = torch.randn(2, LENGTH, 8), torch.randn(2, LENGTH, 8)


def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2).eval()


def check(program, model, runs):
    """As PyTorch computes with gradients: without them it leaves padding out where that comes last, and gives zeros there."""
    for args, kwargs in runs:
        torch.testing.assert_close(program(*args, **kwargs)[0], model(*args, **kwargs).detach(), rtol=1e-4, atol=1e-5)


@pytest.fixture(params=["export", "trace"])
def options(request):
    return {"capture": request.param} if request.param == "trace" else {}


@pytest.mark.parametrize("example", [CAUSAL, NONE, SOME, CAUSAL.isinf()], ids=["causal", "none", "some", "bools"])
@pytest.mark.parametrize("gradients", [True, False])
def test_attention(example, gradients, options):
    model = encoder()
    with torch.set_grad_enabled(gradients), warnings.catch_warnings():
        warnings.simplefilter("error", flambeau.errors.ConversionWarning)
        program = flambeau.export(model, (X, example), verify=True, **options)
    masks = [mask.isinf() if example.dtype == torch.bool else mask for mask in (CAUSAL, NONE, SOME)]
    check(program, model, [((X, mask), {}) for mask in masks])


@pytest.mark.parametrize("example", [LAST, FIRST, torch.zeros_like(LAST)], ids=["last", "first", "none"])
@pytest.mark.parametrize("gradients", [True, False])
def test_padding(example, gradients, options):
    model = encoder()
    with torch.set_grad_enabled(gradients):
        program = flambeau.export(model, (X,), kwargs={"src_key_padding_mask": example}, verify=True, **options)
    check(program, model, [((X,), {"src_key_padding_mask": mask}) for mask in (LAST, FIRST)])


def test_both_of_a_whole_transformer(options):
    model = nn.Transformer(8, 2, 1, 1, 16, batch_first=True).eval()
    names = ("src_mask", "tgt_mask", "memory_mask")
    first, second = dict(zip(names, (NONE, CAUSAL, NONE))), dict(zip(names, (CAUSAL, SOME, CAUSAL)))
    padding = {"src_key_padding_mask": torch.where(LAST, -torch.inf, 0.0), "tgt_key_padding_mask": torch.where(LAST, -torch.inf, 0.0)}
    program = flambeau.export(model, (X, Y), kwargs={**first, **padding}, verify=True, **options)
    check(program, model, [((X, Y), {**masks, **padding}) for masks in (first, second)])
