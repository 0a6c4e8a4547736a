// Operators along an axis that is known at run time only: called along each, if the tensor's rank is known.
#include <algorithm>

#include "aten/schema.h"
#include "script/evaluator.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

namespace {

// What schemas call the number of an axis.
constexpr std::string_view kNames[] = {"axis",     "axis0", "axis1",   "destination", "dim", "dim0", "dimension",
                                       "dim1",     "dim2",  "dims",    "end_dim",     "source", "start_dim"};
// Operators that make one more, which may be the last.
constexpr std::string_view kGrowing[] = {"aten::diag_embed", "aten::stack", "aten::unsqueeze", "aten::unsqueeze_"};
constexpr int64_t kMaxAxes = 8;
// Each open axis of a list is tried along all: those of two, not of more. permute names each axis once.
constexpr int64_t kMaxOpen = 2, kMaxPermuted = 4;

bool IsAxis(const aten::SchemaArgument& argument) {
  return argument.type.base == aten::BaseType::kInt && std::ranges::find(kNames, argument.name) != std::end(kNames);
}

// The number of an axis among the arguments, or in a list of such numbers.
struct OpenAxis {
  size_t argument;
  std::optional<size_t> element;
  NumberVal number;
};

// Of the first argument; of a list, of the tensor of most dimensions: cat leaves out those of nothing. Where another
// argument has more, which counts is the operator's own rule.
std::optional<int64_t> AxesOf(const Node& node, std::span<const Val> arguments, Evaluator& evaluator) {
  int64_t rank = -1;
  const auto counts = [&](const Val& value, bool may_have_more) {
    const auto* tensor = value.As<TensorVal>();
    if (tensor == nullptr) return true;
    const Type& type = evaluator.TypeOf(*tensor);
    const auto own = static_cast<int64_t>(type.rank());
    if (!type.ranked || (!may_have_more && own > rank)) return false;
    rank = std::max(rank, own);
    return true;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* list = arguments[i].As<ListVal>();
    if (list == nullptr && !counts(arguments[i], i == 0)) return std::nullopt;
    if (list != nullptr)
      for (const Val& element : evaluator.heap()[list->cell].elements)
        if (!counts(element, i == 0)) return std::nullopt;
  }
  if (rank < 0) return std::nullopt;
  const bool grows = std::ranges::find(kGrowing, node.kind) != std::end(kGrowing);
  return std::max<int64_t>(rank + grows, 1);
}

std::optional<OpenAxis> FindOpenAxis(const Node& node, std::span<const Val> arguments, const Heap& heap) {
  const auto is_open = [&](const Val& argument) {
    const auto* list = argument.As<ListVal>();
    return argument.Is<NumberVal>() || (list != nullptr && std::ranges::any_of(heap[list->cell].elements, &Val::Is<NumberVal>));
  };
  if (!node.kind.starts_with("aten::") || std::ranges::none_of(arguments, is_open)) return std::nullopt;
  const aten::Schema* schema = aten::FindSchema(OperatorName(node));
  for (size_t i = 0; schema != nullptr && i < std::min(arguments.size(), schema->arguments.size()); ++i) {
    if (!IsAxis(schema->arguments[i])) continue;
    if (const auto* number = arguments[i].As<NumberVal>()) return OpenAxis{i, std::nullopt, *number};
    const auto* list = arguments[i].As<ListVal>();
    if (list == nullptr) continue;
    const Vals& elements = heap[list->cell].elements;
    const auto found = std::ranges::find_if(elements, &Val::Is<NumberVal>);
    const int64_t most = node.kind == "aten::permute" ? kMaxPermuted : kMaxOpen;
    if (std::ranges::count_if(elements, &Val::Is<NumberVal>) > most) return std::nullopt;
    if (found != elements.end()) return OpenAxis{i, static_cast<size_t>(found - elements.begin()), *found->As<NumberVal>()};
  }
  return std::nullopt;
}

// permute takes as many axes as the tensor has, so a list of open length has that one.
Result<Vals> WithLengthOfRank(std::span<const Val> arguments, Evaluator& evaluator) {
  Vals told(arguments.begin(), arguments.end());
  const auto* tensor = told.size() == 2 ? told[0].As<TensorVal>() : nullptr;
  const auto* axes = tensor != nullptr ? told[1].As<ListVal>() : nullptr;
  if (axes == nullptr || !evaluator.heap()[axes->cell].sequence || !evaluator.TypeOf(*tensor).ranked) return told;
  FLAMBEAU_TRY(Vals elements, FirstElements(evaluator, told[1], evaluator.TypeOf(*tensor).rank()));
  told[1] = evaluator.List(std::move(elements));
  return told;
}

// All, or of permute those that it does not name already.
Vals AxesToTry(const Node& node, std::span<const Val> arguments, const OpenAxis& open, int64_t count, const Heap& heap) {
  const auto is_named = [&](int64_t axis) {
    const Vals& elements = heap[arguments[open.argument].As<ListVal>()->cell].elements;
    return std::ranges::any_of(elements, [&](const Val& each) { return each.AsInt() == axis || each.AsInt() == axis - count; });
  };
  Vals axes;
  for (int64_t axis = 0; axis < count; ++axis)
    if (node.kind != "aten::permute" || !open.element || !is_named(axis)) axes.push_back(axis);
  return axes;
}

}  // namespace

