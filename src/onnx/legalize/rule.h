// What the tables of legalisation rules share. A rule gets an operator in its
// newest form and emits what the target opset has of it, or returns nullopt
// where that form is right as it is.
#pragma once

#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "onnx/attribute_edit.h"
#include "onnx/builder.h"
#include "onnx/emission.h"

namespace flambeau::onnx {

struct Request {
  std::string_view op;
  std::span<const Tensor> operands;
  const AttributeList& attributes;
  size_t results;
  std::span<const Type> types;  // of the results, as the newest form infers them

  // Operand `i`; nothing where it is absent.
  Tensor operand(size_t i) const { return i < operands.size() ? operands[i] : Tensor(); }
  int64_t Int(std::string_view name, int64_t otherwise) const {
    const Attribute* found = Find(attributes, name);
    return found ? std::get<int64_t>(*found) : otherwise;
  }
  double Float(std::string_view name, double otherwise) const {
    const Attribute* found = Find(attributes, name);
    return found ? std::get<double>(*found) : otherwise;
  }
  std::string Text(std::string_view name, std::string_view otherwise) const {
    const Attribute* found = Find(attributes, name);
    return found ? std::get<std::string>(*found) : std::string(otherwise);
  }
  Ints IntList(std::string_view name) const {
    const Attribute* found = Find(attributes, name);
    return found ? std::get<Ints>(*found) : Ints{};
  }
};
using Results = std::optional<std::vector<Tensor>>;

// For rules that look at what onnxruntime runs, too: they apply at every opset.
constexpr int kNever = std::numeric_limits<int>::max();

struct LegalizeRule {
  std::string_view op;
  int newest_form_since;  // the opset from which nothing needs to change
  Results (*apply)(Builder&, const Request&);
};

// The tables, one a subject; each sorted by operator.
std::span<const LegalizeRule> ActivationForms();
std::span<const LegalizeRule> ArithmeticForms();
std::span<const LegalizeRule> ComparisonForms();
std::span<const LegalizeRule> CreationForms();
std::span<const LegalizeRule> DoubleForms();
std::span<const LegalizeRule> EinsumForms();
std::span<const LegalizeRule> GridForms();
std::span<const LegalizeRule> ImageForms();
std::span<const LegalizeRule> IndexingForms();
std::span<const LegalizeRule> LoopForms();
std::span<const LegalizeRule> NormalizationForms();
std::span<const LegalizeRule> QuantizationForms();
std::span<const LegalizeRule> RandomForms();
std::span<const LegalizeRule> ReductionForms();
std::span<const LegalizeRule> RegionForms();
std::span<const LegalizeRule> ResizeForms();
std::span<const LegalizeRule> ShapeForms();
std::span<const LegalizeRule> SignalForms();
std::span<const LegalizeRule> SlicingForms();

// --- what rules ask and do ----------------------------------------------------------

// Whether onnxruntime is to run the operator on float64 and has no kernel for it.
bool LacksKernelOfDouble(Builder& to, const Request& request, std::string_view type_parameter = "T");
// Reports that the opset can't say it ("takes 'axes' only as a constant").
Results Refuse(Builder& to, const Request& request, std::string_view what);
// The elements of an integer tensor; nullopt if they are not known constants.
std::optional<Ints> KnownInts(Builder& to, const Tensor& tensor);
// The elements of a small floating constant.
std::optional<Floats> KnownFloats(Builder& to, const Tensor& tensor);
// All sizes, if each is constant.
std::optional<Ints> KnownSizes(Builder& to, const Type& type);
bool IsKnown(Builder& to, const Tensor& tensor, int64_t value);
// The size along an axis, int64: of one element, or 0-d.
Tensor SizeAlong(Builder& to, const Tensor& tensor, int64_t axis);
Tensor SizeNumber(Builder& to, const Tensor& tensor, int64_t axis);
// Whether it is known to have no elements. A reshape to sizes of which others are open would copy one for the 0.
bool IsEmpty(Builder& to, const Tensor& tensor);
// 0, 1, … n - 1 for an `n` of no dimensions.
Tensor Iota(Builder& to, const Tensor& n);
// Indices that count from the end where they are negative, counted from the start.
Tensor WrapNegative(Builder& to, const Tensor& indices, const Tensor& size);
// A Loop of `count` (0-d) turns over `state`; `body` gets the turn's number and
// the state, and returns the next state, then what is to be stacked on axis 0.
std::vector<Tensor> Repeat(Builder& to, const Tensor& count, const std::vector<Tensor>& state, size_t stacked,
                           const std::function<std::vector<Tensor>(Tensor turn, std::vector<Tensor> state)>& body);

}  // namespace flambeau::onnx
