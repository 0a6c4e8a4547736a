// Lists of lists whose length is known at run time only: their elements one after another, and where each list begins.
#pragma once

#include <optional>
#include <vector>

#include "script/evaluator.h"

namespace flambeau::script {

// The columns of a cell that has rows.
enum RowColumn : uint8_t { kRowElements, kRowBounds };

// Whether the list holds lists.
bool HoldsLists(const Cell& list, const Heap& heap);
// The list's elements and bounds; `elements` describes the elements as a sequence.
Result<std::vector<Cell>> RowColumns(Emitter& emit, const Cell& list, const Type& elements);

// The rows of a tensor of two dimensions as lists of numbers.
Result<Vals> RowsOfNumbers(Evaluator& evaluator, const Val& tensor);

// Whether the node does something with such a list, or needs one.
bool WantsRows(const torchscript::Node& node, std::span<const Val> arguments, const Heap& heap);
Result<Vals> OnRows(Evaluator& evaluator, const torchscript::Node& node, std::span<const Val> arguments);

// What was taken out of a list of lists or dicts, and written, becomes the list's element.
Status PutRow(Evaluator& evaluator, const TakenRow& taken, uint32_t row);

}  // namespace flambeau::script
