// The tables of functions that the evaluator runs itself.
#pragma once

#include <span>
#include <string_view>

#include "script/evaluator.h"

namespace flambeau::script {

struct BuiltinRow {
  std::string_view kind;
  Builtin function;
};

std::span<const BuiltinRow> ValueBuiltins();      // builtin_values.cpp: constants, objects, types, text
std::span<const BuiltinRow> ContainerBuiltins();  // builtin_containers.cpp: tuples, lists, dicts
std::span<const BuiltinRow> TensorBuiltins();     // builtin_tensors.cpp: what Python asks of tensors

// Whether two values that are known now are equal; nullopt if that is not known.
std::optional<bool> KnownEqual(const Val& a, const Val& b, const Heap& heap);

}  // namespace flambeau::script
