#include "ir/expr_text.h"

#include <algorithm>

#include "ir/expr_parser.h"
#include "ir/text_lexer.h"

namespace flambeau {
namespace {

enum Precedence { kLowest, kSum, kProduct, kAtom };

bool IsNegative(const ExprPool& pool, Expr e) { return pool.AsConstant(e).value_or(0) < 0; }

// Renders one expression. Operands of commutative operations are sorted by
// their text, not by their handles, which differ between pools.
class Renderer {
 public:
  Renderer(const ExprPool& pool, std::unordered_map<Expr, size_t>* numbers) : pool_(pool), numbers_(numbers) {}

  // With `assign`, anonymous symbols that have no number get the next one;
  // without, the text is a sorting key, made once until a number is given.
  std::string Render(Expr e, int precedence, bool assign) {
    if (assign) return Write(e, precedence, true);
    auto& key = keys_[precedence];
    if (auto it = key.find(e); it != key.end()) return it->second;
    return key[e] = Write(e, precedence, false);
  }

 private:
  std::string Write(Expr e, int precedence, bool assign) {
    switch (pool_.kind(e)) {
      case ExprKind::kConstant: {
        std::string text = std::to_string(*pool_.AsConstant(e));
        return precedence > kSum && text[0] == '-' ? "(" + text + ")" : text;
      }
      case ExprKind::kSymbol: return Name(e, assign);
      case ExprKind::kAdd: return Wrap(Sum(e, assign), precedence > kSum);
      case ExprKind::kMul: return Wrap(Product(Sorted(e), assign), precedence > kProduct);
      case ExprKind::kPow: {
        std::string text = Render(pool_.operands(e)[0], kAtom, assign) + "**";
        text += Render(pool_.operands(e)[1], kAtom, assign);
        return Wrap(std::move(text), precedence > kProduct);
      }
      case ExprKind::kFloorDiv: {
        std::string text = "floor(" + Render(pool_.operands(e)[0], kProduct, assign) + "/";
        return text + Render(pool_.operands(e)[1], kAtom, assign) + ")";
      }
      case ExprKind::kMod: return Call("Mod", pool_.operands(e), assign);
      case ExprKind::kMax: return Call("Max", Sorted(e), assign);
      case ExprKind::kMin: return Call("Min", Sorted(e), assign);
      case ExprKind::kEqual: return Call("Eq", Sorted(e), assign);
      case ExprKind::kLess: return Call("Lt", pool_.operands(e), assign);
      case ExprKind::kSelect: return Call("Select", pool_.operands(e), assign);
    }
    return {};
  }

  static std::string Wrap(std::string text, bool parentheses) { return parentheses ? "(" + text + ")" : text; }

  std::string Name(Expr e, bool assign) {
    const std::string_view name = pool_.symbol_name(e);
    if (pool_.symbol_kind(e) != SymbolKind::kAnonymous)
      return IsPlainSymbolName(name) ? std::string(name) : Quoted(name);
    if (!numbers_) return std::string(name);
    auto it = numbers_->find(e);
    if (it == numbers_->end()) {
      if (!assign) return "?~";  // sorts after those with a number
      it = numbers_->emplace(e, numbers_->size()).first;
      for (auto& key : keys_) key.clear();
    }
    return "?" + std::to_string(it->second);
  }

  std::string Call(std::string_view name, std::span<const Expr> operands, bool assign) {
    std::string text = std::string(name) + "(";
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i > 0) text += ", ";
      text += Render(operands[i], kLowest, assign);
    }
    return text + ")";
  }

