"""Whole conversions against eager, at several sizes of the same model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx
import torch

import flambeau
from closeness import assert_close


def leaves(value: Any) -> list[torch.Tensor]:
    return [torch.as_tensor(leaf) for leaf in torch.utils._pytree.tree_leaves(value) if leaf is not None]


def convert(model: torch.nn.Module, args: tuple[Any, ...], dynamic_shapes: Any = None, opset: int | None = None, **options: Any):
    program = flambeau.export(model, args, dynamic_shapes=dynamic_shapes, opset_version=opset, **options)
    onnx.checker.check_model(program.model_proto, full_check=True)
    return program


def compare(program: Any, model: torch.nn.Module, *runs: Sequence[Any]) -> None:
    """For each of `runs`, the arguments of one call, the program gives what eager gives."""
    for args in runs:
        with torch.no_grad():
            expected = leaves(model.eval()(*args))
        actual = program(*args)
        assert len(actual) == len(expected)
        for ours, theirs in zip(actual, expected):
            assert_close(ours, theirs)


def sizes_of(values: Sequence[onnx.ValueInfoProto]) -> list[list[str | int]]:
    return [[dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim] for value in values]
