"""transformers' own ONNX exporter, which rewrites the captured graph and calls ``torch.onnx.export`` with a table of its own."""

from __future__ import annotations

import copy

import pytest
import torch

import flambeau
from .conftest import library

DECODER = dict(
    vocab_size=99, hidden_size=32, num_hidden_layers=1, num_attention_heads=4, num_key_value_heads=2, intermediate_size=37, max_position_embeddings=64
)


def prompt(batch: int, length: int) -> dict[str, torch.Tensor]:
    return {"input_ids": torch.randint(1, 90, (batch, length)), "attention_mask": torch.ones(batch, length, dtype=torch.int64)}


def test_export(tmp_path):
    transformers, exporter = library("transformers"), library("transformers.exporters.exporter_onnx")
    model, first, second = transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER)).eval(), prompt(2, 7), prompt(3, 5)
    exported = exporter.OnnxExporter().export(model, first, config=exporter.OnnxConfig(dynamic=True))
    exported.save_pretrained(tmp_path)
    assert (tmp_path / "model.onnx").exists()
    for inputs in (first, second):
        with torch.no_grad():
            torch.testing.assert_close(exported(**inputs)[0], model(**inputs)[0], rtol=1e-4, atol=1e-5)


def test_a_cache_whose_window_has_passed_is_refused():
    transformers = library("transformers")
    config = transformers.MistralConfig(**DECODER, sliding_window=4)
    model = transformers.MistralForCausalLM(config).eval()

    def decoding(past: int) -> dict[str, object]:
        cache = transformers.DynamicCache(config=config)
        cache.update(torch.randn(2, 2, past, 8), torch.randn(2, 2, past, 8), 0)
        return {**prompt(2, 1), "attention_mask": torch.ones(2, past + 1, dtype=torch.int64), "past_key_values": cache}

    within = decoding(2)
    program = flambeau.export(model, kwargs=copy.deepcopy(within))
    with torch.no_grad():
        torch.testing.assert_close(program(**copy.deepcopy(within))[0], model(**within).logits, rtol=1e-4, atol=1e-5)
    with pytest.raises(flambeau.errors.CaptureError, match="has seen 6 tokens and holds 3"):
        flambeau.export(model, kwargs=decoding(6))


class Step(torch.nn.Module):
    def __init__(self, transformers):
        super().__init__()
        self.cache, self.model = transformers.DynamicCache, transformers.LlamaForCausalLM(transformers.LlamaConfig(**DECODER))

    def forward(self, ids, keys, values):
        cache = self.cache(config=self.model.config)
        cache.update(keys, values, 0)
        return self.model(ids, past_key_values=cache).logits


def test_a_step_of_one_token_serves_steps_of_more():
    def step(past: int, length: int) -> tuple[torch.Tensor, ...]:
        return torch.randint(1, 90, (2, length)), torch.randn(2, 2, past, 8), torch.randn(2, 2, past, 8)

    model = Step(library("transformers")).eval()
    program = flambeau.export(model, step(5, 1), dynamic_shapes=({1: "length"}, {2: "past"}, {2: "past"}))
    for past, length in ((5, 1), (7, 1), (7, 4), (3, 2)):
        inputs = step(past, length)
        with torch.no_grad():
            torch.testing.assert_close(program(*inputs)[0], model(*inputs), rtol=1e-4, atol=1e-5)
