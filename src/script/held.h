// Lists and dicts that are elements of a list of run-time length: it has what they hold as its own, and a write to one
// must reach it.
#pragma once

#include "script/value.h"

namespace flambeau::script {

// The value becomes such an element, and with it what may be the same one. Of others than lists and dicts, nothing.
void Hold(Heap& heap, const Val& element);
// Whether it is one, as far as anybody knows.
bool IsHeld(const Val& element, const Heap& heap);
// Whether no two elements of the list are one list or dict.
bool IsApart(const Cell& list, const Heap& heap);
// Whether no other list of run-time length has an element of the list.
bool IsSole(const Cell& list, const Heap& heap);
// A list gets what may be an element of another one: nobody knows of which.
void ShareAll(Heap& heap);
// Of what nodes do to a list that has columns: the elements that they put in are held by no list as yet.
bool AreNew(const Cell& elements, const Heap& heap);

// The list or dict `row` stands for the list's element at the place. Gives the one that does so already, if there is one.
Val TakeRow(Heap& heap, uint32_t list, const Val& place, const Val& row);
// Whether it is the list or dict that was taken out there, and the list is the same still.
bool IsRowAt(const Heap& heap, uint32_t list, const Val& place, const Val& row);
// The list that a write to the row can be put back into; nullopt if it is none, or not known to be the same still.
std::optional<uint32_t> OwnerOf(const Heap& heap, uint32_t row);
// Whether a write to the row may be one to what the other cell is or holds.
bool Reaches(const Heap& heap, uint32_t row, uint32_t other);

}  // namespace flambeau::script
