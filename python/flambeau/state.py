"""Running or capturing a module without a trace of it."""

from __future__ import annotations

import contextlib
import functools
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch.nn.parameter import is_lazy
from torch.nn.utils import parametrize
from torch.utils import _pytree

from .held import Held, are_same, elements_of, held_by, put_elements
from .places import left_in_memos

__all__ = ["kept_attributes", "kept_random_numbers", "kept_state", "kept_tensors"]

_SET_DATA = torch._C.TensorBase.data.__set__  # type: ignore[attr-defined]  # a capture has a setter of its own


@contextlib.contextmanager
def kept_attributes(model: torch.nn.Module, given: Any = (), held: Held | None = None) -> Iterator[list[str]]:
    """Whatever forward assigns to the attributes of its modules, and of the objects that these hold, or puts into the lists and dicts of
    modules: a table of which a capture knows no numbers, or a size of the example's. And what it writes to tensors in these, and does to
    gradients, also those of what it is given. So is what it leaves in closures, classes, global names and memos of the user's code.

    Args:
        held: What the model holds, where that was looked up already.

    Yields:
        The paths of attributes of modules that were something else when it was left, or held something else; once it is left.
    """
    held = held or held_by(model, remembered=True)
    changed: list[str] = []
    registered = {id(each) for each in (*model.parameters(), *model.buffers())}
    tensors = [*model.parameters(), *model.buffers(), *held.tensors, *(each for each in _pytree.tree_leaves(given) if isinstance(each, torch.Tensor))]
    try:
        with (
            _kept_gradients(tensors),
            _kept_values([each for each in held.tensors if id(each) not in registered and not isinstance(each, torch.nn.Parameter)]),
            _kept_arrays(held.arrays),
            _kept_scripts(model),
            _kept_generators(held.generators),
            _no_cached_parametrizations(),
        ):
            yield changed
    finally:
        changed += held.changed(model)
        for memo, misses in held.memos:
            left_in_memos(memo, misses)
        for container, elements in (*held.attributes, *held.containers):
            if not are_same(elements_of(container), elements):
                put_elements(container, elements)


@contextlib.contextmanager
def _kept_values(tensors: Iterable[torch.Tensor]) -> Iterator[None]:
    """What is written to the tensors while it is open is undone."""
    before = [(tensor, tensor.detach(), _version(tensor), tensor.detach().clone()) for tensor in tensors if _takes_writes(tensor)]
    try:
        yield
    finally:
        for tensor, memory, version, values in before:
            with torch.inference_mode() if tensor.is_inference() else torch.no_grad():
                if not _lies_as(tensor, memory):
                    _SET_DATA(tensor, memory)
                if not (_version(tensor) == version and _holds(memory, values)):
                    memory.copy_(values)


@contextlib.contextmanager
def _kept_arrays(arrays: Iterable[Any]) -> Iterator[None]:
    """The same of arrays of NumPy."""
    before = [(array, array.copy(), array.shape) for array in arrays]
    try:
        yield
    finally:
        for array, values, shape in before:
            if array.shape != shape and array.size == values.size:
                array.shape = shape
            if array.shape == shape and array.flags.writeable:
                array[...] = values


def _version(tensor: torch.Tensor) -> int:
    """How often it was written; of a tensor of inference mode nobody counts that."""
    return 0 if tensor.is_inference() else tensor._version


@contextlib.contextmanager
def _kept_generators(generators: Iterable[torch.Generator]) -> Iterator[None]:
    before = [(generator, generator.get_state()) for generator in generators]
    try:
        yield
    finally:
        for generator, state in before:
            generator.set_state(state)


@contextlib.contextmanager
def _no_cached_parametrizations() -> Iterator[None]:
    """``parametrize.cached()`` around a capture would keep what that makes of the weights, and a trace refuses it."""
    before = parametrize._cache_enabled, parametrize._cache
    parametrize._cache_enabled, parametrize._cache = 0, {}
    try:
        yield
    finally:
        parametrize._cache_enabled, parametrize._cache = before


@contextlib.contextmanager
def kept_random_numbers() -> Iterator[None]:
    """What draws and seeds do to the generators that all share is undone: PyTorch's on the CPU, Python's and NumPy's."""
    numpy = sys.modules.get("numpy.random")
    python, numpys = random.getstate(), numpy.get_state(legacy=False) if numpy is not None else None
    try:
        with torch.random.fork_rng(devices=[]):
            yield
    finally:
        random.setstate(python)
        if numpy is not None:
            numpy.set_state(numpys)


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
def kept_state(model: torch.nn.Module, held: Held | None = None) -> Iterator[list[str]]:
    """As :func:`kept_attributes`, and :func:`kept_tensors`."""
    held = held or held_by(model, remembered=True)
    with kept_attributes(model, held=held) as changed, kept_tensors(model, held):
        yield changed


