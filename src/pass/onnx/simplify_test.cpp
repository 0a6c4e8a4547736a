#include "ir/tensor_data.h"
#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

TEST(MergeLayouts, ReshapesInARow) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 4, 6]) {
  const %s: i64[3] = [0, 2, -1]
  const %axes: i64[1] = [0]
  const %last: i64[2] = [-1, 12]
  %a: f32[n, 2, 12] = Reshape(%x, %s)
  %b: f32[1, n, 2, 12] = Unsqueeze(%a, %axes)
  %y: f32[2*n, 12] = Reshape(%b, %last)
  return %y
}
)"),
            R"(graph(%x: f32[n, 4, 6]) {
  const %0: i64[2]=(-1, 12) = [-1, 12]
  %y: f32[2*n, 12] = Reshape(%x, %0)
  return %y
}
)");
}

TEST(MergeLayouts, ComputedShapesBecomeConstants) {
  EXPECT_EQ(Simplified(R"(symbol n in [1, oo]
graph(%x: f32[n, 4, m]) {
  const %four: i64[1] = [4]
  %n: i64[1]=(n) = Shape(%x, start=0, end=1)
  %m: i64[1]=(m) = Shape(%x, start=2, end=3)
  %s: i64[3]=(n, m, 4) = Concat(%n, %m, %four, axis=0)
  %t: i64[2]=(4*n, m) = Concat(%n, %m, axis=0)
  %y: f32[n, m, 4] = Reshape(%x, %s)
  %z: f32[4*n, m] = Reshape(%x, %t)
  return %y, %z
}
)"),
            R"(symbol n in [1, oo]
graph(%x: f32[n, 4, m]) {
  const %0: i64[3]=(0, -1, 4) = [0, -1, 4]
  %n: i64[1]=(n) = Shape(%x, start=0, end=1)
  %m: i64[1]=(m) = Shape(%x, start=2, end=3)
  %t: i64[2]=(4*n, m) = Concat(%n, %m, axis=0)
  %y: f32[n, m, 4] = Reshape(%x, %0)
  %z: f32[4*n, m] = Reshape(%x, %t)
  return %y, %z
}
)");
}

// Where a size that is copied may be 0, the rest can't be found.
TEST(MergeLayouts, ShapesOfNothingAreComputed) {
  constexpr std::string_view kText = R"(graph(%x: f32[n, 4, m]) {
  const %four: i64[1] = [4]
  %n: i64[1]=(n) = Shape(%x, start=0, end=1)
  %m: i64[1]=(m) = Shape(%x, start=2, end=3)
  %s: i64[3]=(n, m, 4) = Concat(%n, %m, %four, axis=0)
  %y: f32[n, m, 4] = Reshape(%x, %s, allowzero=1)
  return %y
}
)";
  EXPECT_EQ(Simplified(kText), kText);
}

// A Reshape that copies a size and infers another needs elements, which these do not.
TEST(MergeLayouts, AxesOfOneStayAxesOfOne) {
  EXPECT_EQ(Simplified(R"(symbol n in [1, oo]
graph(%x: f32[n, m]) {
  const %one: i64[1] = [1]
  const %last: i64[1] = [3]
  %a: f32[n, 1, m] = Unsqueeze(%x, %one)
  %y: f32[n, 1, m, 1] = Unsqueeze(%a, %last)
  return %y
}
)"),
            R"(symbol n in [1, oo]
graph(%x: f32[n, m]) {
  const %0: i64[2]=(1, 3) = [1, 3]
  %y: f32[n, 1, m, 1] = Unsqueeze(%x, %0)
  return %y
}
)");
}

// Added here and dropped there: one Reshape says it, if the size that it copies cannot be 0.
TEST(MergeLayouts, AxesOfOneMoveBesideSizesThatCannotBeZero) {
  const auto text = [](const char* least) {
    return std::string("symbol n in [") + least + R"(, oo]
graph(%x: f32[n, 1, m]) {
  const %last: i64[1] = [3]
  const %first: i64[1] = [1]
  %a: f32[n, 1, m, 1] = Unsqueeze(%x, %last)
  %y: f32[n, m, 1] = Squeeze(%a, %first)
  return %y
}
)";
  };
  EXPECT_NE(Simplified(text("1")).find("Reshape"), std::string::npos);
  EXPECT_EQ(Simplified(text("0")).find("Reshape"), std::string::npos);
}

