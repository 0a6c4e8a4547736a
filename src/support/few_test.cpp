#include "support/few.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>

namespace flambeau {
namespace {

TEST(FewTest, HoldsAsManyAsAskedFor) {
  for (const size_t size : {0, 1, 4, 5, 100}) {
    Few<int> items(size);
    EXPECT_EQ(std::accumulate(items.begin(), items.end(), 0), 0);
    std::iota(items.begin(), items.end(), 7);
    const std::span<const int> seen = items;
    ASSERT_EQ(seen.size(), size);
    for (size_t i = 0; i < size; ++i) EXPECT_EQ(seen[i], 7 + static_cast<int>(i));
  }
}

TEST(FewTest, FewAreInPlace) {
  Few<std::string, 2> two(2), three(3);
  const auto* begin = reinterpret_cast<const std::byte*>(&two);
  EXPECT_TRUE(reinterpret_cast<const std::byte*>(two.data()) >= begin && reinterpret_cast<const std::byte*>(two.data()) < begin + sizeof(two));
  three[2] = "the last";
  EXPECT_EQ(three.end()[-1], "the last");
}

}  // namespace
}  // namespace flambeau
