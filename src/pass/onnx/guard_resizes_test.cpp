#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Guarded(std::string_view text) { return After(text, {&GuardResizes}); }

TEST(GuardResizes, ChannelsBecomeImagesBehindATranspose) {
  EXPECT_EQ(Guarded(R"(graph(%x: f32[n, 8, 8, 3]) {
  const %sizes: i64[2]=(4, 4) = [4, 4]
  %t: f32[n, 3, 8, 8] = Transpose(%x, perm=[0, 3, 1, 2])
  %r: f32[n, 3, 8, 8] = Relu(%t)
  %y: f32[n, 3, 4, 4] = Resize(%r, _, _, %sizes, axes=[2, 3], mode="linear")
  return %y
}
)"),
            R"(graph(%x: f32[n, 8, 8, 3]) {
  const %sizes: i64[2]=(4, 4) = [4, 4]
  const %0: i64[4]=(-1, 1, 0, 0) = [-1, 1, 0, 0]
  const %1: i64[4]=(-1, 3, 0, 0) = [-1, 3, 0, 0]
  %t: f32[n, 3, 8, 8] = Transpose(%x, perm=[0, 3, 1, 2])
  %r: f32[n, 3, 8, 8] = Relu(%t)
  %2: f32[3*n, 1, 8, 8] = Reshape(%r, %0)
  %3: f32[3*n, 1, 4, 4] = Resize(%2, _, _, %sizes, axes=[2, 3], mode="linear")
  %y: f32[n, 3, 4, 4] = Reshape(%3, %1)
  return %y
}
)");
}

TEST(GuardResizes, OthersStay) {
  // behind a convolution; without axes; of three dimensions
  const std::string_view text = R"(graph(%x: f32[n, 8, 8, 3], %w: f32[3, 3, 1, 1], %s: f32[n, 8, 3]) {
  const %sizes: i64[2]=(4, 4) = [4, 4]
  const %all: i64[4]=(n, 3, 4, 4) = [2, 3, 4, 4]
  const %one: i64[1]=(4) = [4]
  %t: f32[n, 3, 8, 8] = Transpose(%x, perm=[0, 3, 1, 2])
  %c: f32[n, 3, 8, 8] = Conv(%t, %w)
  %y: f32[n, 3, 4, 4] = Resize(%c, _, _, %sizes, axes=[2, 3], mode="linear")
  %z: f32[n, 3, 4, 4] = Resize(%t, _, _, %all, mode="linear")
  %u: f32[n, 3, 8] = Transpose(%s, perm=[0, 2, 1])
  %v: f32[n, 3, 4] = Resize(%u, _, _, %one, axes=[2], mode="linear")
  return %y, %z, %v
}
)";
  EXPECT_EQ(Guarded(text), text);
}

}  // namespace
}  // namespace flambeau
