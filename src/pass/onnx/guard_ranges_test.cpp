#include "pass/onnx/rewrite_testing.h"

namespace flambeau {
namespace {

std::string Guarded(std::string_view text) { return After(text, {&GuardRanges}); }

TEST(GuardRanges, PlacesThatCountDownAreNegated) {
  EXPECT_EQ(Guarded(R"(graph(%x: f32[2, n], %last: i64[]) {
  const %minus: i64[]=(-1) = [-1]
  %places: i64[m] = Range(%last, %minus, %minus)
  %y: f32[2, m] = Gather(%x, %places, axis=1)
  return %y
}
)"),
            R"(graph(%x: f32[2, n], %last: i64[]) {
  const %0: i64[]=(1) = [1]
  const %1: i64[]=(1) = [1]
  %2: i64[] = Neg(%last)
  %3: i64[?0] = Range(%2, %0, %1)
  %4: i64[m] = Neg(%3)
  %y: f32[2, m] = Gather(%x, %4, axis=1)
  return %y
}
)");
}

TEST(GuardRanges, PlacesFromTheFrontStay) {
  const std::string_view text = R"(graph(%x: f32[2, n], %size: i64[]=(n)) {
  const %zero: i64[]=(0) = [0]
  const %one: i64[]=(1) = [1]
  %places: i64[n] = Range(%zero, %size, %one)
  %y: f32[2, n] = Gather(%x, %places, axis=1)
  return %y
}
)";
  EXPECT_EQ(Guarded(text), text);
}

// Nothing else makes a Slice of a Range.
TEST(GuardRanges, OtherUsesStay) {
  const std::string_view text = R"(graph(%last: i64[]) {
  const %minus: i64[]=(-1) = [-1]
  %places: i64[m] = Range(%last, %minus, %minus)
  return %places
}
)";
  EXPECT_EQ(Guarded(text), text);
}

}  // namespace
}  // namespace flambeau
