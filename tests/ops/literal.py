"""Operators as a graph made by hand, or by another capture, may hold them: torch.export takes them apart or refuses them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import torch
from torch.utils import _pytree as pytree

import harness

NAMESPACE = "flambeau_literal"
_library = torch.library.Library(NAMESPACE, "FRAGMENT")
_behind: dict[str, torch._ops.OpOverload] = {}  # by the name of what stands for it


def _gives_number(op: torch._ops.OpOverload) -> bool:
    return [str(result.type) for result in op._schema.returns] in (["bool"], ["int"], ["SymInt"], ["number"])


def literal(op: torch._ops.OpOverload, *args: Any, computed: Callable[..., Any] | None = None, check: str = "values", **kwargs: Any) -> list[harness.Case]:
    """A case that calls `op` and leaves it in the captured program as it is; static, for the sizes of the results are
    those of these arguments.

    Args:
        computed: What the operator gives for the arguments, where it is not called with them as they are.
        check: As that of `harness.case`.
    """
    computed = op if computed is None else computed
    name = f"operator_{len(_behind)}"
    _behind[name] = op
    arguments, results = str(op._schema).split("(", 1)[1].rsplit(" -> ", 1)
    arguments, results = (re.sub(r"\([a-z][^()]*\)", "", each) for each in (arguments, results))  # a stand-in gives no views
    _library.define(f"{name}({arguments} -> {'Tensor' if _gives_number(op) else results}")
    leaves, spec = pytree.tree_flatten((args, kwargs))
    copies, options = pytree.tree_unflatten([v.clone() if isinstance(v, torch.Tensor) else v for v in leaves], spec)
    with torch.no_grad():
        example = computed(*copies, **options)

    def run(*args: Any, **kwargs: Any) -> Any:
        return torch.tensor(computed(*args, **kwargs)) if _gives_number(op) else computed(*args, **kwargs)

    def fake(*_: Any, **__: Any) -> Any:
        if _gives_number(op):
            return torch.empty((), dtype=torch.tensor(example).dtype)
        return pytree.tree_map_only(torch.Tensor, lambda t: torch.empty(t.shape, dtype=t.dtype), example)

    _library.impl(name, run, "CompositeExplicitAutograd")
    torch.library.register_fake(f"{NAMESPACE}::{name}", fake, lib=_library)

    def call(*args: Any, **kwargs: Any) -> Any:
        result = getattr(getattr(torch.ops, NAMESPACE), name)(*args, **kwargs)
        return result.item() if _gives_number(op) else result

    call.__name__ = op.name().removeprefix("aten::")
    return harness.case(call, *args, dynamic=False, again=False, strided=False, check=check, **kwargs)


def restore(program: torch.export.ExportedProgram) -> None:
    """Puts the operators themselves in the places of what stands for them."""
    for node in list(program.graph.nodes):
        if node.op != "call_function" or getattr(node.target, "namespace", None) != NAMESPACE:
            continue
        op = _behind[node.target._schema.name.split("::")[1]]
        target = node
        if _gives_number(op):
            (target,) = node.users  # the number in the tensor
            target.args = node.args
        target.target = op
    program.graph.eliminate_dead_code()
