#include "driver/namespaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "onnx/model.h"

namespace flambeau {
namespace {

// What torch prints for the target of a captured node.
std::string TargetText(std::string_view target) {
  static constexpr std::string_view kOperator = "_operator.", kHigherOrder = "higher_order.";
  if (target.starts_with(kOperator)) return fmt::format("<built-in function {}>", target.substr(kOperator.size()));
  if (target.starts_with(kHigherOrder)) target.remove_prefix(kHigherOrder.size());
  return std::string(target);
}

// A node's module, of which no more than `depth` levels count; the root's path is empty.
std::string_view PathOf(const Graph& graph, NodeId node, size_t depth) {
  const OriginId origin = graph[node].origin;
  if (!origin) return {};
  const std::vector<ModuleFrame>& modules = graph.context()[origin].modules;
  if (modules.empty()) return {};
  return graph.context().Text(modules[std::min(depth, modules.size() - 1)].path);
}

// (first node, path) of each run of neighbours with the same path.
std::vector<std::pair<NodeId, std::string_view>> Runs(const Graph& graph, size_t depth) {
  std::vector<std::pair<NodeId, std::string_view>> runs;
  for (const BlockId block : graph.AllBlocks()) {
    std::string_view last;
    graph.ForEachNode(block, [&](NodeId node) {
      const std::string_view path = PathOf(graph, node, depth);
      if (path != last) runs.emplace_back(node, path);
      last = path;
    });
  }
  return runs;
}

// No fewer bytes than the graph takes without its weights: names, operators and types.
uint64_t LeastBytes(const Graph& graph) {
  const Context& context = graph.context();
  const auto of_value = [&](ValueId id) {
    return context.Text(graph[id].name).size() + 12 + 4 * graph.type(id).sizes.size();
  };
  uint64_t bytes = 0;
  for (const ValueId initializer : onnx::Initializers(graph)) bytes += of_value(initializer);
  for (const ValueId input : graph[graph.main()].inputs) bytes += of_value(input);
  for (const BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId id) {
      const Node& node = graph[id];
      bytes += context.Text(node.name).size() + context.Text(node.op).size() + 4;
      for (const ValueId operand : graph.operands(id))
        bytes += 2 + (operand ? context.Text(graph[operand].name).size() : 0);
      // A result stands in the node and in the list of types.
      for (uint32_t i = 0; i < node.result_count; ++i)
        bytes += 2 + context.Text(graph[node.result(i)].name).size() + of_value(node.result(i));
    });
  return bytes;
}

// Of one entry of the metadata: two lengths and tags, twice, and the key.
constexpr uint64_t kEntryBytes = 6 + std::string_view("namespace").size();

}  // namespace

// Every node of the model asks, twice: so this only appends.
Scopes ScopesOf(const Context& context, const Origin& origin) {
  Scopes scopes;
  const auto append = [&](std::string_view name, std::string_view class_name, std::string_view end) {
    const bool last = end.empty();
    scopes.name_space.append(name).append(": ").append(class_name).append(end);
    scopes.classes.append(scopes.classes.empty() ? "['" : "', '").append(class_name).append(last ? "']" : "");
    scopes.names.append(scopes.names.empty() ? "['" : "', '").append(name).append(last ? "']" : "");
  };
  for (const ModuleFrame& frame : origin.modules) append(context.Text(frame.path), context.Text(frame.class_name), "/");
  append(context.Text(origin.node_name), TargetText(context.Text(origin.target)), "");
  return scopes;
}

std::unordered_map<NodeId, std::string_view> BriefNamespaces(const Graph& graph) {
  size_t depth = 0;
  for (const BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId node) {
      if (const OriginId origin = graph[node].origin) depth = std::max(depth, graph.context()[origin].modules.size());
    });
  // Deeper paths are longer, and no fewer; so the deepest that fits is found by halving.
  const uint64_t budget = LeastBytes(graph) / 10;
  const auto fits = [&](size_t levels) {
    uint64_t bytes = 0;
    for (const auto& [node, path] : Runs(graph, levels)) bytes += kEntryBytes + path.size();
    return bytes <= budget;
  };
  const auto levels = std::views::iota(size_t{1}, depth + 1);
  const auto deepest = static_cast<size_t>(std::ranges::distance(levels.begin(), std::ranges::partition_point(levels, fits)));
  if (deepest == 0) return {};
  const auto runs = Runs(graph, deepest);
  return {runs.begin(), runs.end()};
}

}  // namespace flambeau
