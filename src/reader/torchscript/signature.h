// Operators as the resolution of overloads sees them: TorchScript types and
// constants, in the order in which PyTorch registered them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reader/torchscript/graph.h"

namespace flambeau::torchscript {

struct FormalArgument {
  std::string name;
  TypePtr type;
  int list_size = 0;  // "int[2]": a single number stands for two
  bool keyword_only = false;
  std::optional<Constant> default_value;
};

struct FormalResult {
  std::string name;  // may be empty
  TypePtr type;
};

// Of an operator, or of a function of the archive.
struct Signature {
  std::string name;      // "aten::add"; "__torch__.model.Net.forward"
  std::string overload;  // "Tensor"; may be empty
  std::vector<FormalArgument> arguments;
  std::vector<FormalResult> results;
  bool variadic = false;         // takes further arguments of any type
  bool variadic_results = false;
};

// nullopt if the text is no schema.
std::optional<Signature> ParseSignature(std::string_view schema);

// The overloads of "aten::add" in registration order; empty if there are none.
// The addresses are stable; thread-safe.
const std::vector<Signature>& FindOverloads(std::string_view name);

}  // namespace flambeau::torchscript
