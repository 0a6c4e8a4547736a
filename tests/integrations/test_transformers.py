"""transformers' own ONNX exporter, which rewrites the captured graph and calls ``torch.onnx.export`` with a table of its own."""

from __future__ import annotations

import torch

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
