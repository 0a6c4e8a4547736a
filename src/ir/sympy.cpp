#include "ir/sympy.h"

#include "ir/expr_parser.h"

namespace flambeau {

Result<SympyResult> ParseSympy(std::string_view text, ExprPool& pool, Sink& sink, const Location& location) {
  ExprParser parser(pool, sink, location);
  FLAMBEAU_TRY(const Quotient value, parser.Parse(text));
  const bool is_integer = value.kind == Quotient::Kind::kInfinity || (value.IsInteger() && !value.floating);
  return SympyResult{is_integer ? value.numerator : Expr{}, !is_integer};
}

}  // namespace flambeau
