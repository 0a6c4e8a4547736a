#include "script/held.h"

#include <algorithm>

namespace flambeau::script {
namespace {

void Mark(Heap& heap, uint32_t cell) {
  if (!heap[cell].is_row) heap.Edit(cell).is_row = true;
}

}  // namespace

void Hold(Heap& heap, const Val& element) {
  const auto cell = CellOf(element);
  if (!cell) return;
  Mark(heap, *cell);
  if (!heap[*cell].shared) return;
  for (uint32_t other = 0; other < heap.size(); ++other)
    if (heap[other].shared && MayBeSame(heap, *cell, other)) Mark(heap, other);
}

bool IsHeld(const Val& element, const Heap& heap) {
  const auto cell = CellOf(element);
  return cell && heap[*cell].is_row;
}

bool AreNew(const Cell& elements, const Heap& heap) {
  if (!elements.columns.empty()) return false;
  std::vector<uint32_t> cells;
  for (const Val& element : elements.elements)
    if (const auto cell = CellOf(element)) cells.push_back(*cell);
  // One that is shared may be another one that is.
  const auto alone = [&](uint32_t cell) { return !heap[cell].is_row && (!heap[cell].shared || cells.size() == 1); };
  if (!std::ranges::all_of(cells, alone)) return false;
  std::ranges::sort(cells);
  return std::ranges::adjacent_find(cells) == cells.end();
}

bool IsApart(const Cell& list, const Heap& heap) { return list.columns.empty() ? AreNew(list, heap) : list.apart; }

bool IsSole(const Cell& list, const Heap& heap) { return list.columns.empty() ? AreNew(list, heap) : list.sole; }

void ShareAll(Heap& heap) {
  for (uint32_t cell = 0; cell < heap.size(); ++cell) {
    if (heap[cell].sole) heap.Edit(cell).sole = false;
    if (const auto taken = heap[cell].taken; taken && taken->sole)
      heap.Edit(cell).taken = std::make_shared<const TakenRow>(taken->list, taken->place, taken->contents, taken->apart, false);
  }
}

Val TakeRow(Heap& heap, uint32_t list, const Val& place, const Val& row) {
  const std::shared_ptr<const Cell> contents = heap.Contents(list);
  bool apart = IsApart(*contents, heap), sole = IsSole(*contents, heap);
  for (uint32_t other = heap.size(); other-- > 0;) {
    const std::shared_ptr<const TakenRow>& taken = heap[other].taken;
    if (!taken || taken->list != list || taken->contents != contents) continue;
    if (SameConstant(taken->place, place) && !heap[other].lost) return row.Is<DictVal>() ? Val(DictVal{other}) : Val(ListVal{other});
    apart = taken->apart;  // its elements are held since then
    sole = taken->sole;
  }
  for (const Val& element : contents->elements) Hold(heap, element);
  Cell& cell = heap.Edit(*CellOf(row));
  cell.is_row = true;
  cell.taken = std::make_shared<const TakenRow>(list, place, contents, apart, sole);
  return row;
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

bool Reaches(const Heap& heap, uint32_t row, uint32_t other) {
  const bool holds = heap[other].has_rows || !heap[other].keys.empty();
  if (!holds && !heap[other].is_row) return false;
  const auto owner = OwnerOf(heap, row);
  if (!owner) return true;
  if (other == *owner) return false;  // it is put back there
  if (!heap[row].taken->sole || heap[*owner].shared) return true;
  if (holds) return false;
  const auto elsewhere = OwnerOf(heap, other);
  return !elsewhere || *elsewhere == *owner || !heap[other].taken->sole || heap[*elsewhere].shared;
}

}  // namespace flambeau::script
