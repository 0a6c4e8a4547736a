"""Questions about a model's own constants while it is captured: ``if self.initialized``, ``if times[0] > times[1]``."""

from __future__ import annotations

import contextlib
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.export import ExportedProgram
from torch.fx.experimental.proxy_tensor import disable_proxy_modes_tracing
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree
from torch.utils.weak import WeakIdKeyDictionary

__all__ = ["KNOWN", "KnownConstants"]

KNOWN = "flambeau_known_constants"
"""Where a captured graph's ``meta`` has the names of the buffers whose values decided what was captured."""

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)

_ASKS = (
    torch.Tensor.__bool__,
    torch.Tensor.__float__,
    torch.Tensor.__index__,
    torch.Tensor.__int__,
    torch.Tensor.is_nonzero,
    torch.Tensor.item,
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

_MOST_ELEMENTS = 64
"""Of a tensor that is followed: flags, counters, short tables."""


_Number = Any  # int, float or bool, or a symbol for one


def _quotient(a: _Number, b: _Number, *, rounding_mode: str | None = None) -> _Number:
    if rounding_mode is None:
        return a / b
    return a // b if rounding_mode == "floor" else math.trunc(a / b)


def _forms(name: str, *, reverse: bool = True) -> list[Callable[..., Any]]:
    """The functions of tensors of a name: ``torch.add``, ``Tensor.add``, ``Tensor.__add__``, and with `reverse` ``Tensor.__radd__``."""
    owners = [(torch, name), (torch.Tensor, name), (torch.Tensor, f"__{name}__")] + [(torch.Tensor, f"__r{name}__")] * reverse
    return [getattr(owner, each) for owner, each in owners if hasattr(owner, each)]


_OF_NUMBERS: Mapping[Callable[..., Any], Callable[..., _Number]] = {
    **{form: operator.add for form in _forms("add")},
    **{form: operator.sub for form in _forms("sub", reverse=False)},
    **{form: operator.mul for form in _forms("mul")},
    **{form: _quotient for form in (*_forms("div", reverse=False), *_forms("truediv", reverse=False), torch.true_divide)},
    **{form: operator.floordiv for form in (*_forms("floordiv", reverse=False), torch.floor_divide, torch.Tensor.floor_divide)},
    **{form: lambda a, b: b - a for form in (torch.Tensor.__rsub__, torch.rsub)},
    **{form: lambda a, b: b / a for form in (torch.Tensor.__rdiv__, torch.Tensor.__rtruediv__)},
    **{form: lambda a, b: b // a for form in (torch.Tensor.__rfloordiv__,)},
    **{form: torch.sym_max for form in _forms("maximum", reverse=False)},
    **{form: torch.sym_min for form in _forms("minimum", reverse=False)},
    **{form: operator.neg for form in _forms("neg", reverse=False)},
    **{form: math.ceil for form in _forms("ceil", reverse=False)},
    **{form: math.floor for form in _forms("floor", reverse=False)},
    **{form: lambda a, *_, **__: a for form in (torch.Tensor.to, torch.Tensor.long, torch.Tensor.int, torch.Tensor.float, torch.Tensor.double)},
    **{form: compare for compare in (operator.gt, operator.ge, operator.lt, operator.le, operator.eq, operator.ne)
       for form in _forms(compare.__name__, reverse=False)},
}  # fmt: skip
"""What functions of tensors of no dimensions compute: a tensor that a size went into is known as an expression of it."""

_EXACT = {torch.int64: torch.sym_int, torch.int32: torch.sym_int, torch.float64: torch.sym_float, torch.float32: torch.sym_float,
          torch.bool: lambda a: a if isinstance(a, (bool, torch.SymBool)) else a != 0}  # fmt: skip
"""The dtypes in which sizes are what they are, if they are below 2**22."""

_OF_SIZES = {F.pad, torch._C._nn.pad, torch.reshape, *(getattr(torch.Tensor, name) for name in ("expand", "repeat", "reshape", "view"))}
"""They take lists of sizes, and torch makes numbers of the tensors in these."""


def _is_small(tensor: torch.Tensor) -> bool:
    return all(isinstance(size, int) for size in tensor.shape) and tensor.numel() <= _MOST_ELEMENTS


class KnownConstants(TorchFunctionMode):
    """While it is open, small buffers of the model that were not written have their values, and so has what is computed from them alone, or from nothing."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()
        self.model = model
        self.asked: set[str] = set()  # by their names, those that decided something
        self.captured: dict[str, torch.Tensor] = {}  # what the capture has in their places
        self.values = {name: buffer.detach().clone() for name, buffer in model.named_buffers() if buffer.numel() <= _MOST_ELEMENTS}
        self.computed = WeakIdKeyDictionary()  # tensors of the capture -> (value, names of the buffers behind it)
        self.sized = WeakIdKeyDictionary()  # the same of those that sizes went into: the value is a symbol

    def known(self, tensor: torch.Tensor) -> tuple[torch.Tensor, set[str]] | None:
        if tensor._version != 0 or not _is_small(tensor):  # a version above 0 was written
            return None
        if (found := self.computed.get(tensor)) is not None:
            return found
        name = next((name for name, buffer in self.model.named_buffers() if buffer is tensor), None)
        if name not in self.values:
            return None
        self.captured[name] = tensor
        return self.values[name], {name}

    def number(self, value: Any) -> tuple[_Number, set[str]] | None:
        """The number that a tensor of no dimensions is known to hold, or a number itself; None for all else."""
        if not isinstance(value, torch.Tensor):
            return (value, set()) if isinstance(value, (bool, int, float, *_SYMBOLIC)) else None
        if value.ndim or value.dtype not in _EXACT or value._version != 0:
            return None
        if (found := self.sized.get(value)) is not None:
            return found
        found = self.known(value)
        return None if found is None else (found[0].item(), found[1])

    def _of_sizes(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: Any) -> tuple[_Number, set[str]] | None:
        """What a function gives of numbers of which a size is one, or a tensor that knows one."""
        if func not in _OF_NUMBERS:
            return None
        operands = args[:1] if _OF_NUMBERS[func] is _OF_NUMBERS[torch.Tensor.to] else args
        found = [self.number(each) for each in operands]
        if any(each is None for each in found) or not any(isinstance(each[0], _SYMBOLIC) for each in found):  # type: ignore[index]
            return None
        numbers, names = zip(*found)  # type: ignore[arg-type]
        options = {} if operands is not args else kwargs
        try:
            return _OF_NUMBERS[func](*numbers, **options), set().union(*names)
        except (TypeError, ZeroDivisionError):  # of options that are not followed
            return None

    def _tell(self, values: Any) -> None:
        """Let torch know the numbers in tensors of these lists."""
        for value in values:
            for leaf in value if isinstance(value, (list, tuple)) else ():
                if isinstance(leaf, FakeTensor) and leaf.item_memo is None and (found := self.number(leaf)) is not None:
                    self.asked |= found[1]
                    leaf.item_memo = found[0]

    def hold(self, exported: ExportedProgram) -> bool:
        """Whether what they decided holds for the next call: none of them was written, or is another tensor then."""
        assigned = {
            name
            for node in exported.graph.find_nodes(op="call_function", target=torch.ops.aten.copy_.default)
            if (name := exported.graph_signature.inputs_to_buffers.get(node.args[0].name)) is not None
        }
        return not self.asked & assigned and all(self.captured[name]._version == 0 for name in self.asked)

    def __torch_function__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        tensors = [leaf for leaf in _pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        made = func in _FACTORIES and not any(isinstance(leaf, _SYMBOLIC) for leaf in _pytree.tree_leaves((args, kwargs)))
        if not (tensors or made) or not all(isinstance(tensor, FakeTensor) for tensor in tensors):
            return func(*args, **kwargs)
        if func is torch.Tensor.__bool__ and (known := self.sized.get(args[0])) is not None and args[0]._version == 0:
            self.asked |= known[1]
            return bool(known[0] if isinstance(known[0], torch.SymBool) else known[0] != 0)
        if func is torch.Tensor.item and self.sized.get(args[0]) is not None:
            self._tell([args])
            return func(*args, **kwargs)
        if (sized := self._of_sizes(func, args, kwargs)) is not None:
            result = func(*args, **kwargs)
            if result.ndim == 0 and result.dtype in _EXACT:
                self.sized[result] = _EXACT[result.dtype](sized[0]), sized[1]
            return result
        if func in _OF_SIZES:
            self._tell([*args, *kwargs.values()])
        found = [self.known(tensor) for tensor in tensors]
        if any(each is None for each in found):
            return func(*args, **kwargs)
        behind = set().union(*(names for _, names in found))  # type: ignore[misc]
        if func in _ASKS:
            self.asked |= behind
            return self.really(func, args, kwargs)
        result = func(*args, **kwargs)
        results = [leaf for leaf in _pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        if all(leaf._version == 0 and _is_small(leaf) for leaf in results):
            with contextlib.suppress(Exception):
                for leaf, value in zip(results, _pytree.tree_leaves(self.really(func, args, kwargs)), strict=True):
                    self.computed[leaf] = value, behind
        return result

    def really(self, func: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The call on the values.

        Raises:
            ValueError: It draws random numbers, which other runs do not repeat.
        """
        args, kwargs = _pytree.tree_map_only(torch.Tensor, lambda tensor: self.known(tensor)[0], (args, kwargs))
        with unset_fake_temporarily(), disable_proxy_modes_tracing(), torch.random.fork_rng(devices=()):
            before = torch.get_rng_state()
            value = func(*args, **kwargs)
            if kwargs.get("generator") is not None or not torch.equal(torch.get_rng_state(), before):
                raise ValueError(f"{func} draws random numbers")
        return value
