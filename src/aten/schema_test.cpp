#include "aten/schema.h"

#include <gtest/gtest.h>

namespace flambeau::aten {
namespace {

TEST(DeclareSchema, MakesAnOperatorKnown) {
  EXPECT_EQ(FindSchema("schema_test::declared"), nullptr);
  ASSERT_TRUE(DeclareSchema("schema_test::declared(Tensor(a!) x, float scale=1.5) -> Tensor"));
  const Schema* schema = FindSchema("schema_test::declared");
  ASSERT_NE(schema, nullptr);
  EXPECT_TRUE(schema->has_writes());
  EXPECT_EQ(std::get<double>(schema->arguments[1].default_value), 1.5);
}

TEST(DeclareSchema, TheLastTextWinsAndFormerOnesLive) {
  ASSERT_TRUE(DeclareSchema("schema_test::changed(Tensor x) -> Tensor"));
  const Schema* former = FindSchema("schema_test::changed");
  ASSERT_TRUE(DeclareSchema("schema_test::changed(Tensor x, int k) -> Tensor"));
  EXPECT_EQ(FindSchema("schema_test::changed")->arguments.size(), 2u);
  EXPECT_EQ(former->arguments.size(), 1u);
  EXPECT_EQ(former->name, "schema_test::changed");
}

TEST(DeclareSchema, RefusesTextsThatAreNone) {
  EXPECT_FALSE(DeclareSchema("schema_test::broken"));
  EXPECT_FALSE(DeclareSchema(""));
  EXPECT_EQ(FindSchema("schema_test::broken"), nullptr);
}

TEST(DeclareSchema, LeavesTheTablesAlone) {
  EXPECT_FALSE(DeclareSchema("aten::relu(Tensor self, int surprise) -> Tensor"));
  EXPECT_EQ(FindSchema("aten::relu")->arguments.size(), 1u);
}

TEST(ParseSchema, ListsInLists) {
  const auto schema = ParseSchema("schema_test::nested(int[][] pairs, int[2] pair) -> Tensor");
  ASSERT_TRUE(schema);
  EXPECT_TRUE(schema->arguments[0].type.nested && schema->arguments[0].type.list);
  EXPECT_EQ(schema->arguments[0].type.base, BaseType::kInt);
  EXPECT_FALSE(schema->arguments[1].type.nested);
}

TEST(ParseSchema, DefaultsThatAreLists) {
  const auto schema = ParseSchema("schema_test::lists(int[2] i=[1, -2], float[] f=[1, 2.5], bool[2] b=[True, False], int[] far=[9007199254740993]) -> Tensor");
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->arguments[0].default_value, Attribute(Ints{1, -2}));
  EXPECT_EQ(schema->arguments[1].default_value, Attribute(Floats{1, 2.5}));
  EXPECT_EQ(schema->arguments[2].default_value, Attribute(Bools{true, false}));
  EXPECT_EQ(schema->arguments[3].default_value, Attribute(Ints{9007199254740993}));
}

TEST(ParseSchema, RefusesListsThatWouldFillTheMemory) {
  EXPECT_FALSE(ParseSchema("schema_test::huge(int[2000000000] k=1) -> Tensor"));
  EXPECT_TRUE(ParseSchema("schema_test::odd(int[3] k=[1e300, nan, [) -> Tensor") == std::nullopt);
  EXPECT_TRUE(ParseSchema("schema_test::odd(float[3] k=[1e300, nan, inf]) -> Tensor"));
}

}  // namespace
}  // namespace flambeau::aten
