#include "ir/origin.h"

namespace flambeau {
namespace {

// The user's own line says more than the one in PyTorch that it ends in, or in
// code that PyTorch has generated.
bool IsUsersCode(std::string_view path) {
  return !path.starts_with('<') && path.find("-packages/torch/") == std::string_view::npos &&
         path.find("-packages\\torch\\") == std::string_view::npos;
}

}  // namespace

std::string SourceLine(std::string_view stack_trace) {
  constexpr std::string_view kFile = "File \"", kLine = "\", line ";
  std::string innermost;
  for (size_t end = stack_trace.size(); end != 0;) {
    const size_t file = stack_trace.substr(0, end).rfind(kFile);
    if (file == std::string_view::npos) break;
    std::string_view rest = stack_trace.substr(file + kFile.size(), end - file - kFile.size());
    end = file;
    const size_t line = rest.find(kLine);
    if (line == std::string_view::npos) continue;
    const std::string_view path = rest.substr(0, line);
    const bool users = IsUsersCode(path);
    if (!users && !innermost.empty()) continue;
    const size_t slash = path.find_last_of("/\\");
    const std::string_view name = path.substr(slash == std::string_view::npos ? 0 : slash + 1);
    rest.remove_prefix(line + kLine.size());
    const std::string_view number = rest.substr(0, rest.find_first_not_of("0123456789"));
    if (name.empty() || number.empty()) continue;
    innermost = std::string(name) + ":" + std::string(number);
    if (users) break;
  }
  return innermost;
}

}  // namespace flambeau
