// Which ids are of one group, where groups only ever merge. As of a SharedStore,
// of which it is made, a copy is cheap, and is a snapshot.
#pragma once

#include <cstdint>
#include <utility>

#include "support/ids.h"
#include "support/shared_store.h"

namespace flambeau {

template <class IdT>
class SharedPartition {
 public:
  // Whether that was news.
  bool Merge(IdT a, IdT b) {
    IdT root = RootOf(a), other = RootOf(b);
    if (root == other) return false;
    Grow(a);
    Grow(b);
    if (places_[root].count < places_[other].count) std::swap(root, other);
    const uint32_t count = places_[other].count;
    places_.Edit(other).parent = root;
    places_.Edit(root).count += count;
    // Two rings become one.
    const IdT after = NextOf(a), after_other = NextOf(b);
    places_.Edit(a).next = after_other;
    places_.Edit(b).next = after;
    merges_.Add({a, b});
    return true;
  }

  // The same for all of a group, until it merges with another.
  IdT RootOf(IdT id) const {
    if (!places_.Contains(id)) return id;
    while (places_[id].parent) id = places_[id].parent;
    return id;
  }

  bool IsAlone(IdT id) const { return NextOf(id) == id; }

  // Calls function(other) for the others of the id's group.
  template <class Function>
  void ForEachOther(IdT id, Function function) const {
    for (IdT other = NextOf(id); other != id; other = NextOf(other)) function(other);
  }

  // Calls function(a, b) for pairs whose groups have merged since an earlier copy: whatever groups have, these tell.
  template <class Function>
  void ForEachMerge(const SharedPartition& since, Function function) const {
    for (uint32_t i = since.merges_.size(); i < merges_.size(); ++i) {
      const auto& [a, b] = merges_[{i}];
      function(a, b);
    }
  }

 private:
  struct Place {
    IdT parent = {};  // towards the root; invalid there
    IdT next = {};    // of the ring of a group; invalid: itself
    uint32_t count = 1;
  };

  void Grow(IdT id) {
    if (!places_.Contains(id)) places_.Grow(id.index + 1);
  }
  IdT NextOf(IdT id) const { return places_.Contains(id) && places_[id].next ? places_[id].next : id; }

  SharedStore<IdT, Place> places_;
  SharedStore<Id<struct MergeTag>, std::pair<IdT, IdT>> merges_;
};

}  // namespace flambeau
