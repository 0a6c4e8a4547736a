#include "pass/onnx/rewrite.h"

#include <deque>

#include "pass/onnx/merged_sources.h"

namespace flambeau {
namespace {

class Worklist {
 public:
  Worklist(Editor& editor, std::initializer_list<RewriteTable> tables) : to_(editor), graph_(editor.graph()) {
    for (const RewriteTable table : tables)
      for (const RewriteRow& row : table) {
        if (row.op == "*") {
          for_all_.push_back(row.rewrite);
          continue;
        }
        const Symbol op = to_.context().Intern(row.op);
        if (op.index >= by_op_.size()) by_op_.resize(op.index + 1);
        by_op_[op.index].push_back(row.rewrite);
      }
  }

  void Run() {
    for (const BlockId block : graph_.AllBlocks()) graph_.ForEachNode(block, [&](NodeId node) { Add(node); });
    while (!pending_.empty()) {
      const NodeId node = pending_.front();
      pending_.pop_front();
      is_pending_[node.index] = false;
      if (graph_[node].erased || graph_.IsTerminator(node)) continue;
      if (IsDead(node)) {
        to_.Erase(node);
      } else {
        sources_.Before(node);
        if (Rewrite(node)) {
          sources_.After(node);
          Add(node);  // there may be more to do
        }
      }
      for (const NodeId touched : to_.TakeTouched()) Add(touched);
    }
  }

 private:
  using Rewriter = bool (*)(Editor&, NodeId);

  void Add(NodeId node) {
    if (node.index >= is_pending_.size()) is_pending_.resize(graph_.node_capacity());
    if (is_pending_[node.index]) return;
    is_pending_[node.index] = true;
    pending_.push_back(node);
  }

  // ONNX operators have no effects.
  bool IsDead(NodeId node) const { return graph_[node].result_count > 0 && !HasUsers(graph_, node); }

  bool Rewrite(NodeId node) {
    const Symbol op = graph_[node].op;
    if (op.index < by_op_.size())
      for (const Rewriter rewrite : by_op_[op.index])
        if (rewrite(to_, node)) return true;
    for (const Rewriter rewrite : for_all_)
      if (rewrite(to_, node)) return true;
    return false;
  }

  Editor& to_;
  Graph& graph_;
  MergedSources sources_{graph_};
  std::vector<std::vector<Rewriter>> by_op_;
  std::vector<Rewriter> for_all_;
  std::deque<NodeId> pending_;
  std::vector<bool> is_pending_;
};

}  // namespace

Changed ApplyRewrites(Graph& graph, const PassContext& context, std::initializer_list<RewriteTable> tables) {
  Editor editor(graph, context);
  Worklist(editor, tables).Run();
  return editor.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