TEST(MergeLayouts, ElementwiseOperatorsExpand) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 1, m], %y: f32[n, 8, m]) {
  const %eight: i64[1] = [8]
  %n: i64[1]=(n) = Shape(%x, start=0, end=1)
  %m: i64[1]=(m) = Shape(%x, start=2, end=3)
  %s: i64[3]=(n, 8, m) = Concat(%n, %eight, %m, axis=0)
  %e: f32[n, 8, m] = Expand(%x, %s)
  %a: f32[n, 8, m] = Add(%e, %y)
  %b: f32[n, 8, m] = Mul(%e, %e)
  return %a, %b
}
)"),
            R"(graph(%x: f32[n, 1, m], %y: f32[n, 8, m]) {
  const %0: i64[3]=(1, 8, 1) = [1, 8, 1]
  %e: f32[n, 8, m] = Expand(%x, %0)
  %a: f32[n, 8, m] = Add(%x, %y)
  %b: f32[n, 8, m] = Mul(%x, %e)
  return %a, %b
}
)");
}

TEST(MergeLayouts, SlicesAndConcats) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[8, 8], %y: f32[2, 8]) {
  const %zero: i64[1] = [0]
  const %one: i64[1] = [1]
  const %two: i64[1] = [2]
  const %six: i64[1] = [6]
  %a: f32[5, 8] = Slice(%x, %one, %six, %zero)
  %b: f32[5, 2] = Slice(%a, %zero, %six, %one, %two)
  %c: f32[10, 8] = Concat(%x, %y, axis=0)
  %d: f32[12, 8] = Concat(%c, %y, axis=-2)
  return %b, %d
}
)"),
            R"(graph(%x: f32[8, 8], %y: f32[2, 8]) {
  const %0: i64[2]=(1, 0) = [1, 0]
  const %1: i64[2]=(6, 6) = [6, 6]
  const %2: i64[2]=(0, 1) = [0, 1]
  const %3: i64[2]=(1, 2) = [1, 2]
  %b: f32[5, 3] = Slice(%x, %0, %1, %2, %3)
  %d: f32[12, 8] = Concat(%x, %y, %y, axis=-2)
  return %b, %d
}
)");
}

TEST(MergeFactors, WhatLiesBetweenThemStaysForOthers) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4, 4]) {
  const %two: f32[] = [2.0]
  const %four: f32[] = [4.0]
  %m: f32[4, 4] = Mul(%two, %x)
  %q: f32[4, 4] = Div(%m, %four)
  %y: f32[4, 4] = MatMul(%q, %m)
  return %y
}
)"),
            R"(graph(%x: f32[4, 4]) {
  const %two: f32[] = [2.0]
  const %0: f32[] = [0.5]
  %m: f32[4, 4] = Mul(%two, %x)
  %1: f32[4, 4] = Mul(%x, %0)
  %y: f32[4, 4] = MatMul(%1, %m)
  return %y
}
)");
}

TEST(MergeFactors, TransposesLieBetweenThem) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[3, 4, 4]) {
  const %two: f32[] = [2.0]
  const %four: f32[] = [4.0]
  %m: f32[3, 4, 4] = Mul(%x, %two)
  %t: f32[3, 4, 4] = Transpose(%m, perm=[0, 2, 1])
  %q: f32[3, 4, 4] = Mul(%t, %four)
  %y: f32[3, 4, 4] = MatMul(%q, %m)
  return %y
}
)"),
            R"(graph(%x: f32[3, 4, 4]) {
  const %two: f32[] = [2.0]
  const %0: f32[] = [8.0]
  %m: f32[3, 4, 4] = Mul(%x, %two)
  %1: f32[3, 4, 4] = Transpose(%x, perm=[0, 2, 1])
  %2: f32[3, 4, 4] = Mul(%1, %0)
  %y: f32[3, 4, 4] = MatMul(%2, %m)
  return %y
}
)");
}

