#include "script/inputs/given_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "script/specialize.h"

namespace flambeau::script {
namespace {

// Null where the type does not say.
const torchscript::Type* TypeOfElement(const torchscript::Type* type, size_t i) {
  using enum torchscript::TypeKind;
  if (type == nullptr || (type->kind != kTuple && type->kind != kList)) return nullptr;
  const size_t place = type->kind == kTuple ? i : 0;
  return place < type->elements.size() ? type->elements[place].get() : nullptr;
}

bool IsOneNumber(torchscript::TypeKind kind) {
  using enum torchscript::TypeKind;
  return kind == kInt || kind == kFloat || kind == kBool || kind == kNumber;
}
bool MayBeNumber(const torchscript::Type& type) {
  using enum torchscript::TypeKind;
  return type.kind == kAny || (type.kind == kUnion && std::ranges::any_of(type.elements, [](const auto& each) { return IsOneNumber(each->kind); }));
}
bool IsNumber(const torchscript::Type& type) {
  using enum torchscript::TypeKind;
  if (type.kind != kUnion) return IsOneNumber(type.kind);
  return MayBeNumber(type) && std::ranges::none_of(type.elements, [](const auto& each) { return each->kind == kTensor || each->kind == kOptional; });
}

}  // namespace

Result<Val> GivenValues::Make(const ScriptInput& input, const std::string& name, const torchscript::Type* type) {
  const std::string own = input.name.empty() ? name : input.name;
  if (type != nullptr && type->kind == torchscript::TypeKind::kOptional && !type->elements.empty()) type = type->elements[0].get();
  switch (input.kind) {
    case ScriptInput::Kind::kConstant: {
      FLAMBEAU_TRY(torchscript::Constant constant, ImportConstant(input.constant, sink_));
      auto* member = std::get_if<torchscript::EnumConstant>(&constant.value);  // of what is declared, wherever its class is now
      if (member != nullptr && type != nullptr && type->kind == torchscript::TypeKind::kEnum) member->class_name = type->name;
      return evaluator_.Import(constant, own);
    }
    case ScriptInput::Kind::kTensor: {
      FLAMBEAU_TRY(Val value, MakeTensor(input, own));
      if (type == nullptr || !(IsNumber(*type) || (input.number && MayBeNumber(*type)))) {
        if (input.number) evaluator_.number_stand_ins().Note(value);
        return value;
      }
      return evaluator_.emit().Call1("aten::item", {std::move(value)});
    }
    default: break;
  }
  Vals elements;
  for (size_t i = 0; i < input.elements.size(); ++i) {
    FLAMBEAU_TRY(Val element, Make(input.elements[i], fmt::format("{}.{}", own, i), TypeOfElement(type, i)));
    elements.push_back(std::move(element));
  }
  if (input.kind == ScriptInput::Kind::kTuple) return Evaluator::Tuple(std::move(elements));
  if (input.kind == ScriptInput::Kind::kList) return evaluator_.List(std::move(elements));
  Cell cell;
  for (size_t i = 0; i < elements.size() && i < input.keys.size(); ++i) {
    FLAMBEAU_TRY(const torchscript::Constant key, ImportConstant(input.keys[i], sink_));
    cell.entries.emplace_back(evaluator_.Import(key, own), std::move(elements[i]));
  }
  return Val(DictVal{evaluator_.heap().Add(std::move(cell))});
}

Result<Val> GivenValues::MakeTensor(const ScriptInput& input, const std::string& name) {
  const auto dtype = DTypeFromTorchCode(input.dtype);
  if (!dtype) return sink_.Error(DiagnosticKind::kBadOption, fmt::format("input '{}' has an unknown dtype", name));
  ExprPool& exprs = evaluator_.context().exprs();
  Type type = Type::OfTensor(*dtype, {});
  for (const auto& size : input.sizes) {
    if (const auto* constant = std::get_if<int64_t>(&size)) {
      if (*constant < 0) return sink_.Error(DiagnosticKind::kBadOption, fmt::format("input '{}' has the size {}", name, *constant));
      type.sizes.push_back(exprs.Constant(*constant));
    } else {
      const std::string& symbol_name = std::get<std::string>(size);
      const Expr symbol = exprs.Symbolic(symbol_name);
      exprs.SetRange(symbol, {0, INT64_MAX});
      if (type.sizes.size() < input.captured.size()) evaluator_.SetCaptured(symbol, input.captured[type.sizes.size()]);
      // Where the input of that name is, it keeps it.
      program_.dimension_names.push_back({tensors_, type.sizes.size(), symbol_name, {}});
      type.sizes.push_back(symbol);
    }
  }
  ++tensors_;
  return Val(TensorVal{evaluator_.emit().AddInput(InputKind::kUser, name, std::move(type))});
}

}  // namespace flambeau::script
