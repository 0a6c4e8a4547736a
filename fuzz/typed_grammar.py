"""What a generated script may say of Python's own values: numbers, text, lists, dicts, tuples, None, and modules that hold them.

A place in braces is a variable or an expression of a kind: {int}, {float}, {flag}, {text}, {ints}, {floats}, {tensors},
{maybe} (an Optional[Tensor]), {table} (a dict of tensors), {counts} (one of ints), {pair} (of a tensor and an int), {point}
(a named tuple of these). With an exclamation mark ({ints!}) it is a variable. All other places are those of grammar.py.
"""

from __future__ import annotations

import grammar


def forms(text: str) -> list[str]:
    return [form.strip() for line in text.strip().splitlines() for form in line.split(" ;; ")]


TYPES = {
    "int": "int",
    "float": "float",
    "flag": "bool",
    "text": "str",
    "ints": "List[int]",
    "floats": "List[float]",
    "tensors": "List[Tensor]",
    "maybe": "Optional[Tensor]",
    "table": "Dict[str, Tensor]",
    "counts": "Dict[str, int]",
    "pair": "Tuple[Tensor, int]",
    "point": "Point",
}

# What a module may hold; the line stands in __init__ where the program mentions the attribute.
ATTRIBUTES = {
    "linear": "nn.Linear(4, 4)",
    "layers": "nn.ModuleList([nn.Linear(4, 4), nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.LayerNorm(4)])",
    "named": 'nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Tanh()})',
    "steps": "nn.Sequential(nn.Linear(4, 4), nn.GELU(), nn.Linear(4, 4))",
    "weights": "nn.ParameterList([nn.Parameter(torch.randn(4)) for _ in range(3)])",
    "weight": "nn.Parameter(torch.randn(4, 4))",
    "lstm": "nn.LSTM(4, 4, batch_first=True)",
    "deep": "nn.LSTM(4, 4, 2, bidirectional=True)",
    "projected": "nn.LSTM(4, 4, proj_size=2)",
    "gru": "nn.GRU(4, 4)",
    "both": "nn.GRU(4, 2, bidirectional=True, batch_first=True)",
    "rnn": 'nn.RNN(4, 4, nonlinearity="relu", bias=False)',
    "lstm_cell": "nn.LSTMCell(4, 4)",
    "gru_cell": "nn.GRUCell(4, 4)",
    "rnn_cell": "nn.RNNCell(4, 4)",
    "attention": "nn.MultiheadAttention(4, 2, batch_first=True)",
    "encoder": "nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)",
    "embedding": "nn.Embedding(8, 4, padding_idx=0)",
    "bag": 'nn.EmbeddingBag(8, 4, mode="mean")',
    "norm1": "nn.BatchNorm1d(4)",
    "norm2": "nn.BatchNorm2d(4)",
    "bare": "nn.BatchNorm1d(4, affine=False, track_running_stats=False)",
    "slow": "nn.BatchNorm2d(4, momentum=None)",
    "group": "nn.GroupNorm(2, 4)",
    "instance": "nn.InstanceNorm2d(4, affine=True)",
    "tracked": "nn.InstanceNorm2d(4, track_running_stats=True)",
    "drop": "nn.Dropout(0.0)",
    "conv1": "nn.Conv1d(2, 4, 3, padding=1)",
    "conv2": "nn.Conv2d(4, 2, 3, stride=2, padding=1)",
    "same": 'nn.Conv2d(4, 4, 3, padding="same", padding_mode="reflect")',
    "up": "nn.ConvTranspose2d(4, 2, 2, stride=2, output_padding=1, dilation=2)",
    "upsample": 'nn.Upsample(scale_factor=2.0, mode="bilinear")',
    "pool": "nn.MaxPool2d(2, return_indices=True)",
    "unpool": "nn.MaxUnpool2d(2)",
    "adaptive": "nn.AdaptiveAvgPool2d((None, 2))",
    "flatten": "nn.Flatten(1)",
    "count": "3",
    "scale": "0.5",
    "flag": "True",
    "mode": '"linear"',
    "sizes": "[1, 2, 4]",
    "factors": "[0.5, 2.0]",
    "names": '{"a": 1, "b": 2}',
    "nothing": "None",
    "shift": "nn.Parameter(torch.randn(4))",
}
# Buffers, which a program may assign.
BUFFERS = {"seen": "torch.zeros(())", "held": "torch.zeros(4)", "steps_done": "torch.tensor(0)"}

