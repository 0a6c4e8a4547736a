"""The models that every exporter owes its users, small enough to test with.

``MODELS`` maps a name to a function that makes a :class:`Case`: the module in eval mode,
arguments, dynamic shapes, and arguments of other sizes for a second run.
"""

from __future__ import annotations

import dataclasses
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

ROOT = pathlib.Path(__file__).resolve().parents[2]


@dataclasses.dataclass
class Case:
    """One model; ``second`` are arguments at other sizes of the dynamic dims."""

    module: nn.Module
    args: tuple[Any, ...]
    dynamic_shapes: Any = None
    second: tuple[Any, ...] | None = None
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)
    tolerance: float = 1e-4


MODELS: dict[str, Callable[[], Case]] = {}


def model(function: Callable[[], Case]) -> Callable[[], Case]:
    """Adds a case to the zoo under the function's name."""
    MODELS[function.__name__] = function
    return function


def torchvision() -> Any:
    """torchvision's models module; PyPI's build is made to load beside a CPU torch."""
    if str(ROOT / "tools") not in sys.path:
        sys.path.append(str(ROOT / "tools"))
    import torchvision_cpu

    torchvision_cpu.imported()
    import torchvision.models

    return torchvision.models


def image_case(module: nn.Module, size: int, channels: int = 3) -> Case:
    """A batch of images; the batch is dynamic. Weights that start as zeros are drawn: they would hide what is before them."""
    for parameter in module.parameters():
        if not parameter.any():
            nn.init.normal_(parameter, std=0.02)
    return Case(module.eval(), (torch.randn(2, channels, size, size),), ({0: "batch"},), (torch.randn(3, channels, size, size),))


def vision_model(name: str, size: int, **options: Any) -> None:
    """Adds a torchvision classifier."""

    def make() -> Case:
        torch.manual_seed(0)
        return image_case(getattr(torchvision(), name)(weights=None, **options), size)

    MODELS[name] = make


vision_model("alexnet", 64)
vision_model("vgg11", 64)
vision_model("resnet18", 64)
vision_model("resnet50", 64)
vision_model("densenet121", 64)
vision_model("inception_v3", 96, init_weights=False, aux_logits=False)
vision_model("mobilenet_v3_small", 64)
vision_model("efficientnet_b0", 64)
vision_model("vit_b_16", 224)
vision_model("swin_t", 64)
vision_model("convnext_tiny", 64)


@model
def dcgan() -> Case:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for inputs, outputs, stride, padding in ((16, 32, 1, 0), (32, 16, 2, 1), (16, 8, 2, 1)):
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(True)]
    layers += [nn.ConvTranspose2d(8, 3, 4, 2, 1, bias=False), nn.Tanh()]
    return Case(nn.Sequential(*layers).eval(), (torch.randn(2, 16, 1, 1),), ({0: "batch"},), (torch.randn(5, 16, 1, 1),))


@model
def super_resolution() -> Case:
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(1, 64, 5, padding=2), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 32, 3, padding=1), nn.ReLU(),
        nn.Conv2d(32, 9, 3, padding=1), nn.PixelShuffle(3))  # fmt: skip
    return Case(module.eval(), (torch.randn(2, 1, 24, 20),), ({0: "batch", 2: "height", 3: "width"},), (torch.randn(3, 1, 18, 30),))


