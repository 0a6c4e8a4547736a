"""``torch.onnx.symbolic_helper``: what symbolic functions are written with.

>>> @parse_args("v", "i", "none")
... def softmax(g, x, dim, dtype):
...     return g.op("Softmax", x, axis_i=dim)
"""

from __future__ import annotations

from ._nodes import (
    _arange_helper,
    _argmin_argmax_helper,
    _avgpool_helper,
    _embedding_bag_helper,
    _flatten_helper,
    _generate_wrapped_number,
    _handle_reduce_dim_none,
    _linalg_vector_norm_helper,
    _lt_helper,
    _max_helper,
    _maybe_cast_reduce_op_input,
    _maybe_cast_to_type,
    _min_helper,
    _numel_helper,
    _op_with_optional_float_cast,
    _optional_input_placeholder_tensor,
    _reduce_op_symbolic_helper,
    _reduce_with_dtype_helper,
    _reducesum_helper,
    _reshape_helper,
    _scatter_helper,
    _select_helper,
    _size_helper,
    _slice_helper,
    _sort_helper,
    _squeeze_helper,
    _topk_helper,
    _unbind_helper,
    _unsqueeze_helper,
    _var_mean_helper,
    check_training_mode,
    dequantize_helper,
    quantize_helper,
    quantized_args,
    requantize_bias_helper,
)
from ._types import JitScalarType
from ._values import (
    _apply_params,
    _as_list_type,
    _block_list_in_opset,
    _get_const,
    _get_dim_for_cross,
    _get_tensor_dim_size,
    _get_tensor_rank,
    _get_tensor_sizes,
    _if_scalar_type_as,
    _is_bool,
    _is_constant,
    _is_fp,
    _is_list,
    _is_none,
    _is_onnx_constant,
    _is_packed_list,
    _is_scalar_list,
    _is_split_static,
    _is_tensor,
    _is_tensor_list,
    _is_tuple_construct,
    _is_value,
    _maybe_get_const,
    _maybe_get_scalar,
    _node_get,
    _onnx_opset_unsupported,
    _onnx_opset_unsupported_detailed,
    _onnx_unsupported,
    _overload_by_arg_count,
    _parse_arg,
    _scalar,
    _try_get_scalar_type,
    _type_promote_from_values,
    _unimplemented,
    _unpack_list,
    _unpack_quantized_tensor,
    _unpack_tuple,
    args_have_same_dtype,
    is_complex_value,
    parse_args,
)

# Tables of element types, by the names and numbers that TorchScript has for them.
_KNOWN = [type_ for type_ in JitScalarType if type_.name != "UNDEFINED"]
cast_pytorch_to_onnx = {type_.scalar_name(): type_.onnx_type() for type_ in _KNOWN if type_.onnx_compatible()}
scalar_name_to_pytorch = {type_.torch_name(): type_.scalar_name() for type_ in _KNOWN}
scalar_type_to_pytorch_type = [type_.dtype() for type_ in _KNOWN]
scalar_type_to_onnx = [type_.onnx_type() for type_ in _KNOWN]
pytorch_name_to_type = {type_.scalar_name(): type_.dtype() for type_ in _KNOWN}

__all__ = [name for name in globals() if not name.startswith("__") and name not in ("annotations", "_KNOWN")]