HEAD = '''
import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Point(NamedTuple):
    value: Tensor
    count: int


def early(x: Tensor, n: int, mode: str = "half") -> Tensor:
    if mode == "half":
        return x * 0.5
    for k in range(n):
        if bool(x.sum() > 2.0):
            return x + k
        x = x + 0.25
    return x - 1


def either(x: Tensor, other: Optional[Tensor] = None, scale: float = 2.0) -> Tensor:
    if other is None:
        return x * scale
    return x + other.sum()


def largest(numbers: List[int]) -> Tuple[int, int]:
    best, at = numbers[0], 0
    for k, number in enumerate(numbers):
        if number > best:
            best, at = number, k
    return best, at


def power(x: Tensor, n: int) -> Tensor:
    result = torch.ones_like(x)
    while n > 0:
        if n % 2 == 1:
            result = result * x
        x = x * x * 0.5
        n = n // 2
    return result


def kept(rows: List[Tensor], limit: float) -> List[Tensor]:
    found: List[Tensor] = []
    for row in rows:
        if float(row.sum()) > limit:
            continue
        found.append(row)
    return found


class Program(nn.Module):
'''

# Methods, which stand in the module where the program calls them.
METHODS = {
    "scaled": '''
    def scaled(self, x: Tensor, by: float = 1.5, mode: Optional[str] = None) -> Tensor:
        if mode is not None and mode == "up":
            return x * by + self.shift.sum()
        if not self.flag:
            return x
        return x / by
''',
    "stepped": '''
    def stepped(self, x: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if state is None:
            zeros = torch.zeros(x.size(0), 4)
            state = (zeros, zeros)
        h, c = self.lstm_cell(x, state)
        return h, (h, c)
''',
    "walk": '''
    def walk(self, x: Tensor) -> List[Tensor]:
        out: List[Tensor] = []
        for k, layer in enumerate(self.layers):
            x = layer(x)
            if k != 1:
                out.append(x)
        return out
''',
    "reset": '''
    def reset(self, n: int):
        if n > 2:
            self.count = n
        else:
            self.sizes.append(n)
''',
}

