#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Shared(std::string_view text) { return After(text, {&ShareConstants, &ShareNodes}); }

TEST(Share, EqualConstantsAndNodes) {
  EXPECT_EQ(Shared(R"(graph(%x: f32[4]) {
  const %0: f32[] = [2.0]
  const %1: f32[] = [2.0]
  const %parameter: f32[] = [2.0]
  %a: f32[4] = Mul(%x, %0)
  %b: f32[4] = Mul(%x, %1)
  %p: f32[4] = Mul(%x, %parameter)
  %c: f32[4] = Add(%a, %b)
  %d: f32[4] = RandomNormalLike(%c)
  %e: f32[4] = RandomNormalLike(%c)
  %f: f32[4] = Sub(%d, %e)
  return %f, %p
}
)"),
            R"(graph(%x: f32[4]) {
  const %0: f32[] = [2.0]
  const %parameter: f32[] = [2.0]
  %a: f32[4] = Mul(%x, %0)
  %p: f32[4] = Mul(%x, %parameter)
  %c: f32[4] = Add(%a, %a)
  %d: f32[4] = RandomNormalLike(%c)
  %e: f32[4] = RandomNormalLike(%c)
  %f: f32[4] = Sub(%d, %e)
  return %f, %p
}
)");
}

TEST(Share, EmptySequencesOfSeveralTypesStayApart) {
  const std::string text = R"(graph(%x: f32[4], %y: f32[5]) {
  %0: seq(f32[4]) = SequenceEmpty(dtype=1)
  %1: seq(f32[5]) = SequenceEmpty(dtype=1)
  %2: seq(f32[4]) = SequenceInsert(%0, %x)
  %3: seq(f32[5]) = SequenceInsert(%1, %y)
  return %2, %3
}
)";
  EXPECT_EQ(Shared(text), text);
}

TEST(Share, OutputsKeepNames) {
  EXPECT_EQ(Shared(R"(graph(%x: f32[4]) {
  %y: f32[4] = Relu(%x)
  %z: f32[4] = Relu(%x)
  return %y, %z
}
)"),
            R"(graph(%x: f32[4]) {
  %y: f32[4] = Relu(%x)
  %z: f32[4] = Identity(%y)
  return %y, %z
}
)");
}

TEST(Share, BodiesSeeWhatIsBeforeThem) {
  EXPECT_EQ(Shared(R"(graph(%c: bool[], %x: f32[4]) {
  %a: f32[4] = Relu(%x)
  %y: f32[4] = If(%c, then_branch=() {
    %b: f32[4] = Relu(%x)
    %n: f32[4] = Neg(%b)
    return %n
  }, else_branch=() {
    %d: f32[4] = Exp(%x)
    %n2: f32[4] = Neg(%d)
    return %n2
  })
  %e: f32[4] = Exp(%x)
  %z: f32[4] = Add(%e, %y)
  return %z, %a
}
)"),
            R"(graph(%c: bool[], %x: f32[4]) {
  %a: f32[4] = Relu(%x)
  %y: f32[4] = If(%c, then_branch=() {
    %n: f32[4] = Neg(%a)
    return %n
  }, else_branch=() {
    %d: f32[4] = Exp(%x)
    %n2: f32[4] = Neg(%d)
    return %n2
  })
  %e: f32[4] = Exp(%x)
  %z: f32[4] = Add(%e, %y)
  return %z, %a
}
)");
}

}  // namespace
}  // namespace flambeau
