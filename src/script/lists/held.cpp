#include "script/lists/held.h"

#include <algorithm>
#include <ranges>
#include <unordered_set>

namespace flambeau::script {
namespace {

void Mark(Heap& heap, uint32_t cell) {
  if (!heap[cell].is_row) heap.Edit(cell).is_row = true;
}

// Of a list, or of a dict.
Vals ValuesOf(const Cell& cell) { return cell.entries.empty() ? cell.elements : EntryValues(cell); }

}  // namespace

void ForEachWithin(const Cell& container, const Heap& heap, const std::function<void(const Val&)>& visit) {
  std::unordered_set<const void*> seen;
  std::vector<const Val*> open;
  const auto take = [&](const Val& value) {
    visit(value);
    if (CellOf(value) || value.Is<TupleVal>() || value.Is<OptionalVal>()) open.push_back(&value);
  };
  const auto take_all = [&](auto&& self, const Cell& cell) -> void {
    std::ranges::for_each(cell.elements, take);
    for (const auto& [key, entry] : cell.entries) take(entry);
    for (const Cell& column : cell.columns) self(self, column);
  };
  take_all(take_all, container);
  while (!open.empty()) {
    const Val& value = *open.back();
    open.pop_back();
    if (const auto* tuple = value.As<TupleVal>()) {
      if (seen.insert(tuple->elements.get()).second) std::ranges::for_each(*tuple->elements, take);
    } else if (const auto* optional = value.As<OptionalVal>()) {
      take(*optional->value);
    } else if (const Cell& cell = heap[*CellOf(value)]; seen.insert(&cell).second) {
      take_all(take_all, cell);
    }
  }
}

std::vector<uint32_t> CellsIn(const Cell& container, const Heap& heap) {
  std::vector<uint32_t> cells;
  ForEachWithin(container, heap, [&](const Val& value) {
    if (const auto cell = CellOf(value)) cells.push_back(*cell);
  });
  return cells;
}

std::vector<uint32_t> CellsIn(const Val& value, const Heap& heap) { return CellsIn(Cell{.elements = {value}}, heap); }

bool HoldsCells(const Cell& list) {
  return list.has_rows || !list.keys.empty() || std::ranges::any_of(list.columns, HoldsCells);
}

void Hold(Heap& heap, const Val& element) {
  for (const uint32_t cell : CellsIn(element, heap)) {
    Mark(heap, cell);
    if (!heap[cell].shared) continue;
    for (uint32_t other = 0; other < heap.size(); ++other)
      if (heap[other].shared && MayBeSame(heap, cell, other)) Mark(heap, other);
  }
}

bool IsHeld(const Val& element, const Heap& heap) {
  return std::ranges::any_of(CellsIn(element, heap), [&](uint32_t cell) { return heap[cell].is_row || HoldsCells(heap[cell]); });
}

bool AreNew(const Cell& elements, const Heap& heap) {
  if (!elements.columns.empty()) return false;
  std::vector<uint32_t> cells = CellsIn(elements, heap);
  // One that is shared may be another one that is.
  const auto alone = [&](uint32_t cell) {
    return !heap[cell].is_row && !HoldsCells(heap[cell]) && (!heap[cell].shared || cells.size() == 1);
  };
  if (!std::ranges::all_of(cells, alone)) return false;
  std::ranges::sort(cells);
  return std::ranges::adjacent_find(cells) == cells.end();
}

bool IsApart(const Cell& list, const Heap& heap) { return list.columns.empty() ? AreNew(list, heap) : list.apart; }

bool IsSole(const Cell& list, const Heap& heap) { return list.columns.empty() ? AreNew(list, heap) : list.sole; }

void ShareAll(Heap& heap) {
  for (const uint32_t cell : std::vector(heap.watched())) {
    if (heap[cell].sole) heap.Edit(cell).sole = false;
    if (const auto taken = heap[cell].taken; taken && taken->sole)
      heap.Edit(cell).taken = std::make_shared<const TakenRow>(taken->list, taken->place, taken->contents, taken->apart, false);
  }
}

TakenRow Taking(const Heap& heap, uint32_t list, const Val& place) {
  TakenRow taken{list, place, heap.Contents(list), IsApart(heap[list], heap), IsSole(heap[list], heap)};
  for (const uint32_t other : std::views::reverse(heap.watched()))
    if (const auto& its = heap[other].taken; its && its->list == list && its->contents == taken.contents) {
      taken.apart = its->apart;  // the list's elements are held since then
      taken.sole = its->sole;
      break;
    }
  return taken;
}

std::optional<Val> RowTaken(const Heap& heap, const TakenRow& taken) {
  for (const uint32_t other : std::views::reverse(heap.watched())) {
    const auto& its = heap[other].taken;
    if (!its || its->list != taken.list || its->contents != taken.contents) continue;
    if (!SameConstant(its->place, taken.place) || heap[other].lost) continue;
    return heap[other].entries.empty() ? Val(ListVal{other}) : Val(DictVal{other});
  }
  return std::nullopt;
}

void TakeRow(Heap& heap, const TakenRow& taken, const Val& row) {
  for (const Val& element : ValuesOf(*taken.contents)) Hold(heap, element);
  Cell& cell = heap.Edit(*CellOf(row));
  cell.is_row = true;
  cell.taken = std::make_shared<const TakenRow>(taken.list, taken.place, heap.Contents(taken.list), taken.apart, taken.sole);
}

void TakeEntries(Heap& heap, uint32_t dict, bool apart, bool sole) {
  const std::shared_ptr<const Cell> contents = heap.Contents(dict);
  for (const auto& [key, entry] : contents->entries)
    if (const auto cell = CellOf(entry); cell && !OwnerOf(heap, *cell)) TakeRow(heap, {dict, key, contents, apart, sole}, entry);
}

void Disown(Heap& heap, const Val& taken) {
  for (const uint32_t cell : CellsIn(taken, heap)) {
    Cell& row = heap.Edit(cell);
    row.is_row = true;
    row.taken.reset();
  }
}

bool IsRowAt(const Heap& heap, uint32_t list, const Val& place, const Val& row) {
  const auto cell = CellOf(row);
  const std::shared_ptr<const TakenRow> taken = cell ? heap[*cell].taken : nullptr;
  return taken && taken->list == list && heap.Contents(list) == taken->contents && SameConstant(taken->place, place);
}

std::optional<uint32_t> OwnerOf(const Heap& heap, uint32_t row) {
  const std::shared_ptr<const TakenRow>& taken = heap[row].taken;
  const bool known = taken && taken->apart && !heap[row].shared && taken->list < heap.size();
  if (!known || heap[taken->list].lost || heap.Contents(taken->list) != taken->contents) return std::nullopt;
  return taken->list;
}

namespace {

// The lists that a row is an element of, each in the next one.
struct Owners {
  std::vector<uint32_t> lists;  // empty: nobody knows them
  bool sole = true;             // no other list has the row

