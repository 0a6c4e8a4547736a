#include "onnx/names.h"

#include <gtest/gtest.h>

namespace flambeau::onnx {
namespace {

class NamesTest : public testing::Test {
 protected:
  NamesTest() : graph_(&context_) {
    type_ = context_.Intern(Type::OfTensor(DType::kFloat32, {context_.exprs().Constant(2)}));
  }
  OriginId From(std::vector<std::string_view> paths) {
    Origin origin;
    for (std::string_view path : paths) origin.modules.push_back({context_.Intern(path), {}});
    return context_.Add(std::move(origin));
  }
  ValueId Op(std::string_view op, std::vector<ValueId> operands, OriginId origin = {}, std::string_view name = {},
             BlockId block = {0}) {
    const NodeId node = graph_.Append(block, context_.Intern(op), operands, {}, std::span(&type_, 1), origin);
    graph_.SetName(node, context_.Intern(name));
    return graph_.result(node);
  }
  ValueId Input(std::string_view name) { return graph_.AddInput(graph_.main(), type_, context_.Intern(name)); }
  ValueId Constant(std::string_view name) {
    std::vector<std::byte> bytes(8);
    const DataId data = context_.Add({MakeBufferSource(std::move(bytes)), 0, DType::kFloat32, {2}, {}});
    return graph_.AddConstant(data, type_, context_.Intern(name));
  }
  void Return(std::vector<ValueId> values) { graph_.SetOutputs(graph_.main(), values); }
  std::string Name(ValueId id) const { return std::string(context_.Text(graph_[id].name)); }
  std::string NodeName(ValueId id) const { return std::string(context_.Text(graph_[graph_[id].node].name)); }
  std::string Output(uint32_t i) const { return Name(graph_.output(graph_.main(), i)); }

