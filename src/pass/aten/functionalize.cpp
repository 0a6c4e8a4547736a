#include <fmt/format.h>

#include <unordered_set>

#include "aten/schema.h"
#include "pass/aten/functionalizer.h"
#include "pass/aten/passes.h"

namespace flambeau {
namespace {

// Most programs write nothing; theirs is the price of one scan.
bool NeedsWork(const Graph& graph, BlockId block) {
  bool found = false;
  graph.ForEachNode(block, [&](NodeId node) {
    if (found) return;
    const aten::Schema* schema = aten::FindSchema(graph.op(node));
    found = schema == nullptr ? WritesUnseen(graph, node) : (schema->base == "aten::as_strided" || schema->has_writes() ||
                                  !aten::WritesOf(graph, node, *schema).arguments.empty());
  });
  return found;
}

Status RunBlock(Graph& graph, BlockId block, Functionalizer& functionalizer, Sink& sink) {
  bool ok = true;
  graph.ForEachNode(block, [&](NodeId node) { ok = functionalizer.Visit(node) && ok; });
  const NodeId end = graph[block].terminator;
  for (uint32_t i = 0; i < graph.operand_count(end); ++i) {
    const ValueId output = graph.operand(end, i);
    if (output) graph.SetOperand(end, i, functionalizer.storages().Read(output, end));
  }
  if (!ok || sink.HasErrors()) return kFailure;
  functionalizer.EraseReplaced();
  return {};
}

}  // namespace

void AddStateOutputs(Program::Impl& program, Storages& storages, Sink& sink) {
  Graph& graph = program.graph;
  const NodeId end = graph[graph.main()].terminator;
  std::vector<ValueId> outputs = graph.outputs(graph.main());
  // A script's `self.n += 1` writes the buffer and then sets the attribute: what the attribute holds is the new state.
  std::unordered_set<Symbol> known;
  for (const OutputSpec& output : program.outputs)
    if (output.IsState()) known.insert(output.target);
  for (const InputSpec& input : program.inputs) {
    if (input.kind == InputKind::kConstantTensor && input.target == Symbol{0}) continue;  // what is written to it ends with the run
    const std::string_view name = graph.context().Text(input.target == Symbol{0} ? input.name : input.target);
    if (input.kind != InputKind::kUser && known.contains(graph.context().Intern(name))) continue;
    const auto value = storages.Final(input.value, end, input.kind != InputKind::kUser);
    if (!value) {
      if (storages.MaybeWritten(input.value))
        sink.Warning(DiagnosticKind::kUnknownAliasing,
                      fmt::format("whether '{}' is written is not known; its new value is not an output", name));
      continue;
    }
    const OutputKind kind = input.kind == InputKind::kUser        ? OutputKind::kUserInputMutation
                            : input.kind == InputKind::kParameter ? OutputKind::kParameterMutation
                                                                  : OutputKind::kBufferMutation;
    outputs.push_back(*value);
    program.outputs.push_back({kind, input.name, graph.context().Intern(name)});
  }
  if (outputs.size() != graph.output_count(graph.main())) graph.SetOutputs(graph.main(), outputs);
}

Result<Changed> Functionalize(Program::Impl& program, PassContext& context) {
  Functionalizer functionalizer(program.graph, context.sink);
  Changed changed = Changed::kNo;
  bool ok = true;
  for (const BlockId block : program.graph.AllBlocks()) {
    if (!NeedsWork(program.graph, block)) continue;
    if (changed == Changed::kNo) LinkSharedMemory(program, functionalizer.storages());
    changed = Changed::kYes;
    ok = RunBlock(program.graph, block, functionalizer, context.sink) && ok;
  }
  if (!ok) return kFailure;
  AddStateOutputs(program, functionalizer.storages(), context.sink);
  return changed;
}

}  // namespace flambeau
