"""Whether tensors are equal, asked in a capture: what was computed alike is, unless there is a NaN in it."""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable, Iterator
from typing import Any

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode, ShapeEnv

from ..proxies import node_of
from ..sizes.proofs import expression_of

__all__ = ["EQUALITIES", "computed_alike", "have_one_shape", "taken_as_numbers"]

_KEEPS = ("alias", "clone", "contiguous", "detach", "detach_", "lift_fresh", "lift_fresh_copy")
"""Operators whose results hold what their first arguments do."""
_RESHAPES = ("_unsafe_view", "reshape", "view")
_UNSET = ("empty", "new_empty", "resize")
_TRUTHS = "_flambeau_truths"


def _place(tensor: torch.Tensor) -> tuple[Any, ...]:
    """What tensors have in common that lie in the same memory, alike."""
    flags = tensor.dtype, tensor.is_conj(), tensor.is_neg()
    return (tensor.untyped_storage()._cdata, *flags, *map(expression_of, (tensor.storage_offset(), *tensor.shape, *tensor.stride())))


def _values(graph: torch.fx.Graph) -> dict[torch.fx.Node, Any] | None:
    """What nodes have in common if they compute the same; None where a node writes, for then the place of a node decides as well."""
    found: dict[torch.fx.Node, Any] = {}
    numbers: dict[Any, int] = {}

    def number(key: Any) -> int:
        return numbers.setdefault(key, len(numbers))

    def fixed(argument: Any) -> Any:
        if isinstance(argument, (list, tuple)):
            return ("list", *map(fixed, argument))
        return ("node", found[argument]) if isinstance(argument, torch.fx.Node) else (type(argument), argument)

    for node in graph.nodes:
        operator = node.target
        if node.op == "get_attr":
            found[node] = number(("constant", operator))
        elif node.op != "call_function" or not isinstance(operator, torch._ops.OpOverload):
            plain = node.op == "call_function" and getattr(operator, "__module__", "") == "_operator"  # arithmetic of sizes, and items
            found[node] = number((operator, *map(fixed, node.args)) if plain else node)
        else:
            name = operator._schema.name.partition("::")[2]
            if operator._schema.is_mutable and name not in _KEEPS:
                return None
            if name in _KEEPS:
                found[node] = found[node.args[0]]  # type: ignore[index]
            elif operator.namespace != "aten" or torch.Tag.nondeterministic_seeded in operator.tags or name.startswith(_UNSET):
                found[node] = number(node)
            else:
                computes = "reshape" if name in _RESHAPES else operator
                found[node] = number((computes, *map(fixed, node.args), *((key, fixed(value)) for key, value in sorted(node.kwargs.items()))))
    return found


def computed_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors hold the same, whatever the inputs are."""
    if one is other:
        return True
    with contextlib.suppress(RuntimeError):  # sparse tensors lie in several places
        if _place(one) == _place(other):
            return True
    nodes = node_of(one), node_of(other)
    if None in nodes or nodes[0].graph is not nodes[1].graph:  # type: ignore[union-attr]
        return False
    try:
        values = _values(nodes[0].graph)  # type: ignore[union-attr]
    except TypeError:  # an argument that cannot be a key
        return False
    return values is not None and values[nodes[0]] == values[nodes[1]]  # type: ignore[index]


def _asked(one: torch.Tensor, other: torch.Tensor, compare: Callable[[], torch.Tensor]) -> Any:
    if one.dtype != other.dtype or not computed_alike(one, other):
        return compare().all().item()
    if not one.is_floating_point() and not one.is_complex():
        return True
    # Operators by themselves, of which nobody takes it that some elements are equal and some are not.
    answer: Any = torch.ops.aten.all.default(torch.ops.aten.eq.Tensor(one, other)).item()
    if isinstance(answer, (torch.SymBool, torch.SymInt)):
        vars(answer.node.shape_env).setdefault(_TRUTHS, set()).update(answer.node.expr.free_symbols)
    return answer


def have_one_shape(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether they have. The capture goes on as it is for the example's sizes."""
    return one.shape == other.shape


def _equal(input: torch.Tensor, other: torch.Tensor) -> Any:
    return have_one_shape(input, other) and _asked(input, other, lambda: input == other)


def _allclose(input: torch.Tensor, other: torch.Tensor, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False) -> Any:
    if equal_nan and input.dtype == other.dtype and computed_alike(input, other):
        return True
    return _asked(input, other, lambda: torch.isclose(input, other, rtol, atol, equal_nan))


EQUALITIES: dict[Callable[..., Any], Callable[..., Any]] = {
    torch.equal: _equal,
    torch.Tensor.equal: _equal,
    torch.allclose: _allclose,
    torch.Tensor.allclose: _allclose,
}


@contextlib.contextmanager
def taken_as_numbers(line_of: Callable[[traceback.StackSummary], str]) -> Iterator[list[str]]:
    """While it is open, a question whether what was computed alike is equal does not stop the capture: the answer is that without NaN.

    Gives the lines that asked.

    Args:
        line_of: The line of the model in a stack.
    """
    lines: list[str] = []
    evaluate = ShapeEnv._evaluate_expr

    @functools.wraps(evaluate)
    def answered(self: Any, condition: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return evaluate(self, condition, *args, **kwargs)
        except GuardOnDataDependentSymNode:
            truths = vars(self).get(_TRUTHS, set())
            if not condition.free_symbols or not condition.free_symbols <= truths:
                raise
            answer = condition.subs(dict.fromkeys(truths, 1))
            if answer not in (sympy.true, sympy.false):
                raise
            line = line_of(traceback.extract_stack())
            if line not in lines:
                lines.append(line)
            return answer

    ShapeEnv._evaluate_expr = answered
    try:
        yield lines
    finally:
        ShapeEnv._evaluate_expr = evaluate