  Context context_;
  Graph graph_;
  TypeId type_;
  Sink sink_;
};

TEST_F(NamesTest, FollowModules) {
  const OriginId origin = From({"", "encoder", "encoder.layers.0", "encoder.layers.0.attn"});
  const ValueId x = Input("x");
  const ValueId a = Op("MatMul", {x, x}, origin), b = Op("MatMul", {a, x}, origin);
  const ValueId c = Op("com.microsoft::Gelu", {b}), d = Op("Relu", {c}, From({"a", "b"}));
  Return({d});
  ASSERT_TRUE(AssignNames(graph_, {}, sink_));
  EXPECT_EQ(NodeName(a), "/encoder/layers.0/attn/MatMul");
  EXPECT_EQ(NodeName(b), "/encoder/layers.0/attn/MatMul_1");
  EXPECT_EQ(NodeName(c), "/Gelu");
  EXPECT_EQ(NodeName(d), "/a/b/Relu");
  EXPECT_EQ(Name(a), "/encoder/layers.0/attn/MatMul_output_0");
}

TEST_F(NamesTest, GivenNamesStayWhereTheyAreFree) {
  const ValueId x = Input("x"), weight = Constant("x"), bias = Constant("bias"), unused = Constant("bias");
  const ValueId a = Op("Add", {x, weight}, {}, "/Add"), b = Op("Add", {a, bias}), c = Op("Add", {b, b}, {}, "/Add");
  graph_.SetName(b, context_.Intern("bias"));
  Return({c});
  ASSERT_TRUE(AssignNames(graph_, {}, sink_));
  EXPECT_EQ(Name(x), "x");
  EXPECT_EQ(Name(weight), "x_1");
  EXPECT_EQ(Name(bias), "bias");
  EXPECT_EQ(Name(unused), "bias");
  EXPECT_EQ(Name(b), "bias_1");
  EXPECT_EQ(NodeName(a), "/Add");
  EXPECT_EQ(NodeName(c), "/Add_1");
  EXPECT_EQ(NodeName(b), "/Add_2");
  // Once more changes nothing.
  ASSERT_TRUE(AssignNames(graph_, {}, sink_));
  EXPECT_EQ(NodeName(b), "/Add_2");
  EXPECT_EQ(Name(b), "bias_1");
}

TEST_F(NamesTest, TheCallersNamesWin) {
  const ValueId x = Input("x"), y = Input("y"), weight = Constant("out");
  const ValueId sum = Op("Add", {x, weight});
  Return({sum, y, sum});
  ASSERT_TRUE(AssignNames(graph_, {{"y"}, {"out", "", "again"}}, sink_));
  EXPECT_EQ(Name(x), "y");
  EXPECT_EQ(Name(y), "y_1");
  EXPECT_EQ(Name(weight), "out_1");
  EXPECT_EQ(Output(0), "out");
  EXPECT_EQ(Output(1), "y_out");
  EXPECT_EQ(Output(2), "again");
  EXPECT_EQ(graph_.output(graph_.main(), 0), sum);
  EXPECT_EQ(graph_.op(graph_[graph_.output(graph_.main(), 2)].node), "Identity");
}

TEST_F(NamesTest, OutputsAreCalledAsInTheProgram) {
  const ValueId x = Input("x"), zero = Constant("zero");
  const ValueId boxes = Op("Add", {x, x}), inner = Op("Relu", {boxes}), more = Op("Relu", {inner}), unnamed = Op("Neg", {inner});
  graph_.SetName(inner, context_.Intern("boxes"));
  Return({boxes, more, x, zero, unnamed, Op("Abs", {x})});
  ASSERT_TRUE(AssignNames(graph_, {.program_outputs = {"boxes", "boxes", "x", "none", "", ""}}, sink_));
  const std::vector<std::string> expected = {"boxes", "boxes_1", "x_out", "none", "output", "output_1"};
  for (uint32_t i = 0; i < expected.size(); ++i) EXPECT_EQ(Output(i), expected[i]);
  EXPECT_EQ(Name(inner), "boxes_2");
}

TEST_F(NamesTest, ClashesOfTheCallersNamesFail) {
  Return({Op("Relu", {Input("x")})});
  EXPECT_FALSE(AssignNames(graph_, {{"a"}, {"a"}}, sink_));
  EXPECT_EQ(sink_.diagnostics()[0].message, "output_names: the name 'a' is given twice");
  EXPECT_FALSE(AssignNames(graph_, {{"a", "b"}, {}}, sink_));
  EXPECT_EQ(sink_.diagnostics()[1].message, "input_names has 2 names, but the model has 1");
}

TEST_F(NamesTest, BodiesShareTheNamesOfTheWhole) {
  const ValueId x = Input("x");
  const BlockId body = graph_.AddBlock();
  const ValueId iteration = graph_.AddInput(body, type_), other = graph_.AddInput(body, type_, context_.Intern("x"));
  const ValueId inner = Op("Relu", {x}, {}, {}, body);
  graph_.SetOutputs(body, std::vector{inner, iteration, x});
  const NodeId loop = graph_.Append(graph_.main(), context_.Intern("Loop"), {}, {{context_.Intern("body"), body}},
                                    std::span(&type_, 1));
  Return({graph_.result(loop), Op("Relu", {x})});
  ASSERT_TRUE(AssignNames(graph_, {}, sink_));
  EXPECT_EQ(Name(iteration), "/Loop_input_0");
  EXPECT_EQ(Name(other), "x_1");
  EXPECT_EQ(NodeName(inner), "/Relu_1");
  EXPECT_EQ(graph_.output(body, 0), inner);
  for (uint32_t i : {1u, 2u}) EXPECT_EQ(graph_.BlockOf(graph_.output(body, i)), body);
  EXPECT_EQ(graph_.op(graph_[graph_.output(body, 1)].node), "Identity");
}

// Identity takes lists from opset 14 on.
TEST_F(NamesTest, AListIsCopiedByWhatTheOpsetHas) {
  Type list = Type::OfTensor(DType::kFloat32, {});
  list.kind = TypeKind::kSequence;
  const ValueId given = graph_.AddInput(graph_.main(), context_.Intern(list), context_.Intern("list"));
  Return({given});
  Graph old = graph_;
  ASSERT_TRUE(AssignNames(graph_, {}, sink_, 14));
  EXPECT_EQ(graph_.op(graph_[graph_.output(graph_.main(), 0)].node), "Identity");
  ASSERT_TRUE(AssignNames(old, {}, sink_, 13));
  EXPECT_EQ(old.op(old[old.output(old.main(), 0)].node), "SequenceErase");
}

}  // namespace
}  // namespace flambeau::onnx
