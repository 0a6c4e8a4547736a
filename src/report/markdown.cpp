// A conversion as Markdown, in the form that users of torch.onnx know.
#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "flambeau/report.h"
#include "report/grouped.h"

namespace flambeau {
namespace {

using Report = ConversionReport;

// Nothing in a table's cell may end it.
std::string Cell(std::string_view text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += "\\|";
    else if (c == '\n' || c == '\r') cell += ' ';
    else cell += c;
  }
  return cell;
}

std::string Code(std::string_view text) { return text.empty() ? "" : fmt::format("`{}`", Cell(text)); }

// "✅", "❌", or "⚪" where it was not tried.
std::string_view Mark(bool tried, bool fine) { return !tried ? "⚪" : fine ? "✅" : "❌"; }

// The captures that were tried, and those that torch.onnx would try after them.
void AppendAttempts(std::string* out, const Report& report) {
  static constexpr std::pair<std::string_view, std::string_view> kWays[] = {
      {"non-strict", "`torch.export.export(..., strict=False)`"},
      {"strict", "`torch.export.export(..., strict=True)`"},
      {"draft", "`torch.export.draft_export`"},
      {"torchscript", "TorchScript"},
  };
  for (const auto& [strategy, way] : kWays) {
    bool tried = false;
    for (const Report::Attempt& attempt : report.attempts) {
      if (!attempt.strategy.starts_with(strategy)) continue;
      tried = true;
      *out += fmt::format("{} Obtain model graph with {}{} ({:.1f} s)\n", Mark(true, attempt.error.empty()), way, attempt.strategy.substr(strategy.size()), attempt.seconds);
    }
    if (!tried && !report.attempts.empty() && strategy != "torchscript") *out += fmt::format("{} Obtain model graph with {}\n", Mark(false, false), way);
  }
}

void AppendStatus(std::string* out, const Report& report) {
  *out += "```\n";
  AppendAttempts(out, report);
  const bool converted = report.status == "converted" || report.status == "verification-failed";
  *out += fmt::format("{} Translate the graph into ONNX\n", Mark(report.status != "capture-failed", converted));
  const bool verified = !report.comparisons.empty();
  const bool accurate = std::all_of(report.comparisons.begin(), report.comparisons.end(), [](const auto& c) { return c.ok; });
  *out += fmt::format("{} Validate model output accuracy\n```\n\n", Mark(verified || report.status == "verification-failed", verified && accurate));
}

void AppendTensors(std::string* out, std::string_view title, const std::vector<Report::Tensor>& tensors) {
  if (tensors.empty()) return;
  *out += fmt::format("| {} | type | sizes |\n|---|---|---|\n", title);
  for (const Report::Tensor& tensor : tensors) *out += fmt::format("| {} | {} | {} |\n", Code(tensor.name), tensor.dtype, Cell(fmt::format("{}", fmt::join(tensor.sizes, ", "))));
  *out += "\n";
}

// Why, in a row that starts with the operator's name.
std::string_view WithoutName(const MissingOperator& group) {
  std::string_view message = group.message;
  if (message.starts_with(group.name)) message.remove_prefix(group.name.size());
  while (message.starts_with(' ')) message.remove_prefix(1);
  return message;
}

void AppendErrors(std::string* out, const Report& report) {
  *out += "## Error messages\n\n";
  const std::string text = ReportText(report.diagnostics);
  if (report.failure.empty() && text.empty()) {
    *out += "No errors\n\n";
  } else {
    *out += fmt::format("```pytb\n{}{}{}```\n\n", report.failure, report.failure.empty() || report.failure.ends_with('\n') ? "" : "\n", text);
  }
  const auto missing = GroupMissingOperators(report.diagnostics);
  if (missing.empty()) return;
  *out += "## Operators that could not be converted\n\n| operator | calls | why | where | what there is |\n|---|---|---|---|---|\n";
  for (const MissingOperator& group : missing) {
    std::string places;
    constexpr size_t kShown = 3;
    for (size_t i = 0; i < group.places.size() && i < kShown; ++i)
      places += fmt::format("{}{} {}", places.empty() ? "" : "; ", group.places[i]->module, group.places[i]->source);
    *out += fmt::format("| {} | {} | {} | {} | {} |\n", Code(group.name), group.places.size(), Cell(WithoutName(group)), Cell(places), Cell(group.hint));
  }
  *out += "\nTo translate one yourself, or to keep it as a custom ONNX operator:\n\n";
  std::set<std::string> recipes;  // two forms of an operator have one
  for (const MissingOperator& group : missing)
    if (const std::string recipe = Recipe(group.name); !recipe.empty() && recipes.insert(recipe).second)
      *out += fmt::format("```python\n{}```\n\n", recipe);
}

void AppendModules(std::string* out, const Report& report) {
  if (report.modules.empty()) return;
  *out += "## Modules\n\n| module | class | captured nodes | ONNX nodes |\n|---|---|---|---|\n";
  for (const Report::Module& module : report.modules)
    *out += fmt::format("| {} | {} | {} | {} |\n", module.path.empty() ? "*(model)*" : Code(module.path), Code(module.class_name), module.captured_nodes, module.onnx_nodes);
  *out += "\n";
}

void AppendStages(std::string* out, const Report& report) {
  if (report.stages.empty()) return;
  *out += "## Stages\n\n| stage | nodes before | nodes after | ms | |\n|---|---|---|---|---|\n";
  for (const Report::Stage& stage : report.stages)
    *out += fmt::format("| {} | {} | {} | {:.1f} | {} |\n", Cell(stage.name), stage.nodes_before, stage.nodes_after, stage.seconds * 1e3, Cell(stage.description));
  *out += "\n";
}

void AppendComparisons(std::string* out, const Report& report) {
  if (report.comparisons.empty()) return;
  *out += "## Verification results\n\n| value | inputs | type | max abs diff | max rel diff | tolerance (abs, rel) | |\n|---|---|---|---|---|---|---|\n";
  for (const Report::Comparison& c : report.comparisons)
    *out += fmt::format("| {} | {} | {} | {:.3g} | {:.3g} | {:.1g}, {:.1g} | {} {} |\n", Code(c.module.empty() ? c.name : fmt::format("{}: {}", c.module, c.name)), Cell(c.inputs), c.dtype, c.max_absolute, c.max_relative,
                        c.absolute_tolerance, c.relative_tolerance, c.ok ? "✅" : "❌", Cell(c.cause));
  *out += "\n";
}

}  // namespace

std::string ReportMarkdown(const ConversionReport& report) {
  std::string out = "# PyTorch ONNX Conversion Report\n\n";
  AppendStatus(&out, report);
  AppendErrors(&out, report);
  out += fmt::format("## Model\n\n{}: ", Code(report.model));
  if (report.opset > 0)  // there is a model
    out += fmt::format("opset {}, IR {}, {} ONNX nodes, {} weights of {:.1f} MB; ", report.opset, report.ir_version, report.nodes.size(),
                       report.weight_count, static_cast<double>(report.weight_bytes) / 1e6);
  out += fmt::format("torch {}, Flambeau {}\n\n", report.torch_version.empty() ? "(not recorded)" : report.torch_version, report.flambeau_version);
  AppendTensors(&out, "input", report.inputs);
  AppendTensors(&out, "output", report.outputs);
  if (!report.dimensions.empty()) {
    out += "| dynamic dimension | range |\n|---|---|\n";
    for (const Report::Dimension& dimension : report.dimensions) out += fmt::format("| {} | {} |\n", Code(dimension.name), dimension.range);
    out += "\n";
  }
  AppendComparisons(&out, report);
  AppendModules(&out, report);
  AppendStages(&out, report);
  return out;
}

}  // namespace flambeau
