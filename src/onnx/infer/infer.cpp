#include "onnx/infer/infer.h"

#include <algorithm>
#include <bit>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"
#include "onnx/operator_table.h"
#include "support/static_index.h"

namespace flambeau::onnx {
namespace {

using RuleIndex = StaticIndex<void (*)(InferContext&)>;

const RuleIndex& Rules() {
  static const auto* rules = [] {
    auto* index = new RuleIndex;
    for (const auto family : {ElementwiseRules(), LinearAlgebraRules(), ConvolutionRules(), NormalizationRules(),
                              ReductionRules(), ReshapingRules(), SlicingRules(), IndexingRules(), CreationRules(),
                              QuantizationRules(), RecurrentRules(), ImageRules(), SignalRules(), SequenceRules()})
      for (const InferRule& rule : family) index->Add(rule.op, rule.infer);
    return index;
  }();
  return *rules;
}

DType OnlyMember(DTypeSet set) {
  return std::has_single_bit(set.bits()) ? static_cast<DType>(std::countr_zero(set.bits())) : DType::kNone;
}

// What the operator table says of a result: the type of its formal, which
// operands of the same type parameter bind.
Type DeclaredType(const OperatorVersion& version, const InferContext& context, size_t result) {
  const FormalParameter* formal = version.output(static_cast<int>(result));
  if (!formal) return Type::Unranked(DType::kNone);
  for (size_t i = 0; i < context.operand_count() && formal->homogeneous; ++i) {
    const FormalParameter* input = version.input(static_cast<int>(i));
    const Type* operand = context.operand(i);
    if (!input || !operand || input->type != formal->type || !input->homogeneous) continue;
    if (operand->kind != TypeKind::kTensor && operand->kind != TypeKind::kSequence && !operand->is_optional()) continue;
    Type type = Type::Unranked(operand->dtype);
    type.kind = operand->kind;
    return type;
  }
  const TypeConstraint& constraint = version.type_of(*formal);
  const bool sequence = constraint.tensors.empty() && !constraint.sequences.empty();
  Type type = Type::Unranked(OnlyMember(sequence ? constraint.sequences : constraint.tensors));
  if (sequence) type.kind = TypeKind::kSequence;
  return type;
}

// By its rule, where it has one.
void RefineTypes(std::string_view op, InferContext& context) {
  if (const auto* rule = Rules().Find(op)) (*rule)(context);
  // A kernel larger than its input, say.
  for (size_t i = 0; i < context.result_count(); ++i) {
    const std::vector<Expr>& sizes = context.result(i).sizes;
    auto negative = [&](Expr size) { return context.exprs().AsConstant(size).value_or(0) < 0; };
    if (std::any_of(sizes.begin(), sizes.end(), negative))
      context.SetImpossible(i, AnonymousSizes(context.exprs(), sizes.size()));
  }
}

}  // namespace

void InferTypes(const OperatorVersion& version, InferContext& context) {
  for (size_t i = 0; i < context.result_count(); ++i) context.Set(i, DeclaredType(version, context, i));
  RefineTypes(version.name, context);
}

void InferTypes(std::string_view op, InferContext& context) {
  const OperatorVersion* version = FindOperator(op, context.opset());
  if (!version) version = FindOperator(op, NewestOpset());
  if (version) return InferTypes(*version, context);
  for (size_t i = 0; i < context.result_count(); ++i) context.Set(i, Type::Unranked(DType::kNone));
  RefineTypes(op, context);
}

std::optional<Ints> InferContext::ConstantInts(size_t i) const {
  const std::vector<Expr>* elements = contents(i);
  if (!elements) return std::nullopt;
  Ints values;
  for (Expr element : *elements) {
    const auto value = context_.exprs().AsConstant(element);
    if (!value) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

const Attribute* InferContext::attribute(std::string_view name) const {
  const auto found =
      std::find_if(attributes_.begin(), attributes_.end(), [&](auto& item) { return item.first == name; });
  return found == attributes_.end() ? nullptr : &found->second;
}

int64_t InferContext::Int(std::string_view name, int64_t otherwise) const {
  const Attribute* value = attribute(name);
  if (!value) return otherwise;
  if (const auto* number = std::get_if<int64_t>(value)) return *number;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  if (const auto* dtype = std::get_if<DType>(value)) return Info(*dtype).onnx_code;
  return otherwise;
}

std::optional<Ints> InferContext::IntList(std::string_view name) const {
  const Attribute* value = attribute(name);
  const auto* ints = value ? std::get_if<Ints>(value) : nullptr;
  return ints ? std::optional(*ints) : std::nullopt;
}

std::optional<Floats> InferContext::FloatList(std::string_view name) const {
  const Attribute* value = attribute(name);
  const auto* floats = value ? std::get_if<Floats>(value) : nullptr;
  return floats ? std::optional(*floats) : std::nullopt;
}

std::string_view InferContext::String(std::string_view name, std::string_view otherwise) const {
  const Attribute* value = attribute(name);
  const auto* text = value ? std::get_if<std::string>(value) : nullptr;
  return text ? std::string_view(*text) : otherwise;
}

DType InferContext::ElementType(std::string_view name, DType otherwise) const {
  const int64_t code = Int(name, 0);
  return code == 0 ? otherwise : DTypeFromOnnxCode(code).value_or(otherwise);
}

const TensorData* InferContext::Data(std::string_view name) const {
  const Attribute* value = attribute(name);
  const auto* data = value ? std::get_if<DataId>(value) : nullptr;
  return data ? &context_[*data] : nullptr;
}

std::optional<Ints> InferContext::IntsOf(std::string_view name, size_t i, bool* absent) const {
  *absent = false;
  if (auto ints = IntList(name)) return ints;
  if (attribute(name)) return std::nullopt;
  if (operand(i)) return ConstantInts(i);
  *absent = true;
  return std::nullopt;
}

void InferContext::SetContents(size_t i, std::vector<Expr> contents) {
  if (i >= results_.size()) return;
  Type& type = results_[i];
  if (!type.is_tensor() || !type.ranked || (type.dtype != DType::kInt64 && type.dtype != DType::kBool)) return;
  if (SmallCount(exprs(), type.sizes) == static_cast<int64_t>(contents.size())) type.contents = std::move(contents);
}

}  // namespace flambeau::onnx
