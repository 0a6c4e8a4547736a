#include "support/shared_partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "support/ids.h"

namespace flambeau {
namespace {

using ItemId = Id<struct ItemTag>;
using Partition = SharedPartition<ItemId>;

std::vector<uint32_t> GroupOf(const Partition& partition, uint32_t member) {
  std::vector<uint32_t> group{member};
  partition.ForEachOther(ItemId{member}, [&](ItemId other) { group.push_back(other.index); });
  std::ranges::sort(group);
  return group;
}

TEST(SharedPartitionTest, BeginsWithEachAlone) {
  const Partition partition;
  EXPECT_TRUE(partition.IsAlone({5}));
  EXPECT_EQ(partition.RootOf({5}), ItemId{5});
  EXPECT_EQ(GroupOf(partition, 5), (std::vector<uint32_t>{5}));
}

TEST(SharedPartitionTest, TellsWhatIsNews) {
  Partition partition;
  EXPECT_TRUE(partition.Merge({1}, {7}));
  EXPECT_FALSE(partition.Merge({7}, {1}));
  EXPECT_FALSE(partition.Merge({3}, {3}));
  EXPECT_TRUE(partition.Merge({7}, {3}));
  EXPECT_FALSE(partition.Merge({1}, {3}));
  EXPECT_EQ(GroupOf(partition, 3), (std::vector<uint32_t>{1, 3, 7}));
  EXPECT_TRUE(partition.IsAlone({2}));
}

TEST(SharedPartitionTest, CopiesDoNotSeeEachOthersMerges) {
  Partition partition;
  partition.Merge({1}, {2});
  const Partition before = partition;
  partition.Merge({2}, {3});
  EXPECT_EQ(GroupOf(before, 2), (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(GroupOf(partition, 1), (std::vector<uint32_t>{1, 2, 3}));
  std::vector<std::pair<uint32_t, uint32_t>> merges;
  partition.ForEachMerge(before, [&](ItemId a, ItemId b) { merges.emplace_back(a.index, b.index); });
  EXPECT_EQ(merges, (std::vector<std::pair<uint32_t, uint32_t>>{{2, 3}}));
}

TEST(SharedPartitionTest, AgreesWithLabels) {
  constexpr uint32_t kCount = 200;
  std::mt19937 random(7);
  Partition partition;
  std::vector<uint32_t> label(kCount);
  for (uint32_t i = 0; i < kCount; ++i) label[i] = i;
  for (int round = 0; round < 150; ++round) {
    const uint32_t a = random() % kCount, b = random() % kCount;
    EXPECT_EQ(partition.Merge({a}, {b}), label[a] != label[b]);
    std::ranges::replace(label, uint32_t{label[b]}, uint32_t{label[a]});
  }
  for (uint32_t i = 0; i < kCount; ++i) {
    std::vector<uint32_t> wanted;
    for (uint32_t k = 0; k < kCount; ++k)
      if (label[k] == label[i]) wanted.push_back(k);
    EXPECT_EQ(GroupOf(partition, i), wanted);
    EXPECT_EQ(partition.RootOf({i}), partition.RootOf({wanted.front()}));
  }
}

}  // namespace
}  // namespace flambeau