EXPRESSIONS: dict[str, list[str]] = {
    "int": forms("""
{t}.size({dim}) ;; {t}.size(0) ;; {t}.shape[-1] ;; {t}.dim() ;; {t}.numel() ;; len({tensors}) ;; len({ints}) ;; len({t}) ;; len({table}) ;; len({text})
int({f}.sum()) ;; int({i}.sum()) ;; int({i}[0]) ;; int({f}.mean().item()) ;; int({b}.sum()) ;; int({i}.max()) ;; int({f}.argmax()) ;; int(({f} > {float}).sum())
{int} + {int2} ;; {int} - {int2} ;; {int} * 2 ;; {int} // 2 ;; {int} % 3 ;; -{int} ;; {int} // -2 ;; {int} % -3 ;; {int} << 1 ;; {int} & 3 ;; {int} | 1 ;; {int} ^ {int2} ;; abs({int}) ** 2 ;; ~{int}
max({int}, {int2}) ;; min({int}, {int2}) ;; abs({int} - {int2}) ;; {int} if {flag} else {int2} ;; int({float}) ;; math.floor({float}) ;; math.ceil({float}) ;; int({flag}) ;; int({int} / 2) ;; divmod({int}, 3)[0] ;; round({float})
{ints}[0] ;; {ints}[-1] ;; {ints}[{int}] ;; sum({ints}) ;; max({ints}) ;; min({ints}) ;; {ints}.index({ints}[0]) ;; {ints!}.count({int}) ;; largest({ints})[0] ;; largest({ints})[1] ;; {ints!}.pop()
self.count ;; self.sizes[1] ;; self.sizes[-1] ;; len(self.sizes) ;; self.names["a"] ;; {counts}["a"] ;; {counts}["b"] ;; {pair}[1] ;; {point}.count ;; len(self.layers) ;; {text}.find("a") ;; int(str({int})) ;; int(self.steps_done)
"""),
    "float": forms("""
float({f}.sum()) ;; {f}.mean().item() ;; float({int}) ;; float({f}.flatten()[0]) ;; float({i}.sum()) ;; {s} ;; {float} * 0.5 ;; {int} / 2 ;; {int} / ({int2} * {int2} + 1) ;; {float} + {int} ;; {float} - {float2} ;; {float} * {float2}
max({float}, {float2}) ;; min({float}, {s}) ;; abs({float}) ;; math.sqrt(abs({float})) ;; math.exp(-abs({float})) ;; math.log(abs({float}) + 1) ;; {float} // 1.0 ;; {float} % 2.0 ;; abs({float}) ** 0.5 ;; -{float} ;; math.pow({float}, 2) ;; math.tanh({float}) ;; math.sin({float})
{floats}[0] ;; {floats}[-1] ;; sum({floats}) ;; max({floats}) ;; {float} if {flag} else {float2} ;; self.scale ;; self.scale * {int} ;; self.factors[0] ;; self.factors[{int} % 2] ;; float("inf") if {flag} else 1.0 ;; float({flag}) ;; float({t}.size(0)) ** 0.5 ;; {t}.size(-1) ** -0.5 ;; 2 ** {float}
"""),
    "flag": forms("""
bool({f}.sum() > {float}) ;; {int} > {int2} ;; {int} % 2 == 0 ;; {int} == {int2} ;; {int} in {ints} ;; {int} not in {ints} ;; {float} < {float2} ;; 1 < {int} < 5 ;; bool({b}.any()) ;; bool(({i} > 1).all()) ;; {int} != 3 ;; {float} >= 0.5
{maybe!} is None ;; {maybe!} is not None ;; "a" in {table} ;; "c" in {table} ;; {text} == "linear" ;; {text} != {text2} ;; {text}.startswith("a") ;; {text} in ["linear", "b"] ;; "a" in {text} ;; not {flag} ;; {flag} and {flag2} ;; {flag} or {flag2} ;; {flag} == {flag2} ;; {flag} != {flag2}
self.training ;; self.flag ;; self.nothing is None ;; self.mode == "linear" ;; {ints} == {ints2} ;; {f}.shape == {f2}.shape ;; {f}.dtype == torch.float32 ;; {t}.is_floating_point() ;; torch.equal({t}, {t2}) ;; {t}.size(0) == {int} ;; {t}.dim() == 2 ;; len({tensors}) > 2 ;; len({ints}) == 0 ;; bool({int}) ;; {f}.sum().item() > 0 ;; torch.allclose({f}, {f2}) ;; any([{flag}, {flag2}]) ;; all([{flag}, {flag2}]) ;; isinstance({maybe!}, Tensor)
"""),
    "text": forms("""
"linear" if {flag} else "none" ;; self.mode ;; {text} + "b" ;; {text}.upper() ;; str({int}) ;; f"a{{{int}}}" ;; "{{}}-{{}}".format({int}, "a") ;; "-".join([{text}, {text2}]) ;; {text}[:2] ;; {text}.replace("a", "c") ;; {text} if {flag} else {text2} ;; "%d a" % {int} ;; {text}.split("-")[0]
"""),
    "ints": forms("""
[{int}, {int2}] ;; [{int}] ;; [k for k in range(min({int}, 5))] ;; [k * 2 for k in {ints}] ;; {ints} + [{int}] ;; {ints}[1:] ;; {ints}[::-1] ;; {ints}[:{int}] ;; {ints}[-2:] ;; {ints}[::2] ;; list({t}.shape) ;; {t}.size() ;; {t}.shape[1:] ;; [t.size(0) for t in {tensors}] ;; sorted({ints})
[int(t) for t in {i}] ;; list(range(min({int}, 5))) ;; list(range(5, {int}, -1)) ;; [int(t.sum()) for t in {tensors}] ;; [a + b for a, b in zip({ints}, {ints2})] ;; self.sizes ;; [k + {int} for k in {ints} if k > 1] ;; [{int}] * 2 ;; [{int}] * ({int2} % 4) ;; {ints}.copy() ;; [k + n for k, n in enumerate({ints})] ;; [1, 2] if {flag} else [3] ;; torch.jit.annotate(List[int], []) ;; torch.jit.annotate(List[int], {i}.flatten().tolist()) ;; list(torch.jit.annotate(List[int], {i}.tolist())) ;; {ints} if {flag} else {ints2}
"""),
    "floats": forms("""
[{float}, {float2}] ;; [float(t.sum()) for t in {tensors}] ;; [k * {float} for k in {floats}] ;; {floats}[1:] ;; self.factors ;; [k / 2 for k in {ints}] ;; sorted({floats}) ;; {floats} + {floats2} ;; [float(k) for k in {ints}] ;; torch.jit.annotate(List[float], {f}.flatten().tolist()) ;; [math.sqrt(abs(k)) for k in {floats}]
"""),
    "tensors": forms("""
[{f}, {f2}] ;; [{f}, {f} + 1] ;; list({f}.unbind(0)) ;; list({f}.split(2)) ;; list({f}.split(1, {dim})) ;; list({f}.chunk(2, {dim})) ;; list({f}.chunk({int})) ;; list({f}.split({int})) ;; list(torch.split({f}, [1, {f}.size(0) - 1])) ;; list({f}.tensor_split([1, {int}])) ;; [row for row in {f}] ;; [{f}[k] for k in range({f}.size(0))] ;; [{f}[k] for k in {ints}]
[t * 2 for t in {tensors}] ;; {tensors}[1:] ;; {tensors}[::-1] ;; {tensors} + [{f}] ;; {tensors}[:{int}] ;; [t for t in {tensors} if bool(t.sum() > 0)] ;; list({table}.values()) ;; kept({tensors}, {float}) ;; [{f}] * 3 ;; [self.linear(t) for t in {tensors}] ;; self.walk({m}) ;; torch.jit.annotate(List[Tensor], []) ;; [t.sum() for t in {tensors}] ;; [a + b for a, b in zip({tensors}, {tensors2})] ;; [layer({m}) for layer in self.layers] ;; list({f}.unbind({dim})) ;; list(torch.broadcast_tensors({f}, {f2})) ;; list(torch.where({f} > 0)) ;; list(torch.meshgrid({f}.flatten(), {f2}.flatten())) ;; {tensors} if {flag} else {tensors2} ;; list(reversed({tensors}))
"""),
    "maybe": forms("""
{f} if {flag} else None ;; {table}.get("a") ;; {table}.get("c") ;; self.shift ;; self.nothing ;; None ;; {f} ;; {maybe} if {flag} else {maybe2}
"""),
    "table": forms("""
{{"a": {f}, "b": {f2}}} ;; {{"a": {f}}} ;; dict([("a", {f}), ("c", {f2})]) ;; {{k: v * 2 for k, v in {table}.items()}} ;; {{"a": {f}, "b": {f2}}} if {flag} else {{"a": {f2}}}
"""),
    "counts": forms("""
{{"a": {int}, "b": {int2}}} ;; self.names ;; {{"a": {int}, "b": len({tensors})}}
"""),
    "pair": forms("""
({f}, {int}) ;; ({f}, {int}) if {flag} else ({f2}, {int2}) ;; ({pair}[0] + 1, {pair}[1])
"""),
    "point": forms("""
Point({f}, {int}) ;; Point(value={f}, count={int}) ;; Point({point}.value * 2, {point}.count + 1)
"""),
    "tensor": forms("""
{f} * {float} ;; {f} + {int} ;; {float} - {f} ;; {t} * {int} ;; {f} / ({int} * {int} + 1) ;; {i} // ({int} * {int} + 1) ;; {t} + {flag} ;; {pair}[0] ;; {point}.value ;; {table}["a"] ;; {tensors}[0] ;; {tensors}[-1] ;; {tensors}[{int}] ;; early({f}, {int}) ;; early({f}, 3, {text}) ;; either({f}) ;; either({f}, {maybe}) ;; either({f}, scale={float}) ;; power({f}, {int} % 6) ;; {f} ** {int} ;; {f}.clamp({float}, 2.0) ;; {f}.clamp(min={float}, max=None) ;; {f}.masked_fill({f} > {float}, {float2})
torch.cat({tensors}) ;; torch.stack({tensors}) ;; torch.cat({tensors}, {dim}) ;; torch.stack({tensors}).sum(0) ;; torch.cat([t.flatten() for t in {tensors}]) ;; torch.stack([t.sum() for t in {tensors}]) ;; torch.tensor({ints}) ;; torch.tensor({floats}) ;; torch.tensor({int}) ;; torch.tensor({float}) ;; torch.tensor({flag}) ;; torch.tensor([{float}, {float2}]) ;; torch.tensor([[{int}, 1], [2, {int2}]]) ;; torch.tensor([t.size(0) for t in {tensors}]) ;; torch.as_tensor({ints}) ;; torch.nn.utils.rnn.pad_sequence({tensors}, batch_first=True)
torch.zeros({int} % 5, 4) ;; torch.ones({ints}) ;; torch.arange({int}) ;; torch.arange({int}, {int2}) ;; torch.arange({int}, -3, -1) ;; torch.arange(0.0, {float}, 0.5) ;; torch.full([2, 3], {float}) ;; torch.full(({int} % 4, 2), {int2}) ;; torch.linspace(0, {float}, {int} % 6) ;; torch.eye({int} % 5) ;; torch.zeros_like({t}) + {int} ;; {f}.new_zeros({ints}) ;; {f}.new_full([{int} % 4], {float}) ;; torch.randperm(1) + {i} ;; torch.empty(0, 4) ;; torch.full_like({t}, {int}) ;; torch.zeros({t}.shape, dtype={t2}.dtype) ;; torch.scalar_tensor({int}) ;; torch.full([], {int})
{f}[{int}] ;; {f}[:{int}] ;; {f}[{int}:] ;; {f}[{int}:{int2}] ;; {f}[-{int}:] ;; {f}[:, {int} % 4] ;; {f}[..., :{int}] ;; {t}[{ints}] ;; {f}[{int} % 2, ::2] ;; {f}[torch.tensor({ints})] ;; {f}[{f} > {float}] ;; {f}[{b}] ;; {f}[{i} % {f}.size(0)] ;; {f}[{b}, {int}] ;; {f}[None, {int}] ;; {f}[:, None, {int}:] ;; {t}[{i}.argsort()] ;; {f}[torch.where({b})[0] % {f}.size(0)] ;; {f}[({f} > 0) & ({f} < {float})] ;; {f}[torch.arange({f}.size(0)), {i} % 4]
{f}.narrow(0, {int} % 2, 2) ;; {f}.narrow({dim}, {int}, 1) ;; {f}.select(0, {int}) ;; {f}.reshape({ints}) ;; {f}.view({f}.size(0), -1) ;; {f}.view(-1, {int}) ;; {f}.expand({ints}) ;; {f}.repeat({ints}) ;; {f}.repeat({int} % 3, 1) ;; {f}.roll({int}, {dim}) ;; {f}.flip([{dim}]) ;; {f}.permute({ints}) ;; {f}.transpose({int}, 0) ;; {f}.sum({ints}) ;; {f}.mean({int} % {f}.dim()) ;; {f}.unsqueeze({int}) ;; {f}.flatten({int}) ;; {f}.tile({ints}) ;; F.pad({f}, [{int} % 3, 1]) ;; F.pad({f}, [1, {int} % 3], "constant", {float}) ;; F.pad({f}, {ints}) ;; {f}.repeat_interleave({int} % 4, {dim}) ;; {f}.repeat_interleave({i} % 3, 0) ;; {f}.unfold({dim}, {int}, 1) ;; {f}.topk({int}, {dim})[0] ;; {f}.topk(min({int}, {f}.size(-1)))[0] ;; {f}.cumsum({int}) ;; {f}.diagonal({int} % 2) ;; torch.tril({m}, {int}) ;; {f}.kthvalue({int})[0] ;; {f}.softmax({int} - 3) ;; {f}.gather(0, {i}.view(-1, 1) % {f}.size(0)) ;; F.one_hot({i}, {int} + 8) ;; F.glu({f}, {dim}) ;; torch.nonzero({t}) ;; {f}.masked_select({b}) ;; {i}.unique() ;; torch.unique({i}, return_counts=True)[1] ;; torch.bincount({i}.flatten(), minlength={int})
self.linear({f}) ;; self.steps({f}) ;; self.layers[0]({f}) ;; self.layers[-1]({f}) ;; self.named["a"]({f}) ;; self.weights[1] + {f} ;; {f} @ self.weight ;; self.shift * {f} ;; self.scaled({f}) ;; self.scaled({f}, {float}, "up") ;; self.scaled({f}, mode={text}) ;; self.stepped({m})[0] ;; self.drop({f}) ;; self.embedding({i}) ;; self.bag({i}.view(1, -1)) ;; self.norm1({m}) ;; self.norm1({q}.transpose(1, 2)) ;; self.norm2({p}) ;; self.bare({m}) ;; self.slow({p}) ;; self.group({p}) ;; self.instance({p}) ;; self.tracked({p}) ;; self.conv1({q}) ;; self.conv2({p}) ;; self.same({p}) ;; self.up({p}) ;; self.upsample({p}) ;; self.pool({p})[0] ;; self.unpool(self.pool({p})[0], self.pool({p})[1]) ;; self.adaptive({p}) ;; self.flatten({q}) ;; self.seen + {f} ;; self.held * {f}
self.lstm({q})[0] ;; self.lstm({q})[1][1] ;; self.lstm({m})[0] ;; self.lstm({q}, (torch.ones(1, {q}.size(0), 4), torch.zeros(1, {q}.size(0), 4)))[1][0] ;; self.deep({q})[0] ;; self.deep({q})[1][1] ;; self.projected({q})[1][0] ;; self.gru({q})[0] ;; self.gru({m})[1] ;; self.gru({q}, torch.ones(1, {q}.size(1), 4))[1] ;; self.both({q})[1] ;; self.rnn({q})[0] ;; self.rnn({m})[1] ;; self.lstm_cell({m})[1] ;; self.gru_cell({m}) ;; self.gru_cell({m}[0]) ;; self.rnn_cell({m}, {m}) ;; self.attention({q}, {q}, {q})[0] ;; self.attention({q}, {q2}, {q2}, need_weights=False)[0] ;; self.encoder({q})
F.interpolate({p}, scale_factor={float}) ;; F.interpolate({p}, size=[{int} % 7, 5]) ;; F.interpolate({p}, size=({p}.size(2) + {int}, 4), mode="bilinear") ;; F.interpolate({p}, size=[{int}, {int}], mode="bicubic", align_corners=True) ;; F.interpolate({p}, size={p}.shape[2:]) ;; F.interpolate({p}, scale_factor=[2.0, {s}], mode="bilinear", recompute_scale_factor=True) ;; F.interpolate({q}, size={int}, mode="linear") ;; F.interpolate({q}, scale_factor={s}, mode="linear", align_corners=False) ;; F.interpolate({p}, size=[{int} % 5, 3], mode="nearest-exact") ;; F.interpolate({p}.unsqueeze(2), size=[2, {int}, 3], mode="trilinear") ;; F.interpolate({p}, size=({int} % 5, 2), mode="area") ;; F.interpolate({q}, scale_factor=2.0) ;; F.interpolate({p}.unsqueeze(2), scale_factor=2.0)
F.max_pool2d({p}, [2, {c}]) ;; F.max_pool2d({p}, 2, ceil_mode=True) ;; F.avg_pool2d({p}, 3, 1, 1, count_include_pad=False) ;; F.avg_pool2d({p}, 2, divisor_override=3) ;; F.adaptive_avg_pool2d({p}, [{int} % 4, 2]) ;; F.adaptive_max_pool2d({p}, (2, 3)) ;; F.adaptive_max_pool2d({p}, 1) ;; F.adaptive_avg_pool1d({q}, 1) ;; F.adaptive_max_pool1d({q}, 2) ;; F.max_pool1d({q}, 2, return_indices=True)[1] ;; F.max_pool2d({p}, 2, 1, 0, 2) ;; F.avg_pool1d({q}, 2, 1, 1, True) ;; F.lp_pool2d({p}, 2.0, 2) ;; F.max_pool3d({p}.unsqueeze(1), 2) ;; F.avg_pool3d({p}.unsqueeze(1), (1, 2, 2)) ;; F.adaptive_avg_pool3d({p}.unsqueeze(1), (1, 2, 2)) ;; F.adaptive_avg_pool2d({p}, [{p}.size(2), 1]) ;; F.unfold({p}, [2, 2], padding=1) ;; F.batch_norm({p}, None, None, training=True) ;; F.instance_norm({p}) ;; F.layer_norm({f}, [{f}.size(-1)]) ;; F.dropout({f}, 0.5, self.training and {f}.numel() == 0) ;; F.conv2d({p}, torch.ones(2, 4, 1, {c})) ;; F.grid_sample({p}, torch.zeros({p}.size(0), {int} % 4, 3, 2), mode="bilinear", align_corners=True) ;; F.affine_grid(torch.ones(2, 2, 3), [2, 1, {int} % 4, 3], align_corners=False) ;; F.cross_entropy({m}, {i} % 4, reduction={text}) ;; F.cross_entropy({m}, {i} % 4, ignore_index={int}) ;; F.nll_loss(F.log_softmax({m}, 1), {i} % 4, reduction="none") ;; F.mse_loss({f}, {f2}, reduction="sum") ;; F.embedding({i}, self.weight.repeat(2, 1)) ;; F.scaled_dot_product_attention({q}, {q}, {q}, None, 0.0, {flag})
torch.where({b}, {f}, {float}) ;; torch.where({b}, {int}, {i}) ;; torch.where({f} > {float}, 1, 0) ;; {f}.to({t}.dtype) ;; {t}.to(torch.float64) ;; {i}.to(torch.int32) ;; {f}.half() ;; {f}.type_as({t}) ;; {b}.float() ;; ({f} > {float}) & {b} ;; ~{b} | ({f} > 0) ;; {i} == {int} ;; {i} % ({int} * {int} + 1) ;; {i} * {float} ;; torch.max({f}, {f2}) ;; {f}.max() ;; {f}.max({dim}).indices ;; {f}.sort({dim}, True).values ;; {f}.norm({float}) ;; {f}.std({dim}) ;; {f}.var(unbiased=False) ;; {f}.addcmul({f2}, {f2}, value={float}) ;; torch.add({f}, {f2}, alpha={float}) ;; torch.sub({i}, {int}, alpha=2) ;; {f}.lerp({f2}, {float}) ;; {f}.fmod({float}) ;; torch.einsum("ij,kj->ik", [{m}, {m2}]) ;; torch.einsum("ij,jk", {m}, self.weight)
"""),
}

