#include "ir/expr_parser.h"

#include <algorithm>
#include <charconv>

#include "ir/expr_text.h"
#include "ir/text_lexer.h"

namespace flambeau {

int ExprParser::Precedence(Op op) {
  switch (op) {
    case Op::kOpen:
    case Op::kTuple:
    case Op::kCall: return 0;
    case Op::kLess:
    case Op::kLessEqual:
    case Op::kGreater:
    case Op::kGreaterEqual:
    case Op::kEqual:
    case Op::kNotEqual: return 1;
    case Op::kOr: return 2;
    case Op::kXor: return 3;
    case Op::kAnd: return 4;
    case Op::kShiftLeft:
    case Op::kShiftRight: return 5;
    case Op::kAdd:
    case Op::kSub: return 6;
    case Op::kMul:
    case Op::kDiv:
    case Op::kFloorDiv:
    case Op::kMod: return 7;
    case Op::kNegate:
    case Op::kPlus:
    case Op::kInvert: return 8;
    case Op::kPow: return 9;
  }
  return 0;
}

namespace {

// Some characters of `text` around `position`; none of several bytes is cut.
std::string_view Excerpt(std::string_view text, size_t position) {
  constexpr size_t kShown = 60;
  const auto continues = [&](size_t at) { return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80; };
  size_t begin = position > kShown / 2 ? position - kShown / 2 : 0, end = std::min(begin + kShown, text.size());
  while (begin < end && continues(begin)) ++begin;
  while (end > begin && continues(end)) --end;
  return text.substr(begin, end - begin);
}

}  // namespace

Failure ExprParser::Error(size_t position, std::string_view message, std::string hint) {
  std::string text = std::string(message) + " at character " + std::to_string(position + 1) + " of `";
  text += Excerpt(text_, position);
  return sink_.Error(DiagnosticKind::kBadExpression, text + "`", location_, std::move(hint));
}

Result<Quotient> ExprParser::Parse(std::string_view text) {
  text_ = text;
  if (text.size() > kMaxLength) {  // as of any that is beyond the bounds of expressions, nothing is known of it
    const Expr unknown = algebra_.pool().Anonymous();
    algebra_.pool().SetRange(unknown, {INT64_MIN, INT64_MAX});
    return algebra_.Integer(unknown);
  }
  for (SkipSpace(); at_ < text_.size(); SkipSpace())
    FLAMBEAU_CHECK_OK(expect_operand_ ? ReadOperand() : ReadOperator());
  if (expect_operand_) return Error(at_, "the expression ends where an operand is expected");
  FLAMBEAU_CHECK_OK(Reduce(1));
  if (!pending_.empty()) return Error(pending_.back().position, "a parenthesis is not closed");
  if (values_[0].kind == Quotient::Kind::kPair) return Error(0, "a tuple is no size");
  return values_[0];
}

void ExprParser::SkipSpace() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n')) ++at_;
}

Status ExprParser::ReadOperand() {
  const char c = text_[at_];
  if (IsDigit(c) || c == '.') return ReadNumber();
  if (IsNameStart(c)) return ReadName();
  if (reader_ && (c == '"' || c == '?')) {
    const size_t start = at_++;
    if (c == '?') {
      while (at_ < text_.size() && IsDigit(text_[at_])) ++at_;
      Push(algebra_.Integer(reader_->Anonymous(text_.substr(start + 1, at_ - start - 1))));
      return {};
    }
    std::string_view rest = text_.substr(start);
    const auto name = TakeQuoted(&rest);
    if (!name) return Error(start, "a malformed quoted name");
    at_ = text_.size() - rest.size();
    Push(algebra_.Integer(reader_->Symbol(*name)));
    return {};
  }
  const size_t start = at_++;
  switch (c) {
    case '(': pending_.push_back({Op::kOpen, start, values_.size()}); return {};
    case '-': pending_.push_back({Op::kNegate, start}); return {};
    case '+': pending_.push_back({Op::kPlus, start}); return {};
    case '~': pending_.push_back({Op::kInvert, start}); return {};
    case ')':
      if (!pending_.empty() && pending_.back().op == Op::kCall && pending_.back().first_value == values_.size())
        return Close();
      break;
    default: break;
  }
  return Error(start, "an operand is expected");
}

