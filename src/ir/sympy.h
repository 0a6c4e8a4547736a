// The symbolic sizes of torch.export: SymPy expressions as text.
//
// Since PyTorch 2.7 a .pt2 holds `srepr` text, as in
// Add(Mul(Integer(2), Symbol('s77', integer=True, positive=True)), Integer(1));
// before, `str`: 2*s77 + 1. Both are read, mixed too. Names are kept: u0 is an
// unbacked symbol, all others are dimensions. Assumptions narrow the range.
#pragma once

#include <string_view>

#include "diag/sink.h"
#include "ir/expr.h"

namespace flambeau {

struct SympyResult {
  Expr expr;      // invalid where is_float
  bool is_float;  // the value is a Python float, or a fraction
};

// Integers and truth values (0 or 1). Rounded floats of which nothing is known,
// and infinite sizes, are anonymous integers and the extremes of int64.
Result<SympyResult> ParseSympy(std::string_view text, ExprPool& pool, Sink& sink, const Location& location = {});

}  // namespace flambeau
