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
  fmt::print("  {:<9} {}: {}\n", tensor.kind, tensor.name,
             tensor.type.empty() ? fmt::format("{}[{}]", tensor.dtype, fmt::join(tensor.sizes, ", ")) : tensor.type);
}

void PrintOperators(const std::vector<ProgramSummary::Operator>& operators) {
  size_t missing = 0, nodes = 0;
  for (const auto& op : operators) {
    missing += !op.supported;
    nodes += op.count;
  }
  fmt::print("\noperators: {} nodes, {} kinds, {} not supported\n", nodes, operators.size(), missing);
  for (const auto& op : operators) fmt::print("  {:>6} {}{}\n", op.count, op.name, op.supported ? "" : "   NOT SUPPORTED");
}

void PrintHowToDescribe(const std::vector<std::pair<std::string, std::string>>& undescribed) {
  fmt::print("\nTorchScript records neither dtypes nor sizes. To see the operators, and to convert, describe the inputs:\n");
  for (const auto& [name, example] : undescribed) fmt::print("  --input \"{}={}\"\n", name, example);
}

int RunInspect(InspectArguments& arguments) {
  std::vector<Diagnostic> diagnostics;
  arguments.options.inputs = Inputs(arguments.inputs);
  const std::optional<ProgramSummary> found = SummarizeFile(arguments.source, diagnostics, arguments.options);
  if (!found) return Conclude(false, diagnostics, false, false);
  const ProgramSummary& summary = *found;
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
  if (summary.undescribed.empty())
    PrintOperators(summary.operators);
  else
    PrintHowToDescribe(summary.undescribed);
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
