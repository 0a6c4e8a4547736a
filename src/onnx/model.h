// An ONNX model before it is written: a graph of ONNX nodes and what stands
// around it. Made by the driver; knows nothing of files.
//
// The graph follows the conventions of the IR: operands are the node's inputs
// (an invalid one is an absent optional input), attributes are ONNX attributes,
// BlockId attributes are nested graphs, whose nodes may use outer values, and
// the constants in use are the initializers. AssignNames (names.h) must have
// run before anything is written.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph.h"

namespace flambeau::onnx {

struct OpsetImport {
  std::string domain;  // empty: ai.onnx
  int version = 0;
};

using Properties = std::vector<std::pair<std::string, std::string>>;

struct ModelData {
  explicit ModelData(Graph onnx_graph) : graph(std::move(onnx_graph)) {}

  Graph graph;
  std::vector<OpsetImport> opset_imports;
  int ir_version = 0;  // see ir_version.h
  std::string producer_name, producer_version;
  std::string graph_name = "main_graph";
  Properties metadata;        // of the model
  Properties graph_metadata;  // of the main graph
  // Asked twice for each node and value that is written, with an empty list to
  // fill; equal answers both times. May be empty functions.
  std::function<void(NodeId, Properties&)> node_metadata;
  std::function<void(ValueId, Properties&)> value_metadata;
  // The key of the nodes' metadata that is also their doc_string; empty for none.
  std::string documentation;
  // Initializers are listed as inputs of the graph, too.
  bool initializers_are_inputs = false;

  bool has_inner_metadata() const { return node_metadata || value_metadata; }
};

// The constants in use, in the order in which they were made.
std::vector<ValueId> Initializers(const Graph& graph);
// "com.microsoft::Gelu" as domain and operator; the domain of "Gemm" is empty.
std::pair<std::string_view, std::string_view> SplitOperator(std::string_view op);
// The name in a graph of an operator of ONNX's own domain that ONNX does not have: some runtimes look theirs up there.
std::string InOnnxsDomain(std::string_view name);

}  // namespace flambeau::onnx
