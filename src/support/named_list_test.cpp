#include "support/named_list.h"

#include <gtest/gtest.h>

namespace flambeau {
namespace {

size_t compared = 0;  // names, by Counting

struct Counting {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    ++compared;
    return a == b;
  }
};

using Entry = std::pair<std::string, int>;
using List = NamedList<Entry, &Entry::first, Counting>;

List OfSize(int size) {
  List list;
  for (int i = 0; i < size; ++i) list.Add({"entry" + std::to_string(i), i});
  return list;
}

TEST(NamedList, FindsEachAndKeepsTheOrder) {
  for (const int size : {0, 1, 16, 17, 40}) {
    List list = OfSize(size);
    ASSERT_EQ(list.size(), static_cast<size_t>(size));
    for (int i = 0; i < size; ++i) {
      ASSERT_NE(list.Find("entry" + std::to_string(i)), nullptr);
      list.Find("entry" + std::to_string(i))->second += 100;
      EXPECT_EQ(list[static_cast<size_t>(i)].second, i + 100);
    }
    EXPECT_EQ(list.Find("entry"), nullptr);
    EXPECT_EQ(std::as_const(list).Find(""), nullptr);
  }
}

TEST(NamedList, TheFirstOfANameCounts) {
  for (const int size : {2, 40}) {
    List list = OfSize(size);
    list.Add({"entry1", -1});
    EXPECT_EQ(list.Find("entry1")->second, 1);
  }
}

// Of hashes that are equal by chance names are compared in vain: a few.
TEST(NamedList, FindingAllOfThemIsLinear) {
  const auto comparisons = [](int size) {
    compared = 0;
    const List list = OfSize(size);
    for (int i = 0; i < size; ++i) (void)list.Find("entry" + std::to_string(i));
    return compared;
  };
  const size_t small = comparisons(500), large = comparisons(8 * 500);
  EXPECT_LE(large, 9 * small) << small;
  EXPECT_LE(large, size_t{4} * 8 * 500);
}

}  // namespace
}  // namespace flambeau
