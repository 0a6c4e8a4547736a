// The pure counterpart of an operator that writes: add_.Tensor -> add.Tensor,
// sum.IntList_out -> sum.dim_IntList. Found by signature in PyTorch's schemas,
// so there is no list to keep. A user's operator that writes is its own pure
// counterpart, under a name that says so: what it writes are further results.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "aten/schema.h"
#include "support/dtype.h"

namespace flambeau::aten {

struct PureForm {
  static constexpr int kDefault = -1;   // the schema's default
  static constexpr int kOutDtype = -2;  // the dtype of what is written

  const Schema* schema;
  // For each argument of the pure operator: the argument of the impure one.
  std::vector<int> arguments;
  // What was written are the last results, in the order of the arguments.
  uint32_t written;
};

// `pure`: the operator to take, if that is known. nullopt if there is none.
// Declares the schema of a user's, where the user's own is declared.
std::optional<PureForm> FindPureForm(const Schema& impure, std::string_view pure, uint32_t written);

// "mylib::foo.functionalized" -> "mylib::foo", "mylib::foo.out__functionalized"
// -> "mylib::foo.out"; other names are as they are.
std::string_view WithoutFunctionalized(std::string_view op);

// How the dtype of a pure elementwise result comes about, where it may differ
// from that of the written tensor, to which eager PyTorch then casts.
// kFloat: promoted, and then a float if it is an integer.
enum class ResultDtype : uint8_t { kSame, kBool, kPromoted, kFloat, kDouble };
ResultDtype ResultDtypeOf(const Schema& schema);

// c10::promoteTypes.
DType PromoteTypes(DType a, DType b);

}  // namespace flambeau::aten
