"""Launches of Triton kernels in captured programs: calls of custom operators, ``triton::name``."""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

__all__ = ["Launch", "launch_of"]

_FUNCTIONAL, _WRITING = "triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation"


@dataclasses.dataclass(frozen=True)
class Launch:
    """A launch as a call.

    Attributes:
        target: The operator's name, as torch writes those of its own.
        schema: What it takes, and what it writes to.
        arguments: By name, in the kernel's order: tensors and sizes, numbers, and the grid where it is constant.
        results: The tensors that are results, by name, where torch has made the launch functional.
    """

    target: str
    schema: str
    arguments: dict[str, Any]
    results: list[str]


def launch_of(node: torch.fx.Node) -> Launch | None:
    """The launch that a node is; None if it is none."""
    if not isinstance(node.target, torch._ops.HigherOrderOperator) or node.target.name() not in (_FUNCTIONAL, _WRITING):
        return None
    from torch._higher_order_ops.triton_kernel_wrap import get_mutated_tensors, kernel_side_table
    from torch.utils._triton import has_triton_package

    options = node.kwargs
    kernel = kernel_side_table.get_kernel(options["kernel_idx"])
    constants = kernel_side_table.get_constant_args(options["constant_args_idx"])
    given = {**options["kwargs"], **constants}
    order = [name for name in getattr(kernel, "arg_names", ()) if name in given]
    arguments = {name: _constant(given[name]) for name in dict.fromkeys([*order, *given]) if given[name] is not None}
    grid = options["grid"]
    if len(grid) == 1 and all(isinstance(size, int) for size in grid[0]):
        arguments["grid"] = list(grid[0])
    tensors = [name for name, value in arguments.items() if _is_tensor(value)]
    functional = node.target.name() == _FUNCTIONAL
    if functional:
        written = list(options["tensors_to_clone"])
    elif has_triton_package():
        values = {name: _value(value) for name, value in options["kwargs"].items()}
        written = get_mutated_tensors(
            options["kernel_idx"], options["constant_args_idx"], values, options["tma_descriptor_metadata"]
        )
    else:
        written = tensors  # each may be
    name = f"triton::{_name_of(kernel)}{'.functionalized' if functional else ''}"
    formal = ", ".join(
        f"{_type_of(value)}{'' if functional or argument not in written else f'(a{i}!)'} {argument}"
        for i, (argument, value) in enumerate(arguments.items())
    )
    returns = ", ".join(["Tensor"] * len(written)) if functional else ""
    return Launch(name.replace("::", "."), f"{name}({formal}) -> ({returns})", arguments, written if functional else [])


def _name_of(kernel: Any) -> str:
    """The function's name; autotuners and heuristics stand around the kernel itself."""
    while hasattr(kernel, "fn") and not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    return getattr(kernel, "__name__", type(kernel).__name__)


def _constant(value: Any) -> Any:
    """What a node's attribute can be; Triton's own types by their names."""
    return value if isinstance(value, (torch.fx.Node, bool, int, float, str)) else str(value)


def _value(value: Any) -> Any:
    return value.meta.get("val") if isinstance(value, torch.fx.Node) else value


def _is_tensor(value: Any) -> bool:
    return isinstance(_value(value), torch.Tensor)


def _type_of(value: Any) -> str:
    if isinstance(value, torch.fx.Node):
        return "Tensor" if _is_tensor(value) else "SymInt"
    if isinstance(value, list):
        return "int[]"
    return {bool: "bool", int: "int", float: "float"}.get(type(value), "str")