# Statements that write; in a body, too.
WRITES = forms("""
{ints!}.append({int}) ;; {ints!}.extend({ints}) ;; {ints!}.insert(0, {int}) ;; {ints!}.insert({int}, 7) ;; {ints!}.remove({ints!}[0]) ;; {ints!}.sort() ;; {ints!}.sort(reverse=True) ;; {ints!}.reverse() ;; {ints!}.clear() ;; {ints!}[0] = {int} ;; {ints!}[-1] += 1 ;; {ints!}[{int}] = {int2} ;; {ints!} += [{int}] ;; {ints!}.pop(0) ;; {ints!}.pop({int}) ;; del {ints!}[0]
{floats!}.append({float}) ;; {floats!}[0] *= 2 ;; {floats!}.sort() ;; {tensors!}.append({f}) ;; {tensors!}[0] = {f} ;; {tensors!}.pop(0) ;; {tensors!}.pop() ;; {tensors!}.insert(1, {f}) ;; {tensors!}.reverse() ;; {tensors!}.extend({tensors}) ;; {tensors!}[-1] = {tensors!}[-1] * {float} ;; {tensors!} += [{f}] ;; {tensors!}.clear() ;; {tensors!}[0] += {float} ;; del {tensors!}[-1] ;; {tensors!}[{int}] = {f}
{table!}["a"] = {f} ;; {table!}["c"] = {f} ;; {table!}["a"] += {float} ;; {table!}.update({{"b": {f}}}) ;; {table!}.pop("a") ;; del {table!}["a"] ;; {table!}.setdefault("c", {f}) ;; {table!}.clear() ;; {counts!}["a"] += {int} ;; {counts!}["b"] = {int}
{f!}[{int}] = {float} ;; {f!}[: {int}] = {s} ;; {f!}[{int}:] += {float} ;; {f!}[{f!} > {float}] = {float2} ;; {f!}[{b}] = {s} ;; {f!}[{i} % {f!}.size(0)] = {float} ;; {f!}[{ints}] = {s} ;; {f!}[{int}, {int2}] = {float} ;; {f!}[..., {int} % 2] = {int} ;; {f!}[:, 1:{int}] = {s} ;; {f!}[{i} % {f!}.size(0)] += {f!}[0] ;; {f!}[::2] = {f}[::2] ;; {f!}[{b}] *= {float} ;; {f!}[torch.arange({f!}.size(0)), {i} % 4] = {float} ;; {f!}[{f!} != {f!}] = 0 ;; {f!}[{int} % 2][1:] = {s} ;; {f!}[0, ...] = {f}[-1]
{f!}.mul_({float}) ;; {f!}.add_({int}) ;; {f!}.fill_({float}) ;; {f!}.clamp_({float}, 2) ;; {f!}.index_fill_(0, {i} % {f!}.size(0), {float}) ;; {f!}.masked_fill_({b}, {float}) ;; {f!}.copy_({f}) ;; {f!}.index_put_([{i} % {f!}.size(0)], {f}[0], accumulate=True) ;; {f!}.narrow(0, {int} % 2, 1).zero_() ;; {f!}.index_add_(0, {i} % {f!}.size(0), {f}) ;; {f!}.scatter_(0, {i}.view(-1, 1) % {f!}.size(0), {float}) ;; torch.add({f}, {f2}, out={f!}) ;; torch.mul({f}, {float}, out={f!}) ;; torch.cat([{f}, {f2}], out={f!}) ;; torch.sigmoid({f}, out={f!}) ;; torch.abs({f!}, out={f!}) ;; {f!}.squeeze_(0) ;; {f!}.unsqueeze_(0) ;; {f!}.t_() ;; torch.clamp({f}, 0, 1, out={f!}) ;; torch.stack({tensors}, out={f!}) ;; torch.matmul({m}.clone(), self.weight, out={f!})
self.count += 1 ;; self.count = {int} ;; self.scale = {float} ;; self.sizes.append({int}) ;; self.sizes[0] = {int} ;; self.names["a"] = {int} ;; self.seen += {f}.sum() ;; self.held = {f} ;; self.held[{int} % 4] = {float} ;; self.steps_done += 1 ;; self.reset({int}) ;; self.seen.add_(1)
""")

