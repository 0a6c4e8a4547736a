// First rounds of loops by themselves: where a loop carries None, an integer or
// a number that its first round makes a tensor of floats, the other rounds carry
// values of one type.
#include "script/evaluator.h"
#include "script/regions/comparison.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

namespace {

// Whether the number is made of sizes of inputs.
bool IsOfSizes(Expr number, Evaluator& evaluator) {
  const ExprPool& exprs = evaluator.context().exprs();
  bool sizes = true;
  exprs.ForEachSymbol(number, [&](Expr symbol) { sizes &= exprs.symbol_kind(symbol) == SymbolKind::kDimension; });
  return sizes;
}

bool CountsSizes(const Val& trips, Evaluator& evaluator) {
  const auto* number = trips.As<NumberVal>();
  if (number == nullptr) return false;
  const Type& type = evaluator.emit().TypeOf(number->id);
  return type.kind == TypeKind::kInt && type.contents && IsOfSizes(type.contents->front(), evaluator);
}

// `while i < n`, as the first round sees it.
bool AsksForSizes(const Val& condition, Evaluator& evaluator) {
  const auto* number = condition.As<NumberVal>();
  const auto asked = number != nullptr ? ComparisonOf(evaluator.emit().graph(), number->id) : std::nullopt;
  return asked && AsksForOne(*asked) && IsOfSizes(asked->size, evaluator);
}

}  // namespace

bool Evaluator::IsPeeled(const Node& node) const {
  if (node.kind != "prim::Loop") return false;
  const auto wanted = apart_.find(added_.SourceOf(node));
  return wanted != apart_.end() && added_.RoundsBefore(node) < wanted->second;
}

// Notes that less is known after the node than before.
void Evaluator::Lose(const Node& node) {
  const Node* source = added_.SourceOf(node);
  if (lossy_.empty() || lossy_.back() != source) lossy_.push_back(source);
}

// An If: where the loop has a round, that one and a loop of the others, else
// what the loop was given.
Result<const Node*> Evaluator::Peel(const Node& node) {
  const size_t carried = node.outputs.size();
  if (node.blocks.size() != 1 || node.inputs.size() != carried + 2 || node.blocks[0]->inputs.size() != carried + 1 ||
      node.blocks[0]->outputs.size() != carried + 1)
    return sink_.Error(DiagnosticKind::kBadProgram, "has not one block that fits its inputs and outputs");
  Block* body = node.blocks[0];
  const int rounds = added_.RoundsBefore(node);

  FLAMBEAU_TRY(Val is_first, emitter_.Call1("_operator::gt", {ValueOf(node.inputs[0]), int64_t{0}}));
  Val condition = ValueOf(node.inputs[1]);
  const bool may_assume = assumes_rounds_ && rounds == 0;
  const bool assumed = may_assume && CountsSizes(ValueOf(node.inputs[0]), *this);
  const bool entered = may_assume && !KnownBool(condition) && AsksForSizes(condition, *this);
  if (entered || (assumed && !KnownBool(is_first)))
    sink_.Warning(DiagnosticKind::kUnsupportedForm,
                  "takes for granted that the loop has a round: what it carries is of another dtype or rank without one");
  if (entered) condition = true;
  if (assumed || KnownBool(is_first).value_or(false)) {
    is_first = std::move(condition);
  } else if (!KnownBool(condition).value_or(false)) {
    FLAMBEAU_TRY(const ValueId again, Predicate(condition));
    FLAMBEAU_TRY(is_first, emitter_.Call1("_operator::and_", {is_first, NumberVal{again}}));
  }

  Node* branch = added_.Append(node, added_.AddBlock(), "prim::If", "", {NameOf(is_first)});
  branch->outputs = node.outputs;
  Block *taken = added_.AddBlock(), *skipped = added_.AddBlock();
  branch->blocks = {taken, skipped};
  skipped->outputs.assign(node.inputs.begin() + 2, node.inputs.end());

  // The body as an If that is always taken: it has its own names for what it is given.
  Node* round = added_.Append(node, taken, "prim::If", "", {NameOf(true)});
  round->blocks = {body, body};
  auto& given = given_[round];
  given.emplace_back(body->inputs[0], int64_t{rounds});
  for (size_t i = 0; i < carried; ++i) given.emplace_back(body->inputs[i + 1], ValueOf(node.inputs[i + 2]));
  for (const Value* output : body->outputs) (void)added_.AddOutput(round, *output);
  FLAMBEAU_TRY(const Val others, emitter_.Call1("_operator::sub", {ValueOf(node.inputs[0]), int64_t{1}}));
  std::vector<Value*> inputs = {NameOf(others)};
  inputs.insert(inputs.end(), round->outputs.begin(), round->outputs.end());
  Node* rest = added_.Append(node, taken, "prim::Loop", "", std::move(inputs));
  rest->blocks = {body};
  for (const Value* output : node.outputs) taken->outputs.push_back(added_.AddOutput(rest, *output));
  added_.SetSource(*branch, node, rounds);
  added_.SetSource(*rest, node, rounds + 1);
  return branch;
}

}  // namespace flambeau::script
