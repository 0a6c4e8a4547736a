"""Nodes that symbolic functions often need, in the form of the opset at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ..errors import warn
from ._builtins import call_builtin
from ._enums import TensorProtoDataType, TrainingMode
from ._globals import GLOBALS
from ._types import JitScalarType
from ._values import (
    _get_const,
    _get_tensor_dim_size,
    _get_tensor_rank,
    _is_constant,
    _is_fp,
    _is_none,
    _is_packed_list,
    _is_tuple_construct,
    _is_value,
    _maybe_get_const,
    _maybe_get_scalar,
    _onnx_opset_unsupported,
    _try_get_scalar_type,
    _unimplemented,
    _unpack_quantized_tensor,
)
from .errors import SymbolicValueError

_UNDEFINED = JitScalarType["UNDEFINED"]


def _ints(g: Any, numbers: Sequence[int]) -> Any:
    return g.op("Constant", value_t=torch.tensor(list(numbers), dtype=torch.int64))


def _maybe_cast_to_type(g: Any, value: Any, jit_type: Any) -> Any:
    if JitScalarType.from_value(value, _UNDEFINED) == jit_type:
        return value
    return g.op("Cast", value, to_i=int(jit_type.onnx_type()))


def _generate_wrapped_number(g: Any, scalar: Any) -> Any:
    """A Python number as a constant: floats are double, as they are in PyTorch's promotion."""
    return g.op("Constant", value_t=torch.tensor(scalar, dtype=torch.double if isinstance(scalar, float) else None))


def _optional_input_placeholder_tensor(g: Any) -> Any:
    value = g.op("prim::Constant")
    value.setType(torch._C.OptionalType.ofTensor())
    return value


# --- shapes ---------------------------------------------------------------------------


def _size_helper(g: Any, self: Any, dim: Any) -> Any:
    """The size of a dimension, as a 0-d tensor."""
    shape = g.op("Shape", self)
    index = _maybe_get_const(dim, "i")
    return g.op("Gather", shape, index if _is_value(index) else torch.as_tensor(index), axis_i=0)


def _numel_helper(g: Any, self: Any) -> Any:
    return g.op("ReduceProd", g.op("Shape", self), keepdims_i=0)


def _reshape_helper(g: Any, input: Any, shape: Any, allowzero: int = 0) -> Any:
    shape = _maybe_get_const(shape, "is")
    if not _is_value(shape):
        shape = _ints(g, shape)
    if g.opset >= 14:
        return g.op("Reshape", input, shape, allowzero_i=allowzero)
    if allowzero:
        _onnx_opset_unsupported("Reshape with allowzero", g.opset, 14, input)
    return g.op("Reshape", input, shape)


def _flatten_helper(g: Any, input: Any, start_dim: int, end_dim: int, dim: int) -> Any:
    """The dimensions from start_dim to end_dim of `dim` ones as one."""
    shape = g.op("Shape", input)
    parts = [_slice_helper(g, shape, axes=[0], starts=[0], ends=[start_dim]), _ints(g, [-1])]
    if end_dim < dim - 1:
        parts.append(_slice_helper(g, shape, axes=[0], starts=[end_dim + 1], ends=[dim]))
    return _reshape_helper(g, input, g.op("Concat", *parts, axis_i=0))


def _with_axes(g: Any, op: str, input: Any, axes: Any) -> Any:
    """Squeeze or Unsqueeze, whose axes were an attribute before opset 13."""
    if not _is_constant(axes[0]):
        if g.opset < 13:
            raise SymbolicValueError(f"{op} takes axes that are no constants from opset 13 on", input)
        axis = axes[0]
        return g.op(op, input, _reshape_helper(g, axis, [1]) if _get_tensor_rank(axis) == 0 else axis)
    numbers = [int(_maybe_get_const(axis, "i")) for axis in axes]
    return g.op(op, input, _ints(g, numbers)) if g.opset >= 13 else g.op(op, input, axes_i=numbers)


def _unsqueeze_helper(g: Any, input: Any, axes_i: Any) -> Any:
    return _with_axes(g, "Unsqueeze", input, axes_i) if len(axes_i) else input


def _squeeze_helper(g: Any, input: Any, axes_i: Any) -> Any:
    return _with_axes(g, "Squeeze", input, axes_i)


def _slice_helper(g: Any, input: Any, axes: Any, starts: Any, ends: Any, steps: Any = None) -> Any:
    if g.opset <= 9:
        numbers = [_maybe_get_const(each, "is") for each in (axes, starts, ends)]
        if any(_is_value(each) for each in numbers) or (steps is not None and any(step != 1 for step in steps)):
            _onnx_opset_unsupported("Slice with run-time bounds or steps", g.opset, 10, input)
        return g.op("Slice", input, axes_i=numbers[0], starts_i=numbers[1], ends_i=numbers[2])
    operands = [each if _is_value(each) or each is None else _ints(g, each) for each in (starts, ends, axes, steps)]
    return g.op("Slice", input, *operands)


