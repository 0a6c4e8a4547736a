"""Attention as kernels of GPUs are called; here the operators get kernels for the CPU, of what their documentation says."""

from __future__ import annotations

import math

import torch
from harness import bools, case, floats, known
from literal import literal
from torch.nn import functional as F

aten = torch.ops.aten
kernels = torch.library.Library("aten", "IMPL")


def kernel(function):
    kernels.impl(function.__name__, function, "CPU")
    return function


def attend(query, key, value, bias, causal, scale, before=-1, after=-1):
    """(output, log of the sums of exponents) of (batch, heads, places, width).

    `causal` is none, "first" or "last": which ends of queries and keys meet. A query sees as many keys `before` and `after` its
    own place, -1 for all.
    """
    group = query.shape[1] // key.shape[1]
    key, value = (each.repeat_interleave(group, 1) for each in (key, value))
    scores = query @ key.mT * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if causal:
        queries, keys = scores.shape[-2:]
        shift = keys - queries if causal == "last" else 0
        scores = scores.masked_fill(torch.ones(queries, keys, dtype=torch.bool).triu(1 + shift), -math.inf)
    if before >= 0 or after >= 0:
        queries, keys = scores.shape[-2:]
        apart = torch.arange(keys) - (torch.arange(queries)[:, None] + keys - queries)
        hidden = (apart > after) & (after >= 0) | (apart < -before) & (before >= 0)
        scores = scores.masked_fill(hidden, -math.inf)
    return torch.softmax(scores, -1).nan_to_num(0.0) @ value, scores.logsumexp(-1)


def of_flash(output, sums):
    """As flash attention has the sums of queries that see no key."""
    return output, sums.masked_fill(sums == -math.inf, math.inf)


def states(query, key):
    none = torch.zeros((), dtype=torch.int64)
    return none, none.clone(), query.shape[2], key.shape[2], none.clone(), none.clone(), torch.zeros(0)


def in_blocks(sums, compute):
    return F.pad(sums, (0, -sums.shape[-1] % 32)) if compute else sums[..., :0]


@kernel
def _scaled_dot_product_flash_attention(query, key, value, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None):
    return *of_flash(*attend(query, key, value, None, is_causal and "last", scale)), *states(query, key)


@kernel
def _scaled_dot_product_cudnn_attention(
    query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None
):
    output, sums = attend(query, key, value, attn_bias, is_causal and "first", scale)
    return output, sums.unsqueeze(-1), *states(query, key)


@kernel
def _scaled_dot_product_fused_attention_overrideable(
    query, key, value, attn_bias=None, dropout_p=0.0, is_causal=False, return_debug_mask=False, *, scale=None
):
    return *attend(query, key, value, attn_bias, is_causal and "first", scale), *states(query, key)


@kernel
def _scaled_dot_product_efficient_attention(
    query, key, value, attn_bias, compute_log_sumexp, dropout_p=0.0, is_causal=False, *, scale=None
):
    output, sums = attend(query, key, value, attn_bias, is_causal and "first", scale)
    none = torch.zeros((), dtype=torch.int64)
    return output, in_blocks(sums, compute_log_sumexp), none, none.clone()


def places_first(query, key, value, *rest):
    output, sums = attend(query.transpose(1, 2), key.transpose(1, 2), value.transpose(1, 2), *rest)
    return output.transpose(1, 2), sums


def of_sequences(query, key, value, bounds, bounds_of_keys, used, pages, *how):
    """Sequences that lie end to end: (places, heads, width)."""
    outputs, sums = torch.zeros_like(query), torch.full((query.shape[1], len(query)), math.inf)
    for i, (begin, end) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        if pages is None:
            keys = slice(bounds_of_keys[i].item(), bounds_of_keys[i + 1].item())
            k, v = key[keys], value[keys]
        else:
            k, v = key[pages[i]].flatten(0, 1), value[pages[i]].flatten(0, 1)
        count = len(k) if used is None else used[i].item()
        k, v = k[:count], v[:count]
        output, sum = places_first(query[None, begin:end], k[None], v[None], *how)
        outputs[begin:end], sums[:, begin:end] = output[0], sum[0]
    return outputs, sums


@kernel
def _flash_attention_forward(
    query, key, value, cum_seq_q, cum_seq_k, max_q, max_k, dropout_p, is_causal, return_debug_mask, *, scale=None,
    window_size_left=-1, window_size_right=-1, seqused_k=None, alibi_slopes=None, block_table=None, num_splits=None,
):  # fmt: skip
    none = torch.zeros(2, dtype=torch.int64)
    how = (None, is_causal and "last", scale, -1 if window_size_left is None else window_size_left, -1 if window_size_right is None else window_size_right)
    if cum_seq_q is None:
        result = places_first(query, key, value, *how)
    else:
        result = of_sequences(query, key, value, cum_seq_q, cum_seq_k, seqused_k, block_table, *how)
    return *of_flash(*result), none, none[0].clone(), torch.zeros(0)


@kernel
def _efficient_attention_forward(
    query, key, value, bias, cu_seqlens_q, cu_seqlens_k, max_seqlen_q, max_seqlen_k, dropout_p, custom_mask_type,
    compute_log_sumexp=False, *, scale=None, seqlen_k=None, window_size=None,
):  # fmt: skip
    causal = (None, "first", "last")[custom_mask_type]
    if window_size:  # counted from where the ends meet
        bias = torch.ones(query.shape[1], key.shape[1]).tril(-window_size + (key.shape[1] - query.shape[1] if causal == "last" else 0))
        bias = torch.where(bias == 1, -math.inf, 0.0)
    if cu_seqlens_q is None:
        output, sums = places_first(query, key, value, bias, causal, scale)
    else:
        output = of_sequences(query[0], key[0], value[0], cu_seqlens_q, cu_seqlens_k, seqlen_k, None, bias, causal, scale)[0][None]
        sums = torch.zeros(len(cu_seqlens_q) - 1, query.shape[2], 8)
    none = torch.zeros((), dtype=torch.int64)
    return output, in_blocks(sums, compute_log_sumexp), none, none.clone(), query.shape[1], key.shape[1]


