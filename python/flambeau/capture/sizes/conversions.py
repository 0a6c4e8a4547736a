"""Sizes stay dynamic in Python's own functions while a module is captured: the code of models gets others in their place."""

from __future__ import annotations

import contextlib
import functools
import math
import operator
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy
import sympy
import torch
import torch.nn.functional as F
from torch.fx.experimental.sym_node import SymNode
from torch.fx.experimental.symbolic_shapes import DimConstraints, ShapeEnv, has_free_unbacked_symbols, statically_known_true
from torch.utils import _pytree
from torch.utils._sympy.functions import (
    CeilToInt,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    Max,
    Min,
    OpaqueUnaryFn_sqrt,
    PowByNatural,
    PythonMod,
    RoundToInt,
    ToFloat,
    TruncToInt,
)
from torch.utils._sympy.interp import sympy_interp
from torch.utils._sympy.numbers import int_oo
from torch.utils._sympy.reference import PythonReferenceAnalysis
from torch.utils._sympy.value_ranges import ValueRanges

from ...torch_names import found
from ..replaced_functions import Replacements, replaced_functions
from .proofs import as_integers, divided, even_quotient, reduced, rounded
from .types_of_sizes import FUNCTIONS

__all__ = [
    "NAMING_ATTENTION",
    "Uncounted",
    "attention_by_size",
    "computable_sizes",
    "dynamic_conversions",
    "dynamic_lengths",
    "dynamic_tensors",
    "dynamic_types",
    "noticed_conversions",
    "number_of",
    "short_sizes",
    "symbol_number",
    "unbounded_counts",
    "unsolved_equations",
]

_NOT_OF_MODELS = {"torch", "functorch", "sympy", "mpmath", "numpy", "flambeau", *sys.stdlib_module_names} - {"__main__"}


class Uncounted:
    """What has a dynamic number of items, of which Python's own ``len`` would make a number."""

    def length(self) -> Any:
        """That number."""
        raise NotImplementedError

    def as_index(self) -> torch.Tensor:
        """The tensor that indexes as the items do."""
        raise NotImplementedError


def _length(of: Any) -> Any:
    if isinstance(of, Uncounted):
        return of.length()
    return of.shape[0] if isinstance(of, torch.Tensor) and of.dim() else len(of)


class _Conversion(type):
    """Of classes that stand for a type of numbers: sizes, and numbers in tensors, become symbols, and count as instances."""

    number: type
    symbol: type
    convert: Callable[[Any], Any]

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], torch.Tensor):
            args = (args[0].item(),)
        is_size = len(args) == 1 and isinstance(args[0], (torch.SymInt, torch.SymFloat, torch.SymBool))
        return cls.convert(args[0]) if is_size else cls.number(*args, **kwargs)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (cls.number, cls.symbol))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.number)

    def __eq__(cls, other: object) -> bool:
        return other is cls.number or other is cls

    def __hash__(cls) -> int:
        return hash(cls.number)

    def __or__(cls, other: Any) -> Any:
        return cls.number | other

    def __ror__(cls, other: Any) -> Any:
        return other | cls.number


class _Int(metaclass=_Conversion):
    number, symbol, convert = int, torch.SymInt, staticmethod(torch.sym_int)


class _Float(metaclass=_Conversion):
    number, symbol, convert = float, torch.SymFloat, staticmethod(torch.sym_float)


@contextlib.contextmanager
def _as_globals(functions: Mapping[str, Any]) -> Iterator[None]:
    changed = []
    for name, module in list(sys.modules.items()):
        scope = getattr(module, "__dict__", None)
        if scope is None or name.partition(".")[0] in _NOT_OF_MODELS:
            continue
        for function in functions.keys() - scope.keys():
            scope[function] = functions[function]
            changed.append((scope, function))
    try:
        yield
    finally:
        for scope, function in changed:
            scope.pop(function, None)


def dynamic_lengths() -> contextlib.AbstractContextManager[None]:
    """While it is open, ``len`` of a tensor is its dynamic size, and so is that of :class:`Uncounted`: Python's own wants a number."""
    return _as_globals({"len": _length})


def dynamic_conversions() -> contextlib.AbstractContextManager[None]:
    """While it is open, so are ``int`` and ``float`` of sizes and of tensors. Code fails that takes these for dtypes."""
    return _as_globals({"int": _Int, "float": _Float})


_CONVERSIONS: dict[tuple[type, str], Callable[[Any], Any]] = {
    (torch.SymInt, "__int__"): lambda size: size.node.int_(),
    (torch.SymInt, "__float__"): lambda size: float(size.node.int_()),
    (torch.SymFloat, "__int__"): lambda number: int(math.trunc(number)),
    (torch.SymFloat, "__float__"): lambda number: number.node.guard_float("", 0),
    (torch.SymBool, "__int__"): lambda answer: int(bool(answer)),
}
"""What Python does where a release of torch says nothing: it goes another way, on which nobody sees who asked."""


