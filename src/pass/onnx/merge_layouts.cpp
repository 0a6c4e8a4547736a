#include <algorithm>
#include <numeric>

#include "onnx/infer/infer.h"
#include "onnx/infer/sizes.h"
#include "pass/onnx/rules.h"

namespace flambeau {

std::optional<Ints> ReshapeOperand(ExprPool& exprs, const Type& from, std::span<const Expr> sizes) {
  Ints shape;
  std::optional<size_t> rest;
  bool may_have_none = false;  // of the sizes beside the rest
  for (size_t i = 0; i < sizes.size(); ++i) {
    const bool may_be_zero = onnx::MayBeZero(exprs, sizes[i]);
    if (const auto constant = exprs.AsConstant(sizes[i])) {
      if (*constant == 0) return std::nullopt;  // it would copy a size
      shape.push_back(*constant);
    } else if (from.ranked && i < from.rank() && from.sizes[i] == sizes[i]) {
      shape.push_back(0);
      may_have_none = may_have_none || may_be_zero;
    } else if (!rest) {
      shape.push_back(-1);
      rest = i;
    } else {
      return std::nullopt;
    }
  }
  // Where the product of the others is 0, the rest can't be found.
  if (rest && may_have_none) return std::nullopt;
  return shape;
}

namespace {

bool IsReshape(std::string_view op) {
  return op == "Reshape" || op == "Squeeze" || op == "Unsqueeze" || op == "Flatten";
}

NodeId ReshapeBefore(const Editor& to, ValueId value) {
  if (to.graph()[value].kind != ValueKind::kResult) return {};
  const NodeId node = to.graph()[value].node;
  return IsReshape(to.graph().op(node)) ? node : NodeId{};
}

bool CopiesAndInfers(const Ints& shape) {
  return std::ranges::find(shape, 0) != shape.end() && std::ranges::find(shape, -1) != shape.end();
}

// Both copies a size that may be 0 and infers one: unlike operators that only add or drop axes of 1, it needs elements.
bool NeedsElements(const ExprPool& exprs, const std::vector<Expr>& sizes, const Ints& shape) {
  bool copies = false;
  for (size_t i = 0; i < shape.size(); ++i) copies |= shape[i] == 0 && exprs.RangeOf(sizes[i]).min < 1;
  return copies && CopiesAndInfers(shape);
}

// The axes of 1 that `more` has beside `fewer`; nullopt where it has other sizes too.
std::optional<Ints> AddedAxes(ExprPool& exprs, const std::vector<Expr>& fewer, const std::vector<Expr>& more) {
  Ints added;
  size_t matched = 0;
  for (size_t i = 0; i < more.size(); ++i) {
    if (matched < fewer.size() && more[i] == fewer[matched]) {
      ++matched;
    } else if (exprs.IsConstant(more[i], 1)) {
      added.push_back(static_cast<int64_t>(i));
    } else {
      return std::nullopt;
    }
  }
  return matched == fewer.size() ? std::optional(added) : std::nullopt;
}

bool OnlyMovesOnes(std::string_view op) { return op == "Squeeze" || op == "Unsqueeze"; }

// `op`, which adds or drops axes of 1, with its axes given as `like` has them.
ValueId InsertOfAxes(Editor& to, NodeId node, std::string_view op, ValueId from, const Ints& axes, NodeId like) {
  if (to.IntList(like, "axes") == nullptr) return to.Insert(node, op, {from, to.AddInts(axes)});
  onnx::AttributeList attributes;
  attributes.Add("axes", axes);
  return to.Insert(node, op, {from}, attributes);
}

// Squeezes and Unsqueezes in a row, as one; nothing where axes are both added and dropped.
ValueId MergedOnes(Editor& to, NodeId node, ValueId origin, NodeId inner) {
  const std::vector<Expr>&before = to.type(origin).sizes, &after = to.type(to.graph().result(node)).sizes;
  if (const auto added = AddedAxes(to.exprs(), before, after)) return InsertOfAxes(to, node, "Unsqueeze", origin, *added, inner);
  if (const auto dropped = AddedAxes(to.exprs(), after, before)) return InsertOfAxes(to, node, "Squeeze", origin, *dropped, inner);
  return {};
}

// Two changes of shape in a row are one.
bool MergeReshapes(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId result = graph.result(node), middle = graph.operand(node, 0);
  const NodeId inner = ReshapeBefore(to, middle);
  if (!inner) return false;
  const ValueId origin = graph.operand(inner, 0);
  if (to.SameType(result, origin)) return to.Replace(node, origin);
  if (!to.type(result).ranked) return false;
  const auto shape = ReshapeOperand(to.exprs(), to.type(origin), to.type(result).sizes);
  if (!shape) return false;
  const bool of_ones = OnlyMovesOnes(graph.op(node)) && OnlyMovesOnes(graph.op(inner));
  ValueId merged = of_ones && CopiesAndInfers(*shape) ? MergedOnes(to, node, origin, inner) : ValueId{};
  if (!merged) {
    if (of_ones && NeedsElements(to.exprs(), to.type(result).sizes, *shape)) return false;
    merged = to.Insert(node, "Reshape", {origin, to.AddInts(*shape)});
  }
  to.graph().SetType(merged, graph[result].type);
  return to.Replace(node, merged);
}

// A computed shape whose elements need not be computed.
bool ConstantShape(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId result = graph.result(node), shape = to.Operand(node, 1);
  if (!shape || to.Data(shape) != nullptr || !to.type(result).ranked || to.Int(node, "allowzero", 0) != 0) return false;
  const auto known = ReshapeOperand(to.exprs(), to.type(graph.operand(node, 0)), to.type(result).sizes);
  if (!known) return false;
  to.SetOperand(node, 1, to.AddInts(*known));
  return true;
}

// A 1 in the shape of Expand leaves the size as it is.
bool ConstantExpand(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId from = graph.operand(node, 0), result = graph.result(node), shape = graph.operand(node, 1);
  if (to.Data(shape) != nullptr || !to.type(result).ranked || !to.type(from).ranked) return false;
  const std::vector<Expr>&own = to.type(from).sizes, &sizes = to.type(result).sizes;
  Ints known;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t leading = sizes.size() - own.size();
    if (i >= leading && own[i - leading] == sizes[i]) {
      known.push_back(1);
    } else if (const auto size = to.exprs().AsConstant(sizes[i])) {
      known.push_back(*size);
    } else {
      return false;
    }
  }
  to.SetOperand(node, 1, to.AddInts(known));
  return true;
}

// What `value` is but for its sizes: the operand of Expand, or of And with true.
ValueId BeforeExpand(const Editor& to, ValueId value) {
  const Graph& graph = to.graph();
  if (const NodeId expand = to.Producer(value, "Expand")) return graph.operand(expand, 0);
  const NodeId both = to.Producer(value, "And");
  if (!both) return {};
  for (const uint32_t i : {0U, 1U}) {
    const TensorData* data = to.Data(graph.operand(both, i));
    const auto bytes = data != nullptr ? data->ReadAll(kLargeBytes) : std::nullopt;
    if (bytes && std::ranges::all_of(*bytes, [](std::byte each) { return each != std::byte{0}; }))
      return graph.operand(both, 1 - i);
  }
  return {};
}

// Elementwise operators expand by themselves, where the others have the sizes.
bool DropExpand(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId result = graph.result(node);
  if (!to.type(result).ranked) return false;
  for (uint32_t i = 0; i < graph.operand_count(node); ++i) {
    const ValueId from = BeforeExpand(to, graph.operand(node, i));
    if (!from || !to.type(from).ranked) continue;
    std::vector<Expr> sizes = to.type(from).sizes;
    bool known = true;
    for (uint32_t j = 0; j < graph.operand_count(node) && known; ++j) {
      if (i == j) continue;
      const Type& other = to.type(graph.operand(node, j));
      known = other.ranked;
      if (known) sizes = onnx::BroadcastSizes(to.exprs(), std::move(sizes), other.sizes);
    }
    if (!known || sizes != to.type(result).sizes) continue;
    to.SetOperand(node, i, from);
    return true;
  }
  return false;
}

bool MergeTransposes(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const NodeId inner = to.Producer(graph.operand(node, 0), "Transpose");
  if (!inner) return false;
  const Ints first = PermutationOf(to, inner), second = PermutationOf(to, node);
  if (first.size() != second.size()) return false;
  Ints both;
  for (const int64_t axis : second) both.push_back(first[static_cast<size_t>(axis)]);
  if (std::ranges::is_sorted(both)) return to.Replace(node, graph.operand(inner, 0));
  onnx::AttributeList attributes;
  attributes.Add("perm", both);
  return to.Replace(node, to.Insert(node, "Transpose", {graph.operand(inner, 0)}, attributes));
}

// What only moves axes of 1 is a Reshape, which merges with others.
bool ReshapeForTranspose(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId from = graph.operand(node, 0), result = graph.result(node);
  if (!to.type(from).ranked || !to.type(result).ranked) return false;
  Ints moved;  // the axes that matter
  for (const int64_t axis : PermutationOf(to, node))
    if (!to.exprs().IsConstant(to.type(from).sizes[static_cast<size_t>(axis)], 1)) moved.push_back(axis);
  if (!std::ranges::is_sorted(moved)) return false;
  const auto shape = ReshapeOperand(to.exprs(), to.type(from), to.type(result).sizes);
  return shape && !NeedsElements(to.exprs(), to.type(result).sizes, *shape) && to.Replace(node, to.Insert(node, "Reshape", {from, to.AddInts(*shape)}));
}

// Squeeze(Transpose(Reshape(x))): the axis need not have been made.
bool SqueezeBeforeTranspose(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId transposed = graph.operand(node, 0), result = graph.result(node);
  const NodeId transpose = to.Producer(transposed, "Transpose");
  if (!transpose || !to.HasOneUse(transposed) || !to.type(transposed).ranked || !to.type(result).ranked) return false;
  const ValueId reshaped = graph.operand(transpose, 0);
  const NodeId reshape = ReshapeBefore(to, reshaped);
  bool absent;
  const auto axes = to.IntsOf(node, "axes", 1, &absent);
  if (!reshape || !to.HasOneUse(reshaped) || !axes) return false;
  const auto squeezed = onnx::AxisMask(*axes, to.type(transposed).rank());
  if (!squeezed) return false;
  const Ints permutation = PermutationOf(to, transpose);
  std::vector<bool> gone(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) gone[static_cast<size_t>(permutation[i])] = (*squeezed)[i];
  std::vector<Expr> sizes;
  Ints renumbered(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) {
    renumbered[i] = static_cast<int64_t>(sizes.size());
    if (!gone[i]) sizes.push_back(to.type(reshaped).sizes[i]);
  }
  Ints kept;
  for (const int64_t axis : permutation)
    if (!gone[static_cast<size_t>(axis)]) kept.push_back(renumbered[static_cast<size_t>(axis)]);
  const ValueId origin = graph.operand(reshape, 0);
  const auto shape = ReshapeOperand(to.exprs(), to.type(origin), sizes);
  if (!shape) return false;
  onnx::AttributeList attributes;
  attributes.Add("perm", kept);
  const ValueId flat = to.Insert(node, "Reshape", {origin, to.AddInts(*shape)});
  return to.Replace(node, to.Insert(node, "Transpose", {flat}, attributes));
}

// The bounds of a Slice, an entry an axis.
struct SliceBounds {
  Ints starts, ends, axes, steps;
};

std::optional<SliceBounds> BoundsOf(const Editor& to, NodeId node) {
  const auto starts = to.KnownInts(to.Operand(node, 1)), ends = to.KnownInts(to.Operand(node, 2));
  const ValueId axes = to.Operand(node, 3), steps = to.Operand(node, 4);
  if (!starts || !ends || !axes || !to.type(axes).ranked || !to.type(to.graph().result(node)).ranked)
    return std::nullopt;
  const auto known_axes = to.KnownInts(axes);
  const auto known_steps = steps ? to.KnownInts(steps) : Ints(starts->size(), 1);
  if (!known_axes || !known_steps) return std::nullopt;
  SliceBounds bounds{*starts, *ends, *known_axes, *known_steps};
  for (int64_t& axis : bounds.axes) {
    const auto normal = onnx::NormalizeAxis(axis, to.type(to.graph().result(node)).rank());
    if (!normal) return std::nullopt;
    axis = static_cast<int64_t>(*normal);
  }
  return bounds;
}

// Whether all that use the value are Slices of it, and few.
bool OnlySlicesUse(const Editor& to, ValueId value) {
  constexpr size_t kFew = 8;
  const Graph& graph = to.graph();
  size_t count = 0;
  bool all = true;
  graph.ForEachUse(value, [&](Use use) {
    all = all && ++count <= kFew && !graph.IsTerminator(use.node) && graph.op(use.node) == "Slice" && use.operand == 0;
  });
  return all;
}

// Slices of different axes are one Slice.
bool MergeSlices(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  const ValueId middle = graph.operand(node, 0);
  const NodeId inner = to.Producer(middle, "Slice");
  if (!inner || !OnlySlicesUse(to, middle)) return false;
  auto all = BoundsOf(to, inner);
  const auto outer = BoundsOf(to, node);
  if (!all || !outer) return false;
  for (const int64_t axis : outer->axes)
    if (std::ranges::find(all->axes, axis) != all->axes.end()) return false;
  auto append = [](Ints& list, const Ints& more) { list.insert(list.end(), more.begin(), more.end()); };
  append(all->starts, outer->starts);
  append(all->ends, outer->ends);
  append(all->axes, outer->axes);
  append(all->steps, outer->steps);
  const bool strided = std::ranges::any_of(all->steps, [](int64_t step) { return step != 1; });
  std::vector<ValueId> operands = {graph.operand(inner, 0), to.AddInts(all->starts), to.AddInts(all->ends),
                                   to.AddInts(all->axes)};
  if (strided) operands.push_back(to.AddInts(all->steps));
  return to.Replace(node, graph.result(to.InsertNode(node, "Slice", operands, {})));
}

// Concat(Concat(a, b), c) along one axis.
bool MergeConcats(Editor& to, NodeId node) {
  const Graph& graph = to.graph();
  if (!to.type(graph.result(node)).ranked) return false;
  const size_t rank = to.type(graph.result(node)).rank();
  const auto axis = onnx::NormalizeAxis(to.Int(node, "axis", 0), rank);
  std::vector<ValueId> operands;
  bool merged = false;
  for (const ValueId operand : graph.operands(node)) {
    const NodeId inner = to.Producer(operand, "Concat");
    if (inner && to.HasOneUse(operand) && onnx::NormalizeAxis(to.Int(inner, "axis", 0), rank) == axis) {
      merged = true;
      for (const ValueId part : graph.operands(inner)) operands.push_back(part);
    } else {
      operands.push_back(operand);
    }
  }
  if (!merged) return false;
  return to.Replace(node, graph.result(to.InsertNode(node, "Concat", operands, graph[node].attributes)));
}

constexpr RewriteRow kRules[] = {
    {"Add", &DropExpand},
    {"And", &DropExpand},
    {"Concat", &MergeConcats},
    {"Div", &DropExpand},
    {"Equal", &DropExpand},
    {"Expand", &ConstantExpand},
    {"Flatten", &MergeReshapes},
    {"Greater", &DropExpand},
    {"GreaterOrEqual", &DropExpand},
    {"Less", &DropExpand},
    {"LessOrEqual", &DropExpand},
    {"Max", &DropExpand},
    {"Min", &DropExpand},
    {"Mul", &DropExpand},
    {"Or", &DropExpand},
    {"Pow", &DropExpand},
    {"Reshape", &MergeReshapes},
    {"Reshape", &ConstantShape},
    {"Slice", &MergeSlices},
    {"Squeeze", &MergeReshapes},
    {"Squeeze", &SqueezeBeforeTranspose},
    {"Sub", &DropExpand},
    {"Transpose", &MergeTransposes},
    {"Transpose", &ReshapeForTranspose},
    {"Unsqueeze", &MergeReshapes},
    {"Where", &DropExpand},
};

}  // namespace

Ints PermutationOf(const Editor& to, NodeId node) {
  if (const Ints* permutation = to.IntList(node, "perm")) return *permutation;
  Ints reversed(to.type(to.graph().result(node)).rank());
  std::iota(reversed.rbegin(), reversed.rend(), 0);
  return reversed;
}

RewriteTable LayoutRules() { return kRules; }

}  // namespace flambeau
