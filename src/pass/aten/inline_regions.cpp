#include <fmt/format.h>

#include <algorithm>

#include "pass/aten/autocast.h"
#include "pass/aten/call.h"
#include "pass/aten/passes.h"

namespace flambeau {

bool IsWrapper(std::string_view op) {
  static constexpr std::string_view kWrappers[] = {"higher_order::wrap",
                                                   "higher_order::wrap_with_set_grad_enabled",
                                                   "higher_order::wrap_with_autocast",
                                                   "higher_order::strict_mode",
                                                   "higher_order::wrap_activation_checkpoint",
                                                   "higher_order::tag_activation_checkpoint",
                                                   "higher_order::hints_wrapper",
                                                   "higher_order::invoke_subgraph",
                                                   "higher_order::inductor_compiled_code"};
  return std::ranges::find(kWrappers, op) != std::end(kWrappers);
}

namespace {

class Inliner {
 public:
  Inliner(Graph& graph, Sink& sink) : graph_(graph), sink_(sink), autocast_(graph, sink) {}

  Status Run();
  Changed changed() const { return changed_; }

 private:
  struct Frame {
    NodeId wrapper;
    BlockId body;
    NodeId next;
    AutocastRegions regions;
  };
  struct Pending {
    BlockId block;
    AutocastRegions regions;
  };

  Status RunBlock(const Pending& pending);
  Status Inline(NodeId outermost, const AutocastRegions& regions);
  Result<Frame> Enter(NodeId wrapper, const AutocastRegions& regions);
  void Leave(const Frame& frame);
  Status Visit(NodeId node, const AutocastRegions& regions);
  Result<AutocastRegions> RegionsIn(NodeId wrapper, AutocastRegions regions);

