#include "ir/verify.h"

#include <gtest/gtest.h>

#include "ir/parse.h"

namespace flambeau {
namespace {

class VerifyTest : public testing::Test {
 protected:
  Graph Parsed(std::string_view text) {
    Sink sink;
    Result<Graph> graph = ParseGraph(text, context_, sink);
    if (graph) return *std::move(graph);
    ADD_FAILURE() << sink.diagnostics().at(0).location.source << ": " << sink.diagnostics().at(0).message;
    return Graph(&context_);
  }
  // The first complaint; empty if there is none.
  std::string Fault(const Graph& graph, const VerifyOptions& options = {}) {
    Sink sink;
    const bool sound = static_cast<bool>(VerifyGraph(graph, sink, options));
    EXPECT_EQ(sound, sink.diagnostics().empty());
    return sound ? "" : sink.diagnostics().at(0).message;
  }
  NodeId NodeNamed(const Graph& graph, std::string_view op) {
    for (BlockId block : graph.AllBlocks())
      for (NodeId id = graph[block].first; id; id = graph[id].next)
        if (graph.op(id) == op) return id;
    return {};
  }

  Context context_;
};

constexpr std::string_view kNested = R"(graph(%x: f32[2], %p: bool) {
  const %w: f32[2] = [1.0, 2.0]
  %0: f32[2] = a(self=%x, other=%w)
  %1: f32[2] = If(%p, then=(%i: f32[2]) {
    %2: f32[2] = inner(%0, %i)
    return %2
  }, else=() {
    return %0
  })
  return %1
})";

TEST_F(VerifyTest, AcceptsANestedGraph) { EXPECT_EQ(Fault(Parsed(kNested)), ""); }

TEST_F(VerifyTest, RefusesUseBeforeDefinition) {
  Graph graph = Parsed(kNested);
  graph.MoveBefore(NodeNamed(graph, "If"), NodeNamed(graph, "a"));
  EXPECT_EQ(Fault(graph), "broken graph: operand 0 is not defined before it is used, or not visible here");
}

TEST_F(VerifyTest, RefusesTheValueOfAnInnerBlock) {
  Graph graph = Parsed(kNested);
  graph.AddOutput(graph.main(), graph.result(NodeNamed(graph, "inner")));
  EXPECT_EQ(Fault(graph), "broken graph: operand 1 is not defined before it is used, or not visible here");
}

TEST_F(VerifyTest, RefusesAnArgumentWithoutOperand) {
  Graph graph = Parsed(kNested);
  graph.SetAttribute(NodeNamed(graph, "a"), context_.Intern("other"), Operand{2});
  EXPECT_EQ(Fault(graph), "broken graph: an argument is operand 2 of 2");
}

TEST_F(VerifyTest, RefusesABodyOfTwoNodes) {
  Graph graph = Parsed(kNested);
  const Attribute body = *graph.FindAttribute(NodeNamed(graph, "If"), "then");
  graph.SetAttribute(NodeNamed(graph, "If"), context_.Intern("again"), body);
  EXPECT_EQ(Fault(graph), "broken graph: a body is held twice");
}

TEST_F(VerifyTest, RefusesABodyThatWasTakenOff) {
  Graph graph = Parsed(kNested);
  graph.RemoveAttribute(NodeNamed(graph, "If"), context_.Intern("then"));
  EXPECT_EQ(Fault(graph), "broken graph: a value is used in a block that no node holds");
}

TEST_F(VerifyTest, RefusesAConstantThatIsNotItsBytes) {
  Graph graph = Parsed(kNested);
  const NodeId a = NodeNamed(graph, "a");
  graph.SetType(graph.operand(a, 1), context_.Intern(Type::OfTensor(DType::kFloat32, {context_.exprs().Constant(3)})));
  EXPECT_EQ(Fault(graph), "broken graph: the constant `w` has another type than its bytes");
  TensorData data{MakeBufferSource(std::vector<std::byte>(8)), 4, DType::kFloat32, {2}, {}};
  const TypeId type = context_.Intern(Type::OfTensor(DType::kFloat32, {context_.exprs().Constant(2)}));
  graph.SetOperand(a, 1, graph.AddConstant(context_.Add(data), type, context_.Intern("v")));
  EXPECT_EQ(Fault(graph), "broken graph: the constant `v` reaches past the end of its bytes");
}

TEST_F(VerifyTest, ChecksOnnxRulesOnDemand) {
  Graph graph = Parsed(kNested);
  EXPECT_EQ(Fault(graph, {.own_outputs = true}), "broken graph: a body yields a value that is defined outside of it");
  graph.SetName(graph.result(NodeNamed(graph, "inner")), context_.Intern("x"));
  EXPECT_EQ(Fault(graph), "");
  EXPECT_EQ(Fault(graph, {.unique_names = true}), "broken graph: the name `x` occurs twice");
}

}  // namespace
}  // namespace flambeau
