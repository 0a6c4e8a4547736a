#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

TEST(DequantizeWeights, BytesThatAreCastAndScaled) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 64]) {
  const %w: f8e4m3fn[128, 64] = data("w", 0)
  const %s: f32[128, 1] = data("s", 0)
  %f: f32[128, 64] = Cast(%w, to=1)
  %v: f32[128, 64] = Mul(%f, %s)
  %t: f32[64, 128] = Transpose(%v, perm=[1, 0])
  %y: f32[n, 128] = MatMul(%x, %t)
  return %y
}
)"),
            R"(graph(%x: f32[n, 64]) {
  const %w: f8e4m3fn[128, 64] = data("w", 0)
  const %s_view: f32[128] = data("s", 0)
  %0: f32[128, 64] = DequantizeLinear(%w, %s_view, axis=0)
  %y: f32[n, 128] = Gemm(%x, %0, transB=1)
  return %y
}
)");
}

TEST(DequantizeWeights, ScalesOfTheProduct) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 64]) {
  const %w: i8[128, 64] = data("w", 0)
  const %s: f32[128] = data("s", 0)
  %t: i8[64, 128] = Transpose(%w, perm=[1, 0])
  %f: f32[64, 128] = Cast(%t, to=1)
  %p: f32[n, 128] = MatMul(%x, %f)
  %y: f32[n, 128] = Mul(%p, %s)
  return %y
}
)"),
            R"(graph(%x: f32[n, 64]) {
  const %w: i8[128, 64] = data("w", 0)
  const %s: f32[128] = data("s", 0)
  %0: f32[128, 64] = DequantizeLinear(%w, %s, axis=0)
  %y: f32[n, 128] = Gemm(%x, %0, transB=1)
  return %y
}
)");
}

// Scales of rows of x, of what is used elsewhere, and of both axes are no grid of the weight.
TEST(DequantizeWeights, OtherFactorsStay) {
  for (const std::string_view text : {R"(graph(%x: f32[5, 64]) {
  const %w: i8[64, 128] = data("w", 0)
  const %s: f32[5, 1] = data("s", 0)
  %f: f32[64, 128] = Cast(%w, to=1)
  %p: f32[5, 128] = MatMul(%x, %f)
  %y: f32[5, 128] = Mul(%p, %s)
  return %y
}
)",
                                      R"(graph(%x: f32[5, 64]) {
  const %w: i8[64, 128] = data("w", 0)
  const %s: f32[128] = data("s", 0)
  %f: f32[64, 128] = Cast(%w, to=1)
  %p: f32[5, 128] = MatMul(%x, %f)
  %y: f32[5, 128] = Mul(%p, %s)
  return %y, %p
}
)",
                                      R"(graph(%x: f32[5, 64]) {
  const %w: i8[64, 128] = data("w", 0)
  const %s: f32[64, 128] = data("s", 0)
  %f: f32[64, 128] = Cast(%w, to=1)
  %v: f32[64, 128] = Mul(%f, %s)
  %y: f32[5, 128] = MatMul(%x, %v)
  return %y
}
)"})
    EXPECT_EQ(Simplified(text), text);
}

TEST(DequantizeWeights, ZeroPointsOfZero) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 4]) {
  const %w: i8[4, 4] = data("w", 0)
  const %s: f32[] = data("s", 0)
  const %z: i8[] = [0]
  %v: f32[4, 4] = DequantizeLinear(%w, %s, %z)
  %y: f32[n, 4] = MatMul(%x, %v)
  return %y
}
)"),
            R"(graph(%x: f32[n, 4]) {
  const %w: i8[4, 4] = data("w", 0)
  const %s: f32[] = data("s", 0)
  %0: f32[4, 4] = DequantizeLinear(%w, %s)
  %y: f32[n, 4] = MatMul(%x, %0)
  return %y
}
)");
}

}  // namespace
}  // namespace flambeau
