// Lists of tuples whose length is known at run time only: a list for each field.
#pragma once

#include <optional>
#include <vector>

#include "script/evaluator.h"

namespace flambeau::script {

// The fields of a list of tuples, each as a list; of an empty list, `fields` empty ones. nullopt where it holds
// something else.
std::optional<std::vector<Cell>> ColumnsOf(const Cell& list, size_t fields = 0);

// Whether the node does something with a list that has columns, or needs them.
bool WantsColumns(const torchscript::Node& node, std::span<const Val> arguments, const Heap& heap);
// What it does, field by field.
Result<Vals> OnColumns(Evaluator& evaluator, const torchscript::Node& node, std::span<const Val> arguments);

}  // namespace flambeau::script
