#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

TEST(DropNoOps, ChainsOfNothingGo) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 4]) {
  %a: f32[n, 4] = Identity(%x)
  %b: f32[n, 4] = Dropout(%a)
  %c: f64[n, 4] = Cast(%b, to=11)
  %d: f32[n, 4] = Cast(%c, to=1)
  %e: f32[4, n] = Transpose(%d, perm=[1, 0])
  %f: f32[n, 4] = Transpose(%e, perm=[1, 0])
  %y: f32[n, 4] = Relu(%f)
  return %y
}
)"),
            R"(graph(%x: f32[n, 4]) {
  %y: f32[n, 4] = Relu(%x)
  return %y
}
)");
}

TEST(DropNoOps, CastsThatLoseStay) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4]) {
  %a: f16[4] = Cast(%x, to=10)
  %b: f32[4] = Cast(%a, to=1)
  %y: f64[4] = Cast(%b, to=11)
  return %y
}
)"),
            R"(graph(%x: f32[4]) {
  %a: f16[4] = Cast(%x, to=10)
  %y: f64[4] = Cast(%a, to=11)
  return %y
}
)");
}

TEST(DropNoOps, CastsAroundWhatMovesNothingGo) {
  EXPECT_EQ(Simplified(R"(graph(%x: i64[1], %y: i64[1]) {
  const %axes: i64[1] = [0]
  %a: bool[1] = Less(%x, %y)
  %b: i64[1] = Cast(%a, to=7)
  %c: i64[] = Squeeze(%b, %axes)
  %z: bool[] = Cast(%c, to=9)
  return %z
}
)"),
            R"(graph(%x: i64[1], %y: i64[1]) {
  const %axes: i64[1] = [0]
  %a: bool[1] = Less(%x, %y)
  %z: bool[] = Squeeze(%a, %axes)
  return %z
}
)");
}

TEST(DropNoOps, OutputsKeepNames) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4]) {
  %a: f32[4] = Relu(%x)
  %y: f32[4] = Identity(%a)
  %z: f32[4] = Identity(%x)
  %w: f32[4] = Identity(%a)
  %v: f32[4] = Relu(%w)
  return %y, %z, %w, %v
}
)"),
            R"(graph(%x: f32[4]) {
  %y: f32[4] = Relu(%x)
  %z: f32[4] = Identity(%x)
  %w: f32[4] = Identity(%y)
  %v: f32[4] = Relu(%y)
  return %y, %z, %w, %v
}
)");
}

TEST(DropNoOps, ChoicesThatAreMade) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4], %y: f32[4], %z: f32[1]) {
  const %yes: bool[] = [True]
  const %no: bool[2, 1] = [False, False]
  const %mixed: bool[4] = [False, True, False, False]
  %a: f32[4] = Where(%yes, %x, %y)
  %b: f32[2, 4] = Where(%no, %x, %y)
  %c: f32[4] = Where(%yes, %z, %y)
  %d: f32[4] = Where(%mixed, %a, %y)
  return %b, %c, %d
}
)"),
            R"(graph(%x: f32[4], %y: f32[4], %z: f32[1]) {
  const %yes: bool[] = [True]
  const %no: bool[2, 1] = [False, False]
  const %mixed: bool[4] = [False, True, False, False]
  %b: f32[2, 4] = Where(%no, %x, %y)
  %c: f32[4] = Where(%yes, %z, %y)
  %d: f32[4] = Where(%mixed, %x, %y)
  return %b, %c, %d
}
)");
}

TEST(DropNoOps, NeutralElements) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4], %k: i64[3]) {
  const %one: f32[] = [1.0]
  const %zero: f32[] = [0.0]
  const %wide: f32[2, 1] = [1.0, 1.0]
  const %none: i64[] = [0]
  %a: f32[4] = Mul(%one, %x)
  %b: f32[4] = Div(%a, %one)
  %c: f32[4] = Add(%b, %zero)
  %d: f32[2, 4] = Mul(%c, %wide)
  %e: i64[3] = Add(%k, %none)
  return %d, %e
}
)"),
            R"(graph(%x: f32[4], %k: i64[3]) {
  const %zero: f32[] = [0.0]
  const %wide: f32[2, 1] = [1.0, 1.0]
  %c: f32[4] = Add(%x, %zero)
  %d: f32[2, 4] = Mul(%c, %wide)
  %e: i64[3] = Identity(%k)
  return %d, %e
}
)");
}

TEST(DropNoOps, ReversedSliceStays) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[4]) {
  const %zero: i64[1] = [0]
  const %last: i64[1] = [-1]
  const %end: i64[1] = [-9223372036854775807]
  const %all: i64[1] = [9223372036854775807]
  %a: f32[4] = Slice(%x, %last, %end, %zero, %last)
  %y: f32[4] = Slice(%a, %zero, %all, %zero)
  return %y
}
)"),
            R"(graph(%x: f32[4]) {
  const %zero: i64[1] = [0]
  const %last: i64[1] = [-1]
  const %end: i64[1] = [-9223372036854775807]
  %y: f32[4] = Slice(%x, %last, %end, %zero, %last)
  return %y
}
)");
}

}  // namespace
}  // namespace flambeau
