"""Models that compute gradients in ``forward``: forces of an energy, sensitivities, ``torch.func``.

torch.export records calls above autograd, which hands results that it saved back as
tensors that nobody recorded. Below autograd the operators are recorded that compute
the gradients.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import torch
from torch._functorch import eager_transforms
from torch._subclasses import FakeTensor
from torch.export import ExportedProgram
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils import _pytree

from ...state import kept_attributes
from ..assigned_buffers import UNRECORDED
from ..decomposition import operators
from ..replaced_functions import Replacements
from ..state_between_calls import CHANGED, left_by_a_run
from ..torch_export import below_autograd
from .forward_derivatives import forward_derivatives
from .own_weights import own_weights, registered_once, weights_of
from .recurrent_layers import differentiable_layers

__all__ = ["above_autograd", "export_below_autograd", "levels_left", "recorded_gradients", "refuse_differentiation", "refuse_unrecorded"]

_TRANSFORMS = "torch._functorch.predispatch"
_ENGINE = "_engine_run_backward"
_DIFFERENTIATING = (
    (torch.autograd, _ENGINE),
    (eager_transforms, "grad_increment_nesting"),
    (eager_transforms, "jvp_increment_nesting"),
)

_Captured = TypeVar("_Captured")


class Differentiated(Exception):
    """A program was recorded without what computes the gradients that the model asked for."""


def refuse_differentiation(exported: ExportedProgram) -> None:
    """Raises:
    Differentiated: The program holds calls that enter or leave a derivative.
    """
    for target in operators(exported):
        if getattr(target, "__module__", "") == _TRANSFORMS and getattr(target, "__name__", "") in ("_grad_increment_nesting", "_jvp_increment_nesting"):
            raise Differentiated("torch.export recorded what torch.func differentiates, and not the derivative")


def refuse_unrecorded(exported: ExportedProgram) -> None:
    """Raises:
    Differentiated: What nobody recorded became a constant of the program, which has no bytes.
    """
    for name, constant in exported.constants.items():
        if name.startswith("lifted_tensor_") and (isinstance(constant, FakeTensor) or torch._C._functorch.is_functorch_wrapped_tensor(constant)):
            raise Differentiated("torch.export did not record what computes a tensor that is used further on")


def above_autograd(capture: Callable[[], _Captured]) -> _Captured:
    """What a capture gives that records calls above autograd.

    Raises:
        Differentiated: The model asked autograd for gradients, which then need not be what it gave.
    """
    with recorded_gradients() as asked:
        captured = capture()
    if _ENGINE in asked:
        raise Differentiated("torch.export did not record what computes gradients")
    return captured


@contextlib.contextmanager
def recorded_gradients() -> Iterator[list[str]]:
    """Gives what calls for gradients while it is open."""
    asked: list[str] = []

    def recording(owner: Any, name: str) -> Callable[..., Any]:
        original = getattr(owner, name)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            asked.append(name)
            return original(*args, **kwargs)

        return call

    before = [(owner, name, getattr(owner, name)) for owner, name in _DIFFERENTIATING]
    for owner, name, _ in before:
        setattr(owner, name, recording(owner, name))
    try:
        yield asked
    finally:
        for owner, name, original in before:
            setattr(owner, name, original)


@contextlib.contextmanager
def levels_left() -> Iterator[None]:
    """Leaves the transforms of ``torch.func`` that a capture which failed was in: torch's contexts do not."""
    functorch = torch._C._functorch
    inside, dual = functorch.peek_interpreter_stack() is not None, _is_dual()
    try:
        yield
    finally:
        while not inside and functorch.peek_interpreter_stack() is not None:
            functorch.pop_dynamic_layer_stack()
        if not dual and _is_dual():
            torch._C._exit_dual_level(level=0)


def _is_dual() -> bool:
    """Whether forward derivatives are computed: torch has one level of them, and refuses a second."""
    try:
        torch._C._exit_dual_level(level=torch._C._enter_dual_level())
    except RuntimeError:
        return True
    return False


def export_below_autograd(model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], *, strict: bool, dynamic_shapes: Any) -> ExportedProgram:
    """As ``torch.export.export``, below autograd."""
    # Of fused attention's gradient there is no decomposition.
    with kept_attributes(model), forward_derivatives(), registered_once(model), _detached_results(model) as run, _accumulated_gradients(run):
        with differentiable_layers(), sdpa_kernel(SDPBackend.MATH):
            exported = below_autograd(model, args, kwargs, dynamic_shapes=dynamic_shapes, strict=strict)
    # What stands in for weights in lists is a change, too: only a run tells what the model changes.
    meta = exported.graph_module.meta
    assigned, meta[CHANGED] = left_by_a_run(model, args, kwargs)
    meta[UNRECORDED] = dict.fromkeys([*meta[UNRECORDED], *assigned])
    return exported


