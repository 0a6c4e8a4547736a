#include "report/grouped.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace flambeau {

bool IsMissingOperator(const Diagnostic& diagnostic) {
  return diagnostic.severity == Severity::kError &&
         (diagnostic.kind == DiagnosticKind::kUnsupportedOperator || diagnostic.kind == DiagnosticKind::kUnsupportedForm);
}

std::vector<MissingOperator> GroupMissingOperators(const std::vector<Diagnostic>& diagnostics) {
  std::vector<MissingOperator> groups;
  std::map<std::pair<std::string, std::string>, size_t> index;
  for (const Diagnostic& diagnostic : diagnostics) {
    if (!IsMissingOperator(diagnostic)) continue;
    const auto [it, is_new] = index.try_emplace({diagnostic.location.operation, diagnostic.message}, groups.size());
    if (is_new) groups.push_back({diagnostic.kind, diagnostic.location.operation, diagnostic.message, diagnostic.hint, {}});
    groups[it->second].places.push_back(&diagnostic.location);
  }
  return groups;
}

namespace {

// What PyTorch itself calls operators by, and functions of Python that captures hold.
constexpr std::string_view kFunctions[] = {"_operator", "builtins", "higher_order", "math", "prim", "torch"};
constexpr std::string_view kOperators[] = {"aten", "prims"};

bool NamesFunctions(std::string_view space) { return std::ranges::find(kFunctions, space) != std::end(kFunctions); }

}  // namespace

bool IsOfPyTorch(std::string_view space) { return NamesFunctions(space) || std::ranges::find(kOperators, space) != std::end(kOperators); }

std::string Recipe(std::string_view operation) {
  const size_t colons = operation.find("::");
  if (colons == operation.npos) return {};
  const std::string_view space = operation.substr(0, colons), rest = operation.substr(colons + 2);
  const size_t dot = rest.find('.');
  const std::string_view name = rest.substr(0, dot), overload = dot == rest.npos ? "default" : rest.substr(dot + 1);
  if (NamesFunctions(space)) return {};
  std::string text;
  if (space != "triton")
    text = fmt::format(
        "from onnxscript import opset20 as op\n\n"
        "def {1}(*args, **kwargs):  # as the operator is called\n"
        "    return op.Identity(args[0])  # what it does, in ONNX\n\n"
        "flambeau.export(model, inputs, custom_translation_table={{torch.ops.{0}.{1}.{2}: {1}}})\n",
        space, name, overload);
  if (space != "aten")
    text += fmt::format("{1}flambeau.export(model, inputs, custom_opsets={{\"{0}\": 1}})  # stays an operator, of the domain {0}\n", space, text.empty() ? "" : "# or: ");
  return text;
}

}  // namespace flambeau
