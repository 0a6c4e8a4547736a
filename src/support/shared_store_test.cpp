#include "support/shared_store.h"

#include <gtest/gtest.h>

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
  items[ItemId{7}] = -7;
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
  Items items = Numbers(10000);
  const Items before = items;
  items[ItemId{5000}] = 1;
  items.Grow(20000);
  uint32_t touched = 0;
  bool found = false;
  items.ForEachTouched(before, [&](ItemId id) {
    ++touched;
    found = found || id == ItemId{5000};
  });
  EXPECT_TRUE(found);
  EXPECT_LT(touched, 200u);
}

}  // namespace
}  // namespace flambeau
