"""The models that are timed, at their real depth; weights are random."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable

import torch
from torch.export import Dim, ExportedProgram

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from models import zoo  # noqa: E402


def capture_image_model(name: str, size: int) -> ExportedProgram:
    """A torchvision model with a dynamic batch."""
    module = getattr(zoo.torchvision(), name)(weights=None).eval()
    return torch.export.export(module, (torch.randn(2, 3, size, size),), dynamic_shapes=({0: Dim.DYNAMIC},), strict=False)


def capture_text_model(module: torch.nn.Module) -> ExportedProgram:
    """A transformers model with dynamic batch and sequence."""
    args = (torch.randint(99, (2, 11)), torch.ones(2, 11, dtype=torch.int64))
    shape = {0: Dim.DYNAMIC, 1: Dim.DYNAMIC}
    return torch.export.export(module.eval(), args, dynamic_shapes=(shape, shape), strict=False)


def gpt2() -> ExportedProgram:
    """GPT-2 at its real size."""
    from transformers import GPT2Config, GPT2LMHeadModel

    return capture_text_model(zoo.Logits(GPT2LMHeadModel(GPT2Config()), use_cache=False))


def llama() -> ExportedProgram:
    """Sixteen layers of small width."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=1000, hidden_size=128, num_hidden_layers=16, num_attention_heads=8, num_key_value_heads=4, intermediate_size=256)
    return capture_text_model(zoo.Logits(LlamaForCausalLM(config), use_cache=False))


MODELS: dict[str, Callable[[], ExportedProgram]] = {
    "ResNet-50": lambda: capture_image_model("resnet50", 224),
    "DenseNet-121": lambda: capture_image_model("densenet121", 224),
    "Swin-T": lambda: capture_image_model("swin_t", 224),
    "GPT-2 (12 layers)": gpt2,
    "Llama (16 layers)": llama,
}
