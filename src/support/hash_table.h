// Hash tables for what grows with the graph. Entries stand in one array, beside
// their hashes: a look-up misses the cache about once, where std::unordered_map
// misses it once an entry of its chain.
#pragma once

#include <tsl/robin_map.h>
#include <tsl/robin_set.h>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace flambeau {

template <class Value>
using NameTable = tsl::robin_map<std::string_view, Value, std::hash<std::string_view>, std::equal_to<>,
                                 std::allocator<std::pair<std::string_view, Value>>, /*StoreHash=*/true>;
using NameSet = tsl::robin_set<std::string_view, std::hash<std::string_view>, std::equal_to<>,
                               std::allocator<std::string_view>, /*StoreHash=*/true>;

// By a 64-bit hash that the caller made; its upper bits are the better ones.
struct UpperBits {
  size_t operator()(uint64_t hash) const { return hash >> 32 ^ hash; }
};
template <class Value>
using HashTable = tsl::robin_map<uint64_t, Value, UpperBits>;

}  // namespace flambeau
