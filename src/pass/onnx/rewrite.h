// Local rewrites of ONNX graphs: small functions keyed by operator, and the one
// worklist that applies them until none finds anything to do.
//
// After a change only the nodes that it concerns are looked at again, so the
// whole is linear in the graph and the number of changes. Each rewrite must
// bring the graph closer to an end: fewer nodes, or simpler ones.
#pragma once

#include <initializer_list>
#include <span>
#include <string_view>

#include "pass/onnx/editor.h"

namespace flambeau {

struct RewriteRow {
  std::string_view op;  // "*" is every operator
  // Whether it changed anything. The node may be without uses afterwards; the
  // worklist erases it.
  bool (*rewrite)(Editor&, NodeId);
};
using RewriteTable = std::span<const RewriteRow>;

// Applies the tables and erases nodes that nobody uses.
Changed ApplyRewrites(Graph& graph, const PassContext& context, std::initializer_list<RewriteTable> tables);

}  // namespace flambeau
