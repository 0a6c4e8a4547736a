// Runs ONNX passes on graphs in text, for golden tests.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "pass/onnx/passes.h"

namespace flambeau {

using OnnxPassFunction = Result<Changed> (*)(Graph&, PassContext&);

// The text of the graph afterwards, or what was reported.
inline std::string After(std::string_view text, std::initializer_list<OnnxPassFunction> passes,
                         bool keep_weights = false, int opset = 20) {
  Context context;
  Sink sink;
  std::string result;
  PassContext pass_context{sink};
  pass_context.opset = opset;
  pass_context.keep_weights = keep_weights;
  if (auto graph = ParseGraph(text, context, sink)) {
    for (const OnnxPassFunction pass : passes)
      if (!pass(*graph, pass_context)) break;
    if (!sink.HasErrors() && VerifyGraph(*graph, sink)) result = PrintGraph(*graph);
  }
  for (const Diagnostic& diagnostic : sink.diagnostics())
    result += diagnostic.location.source + diagnostic.message + "\n";
  return result;
}

inline std::string Simplified(std::string_view text) { return After(text, {&Simplify}); }

}  // namespace flambeau