  Graph& graph_;
  Sink& sink_;
  Autocast autocast_;
  std::vector<Pending> pending_;
  Changed changed_ = Changed::kNo;
};

Status Inliner::Run() {
  pending_.push_back({graph_.main(), autocast_.Surrounding()});
  bool ok = true;
  while (!pending_.empty()) {
    const Pending next = std::move(pending_.back());
    pending_.pop_back();
    autocast_.Forget();
    ok = RunBlock(next) && ok;
  }
  return ok ? Status() : Status(kFailure);
}

Status Inliner::RunBlock(const Pending& pending) {
  bool ok = true;
  graph_.ForEachNode(pending.block, [&](NodeId node) {
    ok = (IsWrapper(graph_.op(node)) ? Inline(node, pending.regions) : Visit(node, pending.regions)) && ok;
  });
  return ok ? Status() : Status(kFailure);
}

Status Inliner::Visit(NodeId node, const AutocastRegions& regions) {
  graph_.ForEachBody(node, [&](BlockId body) { pending_.push_back({body, regions}); });
  return autocast_.Apply(node, regions);
}

// Moves what is in the bodies before the outermost wrapper, each node once.
Status Inliner::Inline(NodeId outermost, const AutocastRegions& regions) {
  changed_ = Changed::kYes;
  FLAMBEAU_TRY(Frame first, Enter(outermost, regions));
  std::vector<Frame> frames;
  frames.push_back(std::move(first));
  bool ok = true;
  while (!frames.empty()) {
    Frame& frame = frames.back();
    if (!frame.next) {
      Leave(frame);
      frames.pop_back();
      continue;
    }
    const NodeId node = frame.next;
    frame.next = graph_[node].next;
    if (IsWrapper(graph_.op(node))) {
      FLAMBEAU_TRY(Frame inner, Enter(node, frame.regions));
      frames.push_back(std::move(inner));
      continue;
    }
    graph_.MoveBefore(node, outermost);
    ok = Visit(node, frame.regions) && ok;
  }
  if (!ok) return kFailure;
  graph_.Erase(outermost);
  return {};
}

Result<AutocastRegions> Inliner::RegionsIn(NodeId wrapper, AutocastRegions regions) {
  if (graph_.op(wrapper) != "higher_order::wrap_with_autocast") return regions;
  const auto& attributes = graph_[wrapper].attributes;
  const auto* device = attributes.size() > 4 ? std::get_if<std::string>(&attributes[0].value) : nullptr;
  const auto* enabled = device ? std::get_if<bool>(&attributes[2].value) : nullptr;
  if (enabled == nullptr)
    return sink_.Error(DiagnosticKind::kBadProgram, "has arguments that autocast does not take",
                       LocationOf(graph_, wrapper));
  if (*device != "cpu" && *device != "cuda")
    return sink_.Error(DiagnosticKind::kUnsupportedForm,
                       fmt::format("argument 'device_type' is '{}'; 'cpu' and 'cuda' are supported", *device),
                       LocationOf(graph_, wrapper));
  const bool cuda = *device == "cuda";
  const auto* dtype = std::get_if<DType>(&attributes[1].value);
  std::erase_if(regions, [&](const AutocastRegion& region) { return region.cuda == cuda; });
  if (*enabled) regions.push_back({cuda, dtype ? *dtype : cuda ? DType::kFloat16 : DType::kBfloat16});
  return regions;
}

// The body's inputs become the wrapper's arguments: what follows the body.
Result<Inliner::Frame> Inliner::Enter(NodeId wrapper, const AutocastRegions& regions) {
  FLAMBEAU_TRY(AutocastRegions inside, RegionsIn(wrapper, regions));
  BlockId body;
  std::vector<ValueId> arguments;
  auto take = [&](const auto& value) {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::is_same_v<T, Operand>) {
      arguments.push_back(graph_.operand(wrapper, value.index));
    } else if constexpr (std::is_same_v<T, None>) {
      arguments.push_back({});
    } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double> || std::is_same_v<T, bool>) {
      Type type = std::is_same_v<T, double> ? Type::OfFloat()
                  : std::is_same_v<T, bool> ? Type::OfBool()
                                            : Type::OfInt({});
      if constexpr (!std::is_same_v<T, double>)
        type.contents = {graph_.context().exprs().Constant(static_cast<int64_t>(value))};
      const TypeId id = graph_.context().Intern(std::move(type));
      const NodeId constant =
          graph_.InsertBefore(wrapper, graph_.context().Intern("prim::Constant"), {},
                              {{graph_.context().Intern("value"), value}}, {&id, 1}, graph_[wrapper].origin);
      arguments.push_back(graph_.result(constant));
    }
  };
  const std::vector<NamedAttribute> attributes = graph_[wrapper].attributes;
  for (const NamedAttribute& attribute : attributes) {
    if (const auto* block = std::get_if<BlockId>(&attribute.value)) {
      body = *block;
    } else if (body && arguments.size() < graph_[body].inputs.size()) {
      if (const auto* list = std::get_if<OperandList>(&attribute.value)) {
        for (const ListElement& element : *list) std::visit(take, element);
      } else {
        std::visit(take, attribute.value);
      }
    }
  }
  if (!body || arguments.size() != graph_[body].inputs.size() ||
      graph_.output_count(body) < graph_[wrapper].result_count)
    return sink_.Error(DiagnosticKind::kBadProgram, "does not fit the nested graph that it calls",
                       LocationOf(graph_, wrapper));
  for (size_t i = 0; i < arguments.size(); ++i) graph_.ReplaceAllUses(graph_[body].inputs[i], arguments[i]);
  return Frame{wrapper, body, graph_[body].first, std::move(inside)};
}

void Inliner::Leave(const Frame& frame) {
  for (uint32_t i = 0; i < graph_[frame.wrapper].result_count; ++i)
    graph_.ReplaceAllUses(graph_.result(frame.wrapper, i), graph_.output(frame.body, i));
}

}  // namespace

Result<Changed> InlineRegions(Program::Impl& program, PassContext& context) {
  Inliner inliner(program.graph, context.sink);
  FLAMBEAU_CHECK_OK(inliner.Run());
  return inliner.changed();
}

}  // namespace flambeau
