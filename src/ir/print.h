// A graph as text, for dumps and golden tests; ir/parse.h reads it back, and
// printing what was parsed gives the same text.
//
//   strides known
//   symbol batch in [1, 1024]
//   graph(%x: f32[batch, 64]) {
//     const %w: f32[8, 64] = data("model.pt2", 4096)
//     const %b: f32[2] = [0.5, 1.0]
//     %0: f32[64, 8]{1, 64} = aten::t(self=%w)  # fc1, model.py:17
//     %y: f32[batch, 8] = aten::addmm(self=%b, mat1=%x, mat2=%0, beta=1, alpha=1)  # fc1, model.py:17
//     %1: f32[*] = If(%c, then_branch=() {
//       %2: f32[batch, 8] = Relu(%y)
//       return %2
//     }, else_branch=() {
//       return %y
//     })
//     return %1
//   }
//
// Operands and attributes. An attribute prints as name=value, and one that says
// which operand it is prints that operand: self=%x, size=[%n, 4]. Operands that
// no attribute speaks for come first, without a name; on an ONNX node these are
// all. `_` is an absent operand. A node's own label follows an @: Gemm @fc1(%x).
//
// Values of attributes are None, True, 1, 1.0, complex(0.0, 1.0), "text", f32,
// strided, channels_last, device("cpu"), a list of these, a body, or
// tensor(f32[2], [0.5, 1.0]). Lists that would look alike carry their kind:
// floats[], operands[1, 2].
//
// Values are named by their label where it is the first of that name, else
// numbered; what is no identifier stands in quotes: %"a/b".
//
// Types: f32[2, batch + 1], unranked f32[*], with strides f32[2, 3]{1, 2}, with
// contents i64[2]=(2, batch), then int(batch), float, bool, string, none, token,
// object, unknown, seq(f32[*]). After `strides known` a tensor without strides
// is contiguous and {?} are unknown ones; without that line they are unknown.
//
// `symbol` lines hold what the name does not tell: kind and range.
//
// Comments: one behind a node is its origin, module path and source line, and
// is read back as that much of it; others are skipped.
//
// Bytes are printed for constants of at most kInlineElements elements; others
// are known after parsing only by where they lay (MakeAbsentSource).
#pragma once

#include <string>

#include "ir/graph.h"

namespace flambeau {

inline constexpr uint64_t kInlineElements = 16;

std::string PrintGraph(const Graph& graph);
// One node, without its bodies, for diagnostics: `%4: f32[2] = aten::relu(self=%x)`.
std::string PrintNode(const Graph& graph, NodeId node);

}  // namespace flambeau
