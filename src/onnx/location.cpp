#include "onnx/location.h"

namespace flambeau::onnx {

Location LocationOf(const Graph& graph, NodeId node) {
  const Context& context = graph.context();
  Location location;
  location.operation = graph.op(node);
  if (const Symbol name = graph[node].name; name && !context.Text(name).empty())
    location.operation = std::string(context.Text(name)) + " (" + location.operation + ")";
  if (!graph[node].origin) return location;
  const Origin& origin = context[graph[node].origin];
  location.module = context.Text(origin.module_path());
  location.source = SourceLine(context.Text(origin.stack_trace));
  return location;
}

}  // namespace flambeau::onnx
