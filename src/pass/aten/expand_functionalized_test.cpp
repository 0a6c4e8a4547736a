#include "aten/declarations.h"
#include "pass/aten/pass_testing.h"
#include "pass/aten/passes.h"

namespace flambeau {
namespace {

constexpr std::string_view kInto = "expand_test::into(Tensor(a!) out, Tensor x, float by=1.) -> Tensor";

std::string Expanded(std::string_view text) {
  aten::Declarations declared;
  const aten::DeclarationScope scope(declared);
  EXPECT_TRUE(declared.Declare(kInto));
  EXPECT_TRUE(declared.Declare("expand_test::all(Tensor(a!)[] xs, Tensor(b!)? y=None) -> ()"));
  const auto outcome = RunOn(text, {&ExpandFunctionalized});
  return outcome->text + outcome->diagnostics;
}

TEST(ExpandFunctionalized, PartsOfBasesAreViewsOfCopies) {
  EXPECT_EQ(Expanded(R"(graph(%x: f32[3], %table: f32[2, 3]) {
  %fresh: f32[3], %now: f32[2, 3] = higher_order::auto_functionalized_v2(arg0="torch.ops.expand_test.into.default", x=%x, by=2.0, _out_base_index=0, _out_size=[3], _out_stride=[1], _out_storage_offset=3, _all_bases=[%table])
  return %fresh, %now
}
)"),
            R"(graph(%x: f32[3], %table: f32[2, 3]) {
  %now: f32[2, 3] = aten::clone(self=%table, memory_format=None)
  %0: f32[3] = aten::as_strided(self=%now, size=[3], stride=[1], storage_offset=3)
  %fresh: f32[3] = expand_test::into(out=%0, x=%x, by=2.0)
  return %fresh, %now
}
)");
}

TEST(ExpandFunctionalized, ListsSlicesAndAbsentArguments) {
  EXPECT_EQ(Expanded(R"(graph(%a: f32[4, 3], %b: f32[2]) {
  %none: none, %c: f32[4, 3], %d: f32[2] = higher_order::auto_functionalized_v2(arg0="expand_test::all", _xs_length=2, _xs_0_base_index=0, _xs_0_slice_dim=0, _xs_0_slice_start=1, _xs_0_slice_end=3, _xs_1_base_index=1, _y_base_index=None, _all_bases=[%a, %b])
  return %c, %d
}
)"),
            R"(graph(%a: f32[4, 3], %b: f32[2]) {
  %c: f32[4, 3] = aten::clone(self=%a, memory_format=None)
  %d: f32[2] = aten::clone(self=%b, memory_format=None)
  %0: f32[2, 3] = aten::slice.Tensor(self=%c, dim=0, start=1, end=3, step=1)
  expand_test::all(xs=[%0, %d], y=None)
  return %c, %d
}
)");
}

TEST(ExpandFunctionalized, TheOlderFormNamesTheArgumentsThemselves) {
  EXPECT_EQ(Expanded(R"(graph(%x: f32[3], %o: f32[3]) {
  %fresh: f32[3], %now: f32[3] = higher_order::auto_functionalized(arg0="torch.ops.expand_test.into.default", out=%o, x=%x)
  return %fresh, %now
}
)"),
            R"(graph(%x: f32[3], %o: f32[3]) {
  %now: f32[3] = aten::clone(self=%o, memory_format=None)
  %fresh: f32[3] = expand_test::into(out=%now, x=%x, by=1.0)
  return %fresh, %now
}
)");
}

