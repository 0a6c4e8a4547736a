// Symbolic integers as text: what ExprPool::Text writes, read back.
//
// Names are identifiers or stand in double quotes. `u0` (u and digits) is made
// an unbacked symbol, any other new name a dimension. `?7` is anonymous: the
// same number is the same symbol within one reader, and a new one elsewhere.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "diag/sink.h"
#include "ir/expr.h"

namespace flambeau {

class ExprReader {
 public:
  explicit ExprReader(ExprPool& pool) : pool_(pool) {}

  // `location` goes into the diagnostic as it is.
  Result<Expr> Read(std::string_view text, Sink& sink, const Location& location = {});
  // The symbol of a name as it stands in the text, quotes taken off.
  Expr Symbol(std::string_view name);
  Expr Anonymous(std::string_view number);

 private:
  ExprPool& pool_;
  std::unordered_map<std::string, Expr> anonymous_;
};

// A size as a model's dim_param, and whoever looks at a model, has it: a name stands there as it is, not in quotes.
std::string DimensionText(const ExprPool& exprs, Expr size);

Result<Expr> ParseExpr(std::string_view text, ExprPool& pool, Sink& sink);

// Whether PyTorch names symbols of run-time values so: u0.
bool IsUnbackedName(std::string_view name);
// Whether a name needs no quotes.
bool IsPlainSymbolName(std::string_view name);

}  // namespace flambeau
