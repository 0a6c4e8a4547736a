#include "script/regions/kinship.h"

#include <algorithm>
#include <map>
#include <optional>

#include "script/lists/held.h"

namespace flambeau::script {
namespace {

void AppendSequences(const Cell& list, std::vector<ValueId>& values) {
  if (list.sequence) values.push_back(*list.sequence);
  for (const Cell& column : list.columns) AppendSequences(column, values);
}

// The values with the memory of a part that was made anew.
std::vector<ValueId> MadeOf(const Val& part, const Heap& heap) {
  std::vector<ValueId> values;
  if (const auto* tensor = part.As<TensorVal>()) values.push_back(tensor->id);
  if (const Cell* list = ListOf(part, heap)) AppendSequences(*list, values);
  return values;
}

// A list that becomes one of run-time length where the paths meet has the memory of all that it holds.
std::vector<ValueId> ValuesOf(const Val& part, const Heap& heap) {
  std::vector<ValueId> values = MadeOf(part, heap);
  const auto append = [&](const Val& value) {
    if (const auto* tensor = value.As<TensorVal>()) values.push_back(tensor->id);
    if (const Cell* inner = ListOf(value, heap)) AppendSequences(*inner, values);
  };
  if (const Cell* list = ListOf(part, heap)) ForEachWithin(*list, heap, append);
  return values;
}

// Whether elements of the list, or of what becomes a list of run-time length, may share memory.
bool IsMingled(const Cell& list, Emitter& emit) {
  return list.sequence ? !emit.storages().IsDistinct(*list.sequence) : !emit.AreDistinct(list.elements);
}

}  // namespace

bool Groups::Add(std::vector<uint64_t> members) {
  if (members.size() < 2) return false;
  const std::vector<size_t>* fewest = nullptr;
  for (const uint64_t member : members) {
    const std::vector<size_t>& of_member = of_member_[member];
    if (fewest == nullptr || of_member.size() < fewest->size()) fewest = &of_member;
  }
  if (std::ranges::any_of(*fewest, [&](size_t group) { return std::ranges::includes(groups_[group], members); })) return false;
  for (const uint64_t member : members) of_member_[member].push_back(groups_.size());
  groups_.push_back(std::move(members));
  return true;
}

size_t Kinship::size() const {
  return 2 * storages_.size() + pieces_.size() + parts_.size() + any_parts_.size() + beside_any_.size() + mingled_parts_.size() + shared_parts_.size() +
         cells_.size() + same_parts_.size() + same_cells_.size() + same_objects_.size() + doubtful_objects_.size() + shared_cells_.size() +
         doubtful_.size() + held_parts_.size() + sharing_parts_.size() + overlapping_parts_.size();
}

// The part shares the storage, or a piece of it that no other round looks at.
void Kinship::LearnShared(size_t part, StorageId storage, const std::optional<RoundPart>& piece, ValueId round) {
  const std::pair key(part, storage.index);
  if (piece && !storages_.contains(key)) {
    RoundPart known = *piece;
    if (known.round == round) known.round = {};
    if (pieces_.try_emplace(key, known).first->second == known) return;
  }
  pieces_.erase(key);
  storages_.insert(key);
}

// Each of the group may be one storage. Two that swap places in each round never are it at once.
void Kinship::LearnGroup(std::span<const Sharing> group, Storages& storages) {
  constexpr size_t kMaxCompared = 16;
  const auto may_be_one = [&](const Sharing& part, const Sharing& other) {
    return std::ranges::any_of(part.values, [&](ValueId value) {
      return std::ranges::any_of(other.values, [&](ValueId beside) { return storages.MayBeOne(value, beside); });
    });
  };
  std::vector<std::vector<uint64_t>> pairs;
  const size_t all = group.size() * (group.size() - 1) / 2;
  if (group.size() <= kMaxCompared)
    for (size_t i = 0; i < group.size(); ++i)
      for (size_t k = i + 1; k < group.size(); ++k)
        if (may_be_one(group[i], group[k])) pairs.push_back({group[i].part, group[k].part});
  if (group.size() > kMaxCompared || pairs.size() == all) {
    std::vector<uint64_t> members;
    for (const Sharing& each : group) members.push_back(each.part);
    parts_.Add(std::move(members));
    return;
  }
  for (std::vector<uint64_t>& pair : pairs) parts_.Add(std::move(pair));
}

void Kinship::LearnObjects(std::span<const Part> parts, Storages& storages, const Storages& outside) {
  const SharedPartition<Storages::HandleId>& maybe_one = storages.maybe_one();
  std::map<Storages::HandleId, std::set<uint64_t>> groups;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto* tensor = parts[i].value.As<TensorVal>();
    if (tensor == nullptr) continue;
    const Storages::HandleId object = storages.ObjectOf(tensor->id);
    std::set<uint64_t>& group = groups[maybe_one.RootOf(object)];
    group.insert(i);
    if (object.index < outside.object_count()) group.insert(kFromBefore + object.index);
  }
  const auto append = [&](Storages::HandleId object) {
    const auto group = groups.find(maybe_one.RootOf(object));
    if (object.index < outside.object_count() && group != groups.end()) group->second.insert(kFromBefore + object.index);
  };
  maybe_one.ForEachMerge(outside.maybe_one(), [&](Storages::HandleId object, Storages::HandleId other) {
    append(object);
    append(other);
  });
  for (const auto& [root, group] : groups) same_objects_.Add({group.begin(), group.end()});
  for (const Storages::HandleId object : storages.doubtful_objects())
    if (object.index < outside.object_count()) doubtful_objects_.insert(object.index);
}

