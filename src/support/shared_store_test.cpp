#include "support/shared_store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "support/ids.h"

namespace flambeau {
namespace {

using ItemId = Id<struct ItemTag>;
using Items = SharedStore<ItemId, int>;

Items Numbers(uint32_t count) {
  Items items;
  for (uint32_t i = 0; i < count; ++i) items.Add(static_cast<int>(i));
  return items;
}

TEST(SharedStoreTest, CopiesDoNotSeeEachOthersWrites) {
  Items items = Numbers(300);
  Items copy = items;
  items.Edit(ItemId{7}) = -7;
  copy.Add(300);
  EXPECT_EQ(copy[ItemId{7}], 7);
  EXPECT_EQ(items[ItemId{7}], -7);
  EXPECT_EQ(copy[ItemId{300}], 300);
  EXPECT_EQ(items.size(), 300u);
}

TEST(SharedStoreTest, AddsToAChunkThatIsShared) {
  Items items = Numbers(10);
  const Items copy = items;
  items.Add(10);
  EXPECT_EQ(copy.size(), 10u);
  EXPECT_EQ(items[ItemId{10}], 10);
}

TEST(SharedStoreTest, ReferencesSurviveGrowth) {
  Items items = Numbers(1);
  const int* first = &items[ItemId{0}];
  items.Grow(10000);
  EXPECT_EQ(first, &items[ItemId{0}]);
  EXPECT_EQ(items[ItemId{9999}], 0);
}

TEST(SharedStoreTest, WhatWasTouchedIsAllThatIsLookedAt) {
  for (const uint32_t count : {10000u, 100000u}) {
    Items items = Numbers(count);
    const Items before = items;
    items.Edit(ItemId{5000}) = 1;
    items.Grow(2 * count);
    std::vector<uint32_t> touched;
    items.ForEachTouched(before, [&](ItemId id) { touched.push_back(id.index); });
    EXPECT_TRUE(std::ranges::binary_search(touched, 5000u));
    EXPECT_LT(touched.size(), 100u);  // whatever the count
  }
}

TEST(SharedStoreTest, EachCopyHasItsOwnEnd) {
  for (const uint32_t count : {32u, 1024u, 32768u}) {
    Items items = Numbers(count), copy = items;
    items.Add(-1);
    copy.Add(-2);
    EXPECT_EQ(items[ItemId{count}], -1);
    EXPECT_EQ(copy[ItemId{count}], -2);
    EXPECT_EQ(copy[ItemId{count - 1}], static_cast<int>(count) - 1);
  }
}

}  // namespace
}  // namespace flambeau
