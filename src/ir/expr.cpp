#include "ir/expr.h"

#include <algorithm>
#include <numeric>

namespace flambeau {
namespace {

bool AddOverflow(int64_t a, int64_t b, int64_t* out) { return __builtin_add_overflow(a, b, out); }
bool MulOverflow(int64_t a, int64_t b, int64_t* out) { return __builtin_mul_overflow(a, b, out); }

std::optional<int64_t> FloorDivide(int64_t a, int64_t b) {
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

// Not a - floor(a/b)*b, which may overflow on the way.
std::optional<int64_t> FloorRemainder(int64_t a, int64_t b) {
  if (b == 0) return std::nullopt;
  if (b == -1) return 0;
  const int64_t remainder = a % b;
  return remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}

int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum;
  if (!AddOverflow(a, b, &sum)) return sum;
  return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t SaturatingMul(int64_t a, int64_t b) {
  int64_t product;
  if (!MulOverflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? INT64_MAX : INT64_MIN;
}

std::optional<int64_t> Power(int64_t base, int64_t exponent) {
  if (exponent < 0) return std::nullopt;
  if (base == 0 || base == 1) return exponent == 0 ? 1 : base;
  if (base == -1) return exponent % 2 == 0 ? 1 : -1;
  if (exponent > 63) return std::nullopt;
  int64_t result = 1;
  for (int64_t i = 0; i < exponent; ++i)
    if (MulOverflow(result, base, &result)) return std::nullopt;
  return result;
}

}  // namespace

Expr ExprPool::Constant(int64_t value) {
  if (auto it = constants_.find(value); it != constants_.end()) return it->second;
  Item item{ExprKind::kConstant};
  item.constant = value;
  item.range = {value, value};
  return constants_[value] = items_.Add(std::move(item));
}

Expr ExprPool::Symbolic(std::string_view name, SymbolKind kind) {
  std::string key(name);
  if (auto it = symbols_.find(key); it != symbols_.end()) return it->second;
  Item item{ExprKind::kSymbol, kind};
  item.name = key;
  item.range = {kind == SymbolKind::kUnbacked ? INT64_MIN : 0, INT64_MAX};
  return symbols_[std::move(key)] = items_.Add(std::move(item));
}

Expr ExprPool::Find(std::string_view name) const {
  auto it = symbols_.find(std::string(name));
  return it == symbols_.end() ? Expr{} : it->second;
}

Expr ExprPool::AnonymousInteger() {
  Item item{ExprKind::kSymbol, SymbolKind::kAnonymous};
  item.name = "?" + std::to_string(anonymous_++);
  return items_.Add(std::move(item));
}

Expr ExprPool::Anonymous() {
  const Expr made = AnonymousInteger();
  SetRange(made, {0, INT64_MAX});
  return made;
}

std::optional<int64_t> ExprPool::AsConstant(Expr e) const {
  const Item& item = items_[e];
  if (item.kind != ExprKind::kConstant) return std::nullopt;
  return item.constant;
}

Expr ExprPool::Make(ExprKind kind, std::vector<Expr> operands) {
  int depth = 0;
  uint32_t weight = 1;  // cannot overflow: at most kMaxTerms of at most kMaxWeight
  size_t hash = static_cast<size_t>(kind);
  if (operands.size() > kMaxTerms) return AnonymousInteger();
  for (Expr e : operands) {
    depth = std::max<int>(depth, items_[e].depth);
    weight += items_[e].weight;
    hash = hash * 1000003 ^ std::hash<Expr>()(e);
  }
  if (depth + 1 > kMaxDepth || weight > kMaxWeight) return AnonymousInteger();
  for (auto [it, end] = composites_.equal_range(hash); it != end; ++it) {
    const Item& item = items_[it->second];
    if (item.kind == kind && item.operands == operands) return it->second;
  }
  Item item{kind};
  item.depth = static_cast<uint8_t>(depth + 1);
  item.weight = weight;
  item.operands = std::move(operands);
  const Expr made = items_.Add(std::move(item));
  composites_.emplace(hash, made);
  items_[made].range = RangeOf(made);
  return made;
}

// Splits a canonical expression into a sum of terms; false on overflow.
bool ExprPool::Terms(Expr e, std::vector<Term>* terms, int64_t* constant) const {
  const Item& item = items_[e];
  auto add_one = [&](Expr term) {
    const Item& t = items_[term];
    if (t.kind == ExprKind::kConstant) return !AddOverflow(*constant, t.constant, constant);
    terms->push_back({term, 1});
    return true;
  };
  if (item.kind != ExprKind::kAdd) return add_one(e);
  return std::all_of(item.operands.begin(), item.operands.end(), add_one);
}

ExprPool::Term ExprPool::Split(Expr product) {
  const Item& item = items_[product];
  const auto factor = item.kind == ExprKind::kMul ? AsConstant(item.operands[0]) : std::nullopt;
  if (!factor) return {product, 1};
  std::vector<Expr> rest(item.operands.begin() + 1, item.operands.end());
  return {rest.size() == 1 ? rest[0] : Make(ExprKind::kMul, std::move(rest)), *factor};
}

Expr ExprPool::MakeSum(std::vector<Term> terms, int64_t constant) {
  // Pull constant factors out of products, so that 2*a and -2*a meet.
  for (Term& term : terms) {
    const Term split = Split(term.product);
    if (MulOverflow(term.coefficient, split.coefficient, &term.coefficient)) return AnonymousInteger();
    term.product = split.product;
  }
  std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) { return a.product < b.product; });
  std::vector<Expr> sum;
  for (size_t i = 0; i < terms.size();) {
    int64_t coefficient = 0;
    size_t j = i;
    for (; j < terms.size() && terms[j].product == terms[i].product; ++j)
      if (AddOverflow(coefficient, terms[j].coefficient, &coefficient)) return AnonymousInteger();
    if (coefficient == 1) {
      sum.push_back(terms[i].product);
    } else if (coefficient != 0) {
      std::vector<Expr> factors{Constant(coefficient)};
      const Item& item = items_[terms[i].product];
      if (item.kind == ExprKind::kMul) {
        factors.insert(factors.end(), item.operands.begin(), item.operands.end());
      } else {
        factors.push_back(terms[i].product);
      }
      sum.push_back(Make(ExprKind::kMul, std::move(factors)));
    }
    i = j;
  }
  if (constant != 0 || sum.empty()) sum.push_back(Constant(constant));
  if (sum.size() == 1) return sum[0];
  return Make(ExprKind::kAdd, std::move(sum));
}

Expr ExprPool::Add(Expr a, Expr b) {
  std::vector<Term> terms;
  int64_t constant = 0;
  if (!Terms(a, &terms, &constant) || !Terms(b, &terms, &constant)) return AnonymousInteger();
  return MakeSum(std::move(terms), constant);
}

Expr ExprPool::Sub(Expr a, Expr b) { return a == b ? Constant(0) : Add(a, Mul(Constant(-1), b)); }

// The product of two expressions of which neither is a sum.
Expr ExprPool::Product(Expr a, Expr b) {
  int64_t coefficient = 1;
  std::vector<Expr> factors;
  for (Expr e : {a, b}) {
    const Item& item = items_[e];
    auto take = [&](Expr factor) {
      if (const auto value = AsConstant(factor)) return !MulOverflow(coefficient, *value, &coefficient);
      factors.push_back(factor);
      return true;
    };
    const bool fits =
        item.kind == ExprKind::kMul ? std::all_of(item.operands.begin(), item.operands.end(), take) : take(e);
    if (!fits) return AnonymousInteger();
  }
  if (coefficient == 0 || factors.empty()) return Constant(coefficient);
  // Three sums that are too large to expand have no canonical form; see Mul.
  if (std::count_if(factors.begin(), factors.end(), [&](Expr f) { return kind(f) == ExprKind::kAdd; }) > 2)
    return AnonymousInteger();
  std::sort(factors.begin(), factors.end());
  if (coefficient != 1) factors.insert(factors.begin(), Constant(coefficient));
  if (factors.size() == 1) return factors[0];
  return Make(ExprKind::kMul, std::move(factors));
}

Expr ExprPool::Mul(Expr a, Expr b) {
  const bool sum_a = kind(a) == ExprKind::kAdd, sum_b = kind(b) == ExprKind::kAdd;
  if (!sum_a && !sum_b) return Product(a, b);
  const std::vector<Expr> left = sum_a ? items_[a].operands : std::vector<Expr>{a};
  const std::vector<Expr> right = sum_b ? items_[b].operands : std::vector<Expr>{b};
  if (left.size() * right.size() > kMaxTerms)
    return Make(ExprKind::kMul, a < b ? std::vector{a, b} : std::vector{b, a});
  std::vector<Term> terms;
  int64_t constant = 0;
  for (Expr x : left)
    for (Expr y : right)
      if (!Terms(Product(x, y), &terms, &constant)) return AnonymousInteger();
  return MakeSum(std::move(terms), constant);
}

Expr ExprPool::FloorDiv(Expr a, Expr b) {
  const auto divisor = AsConstant(b);
  if (divisor == 1) return a;
  const auto dividend = AsConstant(a);
  if (dividend && divisor)
    if (const auto quotient = FloorDivide(*dividend, *divisor)) return Constant(*quotient);
  if (RangeOf(b).min > 0) {
    if (a == b) return Constant(1);
    if (dividend == 0) return a;
  }
  if (divisor && *divisor < 0 && *divisor != INT64_MIN) return FloorDiv(Mul(Constant(-1), a), Constant(-*divisor));
  if (!divisor || *divisor <= 0) {
    // x*b // b == x where b is a positive factor.
    if (RangeOf(b).min > 0 && kind(a) == ExprKind::kMul) {
      std::vector<Expr> factors = items_[a].operands;
      if (auto it = std::find(factors.begin(), factors.end(), b); it != factors.end()) {
        factors.erase(it);
        Expr product = Constant(1);
        for (Expr f : factors) product = Mul(product, f);
        return product;
      }
    }
    return Make(ExprKind::kFloorDiv, {a, b});
  }
  if (kind(a) == ExprKind::kFloorDiv) {
    const auto inner = AsConstant(items_[a].operands[1]);
    int64_t both;
    if (inner && *inner > 0 && !MulOverflow(*inner, *divisor, &both))
      return FloorDiv(items_[a].operands[0], Constant(both));
  }
  return DivideTerms(a, *divisor);
}

// floor(a/divisor), divisor > 1: terms that the divisor divides leave the
// fraction, and what divides all of the rest cancels.
Expr ExprPool::DivideTerms(Expr a, int64_t divisor) {
  std::vector<Term> terms, whole, rest;
  int64_t constant = 0;
  if (!Terms(a, &terms, &constant)) return AnonymousInteger();
  int64_t common = divisor;
  for (const Term& term : terms) {
    const Term split = Split(term.product);
    if (split.coefficient % divisor == 0) {
      whole.push_back({split.product, split.coefficient / divisor});
    } else {
      rest.push_back(split);
      common = std::gcd(common, split.coefficient % divisor);
    }
  }
  const int64_t quotient = *FloorDivide(constant, divisor);
  // floor((c*x + r)/(c*d)) == floor((x + floor(r/c))/d)
  const int64_t remainder = *FloorRemainder(constant, divisor) / common;
  const Expr integer = MakeSum(std::move(whole), quotient);
  for (Term& term : rest) term.coefficient /= common;
  if (rest.empty()) return integer;
  const Expr dividend = MakeSum(std::move(rest), remainder);
  const int64_t reduced = divisor / common;
  const Range range = RangeOf(dividend);
  if (range.min >= 0 && range.max < reduced) return integer;
  const Expr fraction = dividend == a && reduced == divisor ? Make(ExprKind::kFloorDiv, {a, Constant(divisor)})
                                                            : FloorDiv(dividend, Constant(reduced));
  return Add(integer, fraction);
}

Expr ExprPool::CeilDiv(Expr a, Expr b) { return Mul(Constant(-1), FloorDiv(Mul(Constant(-1), a), b)); }

Expr ExprPool::Mod(Expr a, Expr b) {
  const auto divisor = AsConstant(b);
  const auto dividend = AsConstant(a);
  if (dividend && divisor)
    if (const auto remainder = FloorRemainder(*dividend, *divisor)) return Constant(*remainder);
  if (divisor == 1 || a == b) return Constant(0);
  if (divisor && *divisor > 0) {
    const Range range = RangeOf(a);
    if (range.min >= 0 && range.max < *divisor) return a;
    const Expr quotient = FloorDiv(a, b);
    if (kind(quotient) != ExprKind::kFloorDiv) {
      const Expr rest = Sub(a, Mul(quotient, b));
      const Range bounds = RangeOf(rest);
      if (bounds.min >= 0 && bounds.max < *divisor) return rest;
    }
  }
  return Make(ExprKind::kMod, {a, b});
}

// Operands are those that no other one is known to dominate, so their order
// does not matter.
Expr ExprPool::Extremum(ExprKind which, Expr a, Expr b) {
  auto parts = [&](Expr e) { return kind(e) == which ? items_[e].operands : std::vector<Expr>{e}; };
  std::vector<Expr> kept = parts(a);
  for (Expr candidate : parts(b)) {
    bool dominated = false;
    std::erase_if(kept, [&](Expr other) {
      if (dominated) return false;
      const Range range = RangeOf(Sub(candidate, other));
      dominated = candidate == other || (which == ExprKind::kMax ? range.max <= 0 : range.min >= 0);
      return !dominated && (which == ExprKind::kMax ? range.min >= 0 : range.max <= 0);
    });
    if (!dominated) kept.push_back(candidate);
  }
  if (kept.size() == 1) return kept[0];
  std::sort(kept.begin(), kept.end());
  return Make(which, std::move(kept));
}

Expr ExprPool::Max(Expr a, Expr b) { return Extremum(ExprKind::kMax, a, b); }
Expr ExprPool::Min(Expr a, Expr b) { return Extremum(ExprKind::kMin, a, b); }

Expr ExprPool::Pow(Expr base, Expr exponent) {
  const auto power = AsConstant(exponent);
  if (const auto value = AsConstant(base); value && power && *power >= 0) {
    const auto folded = Power(*value, *power);
    return folded ? Constant(*folded) : AnonymousInteger();
  }
  if (!power || *power < 0 || *power > 8) return Make(ExprKind::kPow, {base, exponent});
  Expr product = Constant(1);
  for (int64_t i = 0; i < *power; ++i) product = Mul(product, base);
  return product;
}

Expr ExprPool::Equal(Expr a, Expr b) {
  if (a == b) return Constant(1);
  if (AsConstant(a) && AsConstant(b)) return Constant(0);  // their difference may be too large
  const Range range = RangeOf(Sub(a, b));
  if (range.min > 0 || range.max < 0) return Constant(0);
  if (range.min == 0 && range.max == 0) return Constant(1);
  return Make(ExprKind::kEqual, a < b ? std::vector{a, b} : std::vector{b, a});
}

Expr ExprPool::Less(Expr a, Expr b) {
  if (const auto x = AsConstant(a), y = AsConstant(b); x && y) return Constant(*x < *y);
  const Range range = RangeOf(Sub(a, b));
  if (range.max < 0) return Constant(1);
  if (range.min >= 0) return Constant(0);
  return Make(ExprKind::kLess, {a, b});
}

Expr ExprPool::Select(Expr condition, Expr then, Expr otherwise) {
  if (const auto value = AsConstant(condition)) return *value != 0 ? then : otherwise;
  if (then == otherwise) return then;
  return Make(ExprKind::kSelect, {condition, then, otherwise});
}

// An empty range, which no program that runs has, says nothing.
void ExprPool::SetRange(Expr symbol, Range range) {
  items_[symbol].range = range.min <= range.max ? range : Range{INT64_MIN, INT64_MAX};
}

// What follows from the operands, and what else was said of it.
ExprPool::Range ExprPool::RangeOf(Expr e) const {
  const Item& item = items_[e];
  if (item.kind == ExprKind::kConstant || item.kind == ExprKind::kSymbol) return item.range;
  const Range follows = [&]() -> Range {
    auto at = [&](size_t i) { return items_[item.operands[i]].range; };
    Range range = at(0);
    switch (item.kind) {
      case ExprKind::kAdd:
        for (size_t i = 1; i < item.operands.size(); ++i) {
          const Range r = at(i);
          range.min = range.min == INT64_MIN || r.min == INT64_MIN ? INT64_MIN : SaturatingAdd(range.min, r.min);
          range.max = range.max == INT64_MAX || r.max == INT64_MAX ? INT64_MAX : SaturatingAdd(range.max, r.max);
        }
        return range;
      case ExprKind::kMul:
        for (size_t i = 1; i < item.operands.size(); ++i) {
          const Range r = at(i);
          const int64_t corners[] = {SaturatingMul(range.min, r.min), SaturatingMul(range.min, r.max),
                                     SaturatingMul(range.max, r.min), SaturatingMul(range.max, r.max)};
          range = {*std::min_element(corners, corners + 4), *std::max_element(corners, corners + 4)};
        }
        return range;
      case ExprKind::kFloorDiv: {
        const Range divisor = at(1);
        if (divisor.min <= 0) return {INT64_MIN, INT64_MAX};
        return {range.min == INT64_MIN ? INT64_MIN : *FloorDivide(range.min, range.min < 0 ? divisor.min : divisor.max),
                range.max == INT64_MAX ? INT64_MAX : *FloorDivide(range.max, range.max < 0 ? divisor.max : divisor.min)};
      }
      case ExprKind::kMod: {
        const Range divisor = at(1);
        if (divisor.min <= 0) return {INT64_MIN, INT64_MAX};
        return {0, divisor.max == INT64_MAX ? INT64_MAX : divisor.max - 1};
      }
      case ExprKind::kMax:
        for (size_t i = 1; i < item.operands.size(); ++i)
          range = {std::max(range.min, at(i).min), std::max(range.max, at(i).max)};
        return range;
      case ExprKind::kMin:
        for (size_t i = 1; i < item.operands.size(); ++i)
          range = {std::min(range.min, at(i).min), std::min(range.max, at(i).max)};
        return range;
      case ExprKind::kEqual:
      case ExprKind::kLess: return {0, 1};
      case ExprKind::kSelect: return {std::min(at(1).min, at(2).min), std::max(at(1).max, at(2).max)};
      default: return {range.min >= 0 ? 0 : INT64_MIN, INT64_MAX};
    }
  }();
  const Range both{std::max(item.range.min, follows.min), std::min(item.range.max, follows.max)};
  return both.min <= both.max ? both : follows;
}

void ExprPool::Rename(Expr symbol, std::string_view name) {
  Item& item = items_[symbol];
  if (auto it = symbols_.find(item.name); it != symbols_.end() && it->second == symbol) symbols_.erase(it);
  item.name = name;
  symbols_[item.name] = symbol;
}

Expr ExprPool::Substitute(Expr e, const std::unordered_map<Expr, Expr>& replacements) {
  const Item& item = items_[e];
  if (item.kind == ExprKind::kConstant) return e;
  if (item.kind == ExprKind::kSymbol) {
    auto it = replacements.find(e);
    return it == replacements.end() ? e : it->second;
  }
  std::vector<Expr> operands;
  for (Expr operand : item.operands) operands.push_back(Substitute(operand, replacements));
  if (operands == item.operands) return e;
  auto fold = [&](auto combine) {
    Expr result = operands[0];
    for (size_t i = 1; i < operands.size(); ++i) result = (this->*combine)(result, operands[i]);
    return result;
  };
  switch (item.kind) {
    case ExprKind::kAdd: return fold(&ExprPool::Add);
    case ExprKind::kMul: return fold(&ExprPool::Mul);
    case ExprKind::kMax: return fold(&ExprPool::Max);
    case ExprKind::kMin: return fold(&ExprPool::Min);
    case ExprKind::kFloorDiv: return FloorDiv(operands[0], operands[1]);
    case ExprKind::kMod: return Mod(operands[0], operands[1]);
    case ExprKind::kPow: return Pow(operands[0], operands[1]);
    case ExprKind::kEqual: return Equal(operands[0], operands[1]);
    case ExprKind::kLess: return Less(operands[0], operands[1]);
    case ExprKind::kSelect: return Select(operands[0], operands[1], operands[2]);
    default: return e;
  }
}

bool ExprPool::HasAnonymous(Expr e) const {
  bool found = false;
  ForEachSymbol(e, [&](Expr s) { found |= symbol_kind(s) == SymbolKind::kAnonymous; });
  return found;
}

bool ExprPool::HasUnbacked(Expr e) const {
  bool found = false;
  ForEachSymbol(e, [&](Expr s) { found |= symbol_kind(s) == SymbolKind::kUnbacked; });
  return found;
}

std::optional<int64_t> ExprPool::Evaluate(Expr e, const std::unordered_map<Expr, int64_t>& values) const {
  const Item& item = items_[e];
  if (item.kind == ExprKind::kConstant) return item.constant;
  if (item.kind == ExprKind::kSymbol) {
    auto it = values.find(e);
    if (it == values.end()) return std::nullopt;
    return it->second;
  }
  std::vector<int64_t> v;
  for (Expr operand : item.operands) {
    const auto value = Evaluate(operand, values);
    if (!value) return std::nullopt;
    v.push_back(*value);
  }
  int64_t result = v[0];
  switch (item.kind) {
    case ExprKind::kAdd:
      for (size_t i = 1; i < v.size(); ++i)
        if (AddOverflow(result, v[i], &result)) return std::nullopt;
      return result;
    case ExprKind::kMul:
      for (size_t i = 1; i < v.size(); ++i)
        if (MulOverflow(result, v[i], &result)) return std::nullopt;
      return result;
    case ExprKind::kFloorDiv: return FloorDivide(v[0], v[1]);
    case ExprKind::kMod: return FloorRemainder(v[0], v[1]);
    case ExprKind::kMax: return *std::max_element(v.begin(), v.end());
    case ExprKind::kMin: return *std::min_element(v.begin(), v.end());
    case ExprKind::kPow: return Power(v[0], v[1]);
    case ExprKind::kEqual: return v[0] == v[1];
    case ExprKind::kLess: return v[0] < v[1];
    case ExprKind::kSelect: return v[0] != 0 ? v[1] : v[2];
    default: return std::nullopt;
  }
}

}  // namespace flambeau
