// The tables of inference rules, one a family of operators.
#pragma once

#include <span>

#include "onnx/infer/infer.h"

namespace flambeau::onnx {

std::span<const InferRule> ElementwiseRules();
std::span<const InferRule> LinearAlgebraRules();
std::span<const InferRule> ConvolutionRules();
std::span<const InferRule> NormalizationRules();
std::span<const InferRule> ReductionRules();
std::span<const InferRule> ReshapingRules();
std::span<const InferRule> SlicingRules();
std::span<const InferRule> IndexingRules();
std::span<const InferRule> CreationRules();
std::span<const InferRule> QuantizationRules();
std::span<const InferRule> RecurrentRules();
std::span<const InferRule> ImageRules();
std::span<const InferRule> SignalRules();
std::span<const InferRule> SequenceRules();

// Rules that many families share.
void SameAsFirst(InferContext& context);  // the first result has the first operand's sizes
void Broadcast(InferContext& context);    // the first result has all operands' broadcast sizes

}  // namespace flambeau::onnx
