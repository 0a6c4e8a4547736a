"""What modules and captured programs give, side by side."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from ..eager import deeply_copied, with_the_gradients_it_asks_for
from ..state import kept_state
from .decomposition import operators
from .operators.flex_attention import dense_flex_attention
from .surroundings import mode

__all__ = ["are_alike", "computes_alike", "results_of", "results_of_model", "say_little", "writes_nothing"]

_RESHAPES = (torch.ops.aten.view.default, torch.ops.aten.reshape.default)


def _unchecked(exported: ExportedProgram) -> torch.nn.Module:
    """The program as a module that does not check what it takes for granted, as the ONNX model does not."""
    module = exported.module(check_guards=False)
    for graph in [each for each in module.modules() if isinstance(each, torch.fx.GraphModule)]:
        for node in list(graph.graph.nodes):
            if node.target is torch.ops.aten._assert_scalar.default:
                graph.graph.erase_node(node)
            elif node.target in _RESHAPES and -1 in node.args[1] and isinstance(node.meta.get("val"), torch.Tensor):
                # Of a tensor that turns out to hold nothing, PyTorch cannot tell the size that is left open.
                found = zip(node.args[1], node.meta["val"].shape)
                node.args = node.args[0], [own if size == -1 and type(own) is int else size for size, own in found]
        graph.graph.eliminate_dead_code()  # what was only checked: the least of nothing raises
        graph.recompile()
    return module


def results_of(
    module: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], seed: int = 0, kept: Callable[..., Any] = kept_state
) -> list[Any]:
    """The tensors and numbers that a module gives; what is kept of it stays as it is."""

    # The own call of a graph's module prints the errors of its code.
    call = functools.partial(torch.nn.Module.__call__, module) if isinstance(module, torch.fx.GraphModule) else module

    def run() -> list[Any]:
        given, named = deeply_copied((args, kwargs))
        with torch.random.fork_rng(), kept(module) if isinstance(module, torch.nn.Module) else contextlib.nullcontext():
            torch.manual_seed(seed)
            leaves = _pytree.tree_leaves(call(*given, **named))
        return [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves if isinstance(leaf, (torch.Tensor, int, float))]

    return with_the_gradients_it_asks_for(run)


def results_of_model(
    model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None, seed: int = 0
) -> list[Any]:
    """Those of the model as it is captured."""
    with mode(model, training), torch.compiler.set_stance("force_eager"), dense_flex_attention():
        return results_of(model, args, kwargs, seed)


def are_alike(actual: Sequence[Any], expected: Sequence[Any]) -> bool:
    """Whether a program's results are those of the model; numbers of a program count as tensors of the model's dtypes."""

    def tensor(value: Any, like: Any) -> torch.Tensor:
        return value if isinstance(value, torch.Tensor) else torch.as_tensor(value, dtype=like.dtype if isinstance(like, torch.Tensor) else None)

    pairs = [(tensor(one, other), tensor(other, None)) for one, other in zip(actual, expected)]
    return len(actual) == len(expected) and all(
        one.shape == other.shape and one.dtype == other.dtype and torch.allclose(one, other, 1e-3, 1e-4, equal_nan=True) for one, other in pairs
    )


def say_little(results: Sequence[Any]) -> bool:
    """Whether they are so few different numbers that others may be the same by chance, as classes and scores are."""
    return sum(torch.as_tensor(each).unique().numel() for each in results) <= _FEW


_FEW = 16


def computes_alike(
    exported: ExportedProgram, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], training: bool | None
) -> bool:
    """Whether the program gives what the model does for these arguments."""
    return are_alike(results_of(_unchecked(exported), args, kwargs), results_of_model(model, args, kwargs, training))


def writes_nothing(exported: ExportedProgram) -> bool:
    """Whether a program is known to write into no tensor: it has all writes of the module, unless torch made them something else."""
    as_written = getattr(exported, "dialect", "") == "TRAINING"
    return as_written and not any(isinstance(each, torch._ops.OpOverload) and each._schema.is_mutable for each in operators(exported))
