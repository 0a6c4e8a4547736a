// Lists and dicts that are elements of a list of run-time length: it has what they hold as its own, and a write to one
// must reach it.
#pragma once

#include "script/value.h"

namespace flambeau::script {

// Marks a list or dict, and those that may be the same one, as such an element; does nothing for other values.
void Hold(Heap& heap, const Val& element);
// Whether it may be one.
bool IsHeld(const Val& element, const Heap& heap);
// Whether no two elements of the list are the same list or dict.
bool IsApart(const Cell& list, const Heap& heap);
// Whether no other list of run-time length has an element of the list.
bool IsSole(const Cell& list, const Heap& heap);
// For a list that gets an element which any other list may hold: no list is sole any more.
void ShareAll(Heap& heap);
// Whether the elements that are put into a list with columns are in no such list yet, and no two of them are the same.
bool AreNew(const Cell& elements, const Heap& heap);

// The list or dict `row` stands for the list's element at the place. Gives the one that does so already, if there is one.
Val TakeRow(Heap& heap, uint32_t list, const Val& place, const Val& row);
// Whether it is the list or dict that was taken out there, from a list that did not change since.
bool IsRowAt(const Heap& heap, uint32_t list, const Val& place, const Val& row);
// The list that a write to the row is put back into; nullopt if there is none, or if that list may have changed since.
std::optional<uint32_t> OwnerOf(const Heap& heap, uint32_t row);
// Whether a write to the row may change the other cell, or something in it.
bool Reaches(const Heap& heap, uint32_t row, uint32_t other);

}  // namespace flambeau::script