# Statements with places for others in them; {body} is one or two of these.
BLOCKS = (
    "if {flag}:\n{body}",
    "if {flag}:\n{body}\nelse:\n{body2}",
    "if {flag}:\n{body}\nelif {flag2}:\n{body2}\nelse:\n{body3}",
    "for {j} in range({int} % 5):\n{body}",
    "for {j} in range({t}.size(0)):\n{body}",
    "for {j} in range(3):\n{body}",
    "for {j} in range({t}.size(0) - 1, -1, -1):\n{body}",
    "for {j} in range(1, {int}, 2):\n{body}",
    "for {j} in {ints}:\n{body}",
    "for {each} in {tensors}:\n{body}",
    "for {each} in {f}:\n{body}",
    "for {j}, {each} in enumerate({tensors}):\n{body}",
    "for {each}, {j} in zip({tensors}, {ints}):\n{body}",
    "for {word}, {each} in {table}.items():\n{body}",
    "for {word} in [\"linear\", \"a\"]:\n{body}",
    "for layer in self.layers:\n    {m!} = layer({m!})\n{body}",
    "for {j}, layer in enumerate(self.layers):\n    {m!} = {m!} + layer({m!})\n{body}",
    "for {word}, layer in self.named.items():\n    {m!} = layer({m!})\n{body}",
    "for {each} in self.weights:\n{body}",
    "{j} = 0\nwhile {j} < {int} % 6:\n{body}\n    {j} += 1",
    "{j} = 0\nwhile {j} < {t}.size(0) and {flag}:\n{body}\n    {j} += 1",
    "{j} = 5\nwhile {j} > 0:\n    {j} = {j} - 1\n    if {flag}:\n        break\n{body}",
    "{j} = 0\nwhile True:\n    {j} += 1\n    if {j} > 3 or {flag}:\n        break\n{body}",
    "for {j} in range({t}.size(0)):\n    if {flag}:\n        continue\n{body}",
    "for {j} in range({t}.size(0)):\n{body}\n    if {flag}:\n        break",
    "with torch.no_grad():\n{body}",
    "if {maybe!} is not None:\n    {f!} = {f} + {maybe!}.sum()\n{body}",
    "if {maybe!} is None:\n    {maybe!} = {f}\n{body}\nelse:\n{body2}",
    "h = torch.zeros({m}.size(0), 4)\nfor {j} in range({int} % 4):\n    h = self.gru_cell({m}, h)\n{body}\n{f!} = h",
    "state: Optional[Tuple[Tensor, Tensor]] = None\nfor {j} in range({t}.size(0)):\n    {m!}, state = self.stepped({m!}, state)\n{body}",
    "if {flag}:\n    {f!} = self.lstm({q})[0]\n{body}\nelse:\n    {f!} = self.lstm({q2})[1][0]",
)

