// Running sums, products and extrema along an axis.
#include "lower/ops/cumulative.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/loops.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

using SliceStep = std::function<std::vector<Tensor>(std::vector<Tensor> states, Tensor element)>;

// Folds the slices of `x`, of which there is one with elements, along the axis, from states without the axis.
std::vector<Tensor> ScanSlices(Lowering& to, const Tensor& x, int64_t axis, std::vector<Tensor> states, const SliceStep& step) {
  std::vector<Expr> slice = x.type().sizes;
  slice.erase(slice.begin() + axis);
  std::vector<Type> types, stacked;
  for (const Tensor& state : states) {
    types.push_back(Type::OfTensor(state.dtype(), slice));
    stacked.push_back(Type::OfTensor(state.dtype(), x.type().sizes));
  }
  const BlockId body = to.Body([&] {
    std::vector<Tensor> before;
    for (const Type& type : types) before.push_back(to.AddBlockInput(type));
    const Tensor element = to.AddBlockInput(Type::OfTensor(x.dtype(), slice));
    std::vector<Tensor> outputs = step(std::move(before), element);
    // A value may be yielded once only.
    for (size_t i = 0; i < types.size(); ++i) outputs.push_back(to.Identity(outputs[i]));
    return outputs;
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  attributes.Add("num_scan_inputs", int64_t{1});
  attributes.Add("scan_input_axes", Ints{axis});
  attributes.Add("scan_output_axes", Ints(types.size(), axis));
  states.push_back(x);
  const auto count = static_cast<int64_t>(types.size());
  types.insert(types.end(), stacked.begin(), stacked.end());
  std::vector<Tensor> results = to.EmitCustom("Scan", states, attributes, types);
  results.erase(results.begin(), results.begin() + count);
  return results;
}

// Folds the slices of `x` along the axis, from states that are equal everywhere at first; gives the states after each
// slice, stacked along the axis. `step` sees tensors without the axis. onnxruntime's Scan wants a first slice, and
// divides by the size of one.
std::vector<Tensor> Running(Lowering& to, Tensor x, int64_t axis, const std::vector<Tensor>& initial, const SliceStep& step) {
  const auto states_of = [&](const Dims& sizes) {
    std::vector<Tensor> states;
    for (const Tensor& state : initial) states.push_back(to.ExpandTo(state, sizes));
    return states;
  };
  Dims slice = x.sizes();
  slice.erase(slice.begin() + axis);
  return UnlessNone(
      to, to.Numel(x), [&] { return ScanSlices(to, x, axis, states_of(slice), step); }, [&] { return states_of(x.sizes()); });
}

// Up to so many steps, rounding each in float32 shows in the last digit or two.
constexpr int64_t kFewSteps = 64;

// PyTorch carries float32 in float64 from step to step, and halves in float32.
Tensor Carried(Lowering& to, const Tensor& x, int64_t axis) {
  if (IsHalf(x.dtype())) return to.CastTo(x, AccumulationDtype(x.dtype()));
  if (x.dtype() != DType::kFloat32 || to.AsConstant(x.size(axis)).value_or(kFewSteps + 1) <= kFewSteps) return x;
  return to.CastTo(x, DType::kFloat64);
}

}  // namespace

Tensor CumulativeSum(Lowering& to, const Tensor& x, int64_t axis) {
  return to.CastTo(to.CumSum(Carried(to, x, axis), to.ConstantInt(axis)), x.dtype());
}

namespace {

Tensor Cumsum(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, SumDtype(self, dtype));
  if (x.rank() == 0) return x;
  return CumulativeSum(to, x, to.Axis(dim, x));
}

Tensor Cumprod(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, SumDtype(self, dtype));
  if (x.rank() == 0) return x;
  const int64_t axis = to.Axis(dim, x);
  const Tensor carried = Carried(to, x, axis);
  const auto products = [&] {
    if (to.Has("CumProd") && !x.is_complex()) return to.CumProd(carried, to.ConstantInt(axis));
    return Running(to, carried, axis, {to.NumberOf(1, carried.dtype())}, [&](std::vector<Tensor> states, Tensor element) {
      return std::vector<Tensor>{to.Mul(states[0], element)};
    })[0];
  };
  return to.CastTo(products(), x.dtype());
}

Tensor Logcumsumexp(Lowering& to, Tensor self, int64_t dim) {
  if (self.rank() == 0) return self;
  const int64_t axis = to.Axis(dim, self);
  const Tensor x = Carried(to, self, axis), least = to.NumberOf(-std::numeric_limits<double>::infinity(), x.dtype());
  const std::vector<Tensor> sums = Running(to, x, axis, {least}, [&](std::vector<Tensor> states, Tensor element) {
    return std::vector<Tensor>{LogAddExp(to, states[0], element)};
  });
  return to.CastTo(sums[0], self.dtype());
}

Scalar Bound(DType dtype, bool largest) {
  if (IsFloating(dtype))
    return largest ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
  const int bits = static_cast<int>(ByteSize(dtype)) * 8;
  if (!IsSigned(dtype)) return largest ? Scalar(int64_t{(int64_t{1} << bits) - 1}) : Scalar(0);
  const int64_t top = bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
  return largest ? Scalar(top) : Scalar(-top - 1);
}

// (values, indices); of equal ones the last counts, and NaN beats every number.
template <bool kMax>
std::tuple<Tensor, Tensor> CumulativeExtremum(Lowering& to, Tensor self, int64_t dim) {
  if (self.rank() == 0) return {self, to.ConstantInt(0)};
  const int64_t axis = to.Axis(dim, self);
  // Bools have no order in ONNX.
  const Tensor x = self.is_bool() ? to.CastTo(self, DType::kInt32) : self;
  const Tensor zero = to.ConstantInt(0);
  const std::vector<Tensor> initial = {to.NumberOf(Bound(x.dtype(), !kMax), x.dtype()), zero, zero};
  const std::vector<Tensor> results = Running(to, x, axis, initial, [&](std::vector<Tensor> states, Tensor element) {
    const Tensor best = states[0], index = states[1], position = states[2];
    Tensor better = kMax ? to.GreaterOrEqual(element, best) : to.LessOrEqual(element, best);
    if (x.is_floating()) better = to.Or(better, to.IsNaN(element));
    return std::vector<Tensor>{to.Where(better, element, best), to.Where(better, position, index),
                               to.Add(position, to.ConstantInt(1))};
  });
  return {to.CastTo(results[0], self.dtype()), results[1]};
}

constexpr OpRow kRows[] = {
    Op<Logcumsumexp>("aten::_logcumsumexp(Tensor self, int dim) -> Tensor"),
    Op<CumulativeExtremum<true>>("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
    Op<CumulativeExtremum<false>>("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
    Op<Cumprod>("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    Op<Cumsum>("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    Op<Logcumsumexp>("aten::logcumsumexp(Tensor self, int dim) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Cumulative() { return kRows; }

}  // namespace flambeau::lower