TEST(ExpandFunctionalized, WhatIsMissingIsSaid) {
  EXPECT_EQ(Expanded(R"(graph(%x: f32[3]) {
  %none: none, %now: f32[3] = higher_order::auto_functionalized_v2(arg0="torch.ops.expand_test.unknown.default", _x_base_index=0, _all_bases=[%x])
  return %now
}
)"),
            "missing-information: expand_test::unknown writes to an argument, and its schema, which says to which, is not known\n");
  constexpr std::string_view kMalformed = "bad-program: its arguments are not those that its schema and what wraps it ask for\n";
  for (const std::string_view arguments : {"_xs_length=2, _xs_0_base_index=0, _y_base_index=None, _all_bases=[%x]", "_xs_length=1, _xs_0_base_index=7, _y_base_index=None, _all_bases=[%x]",
                                           "_xs_length=1, _xs_0_base_index=0, _xs_0_slice_dim=9, _xs_0_slice_start=0, _xs_0_slice_end=1, _y_base_index=None, _all_bases=[%x]", "_y_base_index=0"})
    EXPECT_EQ(Expanded("graph(%x: f32[3]) {\n  %none: none, %now: f32[3] = higher_order::auto_functionalized_v2(arg0=\"expand_test::all\", " + std::string(arguments) + ")\n  return %now\n}\n"), kMalformed)
        << arguments;
}

TEST(Functionalize, AUsersOperatorGivesWhatItWrites) {
  aten::Declarations declared;
  const aten::DeclarationScope scope(declared);
  EXPECT_TRUE(declared.Declare(kInto));
  const auto outcome = RunOn(R"(graph(%x: f32[3], %t: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%t)
  %v: f32[3] = aten::select.int(self=%a, dim=0, index=1)
  %fresh: f32[3] = expand_test::into(out=%v, x=%x, by=2.0)
  %y: f32[2, 3] = aten::neg(self=%a)
  return %fresh, %y
}
)", {&Functionalize});
  EXPECT_EQ(outcome->text + outcome->diagnostics, R"(graph(%x: f32[3], %t: f32[2, 3]) {
  %a: f32[2, 3] = aten::relu(self=%t)
  %v: f32[3] = aten::select.int(self=%a, dim=0, index=1)
  %fresh: f32[3], %0: f32[3] = expand_test::into.functionalized(out=%v, x=%x, by=2.0)
  %1: f32[2, 3] = aten::select_scatter(self=%a, src=%0, dim=0, index=1)
  %y: f32[2, 3] = aten::neg(self=%1)
  return %fresh, %y
}
)");
}

TEST(Functionalize, WhatIsNotGivenKeepsItsPlaceAmongTheResults) {
  aten::Declarations declared;
  const aten::DeclarationScope scope(declared);
  EXPECT_TRUE(declared.Declare("expand_test::either(Tensor x, Tensor(a!)? a=None, Tensor(b!)? b=None) -> ()"));
  const auto outcome = RunOn(R"(graph(%x: f32[3], %a: f32[3], %b: f32[2]) {
  %t: f32[3] = aten::relu(self=%a)
  %u: f32[2] = aten::relu(self=%b)
  expand_test::either(x=%x, a=%t, b=None)
  expand_test::either(x=%x, a=None, b=%u)
  expand_test::either(x=%x, a=None, b=None)
  return %t, %u
}
)", {&Functionalize});
  EXPECT_EQ(outcome->text + outcome->diagnostics, R"(graph(%x: f32[3], %a: f32[3], %b: f32[2]) {
  %t: f32[3] = aten::relu(self=%a)
  %u: f32[2] = aten::relu(self=%b)
  %0: f32[3], %1: none = expand_test::either.functionalized(x=%x, a=%t, b=None)
  %2: none, %3: f32[2] = expand_test::either.functionalized(x=%x, a=None, b=%u)
  expand_test::either(x=%x, a=None, b=None)
  return %0, %3
}
)");
}

TEST(Functionalize, AnOperatorThatReturnsNothingWritesSomewhere) {
  const auto outcome = RunOn("graph(%x: f32[3]) {\n  expand_test::unknown(arg0=%x)\n  return %x\n}\n", {&Functionalize});
  EXPECT_EQ(outcome->diagnostics, "missing-information: expand_test::unknown writes to an argument, and its schema, which says to which, is not known\n");
}

}  // namespace
}  // namespace flambeau