TEST(MergeFactors, AllOfAChainBecomeOne) {
  const std::string text = Simplified(R"(graph(%x: f32[4, 4]) {
  const %two: f32[] = [2.0]
  %a: f32[4, 4] = Mul(%x, %two)
  %p: f32[4, 4] = MatMul(%a, %x)
  %b: f32[4, 4] = Mul(%a, %two)
  %q: f32[4, 4] = MatMul(%b, %x)
  %c: f32[4, 4] = Mul(%b, %two)
  %r: f32[4, 4] = MatMul(%c, %x)
  return %p, %q, %r
}
)");
  for (const std::string factor : {"[2.0]", "[4.0]", "[8.0]"}) EXPECT_NE(text.find(factor), std::string::npos) << text;
  EXPECT_EQ(text.find(" Mul(%a"), std::string::npos) << text;
  EXPECT_EQ(text.find(" Mul(%b"), std::string::npos) << text;
}

TEST(MergeGemm, ProductAndBias) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 4], %v: f32[n, 4, 4]) {
  const %w: f32[4, 4] = data("w", 0)
  const %b: f32[4] = data("b", 0)
  %t: f32[4, 4] = Transpose(%w, perm=[1, 0])
  %p: f32[n, 4] = MatMul(%x, %t)
  %y: f32[n, 4] = Add(%b, %p)
  %q: f32[n, 4, 4] = MatMul(%v, %w)
  %z: f32[n, 4, 4] = Add(%q, %b)
  return %y, %z
}
)"),
            R"(graph(%x: f32[n, 4], %v: f32[n, 4, 4]) {
  const %w: f32[4, 4] = data("w", 0)
  const %b: f32[4] = data("b", 0)
  %y: f32[n, 4] = Gemm(%x, %w, %b, transB=1)
  %q: f32[n, 4, 4] = MatMul(%v, %w)
  %z: f32[n, 4, 4] = Add(%q, %b)
  return %y, %z
}
)");
}

TEST(MergeGemm, RowsAreNotStackedBetweenReshapes) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 12]) {
  const %w: f32[4, 6] = data("w", 0)
  const %b: f32[6] = data("b", 0)
  const %s: i64[3] = [0, 3, 4]
  const %t: i64[4] = [0, 3, 2, 3]
  %a: f32[n, 3, 4] = Reshape(%x, %s)
  %p: f32[n, 3, 6] = MatMul(%a, %w)
  %q: f32[n, 3, 6] = Add(%p, %b)
  %y: f32[n, 3, 2, 3] = Reshape(%q, %t)
  return %y
}
)"),
            R"(graph(%x: f32[n, 12]) {
  const %w: f32[4, 6] = data("w", 0)
  const %b: f32[6] = data("b", 0)
  const %0: i64[2]=(-1, 4) = [-1, 4]
  const %1: i64[4]=(-1, 3, 2, 3) = [-1, 3, 2, 3]
  %2: f32[3*n, 4] = Reshape(%x, %0)
  %3: f32[3*n, 6] = Gemm(%2, %w, %b)
  %y: f32[n, 3, 2, 3] = Reshape(%3, %1)
  return %y
}
)");
}

TEST(MergeGemm, ABiasThatComesAfterTheProduct) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 12], %b: f32[6]) {
  const %w: f32[4, 6] = data("w", 0)
  const %s: i64[3] = [0, 3, 4]
  const %t: i64[4] = [0, 3, 2, 3]
  %a: f32[n, 3, 4] = Reshape(%x, %s)
  %p: f32[n, 3, 6] = MatMul(%a, %w)
  %r: f32[6] = Relu(%b)
  %q: f32[n, 3, 6] = Add(%p, %r)
  %y: f32[n, 3, 2, 3] = Reshape(%q, %t)
  return %y
}
)"),
            R"(graph(%x: f32[n, 12], %b: f32[6]) {
  const %w: f32[4, 6] = data("w", 0)
  const %0: i64[2]=(-1, 4) = [-1, 4]
  const %1: i64[4]=(-1, 3, 2, 3) = [-1, 3, 2, 3]
  %2: f32[3*n, 4] = Reshape(%x, %0)
  %r: f32[6] = Relu(%b)
  %3: f32[3*n, 6] = Gemm(%2, %w, %r)
  %y: f32[n, 3, 2, 3] = Reshape(%3, %1)
  return %y
}
)");
}

