"""Questions about a model's own constants while it is captured: ``if self.initialized``, ``if times[0] > times[1]``."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy
import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree
from torch.utils.weak import WeakIdKeyDictionary

from ...held import held_by
from ..replaced_functions import Replacements
from ..sizes.scalars import CASTS, DTYPES, RULES, Number, constant, converted

__all__ = ["KNOWN", "KnownConstants"]

KNOWN = "flambeau_known_constants"
"""Where a captured graph's ``meta`` has the names of the weights whose values decided what was captured."""

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

_ASKS = (
    torch.Tensor.__array__,
    torch.Tensor.__bool__,
    torch.Tensor.__float__,
    torch.Tensor.__index__,
    torch.Tensor.__int__,
    torch.Tensor.is_nonzero,
    torch.Tensor.item,
    torch.Tensor.numpy,
    torch.Tensor.tolist,
    torch.equal,
    torch.is_nonzero,
)

_FACTORIES = (
    torch.arange,
    torch.as_tensor,
    torch.eye,
    torch.full,
    torch.linspace,
    torch.logspace,
    torch.ones,
    torch.tensor,
    torch.zeros,
)

_SIZED_BY_VALUES = {getattr(owner, name) for owner in (torch, torch.Tensor) for name in ("argwhere", "masked_select", "nonzero", "unique") if hasattr(owner, name)}

_MOST_ELEMENTS = 1024
"""Of a tensor that is followed: flags, counters, tables of steps."""

_ATTRIBUTES = ""
"""Stands for the attributes among the names of weights."""

_OF_SIZES = {F.pad, torch._C._nn.pad, torch.reshape, *(getattr(torch.Tensor, name) for name in ("expand", "repeat", "reshape", "view"))}
"""They take sizes in a list (``x.view((n, -1))``) or one by one (``x.view(n, -1)``), and torch makes numbers of the tensors among these."""


def _is_small(tensor: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in tensor.shape) and tensor.numel() <= _MOST_ELEMENTS


