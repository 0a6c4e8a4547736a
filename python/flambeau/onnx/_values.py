"""What symbolic functions ask of the values that they get."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import torch

from ..feed.script_graph import attribute_kind
from ._enums import OperatorExportTypes
from ._globals import GLOBALS
from ._types import JitScalarType
from .errors import OnnxExporterError, SymbolicValueError

_UNDEFINED = JitScalarType["UNDEFINED"]
_LISTS = {"is": int, "fs": float}
_NUMBERS = {"i": int, "f": float, "b": bool}


def _is_value(x: Any) -> bool:
    return isinstance(x, torch._C.Value)


def _is_none(x: Any) -> bool:
    return x is None or (_is_value(x) and x.node().mustBeNone())


def _is_constant(value: Any) -> bool:
    return not _is_value(value) or value.node().kind() in ("onnx::Constant", "prim::Constant")


def _is_onnx_constant(value: Any) -> bool:
    return value.node().kind() == "onnx::Constant"


def _is_tensor(x: Any) -> bool:
    return x.type().isSubtypeOf(torch._C.TensorType.get())


def _as_list_type(jit_type: Any) -> Any | None:
    return jit_type if isinstance(jit_type, torch._C.ListType) else None


def _is_list(x: Any) -> bool:
    return _as_list_type(x.type()) is not None


def _is_tensor_list(x: Any) -> bool:
    return _is_list(x) and isinstance(x.type().getElementType(), torch._C.TensorType)


def _is_scalar_list(x: Any) -> bool:
    return _is_list(x) and JitScalarType.from_value(x, _UNDEFINED).onnx_compatible()


def _is_tuple_construct(x: Any) -> bool:
    return x.node().kind() == "prim::TupleConstruct"


def _is_packed_list(list_value: Any) -> bool:
    return _is_value(list_value) and list_value.node().kind() == "prim::ListConstruct"


def _node_get(node: Any, key: str) -> Any:
    """An attribute of a node, of whatever kind."""
    if not isinstance(node, torch._C.Node):
        raise TypeError(f"{node!r} is no node")
    return getattr(node, attribute_kind(node, key))(key)


def _constant_of(value: Any) -> Any:
    """What a constant holds: a tensor, a number, text, a list; the node must be one."""
    node = value.node()
    return value.toIValue() if node.kind() == "prim::Constant" else _node_get(node, node.attributeNames()[0])


def _parse_arg(value: Any, desc: str, arg_name: str | None = None, node_name: str | None = None) -> Any:
    """A value as its descriptor says: see :func:`parse_args`.

    Raises:
        SymbolicValueError: It is no constant, or not of that kind.
    """
    if desc in ("v", "none") or not _is_value(value):
        return value
    if _is_none(value):
        return None
    where = f" for the argument '{arg_name}' of {node_name}" if arg_name and node_name else ""
    kind = value.node().kind()
    if kind == "prim::ListConstruct":
        if desc not in _LISTS:
            raise SymbolicValueError(f"a list is given where '{desc}' is asked for{where}", value)
        elements = list(value.node().inputs())
        if not all(_is_constant(element) for element in elements):
            raise SymbolicValueError(f"a list is not constant{where}; make sizes static where the operator needs them", value)
        return [_LISTS[desc](_constant_of(element)) for element in elements]
    if kind not in ("onnx::Constant", "prim::Constant"):
        raise SymbolicValueError(f"the value is not constant{where}, but made by {kind}", value)
    constant = _constant_of(value)
    if desc == "t":
        return constant if isinstance(constant, torch.Tensor) else torch.tensor(constant)
    if desc == "s":
        return str(constant)
    if desc in _NUMBERS:
        return _NUMBERS[desc](constant)
    if desc in _LISTS:
        return [_LISTS[desc](element) for element in constant]
    raise SymbolicValueError(f"'{desc}' is no descriptor of an argument{where}", value)


def parse_args(*arg_descriptors: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: the arguments of a symbolic function are constants of Python where it asks for them.

    >>> @parse_args("v", "i", "fs")
    ... def foo(g, x, dim, scales): ...

    "v" is a value, "i" an int, "f" a float, "b" a bool, "s" a string, "t" a tensor, "is" and
    "fs" lists of numbers, "none" an argument that is not used.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        names = list(inspect.signature(fn).parameters)[1:]

        @functools.wraps(fn)
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            if len(args) > len(arg_descriptors):
                raise TypeError(f"{fn.__name__} gets {len(args)} arguments, and parse_args describes {len(arg_descriptors)}")
            padded = [*names, *([None] * len(args))]
            parsed = [_parse_arg(arg, desc, name, fn.__name__) for arg, desc, name in zip(args, arg_descriptors, padded)]
            return fn(g, *parsed, **kwargs)

        wrapper._arg_descriptors = fn._arg_descriptors = arg_descriptors
        return wrapper

    return decorate


def _maybe_get_const(value: Any, descriptor: str) -> Any:
    """The constant if it is one, else the value."""
    return _parse_arg(value, descriptor) if _is_value(value) and _is_onnx_constant(value) else value


def _maybe_get_scalar(value: Any) -> Any:
    """The 0-d tensor if it is a constant one, else the value."""
    tensor = _maybe_get_const(value, "t")
    return tensor if isinstance(tensor, torch.Tensor) and tensor.shape == () else value


def _get_const(value: Any, desc: str, arg_name: str) -> Any:
    if not _is_constant(value):
        raise SymbolicValueError(f"the argument '{arg_name}' must be constant", value)
    return _parse_arg(value, desc)


def _scalar(x: Any) -> Any:
    """The number in a 0-d tensor; None of anything else."""
    return x.item() if isinstance(x, torch.Tensor) and x.shape == () else None


def _if_scalar_type_as(self: Any, tensor: Any) -> Any:
    """A constant tensor in the dtype of a value."""
    wanted = JitScalarType.from_value(tensor, _UNDEFINED)
    return self if _is_value(self) or wanted == _UNDEFINED else self.to(wanted.dtype())


def _unpack_list(list_value: Any) -> list[Any]:
    if not _is_packed_list(list_value):
        raise SymbolicValueError("the elements of a list are needed, and it is not made of any", list_value)
    return list(list_value.node().inputs())


def _unpack_tuple(tuple_value: Any) -> tuple[Any, ...]:
    if not _is_tuple_construct(tuple_value):
        raise SymbolicValueError("the elements of a tuple are needed, and it is not made of any", tuple_value)
    return tuple(tuple_value.node().inputs())


def _unpack_quantized_tensor(tuple_value: Any) -> tuple[Any, ...]:
    """A quantized tensor's integers, scale, zero point and, where it has one, axis."""
    parts = _unpack_tuple(tuple_value)
    if len(parts) not in (3, 4):
        raise SymbolicValueError(f"a quantized tensor has 3 or 4 parts, not {len(parts)}", tuple_value)
    return parts


