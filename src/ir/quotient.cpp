#include "ir/quotient.h"

#include <cmath>
#include <numeric>

namespace flambeau {
namespace {

// The greatest common divisor of `divisor` and all coefficients of `e`.
int64_t CommonFactor(const ExprPool& pool, Expr e, int64_t divisor) {
  auto coefficient = [&](Expr term) {
    if (const auto value = pool.AsConstant(term)) return *value;
    return pool.kind(term) == ExprKind::kMul ? pool.AsConstant(pool.operands(term)[0]).value_or(1) : 1;
  };
  // Of the remainder, because std::gcd has no magnitude for INT64_MIN.
  if (pool.kind(e) != ExprKind::kAdd) return std::gcd(divisor, coefficient(e) % divisor);
  for (Expr term : pool.operands(e)) divisor = std::gcd(divisor, coefficient(term) % divisor);
  return divisor;
}

}  // namespace

Quotient QuotientAlgebra::Unknown() {
  // Nested calls would keep their text many times over, so long ones are not kept.
  constexpr size_t kMaxKept = 256;
  if (source_.empty() || source_.size() > kMaxKept) return Integer(pool_.AnonymousInteger());
  const std::string name = "?" + std::string(source_);
  if (const Expr known = pool_.Find(name)) return Integer(known);
  const Expr made = pool_.Symbolic(name, SymbolKind::kAnonymous);
  pool_.SetRange(made, {INT64_MIN, INT64_MAX});
  return Integer(made);
}

Quotient QuotientAlgebra::UnknownTruth() {
  const Expr e = pool_.AnonymousInteger();
  pool_.SetRange(e, {0, 1});
  return Truth(e);
}

Quotient QuotientAlgebra::Infinity(bool negative) {
  return {.kind = Quotient::Kind::kInfinity, .numerator = pool_.Constant(negative ? INT64_MIN : INT64_MAX)};
}

Quotient QuotientAlgebra::Ratio(Expr numerator, Expr denominator) {
  auto divisor = pool_.AsConstant(denominator);
  if (divisor == 0 || divisor == INT64_MIN) return Opaque();
  if (divisor && *divisor < 0) {
    numerator = pool_.Mul(pool_.Constant(-1), numerator);
    divisor = -*divisor;
  }
  Quotient ratio = Integer(numerator);
  ratio.denominator = denominator;
  if (!divisor) return ratio;
  const int64_t common = CommonFactor(pool_, numerator, *divisor);
  ratio.numerator = pool_.FloorDiv(numerator, pool_.Constant(common));
  ratio.denominator = *divisor == common ? Expr{} : pool_.Constant(*divisor / common);
  return ratio;
}

Quotient QuotientAlgebra::Float(double value) {
  // Products of such numbers with sizes are exact in PyTorch's doubles too.
  constexpr double kScale = 1 << 10;
  Quotient result = Opaque();
  if (const double scaled = value * kScale; std::abs(scaled) < 0x1p52 && scaled == std::floor(scaled))
    result = Ratio(pool_.Constant(static_cast<int64_t>(scaled)), pool_.Constant(static_cast<int64_t>(kScale)));
  result.floating = true;
  return result;
}

Quotient QuotientAlgebra::Negate(const Quotient& a) {
  if (a.kind == Quotient::Kind::kInfinity) return Infinity(!pool_.IsConstant(a.numerator, INT64_MIN));
  return Mul(Integer(-1), a);
}

Quotient QuotientAlgebra::Add(const Quotient& a, const Quotient& b) {
  if (!a.exact() || !b.exact()) return Opaque();
  Quotient sum;
  if (!a.denominator && !b.denominator) {
    sum = Integer(pool_.Add(a.numerator, b.numerator));
  } else {
    const Expr p = Denominator(a), q = Denominator(b);
    sum = p == q ? Ratio(pool_.Add(a.numerator, b.numerator), p)
                 : Ratio(pool_.Add(pool_.Mul(a.numerator, q), pool_.Mul(b.numerator, p)), pool_.Mul(p, q));
  }
  sum.floating = a.floating || b.floating;
  return sum;
}

Quotient QuotientAlgebra::Mul(const Quotient& a, const Quotient& b) {
  if (!a.exact() || !b.exact()) return Opaque();
  Quotient product = !a.denominator && !b.denominator
                         ? Integer(pool_.Mul(a.numerator, b.numerator))
                         : Ratio(pool_.Mul(a.numerator, b.numerator), pool_.Mul(Denominator(a), Denominator(b)));
  product.floating = a.floating || b.floating;
  return product;
}

Quotient QuotientAlgebra::Div(const Quotient& a, const Quotient& b) {
  if (!a.exact() || !b.exact()) return Opaque();
  Quotient ratio = Ratio(pool_.Mul(a.numerator, Denominator(b)), pool_.Mul(Denominator(a), b.numerator));
  ratio.floating = a.floating || b.floating;
  return ratio;
}

Quotient QuotientAlgebra::Pow(const Quotient& base, const Quotient& exponent) {
  if (!base.exact() || !exponent.IsInteger()) return Opaque();
  const auto power = pool_.AsConstant(exponent.numerator);
  Quotient result;
  if (power && *power < 0) {
    if (*power == INT64_MIN) return Opaque();
    const Expr positive = pool_.Constant(-*power);
    result = Ratio(pool_.Pow(Denominator(base), positive), pool_.Pow(base.numerator, positive));
  } else if (base.denominator) {
    result = Ratio(pool_.Pow(base.numerator, exponent.numerator), pool_.Pow(base.denominator, exponent.numerator));
  } else {
    result = Integer(pool_.Pow(base.numerator, exponent.numerator));
  }
  result.floating = base.floating || exponent.floating;
  return result;
}

bool QuotientAlgebra::Common(const Quotient& a, const Quotient& b, Expr* x, Expr* y, Expr* denominator) {
  if (!a.exact() || !b.exact()) return false;
  const Expr p = Denominator(a), q = Denominator(b);
  if (pool_.RangeOf(p).min <= 0 || pool_.RangeOf(q).min <= 0) return false;
  *x = pool_.Mul(a.numerator, q);
  *y = pool_.Mul(b.numerator, p);
  *denominator = pool_.Mul(p, q);
  return true;
}

Quotient QuotientAlgebra::Mod(const Quotient& a, const Quotient& b) {
  Expr x, y, denominator;
  if (!Common(a, b, &x, &y, &denominator)) return Opaque();
  Quotient result = Ratio(pool_.Mod(x, y), denominator);
  result.floating = a.floating || b.floating;
  return result;
}

Quotient QuotientAlgebra::Extremum(bool max, const Quotient& a, const Quotient& b) {
  for (const auto& [infinite, other] : {std::pair(&a, &b), std::pair(&b, &a)})
    if (infinite->kind == Quotient::Kind::kInfinity)
      return max == pool_.IsConstant(infinite->numerator, INT64_MAX) ? *infinite : *other;
  Expr x, y, denominator;
  if (!Common(a, b, &x, &y, &denominator)) return Opaque();
  Quotient result = Ratio(max ? pool_.Max(x, y) : pool_.Min(x, y), denominator);
  result.floating = a.floating || b.floating;
  result.boolean = a.boolean && b.boolean;
  return result;
}

Quotient QuotientAlgebra::Floor(const Quotient& a) {
  if (!a.exact()) return Unknown();
  return Integer(a.denominator ? pool_.FloorDiv(a.numerator, a.denominator) : a.numerator);
}

Quotient QuotientAlgebra::Ceil(const Quotient& a) {
  if (!a.exact()) return Unknown();
  return Integer(a.denominator ? pool_.CeilDiv(a.numerator, a.denominator) : a.numerator);
}

Quotient QuotientAlgebra::Truncate(const Quotient& a) {
  const Quotient floor = Floor(a);
  if (!a.exact() || !a.denominator) return floor;
  const Expr negative = pool_.Less(pool_.Mul(a.numerator, a.denominator), pool_.Constant(0));
  return Integer(pool_.Select(negative, Ceil(a).numerator, floor.numerator));
}

Quotient QuotientAlgebra::Round(const Quotient& a) {
  if (!a.exact()) return Unknown();
  if (!a.denominator) return Integer(a.numerator);
  if (!pool_.AsConstant(a.denominator)) return Unknown();
  const Expr twice = pool_.Mul(pool_.Constant(2), a.denominator);
  const Expr shifted = pool_.Add(pool_.Mul(pool_.Constant(2), a.numerator), a.denominator);
  const Expr up = pool_.FloorDiv(shifted, twice);  // half rounds up; an odd result of a half is one too many
  const Expr half = pool_.Equal(pool_.Mod(shifted, twice), pool_.Constant(0));
  return Integer(pool_.Sub(up, pool_.Mul(half, pool_.Mod(up, pool_.Constant(2)))));
}

Quotient QuotientAlgebra::Equal(const Quotient& a, const Quotient& b) {
  Expr x, y, denominator;
  return Common(a, b, &x, &y, &denominator) ? Truth(pool_.Equal(x, y)) : UnknownTruth();
}

Quotient QuotientAlgebra::Less(const Quotient& a, const Quotient& b) {
  Expr x, y, denominator;
  return Common(a, b, &x, &y, &denominator) ? Truth(pool_.Less(x, y)) : UnknownTruth();
}

Quotient QuotientAlgebra::Not(const Quotient& a) { return Truth(pool_.Sub(pool_.Constant(1), a.numerator)); }

Quotient QuotientAlgebra::And(const Quotient& a, const Quotient& b) {
  return Truth(pool_.Min(a.numerator, b.numerator));
}

Quotient QuotientAlgebra::Or(const Quotient& a, const Quotient& b) {
  return Truth(pool_.Max(a.numerator, b.numerator));
}

Quotient QuotientAlgebra::Select(const Quotient& condition, const Quotient& then, const Quotient& otherwise) {
  const bool floating = then.floating || otherwise.floating;
  if (!condition.IsInteger() || !then.IsInteger() || !otherwise.IsInteger()) return floating ? Opaque() : Unknown();
  Quotient result = Integer(pool_.Select(condition.numerator, then.numerator, otherwise.numerator));
  result.floating = floating;
  result.boolean = then.boolean && otherwise.boolean;
  return result;
}

}  // namespace flambeau
