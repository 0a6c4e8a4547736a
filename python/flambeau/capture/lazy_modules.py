"""Modules that learn the sizes of their weights from what they are first given."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from ..eager import deeply_copied
from ..held import held_by
from ..state import kept_state
from .surroundings import mode

__all__ = ["make_weights"]


def make_weights(model: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Run a model that has lazy modules, which makes their weights as its first run would: that is no part of a capture.

    Whatever else the run changes is undone. Where the model does not run, the capture says so.
    """
    if not isinstance(model, torch.nn.Module):
        return
    lazy = [module for module in model.modules() if any(map(is_lazy, (*module._parameters.values(), *module._buffers.values())))]
    if lazy:
        args, kwargs = deeply_copied((args, kwargs))
        with contextlib.suppress(Exception), torch.no_grad(), mode(model, False), kept_state(model, held_by(model, remembered=True, but=lazy)):
            model(*args, **kwargs)
