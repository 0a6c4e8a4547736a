"""Running or capturing a module without a trace of it."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.utils import _pytree

from .held import Held, are_same, elements_of, held_by, put_elements

__all__ = ["kept_attributes", "kept_state"]


@contextlib.contextmanager
def kept_attributes(model: torch.nn.Module, given: Any = (), held: Held | None = None) -> Iterator[None]:
    """Whatever forward assigns to the attributes of its modules, and of the objects that these hold, or puts into the lists and dicts of
    modules: a table of which a capture knows no numbers, or a size of the example's. And what it writes to tensors in these, and does to
    gradients, also those of what it is given.

    Args:
        held: What the model holds, where that was looked up already.
    """
    held = held or held_by(model)
    registered = {id(each) for each in (*model.parameters(), *model.buffers())}
    tensors = [*model.parameters(), *model.buffers(), *held.tensors, *(each for each in _pytree.tree_leaves(given) if isinstance(each, torch.Tensor))]
    try:
        with _kept_gradients(tensors), _kept_values([each for each in held.tensors if id(each) not in registered]), _kept_scripts(model):
            yield
    finally:
        for container, elements in (*held.attributes, *held.containers):
            if not are_same(elements_of(container), elements):
                put_elements(container, elements)


class _Kept:
    """A tensor, and what it held when this was made."""

    def __init__(self, tensor: torch.Tensor, or_clone: bool) -> None:
        self.tensor = tensor
        self._memory = tensor.detach()
        self._was_shared = False
        self._values: torch.Tensor | None = None
        try:
            self._was_shared = torch._C._is_cow_tensor(tensor)
            self._values = torch._lazy_clone(self._memory)  # copied once something writes to either
        except Exception:  # of memory that is not torch's own, or a subclass
            if or_clone:
                self._values = self._memory.clone()

    @property
    def is_known(self) -> bool:
        return self._values is not None

    def restore(self) -> None:
        if self._values is None:
            return
        if not _lies_as(self.tensor, self._memory):
            self.tensor.data = self._memory
        if not _share_memory(self._memory, self._values) and not _holds(self._memory, self._values):
            self._memory.copy_(self._values)
        self._values = None

    def release(self) -> None:
        """After all are restored. The memory is the tensor's alone again: who asks for its address would copy it otherwise."""
        with contextlib.suppress(Exception):
            if not self._was_shared and torch._C._is_cow_tensor(self.tensor):
                self.tensor.data_ptr()


@contextlib.contextmanager
def _kept_values(tensors: Iterable[torch.Tensor], or_clone: bool = True) -> Iterator[list[torch.Tensor]]:
    """What is written to the tensors while it is open is undone.

    Args:
        or_clone: Whether those are copied of which torch makes no lazy copy; else they are left as they come out, and given.
    """
    kept = [_Kept(tensor, or_clone) for tensor in {id(each): each for each in tensors}.values() if _takes_writes(tensor)]
    try:
        yield [each.tensor for each in kept if not each.is_known]
    finally:
        with torch.no_grad():
            for each in kept:
                each.restore()
        for each in kept:
            each.release()


@contextlib.contextmanager
def _kept_scripts(model: torch.nn.Module) -> Iterator[None]:
    """What scripts assign to attributes of their modules, or do to lists, dicts and tensors in these: Python does not hold them."""
    scripts = [module._c for module in model.modules() if isinstance(module, torch.jit.ScriptModule)]
    named = [(script, name) for script in scripts for name in torch._C.ConcreteModuleType.from_jit_type(script._type()).get_attributes()]
    before = [(script, name, script.getattr(name)) for script, name in named]
    in_containers = (leaf for _, _, value in before if not isinstance(value, torch.Tensor) for leaf in _pytree.tree_leaves(value))
    try:
        with _kept_values(each for each in in_containers if isinstance(each, torch.Tensor)):
            yield
    finally:
        for script, name, value in before:
            if not _is_still(script.getattr(name), value):
                script.setattr(name, value)


