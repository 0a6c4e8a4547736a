// What the program is compiled with, by name: operators' rows, rules, builtins.
// Each node of a graph is looked up in several of these, mostly by a short
// name that is there, so that a name's hash is a few multiplications and its
// entry is found at the first look.
#pragma once

#include <tsl/robin_map.h>

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

namespace flambeau {

// Good for the names that programmers give. Whoever chooses names can make them
// collide, so what holds an archive's names is a NameTable (hash_table.h).
struct ShortNameHash {
  size_t operator()(std::string_view name) const {
    const char* const begin = name.data();
    const size_t size = name.size();
    uint64_t hash = size * 0xD6E8FEB86659FD93ull;
    if (size < 4) {
      uint64_t few = 0;
      for (const char letter : name) few = few << 8 | static_cast<unsigned char>(letter);
      return Mixed(hash, few);
    }
    // The last word overlaps what comes before it.
    if (size < 8) return Mixed(hash, uint64_t{Word<uint32_t>(begin)} << 32 | Word<uint32_t>(begin + size - 4));
    for (size_t at = 0; at + 8 < size; at += 8) hash = Mixed(hash, Word<uint64_t>(begin + at));
    return Mixed(hash, Word<uint64_t>(begin + size - 8));
  }

 private:
  template <class T>
  static T Word(const char* bytes) {
    T word;
    std::memcpy(&word, bytes, sizeof(word));
    return word;
  }
  static uint64_t Mixed(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ull;
    return hash ^ hash >> 32;
  }
};

template <class Value>
class StaticIndex {
 public:
  StaticIndex() = default;
  // A row's name and value by its members; where rows share a name, the first counts.
  template <class Rows, class Name, class Member>
  StaticIndex(const Rows& rows, Name name, Member value) {
    for (const auto& row : rows) Add(std::invoke(name, row), std::invoke(value, row));
  }

  void Add(std::string_view name, Value value) { values_.emplace(name, std::move(value)); }
  // The value that belongs to the name, made if there is none.
  Value& operator[](std::string_view name) { return values_[name]; }

  // Null where there is no such name.
  const Value* Find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? nullptr : &found->second;
  }
  Value ValueOr(std::string_view name, Value otherwise) const {
    const Value* found = Find(name);
    return found == nullptr ? otherwise : *found;
  }
  bool contains(std::string_view name) const { return Find(name) != nullptr; }

  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  tsl::robin_map<std::string_view, Value, ShortNameHash, std::equal_to<>, std::allocator<std::pair<std::string_view, Value>>,
                 /*StoreHash=*/true>
      values_;
};

}  // namespace flambeau