// Which parts are elements of a list that is a part, too, and which lists have elements in common.
void Kinship::LearnHeld(std::span<const Part> parts, const Heap& heap) {
  std::multimap<uint32_t, size_t> of_cell;
  std::vector<std::pair<uint32_t, size_t>> of_shared;
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto cell = CellOf(parts[i].value);
    if (!cell) continue;
    of_cell.emplace(*cell, i);
    if (heap[*cell].shared) of_shared.emplace_back(*cell, i);
  }
  std::map<uint32_t, size_t> of_list;
  for (size_t i = 0; i < parts.size(); ++i) {
    const Cell* list = ListOf(parts[i].value, heap);
    if (list == nullptr) continue;
    for (const uint32_t cell : CellsIn(*list, heap)) {
      const bool elsewhere = of_list.try_emplace(cell, i).first->second != i;
      if (elsewhere || heap[cell].is_row || heap[cell].shared) sharing_parts_.insert(i);
      const auto [first, last] = of_cell.equal_range(cell);
      for (auto part = first; part != last; ++part) held_parts_.emplace(i, part->second);
      if (!heap[cell].shared) continue;
      for (const auto& [other, part] : of_shared)
        if (MayBeSame(heap, cell, other)) held_parts_.emplace(i, part);
    }
  }
}

void Kinship::LearnMemory(std::span<const Part> parts, Storages& storages, const Heap& heap, const Storages& outside, ValueId round) {
  std::map<uint32_t, std::vector<Sharing>> of_storage;
  std::vector<size_t> in_memory;
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::vector<ValueId> values = ValuesOf(parts[i].value, heap);
    if (!values.empty()) in_memory.push_back(i);
    for (const ValueId value : values) {
      if (storages.MayBeAny(value)) any_parts_.insert(i);
      if (storages.MayHoldOverlaps(value)) overlapping_parts_.insert(i);
      for (const StorageId storage : storages.MayShare(value)) {
        std::vector<Sharing>& group = of_storage[storage.index];
        if (group.empty() || group.back().part != i) group.push_back({i, {}});
        group.back().values.push_back(value);
        if (storage.index >= outside.count()) continue;
        auto piece = storages.PartOf(value, storage);
        if (piece && piece->of.index >= outside.view_count()) piece.reset();  // has no name there
        LearnShared(i, storage, piece, round);
      }
    }
  }
  for (const auto& [storage, group] : of_storage) LearnGroup(group, storages);
  if (!any_parts_.empty()) beside_any_.insert(in_memory.begin(), in_memory.end());
  for (const StorageId storage : storages.DoubtfulSince(outside)) doubtful_.insert(storage.index);
}

