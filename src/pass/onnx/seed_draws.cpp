// Gives each node that draws numbers a `seed` of its own.
//
// It runs when nothing copies or merges nodes any more. So seeds differ between all nodes of a model, those in bodies too,
// each of which a runtime would otherwise seed by its place in the graph around it.
#include "onnx/operator_table.h"
#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

constexpr int kHalfBits = 12;
constexpr uint32_t kHalfMask = (1u << kHalfBits) - 1;

// The last steps of SplitMix64.
uint64_t Mixed(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

// The seed of the draw that is number `place` in the model: a whole number from 1 to 2²⁴, which float32 holds, another for
// each place. A Feistel network, whose key is the model's seed, scatters them, since the first number of generators like
// onnxruntime's is proportional to a small seed: draws seeded by 1, 2, 3, … would begin alike.
int64_t SeedOf(uint64_t key, uint32_t place) {
  uint32_t left = (place >> kHalfBits) & kHalfMask, right = place & kHalfMask;
  for (uint64_t round = 0; round < 4; ++round) {
    const uint64_t mixed = Mixed(Mixed(key + 0x9E3779B97F4A7C15 * (round + 1)) + right);
    const uint32_t next = left ^ (static_cast<uint32_t>(mixed >> 32) & kHalfMask);
    left = right;
    right = next;
  }
  return (int64_t{left} << kHalfBits | right) + 1;
}

// A Dropout that does not train gives its operand.
bool IsDropoutAtRest(const Editor& to, NodeId node) {
  if (to.graph().op(node) != "Dropout") return false;
  const ValueId training = to.Operand(node, 2);
  return !training || to.KnownNumber(training) == 0.0;
}

}  // namespace

Result<Changed> SeedDraws(Graph& graph, PassContext& context) {
  if (!context.seed) return Changed::kNo;
  const Editor reader(graph, context);
  uint32_t place = 0;
  for (const BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId node) {
      if (!onnx::DrawsNumbers(graph.op(node)) || IsDropoutAtRest(reader, node)) return;
      const onnx::OperatorVersion* version = onnx::FindOperator(graph.op(node), context.opset);
      const onnx::AttributeSchema* schema = version != nullptr ? version->FindAttribute("seed") : nullptr;
      // A user's translation may have given one.
      if (schema == nullptr || graph.FindAttribute(node, "seed") != nullptr) return;
      const int64_t seed = SeedOf(*context.seed, place++);
      const bool is_float = schema->type == onnx::AttributeType::kFloat;
      graph.SetAttribute(node, graph.context().Intern("seed"), is_float ? Attribute(static_cast<double>(seed)) : Attribute(seed));
    });
  return place > 0 ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
