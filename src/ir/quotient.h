// Arithmetic on what occurs inside symbolic sizes before a floor or a cast
// makes an integer of it: exact quotients of integer expressions, and floats
// of which nothing is known.
//
// floor(s/2) is FloorDiv(s, 2) because s/2 is kept as the pair (s, 2).
#pragma once

#include <optional>
#include <string_view>

#include "ir/expr.h"

namespace flambeau {

struct Quotient {
  enum class Kind : uint8_t {
    kExact,     // numerator / denominator; a constant denominator is positive
    kOpaque,    // a float whose value cannot be expressed
    kInfinity,  // the infinity of integers; `numerator` is the extreme int64
    kPair,      // (value, condition), a piece of a Piecewise
  };
  Kind kind = Kind::kOpaque;
  bool floating = false;  // its Python type is float, whatever its value
  bool boolean = false;   // 0 or 1
  Expr numerator, denominator;
  Expr condition;

  bool exact() const { return kind == Kind::kExact; }
  // An exact integer, whatever its Python type. Denominators are reduced.
  bool IsInteger() const { return exact() && !denominator; }
};

class QuotientAlgebra {
 public:
  explicit QuotientAlgebra(ExprPool& pool) : pool_(pool) {}

  ExprPool& pool() { return pool_; }

  static Quotient Opaque() { return {.floating = true}; }
  static Quotient Integer(Expr e) { return {.kind = Quotient::Kind::kExact, .numerator = e}; }
  static Quotient Truth(Expr e) { return {.kind = Quotient::Kind::kExact, .boolean = true, .numerator = e}; }
  Quotient Integer(int64_t value) { return Integer(pool_.Constant(value)); }
  // An integer that has no expression; one and the same for equal source text.
  Quotient Unknown();
  // The text of what is being computed.
  void set_source(std::string_view source) { source_ = source; }
  Quotient UnknownTruth();
  Quotient Infinity(bool negative);
  Quotient Ratio(Expr numerator, Expr denominator);
  // Exact where the denominator is a small power of two.
  Quotient Float(double value);

  Quotient Negate(const Quotient& a);
  Quotient Add(const Quotient& a, const Quotient& b);
  Quotient Sub(const Quotient& a, const Quotient& b) { return Add(a, Negate(b)); }
  Quotient Mul(const Quotient& a, const Quotient& b);
  Quotient Div(const Quotient& a, const Quotient& b);
  Quotient Pow(const Quotient& base, const Quotient& exponent);
  Quotient Mod(const Quotient& a, const Quotient& b);  // as Python has it
  Quotient Extremum(bool max, const Quotient& a, const Quotient& b);

  // To integers.
  Quotient Floor(const Quotient& a);
  Quotient Ceil(const Quotient& a);
  Quotient Truncate(const Quotient& a);
  Quotient Round(const Quotient& a);  // half to even

  Quotient Equal(const Quotient& a, const Quotient& b);
  Quotient Less(const Quotient& a, const Quotient& b);
  Quotient Not(const Quotient& a);
  Quotient And(const Quotient& a, const Quotient& b);
  Quotient Or(const Quotient& a, const Quotient& b);
  Quotient Select(const Quotient& condition, const Quotient& then, const Quotient& otherwise);

 private:
  Expr Denominator(const Quotient& a) { return a.denominator ? a.denominator : pool_.Constant(1); }
  // Both as numerators over one positive denominator; false where its sign is not known.
  bool Common(const Quotient& a, const Quotient& b, Expr* x, Expr* y, Expr* denominator);

  ExprPool& pool_;
  std::string_view source_;
};

}  // namespace flambeau
