"""Operators that nothing looks into, in the place of ATen's while a module is captured.

torch makes numbers of sizes inside some operators: it unrolls recurrent layers over time, and fixes how long a signal
is. The stand-ins have the same schemas, with sizes where those have numbers; after the capture the graph holds the ATen
operators themselves.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.export import ExportedProgram

__all__ = ["ALWAYS", "restore", "stand_in"]

_NAMESPACE = "flambeau"


def _infer(inputs: torch.Tensor, hx: Any, bidirectional: bool, batch_first: bool) -> tuple[torch.Tensor, ...]:
    """Results like those of a layer over `inputs`, [time, batch, …] or packed."""
    states = hx if isinstance(hx, (list, tuple)) else [hx]
    sizes = list(inputs.shape[:-1])
    if batch_first:
        sizes.reverse()
    output = inputs.new_empty((*sizes, states[0].shape[-1] * (2 if bidirectional else 1)))
    return (output.transpose(0, 1) if batch_first else output, *(torch.empty_like(state) for state in states))


def _infer_input(
    inputs: torch.Tensor,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[torch.Tensor, ...]:
    return _infer(inputs, hx, bidirectional, batch_first)


def _infer_data(
    data: torch.Tensor,
    batch_sizes: torch.Tensor,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[torch.Tensor, ...]:
    return _infer(data, hx, bidirectional, False)


def _infer_packed(inputs: torch.Tensor, lengths: torch.Tensor, batch_first: bool) -> tuple[torch.Tensor, ...]:
    context = torch.library.get_ctx()
    rows, steps = context.new_dynamic_size(), context.new_dynamic_size()
    # Unpacking asks whether a given length is enough.
    torch._check(steps <= inputs.shape[1 if batch_first else 0])
    return inputs.new_empty((rows, *inputs.shape[2:])), lengths.new_empty((steps,))


def _infer_padded(
    data: torch.Tensor, batch_sizes: torch.Tensor, batch_first: bool, padding_value: Any, total_length: int
) -> tuple[torch.Tensor, ...]:
    steps = batch_sizes.shape[0] if isinstance(total_length, int) and total_length <= 0 else total_length
    batch = torch.library.get_ctx().new_dynamic_size()
    padded = data.new_empty((steps, batch, *data.shape[1:]))
    return padded.transpose(0, 1) if batch_first else padded, batch_sizes.new_empty((batch,))


def _infer_ctc(
    log_probs: torch.Tensor,
    targets: torch.Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> torch.Tensor:
    return log_probs.new_empty(log_probs.shape[1:2] if reduction == 0 and log_probs.dim() == 3 else ())


def _infer_lstsq(
    input: torch.Tensor, b: torch.Tensor, rcond: float | None = None, *, driver: str | None = None
) -> tuple[torch.Tensor, ...]:
    """torch decides by the rank whether there are residuals; the model fails where there are none."""
    rows, columns = input.shape[-2:]
    vectors = input.dim() - 1 == b.dim()
    right = (b.unsqueeze(-1) if vectors else b).shape
    batch = torch.broadcast_shapes(input.shape[:-2], right[:-2])
    solution = [*batch, columns, right[-1]]
    residuals = [*batch, right[-1]] if driver not in (None, "gelsy") and rows > columns else [0]
    if vectors:
        solution.pop()
    rank = [0] if driver == "gels" else [*input.shape[:-2]]
    values = [*input.shape[:-2], min(rows, columns)] if driver in ("gelss", "gelsd") else [0]
    real = input.dtype.to_real()
    return (
        input.new_empty(solution),
        input.new_empty(residuals, dtype=real),
        input.new_empty(rank, dtype=torch.int64),
        input.new_empty(values, dtype=real),
    )


def _infer_reflectors(self: torch.Tensor) -> tuple[torch.Tensor, ...]:
    *batch, rows, columns = self.shape
    return torch.empty_like(self), self.new_empty([*batch, torch.sym_min(rows, columns)])


def _infer_histogram(
    self: torch.Tensor, bins: Any = 100, *, range: Any = None, weight: Any = None, density: bool = False
) -> tuple[torch.Tensor, ...]:
    edges = bins.shape[0] if isinstance(bins, torch.Tensor) else bins + 1
    return self.new_empty((edges - 1,)), self.new_empty((edges,))


def _infer_histogramdd(
    self: torch.Tensor, bins: Any, range: Any = None, weight: Any = None, density: bool = False
) -> tuple[torch.Tensor, list[torch.Tensor]]:
    each = bins if isinstance(bins, (list, tuple)) else [bins] * self.shape[-1]
    edges = [size.shape[0] if isinstance(size, torch.Tensor) else size + 1 for size in each]
    return self.new_empty([count - 1 for count in edges]), [self.new_empty((count,)) for count in edges]


def _infer_affine_grid(theta: torch.Tensor, size: Any, align_corners: bool) -> torch.Tensor:
    return theta.new_empty((size[0], *size[2:], len(size) - 2))


def _infer_stft(
    self: torch.Tensor,
    n_fft: int,
    hop_length: Any = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> torch.Tensor:
    """Of frames that lie on the signal as it is."""
    hop = n_fft // 4 if hop_length is None else hop_length
    half = not self.is_complex() if onesided is None else onesided
    sizes = [*self.shape[:-1], n_fft // 2 + 1 if half else n_fft, (self.shape[-1] - n_fft) // hop + 1]
    return self.new_empty(sizes, dtype=self.dtype.to_complex()) if return_complex else self.new_empty([*sizes, 2])


def _infer_istft(
    self: torch.Tensor,
    n_fft: int,
    hop_length: Any = None,
    win_length: int | None = None,
    window: torch.Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: Any = None,
    return_complex: bool = False,
) -> torch.Tensor:
    hop = n_fft // 4 if hop_length is None else hop_length
    total = n_fft + hop * (self.shape[-1] - 1)
    kept = length if length is not None else total - n_fft // 2 * 2 if center else total
    return self.new_empty([*self.shape[:-2], kept], dtype=self.dtype if return_complex else self.dtype.to_real())


_INFER: dict[str, Callable[..., Any]] = {
    **{f"{layer}.input": _infer_input for layer in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    **{f"{layer}.data": _infer_data for layer in ("lstm", "gru", "rnn_tanh", "rnn_relu")},
    "_pack_padded_sequence.default": _infer_packed,
    "_pad_packed_sequence.default": _infer_padded,
    "affine_grid_generator.default": _infer_affine_grid,
    "ctc_loss.IntList": _infer_ctc,
    "ctc_loss.Tensor": _infer_ctc,
    "istft.default": _infer_istft,
    "linalg_lstsq.default": _infer_lstsq,
    "geqrf.default": _infer_reflectors,
    "histogram.bin_ct": _infer_histogram,
    "histogram.bins_tensor": _infer_histogram,
    "histogramdd.default": _infer_histogramdd,
    "histogramdd.int_bins": _infer_histogramdd,
    "histogramdd.TensorList_bins": _infer_histogramdd,
    "stft.default": _infer_stft,
}
"""The operators that get a stand-in, and the types of what they return."""

ALWAYS = frozenset(name.split(".")[0] for name in _INFER) - {"istft", "stft"}
"""The functions that a capture calls by their stand-ins alone; of others, the arguments decide."""

_SIZES = ("int total_length", "int? hop_length", "int? length")
"""Arguments that are numbers in ATen's schemas."""


