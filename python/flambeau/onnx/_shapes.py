"""Types of ``torch._C`` values as ONNX's, and back: while a symbolic function runs, each node's results get types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from onnx import TensorProto, TypeProto

from ._types import dtype_of_onnx, onnx_of_dtype

__all__ = ["Sizes", "tensor_proto"]

_CPU = torch.device("cpu")  # torch's exporter says so, too, of what ONNX infers


def tensor_proto(tensor: torch.Tensor, name: str = "") -> TensorProto:
    """A tensor as ONNX has it, of any dtype."""
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous()
    proto = TensorProto(name=name, data_type=onnx_of_dtype(tensor.dtype), dims=list(tensor.shape))
    if tensor.is_quantized:
        tensor = tensor.int_repr()
    proto.raw_data = tensor.reshape(-1).view(torch.uint8).numpy().tobytes() if tensor.numel() else b""
    return proto


class Sizes:
    """The names of run-time sizes. TorchScript's types have symbols without names."""

    def __init__(self) -> None:
        self._names: dict[int, str] = {}  # by the symbol, a negative number

    def tensor_type(self, dtype: torch.dtype | None, sizes: Sequence[int | str | None] | None) -> Any:
        """A type for ``Value.setType``: complete, in TorchScript's sense, where all is known that ONNX's types can say."""
        type_ = torch._C.TensorType.get().with_device(_CPU)
        if dtype is not None:
            type_ = type_.with_dtype(dtype)
        if sizes is None:
            return type_
        type_ = type_.with_sizes([size if isinstance(size, int) else None for size in sizes])
        if type_.sizes() is not None:  # each of them is known, so they have strides
            return type_.contiguous()
        for symbol, size in zip(type_.symbolic_sizes(), sizes):
            if isinstance(size, str):
                self._names[symbol] = size
        return type_

    def to_onnx(self, type_: Any) -> TypeProto | None:
        """None where nothing is known of the type."""
        if isinstance(type_, torch._C.OptionalType):
            type_ = type_.getElementType()
        if isinstance(type_, torch._C.ListType):
            element = self.to_onnx(type_.getElementType())
            return None if element is None else TypeProto(sequence_type=TypeProto.Sequence(elem_type=element))
        if not isinstance(type_, torch._C.TensorType):
            return None
        dtype = type_.dtype()
        if dtype is None:
            return None
        proto = TypeProto()
        proto.tensor_type.elem_type = onnx_of_dtype(dtype)
        sizes = type_.symbolic_sizes()
        if sizes is not None:
            proto.tensor_type.shape.SetInParent()
            for size in sizes:
                if size >= 0:
                    proto.tensor_type.shape.dim.add(dim_value=size)
                elif size in self._names:
                    proto.tensor_type.shape.dim.add(dim_param=self._names[size])
                else:
                    proto.tensor_type.shape.dim.add()
        return proto

    def from_onnx(self, proto: TypeProto) -> Any | None:
        """None where the type says nothing that TorchScript's can."""
        if proto.WhichOneof("value") == "sequence_type":
            element = self.from_onnx(proto.sequence_type.elem_type)
            return None if element is None else torch._C.ListType(element)
        if proto.WhichOneof("value") != "tensor_type":
            return None
        dtype = dtype_of_onnx(proto.tensor_type.elem_type)
        if not proto.tensor_type.HasField("shape"):
            return None if dtype is None else self.tensor_type(dtype, None)
        sizes: list[int | str | None] = []
        for dim in proto.tensor_type.shape.dim:
            which = dim.WhichOneof("value")
            sizes.append(getattr(dim, which) if which else None)
        return self.tensor_type(dtype, sizes)
