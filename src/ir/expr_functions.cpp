// The functions of SymPy and of torch.utils._sympy that occur in sizes.
#include <algorithm>
#include <array>

#include "ir/expr_parser.h"

namespace flambeau {
namespace {

using A = QuotientAlgebra;
using Args = std::span<const Quotient>;
using Answer = std::optional<Quotient>;

constexpr size_t kAny = SIZE_MAX;

template <auto Combine>
Answer Fold(A& a, Args args) {
  Quotient result = args[0];
  for (const Quotient& q : args.subspan(1)) result = Combine(a, result, q);
  return result;
}

Quotient AddTwo(A& a, const Quotient& x, const Quotient& y) { return a.Add(x, y); }
Quotient MulTwo(A& a, const Quotient& x, const Quotient& y) { return a.Mul(x, y); }
Quotient MaxTwo(A& a, const Quotient& x, const Quotient& y) { return a.Extremum(true, x, y); }
Quotient MinTwo(A& a, const Quotient& x, const Quotient& y) { return a.Extremum(false, x, y); }
Quotient AndTwo(A& a, const Quotient& x, const Quotient& y) { return a.And(x, y); }
Quotient OrTwo(A& a, const Quotient& x, const Quotient& y) { return a.Or(x, y); }

Quotient AsFloat(Quotient q) {
  q.floating = true;
  return q;
}

bool AllIntegers(Args args) {
  return std::all_of(args.begin(), args.end(), [](auto& q) { return q.IsInteger(); });
}

// Of truth values only; an opaque operand has none.
template <auto Combine>
Answer Logic(A& a, Args args) {
  return AllIntegers(args) ? Fold<Combine>(a, args) : a.UnknownTruth();
}

Answer FloorOfRatio(A& a, Args args) { return a.Floor(a.Div(args[0], args[1])); }
Answer TrueDiv(A& a, Args args) { return AsFloat(a.Div(args[0], args[1])); }
Answer Power(A& a, Args args) { return a.Pow(args[0], args[1]); }
Answer Modulo(A& a, Args args) { return a.Mod(args[0], args[1]); }
Answer Floor(A& a, Args args) { return a.Floor(args[0]); }
Answer Ceiling(A& a, Args args) { return a.Ceil(args[0]); }
Answer Same(A&, Args args) { return args[0]; }
Answer Choose(A& a, Args args) { return a.Select(args[0], args[1], args[2]); }
Answer Less(A& a, Args args) { return a.Less(args[0], args[1]); }
Answer Greater(A& a, Args args) { return a.Less(args[1], args[0]); }
Answer LessEqual(A& a, Args args) { return a.Not(a.Less(args[1], args[0])); }
Answer GreaterEqual(A& a, Args args) { return a.Not(a.Less(args[0], args[1])); }
Answer Equal(A& a, Args args) { return a.Equal(args[0], args[1]); }
Answer NotEqual(A& a, Args args) { return a.Not(a.Equal(args[0], args[1])); }
Answer Not(A& a, Args args) { return args[0].IsInteger() ? a.Not(args[0]) : a.UnknownTruth(); }
Answer OpaqueFloat(A&, Args) { return A::Opaque(); }

Answer Pair(A&, Args args) {
  if (!args[1].IsInteger()) return std::nullopt;
  Quotient pair = args[0];
  pair.kind = Quotient::Kind::kPair;
  pair.condition = args[1].numerator;
  return args[0].IsInteger() ? Answer(pair) : std::nullopt;
}

// The last condition must be true: else nothing is known of the remaining case.
Answer Piecewise(A& a, Args args) {
  Quotient result;
  for (size_t i = args.size(); i-- > 0;) {
    if (args[i].kind != Quotient::Kind::kPair) return std::nullopt;
    Quotient value = args[i];
    value.kind = Quotient::Kind::kExact;
    const Quotient otherwise = i + 1 < args.size() ? result : value.floating ? A::Opaque() : a.Unknown();
    result = a.pool().IsConstant(value.condition, 1) ? value : a.Select(A::Truth(value.condition), value, otherwise);
  }
  return result;
}

Answer Absolute(A& a, Args args) { return a.Extremum(true, args[0], a.Negate(args[0])); }
Answer Sign(A& a, Args args) {
  const Quotient zero = a.Integer(0);
  return a.Sub(a.Less(zero, args[0]), a.Less(args[0], zero));
}
Answer ModularIndexing(A& a, Args args) { return a.Mod(a.Floor(a.Div(args[0], args[1])), args[2]); }
Answer ShiftLeft(A& a, Args args) { return a.Mul(args[0], a.Pow(a.Integer(2), args[1])); }
Answer ShiftRight(A& a, Args args) { return a.Floor(a.Div(args[0], a.Pow(a.Integer(2), args[1]))); }
Answer TruncateToInt(A& a, Args args) { return a.Truncate(args[0]); }
Answer TruncateToFloat(A& a, Args args) { return args[0].exact() ? AsFloat(a.Truncate(args[0])) : A::Opaque(); }
Answer RoundToInt(A& a, Args args) { return a.Round(args[0]); }
Answer RoundDecimal(A&, Args args) { return args[0].IsInteger() ? AsFloat(args[0]) : A::Opaque(); }
Answer ToFloat(A&, Args args) { return args[0].exact() ? AsFloat(args[0]) : A::Opaque(); }
Answer FloatPower(A& a, Args args) { return AsFloat(a.Pow(args[0], args[1])); }

template <char op>
Answer Bitwise(A& a, Args args) {
  if (!AllIntegers(args)) return std::nullopt;
  if (args[0].boolean && args[1].boolean) {
    if (op == '&') return a.And(args[0], args[1]);
    if (op == '|') return a.Or(args[0], args[1]);
    return a.Not(a.Equal(args[0], args[1]));
  }
  const auto x = a.pool().AsConstant(args[0].numerator), y = a.pool().AsConstant(args[1].numerator);
  if (x && y) return a.Integer(op == '&' ? *x & *y : op == '|' ? *x | *y : *x ^ *y);
  // x & (2**k - 1)
  if (op == '&' && y && *y >= 0 && *y < INT64_MAX && (*y & (*y + 1)) == 0) return a.Mod(args[0], a.Integer(*y + 1));
  return a.Unknown();
}

// 1 where sizes, then strides, are those of a tensor without gaps or overlap.
Answer NonOverlapping(A& a, Args) { return a.UnknownTruth(); }

// Sorted by name.
constexpr ExprFunction kFunctions[] = {
    {"Abs", 1, 1, Absolute},
    {"Add", 1, kAny, Fold<AddTwo>},
    {"And", 1, kAny, Logic<AndTwo>},
    {"BitwiseFn_bitwise_and", 2, 2, Bitwise<'&'>},
    {"BitwiseFn_bitwise_or", 2, 2, Bitwise<'|'>},
    {"BitwiseFn_bitwise_xor", 2, 2, Bitwise<'^'>},
    {"CeilDiv", 2, 2, [](A& a, Args args) -> Answer { return a.Ceil(a.Div(args[0], args[1])); }},
    {"CeilToInt", 1, 1, Ceiling},
    {"CleanDiv", 2, 2, FloorOfRatio},
    {"Eq", 2, 2, Equal},
    {"Equality", 2, 2, Equal},
    {"ExprCondPair", 2, 2, Pair},
    {"FloatPow", 2, 2, FloatPower},
    {"FloatTrueDiv", 2, 2, TrueDiv},
    {"FloorDiv", 2, 2, FloorOfRatio},
    {"FloorToInt", 1, 1, Floor},
    {"Ge", 2, 2, GreaterEqual},
    {"GreaterThan", 2, 2, GreaterEqual},
    {"Gt", 2, 2, Greater},
    {"ITE", 3, 3, Choose},
    {"Identity", 1, 1, Same},
    {"IntTrueDiv", 2, 2, TrueDiv},
    {"IsNonOverlappingAndDenseIndicator", 0, kAny, NonOverlapping},
    {"LShift", 2, 2, ShiftLeft},
    {"Le", 2, 2, LessEqual},
    {"LessThan", 2, 2, LessEqual},
    {"Lt", 2, 2, Less},
    {"Max", 1, kAny, Fold<MaxTwo>},
    {"Min", 1, kAny, Fold<MinTwo>},
    {"Mod", 2, 2, Modulo},
    {"ModularIndexing", 3, 3, ModularIndexing},
    {"Mul", 1, kAny, Fold<MulTwo>},
    {"Ne", 2, 2, NotEqual},
    {"Not", 1, 1, Not},
    {"Or", 1, kAny, Logic<OrTwo>},
    {"Piecewise", 1, kAny, Piecewise},
    {"Pow", 2, 2, Power},
    {"PowByNatural", 2, 2, Power},
    {"PythonMod", 2, 2, Modulo},
    {"RShift", 2, 2, ShiftRight},
    {"RoundDecimal", 2, 2, RoundDecimal},
    {"RoundToInt", 1, 1, RoundToInt},
    {"Select", 3, 3, Choose},
    {"StrictGreaterThan", 2, 2, Greater},
    {"StrictLessThan", 2, 2, Less},
    {"ToFloat", 1, 1, ToFloat},
    {"TruncToFloat", 1, 1, TruncateToFloat},
    {"TruncToInt", 1, 1, TruncateToInt},
    {"Unequality", 2, 2, NotEqual},
    {"Where", 3, 3, Choose},
    {"Xor", 2, 2, Bitwise<'^'>},
    {"acos", 1, 1, OpaqueFloat},
    {"asin", 1, 1, OpaqueFloat},
    {"asinh", 1, 1, OpaqueFloat},
    {"atan", 1, 1, OpaqueFloat},
    {"ceiling", 1, 1, Ceiling},
    {"cos", 1, 1, OpaqueFloat},
    {"cosh", 1, 1, OpaqueFloat},
    {"exp", 1, 1, OpaqueFloat},
    {"floor", 1, 1, Floor},
    {"log", 1, 2, OpaqueFloat},
    {"log2", 1, 1, OpaqueFloat},
    {"sign", 1, 1, Sign},
    {"sin", 1, 1, OpaqueFloat},
    {"sinh", 1, 1, OpaqueFloat},
    {"sqrt", 1, 1, OpaqueFloat},
    {"tan", 1, 1, OpaqueFloat},
    {"tanh", 1, 1, OpaqueFloat},
};
static_assert(std::is_sorted(std::begin(kFunctions), std::end(kFunctions),
                             [](auto& a, auto& b) { return a.name < b.name; }));
// OpaqueUnaryFn_sqrt and its family.
constexpr ExprFunction kOpaqueUnary = {"OpaqueUnaryFn_", 1, 1, OpaqueFloat};

}  // namespace

const ExprFunction* FindExprFunction(std::string_view name) {
  if (name.starts_with(kOpaqueUnary.name)) return &kOpaqueUnary;
  const auto* found = std::lower_bound(std::begin(kFunctions), std::end(kFunctions), name,
                                       [](const ExprFunction& f, std::string_view n) { return f.name < n; });
  return found != std::end(kFunctions) && found->name == name ? found : nullptr;
}

}  // namespace flambeau