def _weights(model: torch.nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    return itertools.chain(model.named_buffers(), model.named_parameters())


@dataclasses.dataclass(frozen=True)
class _Attribute:
    """A tensor that is neither parameter nor buffer; a capture has it as it is."""

    place: dict[str, Any]
    name: str
    tensor: torch.Tensor
    value: torch.Tensor
    version: int

    def is_as_before(self) -> bool:
        return self.place.get(self.name) is self.tensor and self.tensor._version == self.version


def _attributes(model: torch.nn.Module) -> dict[int, _Attribute]:
    """By the tensors' identities."""
    found = [(place, name, value) for place, _ in held_by(model).attributes for name, value in place.items() if type(value) is torch.Tensor]
    return {
        id(tensor): _Attribute(place, name, tensor, tensor.detach().clone(), tensor._version)
        for place, name, tensor in found
        if not tensor.is_inference() and _is_small(tensor)
    }


def _really(func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """A call on values, outside the capture.

    Raises:
        ValueError: It draws random numbers, which other runs do not repeat.
    """
    with unset_fake_temporarily(), disable_proxy_modes_tracing(), torch.random.fork_rng(devices=()):
        before = torch.get_rng_state()
        value = func(*args, **kwargs)
        if kwargs.get("generator") is not None or not torch.equal(torch.get_rng_state(), before):
            raise ValueError(f"{func} draws random numbers")
    return value


class KnownConstants(TorchFunctionMode):
    """While it is open, small weights and attributes of the model that were not written have their values, and so has what is
    computed from them alone, or from nothing.

    What is computed may be written as well, with known values.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        self.asked: set[str] = set()  # by their names, those that decided something
        self.captured: dict[str, torch.Tensor] = {}  # what the capture has in their places
        self.attributes = _attributes(model)
        self.kept = True  # the attributes are
        self._watched = Replacements()
        self.values = {name: weight.detach().clone() for name, weight in _weights(model) if weight.numel() <= _MOST_ELEMENTS}
        # Tensors of the capture -> (value, names of the weights behind it, the version that has this value)
        self.computed = WeakIdKeyDictionary()
        self.sized = WeakIdKeyDictionary()  # those that sizes went into -> the numbers in them
        self.follows_sizes = False

    def known(self, tensor: torch.Tensor) -> tuple[torch.Tensor, set[str]] | None:
        if not _is_small(tensor):
            return None
        if (found := self.computed.get(tensor)) is not None:
            value, names, version = found
            return (value, names) if tensor._version == version else None
        if (attribute := self.attributes.get(id(tensor))) is not None:
            return (attribute.value, {_ATTRIBUTES}) if attribute.is_as_before() else None
        if tensor._version != 0:  # it was written
            return None
        name = next((name for name, weight in _weights(self.model) if weight is tensor), None)
        if name not in self.values:
            return None
        self.captured[name] = tensor
        return self.values[name], {name}

    def __enter__(self) -> KnownConstants:
        assign = torch.nn.Module.__setattr__

        def noting(module: torch.nn.Module, name: str, value: Any) -> None:
            if id(vars(module).get(name)) in self.attributes:
                self.kept = False
            assign(module, name, value)

        self._watched.set(torch.nn.Module, "__setattr__", noting)  # torch undoes what is assigned
        return super().__enter__()  # type: ignore[no-any-return]

    def __exit__(self, *args: Any) -> None:
        super().__exit__(*args)
        self._watched.close()
        self.kept &= all(attribute.is_as_before() for attribute in self.attributes.values())

    def number(self, value: Any) -> Number | None:
        """The number that a tensor of no dimensions is known to hold, or a number itself; None for all else."""
        if isinstance(value, torch.SymInt):
            return Number(value)
        if not isinstance(value, torch.Tensor):
            return constant(value) if isinstance(value, (bool, int, float)) else None
        if value.ndim or value.dtype not in DTYPES or value._version != 0:
            return None
        if (found := self.sized.get(value)) is not None:
            return found
        known = self.known(value)
        return None if known is None else constant(known[0].item(), known[1])

    def _of_sizes(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> Number | None:
        """What a function gives of numbers of which a size is one, or a tensor that knows one."""
        if func not in RULES:
            return None
        operands, options = (args[:1], {}) if func in CASTS else (args, kwargs)
        numbers = [self.number(each) for each in operands]
        if None in numbers or not any(isinstance(each.value, (torch.SymInt, torch.SymFloat)) for each in numbers):
            return None
        try:
            return RULES[func](*numbers, **options)
        except (TypeError, ZeroDivisionError):  # of options that are not followed
            return None

    def _tell(self, values: Any) -> None:
        """Let torch know the numbers in tensors of these lists, where PyTorch has them exactly."""
        for value in values:
            for leaf in value if isinstance(value, (list, tuple)) else ():
                if not isinstance(leaf, FakeTensor) or leaf.item_memo is not None:
                    continue
                found = self.number(leaf)
                if found is not None and not found.roundings:
                    self.asked |= found.names
                    leaf.item_memo = found.value

    def decisive(self) -> list[str]:
        """The weights that decided something, by their names."""
        return sorted(self.asked - {_ATTRIBUTES})

    def hold(self, exported: ExportedProgram) -> bool:
        """Whether what they decided holds for the next call: none of them was written, or is another tensor then."""
        signature = exported.graph_signature
        weights = {**signature.inputs_to_buffers, **signature.inputs_to_parameters}
        assigned = {
            name
            for target in (torch.ops.aten.copy_.default, torch.ops.aten.set_.source_Tensor)
            for node in exported.graph.find_nodes(op="call_function", target=target)
            if (name := weights.get(node.args[0].name)) is not None
        }
        assigned |= set(signature.buffers_to_mutate.values())
        kept = self.kept or _ATTRIBUTES not in self.asked
        return kept and assigned.isdisjoint(self.decisive()) and all(self.captured[name]._version == 0 for name in self.decisive())

    def _wrote(self, written: torch.Tensor, version: int, behind: set[str]) -> None:
        """What was computed and shares its memory has the new values, too."""
        memory = self.computed[written][0].untyped_storage().data_ptr()
        for tensor, (value, names, of_value) in list(self.computed.items()):
            shares = tensor.untyped_storage()._cdata == written.untyped_storage()._cdata
            if shares and of_value == version and value.untyped_storage().data_ptr() == memory:
                self.computed[tensor] = value, names | behind, tensor._version

    def _chosen(self, func: Callable[..., Any], values: Any, behind: set[str]) -> torch.Tensor | None:
        """Of a function whose result is as large as values say: this, in a constant."""
        with contextlib.suppress(Exception):
            value = _really(func, *values)
            if isinstance(value, torch.Tensor) and _is_small(value):
                self.asked |= behind
                result = torch.tensor(value.tolist(), dtype=value.dtype, device=value.device).reshape(value.shape)
                self.computed[result] = value, behind, result._version
                return result
        return None

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        leaves = _pytree.tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        of_sizes = any(isinstance(leaf, _SYMBOLIC) for leaf in leaves)
        made = func in _FACTORIES and not of_sizes
        if not (tensors or made) or not all(isinstance(tensor, FakeTensor) or id(tensor) in self.attributes for tensor in tensors):
            return func(*args, **kwargs)
        if func is torch.Tensor.__bool__ and (known := self.sized.get(args[0])) is not None and args[0]._version == 0:
            self.asked |= known.names
            return bool(known.value if isinstance(known.value, torch.SymBool) else known.value != 0)
        if func is torch.Tensor.item and self.sized.get(args[0]) is not None:
            self._tell([args])
            return func(*args, **kwargs)
        if (sized := self._of_sizes(func, args, kwargs)) is not None:
            result = func(*args, **kwargs)
            if result.ndim == 0 and result.dtype in DTYPES:
                self.sized[result] = converted(sized, result.dtype)
                self.follows_sizes = True
            return result
        if func in _OF_SIZES:
            self._tell([args[1:], *args[1:], *kwargs.values()])
        found = [self.known(tensor) for tensor in tensors]
        if of_sizes or any(each is None for each in found):
            return func(*args, **kwargs)
        return self._of_known(func, args, kwargs, tensors, set().union(*(names for _, names in found)))  # type: ignore[misc]

    def _of_known(
        self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], tensors: Sequence[torch.Tensor], behind: set[str]
    ) -> Any:
        """Of tensors that are all known: what it gives of their values is known, too."""
        values = _pytree.tree_map_only(torch.Tensor, lambda tensor: self.known(tensor)[0], (args, kwargs))
        if func in _ASKS:
            self.asked |= behind
            answer = _really(func, *values)
            if isinstance(answer, numpy.ndarray):  # which shares the tensor's memory: no capture sees what is written there
                answer.flags.writeable = False
            return answer
        if func in _SIZED_BY_VALUES and (chosen := self._chosen(func, values, behind)) is not None:
            return chosen
        versions = [tensor._version for tensor in tensors]
        result = func(*args, **kwargs)
        written = [(tensor, version) for tensor, version in zip(tensors, versions) if tensor._version != version]
        results = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        with contextlib.suppress(Exception):
            if written:
                _really(func, *values)
                for tensor, version in written:
                    if tensor in self.computed:
                        self._wrote(tensor, version, behind)
            elif all(map(_is_small, results)):
                for leaf, value in zip(results, _pytree.tree_leaves(_really(func, *values)), strict=True):
                    self.computed[leaf] = value, behind, leaf._version
        return result
