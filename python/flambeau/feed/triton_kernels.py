"""Launches of Triton kernels in captured programs: calls of custom operators, ``triton::name``."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import Any

import torch

__all__ = ["Launch", "is_launch", "launches_of"]

_FUNCTIONAL, _WRITING = "triton_kernel_wrapper_functional", "triton_kernel_wrapper_mutation"


@dataclasses.dataclass(frozen=True)
class Launch:
    """A launch as a call.

    Attributes:
        target: The operator's name, as torch writes those of its own.
        schema: What it takes, and what it writes to; one for all launches of a kernel in a program.
        arguments: By name, in the kernel's order: tensors and sizes, numbers, and the grid where it is constant.
        results: The tensors that are results, by name, where torch has made the launch functional; None for one that
            this launch does not give.
    """

    target: str
    schema: str
    arguments: dict[str, Any]
    results: list[str | None]


def launches_of(program: torch.fx.GraphModule) -> dict[torch.fx.Node, Launch]:
    """The launches in a captured program, and in the graphs within it."""
    graphs = [module.graph for module in program.modules() if isinstance(module, torch.fx.GraphModule)]
    nodes = [node for graph in graphs for node in graph.nodes if is_launch(node)]
    # What is given, and what is written, may differ from launch to launch; an operator has one schema.
    kernels: dict[str, _Kernel] = {}
    for node in nodes:
        kernels.setdefault(_operator_of(node), _Kernel()).add(node)
    return {node: _launch(node, kernels[_operator_of(node)]) for node in nodes}


def is_launch(node: torch.fx.Node) -> bool:
    return isinstance(node.target, torch._ops.HigherOrderOperator) and node.target.name() in (_FUNCTIONAL, _WRITING)


class _Kernel:
    """What the launches of a kernel give to it."""

    def __init__(self) -> None:
        self.parameters: dict[str, None] = {}
        self.tensors: set[str] = set()
        self.written: set[str] = set()

    def add(self, node: torch.fx.Node) -> None:
        given = _given(node)
        self.parameters.update(dict.fromkeys([*getattr(_kernel_of(node), "arg_names", ()), *given, "grid"]))
        self.tensors.update(name for name, value in given.items() if _is_tensor(value))
        self.written.update(_written(node))

    def formal(self, name: str, functional: bool) -> str:
        if name not in self.tensors:
            return f"Any? {name}=None"
        writes = name in self.written and not functional
        return f"Tensor({name}!)? {name}=None" if writes else f"Tensor? {name}=None"


def _launch(node: torch.fx.Node, kernel: _Kernel) -> Launch:
    given, operator = _given(node), _operator_of(node)
    arguments = {name: given[name] for name in kernel.parameters if name in given}
    grid = node.kwargs["grid"]
    if len(grid) == 1 and all(isinstance(size, int) for size in grid[0]):
        arguments["grid"] = list(grid[0])
    functional = _is_functional(node)
    results = [name for name in kernel.parameters if name in kernel.written] if functional else []
    formals = ", ".join(kernel.formal(name, functional) for name in kernel.parameters)
    own = _written(node)
    return Launch(
        operator.replace("::", "."),
        f"{operator}({formals}) -> ({', '.join('Tensor' for _ in results)})",
        arguments,
        [name if name in own else None for name in results],
    )


def _is_functional(node: torch.fx.Node) -> bool:
    return node.target.name() == _FUNCTIONAL


def _kernel_of(node: torch.fx.Node) -> Any:
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    return kernel_side_table.get_kernel(node.kwargs["kernel_idx"])


def _operator_of(node: torch.fx.Node) -> str:
    """Named after the kernel's function; autotuners and heuristics stand around the kernel itself."""
    kernel = _kernel_of(node)
    while hasattr(kernel, "fn") and not hasattr(kernel, "__name__"):
        kernel = kernel.fn
    name = getattr(kernel, "__name__", type(kernel).__name__)
    return f"triton::{name}.functionalized" if _is_functional(node) else f"triton::{name}"


def _given(node: torch.fx.Node) -> dict[str, Any]:
    """What the launch gives to the kernel, by name; None is what it does not give."""
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table

    constants = kernel_side_table.get_constant_args(node.kwargs["constant_args_idx"])
    given = {**node.kwargs["kwargs"], **constants}
    return {name: _constant(value) for name, value in given.items() if value is not None}


def _written(node: torch.fx.Node) -> list[str]:
    if _is_functional(node):
        return list(node.kwargs["tensors_to_clone"])
    from torch._higher_order_ops.triton_kernel_wrap import get_mutated_tensors
    from torch.utils._triton import has_triton_package

    options = node.kwargs
    if not has_triton_package():
        return [name for name, value in options["kwargs"].items() if _is_tensor(value)]  # each may be
    values = {name: _value(value) for name, value in options["kwargs"].items()}
    with _some_device():
        return get_mutated_tensors(
            options["kernel_idx"], options["constant_args_idx"], values, options["tma_descriptor_metadata"]
        )


@contextlib.contextmanager
def _some_device() -> Iterator[None]:
    """Lets torch have Triton compile a kernel as far as its own code, which says what is written, where there is no GPU."""
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver

    class Device:
        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 80, 32)

    try:
        active = driver.active
    except RuntimeError:  # no driver finds its device
        active = None
    if active is not None:
        yield
        return
    driver.set_active(Device())
    try:
        yield
    finally:
        driver.set_active(None)


def _constant(value: Any) -> Any:
    """What a node's attribute can be; Triton's own types by their names."""
    return value if isinstance(value, (torch.fx.Node, bool, int, float, str)) else str(value)


def _value(value: Any) -> Any:
    return value.meta.get("val") if isinstance(value, torch.fx.Node) else value


def _is_tensor(value: Any) -> bool:
    return isinstance(_value(value), torch.Tensor)
