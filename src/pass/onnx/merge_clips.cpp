#include <cmath>
#include <limits>

#include "onnx/operator_table.h"
#include "pass/onnx/rules.h"

namespace flambeau {
namespace {

// A constant, or nothing where a Clip has no such bound.
struct Bound {
  ValueId value;
  double number;
};
// min(max(x, low), high), also where low > high.
struct Range {
  Bound low, high;

  // Of two that are infinite, the one that is there: to ONNX, without a bound what is greatest is finite.
  Bound Clip(Bound x) const {
    if (x.number < low.number || (x.number == low.number && !x.value)) x = low;
    return x.number > high.number || (x.number == high.number && !x.value) ? high : x;
  }
};

std::optional<Bound> BoundOf(const Editor& to, NodeId clip, uint32_t i, double otherwise) {
  const ValueId value = to.Operand(clip, i);
  if (!value) return Bound{{}, otherwise};
  const auto number = to.KnownNumber(value);
  if (!number || std::isnan(*number)) return std::nullopt;
  // Beyond 2⁵³ doubles don't tell integers apart.
  constexpr double kExact = int64_t{1} << 53;
  if (!IsFloating(to.type(value).dtype) && std::abs(*number) >= kExact) return std::nullopt;
  return Bound{value, *number};
}

std::optional<Range> RangeOf(const Editor& to, NodeId clip) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const auto low = BoundOf(to, clip, 1, -kInfinity), high = BoundOf(to, clip, 2, kInfinity);
  if (!low || !high) return std::nullopt;
  return Range{*low, *high};
}

ValueId AddZero(Editor& to, DType dtype) {
  return to.AddConstant(
      {.source = MakeBufferSource(std::vector<std::byte>(static_cast<size_t>(ByteSize(dtype)))), .dtype = dtype});
}

// Clip(Clip(x)), Clip(Relu(x)): what the outer one makes of the inner one's
// bounds are the bounds of both.
bool MergeClips(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId middle = graph.operand(node, 0);
  if (!to.HasOneUse(middle)) return false;
  if (onnx::FindOperator("Clip", to.opset())->max_inputs < 3) return false;  // bounds were attributes
  const auto outer = RangeOf(to, node);
  if (!outer) return false;
  NodeId inner = to.Producer(middle, "Clip");
  std::optional<Range> range;
  if (inner) {
    range = RangeOf(to, inner);
  } else if ((inner = to.Producer(middle, "Relu"))) {
    range = Range{{AddZero(to, to.type(middle).dtype), 0}, {{}, std::numeric_limits<double>::infinity()}};
  }
  if (!range) return false;
  const ValueId operands[] = {graph.operand(inner, 0), outer->Clip(range->low).value, outer->Clip(range->high).value};
  size_t count = std::size(operands);
  while (!operands[count - 1]) --count;  // a bound that is not there
  return to.Replace(node, graph.result(to.InsertNode(node, "Clip", std::span(operands).first(count), {})));
}

constexpr RewriteRow kRules[] = {{"Clip", &MergeClips}};

}  // namespace

RewriteTable ClipRules() { return kRules; }

}  // namespace flambeau
