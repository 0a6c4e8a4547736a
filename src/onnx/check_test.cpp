#include "onnx/check.h"

#include <gtest/gtest.h>

#include "onnx/names.h"

namespace flambeau::onnx {
namespace {

class CheckTest : public testing::Test {
 protected:
  CheckTest() : graph_(&context_) {}

  TypeId Tensor(DType dtype = DType::kFloat32) {
    return context_.Intern(Type::OfTensor(dtype, {context_.exprs().Constant(2)}));
  }
  NodeId Node(std::string_view op, std::vector<ValueId> operands, std::vector<TypeId> results = {},
              std::vector<std::pair<std::string_view, Attribute>> attributes = {}, BlockId block = {0}) {
    std::vector<NamedAttribute> named;
    for (auto& [name, value] : attributes) named.push_back({context_.Intern(name), std::move(value)});
    if (results.empty()) results = {Tensor()};
    return graph_.Append(block, context_.Intern(op), operands, std::move(named), results);
  }
  ValueId Op(std::string_view op, std::vector<ValueId> operands,
             std::vector<std::pair<std::string_view, Attribute>> attributes = {}) {
    return graph_.result(Node(op, std::move(operands), {}, std::move(attributes)));
  }
  ValueId Input(std::string_view name, DType dtype = DType::kFloat32) {
    return graph_.AddInput(graph_.main(), Tensor(dtype), context_.Intern(name));
  }
  // The first thing that is wrong; empty if nothing is.
  std::string Check(ValueId output, int opset = 20, bool name = true) {
    graph_.SetOutputs(graph_.main(), std::span(&output, 1));
    Sink sink;
    if (name) {
      EXPECT_TRUE(AssignNames(graph_, {}, sink));
    }
    ModelData model(graph_);
    model.opset_imports = {{"", opset}};
    const bool ok{CheckModel(model, sink)};
    EXPECT_EQ(ok, sink.diagnostics().empty());
    if (ok) return "";
    EXPECT_EQ(sink.diagnostics()[0].kind, DiagnosticKind::kInvalidModel);
    return sink.diagnostics()[0].message;
  }

  Context context_;
  Graph graph_;
};

TEST_F(CheckTest, AcceptsAValidModel) {
  const ValueId x = Input("x");
  const BlockId yes = graph_.AddBlock(), no = graph_.AddBlock();
  for (BlockId block : {yes, no}) {
    const ValueId result = graph_.result(Node("Relu", {x}, {}, {}, block));
    graph_.SetOutputs(block, std::span(&result, 1));
  }
  const ValueId condition = graph_.result(Node("Greater", {x, x}, {Tensor(DType::kBool)}));
  EXPECT_EQ(Check(Op("If", {condition}, {{"then_branch", yes}, {"else_branch", no}})), "");
}

TEST_F(CheckTest, Operators) {
  const ValueId x = Input("x");
  EXPECT_EQ(Check(Op("Gelu", {x})), "");
  EXPECT_EQ(Check(Op("Gelu", {x}), 19), "ONNX has no operator Gelu at opset 19");
  EXPECT_EQ(Check(Op("Relux", {x})), "ONNX has no operator Relux at opset 20");
  EXPECT_EQ(Check(Op("com.microsoft::Gelu", {x})), "ONNX has no operator Relux at opset 20");
}

TEST_F(CheckTest, DomainsAreImported) {
  EXPECT_EQ(Check(Op("com.microsoft::Gelu", {Input("x")})), "the opset of domain 'com.microsoft' is not imported");
}

TEST_F(CheckTest, Attributes) {
  EXPECT_EQ(Check(Op("Elu", {Input("x")}, {{"alpha", 1.0}})), "");
  EXPECT_EQ(Check(Op("Elu", {Input("x")}, {{"alpha", int64_t{1}}})), "attribute 'alpha' has the wrong type");
}
TEST_F(CheckTest, UnknownAttributes) {
  EXPECT_EQ(Check(Op("Elu", {Input("x")}, {{"beta", 1.0}})), "Elu has no attribute 'beta' at opset 20");
}
TEST_F(CheckTest, MissingAttributes) { EXPECT_EQ(Check(Op("Cast", {Input("x")})), "attribute 'to' is missing"); }

TEST_F(CheckTest, InputCounts) { EXPECT_EQ(Check(Op("Gemm", {Input("x")})), "1 inputs where 2 to 3 are allowed"); }
TEST_F(CheckTest, AbsentInputs) {
  EXPECT_EQ(Check(Op("Clip", {Input("x"), {}, Input("max")})), "");
  EXPECT_EQ(Check(Op("Mul", {Input("y"), {}})), "input 'B' is absent");
}

TEST_F(CheckTest, Dtypes) {
  EXPECT_EQ(Check(Op("Add", {Input("x"), Input("y", DType::kInt64)})), "'B' has dtype i64, but T is f32 elsewhere");
}
TEST_F(CheckTest, DtypesTheOperatorLacks) {
  EXPECT_EQ(Check(Op("Erf", {Input("x", DType::kBool)})),
            "'input' has dtype bool, which Erf does not take at opset 20");
}

TEST_F(CheckTest, Order) {
  const ValueId x = Input("x");
  const ValueId first = Op("Relu", {x}), second = Op("Sin", {first});
  graph_.MoveBefore(graph_[second].node, graph_[first].node);
  EXPECT_EQ(Check(second), "input 0 ('/Relu_output_0') is not defined before it");
}

TEST_F(CheckTest, ValuesOfBodiesStayInThem) {
  const ValueId x = Input("x"), condition = Input("c", DType::kBool);
  const BlockId yes = graph_.AddBlock(), no = graph_.AddBlock();
  const ValueId inner = graph_.result(Node("Relu", {x}, {}, {}, yes));
  const ValueId other = graph_.result(Node("Sin", {inner}, {}, {}, no));
  graph_.SetOutputs(yes, std::span(&inner, 1));
  graph_.SetOutputs(no, std::span(&other, 1));
  EXPECT_EQ(Check(Op("If", {condition}, {{"then_branch", yes}, {"else_branch", no}})),
            "input 0 ('/Relu_output_0') is not defined before it");
}

TEST_F(CheckTest, Names) {
  const ValueId x = Input("x");
  EXPECT_EQ(Check(Op("Relu", {x}), 20, false), "a node has no name");
  graph_.SetName(graph_[graph_.output(graph_.main(), 0)].node, context_.Intern("n"));
  graph_.SetName(graph_.output(graph_.main(), 0), context_.Intern("x"));
  EXPECT_EQ(Check(graph_.output(graph_.main(), 0), 20, false), "two values are named 'x'");
}

TEST_F(CheckTest, OutputsAreMadeInTheirGraph) {
  const ValueId x = Input("x");
  EXPECT_EQ(Check(x, 20, false), "an output is not made in its graph");
  EXPECT_EQ(Check(x), "");
}

}  // namespace
}  // namespace flambeau::onnx