def _select_helper(g: Any, self: Any, dim: int, index: Any, apply_reshape: bool = True) -> Any:
    """The elements at an index; the dimension stays, of size 1, if the index is a number."""
    known = _maybe_get_scalar(index)
    if not _is_value(known):
        index = _ints(g, [int(known)])
    elif apply_reshape and _get_tensor_rank(index) == 0:
        index = _reshape_helper(g, index, [1])
    if JitScalarType.from_value(index, _UNDEFINED) not in (JitScalarType["INT64"], JitScalarType["INT"]):
        index = g.op("Cast", index, to_i=int(TensorProtoDataType.INT64))
    return g.op("Gather", self, index, axis_i=dim)


# --- reductions, sorting ------------------------------------------------------------------


def _reducesum_helper(g: Any, input: Any, axes_i: Any = None, keepdims_i: Any = 1, noop_with_empty_axes_i: int = 0) -> Any:
    keepdims = _maybe_get_const(keepdims_i, "i")
    if g.opset < 13:
        return g.op("ReduceSum", input, axes_i=axes_i, keepdims_i=keepdims)
    axes = [] if axes_i is None else [axes_i] if _is_value(axes_i) else [_ints(g, axes_i)] if axes_i else []
    return g.op("ReduceSum", input, *axes, keepdims_i=keepdims, noop_with_empty_axes_i=noop_with_empty_axes_i)


def _handle_reduce_dim_none(g: Any, self: Any, op_name: str) -> Any:
    """A reduction over all dimensions."""
    rank = _get_tensor_rank(self)
    empty = rank is not None and any(_get_tensor_dim_size(self, i) == 0 for i in range(rank))
    return g.op(op_name, self, keepdims_i=int(empty))


def _maybe_cast_reduce_op_input(g: Any, self: Any) -> Any:
    """Integers and bools as int64, as PyTorch sums them."""
    known = _try_get_scalar_type(self)
    return self if known is None or _is_fp(self) else _maybe_cast_to_type(g, self, JitScalarType["INT64"])


def _sort_helper(g: Any, input: Any, dim: int, descending: bool = True, out: Any = None) -> Any:
    if out is not None:
        _unimplemented("Sort", "with out")
    size = g.op("Gather", g.op("Shape", input), _ints(g, [dim]))
    return _topk(g, input, size, dim, descending, None)


def _topk_helper(g: Any, input: Any, k: Any, dim: int, largest: bool = True, sorted: bool = False, out: Any = None) -> Any:
    if out is not None:
        _unimplemented("TopK", "with out")
    if not _is_value(k):
        k = _ints(g, [k])
    else:
        k = _maybe_cast_to_type(g, _reshape_helper(g, k, [1]), JitScalarType["INT64"])
    return _topk(g, input, k, dim, largest, sorted)


def _topk(g: Any, input: Any, k: Any, dim: int, largest: bool, sorted: bool | None) -> Any:
    if g.opset >= 11:
        given = None if sorted is None else int(sorted)
        return g.op("TopK", input, k, axis_i=dim, largest_i=int(largest), sorted_i=given, outputs=2)
    if not largest:
        _unimplemented("TopK", "of the smallest")
    if g.opset < 10:
        count = _maybe_get_const(k, "is")
        if _is_value(count):
            _onnx_opset_unsupported("TopK with a run-time k", g.opset, 10, k)
        return g.op("TopK", input, axis_i=dim, k_i=count[0], outputs=2)
    return g.op("TopK", input, k, axis_i=dim, outputs=2)


def _argmin_argmax_helper(g: Any, input: Any, dim: Any, keepdim: bool, op_name: str) -> Any:
    if _is_none(dim):
        return g.op(op_name, _reshape_helper(g, input, [-1]), axis_i=0, keepdims_i=0)
    return g.op(op_name, input, axis_i=_parse_int(dim), keepdims_i=int(keepdim))


def _parse_int(value: Any) -> int:
    return _get_const(value, "i", "dim")


def _lt_helper(g: Any, input: Any, other: Any) -> Any:
    return g.op("Less", input, other)


# Where PyTorch's meaning takes more than a node, it is what the engine makes of PyTorch's operator.


def _max_helper(g: Any, self: Any, dim_or_y: Any = None, keepdim: Any = None) -> Any:
    return _extreme(g, "max", self, dim_or_y, keepdim)


def _min_helper(g: Any, self: Any, dim_or_y: Any = None, keepdim: Any = None) -> Any:
    return _extreme(g, "min", self, dim_or_y, keepdim)


