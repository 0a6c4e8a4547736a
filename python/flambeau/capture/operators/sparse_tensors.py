"""Sparse tensors, in a capture: each is the dense tensor of its elements, as it is in ONNX."""

from __future__ import annotations

import contextlib
import contextvars
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

from ...held import Held
from ..folders import CAPTURE, TORCH
from ..replaced_functions import Replacements

__all__ = ["SPARSE", "dense_calls", "dense_state"]

_stands_for_sparse = contextvars.ContextVar("stands_for_sparse", default=False)
"""Whether a dense tensor stands for a sparse one of the model."""

_BETWEEN = tuple(os.path.join(TORCH, *path) for path in (("_export", ""), ("_subclasses", "fake_tensor.py"), ("fx", ""), ("overrides.py",), ("utils", "")))


def _model_asks() -> bool:
    """Whether it is code of the model that calls, and not PyTorch's."""
    frame: types.FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((CAPTURE, *_BETWEEN)):
        frame = frame.f_back
    return frame is not None and not frame.f_code.co_filename.startswith(TORCH)


def _asking(name: str, own: Callable[..., Any]) -> Callable[..., Any]:
    """A question to a tensor whether it is sparse, of which a capture knows no more."""

    def ask(tensor: torch.Tensor, *args: Any) -> Any:
        if _stands_for_sparse.get() and _model_asks():
            raise NotImplementedError(f"whether a tensor is sparse ({name}) is not known while a model with sparse tensors is captured, as these are dense then")
        return own(tensor, *args)

    return ask


def _of_places(places: torch.Tensor, values: torch.Tensor, size: Any) -> torch.Tensor:
    """The tensor that has these values at the places of each column, where several are one their sum."""
    if size is None:
        size = [*(places.amax(1) + 1).tolist(), *values.shape[1:]]
    return values.new_zeros(size).index_put(tuple(places.unbind()), values, accumulate=True)


def _of_coordinates(indices: Any, values: Any = None, size: Any = None, *, dtype: Any = None, device: Any = None, **options: Any) -> torch.Tensor:
    _stands_for_sparse.set(True)
    if values is None:  # then it is of a size alone
        return torch.zeros(indices if size is None else size, dtype=dtype, device=device)
    values = torch.as_tensor(values, dtype=dtype, device=device)
    return _of_places(torch.as_tensor(indices, dtype=torch.int64, device=values.device), values, size)


def _of_rows(
    crow_indices: Any, col_indices: Any, values: Any, size: Any = None, *, dtype: Any = None, device: Any = None, **options: Any
) -> torch.Tensor:
    _stands_for_sparse.set(True)
    values = torch.as_tensor(values, dtype=dtype, device=device)
    begins, columns = (torch.as_tensor(each, dtype=torch.int64, device=values.device) for each in (crow_indices, col_indices))
    if begins.dim() != 1:
        raise NotImplementedError("sparse matrices by rows in a batch have no dense form here: make one of each matrix")
    rows = torch.arange(begins.shape[0] - 1, device=begins.device).repeat_interleave(begins.diff(), output_size=columns.shape[0])
    if size is None:
        size = [begins.shape[0] - 1, (columns.amax() + 1).item()]
    return _of_places(torch.stack([rows, columns]), values, size)


def _of_columns(ccol_indices: Any, row_indices: Any, values: Any, size: Any = None, **options: Any) -> torch.Tensor:
    return _of_rows(ccol_indices, row_indices, values, None if size is None else list(size)[::-1], **options).t()


def _product(sparse: torch.Tensor, dense: torch.Tensor, reduce: str = "sum") -> torch.Tensor:
    if reduce != "sum":
        raise NotImplementedError(f"reduce={reduce!r} of a sparse product is of the elements that are there, which a dense tensor does not tell")
    return sparse @ dense


def _total(input: torch.Tensor, dim: Any = None, dtype: torch.dtype | None = None) -> torch.Tensor:
    if dim is None:
        return input.sum(dtype=dtype)
    left = input.dim() > (1 if isinstance(dim, int) else len(dim))
    return input.sum(dim, dtype=input.dtype if left and dtype is None else dtype)


