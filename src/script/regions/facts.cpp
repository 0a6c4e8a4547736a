#include "script/regions/facts.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "script/regions/comparison.h"

namespace flambeau::script {
namespace {

using Range = ExprPool::Range;

constexpr size_t kMaxImplied = 100;  // conditions that one says: a flag that many Ifs may set says something of each

// Of which the value is `op`; invalid if it is not.
ValueId OperandOf(const Graph& graph, ValueId value, std::string_view op) {
  return OpOf(graph, value) == op && graph.operand_count(graph[value].node) == 1 ? graph.operand(graph[value].node, 0) : ValueId();
}

bool IsBool(const Graph& graph, ValueId value) { return value && graph.type(value).kind == TypeKind::kBool; }

// Programs convert a tensor to a bool wherever they ask for it.
ValueId SourceOf(const Graph& graph, ValueId value) {
  const ValueId tensor = OperandOf(graph, value, "aten::Bool.Tensor");
  return tensor ? tensor : value;
}

// The numbers below and above which a size is not where the comparison holds, or does not.
Range Allowed(const Comparison& asked, bool holds) {
  static constexpr Range kAny{INT64_MIN, INT64_MAX};
  const bool low = asked.number == INT64_MIN, high = asked.number == INT64_MAX;
  const Range below{INT64_MIN, low ? INT64_MIN : asked.number - 1};
  const Range above{high ? INT64_MAX : asked.number + 1, INT64_MAX};
  if (asked.op == "eq" || asked.op == "ne")
    return holds == (asked.op == "eq") ? Range{asked.number, asked.number} : kAny;
  if (asked.op == "lt") return holds ? below : Range{asked.number, INT64_MAX};
  if (asked.op == "le") return holds ? Range{INT64_MIN, asked.number} : above;
  if (asked.op == "gt") return holds ? above : Range{INT64_MIN, asked.number};
  return holds ? Range{asked.number, INT64_MAX} : below;
}

// `a and b`, and `a or b`, of which b is asked for in a branch on a: of what is known to be `holds`, what else is so.
std::vector<std::pair<ValueId, bool>> PartsOf(const Graph& graph, ValueId value, bool holds) {
  if (OpOf(graph, value) != "higher_order::cond") return {};
  const NodeId node = graph[value].node;
  std::vector<ValueId> ways;
  graph.ForEachBody(node, [&](BlockId block) { ways.push_back(graph.output(block, graph[value].index)); });
  for (size_t i = 0; i < ways.size() && ways.size() == 2; ++i) {
    if (OpOf(graph, ways[i]) != "prim::Constant") continue;
    const Attribute* other = graph.FindAttribute(graph[ways[i]].node, "value");
    const bool* known = other != nullptr ? std::get_if<bool>(other) : nullptr;
    if (known != nullptr && *known != holds) return {{graph.operand(node, 0), i == 1}, {ways[1 - i], holds}};
  }
  return {};
}

}  // namespace

void Facts::Assume(const Graph& graph, ValueId condition, bool holds) {
  std::vector<std::pair<ValueId, bool>> pending = {{condition, holds}};
  for (size_t steps = 0; !pending.empty() && steps < kMaxImplied; ++steps) {
    const auto [value, known] = pending.back();
    pending.pop_back();
    if (!known_.emplace(SourceOf(graph, value), known).second) continue;
    for (const auto& part : PartsOf(graph, value, known))
      if (IsBool(graph, part.first)) pending.push_back(part);
    if (const auto asked = ComparisonOf(graph, value)) {
      const Range allowed = Allowed(*asked, known);
      Range& range = ranges_.try_emplace(asked->size, Range{INT64_MIN, INT64_MAX}).first->second;
      range = {std::max(range.min, allowed.min), std::min(range.max, allowed.max)};
    }
    const std::string_view op = OpOf(graph, value);
    const bool negates = op == "_operator::not_";
    if (!negates && !(op == "_operator::and_" && known) && !(op == "_operator::or_" && !known)) continue;
    for (const ValueId operand : graph.operands(graph[value].node))
      if (IsBool(graph, operand)) pending.emplace_back(operand, negates ? !known : known);
  }
}

void Facts::AssumeMoreThan(Expr size, int64_t place) {
  int64_t& last = places_.try_emplace(size, place).first->second;
  last = std::max(last, place);
}

std::optional<bool> Facts::Of(const Graph& graph, ValueId condition) const {
  bool negated = false;
  for (ValueId operand; IsBool(graph, operand = OperandOf(graph, condition, "_operator::not_")); negated = !negated) condition = operand;
  const auto found = known_.find(SourceOf(graph, condition));
  if (found != known_.end()) return found->second != negated;
  const auto asked = ComparisonOf(graph, SourceOf(graph, condition));
  if (!asked) return std::nullopt;
  const auto range = ranges_.find(asked->size);
  const auto place = places_.find(asked->size);
  auto [min, max] = range != ranges_.end() ? range->second : Range{INT64_MIN, INT64_MAX};
  if (place != places_.end()) min = std::max(min, place->second == INT64_MAX ? INT64_MAX : place->second + 1);
  if (min == max && min == asked->number && (asked->op == "eq" || asked->op == "ne"))
    return (asked->op == "eq") != negated;
  // Where one answer leaves no number, it is the other one.
  for (const bool holds : {true, false}) {
    const Range allowed = Allowed(*asked, holds);
    if (std::max(min, allowed.min) > std::min(max, allowed.max)) return holds == negated;
  }
  return std::nullopt;
}

bool Facts::MayBeOne(Expr size) const {
  const auto range = ranges_.find(size);
  return range != ranges_.end() && range->second.min <= 1 && range->second.max >= 1;
}

bool Facts::IsOneAtMost(Expr size) const {
  const auto range = ranges_.find(size);
  return range != ranges_.end() && range->second.max <= 1;
}

std::optional<int64_t> Facts::Only(Expr number) const {
  const auto range = ranges_.find(number);
  return range != ranges_.end() && range->second.min == range->second.max ? std::optional(range->second.min) : std::nullopt;
}

bool Facts::MayBe(Expr number, int64_t value) const {
  const auto range = ranges_.find(number);
  return range == ranges_.end() || (range->second.min <= value && value <= range->second.max);
}

}  // namespace flambeau::script
