#include "ir/parse.h"

#include <gtest/gtest.h>

#include "ir/print.h"
#include "ir/verify.h"

namespace flambeau {
namespace {

class ParseTest : public testing::Test {
 protected:
  // "line:column message", or "" where the text is accepted.
  std::string Complaint(std::string_view text) {
    Context context;
    Sink sink;
    if (ParseGraph(text, context, sink)) return "";
    const Diagnostic& d = sink.diagnostics().at(0);
    EXPECT_EQ(sink.diagnostics().size(), 1u);
    return d.location.source + " " + d.message;
  }
  // Of a graph with this one line.
  std::string LineComplaint(std::string_view line) {
    return Complaint("graph(%x: f32[2]) {\n" + std::string(line) + "\n  return\n}\n");
  }
};

TEST_F(ParseTest, FillsInAllThatTheTextSays) {
  Context context;
  Sink sink;
  const auto graph = ParseGraph(R"(
    # a comment
    strides known
    graph(%x: f32[n, 4], %k: int(k)) {
      const %w: f32[2, 2] = data("/etc/passwd", 64)  # opens nothing
      %y: f32[4, n]{1, 4}, %0: bool = op @label(%x, dim=-1, self=%w, list=[%k, 3])  # layers.3, model.py:17
      return %y
    })",
                                context, sink);
  ASSERT_TRUE(graph) << sink.diagnostics().at(0).message;
  EXPECT_TRUE(VerifyGraph(*graph, sink));
  const ValueId x = (*graph)[graph->main()].inputs[0];
  EXPECT_EQ(graph->type(x).strides, (std::vector{context.exprs().Constant(4), context.exprs().Constant(1)}));
  const NodeId node = (*graph)[graph->main()].first;
  EXPECT_EQ(context.Text((*graph)[node].name), "label");
  EXPECT_EQ(graph->operand_count(node), 3u);
  EXPECT_EQ(*graph->FindAttribute(node, "dim"), Attribute(int64_t{-1}));
  EXPECT_EQ(*graph->FindAttribute(node, "self"), Attribute(Operand{1}));
  EXPECT_EQ(*graph->FindAttribute(node, "list"), Attribute(OperandList{Operand{2}, int64_t{3}}));
  const Origin& origin = context[(*graph)[node].origin];
  EXPECT_EQ(context.Text(origin.module_path()), "layers.3");
  EXPECT_EQ(SourceLine(context.Text(origin.stack_trace)), "model.py:17");
  const TensorData& data = context[(*graph)[graph->operand(node, 1)].data];
  EXPECT_FALSE(data.source->available());
  EXPECT_FALSE(data.ReadAll(1000));
  EXPECT_EQ(PrintNode(*graph, node), "%y: f32[4, n]{1, 4}, %4: bool = op @label(%x, dim=-1, self=%w, list=[%k, 3])");
}

TEST_F(ParseTest, LocatesErrors) {
  EXPECT_EQ(Complaint(""), "1:1 `graph(` is expected at the end of the line");
  EXPECT_EQ(Complaint("graph() {\n  return\n"), "3:1 a value is expected at the end of the line");
  EXPECT_EQ(Complaint("graph() { return } graph"), "1:20 text after the end of the graph at `graph`");
  EXPECT_EQ(Complaint("symbol n in [2, 1]\ngraph() { return }"), "1:18 an empty range at `]`");
  EXPECT_EQ(LineComplaint("  %a: f32[2] = relu(%z)"), "2:21 the value is not defined here at `%z)`");
  EXPECT_EQ(LineComplaint("  %x: f32[2] = relu(%x)"), "2:3 the value is defined already at `%x: f32[2] = relu(%x)`");
  EXPECT_EQ(LineComplaint("  %a: f31[2] = relu(%x)"), "2:10 `f31` is no data type at `[2] = relu(%x)`");
  EXPECT_EQ(LineComplaint("  %a: f32[2 = relu(%x)"), "2:11 an operator is expected at character 3 of `2 = relu(%x)`");
  EXPECT_EQ(LineComplaint("  %a: f32[2]{1, 1} = relu(%x)"), "2:19 2 strides for 1 sizes at ` = relu(%x)`");
  EXPECT_EQ(LineComplaint("  relu(%x, a=b)"), "2:15 `b` is no value of an attribute at `)`");
  EXPECT_EQ(LineComplaint("  relu(%x %x)"), "2:11 `,` is expected at `%x)`");
  EXPECT_EQ(LineComplaint("  relu(a=[1, \"b\"])"), "2:18 the elements of the list are of different kinds at `)`");
  EXPECT_EQ(LineComplaint("  relu(a=\"b)"), "2:10 a malformed string at `\"b)`");
  EXPECT_EQ(LineComplaint("  relu(a=9223372036854775808)"),
            "2:10 a number is expected, within 64 bits at `9223372036854775808)`");
  EXPECT_EQ(LineComplaint("  const %w: f32[n] = [1]"),
            "2:22 the bytes need a tensor type with constant sizes at `[1]`");
  EXPECT_EQ(LineComplaint("  const %w: i8[2] = [1, 128]"), "2:28 the number does not fit the data type at `]`");
  EXPECT_EQ(LineComplaint("  const %w: i8[2] = [1]"), "2:24 1 elements for a constant of 2 at the end of the line");
  EXPECT_EQ(LineComplaint("  const %w: f16[2] = hex 00"), "2:28 1 bytes for a constant of 4 at the end of the line");
  EXPECT_EQ(LineComplaint("  const %w: f32[4611686018427387904, 4] = data(\"\", 0)"),
            "2:54 sizes, strides or offset of the constant are out of range at the end of the line");
  EXPECT_EQ(LineComplaint("  If(then=() {\n    const %w: i8[1] = [1]"),
            "3:10 a constant inside a body at ` %w: i8[1] = [1]`");
}

TEST_F(ParseTest, ScopesEndWithTheirBlock) {
  EXPECT_EQ(LineComplaint("  If(then=() {\n %a: f32[2] = relu(%x)\n return %a\n }, else=() {\n return %a\n })"),
            "6:9 the value is not defined here at `%a`");
  EXPECT_EQ(LineComplaint("  If(then=() {\n %a: f32[2] = relu(%x)\n return %a\n })\n %a: f32[2] = relu(%x)"), "");
}

TEST_F(ParseTest, NestsWithoutRecursion) {
  std::string text = "graph() {\n";
  constexpr int kDepth = 20'000;
  for (int i = 0; i < kDepth; ++i) text += "If(b=() {\n";
  for (int i = 0; i < kDepth; ++i) text += "return })\n";
  text += "return }\n";
  Context context;
  Sink sink;
  const auto graph = ParseGraph(text, context, sink);
  ASSERT_TRUE(graph) << sink.diagnostics().at(0).message;
  EXPECT_EQ(graph->AllBlocks().size(), size_t{kDepth} + 1);
  EXPECT_TRUE(VerifyGraph(*graph, sink));
}

}  // namespace
}  // namespace flambeau
