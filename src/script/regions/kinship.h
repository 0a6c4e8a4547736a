// Where paths of a program meet, a result may be memory, a list or a dict from
// before the paths, or another result. This records what may be what; no path
// alone can say.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "script/emitter.h"
#include "script/value.h"

namespace flambeau::script {

// Groups of which any two members may be one.
class Groups {
 public:
  // Whether that was news: no group has all of these, which are sorted.
  bool Add(std::vector<uint64_t> members);
  const std::vector<std::vector<uint64_t>>& all() const { return groups_; }
  size_t size() const { return groups_.size(); }

 private:
  std::vector<std::vector<uint64_t>> groups_;
  std::map<uint64_t, std::vector<size_t>> of_member_;
};

class Kinship {
 public:
  // A tensor, list or dict that is made anew where the paths meet.
  struct Part {
    Val value;
    bool contents = false;  // of a list or dict that stays the one it was
  };
  // What there was before the paths parted.
  struct Outside {
    const Storages& storages;
    const Heap& heap;
  };

  // Takes in what the parts are at the end of a path, or of the given round of a loop. Whether that was news.
  bool Learn(std::span<const Part> parts, Emitter& emit, const Heap& heap, Outside outside, ValueId round);
  // Applies it where the paths have met, or where the given round of a loop begins.
  void Apply(std::span<const Part> parts, Storages& storages, Heap& heap, ValueId round) const;

  bool empty() const { return size() == mingled_parts_.size() + held_parts_.size() + sharing_parts_.size(); }

 private:
  size_t size() const;

  static constexpr uint64_t kFromBefore = uint64_t{1} << 32;
  // A part, and those of its values that share a storage.
  struct Sharing {
    size_t part;
    std::vector<ValueId> values;
  };

  void LearnMemory(std::span<const Part> parts, Storages& storages, const Heap& heap, const Storages& outside, ValueId round);
  void LearnGroup(std::span<const Sharing> group, Storages& storages);
  void LearnShared(size_t part, StorageId storage, const std::optional<RoundPart>& piece, ValueId round);
  void LearnObjects(std::span<const Part> parts, Storages& storages, const Storages& outside);
  void LearnCells(std::span<const Part> parts, const Heap& heap, const Heap& outside);
  void LearnHeld(std::span<const Part> parts, const Heap& heap);
  void ApplyMemory(std::span<const Part> parts, Storages& storages, const Heap& heap, ValueId round) const;
  void ApplyShared(std::span<const Part> parts, Storages& storages, const Heap& heap) const;
  void ApplyObjects(std::span<const Part> parts, Storages& storages) const;
  void ApplyCells(std::span<const Part> parts, Heap& heap) const;
  void ApplyHeld(std::span<const Part> parts, Heap& heap) const;

  // Memory.
  std::set<std::pair<size_t, uint32_t>> storages_;  // a part and a storage
  // Those that share what only one round looks at, without the round if that is the loop's own.
  std::map<std::pair<size_t, uint32_t>, RoundPart> pieces_;
  Groups parts_;                        // that share a storage
  std::set<size_t> any_parts_;          // those that may share any storage
  std::set<size_t> beside_any_;         // those that have memory, where another may share any
  std::set<size_t> overlapping_parts_;  // several elements of which may lie at one place in memory
  std::set<size_t> mingled_parts_;      // lists of which elements may share memory
  std::set<uint32_t> doubtful_;         // storages that may have been written unseen

  // Tensors as Python's objects.
  Groups same_objects_;                  // parts that may be one object, and objects from before (after kFromBefore)
  std::set<uint32_t> doubtful_objects_;  // those whose shape may have been changed unseen

  // Lists and dicts.
  std::set<size_t> shared_parts_;                   // that may be another
  std::set<std::pair<size_t, uint32_t>> cells_;     // such a part, and a cell that it may be
  std::set<std::pair<size_t, size_t>> same_parts_;  // two such parts that may be one
  Groups same_cells_;                               // such parts that are one
  std::set<uint32_t> shared_cells_;
  std::set<std::pair<size_t, size_t>> held_parts_;  // a list, and what is an element of it: if it becomes one of run-time length
  std::set<size_t> sharing_parts_;                  // lists of which another list may have an element
};

}  // namespace flambeau::script
