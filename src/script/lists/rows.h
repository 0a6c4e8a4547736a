// Lists of lists whose length is known at run time only: their elements one after another, and where each list begins.
#pragma once

#include <optional>
#include <vector>

#include "script/evaluator.h"
#include "script/regions/skeleton.h"

namespace flambeau::script {

// The columns of a cell that has rows.
enum RowColumn : uint8_t { kRowElements, kRowBounds };

// Whether the list holds lists.
bool HoldsLists(const Cell& list, const Heap& heap);
// The list's elements and bounds; `elements` says what the elements are as a list.
Result<std::vector<Cell>> RowColumns(Emitter& emit, const Cell& list, const Skeleton& elements);

// The rows of a tensor of two dimensions as lists of numbers.
Result<Vals> RowsOfNumbers(Evaluator& evaluator, const Val& tensor);

// Whether the node does something with such a list, or needs one.
bool WantsRows(const torchscript::Node& node, std::span<const Val> arguments, const Heap& heap);
// What it does. `puts_back`: it sets what was taken out there.
Result<Vals> OnRows(Evaluator& evaluator, const torchscript::Node& node, std::span<const Val> arguments, bool puts_back = false);

// What the builtin function does with a list, of whatever that holds. `puts_back`: it sets what was taken out there.
Result<Vals> CallOnList(Evaluator& evaluator, const torchscript::Node& node, std::span<const Val> arguments, bool puts_back = false);

// The row, which was taken out of a list of lists and written, becomes the list's element.
Status PutList(Evaluator& evaluator, const TakenRow& taken, uint32_t row);

}  // namespace flambeau::script
