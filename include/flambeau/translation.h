/// \file
/// Translations that a user brings: of operators that Flambeau lacks, or instead
/// of its own.
///
///   options.translations.push_back({"mylib::swish", [](const OperatorCall& call) {
///     return Translation{.model = MakeSwish(call.operands[0].dtype)};
///   }});
///
/// "mylib::swish" is the overload without a name, "mylib::swish.out" that one,
/// "mylib::swish.*" every overload that no other entry names, "mylib::*" every
/// operator of the namespace.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flambeau/diagnostic.h"
#include "flambeau/program.h"

namespace flambeau {

/// One call of an operator in the captured program. Views live during the call.
struct OperatorCall {
  struct Value {
    std::string name;
    std::string dtype;               ///< PyTorch's word: "float32"
    bool ranked = true;
    std::vector<std::string> sizes;  ///< "3", "batch", "2*batch + 1", "?"
  };

  std::string_view op;  ///< "aten::relu", "mylib::foo.overload"
  Location location;    ///< its module, source line and operator, as diagnostics have them
  std::string_view node;  ///< its name in the captured program, which diagnostics note; may be empty
  int opset = 0;
  std::vector<Value> operands;
  /// Every argument, in the schema's order. ValueHandle{i} is operand i.
  std::vector<std::pair<std::string_view, Argument>> arguments;
  std::vector<Value> results;  ///< as the capture recorded them; a script records none
};

/// An ONNX model that does what the call does: its input i is operand i, its
/// output i is result i. It becomes part of the graph.
struct Translation {
  std::string model;  ///< a serialized ModelProto
  std::string error;  ///< why there is none; reported with the call's place
  bool declined = false;  ///< the call is left to Flambeau's own translation
  /// Which result each output of the model is; empty: they are in order. A
  /// result that is none of them must be one that nobody reads.
  std::vector<uint32_t> results;
};

using Translator = std::function<Translation(const OperatorCall&)>;

}  // namespace flambeau