def _get_tensor_rank(x: Any) -> int | None:
    return x.type().dim() if _is_tensor(x) else None


def _get_tensor_sizes(x: Any, allow_nonstatic: bool = True) -> list[int | None] | None:
    """Its sizes, None for those that are not static; None if not all are and `allow_nonstatic` is False."""
    if not _is_tensor(x):
        return None
    return x.type().varyingSizes() if allow_nonstatic else x.type().sizes()


def _get_tensor_dim_size(x: Any, dim: int) -> int | None:
    sizes = _get_tensor_sizes(x)
    return sizes[dim] if sizes else None


def _get_dim_for_cross(x: Any, dim: int | None) -> int | None:
    """The dimension of a cross product: by default the first of size 3."""
    if dim == -1:
        rank = _get_tensor_rank(x)
        if rank is None:
            raise SymbolicValueError("the rank must be known", x)
        return rank - 1
    if dim is None:
        sizes = _get_tensor_sizes(x)
        if sizes is None:
            raise SymbolicValueError("the sizes must be known", x)
        return next((i for i, size in enumerate(sizes) if size == 3), None)
    return dim


def _is_fp(value: Any) -> bool:
    type_ = JitScalarType.from_value(value, _UNDEFINED)
    return type_ != _UNDEFINED and type_.dtype().is_floating_point