# Statements that bind several names, of these kinds.
BINDINGS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("tensor", "tensor"), "{new}, {new}b = {f}.max({dim})"),
    (("tensor",), "{new} = torch.empty(0)\ntorch.mul({f}, {float}, out={new})"),
    (("tensor",), "{new} = torch.empty(0, dtype={t}.dtype)\ntorch.cat([{t}, {t}], out={new})"),
    (("tensor", "tensor"), "{new}, {new}b = torch.empty(0), torch.empty(0, dtype=torch.long)\ntorch.max({f}, {dim}, out=({new}, {new}b))"),
    (("tensor",), "{new} = torch.empty_like({f})\ntorch.sub({f}, {float}, out={new})"),
    (("tensor",), "{new} = torch.zeros({ints})\ntorch.ones({ints}, out={new})"),
    (("tensor",), "{new} = torch.empty(0)\ntorch.matmul({m}, self.weight, out={new})"),
    (("tensor", "tensor"), "{new}, {new}b = self.gru({q})"),
    (("tensor", "tensor"), "{new}, {new}b = self.lstm_cell({m})"),
    (("tensor", "tensor"), "{new}, ({new}b, last) = self.lstm({q})"),
    (("tensor", "int"), "{new}, {new}b = {pair}"),
    (("tensor", "int"), "{new}, {new}b = {point}"),
    (("int", "int"), "{new}, {new}b = largest({ints})"),
    (("int", "int"), "{new}, {new}b = {m}.shape"),
    (("int", "int"), "{new}, {new}b = divmod({int}, 4)"),
    (("tensor", "tensor"), "{new}, {new}b = {f}.chunk(2, {dim})"),
    (("tensor", "tensor"), "{new}, {new}b = {tensors}[0], {tensors}[-1]"),
    (("tensor", "tensor"), "{new}, {new}b = torch.unique({i}, return_inverse=True)"),
    (("tensor", "tensor"), "{new}, {new}b = self.pool({p})"),
    (("tensor", "tensor"), "{new}, {new}b = self.attention({q}, {q}, {q})"),
    (("tensor", "tensor"), "{new}, {new}b = torch.nn.utils.rnn.pad_packed_sequence(torch.nn.utils.rnn.pack_padded_sequence({q}, {i} % 2 + 1, True, False), True)"),
)

TENSORS = [*EXPRESSIONS["tensor"], *grammar.ARITHMETIC[::4], *grammar.INDEXING, *grammar.JOINS[::2]]
