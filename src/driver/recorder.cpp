#include "driver/recorder.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "driver/size_texts.h"
#include "flambeau/version.h"

namespace flambeau {
namespace {

using Report = ConversionReport;

Report::Tensor Describe(const Graph& graph, ValueId id) {
  const Context& context = graph.context();
  const Type& type = graph.type(id);
  return {std::string(context.Text(graph[id].name)), std::string(Info(type.dtype).torch_name), SizeTexts(context.exprs(), type)};
}

std::string TypeText(const Graph& graph, ValueId id) {
  const Type& type = graph.type(id);
  if (!type.is_tensor()) return "";
  const std::string_view dtype = Info(type.dtype).torch_name;
  return type.ranked ? fmt::format("{}[{}]", dtype, fmt::join(SizeTexts(graph.context().exprs(), type), ", ")) : fmt::format("{}[…]", dtype);
}

// The code of the line that SourceLine names: what follows `File "…/model.py", line 17, in forward`.
std::string CodeAt(std::string_view stack_trace, std::string_view source) {
  const size_t colon = source.rfind(':');
  if (colon == source.npos) return "";
  const std::string line = fmt::format("{}\", line {},", source.substr(0, colon), source.substr(colon + 1));
  const size_t frame = stack_trace.rfind(line);
  if (frame == stack_trace.npos) return "";
  size_t begin = stack_trace.find('\n', frame);
  if (begin == stack_trace.npos) return "";
  begin = stack_trace.find_first_not_of(" \t\n", begin);
  if (begin == stack_trace.npos) return "";
  return std::string(stack_trace.substr(begin, stack_trace.find('\n', begin) - begin));
}

}  // namespace

uint32_t Recorder::ModuleOf(const Context& context, const Origin& origin) {
  uint32_t module = Report::kNone;
  for (const ModuleFrame& frame : origin.modules) {
    const auto [it, is_new] = modules_.try_emplace({frame.path, frame.class_name}, static_cast<uint32_t>(report_.modules.size()));
    if (is_new) report_.modules.push_back({std::string(context.Text(frame.path)), std::string(context.Text(frame.class_name)), module});
    module = it->second;
  }
  return module;
}

void Recorder::Begin(const Program::Impl& program) {
  const Graph& graph = program.graph;
  const Context& context = graph.context();
  report_.status = "failed";
  report_.flambeau_version = Version();
  report_.torch_version = program.torch_version;
  captured_.assign(graph.node_capacity(), Report::kNone);
  report_.captured.reserve(graph.live_nodes());
  for (BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId id) {
      const Node& node = graph[id];
      Report::CapturedNode captured;
      captured.op = graph.op(id);
      if (node.origin) {
        const Origin& origin = context[node.origin];
        captured.name = context.Text(origin.node_name);
        captured.module = ModuleOf(context, origin);
        captured.source = SourceLine(context.Text(origin.stack_trace));
        captured.code = CodeAt(context.Text(origin.stack_trace), captured.source);
        if (captured.module != Report::kNone) ++report_.modules[captured.module].captured_nodes;
      }
      for (ValueId operand : graph.operands(id))
        if (operand && graph[operand].kind == ValueKind::kResult)
          if (const uint32_t made = CapturedAs(graph[operand].node); made != Report::kNone) captured.inputs.push_back(made);
      captured_[id.index] = static_cast<uint32_t>(report_.captured.size());
      report_.captured.push_back(std::move(captured));
    });
  std::unordered_set<std::string_view> known;
  for (const InputSpec& input : program.inputs) {
    if (input.kind != InputKind::kUser) continue;
    report_.inputs.push_back(Describe(graph, input.value));
    for (Expr size : graph.type(input.value).sizes)
      context.exprs().ForEachSymbol(size, [&](Expr symbol) {
        const std::string_view name = context.exprs().symbol_name(symbol);
        if (known.insert(name).second) report_.dimensions.push_back({std::string(name), RangeText(context.exprs().RangeOf(symbol))});
      });
  }
  nodes_ = graph.live_nodes();
  last_ = Clock::now();
}

void Recorder::After(std::string_view stage, std::string_view description, const Graph& graph) {
  const auto now = Clock::now();
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  report_.stages.push_back({std::string(stage), std::string(description), seconds(last_ - start_), seconds(now - last_), nodes_, graph.live_nodes()});
  made_.push_back({graph.node_capacity(), static_cast<uint32_t>(report_.stages.size() - 1)});
  nodes_ = graph.live_nodes();
  last_ = now;
}

