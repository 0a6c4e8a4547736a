// Each node of a graph in text, in the newest form of its operator, as an older
// opset has it.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "ir/parse.h"
#include "ir/print.h"
#include "onnx/builder.h"
#include "onnx/legalize.h"
#include "onnx/operator_table.h"
#include "onnx/runtime_kernels.h"

namespace flambeau::onnx {
namespace {

struct Legalized {
  std::vector<std::string> operators;
  std::string text;  // of the graph, or what was reported
  DiagnosticKind kind = DiagnosticKind::kInternalError;
};

Legalized At(int opset, std::string_view text, bool for_runtime = true) {
  Context context;
  Sink sink;
  Legalized legalized;
  const auto newest = ParseGraph(text, context, sink);
  if (!newest) return {{}, sink.diagnostics()[0].message};
  Graph graph(&context);
  Builder to(&graph, opset, &sink);
  to.set_widens_for_runtime(for_runtime);
  std::unordered_map<uint32_t, Tensor> made;
  for (ValueId input : (*newest)[newest->main()].inputs) made[input.index] = to.AddBlockInput(newest->type(input), (*newest)[input].name);
  newest->ForEachNode(newest->main(), [&](NodeId node) {
    std::vector<Tensor> operands;
    for (ValueId operand : newest->operands(node)) {
      if (!operand) {
        operands.emplace_back();
      } else if ((*newest)[operand].kind == ValueKind::kConstant) {
        operands.push_back(to.Weight((*newest)[operand].data));
      } else {
        operands.push_back(made.at(operand.index));
      }
    }
    AttributeList attributes;
    for (const auto& [name, value] : (*newest)[node].attributes) attributes.Add(context.Text(name), value);
    const auto results = to.Emit(newest->op(node), operands, attributes, (*newest)[node].result_count);
    for (uint32_t i = 0; i < results.size(); ++i) made[newest->result(node, i).index] = results[i];
  });
  if (sink.HasErrors()) return {{}, sink.diagnostics()[0].message, sink.diagnostics()[0].kind};
  std::vector<ValueId> outputs;
  for (ValueId output : newest->outputs(newest->main())) outputs.push_back(made.at(output.index).id());
  graph.SetOutputs(graph.main(), outputs);
  graph.ForEachNode(graph.main(), [&](NodeId node) { legalized.operators.emplace_back(graph.op(node)); });
  legalized.text = PrintGraph(graph);
  return legalized;
}

using Operators = std::vector<std::string>;

TEST(Legalize, AxesWereAttributes) {
  constexpr std::string_view kText = R"(graph(%x: f32[2, 3]) {
  const %axes: i64[1] = [-1]
  %y: f32[2, 1] = ReduceMax(%x, %axes)
  return %y
}
)";
  EXPECT_EQ(At(18, kText).text.find("axes="), std::string::npos);
  EXPECT_NE(At(17, kText).text.find("ReduceMax(%x, axes=[-1])"), std::string::npos) << At(17, kText).text;
  // Counted from the start before 11.
  EXPECT_NE(At(9, kText).text.find("ReduceMax(%x, axes=[1])"), std::string::npos) << At(9, kText).text;
}

TEST(Legalize, NothingIsDroppedThatMeansSomething) {
  constexpr std::string_view kText = R"(graph(%x: f32[2, 3], %r: f32[4, 5]) {
  %y: f32[4, 256, 3, 3] = AveragePool(%x, kernel_shape=[3, 3], dilations=[2, 2])
  return %y
}
)";
  EXPECT_EQ(At(18, kText).text, "ONNX's AveragePool has no attribute 'dilations' at opset 18");
  EXPECT_EQ(At(18, kText).kind, DiagnosticKind::kUnsupportedOpset);
  constexpr std::string_view kDefault = R"(graph(%x: f32[2, 3]) {
  %y: f16[2, 3] = Cast(%x, to=10, saturate=1)
  return %y
}
)";
  EXPECT_NE(At(18, kDefault).text.find("Cast(%x, to=10)"), std::string::npos) << At(18, kDefault).text;
}