TEST(MergeLayouts, AxesOfOneAreNotMade) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[5, 2, 12]) {
  const %s: i64[5] = [1, 5, 2, 3, 4]
  const %axes: i64[1] = [3]
  %a: f32[1, 5, 2, 3, 4] = Reshape(%x, %s)
  %t: f32[3, 5, 2, 1, 4] = Transpose(%a, perm=[3, 1, 2, 0, 4])
  %y: f32[3, 5, 2, 4] = Squeeze(%t, %axes)
  return %y
}
)"),
            R"(graph(%x: f32[5, 2, 12]) {
  const %0: i64[4]=(5, 2, 3, 4) = [5, 2, 3, 4]
  %1: f32[5, 2, 3, 4] = Reshape(%x, %0)
  %y: f32[3, 5, 2, 4] = Transpose(%1, perm=[2, 0, 1, 3])
  return %y
}
)");
}

TEST(FoldBatchNorm, ScalesWeightsAndKeepsNames) {
  constexpr std::string_view kText = R"(graph(%x: f32[n, 1, 4]) {
  const %"conv.weight": f32[2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
  const %gamma: f32[2] = [1.0, 2.0]
  const %beta: f32[2] = [0.5, 0.0]
  const %mean: f32[2] = [0.0, 1.0]
  const %variance: f32[2] = [1.0, 1.0]
  %a: f32[n, 2, 3] = Conv(%x, %"conv.weight")
  %y: f32[n, 2, 3] = BatchNormalization(%a, %gamma, %beta, %mean, %variance, epsilon=0.0)
  return %y
}
)";
  EXPECT_EQ(Simplified(kText), R"(graph(%x: f32[n, 1, 4]) {
  const %conv.bias: f32[2] = [0.5, -2.0]
  const %conv.weight: f32[2, 1, 2] = [1.0, 2.0, 6.0, 8.0]
  %y: f32[n, 2, 3] = Conv(%x, %conv.weight, %conv.bias)
  return %y
}
)");
  // The bytes are to stay what they are in the archive.
  EXPECT_NE(After(kText, {&Simplify}, true).find("BatchNormalization"), std::string::npos);
}

// Pruned channels hardly vary: there epsilon is most of what is under the root.
TEST(FoldBatchNorm, EpsilonIsUnderTheRoot) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 1, 4]) {
  const %"conv.weight": f32[2, 1, 2] = [1.0, 2.0, 3.0, 4.0]
  const %gamma: f32[2] = [1.0, 2.0]
  const %beta: f32[2] = [0.5, 0.0]
  const %mean: f32[2] = [1.0, 1.0]
  const %variance: f32[2] = [0.0, 0.75]
  %a: f32[n, 2, 3] = Conv(%x, %"conv.weight")
  %y: f32[n, 2, 3] = BatchNormalization(%a, %gamma, %beta, %mean, %variance, epsilon=0.25)
  return %y
}
)"),
            R"(graph(%x: f32[n, 1, 4]) {
  const %conv.bias: f32[2] = [-1.5, -2.0]
  const %conv.weight: f32[2, 1, 2] = [2.0, 4.0, 6.0, 8.0]
  %y: f32[n, 2, 3] = Conv(%x, %conv.weight, %conv.bias)
  return %y
}
)");
}

TEST(MergeClips, ReluAndClips) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 4]) {
  const %one: f32[] = [1.0]
  const %two: f32[] = [2.0]
  const %six: f32[] = [6.0]
  %a: f32[n, 4] = Relu(%x)
  %b: f32[n, 4] = Clip(%a, _, %six)
  %c: f32[n, 4] = Clip(%b, %one)
  %d: f32[n, 4] = Clip(%c, _, %two)
  %e: f32[n, 4] = Exp(%x)
  %f: f32[n, 4] = Relu(%e)
  %g: f32[n, 4] = Clip(%f, _, %six)
  %h: f32[n, 4] = Clip(%x, %one)
  %i: f32[n, 4] = Clip(%h, %two)
  return %d, %g, %i
}
)"),
            R"(graph(%x: f32[n, 4]) {
  const %one: f32[] = [1.0]
  const %two: f32[] = [2.0]
  const %six: f32[] = [6.0]
  const %0: f32[] = [0.0]
  %d: f32[n, 4] = Clip(%x, %one, %two)
  %e: f32[n, 4] = Exp(%x)
  %g: f32[n, 4] = Clip(%e, %0, %six)
  %i: f32[n, 4] = Clip(%x, %two)
  return %d, %g, %i
}
)");
}

