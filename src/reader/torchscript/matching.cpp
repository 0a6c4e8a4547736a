#include "reader/torchscript/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace flambeau::torchscript {
namespace {

bool ConvertibleToList(const Type& type, const Type& list) {
  if (list.kind != TypeKind::kList || list.elements.empty()) return false;
  if (IsSubtype(type, list)) return true;
  return type.kind == TypeKind::kTuple && std::ranges::all_of(type.elements, [&](const TypePtr& element) {
           return IsSubtype(*element, *list.elements[0]);
         });
}

Operand Call(std::string_view callee, Operand operand, TypePtr result) {
  Operand call = {.type = std::move(result), .make = Operand::Make::kCall, .callee = callee};
  call.parts.push_back(std::move(operand));
  return call;
}

// The elements of a tuple, to be converted one by one.
std::vector<Operand> Elements(const Operand& tuple) {
  std::vector<Operand> elements;
  for (size_t i = 0; i < tuple.type->elements.size(); ++i)
    elements.push_back({.type = tuple.type->elements[i], .element = i});
  return elements;
}

// Operators that turn a tensor, a number of unknown type or a bool into a number.
std::string_view ConversionToNumber(TypeKind from, TypeKind to) {
  const auto pick = [to](std::string_view integer, std::string_view real, std::string_view complex) {
    return to == TypeKind::kInt ? integer : to == TypeKind::kFloat ? real : to == TypeKind::kComplex ? complex : std::string_view();
  };
  switch (from) {
    case TypeKind::kTensor:
      return to == TypeKind::kNumber ? "aten::ScalarImplicit"
                                     : pick("aten::IntImplicit", "aten::FloatImplicit", "aten::ComplexImplicit");
    case TypeKind::kNumber: return pick("aten::Int", "aten::Float", "aten::Complex");
    case TypeKind::kBool:
      return to == TypeKind::kNumber ? "aten::Int" : pick("aten::Int", "aten::Float", "");
    default: return {};
  }
}

class Matcher {
 public:
  Matcher(const Signature& signature, std::span<const Operand> positional, std::span<const NamedOperand> named,
          bool implicit)
      : signature_(signature), positional_(positional), named_(named), implicit_(implicit) {}

  std::optional<Match> Run(std::string* why) {
    Match match = {.signature = &signature_};
    std::vector<bool> used(named_.size());
    size_t next = 0;
    for (size_t i = 0; i < signature_.arguments.size(); ++i) {
      const FormalArgument& formal = signature_.arguments[i];
      std::optional<Operand> actual;
      if (!formal.keyword_only && next < positional_.size()) {
        if (implicit_ && TakesRest(i)) {
          const TypePtr& list = Unwrap(formal.type);
          const Type& first = *positional_[next].type;
          if (first.kind != TypeKind::kList && !ConvertibleToList(first, *list)) {
            std::optional<Operand> rest = MakeList(list->elements[0], positional_.subspan(next));
            if (!rest) return Fail(why, formal, positional_[next].type);
            match.arguments.push_back(*std::move(rest));
            next = positional_.size();
            continue;
          }
        }
        actual = positional_[next++];
      } else if (const auto found = std::ranges::find(named_, formal.name, &NamedOperand::name); found != named_.end()) {
        actual = found->operand;
        used[static_cast<size_t>(found - named_.begin())] = true;
      } else if (formal.default_value) {
        match.arguments.push_back(
            {.type = formal.type, .make = Operand::Make::kConstant, .constant = *formal.default_value});
        continue;
      } else {
        *why = fmt::format("the argument '{}' is missing", formal.name);
        return std::nullopt;
      }
      std::optional<Operand> fit = Fit(formal, *actual);
      if (!fit) return Fail(why, formal, actual->type);
      match.arguments.push_back(*std::move(fit));
    }
    if (next < positional_.size() && !signature_.variadic) {
      *why = fmt::format("it takes {} arguments, not {}", signature_.arguments.size(), positional_.size());
      return std::nullopt;
    }
    for (; next < positional_.size(); ++next) match.arguments.push_back(positional_[next]);
    if (const auto unused = std::ranges::find(used, false); unused != used.end()) {
      *why = fmt::format("it has no argument '{}'", named_[static_cast<size_t>(unused - used.begin())].name);
      return std::nullopt;
    }
    for (const FormalResult& result : signature_.results) {
      TypePtr type = Substitute(result.type, variables_);
      if (!type) {
        *why = "the type of its result is not known";
        return std::nullopt;
      }
      match.results.push_back(std::move(type));
    }
    return match;
  }

 private:
  static std::optional<Match> Fail(std::string* why, const FormalArgument& formal, const TypePtr& actual) {
    *why = fmt::format("the argument '{}' is {}, not {}", formal.name, Text(*formal.type), Text(*actual));
    return std::nullopt;
  }

