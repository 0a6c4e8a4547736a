#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Guarded(std::string_view text) { return After(text, {&GuardProducts}); }

TEST(GuardProducts, SumsOverNothingAreZeros) {
  EXPECT_EQ(Guarded(R"(symbol u0 in [0, oo]
graph(%x: f32[2, 3, u0], %y: f32[2, u0, 4]) {
  %z: f32[2, 3, 4] = MatMul(%x, %y)
  return %z
}
)"),
            R"(symbol u0 in [0, oo]
graph(%x: f32[2, 3, u0], %y: f32[2, u0, 4]) {
  const %0: i64[1]=(2) = [2]
  const %1: i64[1]=(0) = [0]
  const %2: f32[1] = [0.0]
  %3: f32[2, 3, 4] = MatMul(%x, %y)
  %4: i64[3]=(2, 3, u0) = Shape(%x)
  %5: i64[1]=(u0) = Gather(%4, %0)
  %6: bool[1]=(Eq(0, u0)) = Equal(%5, %1)
  %z: f32[2, 3, 4] = Where(%6, %2, %3)
  return %z
}
)");
}

TEST(GuardProducts, TranspositionsThatMoveTheBatchStayApart) {
  EXPECT_EQ(Guarded(R"(symbol u0 in [0, oo]
graph(%x: f32[u0, 2, 3], %y: f32[2, 3, 4]) {
  %t: f32[2, u0, 3] = Transpose(%x, perm=[1, 0, 2])
  %z: f32[2, u0, 4] = MatMul(%t, %y)
  return %z
}
)"),
            R"(symbol u0 in [0, oo]
graph(%x: f32[u0, 2, 3], %y: f32[2, 3, 4]) {
  const %0: i64[3]=(0, 0, 0) = [0, 0, 0]
  %t: f32[2, u0, 3] = Transpose(%x, perm=[1, 0, 2])
  %1: f32[2, u0, 3] = Reshape(%t, %0)
  %z: f32[2, u0, 4] = MatMul(%1, %y)
  return %z
}
)");
}

// Dimensions of inputs are seldom 0, and matrices without a batch are summed right.
TEST(GuardProducts, OtherProductsStay) {
  for (const std::string_view text : {R"(symbol u0 in [0, oo]
graph(%x: f32[3, u0], %y: f32[u0, 4]) {
  %z: f32[3, 4] = MatMul(%x, %y)
  return %z
}
)",
                                      R"(graph(%x: f32[2, 3, n], %y: f32[2, n, 4]) {
  %z: f32[2, 3, 4] = MatMul(%x, %y)
  return %z
}
)",
                                      R"(symbol u0 in [1, oo]
graph(%x: f32[2, 3, u0], %y: f32[2, u0, 4]) {
  %z: f32[2, 3, 4] = MatMul(%x, %y)
  return %z
}
)"})
    EXPECT_EQ(Guarded(text), text);
}

}  // namespace
}  // namespace flambeau
