#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Stacked(std::string_view text, int opset) {
  Context context;
  Sink sink;
  PassContext pass_context{sink};
  pass_context.opset = opset;
  auto graph = ParseGraph(text, context, sink);
  if (graph && StackSequences(*graph, pass_context) && DropDeadOnnxNodes(*graph, pass_context) && VerifyGraph(*graph, sink))
    return PrintGraph(*graph);
  return sink.diagnostics().empty() ? "" : sink.diagnostics().front().message;
}

constexpr std::string_view kGrowing = R"(graph(%x: f32[2, 3], %n: i64[], %go: bool[]) {
  %none: seq(f32[*]) = SequenceEmpty(dtype=1)
  %rows: seq(f32[2, 3]) = Loop(%n, %go, %none, body=(%i: i64[], %c: bool[], %s: seq(f32[2, 3])) {
    %t: seq(f32[2, 3]) = SequenceInsert(%s, %x)
    return %c, %t
  })
  %y: f32[?0, 2, 3] = ConcatFromSequence(%rows, axis=0, new_axis=1)
  return %y
}
)";

TEST(StackSequences, WhatALoopCarriesBecomesATensor) {
  const std::string text = Stacked(kGrowing, 12);
  EXPECT_EQ(text.find("Sequence"), std::string::npos) << text;
  EXPECT_NE(text.find("Concat("), std::string::npos) << text;
}

TEST(StackSequences, FromOpset13OnItStays) { EXPECT_EQ(Stacked(kGrowing, 13), kGrowing); }

TEST(StackSequences, ElementsOfSeveralShapesAreReported) {
  EXPECT_EQ(Stacked(R"(graph(%x: f32[2, 3], %p: bool[]) {
  %a: seq(f32[2, 3]) = SequenceConstruct(%x)
  %rows: seq(f32[*]) = If(%p, then_branch=() {
    %z: f32[] = ReduceSum(%x, keepdims=0)
    %b: seq(f32[*]) = SequenceInsert(%a, %z)
    return %b
  }, else_branch=() {
    return %a
  })
  %y: i64[] = SequenceLength(%rows)
  return %y
}
)",
                    12),
            "ONNX's If takes no sequences at opset 12, and the elements are not known to be of one shape");
}

TEST(StackSequences, ListsOutsideOfRegionsStay) {
  constexpr std::string_view text = R"(graph(%x: f32[4, 3]) {
  %a: seq(f32[3]) = SplitToSequence(%x, axis=0, keepdims=0)
  %y: i64[] = SequenceLength(%a)
  return %y
}
)";
  EXPECT_EQ(Stacked(text, 11), text);
}

}  // namespace
}  // namespace flambeau