uint32_t Recorder::StageOf(NodeId node) const {
  for (const Watermark& mark : made_)
    if (node.index < mark.capacity) return mark.stage;
  return Report::kNone;
}

uint32_t Recorder::CapturedAs(NodeId node) const { return node.index < captured_.size() ? captured_[node.index] : Report::kNone; }

void Recorder::Finish(const onnx::ModelData& model) {
  const Graph& graph = model.graph;
  const Context& context = graph.context();
  // ATen passes come first; their watermarks are of another graph.
  const auto lowered = std::ranges::find(report_.stages, "lowered", &Report::Stage::name);
  std::erase_if(made_, [&](const Watermark& mark) { return mark.stage < static_cast<uint32_t>(lowered - report_.stages.begin()); });
  report_.status = "converted";
  report_.ir_version = model.ir_version;
  for (const onnx::OpsetImport& import : model.opset_imports)
    if (import.domain.empty()) report_.opset = import.version;
  report_.inputs.clear();
  for (ValueId id : graph[graph.main()].inputs) report_.inputs.push_back(Describe(graph, id));
  for (ValueId id : graph.outputs(graph.main())) report_.outputs.push_back(Describe(graph, id));
  for (ValueId id : onnx::Initializers(graph)) {
    ++report_.weight_count;
    report_.weight_bytes += context[graph[id].data].byte_size();
  }
  std::unordered_map<TypeId, std::string> type_texts;
  std::vector<uint32_t> values(graph.value_capacity(), Report::kNone);
  report_.values.reserve(graph.value_capacity());
  auto value_of = [&](ValueId id) {
    if (!id) return Report::kNone;
    uint32_t& place = values[id.index];
    if (place == Report::kNone) {
      place = static_cast<uint32_t>(report_.values.size());
      std::string& type = type_texts[graph[id].type];
      if (type.empty()) type = TypeText(graph, id);
      report_.values.push_back({std::string(context.Text(graph[id].name)), type});
    }
    return place;
  };
  report_.nodes.reserve(graph.live_nodes());
  std::unordered_map<BlockId, uint32_t> holders;  // which come before what is within
  for (BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId id) {
      const Node& node = graph[id];
      Report::OnnxNode made;
      if (const auto holder = holders.find(block); holder != holders.end()) made.within = holder->second;
      for (const auto& attribute : node.attributes)
        if (const auto* body = std::get_if<BlockId>(&attribute.value)) {
          holders.emplace(*body, static_cast<uint32_t>(report_.nodes.size()));
          for (ValueId output : graph.outputs(*body)) made.yields.push_back(value_of(output));
        }
      made.name = context.Text(node.name);
      made.op = graph.op(id);
      made.stage = StageOf(id);
      if (node.origin) {
        const Origin& origin = context[node.origin];
        made.module = ModuleOf(context, origin);
        made.captured = CapturedAs(origin.node);
        for (const OriginId merged : origin.merged)
          if (const uint32_t found = CapturedAs(context[merged].node); found != Report::kNone) made.merged.push_back(found);
        if (made.module != Report::kNone) ++report_.modules[made.module].onnx_nodes;
      }
      for (ValueId operand : graph.operands(id)) made.inputs.push_back(value_of(operand));
      for (uint32_t i = 0; i < node.result_count; ++i) made.outputs.push_back(value_of(node.result(i)));
      report_.nodes.push_back(std::move(made));
    });
}

ConversionReport Recorder::Take(const std::vector<Diagnostic>& diagnostics) {
  report_.diagnostics = diagnostics;
  using Place = std::tuple<std::string_view, std::string_view, std::string_view>;
  std::vector<Place> places;
  for (const Diagnostic& diagnostic : diagnostics)
    if (diagnostic.severity == Severity::kError && !diagnostic.location.operation.empty())
      places.emplace_back(diagnostic.location.operation, diagnostic.location.module, diagnostic.location.source);
  std::ranges::sort(places);
  for (Report::CapturedNode& node : report_.captured) {
    const std::string_view module = node.module == Report::kNone ? std::string_view() : report_.modules[node.module].path;
    node.missing = std::ranges::binary_search(places, Place(node.op, module, node.source));
  }
  return std::move(report_);
}

}  // namespace flambeau