def _extreme(g: Any, name: str, *args: Any) -> Any:
    return call_builtin(g, name, *(arg for arg in args if arg is not None))


def _var_mean_helper(g: Any, input: Any, dim: Any, correction: Any, keepdim: Any) -> Any:
    return call_builtin(g, "var_mean", input, dim=dim, correction=correction, keepdim=keepdim)


def _linalg_vector_norm_helper(g: Any, self: Any, ord: Any, dim: Any, keepdim: Any, dtype: Any) -> Any:
    return call_builtin(g, "linalg_vector_norm", self, ord, dim, keepdim, dtype=dtype)


def _embedding_bag_helper(g: Any, *args: Any) -> Any:
    return call_builtin(g, "embedding_bag", *args)


def _scatter_helper(g: Any, self: Any, dim: Any, index: Any, src: Any) -> Any:
    return call_builtin(g, "scatter", self, dim, index, src)


def _unbind_helper(g: Any, self: Any, dim: Any, _outputs: int | None) -> Any:
    return call_builtin(g, "unbind", self, dim)


def _arange_helper(g: Any, *args: Any) -> Any:
    return call_builtin(g, "arange", *args)


# --- attributes of poolings, modes ----------------------------------------------------------


def _avgpool_helper(
    tuple_fn: Callable[[Any], Sequence[int]], padding: Any, kernel_size: Any, stride: Any, divisor_override: Any, name: str
) -> tuple[int, ...]:
    """The padding, in the form in which `tuple_fn` gives it."""
    if not _is_none(divisor_override):
        _unimplemented(name, "with divisor_override")
    return tuple(tuple_fn(padding))


def check_training_mode(op_train_mode: int, op_name: str) -> None:
    """Warn where an operator is in another mode than the export."""
    mode = TrainingMode.TRAINING if op_train_mode else TrainingMode.EVAL
    if GLOBALS.training_mode not in (TrainingMode.PRESERVE, mode):
        warn(f"{op_name} is in the mode {mode.name}, the export in {GLOBALS.training_mode.name}; it keeps its own")


# --- quantized tensors: tuples (integers, scale, zero point[, axis]) --------------------------


def dequantize_helper(g: Any, qtensor: Any, qdtype: Any = None) -> tuple[Any, Any, Any, Any]:
    """Its numbers, and its scale, zero point and axis (None if it has one scale)."""
    tensor, scale, zero_point, *axis = _unpack_quantized_tensor(qtensor)
    axis_i = _get_const(axis[0], "i", "axis") if axis else None
    dtype = int(JitScalarType.from_value(tensor).onnx_type() if qdtype is None else qdtype)
    tensor, zero_point = (g.op("Cast", each, to_i=dtype) for each in (tensor, zero_point))
    scale = g.op("Cast", scale, to_i=int(TensorProtoDataType.FLOAT))
    _require_axis_form(g, "DequantizeLinear", axis_i, scale)
    return g.op("DequantizeLinear", tensor, scale, zero_point, axis_i=axis_i), scale, zero_point, axis[0] if axis else None


def quantize_helper(g: Any, tensor: Any, scale: Any, zero_point: Any, axis: Any = None) -> Any:
    """The tensor, quantized, as a tuple; its zero point says whether to int8 or uint8."""
    axis_i = None if _is_none(axis) else _get_const(axis, "i", "axis")
    _require_axis_form(g, "QuantizeLinear", axis_i, scale)
    scale = _maybe_cast_to_type(g, scale, JitScalarType["FLOAT"])
    if JitScalarType.from_value(zero_point, _UNDEFINED) not in (JitScalarType["UINT8"], JitScalarType["INT8"]):
        zero_point = g.op("Cast", zero_point, to_i=int(TensorProtoDataType.UINT8))
    quantized = g.op("QuantizeLinear", tensor, scale, zero_point, axis_i=axis_i)
    parts = [quantized, scale, zero_point] if _is_none(axis) else [quantized, scale, zero_point, axis]
    return g.op("prim::TupleConstruct", *parts)


def _require_axis_form(g: Any, op: str, axis: int | None, value: Any) -> None:
    if axis is not None and g.opset < 13:
        _onnx_opset_unsupported(f"{op} with a scale for each channel", g.opset, 13, value)


def requantize_bias_helper(g: Any, bias: Any, input_scale: Any, weight_scale: Any, axis: Any = None) -> Any:
    """A bias at the scale of the products that it is added to, as int32."""
    scale = g.op("Mul", weight_scale, input_scale)
    zero_point = g.op("Sub", scale, scale)
    zero_point = g.op("Cast", zero_point, to_i=int(TensorProtoDataType.INT32))
    quantized = g.op("Cast", g.op("Round", g.op("Div", bias, scale)), to_i=int(TensorProtoDataType.INT32))
    parts = [quantized, scale, zero_point]
    if not _is_none(axis):
        parts.append(axis)
    return g.op("prim::TupleConstruct", *parts)


