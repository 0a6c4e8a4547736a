"""``flambeau.save``: a ``.pt2`` that also holds what torch.export forgets."""

from __future__ import annotations

import base64
import json
import os
import zipfile
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from . import errors
from .capture.dynamic_shapes import by_argument, dimension_names, program_arguments
from .feed.weights import lacks_bytes
from .state import kept_random_numbers, kept_state

__all__ = ["save"]

errors.adopt_torch_errors()

_ENTRY = "flambeau.json"


def save(exported_program: ExportedProgram, path: str | os.PathLike, *, dynamic_shapes: Any = None) -> None:
    """Save a captured program as ``torch.export.save`` does, with three things more.

    The archive's entry ``extra/flambeau.json``, which torch ignores, holds

    - ``operator_schemas``: those of operators that are not PyTorch's own, which say
      what they write to;
    - ``dimension_names``: the user's names, as ``{"input", "dim", "name"}``,
      where input counts the tensors among the flattened arguments;
    - ``expected_outputs``: the outputs of the example inputs, as
      ``{"dtype", "sizes", "data"}`` with the bytes in base64; None where the
      program has no example or no weights.

    Args:
        exported_program: What ``torch.export.export`` returned.
        path: Path of the archive, by custom ending in ``.pt2``.
        dynamic_shapes: As given to ``torch.export.export``; strings and ``Dim``
            objects name dimensions.
    """
    arguments = program_arguments(exported_program)
    names = dimension_names(arguments, by_argument(dynamic_shapes, arguments, ()))
    extra = {
        "operator_schemas": _operator_schemas(exported_program),
        "dimension_names": [{"input": position, "dim": dim, "name": name} for position, dim, name in names],
        "expected_outputs": _expected_outputs(exported_program),
    }
    text = json.dumps(extra)
    torch.export.save(exported_program, path, extra_files={_ENTRY: text})
    with zipfile.ZipFile(path) as archive:
        elsewhere = f"extra_files/{_ENTRY}" in archive.namelist()  # before torch 2.8
    if elsewhere:
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"extra/{_ENTRY}", text)


def _operator_schemas(exported: ExportedProgram) -> list[str]:
    found = set()
    for module in exported.graph_module.modules():
        for node in getattr(module, "graph", exported.graph).nodes:
            for target in (node.target, *node.args[:2]):  # auto_functionalized and with_effects hold another
                if isinstance(target, torch._ops.OpOverload) and target.namespace not in ("aten", "prim"):
                    found.add(str(target._schema))
    return sorted(found)


def _expected_outputs(exported: ExportedProgram) -> list[dict[str, Any]] | None:
    if exported.example_inputs is None or lacks_bytes(exported):
        return None
    args, kwargs = _pytree.tree_map(
        lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, exported.example_inputs
    )
    module = exported.module()
    with torch.no_grad(), kept_state(module), kept_random_numbers():
        outputs = _pytree.tree_leaves(module(*args, **kwargs))
        return [_encode(torch.as_tensor(output)) for output in outputs if output is not None and not isinstance(output, str)]


def _encode(tensor: torch.Tensor) -> dict[str, Any]:
    data = tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().tobytes()
    return {
        "dtype": str(tensor.dtype).removeprefix("torch."),
        "sizes": list(tensor.shape),
        "data": base64.b64encode(data).decode("ascii"),
    }
