"""Generates layers of torch.nn with drawn arguments, traced and scripted, and compares onnxruntime with PyTorch at several sizes.

    python fuzz/layers.py --seconds 600 [--capture trace] [--opset 17] [--seed N] [--refusals]

Where the other generators join a few forms of many operators, this one draws each argument of one layer: windows, strides,
paddings, modes, states that are given or not, dtypes, training or not.
"""

from __future__ import annotations

import argparse
import pathlib
import random
import textwrap
from collections.abc import Callable
from typing import Any

import torch

from campaign import DISAGREES, Disagreement, Refusal, command
from checked_modules import CAPTURES, OPSETS, Subject, World, check

HEAD = '''
from typing import Dict, List, Optional, Tuple

import torch
import torch.distributions as D
import torch.nn.functional as F
from torch import Tensor, nn


class Program(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = {layer}

    def forward(self, {signature}):
{body}
'''
SIZES = {"n": (2, 3, 1), "s": (6, 9, 7), "w": (7, 8, 5), "t": (4, 6, 5)}
"""Dynamic sizes: a batch, two of an image, and steps."""


class Draw:
    """Draws one layer: its text, the lines that call it, and its inputs."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.inputs: dict[str, tuple[Any, ...]] = {}
        self.dtype = torch.float32
        self.integers: dict[str, int] = {}
        self.layer, self.body = "", ""
        self.training = False
        self.fixed = chance.random() < 0.25  # sizes of images are the same in all worlds

    def one(self, *choices: Any) -> Any:
        return self.chance.choice(choices)

    def given(self, **arguments: Any) -> str:
        """Keyword arguments, some of them left out."""
        return ", ".join(f"{name}={value!r}" for name, value in arguments.items() if self.chance.random() < 0.6)

    def per_axis(self, rank: int, *choices: int) -> Any:
        return self.one(*choices) if self.chance.random() < 0.5 else tuple(self.one(*choices) for _ in range(rank))

    def image(self, rank: int, channels: int = 4, batched: float = 0.8) -> tuple[Any, ...]:
        spatial = tuple("sws"[:rank]) if rank > 1 else (self.one("s", "t"),)
        if self.fixed:
            spatial = (7, 6, 5)[:rank]
        return (("n",) if self.chance.random() < batched else ()) + (channels, *spatial)

    def pooling(self) -> None:
        rank = self.one(1, 2, 2, 3)
        self.inputs["x"] = self.image(rank)
        kernel = self.per_axis(rank, 1, 2, 3)
        kind = self.one("Max", "Max", "Avg", "Avg", "LP", "AdaptiveAvg", "AdaptiveMax")
        several = False
        if kind == "Max":
            several = self.chance.random() < 0.3
            arguments = self.given(stride=self.per_axis(rank, 1, 2, 3), padding=self.per_axis(rank, 0, 0, 1), dilation=self.per_axis(rank, 1, 1, 2), ceil_mode=self.one(True, False))
            self.layer = f"nn.MaxPool{rank}d({kernel}, {arguments})" if not several else f"nn.MaxPool{rank}d({kernel}, {arguments + ', ' if arguments else ''}return_indices=True)"
        elif kind == "Avg":
            more = {"divisor_override": self.one(1, 3, 5)} if rank > 1 else {}
            self.layer = f"nn.AvgPool{rank}d({kernel}, {self.given(stride=self.per_axis(rank, 1, 2, 3), padding=self.per_axis(rank, 0, 1), ceil_mode=self.one(True, False), count_include_pad=self.one(True, False), **more)})"
        elif kind == "LP":
            self.layer = f"nn.LPPool{rank}d({self.one(1, 2, 3)}, {kernel}, {self.given(stride=self.per_axis(rank, 1, 2), ceil_mode=self.one(True, False))})"
        else:
            size = self.one(1, 2, 3, 5) if rank == 1 or self.chance.random() < 0.5 else tuple(self.one(None, 1, 2, 3, 4) for _ in range(rank))
            several = kind == "AdaptiveMax" and self.chance.random() < 0.3
            self.layer = f"nn.{kind}Pool{rank}d({size}{', return_indices=True' if several else ''})"
        self.body = "a, b = self.layer(x)\nreturn a, b" if several else "return self.layer(x)"

    def resizing(self) -> None:
        rank = self.one(1, 2, 2, 3)
        self.inputs["x"] = self.image(rank, batched=1.0)
        modes = {1: ("nearest", "linear", "area", "nearest-exact"), 2: ("nearest", "bilinear", "bicubic", "area", "nearest-exact"), 3: ("nearest", "trilinear", "area", "nearest-exact")}
        mode = self.one(*modes[rank])
        align = f", align_corners={self.one(True, False)}" if "linear" in mode or mode == "bicubic" else ""
        if mode in ("bilinear", "bicubic") and self.chance.random() < 0.25 and "True" not in align:
            align += ", antialias=True"
        how = self.one("size", "scale", "scale", "of_input", "upsample", "recomputed")
        scales = (0.5, 1.5, 2.0, 2, 3, 0.75, 1.0, 2.3)
        scale = self.per_axis(rank, *scales)
        written = repr(scale) if not isinstance(scale, tuple) else repr([float(each) for each in scale])
        self.layer = "nn.Identity()"
        if how == "size":
            self.body = f"return F.interpolate(x, size={self.one(3, 8, 12) if self.chance.random() < 0.5 else [self.one(2, 5, 11) for _ in range(rank)]}, mode={mode!r}{align})"
        elif how == "of_input":
            sizes = ", ".join(f"x.size({2 + d}){self.one('', ' * 2', ' // 2', ' + 3', ' - 1')}" for d in range(rank))
            self.body = f"return F.interpolate(x, size=[{sizes}], mode={mode!r}{align})"
        elif how == "upsample" and "exact" not in mode and "area" != mode and "antialias" not in align:
            self.layer = f"nn.Upsample({self.one(f'scale_factor={scale}', 'size=5')}, mode={mode!r}{align})"
            self.body = "return self.layer(x)"
        else:
            recomputed = ", recompute_scale_factor=True" if how == "recomputed" else ""
            self.body = f"return F.interpolate(x, scale_factor={written}, mode={mode!r}{align}{recomputed})"

    def convolution(self) -> None:
        rank, groups = self.one(1, 2, 2, 3), self.one(1, 1, 2, 4)
        self.inputs["x"] = self.image(rank)
        transposed = self.chance.random() < 0.4
        if not transposed:
            padding: Any = self.per_axis(rank, 0, 1, 2)
            stride = self.per_axis(rank, 1, 2)
            if self.chance.random() < 0.25:
                padding, stride = self.one("same", "valid"), 1
            arguments = self.given(dilation=self.per_axis(rank, 1, 2), bias=self.one(True, False), padding_mode=self.one("zeros", "reflect", "replicate", "circular"))
            self.layer = f"nn.Conv{rank}d(4, 4, {self.per_axis(rank, 1, 2, 3)}, stride={stride}, padding={padding!r}, groups={groups}, {arguments})"
            self.body = "return self.layer(x)"
            return
        stride = self.one(1, 2, 3)
        self.layer = f"nn.ConvTranspose{rank}d(4, 4, {self.per_axis(rank, 1, 2, 3)}, stride={stride}, padding={self.one(0, 0, 1)}, output_padding={self.chance.randrange(stride)}, groups={groups}, bias={self.one(True, False)}, dilation={self.one(1, 1, 2)})"
        self.body = "return self.layer(x)"
        if self.chance.random() < 0.3:
            sizes = ", ".join(f"x.size({d - rank}) * {stride} + 1" for d in range(rank))
            self.body = f"return self.layer(x, output_size=[{sizes}])"

    def norm(self) -> None:
        rank = self.one(1, 2, 3)
        self.training = self.chance.random() < 0.5
        kind = self.one("batch", "batch", "instance", "instance", "group", "layer", "local", "rms")
        self.inputs["x"] = self.image(rank, batched=1.0)
        if kind == "batch":
            self.layer = f"nn.BatchNorm{rank}d(4, {self.given(eps=0.01, momentum=self.one(None, 0.3), affine=self.one(True, False), track_running_stats=self.one(True, False))})"
            if rank == 1 and self.chance.random() < 0.5:
                self.inputs["x"] = ("t", 4)
        elif kind == "instance":
            self.inputs["x"] = self.image(rank)
            self.layer = f"nn.InstanceNorm{rank}d(4, {self.given(eps=0.01, momentum=self.one(0.3, 0.1), affine=self.one(True, False), track_running_stats=self.one(True, False))})"
        elif kind == "group":
            self.layer = f"nn.GroupNorm({self.one(1, 2, 4)}, 4, {self.given(eps=0.01, affine=self.one(True, False))})"
        elif kind == "local":
            self.layer = f"nn.LocalResponseNorm({self.one(1, 2, 3)}, {self.given(alpha=0.1, beta=0.5, k=2.0)})"
        else:
            self.inputs["x"] = ("n", "t", 3, 4)
            shape = self.one(4, (4,), (3, 4))
            more = {"elementwise_affine": self.one(True, False)} | ({"bias": self.one(True, False)} if kind == "layer" else {})
            self.layer = f"nn.{'LayerNorm' if kind == 'layer' else 'RMSNorm'}({shape}, {self.given(eps=0.01, **more)})"
        self.body = self.one("return self.layer(x)", "return self.layer(self.layer(x))" if kind != "rms" else "return self.layer(x)")

    def recurrent(self) -> None:
        kind, layers, both, first = self.one("LSTM", "LSTM", "GRU", "RNN"), self.one(1, 1, 2, 3), self.chance.random() < 0.4, self.chance.random() < 0.5
        batched, hidden = self.chance.random() < 0.8, 4
        projected = 2 if kind == "LSTM" and self.chance.random() < 0.25 else 0
        self.inputs["x"] = (("n", "t", 3) if first else ("t", "n", 3)) if batched else ("t", 3)
        arguments = [f"num_layers={layers}", f"bidirectional={both}", f"batch_first={first}", f"bias={self.one(True, True, False)}"]
        if projected:
            arguments.append(f"proj_size={projected}")
        if kind == "RNN" and self.chance.random() < 0.5:
            arguments.append('nonlinearity="relu"')
        self.layer = f"nn.{kind}(3, {hidden}, {', '.join(arguments)})"
        stacked = layers * (2 if both else 1)
        batch = ("n",) if batched else ()
        call = "x"
        packed = batched and self.chance.random() < 0.3
        if self.chance.random() < 0.5:
            self.inputs["h"] = (stacked, *batch, projected or hidden)
            state = "h"
            if kind == "LSTM":
                self.inputs["c"] = (stacked, *batch, hidden)
                state = "(h, c)"
            call = f"x, {state}"
        if packed:
            self.inputs["lengths"] = ("n",)
            self.integers["lengths"] = 4
            lengths = "lengths" if self.chance.random() < 0.7 else "[int(k) for k in lengths]"
            call = call.replace("x", f"nn.utils.rnn.pack_padded_sequence(x, {lengths}, batch_first={first}, enforce_sorted=False)", 1)
        out = f"nn.utils.rnn.pad_packed_sequence(out, batch_first={self.one(first, not first)}{self.one('', ', padding_value=-1.0', ', total_length=8')})" if packed else "out"
        self.body = f"out, state = self.layer({call})\nreturn {out}, state"

    def cell(self) -> None:
        kind = self.one("LSTM", "GRU", "RNN")
        batch = ("n",) if self.chance.random() < 0.8 else ()
        self.inputs["x"] = (*batch, 3)
        self.layer = f"nn.{kind}Cell(3, 4, bias={self.one(True, False)})"
        state = ""
        if self.chance.random() < 0.6:
            self.inputs["h"] = (*batch, 4)
            state = ", h"
            if kind == "LSTM":
                self.inputs["c"] = (*batch, 4)
                state = ", (h, c)"
        loops = self.chance.random() < 0.4 and state
        if loops:
            names = "h, c" if kind == "LSTM" else "h"
            self.inputs["x"] = ("t", *batch, 3)
            self.body = f"out: List[Tensor] = []\nfor k in range(x.size(0)):\n    {names} = self.layer(x[k]{state})\n    out.append(h)\nreturn torch.stack(out), {names}"
        else:
            self.body = f"return self.layer(x{state})"

    def attention(self) -> None:
        if self.chance.random() < 0.4:
            self.layer = f"nn.TransformerEncoderLayer(4, 2, 6, 0.0, {self.one('F.relu', 'F.gelu', repr('gelu'))}, batch_first=True, norm_first={self.one(True, False)})"
            self.inputs["x"] = ("n", "t", 4)
            self.body = self.one("return self.layer(x)", "return self.layer(x, src_mask=torch.full((x.size(1), x.size(1)), float('-inf')).triu(1))")
            self.training = self.chance.random() < 0.4
            return
        first, apart = self.chance.random() < 0.5, self.chance.random() < 0.3
        self.inputs["x"] = ("n", "t", 4) if first else ("t", "n", 4)
        key = ("n", "s", 5 if apart else 4) if first else ("s", "n", 5 if apart else 4)
        other = apart or self.chance.random() < 0.4
        if other:
            self.inputs["y"] = key
        sizes = ", kdim=5, vdim=5" if apart else ""
        self.layer = f"nn.MultiheadAttention(4, 2, batch_first={first}, bias={self.one(True, False)}, add_bias_kv={self.one(False, False, True)}, add_zero_attn={self.one(False, False, True)}{sizes})"
        arguments = []
        if self.chance.random() < 0.6:
            weights = self.one(True, False)
            arguments.append(f"need_weights={weights}")
            if weights:
                arguments.append(f"average_attn_weights={self.one(True, False)}")
        batch, steps = (0, 1) if first else (1, 0)
        if self.chance.random() < 0.4:
            arguments.append(f"key_padding_mask=({'y' if other else 'x'}[..., 0] > 0.5){'' if first else '.t()'}")
        if self.chance.random() < 0.4 and not other:
            mask = self.one("torch.ones(x.size({0}), x.size({0}), dtype=torch.bool).triu(1)", "torch.zeros(x.size({0}), x.size({0})).tril(-1) + 0.5")
            arguments.append(f"attn_mask={mask.format(steps)}")
        argument = ", ".join(["x", *(["y", "y"] if other else ["x", "x"]), *arguments])
        self.body = f"out, weights = self.layer({argument})\nreturn out, weights"
        self.training = self.chance.random() < 0.3

    def padding(self) -> None:
        rank = self.one(1, 2, 3)
        self.inputs["x"] = self.image(rank)
        kind = self.one("Reflection", "Replication", "Constant", "Zero", "Circular")
        size = self.one(1, 2) if self.chance.random() < 0.4 else tuple(self.one(0, 1, 2, -1) for _ in range(2 * rank))
        self.layer = f"nn.{kind}Pad{rank}d({size}{', -1.5' if kind == 'Constant' else ''})"
        self.body = "return self.layer(x)"

    def rearranging(self) -> None:
        self.inputs["x"] = ("n", 8, "s", "w")
        self.layer, self.body = "nn.Identity()", "return self.layer(x)"
        which = self.one("shuffle", "unshuffle", "channels", "unfold", "fold", "flatten", "unflatten", "unpool", "grid")
        if which == "shuffle":
            self.layer = "nn.PixelShuffle(2)"
        elif which == "unshuffle":
            self.layer, self.inputs["x"] = f"nn.PixelUnshuffle({self.one(1, 2)})", ("n", 4, 6, 8)
        elif which == "channels":
            self.layer = f"nn.ChannelShuffle({self.one(1, 2, 4)})"
        elif which == "unfold":
            self.layer = f"nn.Unfold({self.per_axis(2, 1, 2, 3)}, {self.given(dilation=self.per_axis(2, 1, 2), padding=self.per_axis(2, 0, 1), stride=self.per_axis(2, 1, 2))})"
        elif which == "fold":
            stride, padding, dilation = self.one(1, 2), self.one(0, 1), self.one(1, 2)
            count = ((7 + 2 * padding - dilation - 1) // stride + 1) * ((6 + 2 * padding - dilation - 1) // stride + 1)
            self.layer, self.inputs["x"] = f"nn.Fold((7, 6), 2, {dilation}, {padding}, {stride})", ("n", 8, count)
        elif which == "flatten":
            self.layer = f"nn.Flatten({self.one(0, 1, 2)}, {self.one(-1, -2, 2)})"
        elif which == "unflatten":
            self.layer = f"nn.Unflatten(1, {self.one((2, 4), (-1, 2), (2, 2, 2))})"
        elif which == "unpool":
            stride = self.one("", ", 2")
            self.body = f"a, b = F.max_pool2d(x, 2{stride}, return_indices=True)\nreturn F.max_unpool2d(a, b, 2{stride}{self.one('', ', output_size=x.shape[-2:]' if self.one(True, False) else '')})"
        else:
            self.inputs["g"] = ("n", 3, 5, 2)
            self.body = f"return F.grid_sample(x, g, mode={self.one('bilinear', 'nearest', 'bicubic')!r}, padding_mode={self.one('zeros', 'border', 'reflection')!r}, align_corners={self.one(True, False)})"

    def embedding(self) -> None:
        self.integers["i"] = 6
        if self.chance.random() < 0.5:
            self.inputs["i"] = self.one(("n",), ("n", "t"), ())
            self.layer = f"nn.Embedding(6, 3, {self.given(padding_idx=self.one(0, 5, -2), max_norm=None, scale_grad_by_freq=True)})"
            self.body = "return self.layer(i)"
            return
        mode = self.one("sum", "mean", "max")
        self.layer = f"nn.EmbeddingBag(6, 3, mode={mode!r}, {self.given(padding_idx=self.one(0, 5), include_last_offset=False)})"
        if self.chance.random() < 0.5:
            self.inputs["i"] = ("n", "t")
            self.body = "return self.layer(i)"
            return
        self.inputs["i"] = ("t",)
        self.body = f"return self.layer(i, torch.tensor([0, {self.one(1, 2, 4)}, {self.one(4)}]))"
        if mode == "sum" and self.chance.random() < 0.5:
            self.inputs["x"] = ("t",)
            self.body = "return self.layer(i, torch.tensor([0, 2]), x)"

    def loss(self) -> None:
        reduction = self.one("mean", "sum", "none")
        self.inputs["x"] = ("n", 4)
        which = self.one("classes", "classes", "images", "pairs", "pairs", "binary", "margins")
        if which in ("classes", "images"):
            self.inputs["x"], self.inputs["i"] = (("n", 4), ("n",)) if which == "classes" else (("n", 4, "s", "w"), ("n", "s", "w"))
            self.integers["i"] = 4
            name = self.one("CrossEntropyLoss", "NLLLoss")
            smooth = {"label_smoothing": 0.2} if name == "CrossEntropyLoss" else {}
            weight = self.one("", "weight=torch.tensor([0.5, 1.0, 2.0, 0.1]), ")
            self.layer, self.body = f"nn.{name}({weight}reduction={reduction!r}, {self.given(ignore_index=self.one(0, 2, -1), **smooth)})", "return self.layer(x, i)"
            return
        self.inputs["y"] = self.inputs["x"]
        if which == "pairs":
            name = self.one("MSELoss", "L1Loss", "SmoothL1Loss", "HuberLoss", "KLDivLoss", "PoissonNLLLoss", "SoftMarginLoss")
            more = {"SmoothL1Loss": "beta=0.3", "HuberLoss": "delta=0.4", "KLDivLoss": "log_target=True", "PoissonNLLLoss": "full=False"}.get(name, "")
            self.layer, self.body = f"nn.{name}(reduction={reduction!r}, {more})", f"return self.layer(x, {'y.sign()' if name == 'SoftMarginLoss' else 'y'})"
        elif which == "binary":
            self.layer = f"nn.BCEWithLogitsLoss(reduction={reduction!r}, {self.one('', 'pos_weight=torch.tensor([0.5, 1.0, 2.0, 0.1])', 'weight=torch.tensor([0.5, 1.0, 2.0, 0.1])')})"
            self.body = "return self.layer(x, y.sigmoid())"
        else:
            name = self.one("HingeEmbeddingLoss", "MarginRankingLoss", "CosineEmbeddingLoss", "TripletMarginLoss", "MultiLabelSoftMarginLoss", "GaussianNLLLoss")
            arguments = {"HingeEmbeddingLoss": "x, y.sign()", "MarginRankingLoss": "x, y, x.sign()", "CosineEmbeddingLoss": "x, y, y[:, 0].sign()", "TripletMarginLoss": "x, y, x * y", "MultiLabelSoftMarginLoss": "x, (y > 0).float()", "GaussianNLLLoss": "x, y, y.abs() + 0.1"}
            self.layer, self.body = f"nn.{name}(reduction={reduction!r})", f"return self.layer({arguments[name]})"

    def activation(self) -> None:
        self.inputs["x"] = self.one(("n", 4), ("n", 4, "s"), ("n", 4, "s", "w"), (4,))
        self.layer = self.one(
            "nn.ELU(0.7)", "nn.Hardshrink(0.3)", "nn.Hardtanh(-0.5, 0.7)", "nn.LeakyReLU(0.3)", "nn.PReLU()", "nn.PReLU(4)", "nn.CELU(0.5)", "nn.GELU('tanh')", "nn.Softplus(2.0, 1.0)", "nn.Softshrink(0.3)", "nn.Threshold(0.1, 20.0)",
            "nn.Softmin(0)", "nn.Softmax(-1)", "nn.LogSoftmax(1)", "nn.GLU(-1)", "nn.GLU(1)", "nn.RReLU(0.1, 0.3)", "nn.ReLU6()", "nn.Hardswish()", "nn.Mish()", "nn.SiLU(inplace=True)", "nn.ReLU(inplace=True)", "nn.ELU(inplace=True)", "nn.Hardsigmoid()", "nn.LogSigmoid()", "nn.Tanhshrink()", "nn.Softsign()", "nn.SELU()", "nn.Softmax2d()", "nn.Softmax()", "nn.CosineSimilarity(0)", "nn.Dropout(0.3)", "nn.Dropout2d(0.3)", "nn.AlphaDropout(0.3)",
        )  # fmt: skip
        self.body = "return self.layer(x, x * 2 - 1)" if "Cosine" in self.layer else "return self.layer(x)" if "inplace" not in self.layer else "y = x * 1\nself.layer(y)\nreturn y"

    def distribution(self) -> None:
        """Only traced: TorchScript has no classes of distributions."""
        self.layer = "nn.Identity()"
        shape = self.one(("n",), ("n", 4), (4,))
        self.inputs = {"x": shape, "y": shape, "v": shape}
        a, b = self.one("x", "x.exp()", "x[..., :1]"), "(y.exp() + 0.1)"
        positive, unit, matrix = "(x.abs() + 0.5)", "x.sigmoid()", "(torch.eye(4) * 1.5 + 0.1)"
        real, above, within, whole = "v", "(v.abs() + 0.1)", "(v.sigmoid() * 0.9 + 0.05)", "v.abs().floor()"
        rows = {"x": ("n", 4), "y": ("n", 4), "v": ("n", 4)}
        drawn: dict[str, tuple[str, ...]] = {
            f"Normal({a}, {b})": (real, "cdf", "entropy", "icdf", "stddev"),
            f"LogNormal(x, {b})": (above, "entropy", "mean", "variance", "mode"),
            f"Laplace(x, {b})": (real, "cdf", "entropy", "icdf", "stddev"),
            f"Cauchy(x, {b})": (real, "cdf", "entropy", "icdf"),
            f"Gumbel(x, {b})": (real, "cdf", "entropy", "mean", "stddev"),
            f"Exponential({b})": (above, "cdf", "entropy", "icdf", "mean"),
            f"Gamma({positive}, {b})": (above, "entropy", "mean", "variance", "mode"),
            f"InverseGamma({positive}, {b})": (above, "entropy", "mean"),
            f"Beta({positive}, {b})": (within, "entropy", "mean", "variance", "mode"),
            f"Chi2({positive})": (above, "entropy"),
            f"StudentT({positive}, x, {b})": (real, "entropy", "mean", "variance"),
            f"FisherSnedecor({positive}, {b})": (above, "mean", "variance"),
            f"HalfNormal({b})": (above, "cdf", "entropy", "icdf", "variance"),
            f"HalfCauchy({b})": (above, "cdf", "entropy", "icdf"),
            f"Uniform(x, x + {b})": ("(x + y.exp() * 0.3)", "cdf", "entropy", "icdf", "stddev"),
            f"Pareto({b}, {positive})": ("(y.exp() + 0.6)", "cdf", "entropy", "mean"),
            f"Weibull({b}, {positive})": (above, "cdf", "entropy", "mean"),
            f"Kumaraswamy({positive}, {b})": (within, "entropy", "mean"),
            f"VonMises(x, {b})": (real, "mean", "variance"),
            f"Bernoulli({unit})": ("(v > 0).float()", "entropy", "mean", "variance", "mode"),
            "Bernoulli(logits=x)": ("(v > 0).float()", "entropy", "probs"),
            f"ContinuousBernoulli({unit})": (within, "entropy", "mean", "cdf"),
            f"Geometric({unit})": (whole, "entropy", "mean", "mode"),
            f"Poisson({positive})": (whole, "mean", "mode"),
            f"Binomial(5, {unit})": ("v.abs().floor().clamp(max=5)", "mean", "variance", "mode", "entropy"),
            f"NegativeBinomial(5, {unit})": (whole, "mean", "variance"),
            "LogisticNormal(x[..., :3], y.exp()[..., :3])": ("v.softmax(-1)",),
            f"RelaxedBernoulli(torch.tensor(0.7), {unit})": (within, "probs"),
        }
        joint: dict[str, tuple[str, ...]] = {
            "Categorical(logits=x)": ("(v[:, 0] > 0).long()", "entropy", "mode", "probs"),
            "Categorical(x.softmax(-1))": ("(v[:, 0] > 0).long()", "entropy", "logits", "perplexity"),
            "OneHotCategorical(logits=x)": ("F.one_hot(v.argmax(-1), 4).float()", "entropy", "mean", "mode"),
            "RelaxedOneHotCategorical(torch.tensor(0.7), logits=x)": ("v.softmax(-1)",),
            "Dirichlet(x.exp())": ("v.softmax(-1)", "entropy", "mean", "variance"),
            "Multinomial(4, logits=x)": ("torch.ones_like(v)", "mean", "variance"),
            f"MultivariateNormal(x, scale_tril={matrix})": ("v", "entropy", "variance", "mode"),
            f"MultivariateNormal(x, {matrix} @ {matrix}.t())": ("v", "entropy"),
            "LowRankMultivariateNormal(x, y[:, :2].unsqueeze(1) * torch.ones(4, 1), torch.ones(4))": ("v", "entropy", "variance"),
            "Independent(D.Normal(x, y.exp()), 1)": ("v", "entropy", "mean"),
            "MixtureSameFamily(D.Categorical(logits=x), D.Normal(y, y.exp() + 0.1))": ("v[:, 0]", "mean", "variance", "cdf"),
            "TransformedDistribution(D.Normal(x, y.exp()), [D.transforms.ExpTransform(), D.transforms.AffineTransform(0.0, 2.0)])": ("(v.abs() + 0.1)",),
            "TransformedDistribution(D.Normal(x, y.exp()), D.transforms.SigmoidTransform())": ("(v.sigmoid() * 0.9 + 0.05)",),
            "TransformedDistribution(D.Normal(x, y.exp()), D.transforms.TanhTransform())": ("v.tanh() * 0.9",),
        }
        several = self.chance.random() < 0.35
        table = joint if several else drawn
        if several:
            self.inputs = rows
        made = self.one(*table)
        value, *asked = table[made]
        checked = self.one("", ", validate_args=False")
        made = f"D.{made[:-1]}{checked})" if made[-1] == ")" else made
        if self.chance.random() < 0.15:
            other = made.replace("x", "v").replace("evp", "exp")
            self.body = f"return D.kl_divergence({made}, {other})" if "Transformed" not in made and "Mixture" not in made else f"return {made}.log_prob({value})"
            return
        which = self.one("log_prob", "log_prob", *asked)
        if which in ("log_prob", "cdf"):
            self.body = f"d = {made}\nreturn d.{which}({value})"
        elif which == "icdf":
            self.body = f"d = {made}\nreturn d.icdf({within})"
        elif which in ("entropy", "perplexity"):
            self.body = f"d = {made}\nreturn d.{which}()"
        else:
            self.body = f"d = {made}\nreturn d.{which}, torch.tensor(d.batch_shape), d.sample((2,)).shape[0]" if self.chance.random() < 0.2 else f"d = {made}\nreturn d.{which}"

    FAMILIES = (pooling, pooling, pooling, resizing, resizing, resizing, convolution, convolution, norm, norm, recurrent, recurrent, cell, attention, padding, rearranging, embedding, loss, activation, distribution, distribution)

    def draw(self, family: Callable[[Draw], None] | None = None) -> list[World]:
        (family or self.chance.choice(self.FAMILIES))(self)
        if self.chance.random() < 0.12:
            self.dtype = self.one(torch.float64, torch.float64, torch.float16)
        return [self.world(at) for at in range(3)]

    def world(self, at: int) -> World:
        generator = torch.Generator().manual_seed(self.chance.randrange(1 << 30))
        values: World = {}
        for name, shape in self.inputs.items():
            sizes = [SIZES[size][at] if isinstance(size, str) else size for size in shape]
            if name == "lengths":
                values[name] = torch.randint(1, 5, sizes, generator=generator)
                values[name][0] = SIZES["t"][at]
            elif name in self.integers:
                values[name] = torch.randint(0, self.integers[name], sizes, generator=generator)
            else:
                values[name] = torch.randn(sizes, generator=generator).to(self.dtype)
        return values

    def text(self) -> str:
        layer = self.layer if self.dtype == torch.float32 else f"{self.layer}.to({self.dtype})"
        return HEAD.format(layer=layer, signature=", ".join(f"{name}: Tensor" for name in self.inputs), body=textwrap.indent(self.body, " " * 8))


def subject_of(draw: Draw, worlds: list[World], capture: str, folder: pathlib.Path) -> Subject:
    return Subject(draw.text(), list(draw.inputs), worlds, capture, draw.training, folder)


def tried(seed: int, capture: str, arguments: argparse.Namespace, folder: pathlib.Path) -> str:
    """How the layer of a seed ends; one that disagrees is printed."""
    draw = Draw(random.Random(f"{seed} {capture}"))
    worlds = draw.draw()
    opset = draw.one(*(arguments.opset or OPSETS))
    subject = subject_of(draw, worlds, capture, folder)
    title = f"--- seed {seed}, {capture}, opset {opset}{', training' if draw.training else ''}"
    shown = f"{draw.layer}\n{draw.inputs} {draw.dtype}\n{textwrap.indent(draw.body, '    ')}"
    try:
        check(subject, opset)
    except Refusal as refusal:
        if arguments.refusals and str(refusal).startswith("flambeau") and "unsupported-opset" not in str(refusal):
            print(f"{title}: {str(refusal.__cause__)[:600]}\n{shown}", flush=True)
        return str(refusal) if not str(refusal).startswith("torch") else f"{refusal}: {draw.layer.partition('(')[0]}"
    except Disagreement as disagreement:
        print(f"{title}: {str(disagreement)[:1200]}\n{shown}", flush=True)
        return DISAGREES
    return "agrees"


if __name__ == "__main__":
    command(__doc__, CAPTURES, tried, opsets=True)
