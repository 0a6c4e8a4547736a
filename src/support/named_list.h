// Entries in the order in which they came, each to be found by its name. Few are
// compared one after another; of many there is an index.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace flambeau {

// `kName` is the member of an entry that is its name; the first of a name is the one that is found. `Equal` compares names.
template <class Entry, std::string Entry::*kName, class Equal = std::equal_to<>>
class NamedList {
 public:
  NamedList() = default;
  NamedList(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) Add(entry);
  }

  void Add(Entry entry) {
    entries_.push_back(std::move(entry));
    if (entries_.size() <= kFew) return;
    for (size_t i = positions_.empty() ? 0 : entries_.size() - 1; i < entries_.size(); ++i) positions_.emplace(entries_[i].*kName, i);
  }

  // nullptr if there is none.
  const Entry* Find(std::string_view name) const {
    const size_t position = PositionOf(name);
    return position < entries_.size() ? &entries_[position] : nullptr;
  }
  // To be changed, in all but its name.
  Entry* Find(std::string_view name) {
    const size_t position = PositionOf(name);
    return position < entries_.size() ? &entries_[position] : nullptr;
  }

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  const Entry& operator[](size_t i) const { return entries_[i]; }

 private:
  static constexpr size_t kFew = 16;

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  };

  // The number of entries, if there is none.
  size_t PositionOf(std::string_view name) const {
    if (!positions_.empty()) {
      const auto found = positions_.find(name);
      return found == positions_.end() ? entries_.size() : found->second;
    }
    size_t position = 0;
    while (position < entries_.size() && !Equal()(entries_[position].*kName, name)) ++position;
    return position;
  }

  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t, Hash, Equal> positions_;  // of all, once they are not few
};

}  // namespace flambeau
