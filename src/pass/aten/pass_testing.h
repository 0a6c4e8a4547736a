// Runs passes on graphs in text, for golden tests.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

#include "aten/program.h"
#include "ir/parse.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "pass/pass.h"

namespace flambeau {

struct Outcome {
  std::string text;         // of the graph afterwards
  std::string diagnostics;  // one a line: slug: message
  Program::Impl program;
};

// Inputs of the graph count as user inputs, named constants as buffers.
inline std::unique_ptr<Outcome> RunOn(std::string_view text,
                                      std::initializer_list<Result<Changed> (*)(Program::Impl&, PassContext&)> passes) {
  auto outcome = std::make_unique<Outcome>();
  Sink sink;
  Program::Impl& program = outcome->program;
  auto graph = ParseGraph(text, *program.context, sink);
  if (graph) {
    program.graph = std::move(*graph);
    const Graph& parsed = program.graph;
    for (const ValueId input : parsed[parsed.main()].inputs)
      program.inputs.push_back({InputKind::kUser, input, parsed[input].name, {}});
    for (uint32_t i = 0; i < parsed.value_capacity(); ++i)
      if (const ValueId value{i}; parsed[value].kind == ValueKind::kConstant)
        program.inputs.push_back({InputKind::kBuffer, value, parsed[value].name, parsed[value].name});
    for (uint32_t i = 0; i < parsed.output_count(parsed.main()); ++i)
      program.outputs.push_back({OutputKind::kUser, {}, {}});
    PassContext context{sink};
    for (auto* pass : passes)
      if (!pass(program, context)) break;
    if (!sink.HasErrors() && VerifyGraph(program.graph, sink)) outcome->text = PrintGraph(program.graph);
  }
  for (const Diagnostic& diagnostic : sink.diagnostics())
    outcome->diagnostics += std::string(Slug(diagnostic.kind)) + ": " + diagnostic.message + "\n";
  return outcome;
}

}  // namespace flambeau
