// The operators that Flambeau translates.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lower/op.h"

namespace flambeau::lower {

// The row of that full overload name ("aten::add.Tensor"); nullptr if there is none.
const OpRow* FindOp(std::string_view name);
// Every row, by name.
std::vector<const OpRow*> AllOps();
// Whether its translator means the right thing where operands or results are complex.
bool TakesComplex(std::string_view name);
// Whether its translator needs the rank of no operand.
bool TakesUnranked(std::string_view name);
// "aten::x has no translation: no ONNX form because …"
std::string NoTranslation(std::string_view name);

// The lines of no_onnx_form.def, and of open_results.def.
struct OperatorNote {
  std::string_view names, text;
};
std::span<const OperatorNote> OperatorsWithoutOnnxForm();
// Why ONNX has no form for an operator that has no row; nullptr where it is only that nobody wrote one.
const OperatorNote* WhyNoOnnxForm(std::string_view name);
std::span<const OperatorNote> OpenResults();

// Names of supported overloads of the same operator, or close spellings.
std::vector<std::string_view> NearestOps(std::string_view name);

}  // namespace flambeau::lower