def _is_bool(value: Any) -> bool:
    return JitScalarType.from_value(value, _UNDEFINED) == JitScalarType["BOOL"]


def is_complex_value(x: Any) -> bool:
    type_ = JitScalarType.from_value(x, _UNDEFINED)
    return type_ != _UNDEFINED and type_.dtype().is_complex


def _try_get_scalar_type(*args: Any) -> Any | None:
    """The element type of the first argument of which it is known."""
    types = (JitScalarType.from_value(arg, _UNDEFINED) for arg in args)
    return next((type_ for type_ in types if type_ != _UNDEFINED), None)


def _type_promote_from_values(*args: Any) -> Any:
    types = [type_ for arg in args if (type_ := _try_get_scalar_type(arg)) is not None]
    if not types:
        return _UNDEFINED
    return JitScalarType.from_dtype(functools.reduce(torch.promote_types, (type_.dtype() for type_ in types)))


def args_have_same_dtype(args: Sequence[Any]) -> bool:
    first, *others = (JitScalarType.from_value(arg) for arg in args)
    return all(other == first for other in others)


def _is_split_static(split_size_or_sizes: Any, _outputs: int | None) -> bool:
    """Whether the number of parts is known."""
    return _outputs is not None and (not _is_value(split_size_or_sizes) or _is_onnx_constant(split_size_or_sizes))


# --- refusing -----------------------------------------------------------------------


def _onnx_unsupported(op_name: str, value: Any = None) -> NoReturn:
    message = f"{op_name} has no translation"
    if _is_value(value):
        raise SymbolicValueError(message, value)
    raise OnnxExporterError(message)


def _unimplemented(op: str, msg: str, value: Any = None) -> None:
    """What a symbolic function does not translate: an error, unless the export leaves such calls to the runtime."""
    if GLOBALS.operator_export_type == OperatorExportTypes.ONNX:
        _onnx_unsupported(f"{op} ({msg})", value)


def _onnx_opset_unsupported(op_name: str, current_opset: int, supported_opset: int, value: Any = None) -> NoReturn:
    _onnx_unsupported(f"{op_name} at opset {current_opset}; use opset {supported_opset} or newer: it", value)


def _onnx_opset_unsupported_detailed(
    op_name: str, current_opset: int, supported_opset: int, reason: str, value: Any = None
) -> NoReturn:
    _onnx_unsupported(f"{op_name} at opset {current_opset} ({reason}); use opset {supported_opset} or newer: it", value)


def _block_list_in_opset(name: str) -> Callable[..., NoReturn]:
    """A symbolic function that refuses the operator."""

    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise OnnxExporterError(f"{name} cannot be exported at opset {GLOBALS.export_onnx_opset_version}")

    return refuse


def _apply_params(*args: Any, **kwargs: Any) -> Callable[..., Any]:
    """A decorator that calls a function that makes functions."""
    return lambda fn: fn(*args, **kwargs)


def _overload_by_arg_count(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator of a function that returns one of several, each with its `parse_args`: the one of as many arguments."""

    @functools.wraps(fn)
    def wrapper(g: Any, *args: Any) -> Any:
        for overload in fn(g, *args):
            if len(overload._arg_descriptors) == len(args):
                return overload(g, *args)
        return _unimplemented(f"aten::{fn.__name__}", f"with {len(args)} arguments")

    return wrapper
