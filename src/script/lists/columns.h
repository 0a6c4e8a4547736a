// Lists of tuples, or of dicts, whose length is known at run time only: a list for each field.
#pragma once

#include <optional>
#include <vector>

#include "script/evaluator.h"

namespace flambeau::script {

// What each element of such a list holds: so many fields, which in a dict have keys.
struct Fields {
  size_t count = 0;  // 0: nobody knows
  Vals keys;
};

// The fields of a list of tuples or dicts, each as a list; of an empty list, as many empty ones as `fields` says. nullopt
// where it holds something else.
std::optional<std::vector<Cell>> ColumnsOf(const Cell& list, const Heap& heap, const Fields& fields = {});
// None of an empty list, and of one that holds something else.
Fields FieldsOf(const Cell& list, const Heap& heap);

// Whether the node does something with a list that has columns, or needs them.
bool WantsColumns(const torchscript::Node& node, std::span<const Val> arguments, const Heap& heap);
// What it does, field by field. `puts_back`: it sets what was taken out there.
Result<Vals> OnColumns(Evaluator& evaluator, const torchscript::Node& node, std::span<const Val> arguments, bool puts_back = false);

}  // namespace flambeau::script
