#include "support/store.h"

#include <gtest/gtest.h>

#include <string>

namespace flambeau {
namespace {

using ItemId = Id<struct ItemTag>;

TEST(StoreTest, ReferencesSurviveGrowth) {
  Store<ItemId, std::string> store;
  const ItemId first = store.Add("first");
  const std::string* address = &store[first];
  for (int i = 0; i < 10000; ++i) store.Add(std::to_string(i));
  EXPECT_EQ(address, &store[first]);
  EXPECT_EQ(store[ItemId{10000}], "9999");
}

TEST(StoreTest, CopyIsDeepAndGoesOnGrowing) {
  Store<ItemId, std::string> store;
  for (int i = 0; i < 300; ++i) store.Add(std::to_string(i));
  Store<ItemId, std::string> copy = store;
  store[ItemId{7}] = "changed";
  copy.Add("more");
  EXPECT_EQ(copy[ItemId{7}], "7");
  EXPECT_EQ(copy[ItemId{300}], "more");
  EXPECT_EQ(store.size(), 300u);
}

}  // namespace
}  // namespace flambeau
