"""Names of torch that not every release has which Flambeau supports, in one table."""

from __future__ import annotations

import contextlib
import pkgutil
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

__all__ = ["NEWER", "by_name", "found", "missing"]


class _Newer(NamedTuple):
    since: str
    """The first release that has it."""
    before: Sequence[str] = ()
    """Where older releases have the same, if they do."""


_TORCHSCRIPT = "torch.onnx._internal.torchscript_exporter"

NEWER: Mapping[str, _Newer] = {
    "torch._functorch.predispatch._remove_batch_dim": _Newer("2.9", ["torch._C._functorch._remove_batch_dim"]),
    "torch.export.AdditionalInputs": _Newer("2.8"),
    "torch.export.draft_export": _Newer("2.8", ["torch.export._draft_export.draft_export"]),
    "torch.export.graph_signature.OutputKind.PARAMETER_MUTATION": _Newer("2.9"),
    "torch.export.pt2_archive._package.load_pt2": _Newer("2.8"),
    "torch.fx.experimental.proxy_tensor._sympy_handlers": _Newer("2.10"),
    "torch.library.get_kernel": _Newer("2.9"),
    "torch.nn.functional.linear_cross_entropy": _Newer("2.13"),
    "torch.onnx.ExportableModule": _Newer("2.11"),
    "torch.onnx.InputObserver": _Newer("2.11"),
    "torch.onnx._internal.exporter._flags": _Newer("2.8"),
    f"{_TORCHSCRIPT}._globals.GLOBALS": _Newer("2.9", ["torch.onnx._globals.GLOBALS"]),
    f"{_TORCHSCRIPT}.registration.registry": _Newer("2.9", ["torch.onnx._internal.registration.registry"]),
    "torch.onnx.ops": _Newer("2.8"),
    "torch.onnx.ops._impl.ONNX_ATEN_DECOMP_TABLE": _Newer("2.8"),
    "torch.onnx.testing.assert_onnx_program": _Newer("2.10", ["torch.onnx._internal.exporter._testing.assert_onnx_program"]),
    "torch.utils._pytree.TreeSpec.children": _Newer("2.10"),
    "torch.utils._pytree.tree_is_leaf": _Newer("2.8", ["torch.utils._pytree._is_leaf"]),
}
"""By the name in the newest release."""


def found(name: str) -> Any | None:
    """What the name of :data:`NEWER` stands for, wherever this torch has it; None if it lacks it."""
    for place in (name, *NEWER[name].before):
        if (value := _at(place)) is not None:
            return value
    return None


def missing(name: str) -> str:
    """What to say where something needs the name."""
    return f"{name} is new in torch {NEWER[name].since}, and this is torch {torch.__version__}"


def by_name(table: Mapping[str, Any]) -> dict[Any, Any]:
    """A table of names of :data:`NEWER` by what they stand for, without those that this torch lacks."""
    return {value: entry for name, entry in table.items() if (value := found(name)) is not None}


def _at(place: str) -> Any | None:
    with contextlib.suppress(ImportError, AttributeError):
        return pkgutil.resolve_name(place)
    return None