Status ExprParser::ReadNumber() {
  bool is_float;
  const size_t start = at_, length = NumberLength(text_.substr(at_), &is_float);
  if (length == 0) return Error(start, "a malformed number");
  const std::string_view digits = text_.substr(start, length);
  at_ += length;
  if (is_float) {
    const auto value = ParseFloat(digits);
    if (!value) return Error(start, "a number out of range");
    Push(algebra_.Float(*value));
    return {};
  }
  uint64_t magnitude;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude);
  if (error != std::errc() || magnitude > uint64_t{1} << 63) return Error(start, "the integer does not fit 64 bits");
  if (magnitude == uint64_t{1} << 63) {
    // Only as -9223372036854775808.
    if (pending_.empty() || pending_.back().op != Op::kNegate) return Error(start, "the integer does not fit 64 bits");
    pending_.pop_back();
    Push(algebra_.Integer(INT64_MIN));
    return {};
  }
  Push(algebra_.Integer(static_cast<int64_t>(magnitude)));
  return {};
}

Status ExprParser::ReadName() {
  const size_t start = at_;
  while (at_ < text_.size() && IsNamePartOrDot(text_[at_])) ++at_;
  std::string name(text_.substr(start, at_ - start));
  SkipSpace();
  if (!reader_ && name == "Function" && TakeFunctionName(&name)) SkipSpace();
  if (at_ == text_.size() || text_[at_] != '(') return ReadSymbol(name, start);
  if (!reader_ && (name == "Symbol" || name == "Integer" || name == "Rational" || name == "Float"))
    return ReadConstructor(name, start);
  const ExprFunction* function = FindExprFunction(name);
  if (!function)
    return Error(start, "the function `" + name + "` is not known",
                 "report it with the version of PyTorch that wrote it");
  pending_.push_back({Op::kCall, start, values_.size(), function});
  ++at_;
  return {};
}

// ('name') behind Function, as sympy prints functions that it made of text: Function('BitwiseFn_bitwise_and')(s77, 3).
bool ExprParser::TakeFunctionName(std::string* name) {
  if (!text_.substr(at_).starts_with("('")) return false;
  std::string_view rest = text_.substr(at_ + 1);
  const auto quoted = TakeQuoted(&rest);
  if (!quoted || !rest.starts_with(')')) return false;
  *name = *quoted;
  at_ = text_.size() - rest.size() + 1;
  return true;
}

Status ExprParser::ReadSymbol(std::string_view name, size_t start) {
  if (reader_) {
    Push(algebra_.Integer(reader_->Symbol(name)));
    return {};
  }
  if (name == "true" || name == "True" || name == "false" || name == "False") {
    Push(QuotientAlgebra::Truth(algebra_.pool().Constant(name[0] == 't' || name[0] == 'T')));
  } else if (name == "int_oo") {
    Push(algebra_.Infinity(false));
  } else if (name == "oo" || name == "zoo" || name == "nan" || name == "pi" || name == "E") {
    Push(QuotientAlgebra::Opaque());
  } else {
    FLAMBEAU_TRY(Quotient symbol, MakeConstructor("Symbol", std::vector{std::string(name)}, {}, start));
    Push(std::move(symbol));
  }
  return {};
}

// A flat list of literals, of which Float's and Symbol's may be quoted, and
// keywords: Symbol('s77', integer=True, positive=True), Rational(-1, 2).
Status ExprParser::ReadConstructor(std::string_view name, size_t start) {
  ++at_;
  std::vector<std::string> arguments, keywords;
  for (;;) {
    SkipSpace();
    if (at_ == text_.size()) return Error(start, "a parenthesis is not closed");
    if (text_[at_] == ')') break;
    if (text_[at_] == '\'' || text_[at_] == '"') {
      std::string_view rest = text_.substr(at_);
      const auto text = TakeQuoted(&rest);
      if (!text) return Error(at_, "a malformed string");
      arguments.push_back(*text);
      at_ = text_.size() - rest.size();
    } else {
      const size_t first = at_;
      at_ = std::min(text_.find_first_of(",()", at_), text_.size());
      const std::string_view word = text_.substr(first, at_ - first);
      (word.find('=') != std::string_view::npos ? keywords : arguments).emplace_back(word);
    }
    SkipSpace();
    if (at_ < text_.size() && text_[at_] == ',') {
      ++at_;
    } else if (at_ < text_.size() && text_[at_] != ')') {
      return Error(at_, "`,` or `)` is expected");
    }
  }
  ++at_;
  FLAMBEAU_TRY(Quotient made, MakeConstructor(name, arguments, keywords, start));
  Push(std::move(made));
  return {};
}

