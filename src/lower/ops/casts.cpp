// The same elements in another dtype; where they are is of no meaning in ONNX.
#include "lower/op.h"

namespace flambeau::lower {
namespace {

Tensor ToDtype(Lowering& to, Tensor self, DType dtype, Unused, Unused, Unused) { return to.CastTo(self, dtype); }
Tensor ToDevice(Lowering& to, Tensor self, Unused, DType dtype, Unused, Unused, Unused) {
  return to.CastTo(self, dtype);
}
Tensor ToLayout(Lowering& to, Tensor self, std::optional<DType> dtype, Unused, Unused, Unused, Unused, Unused, Unused) {
  return dtype ? to.CastTo(self, *dtype) : self;
}
Tensor ToCopy(Lowering& to, Tensor self, std::optional<DType> dtype, Unused, Unused, Unused, Unused, Unused) {
  return dtype ? to.CastTo(self, *dtype) : self;
}
Tensor ToOther(Lowering& to, Tensor self, Tensor other, Unused, Unused, Unused) {
  return to.CastTo(self, other.dtype());
}
// What decompositions for compilers and quantizers leave where types are promoted.
Tensor ConvertElementType(Lowering& to, Tensor a, DType dtype) { return to.CastTo(a, dtype); }
Tensor TypeAs(Lowering& to, Tensor self, Tensor other) { return to.CastTo(self, other.dtype()); }

template <DType kDtype>
Tensor CastOf(Lowering& to, Tensor self, Unused) {
  return to.CastTo(self, kDtype);
}

// What TorchScript makes of torch.autocast, for tensors on the CPU.
Tensor AutocastToFull(Lowering& to, Tensor self, Unused, bool cpu_enabled) {
  const bool reduced = self.dtype() == DType::kFloat16 || self.dtype() == DType::kBfloat16;
  return cpu_enabled && reduced ? to.CastTo(self, DType::kFloat32) : self;
}
Tensor AutocastToReduced(Lowering& to, Tensor self, Unused, bool cpu_enabled, DType, DType cpu_dtype) {
  return cpu_enabled && self.dtype() == DType::kFloat32 ? to.CastTo(self, cpu_dtype) : self;
}

constexpr OpRow kRows[] = {
    Op<AutocastToFull>("aten::_autocast_to_full_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled) -> Tensor(a)"),
    Op<AutocastToReduced>("aten::_autocast_to_reduced_precision(Tensor(a) self, bool cuda_enabled, bool cpu_enabled, "
                          "ScalarType cuda_dtype, ScalarType cpu_dtype) -> Tensor(a)"),
    Op<CastOf<DType::kUint8>>("aten::_cast_Byte(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kInt8>>("aten::_cast_Char(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kFloat64>>("aten::_cast_Double(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kFloat32>>("aten::_cast_Float(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kFloat16>>("aten::_cast_Half(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kInt32>>("aten::_cast_Int(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kInt64>>("aten::_cast_Long(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<CastOf<DType::kInt16>>("aten::_cast_Short(Tensor self, bool non_blocking=False) -> Tensor"),
    Op<ToCopy>("aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
               "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor"),
    Op<CastOf<DType::kComplex32>>("aten::chalf(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    Op<ToDevice>("aten::to.device(Tensor(a) self, Device device, ScalarType dtype, bool non_blocking=False, "
                 "bool copy=False, MemoryFormat? memory_format=None) -> Tensor(a)"),
    Op<ToDtype>("aten::to.dtype(Tensor(a) self, ScalarType dtype, bool non_blocking=False, bool copy=False, "
                "MemoryFormat? memory_format=None) -> Tensor(a)"),
    Op<ToLayout>("aten::to.dtype_layout(Tensor(a) self, *, ScalarType? dtype=None, Layout? layout=None, "
                 "Device? device=None, bool? pin_memory=None, bool non_blocking=False, bool copy=False, "
                 "MemoryFormat? memory_format=None) -> Tensor(a)"),
    Op<ToOther>("aten::to.other(Tensor(a) self, Tensor other, bool non_blocking=False, bool copy=False, "
                "MemoryFormat? memory_format=None) -> Tensor(a)"),
    Op<TypeAs>("aten::type_as(Tensor self, Tensor other) -> Tensor"),
    Op<ConvertElementType>("prims::convert_element_type(Tensor a, ScalarType dtype) -> Tensor"),
    Op<ConvertElementType>("quantized_decomposed::convert_element_type.no_fuse(Tensor input, ScalarType dtype) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Casts() { return kRows; }

}  // namespace flambeau::lower
