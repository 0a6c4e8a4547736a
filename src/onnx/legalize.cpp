#include "onnx/legalize.h"

#include "onnx/infer/infer.h"
#include "onnx/legalize/rule.h"
#include "onnx/operator_table.h"
#include "support/static_index.h"

namespace flambeau::onnx {
namespace {

const LegalizeRule* FindRule(std::string_view op, int opset) {
  static const auto* rules = [] {
    auto* index = new StaticIndex<const LegalizeRule*>;
    for (const auto subject : {ActivationForms(), ArithmeticForms(), ComparisonForms(), CreationForms(), DoubleForms(), EinsumForms(),
                               GridForms(), ImageForms(), IndexingForms(), LoopForms(), NormalizationForms(), QuantizationForms(), RandomForms(),
                               ReductionForms(), RegionForms(), ResizeForms(), ShapeForms(), SignalForms(), SlicingForms()})
      for (const LegalizeRule& rule : subject) index->Add(rule.op, &rule);
    return index;
  }();
  const LegalizeRule* rule = rules->ValueOr(op, nullptr);
  return rule == nullptr || opset >= rule->newest_form_since ? nullptr : rule;
}

}  // namespace

bool HasOlderForm(std::string_view op, int opset) { return FindRule(op, opset) != nullptr; }

std::optional<std::vector<Tensor>> Legalize(Builder& to, std::string_view op, std::span<const Tensor> operands,
                                            const AttributeList& attributes, std::span<const Type> results) {
  return FindRule(op, to.opset())->apply(to, {op, operands, attributes, results.size(), results});
}

// Axes count from the end only since opset 11.
std::optional<AttributeList> WithForwardAxes(std::string_view op, std::span<const Tensor> operands,
                                             const AttributeList& attributes) {
  const auto rank = [&](size_t added) -> std::optional<int64_t> {
    if (operands.empty() || !operands[0] || !operands[0].ranked()) return std::nullopt;
    return operands[0].rank() + static_cast<int64_t>(added);
  };
  if (const Attribute* axis = Find(attributes, "axis")) {
    const auto* value = std::get_if<int64_t>(axis);
    const auto size = rank(op == "OneHot" ? 1 : 0);
    if (value == nullptr || *value >= 0 || !size) return std::nullopt;
    AttributeList forward = attributes;
    forward = With(forward, "axis", *value + *size);
    return forward;
  }
  if (const Attribute* axes = Find(attributes, "axes")) {
    const auto* values = std::get_if<Ints>(axes);
    const auto size = values ? rank(op == "Unsqueeze" ? values->size() : 0) : std::nullopt;
    if (!size || std::ranges::none_of(*values, [](int64_t value) { return value < 0; })) return std::nullopt;
    AttributeList forward = attributes;
    Ints counted = *values;
    for (int64_t& value : counted) value += value < 0 ? *size : 0;
    forward = With(forward, "axes", std::move(counted));
    return forward;
  }
  return std::nullopt;
}

}  // namespace flambeau::onnx