TEST(Legalize, OperatorsThatCameLate) {
  EXPECT_EQ(At(13, R"(graph(%x: f32[2]) {
  %y: f32[2] = HardSwish(%x)
  return %y
}
)").operators,
            (Operators{"HardSigmoid", "Mul"}));
  EXPECT_EQ(At(10, R"(graph(%n: i64[]) {
  const %zero: i64[] = [0]
  const %one: i64[] = [1]
  %y: i64[m] = Range(%zero, %n, %one)
  return %y
}
)").operators.back(),
            "Squeeze");
  const Legalized distinct = At(9, R"(graph(%x: f32[5]) {
  %y: f32[m], %first: i64[m], %place: i64[5] = Unique(%x)
  return %y, %first, %place
}
)");
  EXPECT_EQ(std::ranges::count(distinct.operators, "TopK"), 1) << distinct.text;
  EXPECT_EQ(std::ranges::count(distinct.operators, "Compress"), 2) << distinct.text;
}

TEST(Legalize, PlacesBeforeThereWereOperatorsForThem) {
  constexpr std::string_view kPlaces = R"(graph(%x: f32[2, 3]) {
  %y: i64[2, m] = NonZero(%x)
  return %y
}
)";
  EXPECT_EQ(At(9, kPlaces).operators, (Operators{"NonZero"}));
  EXPECT_EQ(std::ranges::count(At(8, kPlaces).operators, "Loop"), 2);  // a count so far, and what it says
  constexpr std::string_view kWritten = R"(graph(%x: f32[4, 3], %at: i64[2, 3], %new: f32[2, 3]) {
  %y: f32[4, 3] = ScatterElements(%x, %at, %new)
  return %y
}
)";
  EXPECT_EQ(At(9, kWritten).operators, (Operators{"Scatter"}));
  EXPECT_EQ(At(8, kWritten).operators.back(), "Loop");
}

TEST(Legalize, SoftmaxWasOfRowsAndColumns) {
  constexpr std::string_view kText = R"(graph(%x: f32[2, 3, 4]) {
  %y: f32[2, 3, 4] = Softmax(%x, axis=1)
  return %y
}
)";
  EXPECT_EQ(At(13, kText).operators, (Operators{"Softmax"}));
  EXPECT_EQ(At(12, kText).operators, (Operators{"Transpose", "Softmax", "Transpose"}));
}

TEST(Legalize, TypesThatCameLate) {
  constexpr std::string_view kText = R"(graph(%a: i64[2], %b: i64[2]) {
  %y: bool[2] = Less(%a, %b)
  return %y
}
)";
  EXPECT_EQ(At(9, kText).operators, (Operators{"Less"}));
  // No float holds an int64: the halves are compared.
  const Operators old = At(8, kText).operators;
  EXPECT_GT(std::ranges::count(old, "Div"), 0);
  EXPECT_EQ(At(10, R"(graph(%a: f32[2], %b: f32[2]) {
  %y: bool[2] = Equal(%a, %b)
  return %y
}
)").operators,
            (Operators{"Less", "Less", "Or", "IsNaN", "IsNaN", "Or", "Or", "Not"}));
}

TEST(Legalize, CastsAroundTypesThatCameLate) {
  EXPECT_EQ(At(13, R"(graph(%a: u8[2], %b: u8[2]) {
  %y: u8[2] = Mul(%a, %b)
  return %y
}
)").operators,
            (Operators{"Cast", "Cast", "Mul", "Cast"}));
  EXPECT_EQ(At(12, R"(graph(%x: f32[2]) {
  %y: bf16[2] = Cast(%x, to=16)
  return %y
}
)").text,
            "ONNX's Cast does not give bfloat16 at opset 12");
}

Legalized StrictlyAt(int opset, std::string_view text) { return At(opset, text, false); }

