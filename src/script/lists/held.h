// Lists and dicts that are elements of a list of run-time length: it has what they hold as its own, and a write to one
// must reach it.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "script/value.h"

namespace flambeau::script {

// The values that a list or dict holds, at any depth: each as often as it is there, but what it holds once.
void ForEachWithin(const Cell& container, const Heap& heap, const std::function<void(const Val&)>& visit);
// The lists and dicts among these.
std::vector<uint32_t> CellsIn(const Cell& container, const Heap& heap);
// The value itself, and what it holds.
std::vector<uint32_t> CellsIn(const Val& value, const Heap& heap);
// Whether a list with columns has lists or dicts as its own.
bool HoldsCells(const Cell& list);
// Marks the lists and dicts that the element is or holds, and those that may be the same ones, as such elements.
void Hold(Heap& heap, const Val& element);
// Whether it is or holds one that may be such an element.
bool IsHeld(const Val& element, const Heap& heap);
// Whether no two lists or dicts that the list holds, at any depth, are the same.
bool IsApart(const Cell& list, const Heap& heap);
// Whether no other list of run-time length has an element of the list.
bool IsSole(const Cell& list, const Heap& heap);
// For a list that gets an element which any other list may hold: no list is sole any more.
void ShareAll(Heap& heap);
// Whether the elements that are put into a list with columns are in no such list yet, and no two of them are the same.
bool AreNew(const Cell& elements, const Heap& heap);

// What is known of an element of the list, or dict, that is taken out at the place.
TakenRow Taking(const Heap& heap, uint32_t list, const Val& place);
// The list or dict that stands for it already.
std::optional<Val> RowTaken(const Heap& heap, const TakenRow& taken);
// From here on the list or dict `row` does; the list may have got other marks since.
void TakeRow(Heap& heap, const TakenRow& taken, const Val& row);
// The lists and dicts that are the entries of a dict do, too: other elements may be such an entry, or the dict is an element itself.
void TakeEntries(Heap& heap, uint32_t dict, bool apart, bool sole);
// The lists and dicts in what was taken out are elements of a list that they are not put back into: a write to one loses the list.
void Disown(Heap& heap, const Val& taken);
// Whether it is the list or dict that was taken out there, from a list that did not change since.
bool IsRowAt(const Heap& heap, uint32_t list, const Val& place, const Val& row);
// The list that a write to the row is put back into; nullopt if there is none, or if that list may have changed since.
std::optional<uint32_t> OwnerOf(const Heap& heap, uint32_t row);
// The other cells that a write to the row may change, or something in them.
std::vector<uint32_t> ReachedBy(const Heap& heap, uint32_t row);
// The row stands for the same element as before of the list, which has other contents by now, the row's among them.
void TakeAgain(Heap& heap, uint32_t row, const TakenRow& taken);

}  // namespace flambeau::script