TEST(MergeClips, RangesWithoutCommonNumbersAndReversedOnes) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4], %k: i64[4]) {
  const %low: f32[] = [-2.0]
  const %high: f32[] = [-1.0]
  const %three: i64[] = [3]
  const %five: i64[] = [5]
  %a: f32[4] = Relu(%x)
  %b: f32[4] = Clip(%a, %low, %high)
  %c: i64[4] = Clip(%k, %five, %three)
  %d: i64[4] = Clip(%c, %five)
  return %b, %d
}
)"),
            R"(graph(%x: f32[4], %k: i64[4]) {
  const %high: f32[] = [-1.0]
  const %five: i64[] = [5]
  %b: f32[4] = Clip(%x, %high, %high)
  %d: i64[4] = Clip(%k, %five, %five)
  return %b, %d
}
)");
}

TEST(MergeClips, WhatOthersUseOrOnlyRunTimeKnowsStays) {
  constexpr std::string_view kText = R"(graph(%x: f32[4], %m: f32[]) {
  const %nan: f32[] = hex 0000c07f
  const %one: f32[] = [1.0]
  %a: f32[4] = Relu(%x)
  %b: f32[4] = Clip(%a, _, %one)
  %c: f32[4] = Clip(%x, _, %m)
  %d: f32[4] = Clip(%c, _, %one)
  %e: f32[4] = Relu(%d)
  %f: f32[4] = Clip(%e, _, %nan)
  return %a, %b, %f
}
)";
  EXPECT_EQ(Simplified(kText), kText);
}

TEST(Simplify, LongChainsTakeOneVisitANode) {
  std::string text = "graph(%x: f32[4]) {\n  %v0: f32[4] = Relu(%x)\n";
  constexpr int kCount = 20'000;
  for (int i = 0; i < kCount; ++i)
    text += "  %v" + std::to_string(i + 1) + ": f32[4] = Identity(%v" + std::to_string(i) + ")\n";
  text += "  return %v" + std::to_string(kCount) + "\n}\n";
  EXPECT_EQ(Simplified(text), "graph(%x: f32[4]) {\n  %v20000: f32[4] = Relu(%x)\n  return %v20000\n}\n");
}

TEST(FoldConstants, ViewsAndElements) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[3, 2]) {
  const %w: f32[2, 3] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
  const %half: f32[] = [0.5]
  const %i: i64[2] = [-1, 0]
  const %start: i64[] = [0]
  const %end: i64[] = [6]
  const %step: i64[] = [2]
  %t: f32[3, 2] = Transpose(%w, perm=[1, 0])
  %h: f32[3, 2] = Mul(%t, %half)
  %g: f32[2, 2] = Gather(%h, %i, axis=0)
  %y: f32[3, 2] = MatMul(%x, %g)
  %r: i64[3] = Range(%start, %end, %step)
  %c: f32[3] = Cast(%r, to=1)
  return %y, %c
}
)"),
            R"(graph(%x: f32[3, 2]) {
  const %0: f32[2, 2] = [1.5, 3.0, 0.5, 2.0]
  const %1: f32[3] = [0.0, 2.0, 4.0]
  %y: f32[3, 2] = MatMul(%x, %0)
  %c: f32[3] = Identity(%1)
  return %y, %c
}
)");
}

TEST(FoldConstants, DivisionByZeroIsTheRuntimes) {
  EXPECT_EQ(Simplified(R"(graph() {
  const %a: i32[2] = [7, 8]
  const %b: i32[2] = [0, 2]
  %y: i32[2] = Div(%a, %b)
  return %y
}
)"),
            R"(graph() {
  const %a: i32[2] = [7, 8]
  const %b: i32[2] = [0, 2]
  %y: i32[2] = Div(%a, %b)
  return %y
}
)");
}

}  // namespace
}  // namespace flambeau