Result<Quotient> ExprParser::MakeConstructor(std::string_view name, std::span<const std::string> arguments,
                                             std::span<const std::string> keywords, size_t start) {
  auto bad = [&] { return Error(start, "malformed arguments of `" + std::string(name) + "`"); };
  auto integer = [](const std::string& text) -> std::optional<int64_t> {
    int64_t value;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  };
  ExprPool& pool = algebra_.pool();
  if (arguments.size() != (name == "Rational" ? 2 : 1)) return bad();
  if (name == "Float") {
    const auto value = ParseFloat(arguments[0]);
    return value ? Result(algebra_.Float(*value)) : bad();
  }
  if (name != "Symbol") {
    const auto first = integer(arguments[0]), last = integer(arguments.back());
    if (!first || !last || (name == "Rational" && *last == 0)) return bad();
    return name == "Integer" ? algebra_.Integer(*first) : algebra_.Ratio(pool.Constant(*first), pool.Constant(*last));
  }
  const std::string& symbol = arguments[0];
  if (symbol.empty()) return bad();
  if (symbol.starts_with("zuf") || symbol.starts_with("zf")) return QuotientAlgebra::Opaque();
  Expr made = pool.Find(symbol);
  if (!made) {
    made = pool.Symbolic(symbol, IsUnbackedName(symbol) ? SymbolKind::kUnbacked : SymbolKind::kDimension);
    // `srepr` states assumptions; an integer without any may be negative. A range that the program declared counts more:
    // torch takes every size for positive.
    ExprPool::Range range = keywords.empty() ? pool.RangeOf(made) : ExprPool::Range{INT64_MIN, INT64_MAX};
    for (const std::string& keyword : keywords) {
      if (keyword == "positive=True") range.min = std::max<int64_t>(range.min, 1);
      if (keyword == "nonnegative=True") range.min = std::max<int64_t>(range.min, 0);
    }
    pool.SetRange(made, range);
  }
  return QuotientAlgebra::Integer(made);
}

bool ExprParser::TakeBinary(Op* op) {
  static constexpr std::pair<std::string_view, Op> kOperators[] = {
      {"**", Op::kPow},       {"//", Op::kFloorDiv},     {"<<", Op::kShiftLeft}, {">>", Op::kShiftRight},
      {"<=", Op::kLessEqual}, {">=", Op::kGreaterEqual}, {"==", Op::kEqual},     {"!=", Op::kNotEqual},
      {"+", Op::kAdd},        {"-", Op::kSub},           {"*", Op::kMul},        {"/", Op::kDiv},
      {"%", Op::kMod},        {"<", Op::kLess},          {">", Op::kGreater},    {"&", Op::kAnd},
      {"|", Op::kOr},         {"^", Op::kXor},
  };
  for (const auto& [text, candidate] : kOperators) {
    if (!text_.substr(at_).starts_with(text)) continue;
    at_ += text.size();
    *op = candidate;
    return true;
  }
  return false;
}

Status ExprParser::ReadOperator() {
  const size_t start = at_;
  if (text_[at_] == ',') return Comma();
  if (text_[at_] == ')') return Close();
  Op op;
  if (!TakeBinary(&op)) return Error(start, "an operator is expected");
  if (Precedence(op) == 1) {
    FLAMBEAU_CHECK_OK(Reduce(2));
    if (!pending_.empty() && Precedence(pending_.back().op) == 1)
      return Error(start, "a chain of comparisons", "join them with `&`");
  }
  // A power binds to the right; all else to the left.
  FLAMBEAU_CHECK_OK(Reduce(Precedence(op) + (op == Op::kPow)));
  pending_.push_back({op, start});
  expect_operand_ = true;
  return {};
}

