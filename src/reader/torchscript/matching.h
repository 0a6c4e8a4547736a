// Which overload a call means, and what its arguments have to become.
//
// As PyTorch does it: overloads are tried in registration order, first without
// and then with implicit conversions; the first that fits is meant. Nothing is
// emitted here: a match says what is to be made of the values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reader/torchscript/signature.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {

struct Operand {
  enum class Make : uint8_t {
    kValue,     // `value`, or element `element` of the tuple around
    kConstant,  // `constant`
    kCall,      // operator `callee` of parts[0]
    kList,      // a list of the parts
    kListOfTuple,   // of a tuple's converted elements
    kTupleOfTuple,  // likewise
  };
  TypePtr type;
  Make make = Make::kValue;
  Value* value = nullptr;
  size_t element = 0;
  bool empty_list = false;  // a literal `[]`, which may be a list of anything
  std::string_view callee;
  Constant constant;
  std::vector<Operand> parts;

  static Operand Of(Value* value) { return {.type = value->type, .value = value}; }
};

struct NamedOperand {
  std::string_view name;
  Operand operand;
};

struct Match {
  const Signature* signature = nullptr;
  std::vector<Operand> arguments;  // one a formal argument; then those of a variadic operator
  std::vector<TypePtr> results;
};

// `value` as a `type`, if it can be one; else as far as it goes.
Operand Convert(Operand value, const TypePtr& type, bool implicit);

// `*why` says for each overload why it does not fit.
std::optional<Match> MatchOverloads(std::span<const Signature* const> overloads, std::span<const Operand> positional,
                                    std::span<const NamedOperand> named, std::string* why);

}  // namespace flambeau::torchscript
