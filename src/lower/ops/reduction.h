// Reductions with PyTorch's conventions: which axes, what of 0-d tensors, which
// dtype, keepdim. Also for other families.
#pragma once

#include <optional>
#include <span>

#include "lower/op.h"

namespace flambeau::lower {

// The axes of a reduction: sorted, not negative. None, or an empty list, means all.
Ints ReducedAxes(Lowering& to, const Tensor& tensor, const std::optional<Ints>& dims);
// The dims that a single one stands for.
inline std::optional<Ints> One(std::optional<int64_t> dim) { return dim ? std::optional(Ints{*dim}) : std::nullopt; }
// The operand that ONNX's reductions take for axes; absent for all of them.
Tensor AxesOperand(Lowering& to, const Tensor& tensor, const Ints& axes);
// The number of elements that one element of the result is made of.
Dim ReducedCount(Lowering& to, const Tensor& tensor, const Ints& axes);

Tensor Sum(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype);
Tensor Mean(Lowering& to, Tensor self, std::optional<Ints> dim, bool keepdim, std::optional<DType> dtype);
Tensor Amax(Lowering& to, Tensor self, Ints dim, bool keepdim);
Tensor Amin(Lowering& to, Tensor self, Ints dim, bool keepdim);
Tensor ProdDim(Lowering& to, Tensor self, int64_t dim, bool keepdim, std::optional<DType> dtype);
// Of sums and products: integers and bools add up as int64.
inline DType SumDtype(const Tensor& self, std::optional<DType> dtype) {
  return dtype.value_or(self.is_floating() || self.is_complex() ? self.dtype() : DType::kInt64);
}
// Whether all elements are true.
Tensor All(Lowering& to, Tensor self);
Tensor VectorNorm(Lowering& to, Tensor self, Scalar ord, std::optional<Ints> dim, bool keepdim,
                  std::optional<DType> dtype);
// (variance, mean)
std::tuple<Tensor, Tensor> VarMean(Lowering& to, Tensor self, std::optional<Ints> dim,
                                   std::optional<Scalar> correction, bool keepdim);

}  // namespace flambeau::lower
