// Quantized tensors and packed weights. The program that comes out has integers
// and quantized_decomposed::*, which become QuantizeLinear and DequantizeLinear.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "script/evaluator.h"

namespace flambeau::script {

// The integers of c10's quantized dtypes: 12 (qint8) -> int8; nullopt for others.
// Of arguments that no program of torch's has.
Failure Malformed(Evaluator& evaluator);

std::optional<DType> IntegersOf(int64_t torch_code);
int64_t QuantizedCode(DType integers);
// Whether quantized tensors are stored in these.
bool IsOfQuantized(DType integers);

struct Grid {
  Val scale, zero_point;
  std::optional<int64_t> axis;
};
inline Grid GridOf(const Quantized& tensor) { return {tensor.scale, tensor.zero_point, tensor.axis}; }
// Known to be the same numbers.
bool SameGrid(const Quantized& a, const Quantized& b);

Val MakeQuantized(TensorVal data, Grid grid);
Result<Val> Quantize(Evaluator& evaluator, const Val& floats, Grid grid, DType integers);
// Floats as they are.
Result<Val> Dequantize(Evaluator& evaluator, const Val& tensor);
// The grid that torch chooses for the values at run time, over all integers or half of them.
Result<Grid> ChooseGrid(Evaluator& evaluator, const Val& floats, DType integers, bool reduce_range);
// On such a grid, as floats again.
Result<Val> RoundDynamically(Evaluator& evaluator, const Val& floats, bool reduce_range);

// Whether the value, or an element of the list or tuple, is quantized.
bool HoldsQuantized(const Val& value, const Heap& heap);

// Objects in which torch keeps weights for its kernels: torch.classes.quantized.*
// and torch.classes.rnn.*. `attributes` of the cell, made by prepacking or from
// what the archive has of the object.
struct PackedWeights {
  Val weight, bias;  // quantized; floats where only they are stored in half precision
  Vals stride, padding, dilation, output_padding;
  int64_t groups = 1;
  bool transposed = false;
  Val low = Nothing{}, high = Nothing{};  // what the result is clamped to
};
Val Pack(Evaluator& evaluator, PackedWeights weights);
// What torch.utils.mobile_optimizer packs: arguments of prepacked::*_prepack, and states of xnnpack.*OpContext, which are the same.
std::optional<PackedWeights> ClampedWeights(Evaluator& evaluator, std::span<const Val> fields, bool transposed);
Result<PackedWeights> Unpack(Evaluator& evaluator, const Val& object);
// The state of an object of a class that is written in C++; `state` as its __getstate__ made it.
Status RestorePacked(Evaluator& evaluator, uint32_t cell, std::string_view class_name, const Val& state);
inline constexpr std::string_view kPackedClasses = "__torch__.torch.classes.";

}  // namespace flambeau::script
