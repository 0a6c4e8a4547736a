"""optimum-onnx: `optimum-cli export onnx` and what loads its folders."""

from __future__ import annotations

import os
import pathlib

import onnx
import pytest
import torch

from .conftest import library

library("optimum.exporters.onnx")
import transformers as T  # noqa: E402
from optimum.exporters.onnx import onnx_export_from_model  # noqa: E402
from optimum.onnxruntime import ORTModelForCausalLM, ORTModelForSeq2SeqLM  # noqa: E402

ENCODER = dict(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, max_position_embeddings=64)
DECODER = dict(ENCODER, num_key_value_heads=2)
VISION = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=37, image_size=32, patch_size=8)
BART = dict(d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37)

# optimum compares each with PyTorch, at sizes of its own choice.
RECIPES = {
    "bert": (lambda: T.BertForSequenceClassification(T.BertConfig(**ENCODER)), "text-classification"),
    "roberta": (lambda: T.RobertaForMaskedLM(T.RobertaConfig(**ENCODER)), "fill-mask"),
    "distilbert": (
        lambda: T.DistilBertForQuestionAnswering(T.DistilBertConfig(vocab_size=99, dim=32, n_layers=2, n_heads=4, hidden_dim=37)),
        "question-answering",
    ),
    "deberta": (lambda: T.DebertaV2ForSequenceClassification(T.DebertaV2Config(**ENCODER)), "text-classification"),
    "vit": (lambda: T.ViTForImageClassification(T.ViTConfig(**VISION)), "image-classification"),
    "swin": (
        lambda: T.SwinForImageClassification(T.SwinConfig(embed_dim=8, depths=[1, 1], num_heads=[2, 2], image_size=32, window_size=4)),
        "image-classification",
    ),
    "yolos": (lambda: T.YolosForObjectDetection(T.YolosConfig(**{**VISION, "image_size": [32, 32]}, num_detection_tokens=5)), "object-detection"),
    "clip": (
        lambda: T.CLIPModel(T.CLIPConfig(text_config=ENCODER, vision_config=VISION)),
        "zero-shot-image-classification",
    ),
    "wav2vec2": (
        lambda: T.Wav2Vec2ForCTC(
            T.Wav2Vec2Config(
                **{**ENCODER, "num_feat_extract_layers": 2}, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3)
            )
        ),
        "automatic-speech-recognition",
    ),
    "whisper": (
        lambda: T.WhisperForConditionalGeneration(
            T.WhisperConfig(vocab_size=99, **BART, pad_token_id=0, bos_token_id=0, eos_token_id=0, decoder_start_token_id=0)
        ),
        "automatic-speech-recognition-with-past",
    ),
}
CAUSAL = {
    "gpt2": lambda: T.GPT2LMHeadModel(T.GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)),
    "llama": lambda: T.LlamaForCausalLM(T.LlamaConfig(**DECODER)),
    "bloom": lambda: T.BloomForCausalLM(T.BloomConfig(vocab_size=99, hidden_size=32, n_layer=2, n_head=4)),
}
SEQUENCE = {
    "t5": lambda: T.T5ForConditionalGeneration(
        T.T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=37, num_layers=2, num_heads=4, decoder_start_token_id=0)
    ),
    "bart": lambda: T.BartForConditionalGeneration(T.BartConfig(vocab_size=99, **BART, max_position_embeddings=64)),
}


def export(model: torch.nn.Module, task: str, folder: pathlib.Path) -> None:
    onnx_export_from_model(model, folder, task=task, do_validation=True)
    for name in os.listdir(folder):
        if name.endswith(".onnx"):
            assert onnx.load(folder / name, load_external_data=False).producer_name in ("flambeau", "optimum-onnx"), name


@pytest.mark.parametrize("name", RECIPES)
def test_recipe(name, tmp_path):
    make, task = RECIPES[name]
    export(make().eval(), task, tmp_path)


PROMPT = {"input_ids": torch.tensor([[5, 6, 7, 8]]), "attention_mask": torch.ones(1, 4, dtype=torch.int64)}
GREEDY = dict(max_new_tokens=6, min_new_tokens=6, do_sample=False, num_beams=1)


@pytest.mark.parametrize("name", CAUSAL)
def test_it_generates_the_same_tokens(name, tmp_path):
    model = CAUSAL[name]().eval()
    expected = model.generate(**PROMPT, **GREEDY).tolist()
    export(model, "text-generation-with-past", tmp_path)
    assert ORTModelForCausalLM.from_pretrained(tmp_path).generate(**PROMPT, **GREEDY).tolist() == expected


@pytest.mark.parametrize("name", SEQUENCE)
def test_encoder_and_decoder_generate_the_same_tokens(name, tmp_path):
    """optimum merges the two decoders, which must agree in the names of all axes."""
    model = SEQUENCE[name]().eval()
    expected = model.generate(**PROMPT, **GREEDY).tolist()
    export(model, "text2text-generation-with-past", tmp_path)
    assert (tmp_path / "decoder_model_merged.onnx").exists()
    assert ORTModelForSeq2SeqLM.from_pretrained(tmp_path).generate(**PROMPT, **GREEDY).tolist() == expected