TEST(Legalize, KernelsThatOnnxruntimeLacks) {
  constexpr std::string_view kErf = "graph(%x: f64[2]) {\n  %y: f64[2] = Erf(%x)\n  return %y\n}\n";
  const Operators runs = At(20, kErf).operators;
  EXPECT_EQ(std::ranges::count(runs, "Erf"), 0);
  EXPECT_EQ(std::ranges::count(runs, "Cast"), 0);  // no digits are lost
  EXPECT_EQ(runs.back(), "Where");
  EXPECT_EQ(StrictlyAt(20, kErf).operators, (Operators{"Erf"}));
  EXPECT_EQ(At(20, "graph(%x: f32[2]) {\n  %y: f32[2] = Erf(%x)\n  return %y\n}\n").operators, (Operators{"Erf"}));
  constexpr std::string_view kGelu = "graph(%x: f64[2]) {\n  %y: f64[2] = Gelu(%x)\n  return %y\n}\n";
  EXPECT_EQ(std::ranges::count(At(20, kGelu).operators, "Gelu"), 0);
  EXPECT_EQ(StrictlyAt(20, kGelu).operators, (Operators{"Gelu"}));
  for (const std::string op : {"Acos", "Asinh", "Atan", "Celu", "Cosh", "Elu", "HardSigmoid", "HardSwish", "LeakyRelu", "Selu", "Softplus", "Tan"}) {
    const auto of = [&](std::string_view type) {
      return fmt::format("graph(%x: {0}[2]) {{\n  %y: {0}[2] = {1}(%x)\n  return %y\n}}\n", type, op);
    };
    EXPECT_EQ(std::ranges::count(At(20, of("f64")).operators, op), 0) << op;
    EXPECT_EQ(std::ranges::count(At(20, of("f64")).operators, "Cast"), 0) << op;
    EXPECT_EQ(At(20, of("f32")).operators, (Operators{op})) << op;
  }
  constexpr std::string_view kNothing = "graph(%x: f32[2, 0], %w: f32[0, 3]) {\n  %y: f32[2, 3] = MatMul(%x, %w)\n  return %y\n}\n";
  EXPECT_EQ(std::ranges::count(At(20, kNothing).operators, "MatMul"), 0);
  constexpr std::string_view kHalves = R"(graph(%x: f16[4], %at: i64[2], %new: f16[2]) {
  %y: f16[4] = ScatterElements(%x, %at, %new, reduction="add")
  return %y
}
)";
  EXPECT_EQ(At(20, kHalves).operators, (Operators{"Cast", "Cast", "ScatterElements", "Cast"}));
  EXPECT_EQ(StrictlyAt(20, kHalves).operators, (Operators{"ScatterElements"}));
  constexpr std::string_view kRoiAlign = R"(graph(%x: f32[1, 2, 8, 8], %rois: f32[3, 4], %images: i64[3]) {
  %y: f32[3, 2, 2, 2] = RoiAlign(%x, %rois, %images, output_height=2, output_width=2)
  return %y
}
)";
  EXPECT_EQ(At(20, kRoiAlign).operators, (Operators{"RoiAlign"}));
  EXPECT_EQ(std::ranges::count(At(22, kRoiAlign).operators, "Loop"), 1);
  EXPECT_EQ(StrictlyAt(22, kRoiAlign).operators, (Operators{"RoiAlign"}));
  constexpr std::string_view kUniform = "graph() {\n  %y: f32[2] = RandomUniform(shape=[2])\n  return %y\n}\n";
  EXPECT_EQ(At(21, kUniform).operators, (Operators{"RandomUniform"}));
  EXPECT_EQ(std::ranges::count(At(22, kUniform).operators, "Dropout"), 1);
  EXPECT_EQ(StrictlyAt(22, kUniform).operators, (Operators{"RandomUniform"}));
}

// Min of integers is a comparison before 12; what is a size stays the same expression.
TEST(Legalize, WhatIsKnownOfElementsStays) {
  constexpr std::string_view kText = R"(graph(%x: f32[a, b]) {
  %rows: i64[1] = Shape(%x, end=1, start=0)
  %columns: i64[1] = Shape(%x, end=2, start=1)
  %y: i64[1] = Min(%rows, %columns)
  return %y
}
)";
  EXPECT_NE(At(12, kText).text.find("=(Min(a, b))"), std::string::npos) << At(12, kText).text;
  EXPECT_NE(At(11, kText).text.find("=(Min(a, b))"), std::string::npos) << At(11, kText).text;
}

// The newest opset needs no rule, but where onnxruntime lacks a kernel or, of Dropout, takes it away.
// Those of which onnxruntime runs less than its kernels say, of integers less than of numbers, or slower than another form.
constexpr std::string_view kRunInPart[] = {"DFT", "Dropout", "MatMul", "Relu", "ScatterElements", "ScatterND"};

TEST(Legalize, NothingChangesAtTheNewestOpset) {
  for (const OperatorVersion& version : AllOperators()) {
    const bool newest = FindOperator(version.name, NewestOpset()) == &version;
    if (newest && !version.deprecated && std::ranges::count(kRunInPart, version.name) == 0) {
      const bool runs = RuntimeSupports(version.name, NewestOpset(), "T", DType::kFloat64);
      EXPECT_FALSE(runs && HasOlderForm(version.name, NewestOpset())) << version.name;
    }
  }
}

}  // namespace
}  // namespace flambeau::onnx
