// Results of branches and loops that do not always have their declared sizes: on a path where nothing reads one, an empty
// tensor stands for it. onnxruntime 1.31 reuses the memory of a result for another one of the same declared sizes, and
// fails where the sizes are others. It looks at the actual sizes only where none are declared.
#include <algorithm>
#include <unordered_set>
#include <vector>

#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

class Hiding {
 public:
  explicit Hiding(Editor& to) : to_(to), blocks_(to.graph().AllBlocks()) {
    const std::vector<ValueId>& outputs = graph().outputs(graph().main());
    for (const ValueId output : outputs) given_out_.insert(output.index);
  }

  // A size that is hidden may be what another result is declared by: until nothing changes.
  bool Run() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const BlockId block : blocks_) graph().ForEachNode(block, [&](NodeId node) { changed |= Hide(node); });
      hidden_any_ |= changed;
    }
    return hidden_any_;
  }

 private:
  Graph& graph() { return to_.graph(); }

  bool Hide(NodeId node) {
    const std::string_view op = graph().op(node);
    if (op == "If") return HideOfIf(node);
    if (op == "Loop") return HideOfLoop(node);
    return op == "Identity" && hidden_.contains(graph().operand(node, 0).index) && HideOther(graph().operand(node, 0), {graph().result(node)});
  }

  bool HideOfIf(NodeId node) {
    bool changed = false;
    for (const std::string_view branch : {"then_branch", "else_branch"}) {
      const std::vector<ValueId> outputs = graph().outputs(std::get<BlockId>(*graph().FindAttribute(node, branch)));
      for (uint32_t i = 0; i < graph()[node].result_count; ++i) changed |= HideOther(outputs[i], {graph().result(node, i)});
    }
    return changed;
  }

  // What is carried is one type: as it begins, as a round gets it, and as one leaves it.
  bool HideOfLoop(NodeId node) {
    const BlockId body = std::get<BlockId>(*graph().FindAttribute(node, "body"));
    const std::vector<ValueId> outputs = graph().outputs(body), inputs = graph()[body].inputs;
    bool changed = false;
    for (uint32_t i = 0; i + 2 < inputs.size(); ++i)
      for (const ValueId given : {graph().operand(node, i + 2), outputs[i + 1]})
        changed |= HideOther(given, {inputs[i + 2], graph().result(node, i)});
    return changed;
  }

  // Hides the sizes of `declared`, which are one type, where `given`, which becomes them, has others.
  bool HideOther(ValueId given, const std::vector<ValueId>& declared) {
    const Type& from = to_.type(given);
    bool changed = false;
    for (const ValueId value : declared) {
      Type type = to_.type(value);
      if (!type.is_tensor() || !type.ranked || !from.ranked || type.rank() != from.rank() || given_out_.contains(value.index)) continue;
      bool other = false;
      for (size_t d = 0; d < type.rank(); ++d) {
        if (!IsNamed(type.sizes[d]) || type.sizes[d] == from.sizes[d]) continue;
        if (to_.exprs().HasAnonymous(from.sizes[d]) && !hidden_sizes_.contains(from.sizes[d])) continue;
        type.sizes[d] = to_.exprs().Anonymous();
        hidden_sizes_.insert(type.sizes[d]);
        other = true;
      }
      if (!other) continue;
      graph().SetType(value, graph().context().Intern(std::move(type)));
      hidden_.insert(value.index);
      changed = true;
    }
    return changed;
  }

  bool IsNamed(Expr size) const { return !to_.exprs().AsConstant(size) && !to_.exprs().HasAnonymous(size); }

  Editor& to_;
  std::vector<BlockId> blocks_;
  std::unordered_set<uint32_t> given_out_, hidden_;
  std::unordered_set<Expr> hidden_sizes_;
  bool hidden_any_ = false;
};

}  // namespace

Result<Changed> HideSizes(Graph& graph, PassContext& context) {
  Editor to(graph, context);
  return Hiding(to).Run() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
