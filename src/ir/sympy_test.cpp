#include "ir/sympy.h"

#include <gtest/gtest.h>

#include "ir/expr_text.h"

namespace flambeau {
namespace {

constexpr int64_t kFloat = INT64_MIN + 1;      // the value is a float
constexpr int64_t kUnknown = INT64_MIN + 2;    // an integer that has no expression
constexpr int64_t kUndefined = INT64_MIN + 3;  // no integer under this assignment

// What torch 2.13 wrote into archives (the `srepr` forms whose symbols say
// positive first), then every function of torch.utils._sympy that it may write,
// each as `srepr` and as `str`; with the values that SymPy gives for
// s77=7 s0=12 u0=3 s10=37 s21=9 s25=33 s63=47 s86=5, and for
// s77=10 s0=4 u0=-2 s10=64 s21=16 s25=50 s63=64 s86=1.
struct Row {
  std::string_view text;
  int64_t first, second;
};
// clang-format off
constexpr Row kRows[] = {
    {"Add(FloorDiv(Add(Symbol('s10', positive=True, integer=True), Mul(Integer(-1), FloorDiv(Symbol('s10', positive=True, integer=True), Integer(2))), Integer(-3)), Integer(2)), Integer(1))", 9, 15},
    {"(((s10 - ((s10//2)) - 3)//2)) + 1", 9, 15},
    {"Add(FloorDiv(Add(Symbol('s25', positive=True, integer=True), Integer(-1)), Integer(2)), Integer(1))", 17, 25},
    {"(((s25 - 1)//2)) + 1", 17, 25},
    {"Add(FloorDiv(Add(Symbol('s25', positive=True, integer=True), Integer(-1)), Integer(4)), Integer(1))", 9, 13},
    {"(((s25 - 1)//4)) + 1", 9, 13},
    {"Add(FloorDiv(Add(Symbol('s63', positive=True, integer=True), Integer(-1)), Integer(2)), Integer(1))", 24, 32},
    {"(((s63 - 1)//2)) + 1", 24, 32},
    {"Add(FloorDiv(Add(Symbol('s63', positive=True, integer=True), Integer(-1)), Integer(4)), Integer(1))", 12, 16},
    {"(((s63 - 1)//4)) + 1", 12, 16},
    {"Add(Mul(Integer(2), Symbol('u0', integer=True)), Integer(1))", 7, -3},
    {"2*u0 + 1", 7, -3},
    {"Add(Mul(Integer(8), Symbol('s10', positive=True, integer=True)), Mul(Integer(8), Symbol('s86', positive=True, integer=True)))", 336, 520},
    {"8*s10 + 8*s86", 336, 520},
    {"Add(Symbol('s10', positive=True, integer=True), Mul(Integer(-1), FloorDiv(Symbol('s10', positive=True, integer=True), Integer(2))))", 19, 32},
    {"s10 - ((s10//2))", 19, 32},
    {"Add(Symbol('s10', positive=True, integer=True), Symbol('s86', positive=True, integer=True))", 42, 65},
    {"s10 + s86", 42, 65},
    {"Add(Symbol('s21', positive=True, integer=True), PythonMod(Mul(Integer(-1), Symbol('s21', positive=True, integer=True)), Integer(16)))", 16, 16},
    {"s21 + (PythonMod(-s21, 16))", 16, 16},
    {"FloatPow(ToFloat(Symbol('s10', positive=True, integer=True)), Float('0.5', precision=53))", kFloat, kFloat},
    {"FloatPow(ToFloat(s10), 0.5)", kFloat, kFloat},
    {"FloatTrueDiv(ToFloat(Symbol('s10', positive=True, integer=True)), Float('3.0', precision=53))", kFloat, kFloat},
    {"FloatTrueDiv(ToFloat(s10), 3.0)", kFloat, kFloat},
    {"FloorDiv(Add(Symbol('s10', positive=True, integer=True), Integer(2)), Integer(3))", 13, 22},
    {"((s10 + 2)//3)", 13, 22},
    {"FloorDiv(Symbol('s10', positive=True, integer=True), Integer(2))", 18, 32},
    {"(s10//2)", 18, 32},
    {"FloorDiv(Symbol('s10', positive=True, integer=True), Integer(3))", 12, 21},
    {"(s10//3)", 12, 21},
    {"FloorDiv(Symbol('s25', positive=True, integer=True), Integer(2))", 16, 25},
    {"(s25//2)", 16, 25},
    {"FloorDiv(Symbol('u0', integer=True), Integer(2))", 1, -1},
    {"(u0//2)", 1, -1},
    {"GreaterThan(Symbol('u0', integer=True), Integer(0))", 1, 0},
    {"u0 >= 0", 1, 0},
    {"GreaterThan(Symbol('u0', integer=True), Integer(2))", 1, 0},
    {"u0 >= 2", 1, 0},
    {"LessThan(Symbol('u0', integer=True), Integer(100))", 1, 1},
    {"u0 <= 100", 1, 1},
    {"Max(Integer(1), TruncToInt(Mul(Float('0.69999999999999996', precision=53), ToFloat(Symbol('s63', positive=True, integer=True)))))", kUnknown, kUnknown},
    {"Max(1, TruncToInt(0.7*ToFloat(s63)))", kUnknown, kUnknown},
    {"Max(Integer(1), TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s63', positive=True, integer=True)))))", 70, 96},
    {"Max(1, TruncToInt(1.5*ToFloat(s63)))", 70, 96},
    {"Max(Symbol('s10', positive=True, integer=True), Symbol('s21', positive=True, integer=True))", 37, 64},
    {"Max(s10, s21)", 37, 64},
    {"Min(FloorDiv(Symbol('u0', integer=True), Integer(2)), Add(Mul(Integer(2), Symbol('u0', integer=True)), Integer(1)))", 1, -3},
    {"Min(2*u0 + 1, (u0//2))", 1, -3},
    {"Min(Integer(3), Mul(Integer(3), Symbol('s21', positive=True, integer=True)))", 3, 3},
    {"Min(3, 3*s21)", 3, 3},
    {"Mul(Add(FloorDiv(Add(Symbol('s25', positive=True, integer=True), Integer(-1)), Integer(2)), Integer(1)), Add(FloorDiv(Add(Symbol('s63', positive=True, integer=True), Integer(-1)), Integer(2)), Integer(1)))", 408, 800},
    {"((((s25 - 1)//2)) + 1)*((((s63 - 1)//2)) + 1)", 408, 800},
    {"Mul(Add(FloorDiv(Add(Symbol('s25', positive=True, integer=True), Integer(-1)), Integer(4)), Integer(1)), Add(FloorDiv(Add(Symbol('s63', positive=True, integer=True), Integer(-1)), Integer(4)), Integer(1)))", 108, 208},
    {"((((s25 - 1)//4)) + 1)*((((s63 - 1)//4)) + 1)", 108, 208},
    {"Mul(Integer(-1), Symbol('s21', positive=True, integer=True))", -9, -16},
    {"-s21", -9, -16},
    {"Mul(Integer(2), Symbol('s10', positive=True, integer=True))", 74, 128},
    {"2*s10", 74, 128},
    {"Mul(Integer(2), Symbol('u0', integer=True))", 6, -4},
    {"2*u0", 6, -4},
    {"Mul(Integer(3), Max(Integer(1), FloorDiv(Symbol('s25', positive=True, integer=True), Integer(2))))", 48, 75},
    {"3*Max(1, (s25//2))", 48, 75},
    {"Mul(Integer(3), Symbol('s21', positive=True, integer=True))", 27, 48},
    {"3*s21", 27, 48},
    {"Mul(Integer(48), Symbol('s25', positive=True, integer=True))", 1584, 2400},
    {"48*s25", 1584, 2400},
    {"Mul(Integer(8), FloorDiv(Symbol('s10', positive=True, integer=True), Integer(2)))", 144, 256},
    {"8*((s10//2))", 144, 256},
    {"Mul(Max(Integer(1), TruncToInt(Mul(Float('0.69999999999999996', precision=53), ToFloat(Symbol('s25', positive=True, integer=True))))), Max(Integer(1), TruncToInt(Mul(Float('0.69999999999999996', precision=53), ToFloat(Symbol('s63', positive=True, integer=True))))))", kUnknown, kUnknown},
    {"Max(1, TruncToInt(0.7*ToFloat(s25)))*Max(1, TruncToInt(0.7*ToFloat(s63)))", kUnknown, kUnknown},
    {"Mul(Max(Integer(1), TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s25', positive=True, integer=True))))), Max(Integer(1), TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s63', positive=True, integer=True))))))", 3430, 7200},
    {"Max(1, TruncToInt(1.5*ToFloat(s25)))*Max(1, TruncToInt(1.5*ToFloat(s63)))", 3430, 7200},
    {"Mul(Symbol('s10', positive=True, integer=True), Symbol('s21', positive=True, integer=True))", 333, 1024},
    {"s10*s21", 333, 1024},
    {"Mul(Symbol('s25', positive=True, integer=True), Symbol('s63', positive=True, integer=True))", 1551, 3200},
    {"s25*s63", 1551, 3200},
    {"Pow(Symbol('s10', positive=True, integer=True), Integer(2))", 1369, 4096},
    {"s10**2", 1369, 4096},
    {"PythonMod(Mul(Integer(-1), Symbol('s21', positive=True, integer=True)), Integer(16))", 7, 0},
    {"PythonMod(-s21, 16)", 7, 0},
    {"Symbol('s10', positive=True, integer=True)", 37, 64},
    {"s10", 37, 64},
    {"Symbol('s21', positive=True, integer=True)", 9, 16},
    {"s21", 9, 16},
    {"Symbol('s25', positive=True, integer=True)", 33, 50},
    {"s25", 33, 50},
    {"Symbol('s63', positive=True, integer=True)", 47, 64},
    {"s63", 47, 64},
    {"Symbol('s86', positive=True, integer=True)", 5, 1},
    {"s86", 5, 1},
    {"Symbol('u0', integer=True)", 3, -2},
    {"u0", 3, -2},
    {"ToFloat(Symbol('s10', positive=True, integer=True))", kFloat, kFloat},
    {"ToFloat(s10)", kFloat, kFloat},
    {"TruncToInt(Mul(Float('0.69999999999999996', precision=53), ToFloat(Symbol('s25', positive=True, integer=True))))", kUnknown, kUnknown},
    {"TruncToInt(0.7*ToFloat(s25))", kUnknown, kUnknown},
    {"TruncToInt(Mul(Float('0.69999999999999996', precision=53), ToFloat(Symbol('s63', positive=True, integer=True))))", kUnknown, kUnknown},
    {"TruncToInt(0.7*ToFloat(s63))", kUnknown, kUnknown},
    {"TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s25', positive=True, integer=True))))", 49, 75},
    {"TruncToInt(1.5*ToFloat(s25))", 49, 75},
    {"TruncToInt(Mul(Float('1.5', precision=53), ToFloat(Symbol('s63', positive=True, integer=True))))", 70, 96},
    {"TruncToInt(1.5*ToFloat(s63))", 70, 96},
    {"Add(Mul(Integer(2), Symbol('s77', integer=True, positive=True)), Integer(1))", 15, 21},
    {"2*s77 + 1", 15, 21},
    {"FloorDiv(Symbol('s77', integer=True, positive=True), Integer(2))", 3, 5},
    {"(s77//2)", 3, 5},
    {"Mul(Symbol('s0', integer=True, nonnegative=True), FloorDiv(Add(Symbol('s77', integer=True, positive=True), Integer(1)), Integer(2)))", 48, 20},
    {"s0*(((s77 + 1)//2))", 48, 20},
    {"CleanDiv(Symbol('s77', integer=True, positive=True), Integer(2))", 3, 5},
    {"PythonMod(Symbol('s77', integer=True, positive=True), Integer(3))", 1, 1},
    {"PythonMod(s77, 3)", 1, 1},
    {"Mod(Symbol('s77', integer=True, positive=True), Integer(3))", 1, 1},
    {"Mod(s77, 3)", 1, 1},
    {"ModularIndexing(Symbol('s77', integer=True, positive=True), Integer(2), Integer(3))", 0, 2},
    {"ModularIndexing(s77, 2, 3)", 0, 2},
    {"Max(Symbol('s0', integer=True, nonnegative=True), Symbol('s77', integer=True, positive=True))", 12, 10},
    {"Max(s0, s77)", 12, 10},
    {"Max(Symbol('s0', integer=True, nonnegative=True), Symbol('s77', integer=True, positive=True), Symbol('u0', integer=True))", 12, 10},
    {"Max(s0, s77, u0)", 12, 10},
    {"Min(Integer(2), Symbol('s77', integer=True, positive=True))", 2, 2},
    {"Min(2, s77)", 2, 2},
    {"Where(StrictGreaterThan(Symbol('s77', integer=True, positive=True), Integer(2)), Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True))", 7, 10},
    {"Where(s77 > 2, s77, s0)", 7, 10},
    {"CeilToInt(IntTrueDiv(Symbol('s77', integer=True, positive=True), Integer(2)))", 4, 5},
    {"CeilToInt(IntTrueDiv(s77, 2))", 4, 5},
    {"TruncToInt(FloatTrueDiv(ToFloat(Symbol('s77', integer=True, positive=True)), Float('2.0', precision=53)))", 3, 5},
    {"TruncToInt(FloatTrueDiv(ToFloat(s77), 2.0))", 3, 5},
    {"Pow(Symbol('s77', integer=True, positive=True), Integer(3))", 343, 1000},
    {"s77**3", 343, 1000},
    {"Pow(Symbol('s77', integer=True, positive=True), Integer(2))", 49, 100},
    {"s77**2", 49, 100},
    {"Pow(Symbol('s77', integer=True, positive=True), Symbol('u0', integer=True))", 343, kUndefined},
    {"s77**u0", 343, kUndefined},
    {"floor(Mul(Rational(1, 2), Symbol('s77', integer=True, positive=True)))", 3, 5},
    {"floor(s77/2)", 3, 5},
    {"ceiling(Mul(Rational(2, 3), Symbol('s77', integer=True, positive=True)))", 5, 7},
    {"ceiling(2*s77/3)", 5, 7},
    {"Equality(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True))", 0, 0},
    {"Eq(s77, s0)", 0, 0},
    {"Unequality(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True))", 1, 1},
    {"Ne(s77, s0)", 1, 1},
    {"StrictLessThan(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True))", 1, 0},
    {"s77 < s0", 1, 0},
    {"GreaterThan(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True))", 0, 1},
    {"s77 >= s0", 0, 1},
    {"LessThan(Symbol('s77', integer=True, positive=True), Integer(3))", 0, 0},
    {"s77 <= 3", 0, 0},
    {"StrictGreaterThan(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True))", 0, 1},
    {"s77 > s0", 0, 1},
    {"And(StrictGreaterThan(Symbol('u0', integer=True), Integer(1)), StrictLessThan(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True)))", 1, 0},
    {"(u0 > 1) & (s77 < s0)", 1, 0},
    {"Or(StrictGreaterThan(Symbol('u0', integer=True), Integer(1)), StrictLessThan(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True)))", 1, 0},
    {"(u0 > 1) | (s77 < s0)", 1, 0},
    {"Identity(Add(Symbol('s77', integer=True, positive=True), Integer(1)))", 8, 11},
    {"(s77 + 1)", 8, 11},
    {"int_oo", INT64_MAX, INT64_MAX},
    {"-int_oo", INT64_MIN, INT64_MIN},
    {"oo", kFloat, kFloat},
    {"zoo", kFloat, kFloat},
    {"Mul(Float('1.5', precision=53), Symbol('s77', integer=True, positive=True))", kFloat, kFloat},
    {"1.5*s77", kFloat, kFloat},
    {"IsNonOverlappingAndDenseIndicator(Symbol('s77', integer=True, positive=True), Symbol('s0', integer=True, nonnegative=True), Symbol('s0', integer=True, nonnegative=True), Integer(1))", kUnknown, kUnknown},
    {"IsNonOverlappingAndDenseIndicator(s77, s0, s0, 1)", kUnknown, kUnknown},
    {"ToFloat(Symbol('s77', integer=True, positive=True))", kFloat, kFloat},
    {"ToFloat(s77)", kFloat, kFloat},
    {"OpaqueUnaryFn_sqrt(Symbol('s77', integer=True, positive=True))", kFloat, kFloat},
    {"OpaqueUnaryFn_sqrt(s77)", kFloat, kFloat},
    {"Float('2.5', precision=53)", kFloat, kFloat},
    {"2.50000000000000", kFloat, kFloat},
    {"true", 1, 1},
    {"True", 1, 1},
    {"Piecewise(ExprCondPair(Symbol('s77', integer=True, positive=True), StrictGreaterThan(Symbol('s77', integer=True, positive=True), Integer(2))), ExprCondPair(Symbol('s0', integer=True, nonnegative=True), true))", 7, 10},
    {"Piecewise((s77, s77 > 2), (s0, True))", 7, 10},
    {"Add(Symbol('s0', integer=True, nonnegative=True), Mul(Rational(1, 2), Symbol('s77', integer=True, positive=True)))", kFloat, kFloat},
    {"s0 + s77/2", kFloat, kFloat},
    {"RoundToInt(FloatPow(ToFloat(Symbol('s77', integer=True, positive=True)), Float('0.5', precision=53)))", kUnknown, kUnknown},
    {"RoundToInt(FloatPow(ToFloat(s77), 0.5))", kUnknown, kUnknown},
    {"Mul(Integer(4), Symbol('s77', integer=True, positive=True))", 28, 40},
    {"4*s77", 28, 40},
    {"BitwiseFn_bitwise_and(Symbol('s77', integer=True, positive=True), Integer(3))", 3, 2},
    {"BitwiseFn_bitwise_and(s77, 3)", 3, 2},
    {"Function('BitwiseFn_bitwise_and')(Symbol('s77', integer=True, positive=True), Integer(3))", 3, 2},
    {"Mul(Integer(-1), Symbol('u0', integer=True))", -3, 2},
    {"-u0", -3, 2},
    {"Abs(Symbol('u0', integer=True))", 3, 2},
    {"Abs(u0)", 3, 2},
    {"TruncToFloat(ToFloat(Symbol('s77', integer=True, positive=True)))", kFloat, kFloat},
    {"TruncToFloat(ToFloat(s77))", kFloat, kFloat},
    {"FloorToInt(FloatTrueDiv(ToFloat(Symbol('s77', integer=True, positive=True)), Float('2.0', precision=53)))", 3, 5},
    {"FloorToInt(FloatTrueDiv(ToFloat(s77), 2.0))", 3, 5},
    {"sign(Symbol('u0', integer=True))", 1, -1},
    {"sign(u0)", 1, -1},
    {"RoundDecimal(ToFloat(Symbol('s77', integer=True, positive=True)), Integer(2))", kFloat, kFloat},
    {"RoundDecimal(ToFloat(s77), 2)", kFloat, kFloat},
};
// clang-format on

TEST(Sympy, ReadsWhatTorchWrites) {
  for (const Row& row : kRows) {
    ExprPool pool;
    Sink sink;
    const auto result = ParseSympy(row.text, pool, sink);
    ASSERT_TRUE(result) << row.text << ": " << sink.diagnostics().at(0).message;
    EXPECT_EQ(result->is_float, row.first == kFloat) << row.text;
    if (result->is_float) continue;
    EXPECT_EQ(pool.HasAnonymous(result->expr), row.first == kUnknown) << row.text;
    if (row.first == kUnknown) continue;
    const std::pair<std::string_view, std::pair<int64_t, int64_t>> kSymbols[] = {
        {"s77", {7, 10}}, {"s0", {12, 4}},   {"u0", {3, -2}},   {"s10", {37, 64}},
        {"s21", {9, 16}}, {"s25", {33, 50}}, {"s63", {47, 64}}, {"s86", {5, 1}}};
    std::unordered_map<Expr, int64_t> first, second;
    for (const auto& [name, values] : kSymbols) {
      first[pool.Symbolic(name)] = values.first;
      second[pool.Symbolic(name)] = values.second;
    }
    EXPECT_EQ(pool.Evaluate(result->expr, first).value_or(kUndefined), row.first) << row.text;
    EXPECT_EQ(pool.Evaluate(result->expr, second).value_or(kUndefined), row.second) << row.text;
    // Our own text of it is the same expression.
    const auto again = ParseExpr(pool.Text(result->expr), pool, sink);
    ASSERT_TRUE(again) << pool.Text(result->expr);
    EXPECT_EQ(*again, result->expr) << pool.Text(result->expr);
  }
}

std::string Text(std::string_view text) {
  ExprPool pool;
  Sink sink;
  const auto result = ParseSympy(text, pool, sink);
  if (!result) return sink.diagnostics().at(0).message;
  return result->is_float ? "float" : pool.Text(result->expr);
}

TEST(Sympy, CancelsFractions) {
  EXPECT_EQ(Text("floor(s0/2)"), "floor(s0/2)");
  EXPECT_EQ(Text("Mul(Rational(1, 2), Mul(Integer(4), Symbol('s0', integer=True)))"), "2*s0");
  EXPECT_EQ(Text("s0/2 + s0/2"), "s0");
  EXPECT_EQ(Text("floor(s0/s1) - floor(s0/s1)"), "0");
  EXPECT_EQ(Text("ceiling(s0/2)"), "-floor(-s0/2)");
  EXPECT_EQ(Text("RoundToInt(5/2) + RoundToInt(7/2) + RoundToInt(-1/2)"), "6");
  EXPECT_EQ(Text("TruncToInt(-7/2)"), "-3");
  EXPECT_EQ(Text("2**-1"), "float");
  EXPECT_EQ(Text("Max(int_oo, s0)"), "9223372036854775807");
  EXPECT_EQ(Text("-9223372036854775808"), "-9223372036854775808");
  EXPECT_EQ(Text("-2**2"), "-4");
  EXPECT_EQ(Text("2**3**2"), "512");
}

TEST(Sympy, KnowsSymbolsByNameAndAssumption) {
  ExprPool pool;
  Sink sink;
  auto min = [&](std::string_view text) { return pool.RangeOf(ParseSympy(text, pool, sink)->expr).min; };
  EXPECT_EQ(min("s0"), 0);
  EXPECT_EQ(min("Symbol('s0', integer=True, positive=True)"), 0);  // what was declared counts
  EXPECT_EQ(min("Symbol('s2', integer=True, positive=True)"), 1);
  EXPECT_EQ(min("s2"), 1);
  EXPECT_EQ(min("Symbol('s1', integer=True)"), INT64_MIN);
  EXPECT_EQ(min("u0"), INT64_MIN);
  EXPECT_EQ(min("Symbol('u1', integer=True, nonnegative=True)"), 0);
  EXPECT_EQ(pool.symbol_kind(ParseSympy("u1", pool, sink)->expr), SymbolKind::kUnbacked);
  EXPECT_TRUE(ParseSympy("zuf0", pool, sink)->is_float);
}

TEST(Sympy, SharesUnknownValuesOfOneText) {
  ExprPool pool;
  Sink sink;
  const auto a = ParseSympy("TruncToInt(0.7*ToFloat(s0))", pool, sink);
  const auto b = ParseSympy("2*TruncToInt(0.7*ToFloat(s0))", pool, sink);
  const auto c = ParseSympy("TruncToInt(0.7*ToFloat(s1))", pool, sink);
  ASSERT_TRUE(a && b && c);
  EXPECT_EQ(pool.Mul(pool.Constant(2), a->expr), b->expr);
  EXPECT_NE(a->expr, c->expr);
}

TEST(Sympy, ReportsWhereTextIsMalformed) {
  EXPECT_EQ(Text(""), "the expression ends where an operand is expected at character 1 of ``");
  EXPECT_EQ(Text("s0 + "), "the expression ends where an operand is expected at character 6 of `s0 + `");
  EXPECT_EQ(Text("(s0"), "a parenthesis is not closed at character 1 of `(s0`");
  EXPECT_EQ(Text("s0)"), "a parenthesis too many at character 3 of `s0)`");
  EXPECT_EQ(Text("s0 s1"), "an operator is expected at character 4 of `s0 s1`");
  EXPECT_EQ(Text("gamma(s0)"), "the function `gamma` is not known at character 1 of `gamma(s0)`");
  EXPECT_EQ(Text("FloorDiv(s0)"), "`FloorDiv` does not take 1 arguments at character 1 of `FloorDiv(s0)`");
  EXPECT_EQ(Text("s0 < s1 < s2"), "a chain of comparisons at character 9 of `s0 < s1 < s2`");
  EXPECT_EQ(Text("(s0, s1)"), "a tuple is no size at character 1 of `(s0, s1)`");
  EXPECT_EQ(Text("(s0, s1) + 1"), "a tuple is no operand at character 10 of `(s0, s1) + 1`");
  EXPECT_EQ(Text("99999999999999999999"), "the integer does not fit 64 bits at character 1 of `99999999999999999999`");
  EXPECT_EQ(Text("Symbol('s0"), "a malformed string at character 8 of `Symbol('s0`");
  EXPECT_EQ(Text("Integer(x)"), "malformed arguments of `Integer` at character 1 of `Integer(x)`");
  EXPECT_EQ(Text("Rational(1, 0)"), "malformed arguments of `Rational` at character 1 of `Rational(1, 0)`");
}

TEST(Sympy, CutsNoCharacterInAMessage) {
  std::string accents;
  for (int i = 0; i < 40; ++i) accents += "é";
  EXPECT_EQ(Text("ab+" + accents), "an operand is expected at character 4 of `ab+" + accents.substr(0, 2 * 28) + "`");
  EXPECT_EQ(Text("\"" + accents + "\""), "an operand is expected at character 1 of `\"" + accents.substr(0, 2 * 29) + "`");
}

TEST(Sympy, IsBoundedOnHostileText) {
  EXPECT_EQ(Text(std::string(60'000, '(')),
            "the expression ends where an operand is expected at character 60001 of `" + std::string(30, '(') + "`");
  EXPECT_EQ(Text(std::string(30'000, '(') + "s0" + std::string(30'000, ')')), "s0");
  EXPECT_EQ(Text(std::string(60'000, '-') + "s0"), "s0");
  EXPECT_EQ(Text(std::string(70'000, '1')).substr(0, 1), "?");
  std::string sum = "s0";
  for (int i = 1; i < 5000; ++i) sum += "+s" + std::to_string(i);
  EXPECT_EQ(Text("(" + sum + ")**2").substr(0, 1), "?");  // too many terms: nothing is known of it
}

}  // namespace
}  // namespace flambeau
