// Operators along an axis that is known at run time only: called along each, if the tensor's rank is known.
#include <algorithm>

#include "aten/schema.h"
#include "script/evaluator.h"

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
// Each open axis of a list is tried along all: those of two, not of more.
constexpr int64_t kMaxOpen = 2;

bool IsAxis(const aten::SchemaArgument& argument) {
  return argument.type.base == aten::BaseType::kInt && std::ranges::find(kNames, argument.name) != std::end(kNames);
}

}  // namespace

// The number of an axis among the arguments, or in a list of such numbers.
struct Evaluator::OpenAxis {
  size_t argument;
  std::optional<size_t> element;
  NumberVal number;
};

// Of the first argument; of a list, of the tensor of most dimensions: cat leaves out those of nothing. Where another
// argument has more, which counts is the operator's own rule.
std::optional<int64_t> Evaluator::AxesOf(const Node& node, std::span<const Val> arguments) {
  int64_t rank = -1;
  const auto counts = [&](const Val& value, bool may_have_more) {
    const auto* tensor = value.As<TensorVal>();
    if (tensor == nullptr) return true;
    const Type& type = TypeOf(*tensor);
    const auto own = static_cast<int64_t>(type.rank());
    if (!type.ranked || (!may_have_more && own > rank)) return false;
    rank = std::max(rank, own);
    return true;
  };
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* list = arguments[i].As<ListVal>();
    if (list == nullptr && !counts(arguments[i], i == 0)) return std::nullopt;
    if (list != nullptr)
      for (const Val& element : heap_[list->cell].elements)
        if (!counts(element, i == 0)) return std::nullopt;
  }
  if (rank < 0) return std::nullopt;
  const bool grows = std::ranges::find(kGrowing, node.kind) != std::end(kGrowing);
  return std::max<int64_t>(rank + grows, 1);
}

std::optional<Evaluator::OpenAxis> Evaluator::FindOpenAxis(const Node& node, std::span<const Val> arguments) const {
  const auto is_open = [&](const Val& argument) {
    const auto* list = argument.As<ListVal>();
    return argument.Is<NumberVal>() || (list != nullptr && std::ranges::any_of(heap_[list->cell].elements, &Val::Is<NumberVal>));
  };
  if (!node.kind.starts_with("aten::") || std::ranges::none_of(arguments, is_open)) return std::nullopt;
  const aten::Schema* schema = aten::FindSchema(OperatorName(node));
  for (size_t i = 0; schema != nullptr && i < std::min(arguments.size(), schema->arguments.size()); ++i) {
    if (!IsAxis(schema->arguments[i])) continue;
    if (const auto* number = arguments[i].As<NumberVal>()) return OpenAxis{i, std::nullopt, *number};
    const auto* list = arguments[i].As<ListVal>();
    if (list == nullptr) continue;
    const Vals& elements = heap_[list->cell].elements;
    const auto found = std::ranges::find_if(elements, &Val::Is<NumberVal>);
    if (std::ranges::count_if(elements, &Val::Is<NumberVal>) > kMaxOpen) return std::nullopt;
    if (found != elements.end()) return OpenAxis{i, static_cast<size_t>(found - elements.begin()), *found->As<NumberVal>()};
  }
  return std::nullopt;
}

// if n == 0: y = op(x, 0), else if n == 1: y = op(x, 1), ... Looking n up among several axes raises where it is none.
// nullptr where no axis is open. permute has no such form: with most numbers it would name an axis twice.
Result<const Node*> Evaluator::BranchOnAxis(const Node& node, std::span<const Val> arguments) {
  const auto open = FindOpenAxis(node, arguments);
  const auto count = open ? AxesOf(node, arguments) : std::nullopt;
  if (!count || *count > kMaxAxes || node.kind == "aten::permute") return nullptr;
  Block* around = added_.AddBlock();  // is not walked
  const auto name = [&](Val value) {
    Value* made = added_.AppendConstant(around, {false}, nullptr, "");
    Bind(made, std::move(value));
    return made;
  };
  const auto like = [&](Block* block, std::string kind, std::string overload, std::vector<Value*> inputs) {
    Node* made = added_.Append(block, std::move(kind), std::move(overload), std::move(inputs));
    made->scopes = node.scopes;
    made->source = node.source;
    made->attributes = node.attributes;
    rests_[made] = {SourceOf(node), 0};
    for (const Value* output : node.outputs) (void)added_.AddOutput(made, output->type, output->name);
    return made;
  };
  const auto call_along = [&](int64_t axis) {
    Val argument = axis;
    if (open->element) {
      Vals elements = heap_[arguments[open->argument].As<ListVal>()->cell].elements;
      elements[*open->element] = axis;
      argument = List(std::move(elements));
    }
    std::vector<Value*> inputs = node.inputs;
    inputs[open->argument] = name(std::move(argument));
    Block* block = added_.AddBlock();
    block->outputs = like(block, node.kind, node.overload, std::move(inputs))->outputs;
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
  Block* rest = call_along(place.AsInt().value_or(*count - 1));
  for (int64_t axis = *count - 2; axis >= 0 && !place.AsInt(); --axis) {
    FLAMBEAU_TRY(Val same, emitter_.Call1("_operator::eq", {place, axis}));
    Block* block = added_.AddBlock();
    Node* branch = like(block, "prim::If", "", {name(std::move(same))});
    branch->blocks = {call_along(axis), rest};
    block->outputs = branch->outputs;
    rest = block;
  }
  rest->nodes[0]->outputs = node.outputs;
  return static_cast<const Node*>(rest->nodes[0]);
}

Result<std::optional<Vals>> Evaluator::AlongEachAxis(const Node& node, std::span<const Val> arguments) {
  FLAMBEAU_TRY(const Node* branch, BranchOnAxis(node, arguments));
  if (branch == nullptr) return std::optional<Vals>();
  if (branch->kind != "prim::If") {
    FLAMBEAU_TRY(Vals results, Evaluate(*branch));
    return std::optional(std::move(results));
  }
  Val condition = ValueOf(branch->inputs[0]);
  FLAMBEAU_TRY(const Block* taken, Decide(*branch, condition));
  FLAMBEAU_TRY(Vals results, taken != nullptr ? EvaluateBlock(*taken) : Branch(*branch, condition, {}));
  return std::optional(std::move(results));
}

}  // namespace flambeau::script