// if n == 0: y = op(x, 0), else if n == 1: y = op(x, 1), ... Looking n up among several axes raises where it is none.
// nullptr where no axis is open.
Result<const Node*> Evaluator::BranchOnAxis(const Node& node, std::span<const Val> arguments) {
  const auto open = FindOpenAxis(node, arguments, heap_);
  const auto count = open ? AxesOf(node, arguments, *this) : std::nullopt;
  if (!count || *count > kMaxAxes) return nullptr;
  const Vals tried = AxesToTry(node, arguments, *open, *count, heap_);
  if (tried.empty()) return nullptr;
  const auto call_along = [&](const Val& axis) {
    Val argument = axis;
    if (open->element) {
      Vals elements = heap_[arguments[open->argument].As<ListVal>()->cell].elements;
      elements[*open->element] = axis;
      argument = List(std::move(elements));
    }
    std::vector<Value*> inputs = node.inputs;
    inputs[open->argument] = NameOf(std::move(argument));
    Block* block = added_.AddBlock();
    Node* call = added_.AppendFor(node, block, node.kind, node.overload, std::move(inputs));
    tried_.insert(call);
    block->outputs = call->outputs;
    return block;
  };

  const Type& type = emitter_.TypeOf(open->number.id);
  const auto known = type.contents && !type.contents->empty() ? emitter_.facts().Only(type.contents->front()) : std::nullopt;
  Vals axes;
  for (int64_t axis = 0; axis < *count; ++axis) axes.push_back(axis);
  Val place;
  if (known) {
    place = *known;
  } else {
    FLAMBEAU_TRY(Vals found, FindBuiltin("aten::__getitem__")(*this, node, Vals{List(std::move(axes)), open->number}));
    place = std::move(found[0]);
  }
  Block* rest = call_along(place.AsInt() ? place : tried.back());
  for (size_t i = tried.size() - 1; i > 0 && !place.AsInt(); --i) {
    FLAMBEAU_TRY(Val same, emitter_.Call1("_operator::eq", {place, tried[i - 1]}));
    Block* block = added_.AddBlock();
    Node* branch = added_.AppendFor(node, block, "prim::If", "", {NameOf(std::move(same))});
    branch->blocks = {call_along(tried[i - 1]), rest};
    block->outputs = branch->outputs;
    rest = block;
  }
  rest->nodes[0]->outputs = node.outputs;
  return static_cast<const Node*>(rest->nodes[0]);
}

Result<const Node*> Evaluator::BranchOnNumber(const Node& node, std::span<const Val> arguments) {
  const bool of_member = node.kind == "prim::EnumValue" || node.kind == "prim::EnumName";
  return of_member && arguments[0].Is<NumberVal>() ? BranchOnMember(node, arguments[0]) : BranchOnAxis(node, arguments);
}

Result<std::optional<Vals>> Evaluator::OnEachNumber(const Node& node, std::span<const Val> arguments) {
  Vals told;
  if (node.kind == "aten::permute") {
    FLAMBEAU_TRY(told, WithLengthOfRank(arguments, *this));
    arguments = told;
  }
  FLAMBEAU_TRY(const Node* branch, BranchOnNumber(node, arguments));
  if (branch == nullptr) return std::optional<Vals>();
  if (branch->kind != "prim::If") {
    FLAMBEAU_TRY(Vals results, Evaluate(*branch));
    return std::optional(std::move(results));
  }
  Val condition = ValueOf(branch->inputs[0]);
  FLAMBEAU_TRY(Vals results, DecideOrBranch(*branch, std::move(condition)));
  return std::optional(std::move(results));
}

}  // namespace flambeau::script