@dataclasses.dataclass
class _Run:
    """A run of a model, as far as it has come."""

    given: list[torch.Tensor] = dataclasses.field(default_factory=list)
    """What the model is given."""
    weights: Mapping[int, torch.Tensor] = dataclasses.field(default_factory=dict)
    """The model's weights, by the identity of what it has in their place."""
    retained: list[tuple[torch.Tensor, list[torch.Tensor]]] = dataclasses.field(default_factory=list)
    """Tensors that are computed, and whose gradients are asked for; and these."""
    written: dict[int, tuple[torch.Tensor, torch.Tensor | None]] = dataclasses.field(default_factory=dict)
    """Tensors that got gradients, by identity, and those that they had."""

    def add(self, tensor: torch.Tensor, gradient: torch.Tensor) -> None:
        """To the gradient of a tensor, of which hooks are told that ask for that."""
        self.written.setdefault(id(tensor), (tensor, tensor.grad))
        tensor.grad = gradient if tensor.grad is None else tensor.grad + gradient
        for hook in (self.weights.get(id(tensor), tensor)._post_accumulate_grad_hooks or {}).values():
            hook(tensor)

    def end(self) -> None:
        """Leave no gradients: tensors that are no part of the run may have got some."""
        for tensor, gradient in self.written.values():
            tensor.grad = gradient
        self.written.clear()
        self.retained.clear()


@contextlib.contextmanager
def _detached_results(model: torch.nn.Module) -> Iterator[_Run]:
    """While it is open, nobody can ask for gradients of what the model returns: torch would record these as well.

    Where nobody asks, torch runs the model without gradients; it has those that its caller has. Yields the run, once there is one.
    """
    run = _Run()
    forward, own, enabled = model.forward, "forward" in vars(model), torch.is_grad_enabled()
    weights = weights_of(model)

    @functools.wraps(forward)
    def detached(*args: Any, **kwargs: Any) -> Any:
        run.given = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        try:
            with own_weights(model, weights) as run.weights, torch.set_grad_enabled(enabled):
                results = forward(*args, **kwargs)
            return _pytree.tree_map_only(torch.Tensor, torch.Tensor.detach, results)
        finally:
            run.end()

    model.forward = detached
    try:
        yield run
    finally:
        if own:
            model.forward = forward
        else:
            del model.forward


@contextlib.contextmanager
def _accumulated_gradients(run: _Run) -> Iterator[None]:
    """While it is open, ``backward`` computes what it adds to ``grad`` as ``torch.autograd.grad`` does: what autograd adds itself, nobody records.

    What the model is given is computed of something else while it is recorded.
    """
    backward, retain = torch.autograd.backward, torch.Tensor.retain_grad

    def retain_grad(tensor: torch.Tensor) -> None:
        if tensor.is_leaf or not tensor.requires_grad:
            retain(tensor)
        elif not any(tensor is other for other, _ in run.retained):
            run.retained.append((tensor, []))

    @functools.wraps(backward)
    def accumulate(
        tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, grad_variables: Any = None, inputs: Any = None
    ) -> None:
        roots = (tensors,) if isinstance(tensors, torch.Tensor) else tuple(tensors)
        along = grad_tensors if grad_variables is None else grad_variables
        along = (along,) if isinstance(along, torch.Tensor) else along
        into = [inputs] if isinstance(inputs, torch.Tensor) else _differentiable(roots, run.given) if inputs is None else list(inputs)
        if not into:
            backward(tensors, grad_tensors, retain_graph, create_graph, grad_variables, inputs)
            return
        # After the hooks that change the gradient, in whatever order they were registered.
        hooks = [tensor.register_hook(gradients.append) for tensor, gradients in run.retained]  # type: ignore[no-untyped-call]
        gradients = torch.autograd.grad(roots, into, along, retain_graph, create_graph, allow_unused=True)
        for hook in hooks:
            hook.remove()
        with torch.set_grad_enabled(create_graph), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The .grad attribute of a Tensor that is not a leaf")
            for tensor, gradient in (*zip(into, gradients), *((tensor, each) for tensor, these in run.retained for each in these)):
                if gradient is not None:
                    run.add(tensor, gradient)
        for _, these in run.retained:
            these.clear()

    with Replacements() as replacements:
        replacements.set(torch.autograd, "backward", accumulate)
        replacements.set(torch.Tensor, "retain_grad", retain_grad)
        yield


def _differentiable(roots: Sequence[torch.Tensor], computed: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """The tensors to which ``backward`` adds the gradient: those that nobody computed, and of those that are computed the ones given here."""
    leaves: list[torch.Tensor] = []
    left = [torch.autograd.graph.get_gradient_edge(root).node for root in roots if root.requires_grad]
    seen = set(left)
    while left:
        node: Any = left.pop()
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        following = {each for each, _ in node.next_functions if each is not None} - seen
        seen |= following
        left += following
    return leaves + [tensor for tensor in {id(each): each for each in computed}.values() if tensor.grad_fn in seen]
