#include "script/evaluator.h"

#include <fmt/format.h>

#include "reader/torchscript/reader.h"
#include "script/lists/held.h"
#include "script/lists/sequences.h"
#include "script/regions/liveness.h"

namespace flambeau::script {

using torchscript::Block;
using torchscript::Constant;

namespace {

// Blocks nest as the program's own statements do.
constexpr int kMaxDepth = 200;

// Of a program in which more nodes were emitted, paths meet again: each way to the end has nodes of its own.
constexpr uint32_t kMaxNodesApart = 200'000;

// At its end the depth is what it was.
class DepthScope {
 public:
  explicit DepthScope(int& depth) : depth_(depth), outer_(depth) {}
  ~DepthScope() { depth_ = outer_; }
  DepthScope(const DepthScope&) = delete;
  DepthScope& operator=(const DepthScope&) = delete;

  int outer() const { return outer_; }

 private:
  int& depth_;
  int outer_;
};

}  // namespace

std::string OperatorName(const torchscript::Node& node) {
  return node.overload.empty() ? node.kind : fmt::format("{}.{}", node.kind, node.overload);
}

Evaluator::Evaluator(const torchscript::Graph& source, Program::Impl& program, Sink& sink,
                     const lower::CustomOperators& custom, int opset, const Apart& apart, Library& library)
    : source_(source),
      custom_(custom),
      program_(program),
      sink_(sink),
      opset_(opset),
      emitter_(program, heap_, sink, custom, opset),
      kept_inputs_(source, *this),
      enum_members_(source, emitter_),
      library_(library),
      apart_(apart) {
  ImportObjects();
}

Failure Evaluator::Unsupported(std::string message, std::string hint) {
  return sink_.Error(DiagnosticKind::kUnsupportedForm, std::move(message), {}, std::move(hint));
}

Failure Evaluator::UsesUndefined(const Undefined& value) {
  if (!value.because) return Unsupported("uses a value that only some paths through the program define");
  if (value.unknown) return Unsupported(fmt::format("uses {}", *value.because));
  return Unsupported(fmt::format("uses a value of which paths through the program make different things: {}", *value.because));
}

Failure Evaluator::TooLong() {
  return sink_.Error(DiagnosticKind::kLimitExceeded, fmt::format("makes a text or list of more than {} elements", kMaxLength));
}

Failure Evaluator::UnsupportedWherePathsMet(std::string message, std::string hint) {
  if (lossy_.empty()) return Unsupported(std::move(message), std::move(hint));
  ContextScope scope(sink_, At(*lossy_.back()));
  return Unsupported(std::move(message), std::move(hint));
}

const Type& Evaluator::TypeOf(TensorVal tensor) {
  Storages& storages = emitter_.storages();
  return storages.Knows(tensor.id) ? context()[storages.type(storages.ViewOf(tensor.id))] : emitter_.TypeOf(tensor.id);
}

void Evaluator::NoteWrite(uint32_t cell) {
  auto lose = [&](uint32_t other) {
    if (!heap_[other].lost) heap_.Edit(other).lost = true;
  };
  if (heap_[cell].shared)
    for (uint32_t other = 0; other < heap_.size(); ++other)
      if (other != cell && heap_[other].shared && MayBeSame(heap_, cell, other)) lose(other);
  if (heap_[cell].is_row) {  // the lists that may hold it, and other names of what they hold
    for (const uint32_t other : ReachedBy(heap_, cell)) lose(other);
    if (OwnerOf(heap_, cell)) written_rows_.push_back(cell);
  }
}

Cell& Evaluator::Edit(uint32_t cell) {
  NoteWrite(cell);
  return heap_.Edit(cell);
}

bool Evaluator::IsLost(const Val& value) const {
  const auto* list = value.As<ListVal>();
  const auto* dict = value.As<DictVal>();
  return (list != nullptr && heap_[list->cell].lost) || (dict != nullptr && heap_[dict->cell].lost);
}

Failure Evaluator::ReadsLost(const Val& value) {
  constexpr std::string_view kReads = "reads a list or dict of which nobody knows what it holds";
  if (const auto& because = heap_[*CellOf(value)].lost_because)
    return Unsupported(fmt::format("{}, as paths through the program or rounds of a loop make different things of it: {}", kReads, *because));
  return sink_.Error(DiagnosticKind::kUnknownAliasing, fmt::format("{}: paths through the program wrote to what may be the same one", kReads), {},
                     "copy the list or dict before the write");
}

bool Evaluator::IsTooLong(const Val& value) const {
  if (const auto* text = value.As<std::string>()) return text->size() > kMaxLength;
  const auto* list = value.As<ListVal>();
  return list != nullptr && heap_[list->cell].elements.size() > kMaxLength;
}

std::optional<bool> Evaluator::KnownBool(const Val& value) const {
  if (const auto* b = value.As<bool>()) return *b;
  if (const auto* i = value.As<int64_t>()) return *i != 0;
  if (const auto* d = value.As<double>()) return *d != 0;
  if (const auto* number = value.As<NumberVal>()) return emitter_.Known(number->id);
  return std::nullopt;
}

Result<Vals> Evaluator::Run(std::span<const Val> inputs) {
  const Block& main = *source_.main;
  if (inputs.size() != main.inputs.size())
    return sink_.Error(DiagnosticKind::kBadProgram, fmt::format("the program has {} inputs, {} are given", main.inputs.size(), inputs.size()));
  for (size_t i = 0; i < inputs.size(); ++i) Bind(main.inputs[i], inputs[i]);
  returned_ = OnlyReturned(source_);
  last_ = LastNodes(source_);
  FLAMBEAU_TRY(Vals outputs, EvaluateBlock(main));
  if (sink_.HasErrors()) return kFailure;
  return outputs;
}

Result<Vals> Evaluator::CallLibrary(std::string_view code, std::string_view function, std::span<const Val> arguments) {
  const std::pair<const void*, std::string> key(code.data(), function);
  auto found = library_.find(key);
  if (found == library_.end()) {
    FLAMBEAU_TRY(torchscript::Graph graph, torchscript::ReadCode(std::string(code), key.second, sink_));
    found = library_.emplace(key, std::move(graph)).first;
  }
  const Block& body = *found->second.main;
  if (body.inputs.size() != arguments.size())
    return sink_.Error(DiagnosticKind::kInternalError, fmt::format("{} takes {} arguments", function, body.inputs.size()));
  for (size_t i = 0; i < arguments.size(); ++i) Bind(body.inputs[i], arguments[i]);
  FLAMBEAU_TRY(Vals outputs, EvaluateBlock(body));
  if (sink_.HasErrors()) return kFailure;
  return outputs;
}

const Val& Evaluator::ValueOf(const torchscript::Value* value) {
  return values_[value];
}

Vals Evaluator::Outputs(const Block& block) {
  Vals outputs;
  for (const torchscript::Value* output : block.outputs) outputs.push_back(ValueOf(output));
  return outputs;
}

OriginId Evaluator::OriginOf(const Node& node) {
  Origin origin;
  if (node.scopes) {
    auto& frames = frames_[node.scopes.get()];
    if (frames.empty())
      for (const torchscript::Scope& scope : *node.scopes)
        frames.push_back({context().Intern(scope.path), context().Intern(scope.class_name)});
    origin.modules = frames;
  }
  if (node.source) origin.stack_trace = context().Intern(*node.source);
  if (!node.outputs.empty()) origin.node_name = context().Intern(node.outputs[0]->name);
  origin.target = context().Intern(OperatorName(node));
  return context().Add(std::move(origin));
}

// A node that fails leaves its results undefined, so that one run reports all
// of what is missing.
void Evaluator::BindOutputs(const Node& node, Result<Vals> results) {
  for (size_t i = 0; i < node.outputs.size(); ++i)
    Bind(node.outputs[i], results && i < results->size() ? std::move((*results)[i]) : Val());
}

std::function<void(Diagnostic&)> Evaluator::At(const Node& node) const {
  return [&node](Diagnostic& diagnostic) {
    Location& at = diagnostic.location;
    if (at.operation.empty()) at.operation = OperatorName(node);
    if (at.module.empty() && node.scopes && !node.scopes->empty()) at.module = node.scopes->back().path;
    if (at.source.empty() && node.source) at.source = SourceLine(*node.source);
  };
}

void Evaluator::BindConstant(const Node& node) {
  if (node.outputs.empty()) return;
  const Constant* constant = node.Find("value");
  if (constant == nullptr) return Bind(node.outputs[0], Nothing{});
  Bind(node.outputs[0], Import(*constant, node.Find("made_by_run") == nullptr ? node.outputs[0]->name : ""));
}

// An If whose branch is known becomes the last frame. Of one that is walked apart, the results are those of the first frame's block.
std::optional<Result<Vals>> Evaluator::EnterIf(const Node& node, std::vector<Frame>& frames) {
  ContextScope scope(sink_, At(node));
  emitter_.SetOrigin(OriginOf(node));
  Val condition = node.inputs.empty() ? Val() : ValueOf(node.inputs[0]);
  const auto taken = Decide(node, condition);
  if (!taken) {
    BindOutputs(node, kFailure);
  } else if (*taken != nullptr) {
    kept_inputs_.NoteLeftPath(node, **taken);
    if (const auto given = given_.find(&node); given != given_.end())
      for (const auto& [value, val] : given->second) Bind(value, val);
    frames.push_back({*taken, 0, &node});
  } else if (apart_.contains(added_.SourceOf(node)) && emitter_.node_count() < kMaxNodesApart) {
    return Branch(node, condition, frames);
  } else {
    BindOutputs(node, Branch(node, condition, {}));
  }
  return std::nullopt;
}

// The node as it is walked: a loop as its first round and the rest, what works on parts as these. nullptr if that failed.
const torchscript::Node* Evaluator::NextOf(Frame& frame) {
  const Node* node = frame.block->nodes[frame.next++];
  if (IsPeeled(*node)) {
    ContextScope scope(sink_, At(*node));
    emitter_.SetOrigin(OriginOf(*node));
    const auto peeled = Peel(*node);
    if (!peeled) {
      BindOutputs(*node, kFailure);
      return nullptr;
    }
    node = *peeled;
  }
  const Node* parted = Parted(*node);
  return parted != nullptr ? parted : node;
}

// An If whose branch is known is walked in place: that takes a frame, no recursion.
Result<Vals> Evaluator::Walk(std::vector<Frame> frames) {
  const DepthScope scope(depth_);
  while (!raised_) {
    depth_ = scope.outer() + static_cast<int>(frames.size());
    if (depth_ > kMaxDepth)
      return sink_.Error(DiagnosticKind::kLimitExceeded, fmt::format("the program nests more than {} blocks", kMaxDepth));
    Frame& frame = frames.back();
    if (frame.next == frame.block->nodes.size()) {
      Vals outputs = Outputs(*frame.block);
      const Node* holder = frame.node;
      frames.pop_back();
      if (frames.empty()) return outputs;
      BindOutputs(*holder, std::move(outputs));
      continue;
    }
    const Node* node = NextOf(frame);
    if (node == nullptr) continue;
    if (node->kind == "prim::Constant") {
      BindConstant(*node);
    } else if (node->kind == "prim::If") {
      if (auto results = EnterIf(*node, frames)) return *std::move(results);
    } else {
      BindOutputs(*node, Evaluate(*node));
      if (!written_rows_.empty()) PutRowsBack();
      if (!opened_lists_.empty()) TakeInWrittenElements(*this);
    }
  }
  return kFailure;
}

}  // namespace flambeau::script
