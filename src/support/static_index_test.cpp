#include "support/static_index.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace flambeau {
namespace {

struct Row {
  std::string_view name;
  int number;
};
constexpr Row kRows[] = {{"", 0}, {"a", 1}, {"Add", 2}, {"Mul", 3}, {"aten::add.Tensor", 4}, {"Add", 5}};

TEST(StaticIndexTest, FindsTheFirstRowOfAName) {
  const StaticIndex<int> index(kRows, &Row::name, &Row::number);
  EXPECT_EQ(*index.Find(""), 0);
  EXPECT_EQ(*index.Find("a"), 1);
  EXPECT_EQ(*index.Find("Add"), 2);
  EXPECT_EQ(*index.Find("aten::add.Tensor"), 4);
  EXPECT_EQ(index.Find("Ad"), nullptr);
  EXPECT_EQ(index.Find("aten::add.Scalar"), nullptr);
  EXPECT_EQ(index.ValueOr("b", -1), -1);
}

// Each letter of a name counts, wherever it stands and however long the name is.
TEST(StaticIndexTest, HashesTellNamesApart) {
  std::set<size_t> hashes;
  size_t names = 0;
  for (size_t length = 0; length < 40; ++length)
    for (size_t at = 0; at <= length; ++at, ++names) {
      std::string name(length, 'x');
      if (at < length) name[at] = 'y';
      hashes.insert(ShortNameHash()(name));
    }
  EXPECT_EQ(hashes.size(), names);
}

}  // namespace
}  // namespace flambeau
