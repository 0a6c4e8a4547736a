// What an operator needs of one argument, by the kind of the need: rows of requirements.def are made of these.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lower/requirements.h"

namespace flambeau::lower {

constexpr int64_t kAny = std::numeric_limits<int64_t>::max();  // a number may be as large as that: even infinity

// A node and what is known of its arguments.
class Arguments {
 public:
  Arguments(const Lowering& to, NodeId node) : to_(to), node_(node) {}

  const Type* TensorType(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    const auto* operand = attribute ? std::get_if<Operand>(attribute) : nullptr;
    if (operand == nullptr) return nullptr;
    return TypeOf(*operand);
  }
  // Those of a list of tensors that are known.
  std::vector<const Type*> TensorTypes(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    const auto* list = attribute ? std::get_if<OperandList>(attribute) : nullptr;
    std::vector<const Type*> types;
    for (size_t i = 0; list && i < list->size(); ++i)
      if (const auto* operand = std::get_if<Operand>(&(*list)[i]))
        if (const Type* type = TypeOf(*operand)) types.push_back(type);
    return types;
  }
  // Whether it is a list of known length, each of whose elements may be known or not.
  bool HasList(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    if (attribute == nullptr) return false;
    return std::holds_alternative<Ints>(*attribute) || (std::holds_alternative<OperandList>(*attribute) && !HasOpenList(name));
  }
  // Whether it is a list of which only the run knows how long it is.
  bool HasOpenList(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    const auto* list = attribute ? std::get_if<OperandList>(attribute) : nullptr;
    return list && std::ranges::any_of(*list, [&](const ListElement& each) { return IsSequence(each); });
  }
  // A number, if it is known.
  std::optional<double> Real(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    if (const auto* number = attribute ? std::get_if<double>(attribute) : nullptr) return *number;
    const auto numbers = Numbers(name);
    return numbers.size() == 1 && numbers[0] ? std::optional(static_cast<double>(*numbers[0])) : std::nullopt;
  }
  // One number, or the elements of a list; nullopt for each that is not known.
  std::vector<std::optional<int64_t>> Numbers(std::string_view name) const {
    const Attribute* attribute = to_.aten().FindAttribute(node_, name);
    if (attribute == nullptr) return {};
    if (const auto* number = std::get_if<int64_t>(attribute)) return {*number};
    if (const auto* ints = std::get_if<Ints>(attribute)) return {ints->begin(), ints->end()};
    std::vector<std::optional<int64_t>> numbers;
    if (const auto* list = std::get_if<OperandList>(attribute))
      for (const ListElement& element : *list) numbers.push_back(NumberOf(element));
    return numbers;
  }
  const Context& context() const { return to_.aten().context(); }
  const ExprPool& exprs() const { return context().exprs(); }

 private:
  const Type* TypeOf(const Operand& operand) const {
    const ValueId value = to_.aten().operand(node_, operand.index);
    const Type* type = value ? &to_.aten().type(value) : nullptr;
    return type && type->is_tensor() ? type : nullptr;
  }
  bool IsSequence(const ListElement& element) const {
    const auto* operand = std::get_if<Operand>(&element);
    const ValueId value = operand ? to_.aten().operand(node_, operand->index) : ValueId{};
    return value && to_.aten().type(value).kind == TypeKind::kSequence;
  }
  std::optional<int64_t> NumberOf(const ListElement& element) const {
    if (const auto* number = std::get_if<int64_t>(&element)) return *number;
    const auto* operand = std::get_if<Operand>(&element);
    const ValueId value = operand ? to_.aten().operand(node_, operand->index) : ValueId{};
    if (!value || !to_.aten().type(value).contents) return std::nullopt;
    return exprs().AsConstant(to_.aten().type(value).contents->front());
  }

  const Lowering& to_;
  NodeId node_;
};

// A need, and the argument of which it is.
struct Asked {
  const Arguments& arguments;
  const Requirement& need;
  std::string_view name;
};

// What is lacking, as the rest of a sentence; nullopt where nothing is known to be wrong.
using Lack = std::optional<std::string>;
Lack LackOfTensor(const Asked& asked, const Type& type);
// Of a number, or of a list of them.
Lack LackOfNumbers(const Asked& asked);

}  // namespace flambeau::lower