@contextlib.contextmanager
def kept_tensors(model: torch.nn.Module, held: Held | None = None) -> Iterator[None]:
    """Whatever forward writes to buffers and weights, or assigns to buffers, is undone.

    Of weights that lie in a file, or in other memory that torch cannot copy lazily, so is what is written once forward has asked for
    gradients, as steps along these do.
    """
    held = held or held_by(model, remembered=True)
    parameters = (each for each in held.tensors if isinstance(each, torch.nn.Parameter))  # also of models that this one only knows
    weights = {id(each): each for each in (*model.parameters(), *parameters) if not is_lazy(each)}
    others = {_memory_of(each) for each in (*model.buffers(), *held.tensors) if id(each) not in weights} - {None}
    apart = [each for each in weights.values() if _memory_of(each) not in others]
    beside = [each for each in weights.values() if _memory_of(each) in others]
    buffers = [(table, dict(table)) for table in (module._buffers for module in model.modules()) if isinstance(table, dict)]
    try:
        with _kept_values([*model.buffers(), *beside]), _copies_of_weights(apart) as uncopied, _kept_from_gradients_on(uncopied):
            yield
    finally:
        for table, before in buffers:
            if not are_same(elements_of(table), elements_of(before)):
                put_elements(table, elements_of(before))


@contextlib.contextmanager
def _copies_of_weights(weights: Iterable[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """While it is open, the weights are in copies of their memory, which torch makes once something writes there: the memory itself stays
    where it is, and as it is, for programs that refer to it.

    Gives the weights of which torch makes no such copies.
    """
    copies: dict[Any, torch.UntypedStorage] = {}
    before: list[tuple[torch.Tensor, torch.Tensor]] = []
    alone: list[torch.Tensor] = []

    def is_copied(weight: torch.Tensor) -> bool:
        memory, storage = weight.detach(), _memory_of(weight)
        try:
            if not memory.untyped_storage().resizable():  # as of a loaded archive: it has no allocator, with which torch would make the copy
                return False
            if not torch._C._is_cow_tensor(memory):
                alone.append(memory)
            if storage not in copies:
                copies[storage] = torch._lazy_clone(memory).untyped_storage()
            copy = torch.empty(0, dtype=memory.dtype, device=memory.device)
            _SET_DATA(weight, copy.set_(copies[storage], memory.storage_offset(), memory.shape, memory.stride()))
        except Exception:  # of memory that is not torch's own, or a subclass
            return False
        before.append((weight, memory))
        return True

    try:
        yield [weight for weight in weights if not is_copied(weight)]
    finally:
        for weight, memory in before:
            _SET_DATA(weight, memory)
        # The address of shared memory is asked for: it is copied then, unless it is shared no more. So what is left of the copies, as
        # results keep what their gradients need, comes first: only these may move.
        while copies:
            _move_if_used(copies.popitem()[1])
        for memory in alone:
            with contextlib.suppress(RuntimeError):  # of one that has no address
                memory.data_ptr()


def _move_if_used(copy: torch.UntypedStorage) -> None:
    if torch._C._storage_Use_Count(copy._cdata) > 1:  # type: ignore[attr-defined]
        copy.data_ptr()


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


def _memory_of(tensor: torch.Tensor) -> int | None:
    try:
        return tensor.untyped_storage()._cdata
    except (RuntimeError, ValueError):  # of one that has no such memory, or none yet
        return None


def _lies_as(tensor: torch.Tensor, memory: torch.Tensor) -> bool:
    """Whether it is still the memory that it was, and has the shape that it had."""

    def place(each: torch.Tensor) -> tuple[Any, ...]:
        return _memory_of(each), each.storage_offset(), each.shape, each.stride()

    try:
        return place(tensor) == place(memory)
    except RuntimeError:  # likewise
        return True


def _holds(tensor: torch.Tensor, values: torch.Tensor) -> bool:
    """Whether nothing has to be written to it: it may lie in a file that is only read."""
    try:
        return torch.equal(tensor, values) or bool(((tensor == values) | ((tensor != tensor) & (values != values))).all())
    except (NotImplementedError, RuntimeError):  # of a tensor without numbers
        return False


def _takes_writes(tensor: torch.Tensor) -> bool:
    """Not an expanded one."""
    try:
        return 0 not in tensor.stride()
    except (RuntimeError, ValueError):  # a sparse or nested one, or one that the first run makes
        return False
