#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

TEST(DequantizeWeights, BytesThatAreCastAndScaled) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 64]) {
  const %w: f8e4m3fn[2, 64] = data("w", 0)
  const %s: f32[2, 1] = [0.5, 2.0]
  %f: f32[2, 64] = Cast(%w, to=1)
  %v: f32[2, 64] = Mul(%f, %s)
  %t: f32[64, 2] = Transpose(%v, perm=[1, 0])
  %y: f32[n, 2] = MatMul(%x, %t)
  return %y
}
)"),
            R"(graph(%x: f32[n, 64]) {
  const %w: f8e4m3fn[2, 64] = data("w", 0)
  const %s_view: f32[2] = [0.5, 2.0]
  %0: f32[2, 64] = DequantizeLinear(%w, %s_view, axis=0)
  %y: f32[n, 2] = Gemm(%x, %0, transB=1)
  return %y
}
)");
}

TEST(DequantizeWeights, ScalesOfTheProduct) {
  EXPECT_EQ(Simplified(R"(graph(%x: f32[n, 64]) {
  const %w: i8[2, 64] = data("w", 0)
  const %s: f32[2] = [0.5, 2.0]
  %t: i8[64, 2] = Transpose(%w, perm=[1, 0])
  %f: f32[64, 2] = Cast(%t, to=1)
  %p: f32[n, 2] = MatMul(%x, %f)
  %y: f32[n, 2] = Mul(%p, %s)
  return %y
}
)"),
            R"(graph(%x: f32[n, 64]) {
  const %w: i8[2, 64] = data("w", 0)
  const %s: f32[2] = [0.5, 2.0]
  %0: f32[2, 64] = DequantizeLinear(%w, %s, axis=0)
  %y: f32[n, 2] = Gemm(%x, %0, transB=1)
  return %y
}
)");
}

// Scales of rows of x, of what is used elsewhere, of both axes, that overflow, and of factors of more dimensions.
TEST(DequantizeWeights, OtherFactorsStay) {
  for (const std::string_view text : {R"(graph(%x: f32[3, 64]) {
  const %w: i8[64, 2] = data("w", 0)
  const %s: f32[3, 1] = [1.0, 2.0, 3.0]
  %f: f32[64, 2] = Cast(%w, to=1)
  %p: f32[3, 2] = MatMul(%x, %f)
  %y: f32[3, 2] = Mul(%p, %s)
  return %y
}
)",
                                      R"(graph(%x: f32[3, 64]) {
  const %w: i8[64, 2] = data("w", 0)
  const %s: f32[2] = [1.0, 2.0]
  %f: f32[64, 2] = Cast(%w, to=1)
  %p: f32[3, 2] = MatMul(%x, %f)
  %y: f32[3, 2] = Mul(%p, %s)
  return %y, %p
}
)",
                                      R"(graph(%x: f32[3, 2]) {
  const %w: i8[2, 2] = data("w", 0)
  const %s: f32[2, 2] = [1.0, 2.0, 3.0, 4.0]
  %f: f32[2, 2] = Cast(%w, to=1)
  %v: f32[2, 2] = Mul(%f, %s)
  %y: f32[3, 2] = MatMul(%x, %v)
  return %y
}
)",
                                      R"(graph(%x: f32[3, 64]) {
  const %w: i8[64, 2] = data("w", 0)
  const %s: f32[2] = [1.0, 1e+38]
  %f: f32[64, 2] = Cast(%w, to=1)
  %p: f32[3, 2] = MatMul(%x, %f)
  %y: f32[3, 2] = Mul(%p, %s)
  return %y
}
)",
                                      R"(graph(%x: f32[5, 3, 64]) {
  const %w: i8[64, 2] = data("w", 0)
  const %s: f32[2] = [1.0, 2.0]
  %f: f32[64, 2] = Cast(%w, to=1)
  %p: f32[5, 3, 2] = MatMul(%x, %f)
  %y: f32[5, 3, 2] = Mul(%p, %s)
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
