#include "aten/schema.h"

#include <gtest/gtest.h>

namespace flambeau::aten {
namespace {

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
