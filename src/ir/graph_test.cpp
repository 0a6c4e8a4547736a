#include "ir/graph.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"

namespace flambeau {
namespace {

class GraphTest : public testing::Test {
 protected:
  Symbol Op(std::string_view text) { return context_.Intern(text); }
  TypeId Vector() { return context_.Intern(Type::OfTensor(DType::kFloat32, {context_.exprs().Symbolic("n")})); }
  NodeId Unary(std::string_view op, ValueId operand) {
    const TypeId types[] = {Vector()};
    const ValueId operands[] = {operand};
    return graph_.Append(graph_.main(), Op(op), operands, {}, types);
  }
  std::string Ops() {
    std::string text;
    graph_.ForEachNode(graph_.main(), [&](NodeId id) { text.append(graph_.op(id)).append(" "); });
    return text;
  }
  void ExpectSound() {
    Sink sink;
    EXPECT_TRUE(VerifyGraph(graph_, sink)) << sink.diagnostics().at(0).message << "\n" << PrintGraph(graph_);
  }

  Context context_;
  Graph graph_{&context_};
};

TEST_F(GraphTest, KeepsNodesInOrder) {
  const ValueId x = graph_.AddInput(graph_.main(), Vector());
  const NodeId b = Unary("b", x), d = Unary("d", graph_.result(b));
  const TypeId types[] = {Vector()};
  const ValueId operands[] = {x};
  graph_.InsertBefore(b, Op("a"), operands, {}, types);
  graph_.InsertAfter(graph_.main(), b, Op("c"), operands, {}, types);
  const NodeId first = graph_.InsertAfter(graph_.main(), {}, Op("first"), operands, {}, types);
  EXPECT_EQ(Ops(), "first a b c d ");
  graph_.MoveBefore(first, d);
  EXPECT_EQ(Ops(), "a b c first d ");
  graph_.Erase(d);
  graph_.Erase(b);
  EXPECT_EQ(Ops(), "a c first ");
  EXPECT_EQ(graph_.live_nodes(), 3u);
  ExpectSound();
}

TEST_F(GraphTest, TracksUses) {
  const ValueId x = graph_.AddInput(graph_.main(), Vector()), y = graph_.AddInput(graph_.main(), Vector());
  const NodeId a = Unary("a", x), b = Unary("b", x);
  const ValueId outputs[] = {graph_.result(a), x};
  graph_.SetOutputs(graph_.main(), outputs);
  EXPECT_FALSE(graph_.HasOneUse(x));
  std::vector<Use> uses;
  graph_.ForEachUse(x, [&](Use use) { uses.push_back(use); });
  const NodeId terminator = graph_[graph_.main()].terminator;
  EXPECT_EQ(uses, (std::vector<Use>{{terminator, 1}, {b, 0}, {a, 0}}));
  graph_.SetOperand(b, 0, y);
  graph_.ReplaceAllUses(x, y);
  EXPECT_FALSE(graph_.HasUses(x));
  EXPECT_EQ(graph_.output(graph_.main(), 1), y);
  graph_.SetOperand(b, 0, {});
  graph_.Erase(b);
  ExpectSound();
}

TEST_F(GraphTest, CopiesAreIndependent) {
  const ValueId x = graph_.AddInput(graph_.main(), Vector());
  const NodeId a = Unary("a", x);
  const Graph before = graph_;
  graph_.SetOp(a, Op("changed"));
  graph_.Erase(Unary("b", graph_.result(a)));
  graph_.Erase(a);
  graph_.RemoveInputs(graph_.main(), {true});
  EXPECT_EQ(before.op(a), "a");
  EXPECT_EQ(before.operand(a, 0), x);
  EXPECT_EQ(before.live_nodes(), 1u);
  Sink sink;
  EXPECT_TRUE(VerifyGraph(before, sink));
  ExpectSound();
}

TEST_F(GraphTest, RemovesInputsAndKeepsTheOthersInOrder) {
  std::vector<ValueId> inputs;
  for (int i = 0; i < 5; ++i) inputs.push_back(graph_.AddInput(graph_.main(), Vector()));
  graph_.RemoveInputs(graph_.main(), {true, false, true, false, false});
  EXPECT_EQ(graph_[graph_.main()].inputs, (std::vector<ValueId>{inputs[1], inputs[3], inputs[4]}));
  EXPECT_EQ(graph_[inputs[4]].index, 2u);
  ExpectSound();
}

TEST_F(GraphTest, ErasesBodiesWithTheirOwner) {
  const ValueId x = graph_.AddInput(graph_.main(), Vector());
  const TypeId types[] = {Vector()};
  const ValueId operands[] = {x};
  // Deep nesting: recursion would overflow the stack.
  std::vector<BlockId> bodies;
  for (int i = 0; i < 100'000; ++i) bodies.push_back(graph_.AddBlock());
  NodeId outer;
  for (size_t i = 0; i < bodies.size(); ++i) {
    const BlockId block = i == 0 ? graph_.main() : bodies[i - 1];
    const NodeId node = graph_.Append(block, Op("If"), operands, {{Op("then"), bodies[i]}}, types);
    if (i == 0) outer = node;
    graph_.SetOutputs(bodies[i], operands);
  }
  EXPECT_EQ(graph_.AllBlocks().size(), bodies.size() + 1);
  ExpectSound();
  graph_.Erase(outer);
  EXPECT_EQ(graph_.live_nodes(), 0u);
  EXPECT_FALSE(graph_.HasUses(x));
  ExpectSound();
}

// Nodes erased and replaced while they share one operand. Where that takes
// time in proportion to the uses, this test takes hours.
TEST_F(GraphTest, EditsAMillionUsersOfOneValue) {
  constexpr uint32_t kNodes = 1'000'000;
  const ValueId x = graph_.AddInput(graph_.main(), Vector());
  const ValueId y = graph_.AddInput(graph_.main(), Vector());
  std::vector<NodeId> nodes;
  for (uint32_t i = 0; i < kNodes; ++i) nodes.push_back(Unary("a", x));
  for (uint32_t i = 0; i < kNodes; i += 2) graph_.Erase(nodes[i]);
  const TypeId types[] = {Vector()};
  const ValueId operands[] = {x};
  for (uint32_t i = 1; i < kNodes; i += 2) {
    const NodeId replacement = graph_.InsertBefore(nodes[i], Op("b"), operands, {}, types);
    graph_.ReplaceAllUses(graph_.result(nodes[i]), graph_.result(replacement));
    graph_.Erase(nodes[i]);
  }
  EXPECT_EQ(graph_.live_nodes(), kNodes / 2);
  graph_.ReplaceAllUses(x, y);
  uint32_t uses = 0;
  graph_.ForEachUse(y, [&](Use) { ++uses; });
  EXPECT_EQ(uses, kNodes / 2);
  ExpectSound();
}

}  // namespace
}  // namespace flambeau