// Applies the pending operators that bind at least as tightly as `precedence`.
Status ExprParser::Reduce(int precedence) {
  while (!pending_.empty() && Precedence(pending_.back().op) >= precedence) {
    const Pending top = pending_.back();
    pending_.pop_back();
    FLAMBEAU_CHECK_OK(Apply(top));
  }
  return {};
}

Status ExprParser::Apply(const Pending& pending) {
  const bool unary = Precedence(pending.op) == 8;
  const Quotient right = values_.back();
  values_.pop_back();
  const Quotient left = unary ? right : values_.back();
  if (!unary) values_.pop_back();
  if (left.kind == Quotient::Kind::kPair || right.kind == Quotient::Kind::kPair)
    return Error(pending.position, "a tuple is no operand");
  const Quotient args[] = {left, right};
  auto call = [&](std::string_view name) {
    return FindExprFunction(name)->apply(algebra_, std::span(args).first(unary ? 1 : 2));
  };
  std::optional<Quotient> value;
  switch (pending.op) {
    case Op::kLess: value = call("Lt"); break;
    case Op::kLessEqual: value = call("Le"); break;
    case Op::kGreater: value = call("Gt"); break;
    case Op::kGreaterEqual: value = call("Ge"); break;
    case Op::kEqual: value = call("Eq"); break;
    case Op::kNotEqual: value = call("Ne"); break;
    case Op::kOr: value = call("BitwiseFn_bitwise_or"); break;
    case Op::kXor: value = call("BitwiseFn_bitwise_xor"); break;
    case Op::kAnd: value = call("BitwiseFn_bitwise_and"); break;
    case Op::kShiftLeft: value = call("LShift"); break;
    case Op::kShiftRight: value = call("RShift"); break;
    case Op::kAdd: value = algebra_.Add(left, right); break;
    case Op::kSub: value = algebra_.Sub(left, right); break;
    case Op::kMul: value = algebra_.Mul(left, right); break;
    case Op::kDiv: value = algebra_.Div(left, right); break;
    case Op::kFloorDiv: value = call("FloorDiv"); break;
    case Op::kMod: value = call("PythonMod"); break;
    case Op::kPow: value = algebra_.Pow(left, right); break;
    case Op::kNegate: value = algebra_.Negate(right); break;
    case Op::kPlus: value = right; break;
    case Op::kInvert: value = right.boolean ? call("Not") : algebra_.Sub(algebra_.Integer(-1), right); break;
    default: break;
  }
  if (!value) return Error(pending.position, "the operands make no sense");
  values_.push_back(*value);
  return {};
}

Status ExprParser::Comma() {
  const size_t start = at_++;
  FLAMBEAU_CHECK_OK(Reduce(1));
  if (pending_.empty()) return Error(start, "a comma outside of parentheses");
  if (pending_.back().op == Op::kOpen) pending_.back().op = Op::kTuple;
  expect_operand_ = true;
  return {};
}

Status ExprParser::Close() {
  const size_t start = at_ - (expect_operand_ ? 1 : 0);  // f() was taken as an operand
  if (!expect_operand_) ++at_;
  expect_operand_ = false;
  FLAMBEAU_CHECK_OK(Reduce(1));
  if (pending_.empty()) return Error(start, "a parenthesis too many");
  const Pending open = pending_.back();
  pending_.pop_back();
  if (open.op == Op::kOpen) return {};
  const ExprFunction* function = open.op == Op::kTuple ? FindExprFunction("ExprCondPair") : open.function;
  const std::span<const Quotient> args = std::span(values_).subspan(open.first_value);
  if (args.size() < function->least || args.size() > function->most)
    return Error(open.position,
                 "`" + std::string(function->name) + "` does not take " + std::to_string(args.size()) + " arguments");
  for (const Quotient& arg : args)
    if (arg.kind == Quotient::Kind::kPair && function->name != "Piecewise")
      return Error(open.position, "a tuple is no argument of `" + std::string(function->name) + "`");
  algebra_.set_source(text_.substr(open.position, at_ - open.position));
  const auto value = function->apply(algebra_, args);
  algebra_.set_source({});
  if (!value) return Error(open.position, "the arguments of `" + std::string(function->name) + "` make no sense");
  values_.resize(open.first_value);
  values_.push_back(*value);
  return {};
}

}  // namespace flambeau