def _is_still(value: Any, before: Any) -> bool:
    """Whether an attribute of a script, which is a copy where it is no tensor, holds the same."""
    leaves, structure = _pytree.tree_flatten(value)
    others, of_others = _pytree.tree_flatten(before)
    tensors = torch.Tensor
    return structure == of_others and all(a is b if isinstance(a, tensors) or isinstance(b, tensors) else a == b for a, b in zip(leaves, others))


@contextlib.contextmanager
def _kept_gradients(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    """The tensors have no gradients while it is open, and afterwards those that they had: ``loss.backward()`` in forward adds to them.

    They also ask for gradients then as they did before.
    """
    leaves = {id(tensor): tensor for tensor in tensors if tensor.is_leaf}
    before = [(leaf, leaf.grad, leaf.requires_grad) for leaf in leaves.values()]
    try:
        for leaf, gradient, _ in before:
            if gradient is not None:
                leaf.grad = None
        yield
    finally:
        for leaf, gradient, asks in before:
            if leaf.grad is not gradient:
                leaf.grad = gradient
            if leaf.is_leaf and leaf.requires_grad != asks:
                leaf.requires_grad_(asks)


@contextlib.contextmanager
def kept_state(model: torch.nn.Module, held: Held | None = None) -> Iterator[None]:
    """As :func:`kept_attributes`; and whatever forward writes to buffers and weights is undone.

    Of weights that lie in a file, or in other memory that torch cannot copy lazily, so is what is written once forward has asked for
    gradients, as steps along these do.
    """
    with kept_attributes(model, held=held), _kept_values([*model.buffers(), *_written_weights(model)]):
        with _kept_values(model.parameters(), or_clone=False) as others, _kept_from_gradients_on(others):
            yield


@contextlib.contextmanager
def _kept_from_gradients_on(tensors: Sequence[torch.Tensor]) -> Iterator[None]:
    if not tensors:
        yield
        return
    engine = torch.autograd._engine_run_backward  # type: ignore[attr-defined]
    with contextlib.ExitStack() as kept:
        begin = functools.cache(lambda: kept.enter_context(_kept_values(tensors)))

        def run(*args: Any, **kwargs: Any) -> Any:
            begin()
            return engine(*args, **kwargs)

        torch.autograd._engine_run_backward = run  # type: ignore[attr-defined]
        try:
            yield
        finally:
            torch.autograd._engine_run_backward = engine  # type: ignore[attr-defined]


def _written_weights(model: torch.nn.Module) -> Iterator[torch.Tensor]:
    """Those that a captured program writes."""
    for node in model.graph.nodes if isinstance(model, torch.fx.GraphModule) else ():
        if node.target is torch.ops.aten.copy_.default and node.args[0].op == "get_attr":
            written: Any = functools.reduce(getattr, node.args[0].target.split("."), model)
            yield written


def _lies_as(tensor: torch.Tensor, memory: torch.Tensor) -> bool:
    """Whether it is still the memory that it was, and has the shape that it had."""

    def place(each: torch.Tensor) -> tuple[Any, ...]:
        return each.untyped_storage()._cdata, each.storage_offset(), each.shape, each.stride()

    try:
        return place(tensor) == place(memory)
    except RuntimeError:  # of one that has no such memory
        return True


def _share_memory(tensor: torch.Tensor, copy: torch.Tensor) -> bool:
    """Whether nothing wrote to either since the copy was made: an address that is only read has nothing copied."""
    try:
        return torch._C._data_address(tensor) == torch._C._data_address(copy)
    except RuntimeError:  # likewise
        return False


def _holds(tensor: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether nothing has to be written to it: it may lie in a file that is only read."""
    try:
        return torch.equal(tensor, values)
    except (NotImplementedError, RuntimeError):  # of a tensor without numbers
        return False


def _takes_writes(tensor: torch.Tensor) -> bool:
    """Not an expanded one, nor one of inference mode."""
    try:
        return 0 not in tensor.stride() and not tensor.is_inference()
    except (RuntimeError, ValueError):  # a sparse or nested one, or one that the first run makes
        return False