void Kinship::LearnCells(std::span<const Part> parts, const Heap& heap, const Heap& outside) {
  std::map<uint32_t, std::vector<uint64_t>> of_cell;
  std::vector<std::pair<size_t, uint32_t>> of_shared;  // of parts
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto cell = CellOf(parts[i].value);
    if (!cell || parts[i].contents) continue;
    of_cell[*cell].push_back(i);
    if (heap[*cell].shared) {
      shared_parts_.insert(i);
      of_shared.emplace_back(i, *cell);
    }
    for (const uint32_t kin : heap[*cell].kin)
      if (kin < outside.size()) cells_.emplace(i, kin);
    if (*cell >= outside.size()) continue;
    shared_parts_.insert(i);
    shared_cells_.insert(*cell);
    cells_.emplace(i, *cell);
  }
  for (auto& [cell, group] : of_cell) {
    if (group.size() > 1) shared_parts_.insert(group.begin(), group.end());
    same_cells_.Add(std::move(group));
  }
  for (size_t i = 0; i < of_shared.size(); ++i)
    for (size_t k = i + 1; k < of_shared.size(); ++k)
      if (of_shared[i].second != of_shared[k].second && MayBeSame(heap, of_shared[i].second, of_shared[k].second))
        same_parts_.emplace(of_shared[i].first, of_shared[k].first);
  for (const uint32_t cell : heap.EditedSince(outside))
    if (heap[cell].shared && !outside[cell].shared) shared_cells_.insert(cell);
}

bool Kinship::Learn(std::span<const Part> parts, Emitter& emit, const Heap& heap, Outside outside, ValueId round) {
  const size_t before = size();
  LearnMemory(parts, emit.storages(), heap, outside.storages, round);
  for (size_t i = 0; i < parts.size(); ++i)
    if (const auto cell = CellOf(parts[i].value); cell && IsMingled(heap[*cell], emit)) mingled_parts_.insert(i);
  LearnCells(parts, heap, outside.heap);
  LearnHeld(parts, heap);
  LearnObjects(parts, emit.storages(), outside.storages);
  return size() != before;
}

// Links go on from each storage to those that it has links to: so one of a group is linked to all others.
void Kinship::ApplyShared(std::span<const Part> parts, Storages& storages, const Heap& heap) const {
  for (const size_t any : any_parts_) {
    const std::vector<ValueId> values = MadeOf(parts[any].value, heap);
    if (values.empty()) continue;
    for (const size_t other : beside_any_)
      for (const ValueId value : MadeOf(parts[other].value, heap))
        if (other != any) storages.SetMaybe(values.front(), value);
    break;  // what the others share need not be listed
  }
  for (const std::vector<uint64_t>& group : parts_.all()) {
    std::vector<std::vector<ValueId>> values;
    for (const uint64_t part : group) {
      values.push_back(MadeOf(parts[part].value, heap));
      if (values.back().empty()) values.pop_back();
    }
    for (size_t i = 0; i + 1 < values.size(); ++i)
      for (const ValueId value : values[i])
        for (const ValueId last : values.back()) storages.SetMaybe(value, last);
  }
}