  // Do all further positional arguments make one list: zeros(1, 2)?
  bool TakesRest(size_t index) const {
    const FormalArgument& formal = signature_.arguments[index];
    const bool last = index + 1 == signature_.arguments.size() || signature_.arguments[index + 1].keyword_only;
    const Type& list = *Unwrap(formal.type);
    return last && formal.list_size == 0 && list.kind == TypeKind::kList && !list.elements.empty() &&
           list.elements[0]->kind != TypeKind::kVariable;
  }

  std::optional<Operand> MakeList(const TypePtr& element, std::span<const Operand> values) {
    Operand list = {.type = ListOf(element), .make = Operand::Make::kList};
    for (const Operand& value : values) {
      std::optional<Operand> part = Fit({.name = "", .type = element}, value);
      if (!part) return std::nullopt;
      list.parts.push_back(*std::move(part));
    }
    return list;
  }

  std::optional<Operand> Fit(const FormalArgument& formal, Operand actual) {
    const Type& wanted = *Unwrap(formal.type);
    if (formal.list_size > 0 && wanted.kind == TypeKind::kList &&
        (actual.type->kind == TypeKind::kInt || actual.type->kind == TypeKind::kFloat) &&
        (wanted.elements[0]->kind == actual.type->kind)) {
      Operand list = {.type = ListOf(actual.type), .make = Operand::Make::kList};
      list.parts.assign(static_cast<size_t>(formal.list_size), actual);
      actual = std::move(list);
    }
    if (!MatchVariables(formal.type, actual.type, &variables_)) return std::nullopt;
    const TypePtr concrete = Substitute(formal.type, variables_);
    if (!concrete) return std::nullopt;
    Operand converted = Convert(std::move(actual), concrete, implicit_);
    if (!IsSubtype(*converted.type, *concrete)) return std::nullopt;
    return converted;
  }

  const Signature& signature_;
  std::span<const Operand> positional_;
  std::span<const NamedOperand> named_;
  const bool implicit_;
  TypeVariables variables_;
};

}  // namespace

Operand Convert(Operand value, const TypePtr& type, bool implicit) {
  if (IsKind(type, TypeKind::kOptional) && !IsKind(value.type, TypeKind::kOptional) &&
      !IsKind(value.type, TypeKind::kNone))
    return Convert(std::move(value), type->elements[0], implicit);
  if (value.empty_list && IsKind(type, TypeKind::kList)) return {.type = type, .make = Operand::Make::kList};
  if (IsKind(value.type, TypeKind::kTuple) && !IsSubtype(*value.type, *type)) {
    const Type& list = *Unwrap(type);
    if (ConvertibleToList(*value.type, list)) {
      Operand made = {.type = Unwrap(type), .make = Operand::Make::kListOfTuple};
      made.parts = Elements(value);
      made.parts.insert(made.parts.begin(), std::move(value));
      return made;
    }
    if (IsKind(type, TypeKind::kTuple) && type->elements.size() == value.type->elements.size()) {
      Operand made = {.make = Operand::Make::kTupleOfTuple};
      made.parts = Elements(value);
      std::vector<TypePtr> elements;
      for (size_t i = 0; i < made.parts.size(); ++i) {
        made.parts[i] = Convert(std::move(made.parts[i]), type->elements[i], implicit);
        elements.push_back(made.parts[i].type);
      }
      made.type = TupleOf(std::move(elements));
      if (IsSubtype(*made.type, *Type::Of(TypeKind::kTuple, type->elements))) made.type = type;  // perhaps named
      made.parts.insert(made.parts.begin(), std::move(value));
      return made;
    }
  }
  if (!implicit) return value;
  if (const std::string_view callee = ConversionToNumber(value.type->kind, type->kind); !callee.empty()) {
    const TypePtr result = callee == "aten::Int" ? IntType() : type;
    return Call(callee, std::move(value), result);
  }
  if (IsKind(value.type, TypeKind::kString) && IsKind(type, TypeKind::kDevice))
    return Call("aten::device", std::move(value), type);
  return value;
}

std::optional<Match> MatchOverloads(std::span<const Signature* const> overloads, std::span<const Operand> positional,
                                    std::span<const NamedOperand> named, std::string* why) {
  for (const bool implicit : {false, true}) {
    why->clear();
    for (const Signature* signature : overloads) {
      std::string reason;
      if (auto match = Matcher(*signature, positional, named, implicit).Run(&reason)) return match;
      *why += fmt::format("{}{}{}{}: {}", why->empty() ? "" : "; ", signature->name, signature->overload.empty() ? "" : ".",
                          signature->overload, reason);
    }
  }
  return std::nullopt;
}

}  // namespace flambeau::torchscript
