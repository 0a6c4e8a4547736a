// Follows a conversion and fills the report of it.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "aten/program.h"
#include "flambeau/report.h"
#include "onnx/model.h"

namespace flambeau {

class Recorder {
 public:
  // The program as it was read.
  void Begin(const Program::Impl& program);
  // A stage ended; nodes that are new in the ONNX graph were made by it.
  void After(std::string_view stage, std::string_view description, const Graph& graph);
  void Finish(const onnx::ModelData& model);
  // The report of what was seen. Captured nodes that a diagnostic names are marked.
  ConversionReport Take(const std::vector<Diagnostic>& diagnostics);

 private:
  using Clock = std::chrono::steady_clock;

  uint32_t ModuleOf(const Context& context, const Origin& origin);
  uint32_t StageOf(NodeId node) const;
  uint32_t CapturedAs(NodeId node) const;

  ConversionReport report_;
  Clock::time_point start_ = Clock::now(), last_ = start_;
  uint64_t nodes_ = 0;
  std::map<std::pair<Symbol, Symbol>, uint32_t> modules_;  // by path and class
  std::vector<uint32_t> captured_;                         // by node of the graph as it was read; kNone of what it lacks
  struct Watermark {
    uint32_t capacity, stage;
  };
  std::vector<Watermark> made_;  // of the ONNX graph, rising
};

}  // namespace flambeau
