"""A tensor cut into pieces, of which only the run knows how many and how long: ``x.split(lengths.tolist())``."""

from __future__ import annotations

import contextlib
import contextvars
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.utils.weak import WeakIdKeyDictionary

from ..questions.presence import rows_are_known
from ..replaced_functions import Replacements
from .modes import Unkept

__all__ = ["Cut", "Numbers", "Pieces", "cut_of", "loops_are_kept", "split", "uncounted_numbers"]


class Cut(NamedTuple):
    """A piece along an axis."""

    start: torch.SymInt
    length: torch.SymInt
    total: Any
    """The size of all pieces."""
    lengths: torch.Tensor
    """Those of all pieces."""

    def places(self, device: torch.device) -> torch.Tensor:
        """Where the piece lies: integers, one for each of its rows."""
        return self.start + torch.arange(self.length, device=device)


class Numbers:
    """The numbers in a tensor, or lists of them in one of more dimensions. A loop that is kept goes over them; elsewhere torch says why
    it cannot."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    @property
    def count(self) -> Any:
        return self.tensor.shape[0]

    def at(self, index: Any) -> Any:
        return torch.select(self.tensor, 0, index).tolist()

    def integers(self) -> torch.Tensor:
        """What Python's integers become again in a tensor.

        Raises:
            Unkept: They are others, or lists.
        """
        if self.tensor.dtype is torch.bool or self.tensor.ndim > 1:
            raise Unkept("a list holds the numbers of a tensor beside what are no integers")
        return self.tensor.long()

    def __iter__(self) -> Iterator[Any]:
        return iter(_TO_LIST(self.tensor))

    def __len__(self) -> int:
        return len(_TO_LIST(self.tensor))

    def __getitem__(self, index: Any) -> Any:
        return _TO_LIST(self.tensor)[index]


class Pieces:
    """What ``split`` gives."""

    def __init__(self, tensor: torch.Tensor, lengths: torch.Tensor, dim: int) -> None:
        self.tensor, self.lengths, self.dim = tensor, lengths, dim
        self.starts = lengths.cumsum(0) - lengths

    @property
    def count(self) -> Any:
        return self.lengths.shape[0]

    def at(self, index: Any) -> torch.Tensor:
        """The piece of a round: those of all tensors that are cut alike have one length."""
        cut = _CUTS.get().of_round(self, index)
        return torch.index_select(self.tensor, self.dim, cut.places(self.tensor.device))  # a slice would have a size of its own

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(torch.split(self.tensor, _TO_LIST(self.lengths), self.dim))

    def __len__(self) -> int:
        return len(_TO_LIST(self.lengths))

    def __getitem__(self, index: Any) -> Any:
        return self.at(index) if isinstance(index, torch.SymInt) else list(self)[index]


class _Cuts:
    """The cuts of one capture, whose symbols mean nothing to others."""

    def __init__(self) -> None:
        self._of_rounds = WeakIdKeyDictionary()  # lengths -> by the symbol of the round, the cut
        self.by_length: dict[Any, Cut] = {}

    def of_round(self, pieces: Pieces, index: Any) -> Cut:
        of_lengths = self._of_rounds.setdefault(pieces.lengths, {})
        if (cut := of_lengths.get(index.node.expr)) is None:
            start, length = (torch.select(tensor, 0, index).item() for tensor in (pieces.starts, pieces.lengths))
            total = pieces.tensor.shape[pieces.dim]
            for known in (start >= 0, length >= 0, start + length <= total):
                torch._check(known)
            torch._check_is_size(length)
            cut = of_lengths[index.node.expr] = self.by_length[length.node.expr] = Cut(start, length, total, pieces.lengths)
        return cut


_TO_LIST = FakeTensor.tolist
_KEPT: contextvars.ContextVar[bool] = contextvars.ContextVar("whether loops are kept", default=False)
_CUTS: contextvars.ContextVar[_Cuts] = contextvars.ContextVar("the cuts of the capture that runs")


def cut_of(length: Any) -> Cut | None:
    """The cut of which a piece has this size."""
    if not isinstance(length, torch.SymInt) or (cuts := _CUTS.get(None)) is None:
        return None
    return cuts.by_length.get(length.node.expr)


@contextlib.contextmanager
def loops_are_kept() -> Iterator[None]:
    """While it is open, what makes as many numbers as a size says leaves that to the loops over them."""
    token = _KEPT.set(True)
    try:
        yield
    finally:
        _KEPT.reset(token)


@contextlib.contextmanager
def uncounted_numbers() -> Iterator[None]:
    """While it is open, ``tolist`` takes tensors of which only the run knows the length, and where loops are kept those of dynamic length."""

    def unknown(size: Any) -> bool:
        left = isinstance(size, torch.SymInt) and (size.node.hint is None or _KEPT.get())
        return left and size.node.shape_env._maybe_evaluate_static(size.node.expr) is None

    def tolist(tensor: torch.Tensor) -> Any:
        if tensor.is_floating_point() or not any(map(unknown, tensor.shape)) or rows_are_known(tensor):
            return _TO_LIST(tensor)
        return Numbers(tensor) if unknown(tensor.shape[0]) else [tolist(row) for row in tensor]

    with Replacements() as replacements:
        replacements.set(FakeTensor, "tolist", tolist)
        token = _CUTS.set(_Cuts())
        try:
            yield
        finally:
            _CUTS.reset(token)


def split(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, which takes such numbers for the lengths of pieces."""

    def call(tensor: torch.Tensor, lengths: Any, dim: int = 0) -> Any:
        return Pieces(tensor, lengths.tensor, dim % tensor.ndim) if isinstance(lengths, Numbers) else function(tensor, lengths, dim)

    return call