  // Operands in printing order: sums first (multiplied from left to right,
  // constants and symbols would be distributed over them), constants before
  // other factors but last in a sum.
  std::vector<Expr> Sorted(Expr e) {
    struct Keyed {
      int group;
      std::string key;
      Expr operand;
    };
    std::vector<Keyed> keyed;
    for (Expr operand : pool_.operands(e)) {
      const ExprKind kind = pool_.kind(operand);
      int group = 1;
      if (pool_.kind(e) == ExprKind::kMul && kind == ExprKind::kAdd) group = -1;
      if (kind == ExprKind::kConstant) group = pool_.kind(e) == ExprKind::kAdd ? 2 : 0;
      keyed.push_back({group, Key(e, operand), operand});
    }
    std::stable_sort(keyed.begin(), keyed.end(), [](const Keyed& a, const Keyed& b) {
      return a.group != b.group ? a.group < b.group : a.key < b.key;
    });
    std::vector<Expr> sorted;
    for (const Keyed& item : keyed) sorted.push_back(item.operand);
    return sorted;
  }

  // In a sum, terms are sorted without their coefficients.
  std::string Key(Expr parent, Expr operand) {
    if (pool_.kind(parent) != ExprKind::kAdd || pool_.kind(operand) != ExprKind::kMul)
      return Render(operand, kAtom, false);
    std::vector<Expr> factors = Sorted(operand);
    std::erase_if(factors, [&](Expr f) { return pool_.kind(f) == ExprKind::kConstant; });
    return Product(factors, false);
  }

  std::string Product(std::span<const Expr> factors, bool assign) {
    std::string text;
    for (size_t i = 0; i < factors.size(); ++i) {
      if (i == 0 && factors.size() > 1 && pool_.IsConstant(factors[i], -1)) {
        text += "-";
        continue;
      }
      if (!text.empty() && text != "-") text += "*";
      // A leading minus binds tighter than the product, so it needs no parentheses.
      text += Render(factors[i], i == 0 && IsNegative(pool_, factors[i]) ? kLowest : kProduct + (i > 0), assign);
    }
    return text;
  }

  std::string Sum(Expr e, bool assign) {
    std::string text;
    for (Expr term : Sorted(e)) {
      const std::string part = Render(term, kSum, assign);
      if (text.empty()) {
        text = part;
      } else if (part[0] == '-') {
        text.append(" - ").append(part, 1);
      } else {
        text.append(" + ").append(part);
      }
    }
    return text;
  }

  const ExprPool& pool_;
  std::unordered_map<Expr, size_t>* numbers_;
  std::unordered_map<Expr, std::string> keys_[kAtom + 1];
};

}  // namespace

std::string ExprPool::Text(Expr e) const { return Text(e, nullptr); }

std::string ExprPool::Text(Expr e, std::unordered_map<Expr, size_t>* numbers) const {
  return Renderer(*this, numbers).Render(e, kLowest, true);
}

bool IsUnbackedName(std::string_view name) {
  return name.size() > 1 && name[0] == 'u' && name.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

bool IsPlainSymbolName(std::string_view name) {
  return !name.empty() && IsNameStart(name[0]) && std::all_of(name.begin(), name.end(), IsNamePartOrDot);
}

Expr ExprReader::Symbol(std::string_view name) {
  return pool_.Symbolic(name, IsUnbackedName(name) ? SymbolKind::kUnbacked : SymbolKind::kDimension);
}

Expr ExprReader::Anonymous(std::string_view number) {
  auto [it, added] = anonymous_.try_emplace(std::string(number));
  if (added) it->second = pool_.Anonymous();
  return it->second;
}

Result<Expr> ExprReader::Read(std::string_view text, Sink& sink, const Location& location) {
  ExprParser parser(pool_, sink, location);
  parser.set_reader(this);
  FLAMBEAU_TRY(const Quotient value, parser.Parse(text));
  if (value.IsInteger()) return value.numerator;
  return sink.Error(DiagnosticKind::kBadExpression, "`" + std::string(text.substr(0, 80)) + "` is no integer", location,
                    "write a division as floor(a/b)");
}

Result<Expr> ParseExpr(std::string_view text, ExprPool& pool, Sink& sink) { return ExprReader(pool).Read(text, sink); }

std::string DimensionText(const ExprPool& exprs, Expr size) {
  return exprs.kind(size) == ExprKind::kSymbol ? std::string(exprs.symbol_name(size)) : exprs.Text(size);
}

}  // namespace flambeau
