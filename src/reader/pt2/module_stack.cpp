#include "reader/pt2/graph_reader.h"

namespace flambeau::pt2 {
namespace {

// What PyTorch writes for nodes that it made up itself.
constexpr std::string_view kNoStack = "_empty_nn_module_stack_from_metadata_hook";

// The part before the next comma that no bracket encloses; `text` moves behind it.
std::string_view TakeField(std::string_view* text) {
  int depth = 0;
  size_t end = 0;
  for (; end < text->size(); ++end) {
    const char c = (*text)[end];
    if (c == '[' || c == '(') ++depth;
    if (c == ']' || c == ')') --depth;
    if (c == ',' && depth <= 0) break;
  }
  const std::string_view field = text->substr(0, end);
  text->remove_prefix(end < text->size() ? end + 1 : end);
  return field;
}

}  // namespace

std::vector<NodeSource::Module> ParseModuleStack(std::string_view text) {
  std::vector<NodeSource::Module> modules;
  while (!text.empty()) {
    const size_t semicolon = text.find(';');
    std::string_view item = text.substr(0, semicolon);
    text.remove_prefix(semicolon == std::string_view::npos ? text.size() : semicolon + 1);
    TakeField(&item);  // a key that only PyTorch needs
    std::string_view path = TakeField(&item);
    const std::string_view class_name = item;
    if (path == kNoStack) continue;
    // Dynamo's spelling of the root.
    constexpr std::string_view kSelf = "L['self']";
    if (path.starts_with(kSelf)) path.remove_prefix(kSelf.size());
    if (path.starts_with('.')) path.remove_prefix(1);
    // "body@1" is the second call of the same module.
    path = path.substr(0, path.find('@'));
    modules.push_back({path, class_name});
  }
  return modules;
}

}  // namespace flambeau::pt2
