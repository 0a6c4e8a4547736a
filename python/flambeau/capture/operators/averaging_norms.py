"""Batch norms that average over all batches so far (``momentum=None``): torch makes a Python number of their count."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch.nn.modules.batchnorm import _BatchNorm

from ..replaced_functions import Replacements

__all__ = ["averaging_norms"]


@contextlib.contextmanager
def averaging_norms() -> Iterator[None]:
    """While it is open, such norms compute with their count as the tensor that it is."""
    forward = _BatchNorm.forward

    def averaged(self: _BatchNorm, input: torch.Tensor) -> torch.Tensor:
        if self.momentum is not None or not self.training or not self.track_running_stats or self.num_batches_tracked is None:
            return forward(self, input)
        self._check_input_dim(input)
        self.num_batches_tracked.add_(1)
        averages = self.running_mean, self.running_var
        batch = [torch.zeros_like(average) for average in averages]
        result = F.batch_norm(input, *batch, self.weight, self.bias, training=True, momentum=1.0, eps=self.eps)
        for average, now in zip(averages, batch):
            average.add_((now - average) / self.num_batches_tracked)
        return result

    with Replacements() as replacements:
        replacements.set(_BatchNorm, "forward", averaged)
        yield
