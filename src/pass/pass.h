// What a pass is: a function that changes a graph, and its row in a list.
//
// ATen passes work on the program (graph and signature), ONNX passes on the
// graph alone; nothing else differs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "aten/program.h"
#include "diag/sink.h"
#include "ir/graph.h"
#include "support/result.h"

namespace flambeau {

enum class Changed : uint8_t { kNo, kYes };

struct PassContext {
  Sink& sink;
  bool state_outputs = false;  // new values of mutated buffers and inputs stay outputs
  int opset = 0;  // of the ONNX graph
  // Weights are to stay the bytes that they are, because the model will point
  // at them where they lie.
  bool keep_weights = false;
  std::optional<uint64_t> seed = {};  // of the draws of the ONNX graph
};

template <class Subject>
struct PassRow {
  std::string_view name;  // "functionalize"
  std::string_view description;
  Result<Changed> (*run)(Subject&, PassContext&);
};

using AtenPass = PassRow<Program::Impl>;
using OnnxPass = PassRow<Graph>;

}  // namespace flambeau