void Kinship::ApplyMemory(std::span<const Part> parts, Storages& storages, const Heap& heap, ValueId round) const {
  const auto for_each_value = [&](size_t part, const auto& apply) {
    for (const ValueId value : MadeOf(parts[part].value, heap)) apply(value);
  };
  std::vector<std::pair<ValueId, StorageId>> shared;
  for (const auto& [part, storage] : storages_)
    for_each_value(part, [&](ValueId value) { shared.emplace_back(value, StorageId{storage}); });
  storages.SetMaybe(shared);
  for (const auto& [key, of_round] : pieces_) {
    const StorageId storage{key.second};
    const RoundPart& piece = of_round;
    for_each_value(key.first, [&](ValueId value) {
      if (piece.round) storages.SetMaybe(value, storage, piece);
      else if (!round) storages.SetMaybe(value, storage);
      else storages.SetMaybeBefore(value, storage, {round, piece.how, piece.of, piece.dim, piece.cut});
    });
  }
  ApplyShared(parts, storages, heap);
  for (const size_t part : any_parts_) for_each_value(part, [&](ValueId value) { storages.SetAny(value); });
  for (const size_t part : overlapping_parts_) for_each_value(part, [&](ValueId value) { storages.SetOverlapping(value); });
  for (size_t part = 0; part < parts.size(); ++part) {
    const Cell* list = ListOf(parts[part].value, heap);
    if (list != nullptr && list->sequence && !mingled_parts_.contains(part)) storages.SetDistinct(*list->sequence);
  }
}

void Kinship::ApplyObjects(std::span<const Part> parts, Storages& storages) const {
  for (const std::vector<uint64_t>& group : same_objects_.all()) {
    std::optional<Storages::HandleId> first;
    for (const uint64_t member : group) {  // parts come first
      Storages::HandleId object{static_cast<uint32_t>(member - kFromBefore)};
      if (member < kFromBefore) {
        const auto* tensor = parts[member].value.As<TensorVal>();
        if (tensor == nullptr) continue;
        object = storages.ObjectOf(tensor->id);
        if (!first) first = object;
      }
      if (first) storages.SetMaybeOne(*first, object);
    }
  }
  for (const uint32_t object : doubtful_objects_) storages.SetDoubtful(Storages::HandleId{object});
}

void Kinship::ApplyCells(std::span<const Part> parts, Heap& heap) const {
  const auto cell_of = [&](size_t part) { return CellOf(parts[part].value); };
  for (const size_t part : shared_parts_)
    if (const auto cell = cell_of(part)) heap.Edit(*cell).shared = true;
  for (const auto& [part, kin] : cells_)
    if (const auto cell = cell_of(part)) heap.Edit(*cell).kin.push_back(kin);
  for (const auto& [part, other] : same_parts_) {
    const auto cell = cell_of(part), kin = cell_of(other);
    if (cell && kin) heap.Edit(*cell).kin.push_back(*kin);
  }
  for (const std::vector<uint64_t>& group : same_cells_.all()) {  // two that have a third among their kin may be one, too
    std::optional<uint32_t> first;
    for (const uint64_t part : group) {
      const auto cell = cell_of(part);
      if (cell && first) heap.Edit(*cell).kin.push_back(*first);
      if (!first) first = cell;
    }
  }
  for (const uint32_t cell : shared_cells_)
    if (!heap[cell].shared) heap.Edit(cell).shared = true;
}

void Kinship::ApplyHeld(std::span<const Part> parts, Heap& heap) const {
  for (const auto& [part, element] : held_parts_) {
    const Cell* list = ListOf(parts[part].value, heap);
    if (list != nullptr && HoldsCells(*list)) Hold(heap, parts[element].value);
  }
  const auto has_columns = [&](size_t part) {
    const Cell* list = ListOf(parts[part].value, heap);
    return list != nullptr && !list->columns.empty();
  };
  if (std::ranges::any_of(sharing_parts_, has_columns)) ShareAll(heap);
}

void Kinship::Apply(std::span<const Part> parts, Storages& storages, Heap& heap, ValueId round) const {
  ApplyMemory(parts, storages, heap, round);
  ApplyObjects(parts, storages);
  ApplyCells(parts, heap);
  ApplyHeld(parts, heap);
  for (const uint32_t storage : doubtful_) storages.SetDoubtful(StorageId{storage});
}

}  // namespace flambeau::script
