#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "flambeau/convert.h"

namespace flambeau::cli {
namespace {

struct InspectArguments {
  std::string source;
  std::vector<std::string> inputs;
  Options options;
  bool weights = false;
};

void PrintTensor(const ProgramSummary::Tensor& tensor) {
  fmt::print("  {:<9} {}: {}[{}]\n", tensor.kind, tensor.name, tensor.dtype, fmt::join(tensor.sizes, ", "));
}

int RunInspect(InspectArguments& arguments) {
  std::vector<Diagnostic> diagnostics;
  arguments.options.inputs = Inputs(arguments.inputs);
  const auto program = ReadProgram(arguments.source, diagnostics, arguments.options);
  if (!program) return Conclude(false, diagnostics, false, false);
  const ProgramSummary summary = Summarize(*program);
  fmt::print("{}\n  saved by torch {}\n", arguments.source, summary.torch_version.empty() ? "(not recorded)" : summary.torch_version);
  if (summary.alternatives.size() > 1) fmt::print("  this is one of: {}\n", fmt::join(summary.alternatives, ", "));
  fmt::print("\ninputs and outputs\n");
  for (const auto& tensor : summary.inputs) PrintTensor(tensor);
  for (const auto& tensor : summary.outputs) PrintTensor(tensor);
  if (!summary.dims.empty()) fmt::print("\ndynamic dimensions\n");
  for (const auto& [symbol, range] : summary.dims) fmt::print("  {:<9} {}\n", symbol, range);
  fmt::print("\nweights: {} tensors, {:.1f} MB\n", summary.weights.size(), static_cast<double>(summary.weight_bytes) / 1e6);
  if (arguments.weights)
    for (const auto& tensor : summary.weights) PrintTensor(tensor);
  if (!summary.extra_files.empty()) fmt::print("\nextra files\n");
  for (const auto& [name, size] : summary.extra_files) fmt::print("  {:<9} {}\n", fmt::format("{} B", size), name);
  size_t missing = 0, nodes = 0;
  for (const auto& op : summary.operators) {
    missing += !op.supported;
    nodes += op.count;
  }
  fmt::print("\noperators: {} nodes, {} kinds, {} not supported\n", nodes, summary.operators.size(), missing);
  for (const auto& op : summary.operators) fmt::print("  {:>6} {}{}\n", op.count, op.name, op.supported ? "" : "   NOT SUPPORTED");
  return Conclude(true, diagnostics, false, false);
}

}  // namespace

Run AddInspect(CLI::App& app) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = app.add_subcommand("inspect", "Say what an archive takes, holds and calls.");
  command->add_option("model", arguments->source, "the archive")->required();
  AddChoiceOptions(*command, arguments->options);
  AddInputOption(*command, arguments->inputs);
  command->add_flag("--weights", arguments->weights, "list the parameters and buffers");
  return [arguments] { return RunInspect(*arguments); };
}

}  // namespace flambeau::cli
