#include "ir/expr.h"

#include <gtest/gtest.h>

#include <random>

#include "ir/expr_text.h"

namespace flambeau {
namespace {

class ExprTest : public testing::Test {
 protected:
  Expr Read(std::string_view text) {
    Sink sink;
    const auto e = ParseExpr(text, pool_, sink);
    EXPECT_TRUE(e) << (e ? "" : sink.diagnostics().at(0).message);
    return e ? *e : Expr{};
  }
  std::string Canonical(std::string_view text) { return pool_.Text(Read(text)); }

  ExprPool pool_;
};

TEST_F(ExprTest, SumsAndProductsAreCanonical) {
  EXPECT_EQ(Canonical("b + a - b + 2*a - 1"), "3*a - 1");
  EXPECT_EQ(Canonical("(a + b)*(a - b)"), "a*a - b*b");
  EXPECT_EQ(Canonical("-(a - b)"), "-a + b");
  EXPECT_EQ(Canonical("a*0"), "0");
  EXPECT_EQ(Read("(a + 1)*b"), Read("b + b*a"));
}

TEST_F(ExprTest, DivisionTakesOutWholeTerms) {
  EXPECT_EQ(Canonical("floor((4*a + b + 5)/2)"), "2*a + floor((b + 1)/2) + 2");
  EXPECT_EQ(Canonical("floor((2*a + 3)/4)"), "floor((a + 1)/2)");
  EXPECT_EQ(Canonical("floor(floor(a/2)/3)"), "floor(a/6)");
  EXPECT_EQ(Canonical("floor((floor(a/2) + 3)/3)"), "floor(a/6) + 1");
  EXPECT_EQ(Canonical("floor(0/(a + 1))"), "0");
  EXPECT_EQ(Canonical("Mod(4*a + 6, 4)"), "2");
  EXPECT_EQ(Canonical("Mod(Mod(a, 3), 5)"), "Mod(a, 3)");
}

TEST_F(ExprTest, ExtremaDropWhatIsDominated) {
  EXPECT_EQ(Canonical("Max(a, Max(b, a + 1))"), "Max(a + 1, b)");
  EXPECT_EQ(Read("Max(a, Max(b, a + 1))"), Read("Max(Max(a + 1, a), b)"));
  EXPECT_EQ(Canonical("Min(a, a + b)"), "a");
  EXPECT_EQ(Canonical("Max(0, a)"), "a");
  EXPECT_EQ(Canonical("Max(0, u0)"), "Max(0, u0)");
}

TEST_F(ExprTest, ComparesWhatRangesDecide) {
  EXPECT_EQ(Canonical("Lt(a, a + 1)"), "1");
  EXPECT_EQ(Canonical("Eq(a + 1, 0)"), "0");
  EXPECT_EQ(Canonical("Select(Lt(a, 0), b, c)"), "c");
  EXPECT_EQ(Canonical("Select(Lt(u0, 0), b, c)"), "Select(Lt(u0, 0), b, c)");
}

TEST_F(ExprTest, OverflowMeansThatNothingIsKnown) {
  const Expr max = pool_.Constant(INT64_MAX), min = pool_.Constant(INT64_MIN);
  for (Expr e : {pool_.Add(max, max), pool_.Add(min, min), pool_.Mul(max, max), pool_.Sub(min, max),
                 pool_.Pow(pool_.Constant(3), pool_.Constant(60))}) {
    EXPECT_TRUE(pool_.HasAnonymous(e));
    EXPECT_EQ(pool_.RangeOf(e).min, INT64_MIN);  // it may be negative
  }
  // No decision follows from a difference that overflows.
  const Expr u = pool_.Symbolic("u0", SymbolKind::kUnbacked);
  EXPECT_FALSE(pool_.AsConstant(pool_.Less(pool_.Mul(u, max), pool_.Mul(u, min))));
  EXPECT_EQ(pool_.AsConstant(pool_.FloorDiv(min, pool_.Constant(3))), INT64_MIN / 3 - 1);
  EXPECT_EQ(pool_.AsConstant(pool_.Mod(min, pool_.Constant(3))), 1);
  EXPECT_FALSE(pool_.AsConstant(pool_.FloorDiv(min, pool_.Constant(-1))));
  EXPECT_FALSE(pool_.AsConstant(pool_.FloorDiv(max, pool_.Constant(0))));
}

TEST_F(ExprTest, SizeIsBounded) {
  Expr e = pool_.Symbolic("u0", SymbolKind::kUnbacked);
  for (int i = 0; i < 1000; ++i) e = pool_.Mod(e, pool_.Add(e, pool_.Pow(e, e)));  // a tree of 3^1000 nodes
  EXPECT_LT(pool_.Text(e).size(), 100'000u);
  for (int i = 0; i < 1000; ++i) e = pool_.Add(e, pool_.Symbolic("s" + std::to_string(i)));
  EXPECT_LT(pool_.Text(e).size(), 100'000u);
}

TEST_F(ExprTest, TextDoesNotDependOnTheOrderOfCreation) {
  ExprPool other;
  Sink sink;
  for (std::string_view name : {"c", "b", "a"}) other.Symbolic(name);
  for (std::string_view text : {"a + b + c", "2*c + 3*a*b - 4", "Max(a, b*c)", "Eq(c, a)*b"}) {
    const auto e = ParseExpr(text, other, sink);
    ASSERT_TRUE(e);
    EXPECT_EQ(other.Text(*e), Canonical(text));
  }
}

TEST_F(ExprTest, RenamedSymbolsStayTheSame) {
  const Expr e = Read("2*s77 + 1");
  pool_.Rename(pool_.Symbolic("s77"), "my dim");
  EXPECT_EQ(pool_.Text(e), "2*\"my dim\" + 1");
  EXPECT_EQ(Read("2*\"my dim\" + 1"), e);
  EXPECT_NE(Read("s77"), pool_.Symbolic("my dim"));
}

// Builds random expressions and, beside them, their values by plain arithmetic.
TEST_F(ExprTest, RandomExpressionsKeepTheirValue) {
  std::mt19937 random(20240607);
  const Expr symbols[] = {pool_.Symbolic("a"), pool_.Symbolic("b"), pool_.Symbolic("u0", SymbolKind::kUnbacked)};
  int compared = 0;
  for (int round = 0; round < 20'000; ++round) {
    const int64_t values[] = {static_cast<int64_t>(random() % 20), static_cast<int64_t>(random() % 20),
                              static_cast<int64_t>(random() % 21) - 10};
    std::vector<std::pair<Expr, int64_t>> pile;
    for (int i = 0; i < 3; ++i) pile.push_back({symbols[i], values[i]});
    for (int i = 0; i < 6; ++i) {
      const auto [x, p] = pile[random() % pile.size()];
      auto [y, q] = pile[random() % pile.size()];
      if (random() % 3 == 0) {
        q = static_cast<int64_t>(random() % 9) - 4;
        y = pool_.Constant(q);
      }
      const int64_t floor = q == 0 ? 0 : p / q - (p % q != 0 && (p < 0) != (q < 0));
      switch (random() % 9) {
        case 0: pile.push_back({pool_.Add(x, y), p + q}); break;
        case 1: pile.push_back({pool_.Sub(x, y), p - q}); break;
        case 2:
          if (std::abs(p) < 1000 && std::abs(q) < 1000) pile.push_back({pool_.Mul(x, y), p * q});
          break;
        case 3:
          if (q != 0) pile.push_back({pool_.FloorDiv(x, y), floor});
          break;
        case 4:
          if (q != 0) pile.push_back({pool_.Mod(x, y), p - floor * q});
          break;
        case 5: pile.push_back({pool_.Max(x, y), std::max(p, q)}); break;
        case 6: pile.push_back({pool_.Min(x, y), std::min(p, q)}); break;
        case 7: pile.push_back({pool_.Equal(x, y), p == q}); break;
        case 8: pile.push_back({pool_.Select(pool_.Less(x, y), x, y), p < q ? p : q}); break;
      }
    }
    const auto [e, expected] = pile.back();
    if (pool_.HasAnonymous(e)) continue;
    ++compared;
    const std::string text = pool_.Text(e);
    const std::unordered_map<Expr, int64_t> assignment = {
        {symbols[0], values[0]}, {symbols[1], values[1]}, {symbols[2], values[2]}};
    // A divisor that vanishes elsewhere in a discarded branch has no value.
    const auto value = pool_.Evaluate(e, assignment);
    ASSERT_TRUE(value) << text;
    ASSERT_EQ(*value, expected) << text << " at " << values[0] << ", " << values[1] << ", " << values[2];
    const ExprPool::Range range = pool_.RangeOf(e);
    ASSERT_TRUE(range.min <= expected && expected <= range.max) << text;
    std::unordered_map<Expr, Expr> constants;
    for (const auto& [symbol, number] : assignment) constants[symbol] = pool_.Constant(number);
    ASSERT_EQ(pool_.AsConstant(pool_.Substitute(e, constants)), expected) << text;
    ASSERT_EQ(Read(text), e) << text << " against " << Canonical(text);
  }
  EXPECT_GT(compared, 10'000);
}

TEST_F(ExprTest, EmptyRangesSayNothing) {
  const Expr a = pool_.Symbolic("a"), b = pool_.Symbolic("b");
  pool_.SetRange(b, {1, 0});
  EXPECT_EQ(pool_.RangeOf(b).min, INT64_MIN);
  EXPECT_EQ(pool_.RangeOf(pool_.FloorDiv(a, b)).max, INT64_MAX);
}

}  // namespace
}  // namespace flambeau