  bool Has(uint32_t cell) const { return std::ranges::find(lists, cell) != lists.end(); }
};

Owners OwnersOf(const Heap& heap, uint32_t row) {
  Owners owners;
  while (heap[row].is_row) {
    const auto owner = OwnerOf(heap, row);
    if (!owner || owners.Has(*owner)) return {};
    owners.sole = owners.sole && heap[row].taken->sole;
    owners.lists.push_back(*owner);
    row = *owner;
  }
  owners.sole = owners.sole && !heap[row].shared;
  return owners;
}

// Whether it is a list, and neither holds lists or dicts nor is empty.
bool IsFlat(const Cell& cell, const Heap& heap) {
  return cell.sequence || (!cell.elements.empty() && CellsIn(cell, heap).empty());
}

}  // namespace

std::vector<uint32_t> ReachedBy(const Heap& heap, uint32_t row) {
  const Owners owners = OwnersOf(heap, row);
  std::unordered_set<uint32_t> put_back(owners.lists.begin(), owners.lists.end());
  for (const uint32_t owner : owners.lists)
    for (const auto& [key, entry] : heap[owner].entries)
      if (const auto cell = CellOf(entry)) put_back.insert(*cell);
  const bool holds_cells = HoldsCells(heap[row]) || !heap[row].entries.empty();
  const auto reaches = [&](uint32_t other) {
    if (!heap[other].is_row && !HoldsCells(heap[other])) return false;
    if (holds_cells && IsFlat(heap[other], heap)) return false;  // another kind of thing
    if (owners.lists.empty()) return true;
    if (put_back.contains(other)) return false;
    const Owners elsewhere = OwnersOf(heap, other);
    if (elsewhere.Has(row)) return false;  // an element of what is written stays as it is
    if (!owners.sole || !heap[other].is_row) return !owners.sole;
    return elsewhere.lists.empty() || elsewhere.lists.back() == owners.lists.back() || !elsewhere.sole;
  };
  std::vector<uint32_t> reached;
  for (const uint32_t other : heap.watched())
    if (other != row && reaches(other)) reached.push_back(other);
  return reached;
}

void TakeAgain(Heap& heap, uint32_t row, const TakenRow& taken) {
  const std::shared_ptr<const Cell> before = heap.Contents(row);
  heap.Edit(row).taken = std::make_shared<const TakenRow>(taken.list, taken.place, heap.Contents(taken.list), taken.apart, taken.sole);
  for (const uint32_t element : std::vector(heap.watched())) {  // of the row, which has the same contents in another place
    const std::shared_ptr<const TakenRow>& its = heap[element].taken;
    if (its && its->list == row && its->contents == before)
      heap.Edit(element).taken = std::make_shared<const TakenRow>(row, its->place, heap.Contents(row), its->apart, its->sole);
  }
}

}  // namespace flambeau::script
