#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

constexpr std::string_view kBranches = R"(graph(%x: f32[n, 3], %z: f32[m, 3], %p: bool[]) {
  %y: f32[?0, 3], %w: f32[n, 3] = If(%p, then_branch=() {
    %a: f32[n, 3] = Neg(%x)
    %b: f32[n, 3] = Exp(%x)
    return %a, %b
  }, else_branch=() {
    %c: f32[m, 3] = Relu(%z)
    %d: f32[n, 3] = Neg(%x)
    return %c, %d
  })
  %e: f32[?0, 3] = Exp(%y)
  return %e, %w
}
)";

TEST(NameSizes, OfResultsThatBranchesMakeOtherwise) {
  const std::string named = After(kBranches, {&NameSizes}, false, 10);
  EXPECT_NE(named.find("%y: f32[either_0, 3], %w: f32[n, 3] = If"), std::string::npos) << named;
}

TEST(NameSizes, NotWhereShapesOfBothBranchesAreInferred) { EXPECT_EQ(After(kBranches, {&NameSizes}, false, 11), kBranches); }

}  // namespace
}  // namespace flambeau