class WordLanguageModel(nn.Module):
    """An embedding, an LSTM and a decoder over words; the state goes in and out."""

    def __init__(self, words: int = 50, width: int = 16, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.rnn = nn.LSTM(width, width, layers)
        self.decoder = nn.Linear(width, words)

    def forward(self, words: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        output, (hidden, cell) = self.rnn(self.embedding(words), (hidden, cell))
        return F.log_softmax(self.decoder(output), dim=-1), hidden, cell


@model
def word_language_model() -> Case:
    torch.manual_seed(0)

    def arguments(batch: int) -> tuple[Tensor, ...]:
        return torch.randint(50, (7, batch)), torch.randn(2, batch, 16), torch.randn(2, batch, 16)

    return Case(WordLanguageModel().eval(), arguments(3), ({1: "batch"}, {1: "batch"}, {1: "batch"}), arguments(5))


class Mlp(nn.Module):
    """The example of PyTorch's documentation: a tensor, a dict and a list go in."""

    def __init__(self) -> None:
        super().__init__()
        self.fc0, self.fc1, self.fc2, self.fc3 = nn.Linear(8, 8), nn.Linear(8, 4), nn.Linear(4, 2), nn.Linear(2, 2)
        self.fc_combined = nn.Linear(24, 8)

    def forward(self, tensor_x: Tensor, input_dict: dict[str, Tensor], input_list: list[Tensor]) -> Tensor:
        x = torch.cat([tensor_x, input_dict["tensor_x"], input_list[0]], dim=1)
        for layer in (self.fc_combined, self.fc0, self.fc1, self.fc2):
            x = torch.sigmoid(layer(x))
        return self.fc3(x)


@model
def mlp() -> Case:
    torch.manual_seed(0)

    def arguments(batch: int) -> tuple[Any, ...]:
        return torch.rand(batch, 8), {"tensor_x": torch.rand(batch, 8)}, [torch.rand(batch, 8)]

    shapes = ({0: "batch_size"}, {"tensor_x": {0: "batch_size"}}, [{0: "batch_size"}])
    return Case(Mlp().eval(), arguments(97), shapes, arguments(5))


class Logits(nn.Module):
    """A transformers model that returns one tensor, without its cache."""

    def __init__(self, inner: nn.Module, field: str = "logits", **options: Any) -> None:
        super().__init__()
        self.inner, self.field, self.options = inner.eval(), field, options

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return getattr(self.inner(input_ids=input_ids, attention_mask=attention_mask, **self.options), self.field)


def text_case(module: nn.Module, words: int = 99) -> Case:
    """Token ids and a mask; batch and sequence are dynamic."""

    def arguments(batch: int, length: int) -> tuple[Tensor, Tensor]:
        mask = torch.ones(batch, length, dtype=torch.int64)
        mask[0, length - 2 :] = 0
        return torch.randint(words, (batch, length)), mask

    shape = {0: "batch", 1: "sequence"}
    return Case(module.eval(), arguments(2, 11), (shape, shape), arguments(3, 7))


@model
def bert() -> Case:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, max_position_embeddings=64)
    return text_case(Logits(BertModel(config), "last_hidden_state"))


@model
def gpt2() -> Case:
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    config = GPT2Config(vocab_size=99, n_embd=32, n_layer=2, n_head=4, n_positions=64)
    return text_case(Logits(GPT2LMHeadModel(config), use_cache=False))


@model
def llama() -> Case:
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    config = LlamaConfig(vocab_size=99, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64)
    return text_case(Logits(LlamaForCausalLM(config), use_cache=False))


class Translation(nn.Module):
    """T5 with its decoder's input given."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner.eval()

    def forward(self, input_ids: Tensor, decoder_input_ids: Tensor) -> Tensor:
        return self.inner(input_ids=input_ids, decoder_input_ids=decoder_input_ids, use_cache=False).logits


@model
def t5() -> Case:
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    config = T5Config(vocab_size=99, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4)

    def arguments(batch: int, source: int, target: int) -> tuple[Tensor, Tensor]:
        return torch.randint(99, (batch, source)), torch.randint(99, (batch, target))

    shapes = ({0: "batch", 1: "source"}, {0: "batch", 1: "target"})
    return Case(Translation(T5ForConditionalGeneration(config)).eval(), arguments(2, 9, 5), shapes, arguments(3, 6, 8))


@model
def vit() -> Case:
    import timm

    torch.manual_seed(0)
    return image_case(timm.create_model("vit_tiny_patch16_224", pretrained=False, img_size=32, depth=2), 32)
