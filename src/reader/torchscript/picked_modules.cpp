#include "reader/torchscript/picked_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <system_error>
#include <unordered_set>
#include <utility>

#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

class PickedCall {
 public:
  PickedCall(const ClassInfo& container, const Node& call, Library& library)
      : container_(container), call_(call), library_(library), graph_(std::make_unique<Graph>()) {}

  Result<std::unique_ptr<Graph>> Run(const TypePtr& index) {
    FLAMBEAU_CHECK_OK(FindModules());
    if (IsKind(index, TypeKind::kInt)) {
      std::erase_if(modules_, [](const auto& each) { return !PlaceOf(each.first); });
      std::ranges::sort(modules_, {}, [](const auto& each) { return *PlaceOf(each.first); });
    }
    if (modules_.empty())
      return library_.sink().Error(DiagnosticKind::kBadProgram, fmt::format("a module of {} is picked, which has none", container_.name));
    graph_->main = graph_->AddBlock();
    FLAMBEAU_TRY(const TypePtr container_type, library_.TypeOf(container_));
    container_value_ = graph_->AddInput(graph_->main, container_type, "0");
    index_ = graph_->AddInput(graph_->main, index, "0");
    for (size_t i = 1; i < call_.inputs.size(); ++i) arguments_.push_back(graph_->AddInput(graph_->main, call_.inputs[i]->type, "0"));
    CallOneOf(graph_->main, 0, modules_.size());
    return std::move(graph_);
  }

 private:
  // By Ifs on which half it is in, or by one for each name; where there is no other, PyTorch raises.
  void CallOneOf(Block* block, size_t begin, size_t end) {
    const bool by_place = IsKind(index_->type, TypeKind::kInt);
    while (end - begin > 1) {
      const size_t middle = by_place ? begin + (end - begin) / 2 : begin + 1;
      Value* asked = by_place ? graph_->AppendConstant(block, {*PlaceOf(modules_[middle].first)}, IntType(), "0")
                              : graph_->AppendConstant(block, {modules_[begin].first}, StringType(), "0");
      Node* compare = graph_->Append(block, by_place ? "aten::lt" : "aten::eq", by_place ? "int" : "str", {index_, asked});
      Node* branch = graph_->Append(block, "prim::If", "", {Output(compare, BoolType())});
      branch->source = call_.source;
      branch->blocks = {graph_->AddBlock(), graph_->AddBlock()};
      CallOneOf(branch->blocks[0], begin, middle);
      block->outputs = {Output(branch, call_.outputs[0]->type)};
      block = branch->blocks[1];
      begin = middle;
    }
    Call(block, begin);
  }

  Status FindModules() {
    for (const ClassField& field : container_.fields) {
      if (!field.annotation) continue;
      FLAMBEAU_TRY(TypePtr type, library_.Resolve(*container_.syntax, field.annotation));
      if (!IsKind(type, TypeKind::kClass)) continue;
      FLAMBEAU_TRY(const ClassInfo* info, library_.FindClass(type->name));
      if (info != nullptr && info->kind == ClassKind::kModule) modules_.emplace_back(field.name, std::move(type));
    }
    return {};
  }

  Value* Output(Node* node, TypePtr type) { return graph_->AddOutput(node, std::move(type), "0"); }

  // nullopt: what is no number is none of a list.
  static std::optional<int64_t> PlaceOf(const std::string& name) {
    int64_t place = 0;
    const char* end = name.data() + name.size();
    const auto [read, error] = std::from_chars(name.data(), end, place);
    return error == std::errc() && read == end ? std::optional(place) : std::nullopt;
  }

  void Call(Block* block, size_t module) {
    Node* get = graph_->Append(block, "prim::GetAttr", "", {container_value_});
    get->attributes.push_back({"name", {modules_[module].first}});
    std::vector<Value*> inputs = {Output(get, modules_[module].second)};
    inputs.insert(inputs.end(), arguments_.begin(), arguments_.end());
    Node* call = graph_->Append(block, "prim::CallMethod", "", std::move(inputs));
    call->attributes = call_.attributes;
    call->source = call_.source;
    block->outputs = {Output(call, call_.outputs[0]->type)};
  }

  const ClassInfo& container_;
  const Node& call_;
  Library& library_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::pair<std::string, TypePtr>> modules_;
  Value* container_value_ = nullptr;
  Value* index_ = nullptr;
  std::vector<Value*> arguments_;
};

}  // namespace

Result<std::unique_ptr<Graph>> EmitPickedCall(const ClassInfo& container, const Node& call, const TypePtr& index, Library& library) {
  return PickedCall(container, call, library).Run(index);
}

void DropUnusedPicks(Graph& graph) {
  std::unordered_set<const Value*> used;
  std::vector<Block*> blocks = {graph.main};
  for (size_t i = 0; i < blocks.size(); ++i) {
    used.insert(blocks[i]->outputs.begin(), blocks[i]->outputs.end());
    for (const Node* node : blocks[i]->nodes) {
      used.insert(node->inputs.begin(), node->inputs.end());
      blocks.insert(blocks.end(), node->blocks.begin(), node->blocks.end());
    }
  }
  for (Block* block : blocks)
    std::erase_if(block->nodes, [&](const Node* node) { return node->kind == kPick && !used.contains(node->outputs[0]); });
}

}  // namespace flambeau::torchscript