def quantized_args(
    *arg_q_descriptors: bool, scale: float | None = None, zero_point: int | None = None, quantize_output: bool = True
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator: a symbolic function of numbers takes quantized tensors too, and then gives one.

    Args:
        arg_q_descriptors: For each argument, whether it may be quantized.
        scale: Of the result; None is the first quantized argument's.
        zero_point: Of the result, likewise.
        quantize_output: False gives the numbers.
    """

    def decorate(fn: Callable[..., Any]) -> Callable[..., Any]:
        def wrapper(g: Any, *args: Any, **kwargs: Any) -> Any:
            found: list[tuple[Any, Any]] = []

            def plain(arg: Any) -> Any:
                if not _is_value(arg) or not _is_tuple_construct(arg):
                    return arg
                numbers, own_scale, own_zero_point, _ = dequantize_helper(g, arg)
                found.append((own_scale, own_zero_point))
                return numbers

            inputs = []
            for i, arg in enumerate(args):
                may_be = i < len(arg_q_descriptors) and arg_q_descriptors[i]
                if may_be and _is_packed_list(arg):
                    elements = [plain(element) for element in arg.node().inputs()]
                    arg = g.op("prim::ListConstruct", *elements)
                    arg.setType(torch._C.ListType.ofTensors())
                inputs.append(plain(arg) if may_be else arg)
            result = fn(g, *inputs, **kwargs)
            if not found or not quantize_output:
                return result
            own_scale, own_zero_point = found[0]
            if scale is not None:
                own_scale = g.op("Constant", value_t=torch.tensor(scale))
            if zero_point is not None:
                own_zero_point = g.op("Constant", value_t=torch.tensor(zero_point))
            return quantize_helper(g, result, own_scale, own_zero_point)

        wrapper.__name__ = fn.__name__
        wrapper.__doc__ = fn.__doc__
        wrapper.__wrapped__ = fn
        return wrapper

    return decorate


# --- casts around operators ---------------------------------------------------------------------


def _op_with_optional_float_cast(g: Any, op_name: str, *args: Any, **kwargs: Any) -> Any:
    """An operator that takes floats only before some opset: integers are cast there, and the result back.

    ``opset_before``: the opset from which it takes integers; ``target_float_t``: the float type.
    """
    from_opset, target = kwargs.pop("opset_before", None), kwargs.pop("target_float_t", JitScalarType["FLOAT"])
    tensors = [arg for arg in args if _is_value(arg)]
    known = _try_get_scalar_type(*tensors)
    needed = known is not None and not known.dtype().is_floating_point and (from_opset is None or g.opset < from_opset)
    if not needed:
        return g.op(op_name, *args, **kwargs)
    cast = [_maybe_cast_to_type(g, arg, target) if _is_value(arg) and not _is_none(arg) else arg for arg in args]
    return g.op("Cast", g.op(op_name, *cast, **kwargs), to_i=int(known.onnx_type()))


def _reduce_op_symbolic_helper(onnx_op_name: str, allow_multi_dim_support: bool = True) -> Callable[..., Any]:
    """The symbolic function of a reduction: over all dimensions, or over some."""

    def symbolic(g: Any, self: Any, dim: Any = None, keepdim: Any = None) -> Any:
        self = _maybe_cast_reduce_op_input(g, self)
        if _is_none(dim):
            return _handle_reduce_dim_none(g, self, onnx_op_name)
        axes = _get_const(dim, "is" if allow_multi_dim_support else "i", "dim")
        axes = axes if isinstance(axes, list) else [axes]
        keep = 0 if keepdim is None else _get_const(keepdim, "i", "keepdim")
        axes_are_input = g.opset >= (13 if onnx_op_name == "ReduceSum" else 18)
        if axes_are_input:
            return g.op(onnx_op_name, self, _ints(g, axes), keepdims_i=keep)
        return g.op(onnx_op_name, self, axes_i=axes, keepdims_i=keep)

    return symbolic


def _reduce_with_dtype_helper(onnx_op: str, name: str, allow_multi_dim_support: bool = True) -> Callable[..., Any]:
    """As _reduce_op_symbolic_helper, for the forms of an operator that take a dtype last.

    Args:
        name: Accepted, as torch's takes it, and changes nothing.
    """
    symbolic = _reduce_op_symbolic_helper(onnx_op, allow_multi_dim_support)

    def reduce(g: Any, self: Any, *args: Any) -> Any:
        *others, dtype = args
        if not _is_none(dtype):
            self = _maybe_cast_to_type(g, self, JitScalarType(_get_const(dtype, "i", "dtype")))
        return symbolic(g, self, *others)

    return reduce


