// What an archive holds, and what Flambeau supports.
#include <algorithm>
#include <map>

#include "aten/equivalents.h"
#include "aten/program.h"
#include "driver/size_texts.h"
#include "driver/weight_bytes.h"
#include "flambeau/convert.h"
#include "lower/registry.h"
#include "pass/aten/passes.h"

namespace flambeau {
namespace {

std::string DtypeText(const Type& type) {
  switch (type.kind) {
    case TypeKind::kInt: return "int";
    case TypeKind::kFloat: return "float";
    case TypeKind::kBool: return "bool";
    default: return std::string(Info(type.dtype).torch_name);
  }
}

std::string_view KindText(InputKind kind) {
  switch (kind) {
    case InputKind::kUser: return "input";
    case InputKind::kParameter: return "parameter";
    case InputKind::kBuffer: return "buffer";
    case InputKind::kConstantTensor: return "constant";
    case InputKind::kConstant: return "fixed";
    case InputKind::kToken: return "token";
    case InputKind::kObject: return "object";
  }
  return "";
}

// Whether a node has a translation, once the passes have made it pure, or they need none.
bool IsSupported(const Graph& graph, NodeId node) {
  const std::string_view op = graph.op(node);
  if (lower::FindOp(op) != nullptr || IsWrapper(op) || IsGuard(op)) return true;
  const std::optional<std::string_view> pure = PureOperator(graph, node);
  return pure && (pure->empty() || lower::FindOp(*pure) != nullptr);
}

}  // namespace

ProgramSummary Summarize(const Program& program) {
  const Program::Impl& impl = program.impl();
  const Context& context = *impl.context;
  const ExprPool& exprs = context.exprs();
  ProgramSummary summary;
  summary.torch_version = impl.torch_version;
  summary.alternatives = impl.alternatives;
  summary.extra_files = impl.extra_files;
  WeightBytes bytes;
  std::map<std::string, std::string> dims;
  for (const InputSpec& input : impl.inputs) {
    const Type& type = impl.graph.type(input.value);
    const bool user = input.kind == InputKind::kUser || input.kind == InputKind::kConstant;
    const bool named = !user && input.target != Symbol{0};
    ProgramSummary::Tensor tensor{std::string(context.Text(named ? input.target : input.name)), DtypeText(type), SizeTexts(exprs, type), std::string(KindText(input.kind)), {}};
    if (user) {
      for (Expr size : type.sizes)
        exprs.ForEachSymbol(size, [&](Expr symbol) {
          dims[std::string(exprs.symbol_name(symbol))] = RangeText(exprs.RangeOf(symbol));
        });
      summary.inputs.push_back(std::move(tensor));
    } else {
      if (impl.graph[input.value].kind == ValueKind::kConstant) bytes.Add(context[impl.graph[input.value].data]);
      summary.weights.push_back(std::move(tensor));
    }
  }
  summary.weight_bytes = bytes.sum();
  summary.dims.assign(dims.begin(), dims.end());
  for (size_t i = 0; i < impl.outputs.size(); ++i) {
    const ValueId value = impl.graph.output(impl.graph.main(), static_cast<uint32_t>(i));
    if (!value) continue;
    const Type& type = impl.graph.type(value);
    summary.outputs.push_back({std::string(context.Text(impl.outputs[i].name)), DtypeText(type), SizeTexts(exprs, type),
                               impl.outputs[i].kind == OutputKind::kUser ? "output" : "mutation", {}});
  }
  std::map<std::string_view, ProgramSummary::Operator> operators;
  for (BlockId block : impl.graph.AllBlocks()) {
    impl.graph.ForEachNode(block, [&](NodeId node) {
      const std::string_view name = impl.graph.op(node);
      auto& found = operators.try_emplace(name, ProgramSummary::Operator{std::string(name), 0, true}).first->second;
      ++found.count;
      found.supported = found.supported && IsSupported(impl.graph, node);
    });
  }
  for (auto& [name, found] : operators) summary.operators.push_back(std::move(found));
  std::stable_sort(summary.operators.begin(), summary.operators.end(), [](const auto& a, const auto& b) { return a.count > b.count; });
  return summary;
}

std::vector<OperatorInfo> SupportedOperators() {
  std::vector<OperatorInfo> list;
  for (const lower::OpRow* row : lower::AllOps()) {
    OperatorInfo info{std::string(row->schema), {}, {}};
    for (const lower::Restriction* restriction : row->restrictions)
      if (restriction != nullptr) info.restrictions.push_back(restriction->Explained());
    list.push_back(std::move(info));
  }
  for (const auto& [op, call] : aten::EquivalentRows()) list.push_back({std::string(aten::FindSchema(op)->text), std::string(call), {}});
  std::ranges::sort(list, {}, &OperatorInfo::schema);
  return list;
}

std::vector<OperatorNote> OperatorNotes(NotesOf kind) {
  std::vector<OperatorNote> list;
  for (const auto& [names, text] : kind == NotesOf::kNoOnnxForm ? lower::OperatorsWithoutOnnxForm() : lower::OpenResults())
    list.push_back({std::string(names), std::string(text)});
  return list;
}

}  // namespace flambeau
