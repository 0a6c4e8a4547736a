// PyTorch's type promotion. See torch.result_type: operands count in three
// ranks, tensors with dimensions, 0-d tensors, Python numbers; a lower rank
// matters only if its category (bool < integer < float < complex) is higher.
#include <algorithm>

#include "lower/lowering.h"

namespace flambeau::lower {
namespace {

DType PromoteTwo(DType a, DType b) {
  if (a == b || b == DType::kNone) return a;
  if (a == DType::kNone) return b;
  const DTypeCategory ca = Info(a).category, cb = Info(b).category;
  if (ca != cb) {
    const DType higher = ca > cb ? a : b, lower = ca > cb ? b : a;
    if (Info(higher).category != DTypeCategory::kComplex || Info(lower).category != DTypeCategory::kFloat) return higher;
    // float64 and complex64 make complex128.
    if (lower == DType::kFloat64) return DType::kComplex128;
    if (lower == DType::kFloat32 && higher == DType::kComplex32) return DType::kComplex64;
    return higher;
  }
  if (ca == DTypeCategory::kFloat || ca == DTypeCategory::kComplex) {
    if (ByteSize(a) != ByteSize(b)) return ByteSize(a) > ByteSize(b) ? a : b;
    return DType::kFloat32;  // float16 with bfloat16
  }
  // Integers: the wider; uint8 with int8 needs int16.
  if (IsSigned(a) == IsSigned(b)) return ByteSize(a) > ByteSize(b) ? a : b;
  const DType with_sign = IsSigned(a) ? a : b, without = IsSigned(a) ? b : a;
  if (ByteSize(with_sign) > ByteSize(without)) return with_sign;
  switch (ByteSize(without)) {
    case 1: return DType::kInt16;
    case 2: return DType::kInt32;
    default: return DType::kInt64;
  }
}

}  // namespace

DType Lowering::PromotedDtype(std::span<const Tensor> operands) const {
  DType of_rank[3] = {DType::kNone, DType::kNone, DType::kNone};  // dimensioned, 0-d, numbers
  for (const Tensor& operand : operands) {
    if (!operand) continue;
    const bool scalar_value = !operand.is_number() && operand.ranked() && operand.rank() == 0;
    DType& slot = of_rank[operand.is_number() ? 2 : scalar_value ? 1 : 0];
    DType dtype = operand.dtype();
    if (operand.is_number() && IsFloating(dtype)) dtype = default_dtype();
    slot = PromoteTwo(slot, dtype);
  }
  auto combine = [](DType higher, DType lower) {
    if (higher == DType::kNone) return lower;
    if (lower == DType::kNone || Info(lower).category <= Info(higher).category) return higher;
    // A complex number with a float tensor keeps the tensor's precision.
    if (IsComplex(lower) && IsFloating(higher)) return higher == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
    return lower;
  };
  return combine(combine(of_rank[0], of_rank[1]), of_rank[2]);
}

DType Lowering::FloatDtype(std::initializer_list<Tensor> operands) const {
  const DType dtype = PromotedDtype(operands);
  return IsFloating(dtype) || IsComplex(dtype) ? dtype : default_dtype();
}

}  // namespace flambeau::lower
