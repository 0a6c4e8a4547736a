// One node of a TorchScript program: what its operands allow, and who translates it.
#include <fmt/format.h>

#include <algorithm>

#include "lower/custom.h"
#include "lower/registry.h"
#include "script/builtins/builtins.h"
#include "script/equivalents.h"
#include "script/evaluator.h"
#include "script/lists/columns.h"
#include "script/lists/rows.h"
#include "script/quantized.h"
#include "script/views/squeeze.h"

namespace flambeau::script {

using torchscript::Constant;

bool IsOnNumbers(const torchscript::Node& node) {
  return !NumberOperator(node.kind).empty() || FindTensorFunction(node.kind) != nullptr;
}

// Whether something translates the operator for some arguments.
bool Evaluator::HasTranslation(const Node& node) const {
  if (node.kind.starts_with("prim::") || IsOnNumbers(node)) return true;
  if (FindBuiltin(node.kind) != nullptr || FindBuiltinOnQuantized(node.kind) != nullptr) return true;
  const std::string name = OperatorName(node);
  const aten::Schema* schema = aten::FindSchema(name);
  // What writes has a pure counterpart, or not: functionalisation knows.
  return custom_.Handles(name) || (schema != nullptr && (schema->has_writes() || lower::FindOp(name) != nullptr || aten::FindEquivalent(name)));
}

Result<Vals> Evaluator::Evaluate(const Node& node) {
  ContextScope scope(sink_, At(node));
  Vals arguments;
  for (const torchscript::Value* input : node.inputs) arguments.push_back(emitter_.Settled(ValueOf(input)));
  if (node.kind == "prim::Loop") {  // hands on what it is given
    emitter_.SetOrigin(OriginOf(node));
    return Loop(node, arguments);
  }
  const BuiltinRow* builtin = FindBuiltinRow(node.kind);
  const uint8_t traits = builtin != nullptr ? builtin->traits : 0;
  const auto lost = std::ranges::find_if(arguments, [&](const Val& each) { return IsLost(each); });
  if (lost != arguments.end() && !(traits & kTakesLost)) return ReadsLost(*lost);
  const auto undefined = std::ranges::find_if(arguments, &Val::Is<Undefined>);
  if (undefined != arguments.end() && !(traits & kTakesUndefined)) {
    if (!sink_.HasErrors()) return UsesUndefined(*undefined->As<Undefined>());
    if (!HasTranslation(node)) return sink_.Error(DiagnosticKind::kUnsupportedOperator, fmt::format("{} has no translation", OperatorName(node)));
    return kFailure;
  }
  emitter_.SetOrigin(OriginOf(node));
  FLAMBEAU_TRY(std::optional<Vals> along, OnEachNumber(node, arguments));
  if (along) return *std::move(along);
  if (Squeeze::Is(node)) {
    FLAMBEAU_TRY(std::optional<Vals> squeezed, Squeeze(*this, node, arguments).AtRunTime());
    if (squeezed) return *std::move(squeezed);
  }
  if (node.kind == "prim::fork" && node.blocks.size() == 1) return EvaluateBlock(*node.blocks[0]);  // a model has one thread
  const size_t reported = sink_.diagnostics().size();
  auto results = Dispatch(node, arguments);
  if (!results) return tried_.contains(&node) || emitter_.IsNested() ? RaiseIfPyTorchDoes(node, reported) : kFailure;
  if (std::ranges::any_of(*results, [&](const Val& each) { return IsTooLong(each); })) return TooLong();
  return results;
}

namespace {

// Whether the text, or its part, is known at run time only.
bool HasRunTimeText(std::span<const Val> arguments) {
  return std::ranges::any_of(arguments.first(std::min<size_t>(arguments.size(), 2)), [](const Val& each) {
    const auto* text = each.As<std::string>();
    return text != nullptr && text->find(kRunTimeText) != std::string::npos;
  });
}

}  // namespace

Result<Vals> Evaluator::Dispatch(const Node& node, std::span<const Val> arguments) {
  const BuiltinRow* builtin = FindBuiltinRow(node.kind);
  const uint8_t traits = builtin != nullptr ? builtin->traits : 0;
  if ((traits & kReadsText) && HasRunTimeText(arguments)) return UnknownText(*this);
  const bool tensors = std::ranges::any_of(arguments, [](const Val& each) { return each.Is<TensorVal>(); });
  if (tensors && custom_.Overrides(OperatorName(node))) return CallOperator(node, arguments);
  if (std::ranges::any_of(arguments, [&](const Val& each) { return HoldsQuantized(each, heap_); }))
    if (const Builtin on_quantized = FindBuiltinOnQuantized(node.kind)) return on_quantized(*this, node, arguments);
  if (WantsRows(node, arguments, heap_)) return OnRows(*this, node, arguments);
  if (WantsColumns(node, arguments, heap_)) return OnColumns(*this, node, arguments);
  if (builtin == nullptr) return CallOperator(node, arguments);
  const auto optional = std::ranges::find_if(arguments, &Val::Is<OptionalVal>);
  if (optional != arguments.end() && !(traits & kTakesOptionals)) return CallOnEachPath(node, optional->As<OptionalVal>()->present);
  return builtin->function(*this, node, arguments);
}

// A trace's results, each as [dtype, size, …]. None if it is not so.
std::vector<Type> Evaluator::RecordedResults(const Node& node) {
  std::vector<Type> types;
  const Constant* recorded = node.Find("recorded");
  const auto* results = recorded != nullptr ? std::get_if<torchscript::ListConstant>(&recorded->value) : nullptr;
  if (results == nullptr) return types;
  for (const Constant& result : results->elements) {
    const auto* numbers = std::get_if<torchscript::ListConstant>(&result.value);
    const auto* code = numbers != nullptr && !numbers->elements.empty() ? std::get_if<int64_t>(&numbers->elements[0].value) : nullptr;
    const auto dtype = code != nullptr ? DTypeFromTorchCode(*code) : std::nullopt;
    if (!dtype) return {};
    Type type = Type::OfTensor(*dtype, {});
    for (size_t i = 1; i < numbers->elements.size(); ++i) {
      const auto* size = std::get_if<int64_t>(&numbers->elements[i].value);
      if (size == nullptr) return {};
      type.sizes.push_back(context().exprs().Constant(*size));
    }
    types.push_back(std::move(type));
  }
  return types;
}

// Of an int, TorchScript makes a float in some places where Python does not: 2 ** n, round(n).
Result<Vals> Evaluator::CallOnNumbers(const Node& node, std::span<const Val> arguments) {
  const aten::Schema* declared = aten::FindSchema(OperatorName(node));
  // Of a Scalar the schema leaves it open; round makes a float of each.
  const bool floats = node.kind == "aten::round" || (declared != nullptr && declared->returns.size() == 1 &&
                                                     declared->returns[0].type.base == aten::BaseType::kFloat);
  auto as_float = [&](Val value) -> Result<Val> {
    const auto* number = value.As<NumberVal>();
    const bool integer = value.Is<int64_t>() || (number != nullptr && emitter_.TypeOf(number->id).kind == TypeKind::kInt);
    if (!floats || !integer) return value;
    return emitter_.Call1("torch::sym_float", {std::move(value)});
  };
  Val result;
  if (const std::string_view op = NumberOperator(node.kind); !op.empty()) {
    const aten::Schema* schema = aten::FindSchema(op);
    Vals operands;
    for (const Val& argument : arguments.first(std::min(arguments.size(), schema->arguments.size()))) {
      FLAMBEAU_TRY(Val operand, as_float(argument));
      operands.push_back(std::move(operand));
    }
    FLAMBEAU_TRY(result, emitter_.Call1(op, operands));
    if (node.kind == "aten::log" && arguments.size() == 2) {  // to a base
      FLAMBEAU_TRY(const Val base, emitter_.Call1(op, arguments.subspan(1)));
      FLAMBEAU_TRY(result, emitter_.Call1("_operator::truediv", {result, base}));
    }
  } else {
    const TensorFunction& function = *FindTensorFunction(node.kind);
    Vals tensors;
    for (const Val& argument : arguments) {
      FLAMBEAU_TRY(Val tensor, emitter_.Call1("aten::scalar_tensor", {argument, int64_t{Info(function.dtype).torch_code}}));
      tensors.push_back(std::move(tensor));
    }
    FLAMBEAU_TRY(const Val computed, emitter_.Call1(function.op, tensors));
    FLAMBEAU_TRY(result, emitter_.Call1("aten::item", {computed}));
  }
  FLAMBEAU_TRY(result, as_float(std::move(result)));
  return Vals{std::move(result)};
}

Result<Vals> Evaluator::CallOperator(const Node& node, std::span<const Val> arguments) {
  Vals with_number;
  if (const TensorData* constant = ConstantNumber(node)) {
    with_number.assign(arguments.begin(), arguments.end());
    FLAMBEAU_TRY(with_number[1], NumberOf(*constant, arguments[1]));
    arguments = with_number;
  }
  const bool stand_ins = std::ranges::any_of(arguments, [&](const Val& each) { return number_stand_ins_.Contains(each); });
  return stand_ins ? CallOnStandIns(node, arguments) : CallOnValues(node, arguments);
}

Result<Vals> Evaluator::CallOnValues(const Node& node, std::span<const Val> arguments) {
  Vals settled;
  for (const Val& argument : arguments) {
    const auto known = argument.Is<NumberVal>() ? KnownBool(argument) : std::nullopt;
    settled.push_back(known ? Val(*known) : argument);
  }
  const bool numbers = !settled.empty() && std::ranges::all_of(settled, &Val::IsNumber);
  if (numbers && IsOnNumbers(node)) return CallOnNumbers(node, settled);
  if (const auto condition = WhatDecides(node, settled)) return CallOnEachPath(node, *condition);
  const std::string name = OperatorName(node);
  const auto equivalent = custom_.Overrides(name) ? std::nullopt : aten::FindEquivalent(name);
  return equivalent ? CallEquivalent(*this, *equivalent, name, settled) : emitter_.Call(name, settled, RecordedResults(node));
}

}  // namespace flambeau::script