def _copied(input: torch.Tensor, *args: Any, **kwargs: Any) -> torch.Tensor:
    """As PyTorch makes another tensor of it, which may be written."""
    _stands_for_sparse.set(True)
    return input.clone()


def _to_dense(input: torch.Tensor, dtype: torch.dtype | None = None, **options: Any) -> torch.Tensor:
    return input.clone() if dtype is None else input.to(dtype, copy=True)


def _where_dense(function: Callable[..., Any], dense: Callable[..., Any]) -> Callable[..., Any]:
    """The function for dense tensors; itself where a tensor is sparse all the same, as an argument of the model may be."""

    def either(*args: Any, **kwargs: Any) -> Any:
        sparse = any(isinstance(each, torch.Tensor) and _layout(each) in _SPARSE_LAYOUTS for each in (*args, *kwargs.values()))
        return (function if sparse else dense)(*args, **kwargs)

    return either


_layout = torch.Tensor.layout.__get__
_SPARSE_LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    elements = tensor.detach().to_dense()
    return torch.nn.Parameter(elements, tensor.requires_grad) if isinstance(tensor, torch.nn.Parameter) else elements


_DENSE: Mapping[tuple[Any, str], Callable[..., Any]] = {
    (torch, "sparse_coo_tensor"): _of_coordinates,
    (torch, "sparse_csr_tensor"): _of_rows,
    (torch, "sparse_csc_tensor"): _of_columns,
    **{(owner, name): _product for owner, name in ((torch.sparse, "mm"), (torch, "spmm"), (torch, "smm"), (torch, "hspmm"))},
    **{(owner, name): torch.addmm for owner, name in ((torch.sparse, "addmm"), (torch, "sspaddmm"))},
    (torch, "_sparse_sum"): _total,
    (torch.Tensor, "to_dense"): _to_dense,
    **{(torch.Tensor, f"to_sparse{layout}"): _copied for layout in ("", "_coo", "_csr", "_csc", "_bsr", "_bsc")},
    (torch.Tensor, "coalesce"): _copied,
}

_PROPERTIES = {name: getattr(torch.Tensor, name).__get__ for name in ("is_sparse", "is_sparse_csr", "layout")}
_QUESTIONS = {name: getattr(torch.Tensor, name) for name in ("dense_dim", "sparse_dim")}

SPARSE: dict[Callable[..., Any], Callable[..., Any]] = {
    **{getattr(owner, name): _where_dense(getattr(owner, name), dense) for (owner, name), dense in _DENSE.items()},
    **{own: _asking(name, own) for name, own in (_PROPERTIES | _QUESTIONS).items()},
}
"""What stands for PyTorch's functions in a capture."""


@contextlib.contextmanager
def dense_calls() -> Iterator[None]:
    """While it is open, as in a trace, PyTorch's functions are replaced."""
    with Replacements() as replacements:
        for owner, name in _DENSE:
            replacements.set(owner, name, SPARSE[getattr(owner, name)])
        for name, own in _QUESTIONS.items():
            replacements.set(torch.Tensor, name, SPARSE[own])
        for name, own in _PROPERTIES.items():
            replacements.set(torch.Tensor, name, property(SPARSE[own]))
        yield


@contextlib.contextmanager
def dense_state(held: Held) -> Iterator[None]:
    """While it is open, the sparse tensors that a model's modules, and the objects within them, hold are dense: in attributes, and lists
    and dicts of these.
    """
    places = [place for place, _ in (*held.attributes, *held.containers) if isinstance(place, (list, dict))]
    sparse = [
        (place, name, value)
        for place in places
        for name, value in list(place.items() if isinstance(place, dict) else enumerate(place))
        if isinstance(value, torch.Tensor) and _layout(value) in _SPARSE_LAYOUTS
    ]
    dense = {id(value): _dense(value) for _, _, value in sparse}
    for place, name, value in sparse:
        place[name] = dense[id(value)]
    before = _stands_for_sparse.set(bool(sparse))
    try:
        yield
    finally:
        _stands_for_sparse.reset(before)
        for place, name, value in sparse:
            place[name] = value
