// Symbolic integers: sizes such as `2*batch + 1`, and elements of small tensors.
//
// Expressions are interned in canonical form, so equality of handles is
// equality of the algebra as far as the canonical form decides it. A sum is a
// flat list of (coefficient × product), sorted; products of sums are expanded
// while small. What overflows 64 bits becomes a fresh anonymous symbol:
// nothing is known of it, which is always true.
//
// Depth and size are bounded (kMaxDepth, kMaxWeight), so recursion over an
// expression is safe, and so is walking it as a tree though it is a DAG.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/ids.h"
#include "support/store.h"

namespace flambeau {

enum class ExprKind : uint8_t {
  kConstant,
  kSymbol,
  kAdd,       // n-ary
  kMul,       // n-ary; a constant factor comes first
  kFloorDiv,  // towards -inf
  kMod,       // sign of the divisor, as Python has it
  kMax,       // n-ary
  kMin,       // n-ary
  kPow,       // base, non-negative exponent
  kEqual,     // 1 or 0
  kLess,      // 1 or 0
  kSelect,    // condition, then, otherwise
};

enum class SymbolKind : uint8_t {
  kDimension,  // a size of an input
  kUnbacked,   // a value known at run time only: u0
  kAnonymous,  // a size of which nothing is known; has no printable name
};

class ExprPool {
 public:
  static constexpr int kMaxDepth = 64;
  static constexpr size_t kMaxTerms = 64;
  static constexpr uint32_t kMaxWeight = 4096;  // operators and operands, counted as in a tree

  ExprPool() = default;
  ExprPool(const ExprPool&) = delete;
  ExprPool& operator=(const ExprPool&) = delete;

  Expr Constant(int64_t value);
  // The symbol of that name; made at the first call.
  Expr Symbolic(std::string_view name, SymbolKind kind = SymbolKind::kDimension);
  // The symbol of that name; invalid if there is none.
  Expr Find(std::string_view name) const;
  Expr Anonymous();         // a size: at least 0
  Expr AnonymousInteger();  // may be negative

  Expr Add(Expr a, Expr b);
  Expr Sub(Expr a, Expr b);
  Expr Mul(Expr a, Expr b);
  Expr FloorDiv(Expr a, Expr b);
  Expr CeilDiv(Expr a, Expr b);  // -((-a) // b)
  Expr Mod(Expr a, Expr b);
  Expr Max(Expr a, Expr b);
  Expr Min(Expr a, Expr b);
  Expr Pow(Expr base, Expr exponent);
  Expr Equal(Expr a, Expr b);
  Expr Less(Expr a, Expr b);
  Expr Select(Expr condition, Expr then, Expr otherwise);

  ExprKind kind(Expr e) const { return items_[e].kind; }
  std::optional<int64_t> AsConstant(Expr e) const;
  bool IsConstant(Expr e, int64_t value) const { return AsConstant(e) == value; }
  std::span<const Expr> operands(Expr e) const { return items_[e].operands; }
  std::string_view symbol_name(Expr e) const { return items_[e].name; }
  SymbolKind symbol_kind(Expr e) const { return items_[e].symbol_kind; }

  // What is known of a value; sizes of inputs are at least 0.
  struct Range {
    int64_t min, max;
  };
  void SetRange(Expr symbol, Range range);
  Range RangeOf(Expr e) const;

  // Renames a symbol; all expressions over it follow.
  void Rename(Expr symbol, std::string_view name);
  // `e` with symbols replaced. Symbols that the map lacks stay.
  Expr Substitute(Expr e, const std::unordered_map<Expr, Expr>& replacements);
  // Calls f(symbol) for each symbol that occurs, possibly more than once.
  template <class F>
  void ForEachSymbol(Expr e, F f) const {
    std::vector<Expr> pending{e};
    while (!pending.empty()) {
      const Expr next = pending.back();
      pending.pop_back();
      if (kind(next) == ExprKind::kSymbol) f(next);
      const auto inner = operands(next);
      pending.insert(pending.end(), inner.begin(), inner.end());
    }
  }
  bool HasAnonymous(Expr e) const;
  // Whether a value that is known at run time only is part of it.
  bool HasUnbacked(Expr e) const;

  // As dim_param text: "2*batch + 1", "floor(height/2)", "Max(a, b)". Operands
  // are in the order of their text, so equal expressions of two pools read the
  // same. ParseExpr (ir/expr_text.h) reads it back.
  std::string Text(Expr e) const;
  // The same with anonymous symbols numbered by `numbers`, which grows.
  std::string Text(Expr e, std::unordered_map<Expr, size_t>* numbers) const;
  // The value under an assignment of the symbols; nullopt if one is missing, or
  // on division by zero or overflow.
  std::optional<int64_t> Evaluate(Expr e, const std::unordered_map<Expr, int64_t>& values) const;

  size_t size() const { return items_.size(); }

 private:
  struct Item {
    ExprKind kind;
    SymbolKind symbol_kind = SymbolKind::kDimension;
    uint8_t depth = 0;
    uint32_t weight = 1;
    int64_t constant = 0;
    std::vector<Expr> operands;
    std::string name;
    Range range{INT64_MIN, INT64_MAX};
  };
  struct Term {
    Expr product;  // without its constant factor
    int64_t coefficient;
  };

  Expr Make(ExprKind kind, std::vector<Expr> operands);
  Expr MakeSum(std::vector<Term> terms, int64_t constant);
  bool Terms(Expr e, std::vector<Term>* terms, int64_t* constant) const;
  Expr Product(Expr a, Expr b);
  Expr Extremum(ExprKind kind, Expr a, Expr b);
  // A product as its constant factor and the rest.
  Term Split(Expr product);
  Expr DivideTerms(Expr a, int64_t divisor);

  Store<Expr, Item> items_;
  std::unordered_map<int64_t, Expr> constants_;
  std::unordered_map<std::string, Expr> symbols_;
  std::unordered_multimap<size_t, Expr> composites_;
  uint32_t anonymous_ = 0;
};

}  // namespace flambeau
