// First rounds of loops by themselves: where a loop carries None, an integer or
// a number that its first round makes a tensor of floats, the other rounds carry
// values of one type.
#include "script/evaluator.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Node;
using torchscript::Value;

// The node of the source that an added one stands for.
const Node* Evaluator::SourceOf(const Node& node) const {
  const auto rest = rests_.find(&node);
  return rest == rests_.end() ? &node : rest->second.loop;
}

bool Evaluator::IsPeeled(const Node& node) const {
  if (node.kind != "prim::Loop") return false;
  const auto wanted = apart_.find(SourceOf(node));
  const auto rest = rests_.find(&node);
  return wanted != apart_.end() && (rest == rests_.end() ? 0 : rest->second.rounds) < wanted->second;
}

// Whether the number is made of sizes of inputs.
bool Evaluator::CountsSizes(const Val& trips) const {
  const auto* number = trips.As<NumberVal>();
  if (number == nullptr) return false;
  const Type& type = emitter_.TypeOf(number->id);
  if (type.kind != TypeKind::kInt || !type.contents) return false;
  const ExprPool& exprs = program_.context->exprs();
  bool sizes = true;
  exprs.ForEachSymbol(type.contents->front(), [&](Expr symbol) { sizes &= exprs.symbol_kind(symbol) == SymbolKind::kDimension; });
  return sizes;
}

// Notes that less is known after the node than before.
void Evaluator::Lose(const Node& node) {
  if (lossy_.empty() || lossy_.back() != SourceOf(node)) lossy_.push_back(SourceOf(node));
}

// An If: where the loop has a round, that one and a loop of the others, else
// what the loop was given.
Result<const Node*> Evaluator::Peel(const Node& node) {
  const size_t carried = node.outputs.size();
  if (node.blocks.size() != 1 || node.inputs.size() != carried + 2 || node.blocks[0]->inputs.size() != carried + 1 ||
      node.blocks[0]->outputs.size() != carried + 1)
    return sink_.Error(DiagnosticKind::kBadProgram, "has not one block that fits its inputs and outputs");
  Block* body = node.blocks[0];
  const auto before = rests_.find(&node);
  const int rounds = before == rests_.end() ? 0 : before->second.rounds;
  const Node* source = SourceOf(node);
  auto like_loop = [&](Block* block, std::string kind, std::vector<Value*> inputs) {
    Node* made = added_.Append(block, std::move(kind), "", std::move(inputs));
    made->scopes = node.scopes;
    made->source = node.source;
    return made;
  };

  FLAMBEAU_TRY(Val is_first, emitter_.Call1("_operator::gt", {ValueOf(node.inputs[0]), int64_t{0}}));
  Val condition = ValueOf(node.inputs[1]);
  const bool assumed = assumes_rounds_ && rounds == 0 && CountsSizes(ValueOf(node.inputs[0]));
  if (assumed && !KnownBool(is_first))
    sink_.Warning(DiagnosticKind::kUnsupportedForm,
                  "takes for granted that the loop has a round: what it carries is of another dtype without one");
  if (assumed || KnownBool(is_first).value_or(false)) {
    is_first = std::move(condition);
  } else if (!KnownBool(condition).value_or(false)) {
    FLAMBEAU_TRY(const ValueId again, Predicate(condition));
    FLAMBEAU_TRY(is_first, emitter_.Call1("_operator::and_", {is_first, NumberVal{again}}));
  }

  Block* around = added_.AddBlock();
  Value* test = added_.AppendConstant(around, {false}, nullptr, "");
  Bind(test, is_first);
  Node* branch = like_loop(around, "prim::If", {test});
  branch->outputs = node.outputs;
  Block *taken = added_.AddBlock(), *skipped = added_.AddBlock();
  branch->blocks = {taken, skipped};
  skipped->outputs.assign(node.inputs.begin() + 2, node.inputs.end());

  // The body as an If that is always taken: it has its own names for what it is given.
  Node* round = like_loop(taken, "prim::If", {});
  round->inputs = {added_.AppendConstant(around, {true}, nullptr, "")};
  Bind(round->inputs[0], true);
  round->blocks = {body, body};
  auto& given = given_[round];
  given.emplace_back(body->inputs[0], int64_t{rounds});
  for (size_t i = 0; i < carried; ++i) given.emplace_back(body->inputs[i + 1], ValueOf(node.inputs[i + 2]));
  for (const Value* output : body->outputs) (void)added_.AddOutput(round, output->type, output->name);
  FLAMBEAU_TRY(const Val others, emitter_.Call1("_operator::sub", {ValueOf(node.inputs[0]), int64_t{1}}));
  Value* count = added_.AppendConstant(around, {int64_t{0}}, nullptr, "");
  Bind(count, others);
  std::vector<Value*> inputs = {count};
  inputs.insert(inputs.end(), round->outputs.begin(), round->outputs.end());
  Node* rest = like_loop(taken, "prim::Loop", std::move(inputs));
  rest->blocks = {body};
  for (const Value* output : node.outputs) taken->outputs.push_back(added_.AddOutput(rest, output->type, output->name));
  rests_[branch] = {source, rounds};
  rests_[rest] = {source, rounds + 1};
  return branch;
}

}  // namespace flambeau::script
