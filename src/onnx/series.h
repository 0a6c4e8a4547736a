// Sums of many terms as few nodes: the terms lie on a trailing axis. All in
// float64, in which cancellation leaves float32 its digits.
#pragma once

#include <span>
#include <vector>

#include "onnx/builder.h"

namespace flambeau::onnx {

inline Tensor Double(Builder& to, double value) { return to.ConstantOf(value, DType::kFloat64); }
inline Tensor Times(Builder& to, Tensor x, double factor) { return to.Mul(x, Double(to, factor)); }

inline Tensor DoubleVector(Builder& to, std::span<const double> values) {
  const int64_t size = static_cast<int64_t>(values.size());
  return to.ConstantFloats(values, DType::kFloat64, {&size, 1});
}

// 0, 1, … count - 1.
inline Tensor Counting(Builder& to, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) values.push_back(i);
  return DoubleVector(to, values);
}

// x as a column that broadcasts against a vector of terms.
inline Tensor ForTerms(Builder& to, Tensor x) { return to.UnsqueezeAt(x, {x.rank()}); }

inline Tensor SumOfTerms(Builder& to, Tensor terms) {
  return to.ReduceSum(terms, to.ConstantInts({terms.rank() - 1}), {.keepdims = 0});
}

// Σ weights[i] · terms[…, i]. The weights are a column: onnxruntime multiplies no empty tensor by a vector.
inline Tensor WeightedSum(Builder& to, Tensor terms, std::span<const double> weights) {
  const int64_t sizes[] = {static_cast<int64_t>(weights.size()), 1};
  const Tensor column = to.ConstantFloats(weights, DType::kFloat64, sizes);
  return to.SqueezeAt(to.MatMul(terms, column), {terms.rank() - 1});
}

// Σ coefficients[i] · x^i.
inline Tensor PowerSeries(Builder& to, Tensor x, std::span<const double> coefficients) {
  const Tensor powers = to.Pow(ForTerms(to, x), Counting(to, static_cast<int>(coefficients.size())));
  return WeightedSum(to, powers, coefficients);
}

}  // namespace flambeau::onnx
