#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Hidden(std::string_view text) { return After(text, {&HideSizes}); }

TEST(HideSizes, OfWhatIsEmptyOnAPath) {
  EXPECT_EQ(Hidden(R"(graph(%x: f32[n, 3], %p: bool[], %shape: i64[2]) {
  %none: f32[0, 3] = ConstantOfShape(%shape)
  %y: f32[n, 3], %z: f32[n, 3] = If(%p, then_branch=() {
    %a: f32[0, 3] = Identity(%none)
    %b: f32[n, 3] = Neg(%x)
    return %a, %b
  }, else_branch=() {
    %c: f32[n, 3] = Relu(%x)
    %d: f32[n, 3] = Exp(%x)
    return %c, %d
  })
  %copy: f32[n, 3] = Identity(%y)
  %e: f32[n, 3] = Add(%x, %z)
  %f: f32[n, 3] = Add(%e, %copy)
  return %f
}
)"),
            R"(graph(%x: f32[n, 3], %p: bool[], %shape: i64[2]) {
  %none: f32[0, 3] = ConstantOfShape(%shape)
  %y: f32[?0, 3], %z: f32[n, 3] = If(%p, then_branch=() {
    %a: f32[0, 3] = Identity(%none)
    %b: f32[n, 3] = Neg(%x)
    return %a, %b
  }, else_branch=() {
    %c: f32[n, 3] = Relu(%x)
    %d: f32[n, 3] = Exp(%x)
    return %c, %d
  })
  %copy: f32[?1, 3] = Identity(%y)
  %e: f32[n, 3] = Add(%x, %z)
  %f: f32[n, 3] = Add(%e, %copy)
  return %f
}
)");
}

TEST(HideSizes, OfWhatALoopBeginsWith) {
  EXPECT_EQ(Hidden(R"(graph(%x: f32[n, 3], %count: i64[], %go: bool[], %shape: i64[2]) {
  %none: f32[0, 3] = ConstantOfShape(%shape)
  %y: f32[n, 3], %z: f32[n, 3] = Loop(%count, %go, %none, %x, body=(%i: i64[], %on: bool[], %s: f32[n, 3], %t: f32[n, 3]) {
    %a: f32[n, 3] = Neg(%x)
    return %on, %a, %t
  })
  %e: f32[n, 3] = Add(%y, %z)
  return %e
}
)"),
            R"(graph(%x: f32[n, 3], %count: i64[], %go: bool[], %shape: i64[2]) {
  %none: f32[0, 3] = ConstantOfShape(%shape)
  %y: f32[?0, 3], %z: f32[n, 3] = Loop(%count, %go, %none, %x, body=(%i: i64[], %on: bool[], %s: f32[?1, 3], %t: f32[n, 3]) {
    %a: f32[n, 3] = Neg(%x)
    return %on, %a, %t
  })
  %e: f32[n, 3] = Add(%y, %z)
  return %e
}
)");
}

TEST(HideSizes, NotOfOutputs) {
  const std::string_view text = R"(graph(%x: f32[n, 3], %p: bool[], %shape: i64[2]) {
  %none: f32[0, 3] = ConstantOfShape(%shape)
  %y: f32[n, 3] = If(%p, then_branch=() {
    %a: f32[0, 3] = Identity(%none)
    return %a
  }, else_branch=() {
    %c: f32[n, 3] = Relu(%x)
    return %c
  })
  return %y
}
)";
  EXPECT_EQ(Hidden(text), text);
}

}  // namespace
}  // namespace flambeau
