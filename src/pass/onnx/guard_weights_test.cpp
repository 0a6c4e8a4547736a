#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Guarded(std::string_view text) { return After(text, {&GuardWeights}); }

TEST(GuardWeights, WeightsBetweenQuantizedTensorsStayAsTheyAre) {
  EXPECT_EQ(Guarded(R"(graph(%x: u8[4, 2], %w: f32[], %z: u8[]) {
  const %weight: f32[2, 2] = [1.0, 2.0, 3.0, 100.0]
  %y: f32[4, 2] = DequantizeLinear(%x, %w, %z)
  %t: f32[2, 4] = Transpose(%y, perm=[1, 0])
  %product: f32[4, 2] = Gemm(%t, %weight, transA=1)
  %cut: f32[4, 2] = Relu(%product)
  %q: u8[4, 2] = QuantizeLinear(%cut, %w, %z)
  return %q
}
)"),
            R"(graph(%x: u8[4, 2], %w: f32[], %z: u8[]) {
  const %weight: f32[2, 2] = [1.0, 2.0, 3.0, 100.0]
  %y: f32[4, 2] = DequantizeLinear(%x, %w, %z)
  %t: f32[2, 4] = Transpose(%y, perm=[1, 0])
  %product: f32[4, 2] = Gemm(%t, %weight, transA=1)
  %cut: f32[4, 2] = Relu(%product)
  %0: f32[4, 2] = Sum(%cut)
  %q: u8[4, 2] = QuantizeLinear(%0, %w, %z)
  return %q
}
)");
}

TEST(GuardWeights, SoDoThoseOfProductsWithABias) {
  EXPECT_EQ(Guarded(R"(graph(%x: u8[3, 4, 2], %w: f32[], %z: u8[], %bias: f32[2]) {
  const %weight: f32[2, 2] = [1.0, 2.0, 3.0, 100.0]
  %y: f32[3, 4, 2] = DequantizeLinear(%x, %w, %z)
  %product: f32[3, 4, 2] = MatMul(%y, %weight)
  %sum: f32[3, 4, 2] = Add(%bias, %product)
  %q: u8[3, 4, 2] = QuantizeLinear(%sum, %w, %z)
  return %q
}
)"),
            R"(graph(%x: u8[3, 4, 2], %w: f32[], %z: u8[], %bias: f32[2]) {
  const %weight: f32[2, 2] = [1.0, 2.0, 3.0, 100.0]
  %y: f32[3, 4, 2] = DequantizeLinear(%x, %w, %z)
  %product: f32[3, 4, 2] = MatMul(%y, %weight)
  %sum: f32[3, 4, 2] = Add(%bias, %product)
  %0: f32[3, 4, 2] = Sum(%sum)
  %q: u8[3, 4, 2] = QuantizeLinear(%0, %w, %z)
  return %q
}
)");
}

// onnxruntime leaves weights alone that are quantized, and products of which one side is not.
TEST(GuardWeights, OtherProductsStay) {
  for (const std::string_view text : {R"(graph(%x: u8[4, 2], %w: f32[], %z: u8[]) {
  const %weight: i8[2, 2] = [1, 2, 3, 100]
  %y: f32[4, 2] = DequantizeLinear(%x, %w, %z)
  %factors: f32[2, 2] = DequantizeLinear(%weight, %w)
  %product: f32[4, 2] = Gemm(%y, %factors)
  %q: u8[4, 2] = QuantizeLinear(%product, %w, %z)
  return %q
}
)",
                                      R"(graph(%x: f32[4, 2], %w: f32[], %z: u8[]) {
  const %weight: f32[2, 2] = [1.0, 2.0, 3.0, 100.0]
  %product: f32[4, 2] = Gemm(%x, %weight)
  %q: u8[4, 2] = QuantizeLinear(%product, %w, %z)
  return %q
}
)",
                                      R"(graph(%x: u8[4, 2], %w: f32[], %z: u8[]) {
  const %weight: f32[2, 2] = [1.0, 2.0, 3.0, 100.0]
  %y: f32[4, 2] = DequantizeLinear(%x, %w, %z)
  %product: f32[4, 2] = Gemm(%y, %weight)
  %soft: f32[4, 2] = Sigmoid(%product)
  %q: u8[4, 2] = QuantizeLinear(%soft, %w, %z)
  return %q
}
)"})
    EXPECT_EQ(Guarded(text), text);
}

}  // namespace
}  // namespace flambeau
