"""What a captured program holds that is no operator of ATen, or of an opset that is to come, written out."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any

import torch
from torch.export import ExportedProgram

from .. import _engine
from ..torch_names import found

__all__ = ["operators", "without_composites", "without_kernel", "without_newer_operators", "written_out"]

_OF_TORCH = frozenset({"aten", "onnx", "prim", "prims"})


def calls(exported: ExportedProgram) -> Iterator[torch.fx.Node]:
    """All calls of operators, in its graphs and those within."""
    for module in exported.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from (node for node in module.graph.nodes if node.op == "call_function")


def operators(exported: ExportedProgram) -> Iterator[object]:
    """The operators of all calls."""
    return (call.target for call in calls(exported))


def written_out(exported: ExportedProgram, table: Mapping[Any, Callable[..., Any]]) -> ExportedProgram:
    """The program, traced again, with the operators of the table as what they are made of, and no others.

    Of its own accord ``run_decompositions`` also writes out what has a kernel for autograd in Python, as ``hardshrink`` and
    ``multilabel_margin_loss``: into more operators, which give other numbers (targets that end early, infinities).
    """
    with contextlib.ExitStack() as kernels:
        for operator in set(operators(exported)).difference(table):
            if isinstance(operator, torch._ops.OpOverload):
                without_kernel(operator, torch._C.DispatchKey.Autograd, kernels)
        return exported.run_decompositions(dict(table))


def without_kernel(operator: torch._ops.OpOverload, key: torch._C.DispatchKey, until: contextlib.ExitStack) -> None:
    """Takes an operator's kernel in Python away, if it has one, until the stack ends."""
    kernel = operator.py_kernels.pop(key, None)
    operator._dispatch_cache.clear()

    def put_back() -> None:
        operator.py_kernels[key] = kernel
        operator._dispatch_cache.clear()

    if kernel is not None:
        until.callback(put_back)


def without_composites(exported: ExportedProgram, kept: Collection[str]) -> ExportedProgram:
    """The program with operators of libraries written out that are made of others; the program itself if there are none.

    torch.export keeps calls of an operator that has a CompositeImplicitAutograd kernel alone.

    Args:
        kept: Operators that something else is made of: "mylib::foo", any suffix; "mylib::*".
    """

    def is_composite(target: object) -> bool:
        return (
            isinstance(target, torch._ops.OpOverload)
            and target.namespace not in _OF_TORCH
            and target.has_kernel_for_dispatch_key(torch._C.DispatchKey.CompositeImplicitAutograd)
        )

    used = set(filter(is_composite, operators(exported)))
    if not used:
        return exported
    from torch._export.utils import _get_decomp_for_cia

    known = {name.partition(".")[0] for name in kept} | {each.schema.partition("(")[0].partition(".")[0] for each in _engine.supported_operators()}
    table = {
        target: _get_decomp_for_cia(target)
        for target in used
        if isinstance(target, torch._ops.OpOverload) and not {target._schema.name, f"{target.namespace}::*"} & known
    }
    return written_out(exported, table) if table else exported


def without_newer_operators(exported: ExportedProgram, opset: int) -> ExportedProgram:
    """The program with those operators written out that the opset lacks; the program itself if there are none.

    torch.onnx.ops keeps, for each, the PyTorch code that computes the same. Attention whose values are wider or narrower than its
    keys is written out at every opset: torch records a result as wide as the queries.
    """
    table = found("torch.onnx.ops._impl.ONNX_ATEN_DECOMP_TABLE") or {}

    def is_written_out(call: torch.fx.Node) -> bool:
        if not isinstance(call.target, torch._ops.OpOverload) or call.target.namespace != "onnx":
            return False
        return int(call.target._overloadname.removeprefix("opset") or 0) > opset or _has_other_values(call)

    used = {call.target for call in calls(exported) if is_written_out(call)}
    if not used:
        return exported
    return written_out(exported, {op: table[op] for op in used if op in table})


def _has_other_values(call: torch.fx.Node) -> bool:
    """Whether it is an attention whose keys and values differ in width."""
    if call.target._opname != "Attention":  # type: ignore[union-attr]
        return False
    given: dict[str, Any] = {**dict(zip("QKV", call.args)), **call.kwargs}
    return bool(given["K"].meta["val"].shape[-1] != given["V"].meta["val"].shape[-1])
