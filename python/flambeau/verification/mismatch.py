"""Where a converted model and the captured program part."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.export import ExportedProgram

from .. import _engine
from ..errors import VerificationError
from ..feed.places import trace_of
from ..program import ONNXProgram
from .node_values import compare_nodes, module_of
from .other_sizes import second_inputs
from .outputs import captured, examples, verify

__all__ = ["Mismatch", "compare_modules", "find_mismatch", "first_mismatch", "verify_and_locate"]

_log = logging.getLogger(__name__)


class Mismatch:
    """The first place at which the models differ.

    Attributes:
        node: The captured node, or None if all agree; it may be within a branch or loop.
        module: The module that it belongs to.
        source: Its line in Python.
        comparison: The numbers; its ``inputs`` say in which round of a loop.
        checked: How many nodes were compared.
        kind: The class of the cause: "dtype", "rounding", "operator", or "constant"
            (a value that should be dynamic: only inputs of another size differ).
    """

    def __init__(self, checked: int, node: torch.fx.Node | None, comparison: _engine.Comparison | None) -> None:
        self.checked = checked
        self.node, self.comparison = node, comparison
        self.module, self.source, self.kind = "", "", ""
        if node is not None and comparison is not None:
            self.module = module_of(node)
            frame = trace_of(node)[trace_of(node).rfind('  File "') :].splitlines()
            self.source = "\n".join(frame[:2])  # its line and what is there, without marks below
            cause = comparison.cause.partition(":")[0]
            self.kind = (
                cause
                if cause in ("dtype", "rounding")
                else "operator" if comparison.inputs.startswith("example") else "constant"
            )

    def __bool__(self) -> bool:
        return self.node is not None

    def __repr__(self) -> str:
        if self.node is None or self.comparison is None:
            return f"no mismatch in {self.checked} nodes"
        found = self.comparison
        kind = "a constant that should be dynamic" if self.kind == "constant" else self.kind
        without_numbers = found.cause.startswith(("not computed", "rounds", "branch"))
        difference = "" if without_numbers else f", largest difference {found.max_absolute:.3g}"
        numbers = f"{found.cause} ({found.inputs}){difference}"
        return (
            f"first mismatch: {self.node.format_node()}\n  in module '{self.module}': {numbers}\n"
            f"  cause: {kind}\n{self.source}"
        )


def find_mismatch(
    program: ONNXProgram,
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    *,
    exported: ExportedProgram | None = None,
) -> Mismatch:
    """The first captured node, in order of execution, whose value differs in the ONNX model.

    Of a branch or a loop that is the first node within it, in the first round, as far as the model
    still has the values. Where all agree on the example inputs, inputs of other sizes are tried.
    """
    exported = exported or captured(program)
    args, kwargs = examples(exported, args, kwargs)
    mismatch = first_mismatch(compare_nodes(program, args, kwargs, exported=exported))
    other = second_inputs(exported, args, kwargs, [value.sizes for value in program.inputs])
    if mismatch or other is None:
        return mismatch
    words, (other_args, other_kwargs) = other
    try:
        return first_mismatch(compare_nodes(program, other_args, other_kwargs, inputs=words, exported=exported))
    except Exception as error:  # of PyTorch or onnxruntime: these inputs are not for this program
        _log.warning("nodes are not compared for %s: %s", words, error)
        return mismatch


def first_mismatch(compared: Iterator[tuple[torch.fx.Node, _engine.Comparison]]) -> Mismatch:
    """The first that differs."""
    checked = set()
    for node, comparison in compared:
        checked.add(node)
        if not comparison.ok:
            return Mismatch(len(checked), node, comparison)
    return Mismatch(len(checked), None, None)


def compare_modules(program: ONNXProgram, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None, *,
                    exported: ExportedProgram | None = None) -> list[_engine.Comparison]:
    """Of each module, in order of execution, the value that is the furthest from PyTorch's."""
    worst: dict[str, _engine.Comparison] = {}
    for _, comparison in compare_nodes(program, args, kwargs, exported=exported):
        comparison.module = comparison.module or "(model)"
        known = worst.get(comparison.module)
        if known is None or (not comparison.ok, comparison.max_absolute) > (not known.ok, known.max_absolute):
            worst[comparison.module] = comparison
    return list(worst.values())


def verify_and_locate(
    program: ONNXProgram,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    *,
    reference: Callable[..., Any] | None,
    exported: ExportedProgram | None,
    modules: bool,
) -> list[_engine.Comparison]:
    """:func:`verify`, and more for a report: `modules` also compares within; a failure says where it begins.

    Raises:
        VerificationError: As :func:`verify`.
    """
    try:
        comparisons = verify(program, args, kwargs, reference=reference, exported=exported)
    except VerificationError as error:
        if exported is None or not error.comparisons:
            raise
        found = find_mismatch(program, args, kwargs, exported=exported)
        if modules:
            error.comparisons += compare_modules(program, args, kwargs, exported=exported)
        place = found if found or reference is None else "every captured node agrees: the capture itself differs from the model"
        raise VerificationError(f"{error}\n{place}", error.comparisons) from None
    if modules and exported is not None:
        comparisons += compare_modules(program, args, kwargs, exported=exported)
    return comparisons
