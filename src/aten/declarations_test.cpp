#include "aten/declarations.h"

#include <gtest/gtest.h>

#include <utility>

#include "aten/pure_form.h"

namespace flambeau::aten {
namespace {

TEST(Declarations, MakeAnOperatorKnownInTheirScope) {
  Declarations declared;
  ASSERT_TRUE(declared.Declare("declared_test::one(Tensor(a!) x, float scale=1.5) -> Tensor"));
  EXPECT_EQ(FindSchema("declared_test::one"), nullptr);
  const DeclarationScope scope(declared);
  const Schema* schema = FindSchema("declared_test::one");
  ASSERT_NE(schema, nullptr);
  EXPECT_TRUE(schema->has_writes() && IsDeclared(*schema));
  EXPECT_EQ(std::get<double>(schema->arguments[1].default_value), 1.5);
}

TEST(Declarations, OfTwoProgramsDoNotMeet) {
  Declarations one, other;
  ASSERT_TRUE(one.Declare("declared_test::same(Tensor x) -> Tensor"));
  ASSERT_TRUE(other.Declare("declared_test::same(Tensor x, int k) -> Tensor"));
  const DeclarationScope around(one);
  {
    const DeclarationScope within(other);
    EXPECT_EQ(FindSchema("declared_test::same")->arguments.size(), 2u);
  }
  EXPECT_EQ(FindSchema("declared_test::same")->arguments.size(), 1u);
}

TEST(Declarations, TheLastTextWinsAndFormerOnesLive) {
  Declarations first;
  ASSERT_TRUE(first.Declare("declared_test::changed(Tensor x) -> Tensor"));
  const Schema* former = first.Find("declared_test::changed");
  Declarations declared = std::move(first);
  ASSERT_TRUE(declared.Declare("declared_test::changed(Tensor x, int k) -> Tensor"));
  EXPECT_EQ(declared.Find("declared_test::changed")->arguments.size(), 2u);
  EXPECT_EQ(former->arguments.size(), 1u);
  EXPECT_EQ(former->name, "declared_test::changed");
}

TEST(Declarations, RefuseTextsThatAreNone) {
  Declarations declared;
  EXPECT_FALSE(declared.Declare("declared_test::broken"));
  EXPECT_FALSE(declared.Declare(""));
  EXPECT_EQ(declared.Find("declared_test::broken"), nullptr);
}

TEST(Declarations, LeaveTheTablesAlone) {
  Declarations declared;
  EXPECT_FALSE(declared.Declare("aten::relu(Tensor self, int surprise) -> Tensor"));
  const DeclarationScope scope(declared);
  EXPECT_EQ(FindSchema("aten::relu")->arguments.size(), 1u);
}

TEST(Declarations, HoldThePureFormsOfTheirOperators) {
  Declarations declared;
  const DeclarationScope scope(declared);
  ASSERT_TRUE(declared.Declare("declared_test::into(Tensor(a!) out) -> ()"));
  ASSERT_TRUE(FindPureForm(*declared.Find("declared_test::into"), {}, 1));
  EXPECT_NE(declared.Find("declared_test::into.functionalized"), nullptr);
}

}  // namespace
}  // namespace flambeau::aten