@kernel
def _cudnn_attention_forward(
    query, key, value, attn_bias, cum_seq_q, cum_seq_k, max_q, max_k, compute_log_sumexp, dropout_p=0.0, is_causal=False,
    return_debug_mask=False, *, scale=None,
):  # fmt: skip
    return _scaled_dot_product_cudnn_attention(query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale=scale)


def public(query, key, value, bounds, bounds_of_keys):
    return torch.nn.attention.varlen.varlen_attn(query, key, value, bounds, bounds_of_keys, 4, 6, window_size=(-1, 0))


def efficient_of_sequences(query, key, value, kind, used):
    return aten._efficient_attention_forward(query, key, value, None, ENDS, ENDS_OF_KEYS, 4, 6, 0.0, kind, seqlen_k=used)[0]


Q, K, V = floats(2, 4, 5, 8), floats(2, 4, 7, 8), floats(2, 4, 7, 8)
FEW = floats(2, 2, 7, 8), floats(2, 2, 7, 8)
BIAS = torch.where(bools(2, 1, 5, 7), floats(2, 1, 5, 7), -torch.inf)
BIAS[0, 0, 1] = -torch.inf  # a query that sees nothing
HEADS_LAST = floats(2, 5, 4, 8), floats(2, 7, 4, 8), floats(2, 7, 4, 8)
NO_SEQUENCES = (None, None, 5, 7)
ENDS, ENDS_OF_KEYS = torch.tensor([0, 3, 3, 7], dtype=torch.int32), torch.tensor([0, 2, 6, 12], dtype=torch.int32)
IN_A_ROW = floats(7, 4, 8), floats(12, 4, 8), floats(12, 4, 8)
GROUPED = floats(7, 4, 8), floats(12, 2, 8), floats(12, 2, 8)
USED = torch.tensor([1, 4, 5], dtype=torch.int32)
PAGES, TABLE = (floats(6, 3, 4, 8), floats(6, 3, 4, 8)), torch.tensor([[5, 0], [1, 2], [3, 4]], dtype=torch.int32)
SEQUENCES = {"again": False, "strided": False, "dynamic": {0: [0], 1: [0], 2: [0]}}
VARLEN = [torch.ops.torch_attn._varlen_attn.default for _ in known("torch.nn.attention.varlen")]
WITH_PAGES = [op for op in VARLEN if "block_table" in str(op._schema)]
CASES = [
    *[literal(aten._scaled_dot_product_flash_attention.default, Q, *rest) for rest in ((K, V), FEW, (K, V, 0.0, True), (*FEW, 0.0, True))],
    literal(aten._scaled_dot_product_flash_attention.default, K, Q, Q, 0.0, True, scale=0.3),
    *[literal(op.default, Q, *rest)
      for op in (aten._scaled_dot_product_cudnn_attention, aten._scaled_dot_product_efficient_attention)
      for rest in ((K, V, None, False), (*FEW, None, True), (K, V, BIAS, True), (K, V, None, True, 0.0, True), (K, V, BIAS, True, 0.0, True))],
    *[literal(aten._scaled_dot_product_fused_attention_overrideable.default, Q, *rest) for rest in ((K, V), (*FEW, BIAS), (K, V, None, 0.0, True))],
    literal(aten._flash_attention_forward.default, *HEADS_LAST, *NO_SEQUENCES, 0.0, False, False),
    literal(aten._flash_attention_forward.default, *HEADS_LAST, *NO_SEQUENCES, 0.0, True, False, scale=0.2, window_size_left=-1),
    *[literal(aten._efficient_attention_forward.default, *HEADS_LAST, BIAS if kind == 0 else None, None, None, None, None, 0.0, kind, kind == 1)
      for kind in (0, 1, 2)],
    *[literal(aten._flash_attention_forward.default, *HEADS_LAST, *NO_SEQUENCES, 0.0, causal, False, window_size_left=before, window_size_right=after)
      for causal, before, after in ((False, 2, 1), (False, -1, 0), (True, 1, -1), (False, 0, -1))],
    *[literal(op, Q, K, V, bias, *NO_SEQUENCES, True, 0.0, bias is None)
      for op in known("torch.ops.aten._cudnn_attention_forward.default") for bias in (BIAS, None)],
    *[literal(aten._efficient_attention_forward.default, *HEADS_LAST, None, None, None, None, None, 0.0, kind, True, window_size=3) for kind in (1, 2)],
    *[literal(op, *tensors, ENDS, ENDS_OF_KEYS, 4, 6, **how)
      for op in WITH_PAGES
      for tensors in (IN_A_ROW, GROUPED)
      for how in ({}, {"is_causal": True}, {"window_size": [2, 0], "scale": 0.4}, {"seqused_k": USED, "window_size": [-1, 1]})],
    *[literal(op, IN_A_ROW[0], *PAGES, ENDS, None, 4, 6, True, seqused_k=USED, block_table=TABLE) for op in WITH_PAGES],
    *[case(efficient_of_sequences, *(x[None] for x in IN_A_ROW), kind, used, dynamic=False, again=False) for kind, used in ((0, None), (1, None), (2, USED))],
    *[case(public, *IN_A_ROW, ENDS, ENDS_OF_KEYS, **SEQUENCES) for _ in WITH_PAGES],
]