@functools.cache
def _library() -> torch.library.Library:
    """The stand-ins; made at the first capture, they live as long as this object."""
    library = torch.library.Library(_NAMESPACE, "DEF")
    for name, infer in _INFER.items():
        real = _overload("aten", name)
        schema = str(real._schema).removeprefix("aten::")
        for argument in _SIZES:
            schema = schema.replace(argument, argument.replace("int", "SymInt"))
        library.define(schema)
        key = name.removesuffix(".default")
        library.impl(key, real, "CompositeExplicitAutograd")
        torch.library.register_fake(f"{_NAMESPACE}::{key}", infer, lib=library)
    return library


def stand_in(function: str) -> Callable[..., Any]:
    """What is called in the place of ``aten::function``."""
    _library()
    return operator.attrgetter(f"{_NAMESPACE}.{function}")(torch.ops)


def _overload(namespace: str, name: str) -> torch._ops.OpOverload:
    return operator.attrgetter(f"{namespace}.{name}")(torch.ops)


def restore(exported: ExportedProgram) -> None:
    """Put ATen's operators in the place of the stand-ins."""
    stand_ins = {_overload(_NAMESPACE, name): _overload("aten", name) for name in _INFER}
    for module in exported.graph_module.modules():
        if not isinstance(module, torch.fx.GraphModule):
            continue
        changed = False
        for node in module.graph.nodes:
            if node.op == "call_function" and (real := stand_ins.get(node.target)) is not None:
                node.target = real
                changed = True
        if changed:
            module.recompile()