@contextlib.contextmanager
def noticed_conversions(found: list[str]) -> Iterator[None]:
    """While it is open, the list gets the module of each ``int`` and ``float`` that makes a number of a size, in the code of models."""

    def noticed(own: Callable[[Any], Any]) -> Callable[[Any], Any]:
        def call(size: Any) -> Any:
            asks = sys._getframe(1).f_globals.get("__name__", "")
            if asks.partition(".")[0] not in _NOT_OF_MODELS:
                found.append(asks)
            return own(size)

        return call

    with Replacements() as replacements:
        for (symbol, name), own in _CONVERSIONS.items():
            replacements.set(symbol, name, noticed(vars(symbol).get(name, own)))
        yield


def dynamic_types() -> contextlib.AbstractContextManager[None]:
    """While it is open, a size has the type that it has when the model runs."""
    return _as_globals(FUNCTIONS)


def _keeping_sizes(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Of dynamic sizes, and of lists of tensors, as torch.tensor makes it; these functions make numbers of them."""

    @functools.wraps(function)
    def call(data: Any, *args: Any, **options: Any) -> torch.Tensor:
        unknown = (torch.SymInt, torch.SymFloat, torch.SymBool, *((torch.Tensor,) if isinstance(data, (list, tuple)) else ()))
        symbolic = any(isinstance(leaf, unknown) for leaf in _pytree.tree_leaves(data))
        return (torch.tensor if symbolic and not args else function)(data, *args, **options)

    return call


def _of_array(from_numpy: Callable[[Any], torch.Tensor]) -> Callable[[Any], torch.Tensor]:
    """The same by the function of which modes are told, so that the values of constant arrays are known."""

    @functools.wraps(from_numpy)
    def call(array: Any) -> torch.Tensor:
        return torch.as_tensor(array) if isinstance(array, numpy.ndarray) else from_numpy(array)

    return call


def _new_tensor(self: torch.Tensor, data: Any, **options: Any) -> torch.Tensor:
    if isinstance(data, torch.Tensor):
        return torch._C.TensorBase.new_tensor(self, data, **options)
    return torch.tensor(data, **{"dtype": self.dtype, "device": self.device, **options})


@contextlib.contextmanager
def dynamic_tensors() -> Iterator[None]:
    """While it is open, so are tensors made of sizes."""
    with Replacements() as replacements:
        replacements.set(torch, "as_tensor", _keeping_sizes(torch.as_tensor))
        replacements.set(torch, "asarray", _keeping_sizes(torch.asarray))
        replacements.set(torch, "from_numpy", _of_array(torch.from_numpy))
        replacements.set(torch.Tensor, "new_tensor", _new_tensor)
        yield


def _attention(attend: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Attention whose ``is_causal`` sizes decide (``q.shape[2] > 1``), or the sizes of whose mask data decides: torch's operator wants to know them."""

    @functools.wraps(attend)
    def call(
        query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: Any = False, **options: Any
    ) -> torch.Tensor:
        if isinstance(is_causal, torch.SymBool):
            if statically_known_true(is_causal) or statically_known_true(torch.sym_not(is_causal)):
                is_causal = statically_known_true(is_causal)
            else:
                rows, columns = (torch.arange(each.shape[-2], device=query.device) for each in (query, key))
                allowed = (columns <= rows.unsqueeze(-1)) | torch.full((), torch.sym_not(is_causal), dtype=torch.bool, device=query.device)
                if attn_mask is None:
                    attn_mask = allowed
                elif attn_mask.dtype == torch.bool:
                    attn_mask = attn_mask & allowed
                else:
                    attn_mask = attn_mask.masked_fill(~allowed, float("-inf"))
                is_causal = False
        if attn_mask is not None and has_free_unbacked_symbols(attn_mask):
            attn_mask = attn_mask.expand(*attn_mask.shape[:-2], query.shape[-2], key.shape[-2])
        return attend(query, key, value, attn_mask, dropout_p, is_causal, **options)

    return call


NAMING_ATTENTION = ("torch._C._nn",)
"""Modules in which torch looks its function up by its name, to say which one was called."""


@contextlib.contextmanager
def attention_by_size() -> Iterator[None]:
    """While it is open, sizes may decide whether attention is causal, and data the sizes of its mask."""
    attend = F.scaled_dot_product_attention
    with replaced_functions({(F.__name__, attend.__name__): _attention(attend)}, but_in=NAMING_ATTENTION, renamed=True):
        yield


def symbol_number(symbol: sympy.Symbol, env: ShapeEnv) -> torch.SymInt:
    """The symbol as a number."""
    return torch.SymInt(SymNode(symbol, env, int, None))


def number_of(expression: sympy.Expr, env: ShapeEnv, known: Mapping[sympy.Symbol, Any] | None = None) -> Any:
    """The number that an expression of sizes is.

    Args:
        known: What stands for symbols of it that are no sizes.
    """
    symbols = {symbol: symbol_number(symbol, env) for symbol in expression.free_symbols - (known or {}).keys()} | dict(known or {})
    return sympy_interp(PythonReferenceAnalysis, symbols, expression)


_NODES: dict[type, Callable[..., Any]] = {
    CeilToInt: math.ceil,
    FloorToInt: math.floor,
    IntTrueDiv: operator.truediv,
    Max: torch.sym_max,
    Min: torch.sym_min,
    OpaqueUnaryFn_sqrt: torch.sym_sqrt,
    PowByNatural: operator.pow,
    PythonMod: operator.mod,
    RoundToInt: round,
    ToFloat: torch.sym_float,
    TruncToInt: math.trunc,
}
"""Of what sizes are computed from by floats, what computes it; within a scan torch knows the symbols alone."""


@contextlib.contextmanager
def computable_sizes() -> Iterator[None]:
    """While it is open, torch writes as nodes what is computed of sizes, which are given a scan from outside too: it lacks some of Python's
    operators, and has some that a captured program may not hold."""
    inherited = "int_truediv" not in vars(PythonReferenceAnalysis)
    if inherited:
        PythonReferenceAnalysis.int_truediv = staticmethod(operator.truediv)
    handlers = found("torch.fx.experimental.proxy_tensor._sympy_handlers")
    nodes = {} if handlers is None else handlers()
    before = dict(nodes)
    nodes.update(_NODES)
    try:
        yield
    finally:
        nodes.clear()
        nodes.update(before)
        if inherited:
            del PythonReferenceAnalysis.int_truediv


def _are_sizes(expression: Any, env: ShapeEnv) -> bool:
    """Whether it is made of sizes alone: numbers that data decides may be negative."""
    return all(symbol in env.var_to_range and env.var_to_range[symbol].lower >= 0 for symbol in expression.free_symbols)


@contextlib.contextmanager
def short_sizes() -> Iterator[None]:
    """While it is open, windows that are put together again are as many images as were cut, what is padded to a multiple of a
    number is one, and ``math.ceil(n / 4)`` is a quotient of integers, as is the quotient of a quotient.

    torch keeps quotients of products, remainders and floats otherwise, in which each further layer puts its own.
    """
    plain = {name: getattr(SymNode, name) for name in ("_add", "_sub", "_int_floordiv", "_sym_min", "_sym_max", "_ceil", "_floor", "_trunc")}

    def told(result: SymNode, shorter: Callable[[Any], Any]) -> SymNode:
        if shorter is not as_integers and not _are_sizes(result.expr, result.shape_env):
            return result
        expression = shorter(result.expr)
        return result if expression == result.expr else SymNode(expression, result.shape_env, int, result.hint, fx_node=result.fx_node)

    def quotient(self: SymNode, other: SymNode) -> SymNode:
        even = even_quotient(self.expr, other.expr) if _are_sizes(self.expr, self.shape_env) and _are_sizes(other.expr, self.shape_env) else None
        if even is not None:
            hint = self.hint // other.hint if self.has_hint() and other.has_hint() and other.hint else None
            return SymNode(even, self.shape_env, int, hint)
        result: SymNode = plain["_int_floordiv"](self, other)
        if isinstance(self.expr, FloorDiv) and other.expr.is_Integer and other.expr < 0:
            # torch makes one quotient of ``(n // 5) // -2``, by -10, which rounds otherwise.
            return SymNode(FloorDiv(-self.expr, -other.expr), self.shape_env, int, result.hint, fx_node=result.fx_node)
        return told(result, divided)

    def told_as(name: str, shorter: Callable[[Any], Any]) -> None:
        def call(self: SymNode, *others: SymNode) -> SymNode:
            result: SymNode = plain[name](self, *others)
            return told(result, shorter) if result.pytype is int else result

        setattr(SymNode, name, call)

    SymNode._int_floordiv = quotient  # type: ignore[attr-defined]
    for name in ("_add", "_sub"):
        told_as(name, rounded)
    for name in ("_sym_min", "_sym_max"):
        told_as(name, reduced)
    for name in ("_ceil", "_floor", "_trunc"):
        told_as(name, as_integers)
    try:
        yield
    finally:
        for name, call in plain.items():
            setattr(SymNode, name, call)


@contextlib.contextmanager
def unbounded_counts() -> Iterator[None]:
    """While it is open, what a size that data decides equals may be as large as any size.

    torch bounds the one by the largest integer, and the other by a quotient of that which it rounds up, and then gives up.
    """
    replace = ShapeEnv._set_replacement

    def replaced(self: ShapeEnv, symbol: sympy.Symbol, by: sympy.Expr, *args: Any) -> None:
        known = self.var_to_range.get(symbol)
        if known is not None and by.free_symbols and known.upper >= sys.maxsize - 1:
            self.var_to_range[symbol] = ValueRanges(known.lower, int_oo)
        replace(self, symbol, by, *args)

    ShapeEnv._set_replacement = replaced
    try:
        yield
    finally:
        ShapeEnv._set_replacement = replace


@contextlib.contextmanager
def unsolved_equations() -> Iterator[None]:
    """While it is open, an equation of sizes that sympy cannot solve is one that makes no size a number; torch would give up."""
    solve = DimConstraints.solve

    def solved(self: DimConstraints) -> None:
        with contextlib.suppress(NotImplementedError):
            solve(self)

    DimConstraints.solve = solved
    try:
        yield
    finally:
        DimConstraints.solve = solve
