#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "reader/torchscript/syntax.h"
#include "reader/torchscript/token_cursor.h"

namespace flambeau::torchscript {
namespace {

// Recursion follows the nesting of the code, to this depth. Each nesting costs
// the stack of one walk over the precedences.
constexpr uint32_t kMaxDepth = 256;

// Binary operators by precedence, loosest first; comparisons and the words
// around them have their own rule.
constexpr std::array<std::string_view, 5> kBinaryLevels[] = {
    {"|"}, {"^"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "//", "%", "@"},
};
constexpr std::string_view kComparisons[] = {"<", ">", "<=", ">=", "==", "!="};
constexpr std::string_view kAugmented[] = {"+=", "-=", "*=", "/=", "//=", "%=", "|=", "&=", "^=", "<<=", ">>=", "**=", "@="};

class Parser : TokenCursor {
 public:
  Parser(Syntax& syntax, std::vector<Token> tokens, Sink& sink)
      : TokenCursor(*syntax.source, std::move(tokens), sink), syntax_(syntax) {}

  Status Run() {
    while (Kind() != TokenKind::kEnd) {
      FLAMBEAU_TRY(const StmtId stmt, ParseStatement());
      syntax_.body.push_back(stmt);
    }
    return CheckDepth();
  }

 private:
  // Counts the nesting while it lives.
  struct Nesting {
    explicit Nesting(uint32_t& depth) : depth(depth) { ++depth; }
    ~Nesting() { --depth; }
    Nesting(const Nesting&) = delete;
    uint32_t& depth;
  };
  Status CheckDepth() {
    if (depth_ <= kMaxDepth && !too_high_) return {};
    return syntax_.source->Error(DiagnosticKind::kLimitExceeded, Begin(),
                                 fmt::format("the code is nested more than {} deep", kMaxDepth), sink_);
  }

  // --- expressions ---
  ExprId Make(ExprKind kind, uint32_t begin, std::string_view text = {}, std::vector<ExprId> operands = {}) {
    // "a + a + …" nests without recursion here; who walks the tree recurses.
    uint32_t height = 0;
    for (const ExprId operand : operands)
      if (operand) height = std::max(height, syntax_.exprs[operand].height + 1);
    too_high_ |= height > kMaxDepth;
    return syntax_.exprs.Add({kind, begin, End(), height, text, std::move(operands), {}});
  }

  // `value` or, with a comma, a tuple.
  Result<ExprId> ParseExpressionList() {
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(const ExprId first, ParseStarred());
    if (!Is(",")) return first;
    std::vector<ExprId> elements = {first};
    while (Take(",")) {
      if (!StartsExpression()) break;
      FLAMBEAU_TRY(const ExprId element, ParseStarred());
      elements.push_back(element);
    }
    return Make(ExprKind::kTuple, begin, {}, std::move(elements));
  }
  bool StartsExpression() const {
    switch (Kind()) {
      case TokenKind::kNumber:
      case TokenKind::kString: return true;
      case TokenKind::kName:
        return !IsKeyword(Text()) || Text() == "True" || Text() == "False" || Text() == "None" || Text() == "not";
      case TokenKind::kOperator: {
        const std::string_view text = Text();
        return text == "(" || text == "[" || text == "{" || text == "-" || text == "+" || text == "~" || text == "*" || text == "...";
      }
      default: return false;
    }
  }
  Result<ExprId> ParseStarred() {
    const uint32_t begin = Begin();
    if (!Take("*")) return ParseExpression();
    FLAMBEAU_TRY(const ExprId value, ParseExpression());
    return Make(ExprKind::kStarred, begin, {}, {value});
  }

  Result<ExprId> ParseExpression() {
    const Nesting nesting(depth_);
    FLAMBEAU_CHECK_OK(CheckDepth());
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(const ExprId value, ParseOr());
    if (!Take("if")) return value;
    FLAMBEAU_TRY(const ExprId condition, ParseOr());
    FLAMBEAU_CHECK_OK(Expect("else"));
    FLAMBEAU_TRY(const ExprId otherwise, ParseExpression());
    return Make(ExprKind::kConditional, begin, {}, {condition, value, otherwise});
  }
  Result<ExprId> ParseOr() { return ParseChain("or", &Parser::ParseAnd); }
  Result<ExprId> ParseAnd() { return ParseChain("and", &Parser::ParseNot); }
  Result<ExprId> ParseChain(std::string_view word, Result<ExprId> (Parser::*parse_operand)()) {
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(ExprId left, (this->*parse_operand)());
    while (Take(word)) {
      FLAMBEAU_TRY(const ExprId right, (this->*parse_operand)());
      left = Make(ExprKind::kBinary, begin, word, {left, right});
    }
    return left;
  }
  Result<ExprId> ParseNot() {
    const uint32_t begin = Begin();
    size_t negations = 0;
    for (; Is("not"); ++negations) Advance();
    FLAMBEAU_TRY(ExprId value, ParseComparison());
    for (; negations > 0; --negations) value = Make(ExprKind::kUnary, begin, "not", {value});
    return value;
  }
  // The comparison that comes next, taken; empty if none does.
  std::string_view TakeComparison() {
    if (Kind() == TokenKind::kOperator) {
      for (const std::string_view each : kComparisons)
        if (Take(each)) return each;
    } else if (Take("is")) {
      return Take("not") ? "is not" : "is";
    } else if (Take("in")) {
      return "in";
    } else if (Is("not") && NextText() == "in") {
      Advance();
      Advance();
      return "not in";
    }
    return {};
  }
  Result<ExprId> ParseComparison() {
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(ExprId left, ParseBinary(0));
    for (std::string_view word = TakeComparison(); !word.empty(); word = TakeComparison()) {
      FLAMBEAU_TRY(const ExprId right, ParseBinary(0));
      left = Make(ExprKind::kBinary, begin, word, {left, right});
    }
    return left;
  }
  Result<ExprId> ParseBinary(size_t level) {
    if (level == std::size(kBinaryLevels)) return ParseUnary();
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(ExprId left, ParseBinary(level + 1));
    while (Kind() == TokenKind::kOperator) {
      const auto& level_operators = kBinaryLevels[level];
      const auto* found = std::find(level_operators.begin(), level_operators.end(), Text());
      if (found == level_operators.end()) break;
      const std::string_view word = Text();
      Advance();
      FLAMBEAU_TRY(const ExprId right, ParseBinary(level + 1));
      left = Make(ExprKind::kBinary, begin, word, {left, right});
    }
    return left;
  }
  Result<ExprId> ParseUnary() {
    const Nesting nesting(depth_);
    FLAMBEAU_CHECK_OK(CheckDepth());
    const uint32_t begin = Begin();
    if (Is("-") || Is("~") || Is("+")) {
      const std::string_view word = Text();
      Advance();
      FLAMBEAU_TRY(const ExprId value, ParseUnary());
      return word == "+" ? value : Make(ExprKind::kUnary, begin, word, {value});
    }
    FLAMBEAU_TRY(const ExprId base, ParsePostfix());
    if (!Take("**")) return base;
    FLAMBEAU_TRY(const ExprId exponent, ParseUnary());
    return Make(ExprKind::kBinary, begin, "**", {base, exponent});
  }

  Result<ExprId> ParsePostfix() {
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(ExprId value, ParseAtom());
    while (true) {
      if (Take(".")) {
        // A keyword may name an attribute.
        if (Kind() != TokenKind::kName) return Unexpected("the name of an attribute");
        const std::string_view name = Text();
        Advance();
        value = Make(ExprKind::kAttribute, begin, name, {value});
      } else if (Is("(")) {
        FLAMBEAU_TRY(value, ParseCall(value, begin));
      } else if (Take("[")) {
        std::vector<ExprId> operands = {value};
        do {
          if (Is("]")) break;
          FLAMBEAU_TRY(const ExprId index, ParseIndex());
          operands.push_back(index);
        } while (Take(","));
        FLAMBEAU_CHECK_OK(Expect("]"));
        value = Make(ExprKind::kSubscript, begin, {}, std::move(operands));
      } else {
        return value;
      }
    }
  }
  Result<ExprId> ParseCall(ExprId callee, uint32_t begin) {
    FLAMBEAU_CHECK_OK(Expect("("));
    std::vector<ExprId> operands = {callee};
    std::vector<std::string_view> keywords;
    while (!Is(")")) {
      if (Kind() == TokenKind::kName && NextText() == "=") {
        keywords.push_back(Text());
        Advance();
        Advance();
      } else if (!keywords.empty()) {
        return Unexpected("an argument with a name");
      }
      FLAMBEAU_TRY(const ExprId argument, ParseStarred());
      operands.push_back(argument);
      if (!Take(",")) break;
    }
    FLAMBEAU_CHECK_OK(Expect(")"));
    const ExprId call = Make(ExprKind::kApply, begin, {}, std::move(operands));
    syntax_.exprs[call].keywords = std::move(keywords);
    return call;
  }
  Result<ExprId> ParseIndex() {
    const uint32_t begin = Begin();
    std::vector<ExprId> bounds(3);
    bool is_slice = false;
    for (size_t i = 0; i < bounds.size(); ++i) {
      if (i > 0) {
        if (!Take(":")) break;
        is_slice = true;
      }
      if (Is(":") || Is("]") || Is(",")) continue;
      FLAMBEAU_TRY(bounds[i], ParseExpression());
    }
    if (is_slice) return Make(ExprKind::kSlice, begin, {}, std::move(bounds));
    if (!bounds[0]) return Unexpected("an index");
    return bounds[0];
  }

  Result<ExprId> ParseAtom() {
    const uint32_t begin = Begin();
    const std::string_view text = Text();
    switch (Kind()) {
      case TokenKind::kNumber: Advance(); return Make(ExprKind::kNumber, begin, text);
      case TokenKind::kString: return ParseString();
      case TokenKind::kName: break;
      case TokenKind::kOperator:
        if (text == "(") return ParseParenthesized();
        if (text == "[") return ParseList();
        if (text == "{") return ParseDict();
        if (Take("...")) return Make(ExprKind::kEllipsis, begin);
        return Unexpected("an expression");
      default: return Unexpected("an expression");
    }
    if (Take("True")) return Make(ExprKind::kTrue, begin);
    if (Take("False")) return Make(ExprKind::kFalse, begin);
    if (Take("None")) return Make(ExprKind::kNone, begin);
    FLAMBEAU_TRY(const std::string_view name, ExpectName("an expression"));
    return Make(ExprKind::kName, begin, name);
  }
  Result<ExprId> ParseString() {
    const uint32_t begin = Begin();
    std::string text;
    for (; Kind() == TokenKind::kString; Advance()) text += UnquoteLiteral(Text());
    syntax_.strings.push_back(std::move(text));
    return Make(ExprKind::kString, begin, syntax_.strings.back());
  }
  Result<ExprId> ParseParenthesized() {
    const uint32_t begin = Begin();
    Advance();
    if (Take(")")) return Make(ExprKind::kTuple, begin);
    FLAMBEAU_TRY(const ExprId value, ParseExpressionList());
    FLAMBEAU_CHECK_OK(Expect(")"));
    return value;
  }
  // "for TARGET in ITERABLE", its operands appended.
  Status ParseGenerator(std::vector<ExprId>* operands) {
    FLAMBEAU_CHECK_OK(Expect("for"));
    FLAMBEAU_TRY(const ExprId target, ParseTarget());
    FLAMBEAU_CHECK_OK(Expect("in"));
    FLAMBEAU_TRY(const ExprId iterable, ParseOr());
    operands->insert(operands->end(), {target, iterable});
    if (Is("if") || Is("for")) return Unexpected("']'");
    return {};
  }
  Result<ExprId> ParseList() {
    const uint32_t begin = Begin();
    Advance();
    std::vector<ExprId> elements;
    while (!Is("]")) {
      FLAMBEAU_TRY(const ExprId element, ParseStarred());
      elements.push_back(element);
      if (elements.size() == 1 && Is("for")) {
        FLAMBEAU_CHECK_OK(ParseGenerator(&elements));
        FLAMBEAU_CHECK_OK(Expect("]"));
        return Make(ExprKind::kListComprehension, begin, {}, std::move(elements));
      }
      if (!Take(",")) break;
    }
    FLAMBEAU_CHECK_OK(Expect("]"));
    return Make(ExprKind::kList, begin, {}, std::move(elements));
  }
  Result<ExprId> ParseDict() {
    const uint32_t begin = Begin();
    Advance();
    std::vector<ExprId> entries;
    while (!Is("}")) {
      FLAMBEAU_TRY(const ExprId key, ParseExpression());
      FLAMBEAU_CHECK_OK(Expect(":"));
      FLAMBEAU_TRY(const ExprId value, ParseExpression());
      entries.insert(entries.end(), {key, value});
      if (entries.size() == 2 && Is("for")) {
        FLAMBEAU_CHECK_OK(ParseGenerator(&entries));
        FLAMBEAU_CHECK_OK(Expect("}"));
        return Make(ExprKind::kDictComprehension, begin, {}, std::move(entries));
      }
      if (!Take(",")) break;
    }
    FLAMBEAU_CHECK_OK(Expect("}"));
    return Make(ExprKind::kDict, begin, {}, std::move(entries));
  }
  // What `for` assigns to: no comparison, so that "in" stays.
  Result<ExprId> ParseTarget() {
    const uint32_t begin = Begin();
    FLAMBEAU_TRY(const ExprId first, ParseUnary());
    if (!Is(",")) return first;
    std::vector<ExprId> elements = {first};
    while (Take(",") && !Is("in")) {
      FLAMBEAU_TRY(const ExprId element, ParseUnary());
      elements.push_back(element);
    }
    return Make(ExprKind::kTuple, begin, {}, std::move(elements));
  }

  // --- statements ---
  StmtId Add(Stmt stmt, uint32_t begin) {
    stmt.begin = begin;
    stmt.end = End();
    return syntax_.stmts.Add(std::move(stmt));
  }

  Result<std::vector<StmtId>> ParseBody() {
    FLAMBEAU_CHECK_OK(Expect(":"));
    std::vector<StmtId> body;
    if (Kind() != TokenKind::kNewline) {  // on the same line
      FLAMBEAU_TRY(const StmtId stmt, ParseStatement());
      body.push_back(stmt);
      return body;
    }
    Advance();
    if (Kind() != TokenKind::kIndent) return Unexpected("an indented block");
    Advance();
    while (Kind() != TokenKind::kDedent) {
      if (Kind() == TokenKind::kEnd) return Unexpected("a statement");
      FLAMBEAU_TRY(const StmtId stmt, ParseStatement());
      body.push_back(stmt);
    }
    Advance();
    return body;
  }

  Result<StmtId> ParseStatement() {
    const Nesting nesting(depth_);
    FLAMBEAU_CHECK_OK(CheckDepth());
    const uint32_t begin = Begin();
    Stmt stmt = {StmtKind::kPass};
    if (Take("def")) return ParseDef(begin);
    if (Take("class")) return ParseClass(begin);
    if (Take("if")) return ParseIf(begin);
    if (Take("while")) {
      stmt.kind = StmtKind::kWhile;
      FLAMBEAU_TRY(stmt.value, ParseExpression());
      FLAMBEAU_TRY(stmt.body, ParseBody());
      return Add(std::move(stmt), begin);
    }
    if (Take("for")) {
      stmt.kind = StmtKind::kFor;
      FLAMBEAU_TRY(const ExprId target, ParseTarget());
      stmt.targets = {target};
      FLAMBEAU_CHECK_OK(Expect("in"));
      FLAMBEAU_TRY(stmt.value, ParseExpressionList());
      FLAMBEAU_TRY(stmt.body, ParseBody());
      return Add(std::move(stmt), begin);
    }
    if (Take("with")) {
      stmt.kind = StmtKind::kWith;
      FLAMBEAU_TRY(stmt.value, ParseExpression());
      if (Take("as")) {
        FLAMBEAU_TRY(const ExprId target, ParseTarget());
        stmt.targets = {target};
      }
      FLAMBEAU_TRY(stmt.body, ParseBody());
      return Add(std::move(stmt), begin);
    }
    FLAMBEAU_CHECK_OK(ParseSimple(&stmt));
    const StmtId id = Add(std::move(stmt), begin);
    FLAMBEAU_CHECK_OK(CheckDepth());
    FLAMBEAU_CHECK_OK(ExpectNewline());
    return id;
  }

  Result<StmtId> ParseIf(uint32_t begin) {
    Stmt stmt = {StmtKind::kIf};
    FLAMBEAU_TRY(stmt.value, ParseExpression());
    FLAMBEAU_TRY(stmt.body, ParseBody());
    const uint32_t otherwise = Begin();
    if (Take("elif")) {
      const Nesting nesting(depth_);
      FLAMBEAU_CHECK_OK(CheckDepth());
      FLAMBEAU_TRY(const StmtId nested, ParseIf(otherwise));
      stmt.otherwise = {nested};
    } else if (Take("else")) {
      FLAMBEAU_TRY(stmt.otherwise, ParseBody());
    }
    return Add(std::move(stmt), begin);
  }

  Result<StmtId> ParseDef(uint32_t begin) {
    Def def;
    def.begin = begin;
    FLAMBEAU_TRY(def.name, ExpectName("the name of a function"));
    FLAMBEAU_CHECK_OK(Expect("("));
    while (!Is(")")) {
      Take("*");  // what follows is passed by name; the serializer passes it so
      if (Take(",")) continue;
      Parameter parameter;
      parameter.begin = Begin();
      FLAMBEAU_TRY(parameter.name, ExpectName("the name of a parameter"));
      if (Take(":")) {
        FLAMBEAU_TRY(parameter.annotation, ParseExpression());
      }
      if (Take("=")) {
        FLAMBEAU_TRY(parameter.default_value, ParseExpression());
      }
      def.parameters.push_back(parameter);
      if (!Take(",")) break;
    }
    FLAMBEAU_CHECK_OK(Expect(")"));
    if (Take("->")) {
      FLAMBEAU_TRY(def.result, ParseExpression());
    }
    FLAMBEAU_TRY(def.body, ParseBody());
    def.end = End();
    Stmt stmt = {StmtKind::kDef};
    stmt.def = syntax_.defs.Add(std::move(def));
    return Add(std::move(stmt), begin);
  }

  Result<StmtId> ParseClass(uint32_t begin) {
    Stmt stmt = {StmtKind::kClass};
    FLAMBEAU_TRY(stmt.text, ExpectName("the name of a class"));
    if (Take("(") && !Take(")")) {
      FLAMBEAU_TRY(stmt.value, ParseExpression());
      FLAMBEAU_CHECK_OK(Expect(")"));
    }
    FLAMBEAU_TRY(stmt.body, ParseBody());
    return Add(std::move(stmt), begin);
  }

  // A statement of one line, without its end.
  Status ParseSimple(Stmt* stmt) {
    static constexpr std::pair<std::string_view, StmtKind> kWords[] = {
        {"pass", StmtKind::kPass}, {"break", StmtKind::kBreak}, {"continue", StmtKind::kContinue}};
    for (const auto& [word, kind] : kWords) {
      stmt->kind = kind;
      if (Take(word)) return {};
    }
    if (Take("return")) {
      stmt->kind = StmtKind::kReturn;
      if (!StartsExpression()) return {};
      return SetValue(stmt, ParseExpressionList());
    }
    if (Take("raise")) {
      stmt->kind = StmtKind::kRaise;
      return SetValue(stmt, ParseExpression());
    }
    if (Take("assert")) {
      stmt->kind = StmtKind::kAssert;
      FLAMBEAU_CHECK_OK(SetValue(stmt, ParseExpression()));
      if (!Take(",")) return {};
      FLAMBEAU_TRY(stmt->annotation, ParseExpression());
      return {};
    }
    if (Take("del")) {
      stmt->kind = StmtKind::kDelete;
      do {
        FLAMBEAU_TRY(const ExprId target, ParsePostfix());
        stmt->targets.push_back(target);
      } while (Take(","));
      return {};
    }
    if (Take("import")) {  // of PyTorch before 1.5; all files are read anyway
      stmt->kind = StmtKind::kImport;
      return SetValue(stmt, ParsePostfix());
    }
    return ParseAssignment(stmt);
  }
  Status SetValue(Stmt* stmt, const Result<ExprId>& value) {
    if (!value) return kFailure;
    stmt->value = *value;
    return {};
  }

  Status ParseAssignment(Stmt* stmt) {
    FLAMBEAU_TRY(const ExprId first, ParseExpressionList());
    if (Take(":")) {
      stmt->kind = StmtKind::kDeclare;
      stmt->targets = {first};
      FLAMBEAU_TRY(stmt->annotation, ParseExpression());
      if (!Take("=")) return {};
      stmt->kind = StmtKind::kAssign;
      return SetValue(stmt, ParseExpressionList());
    }
    if (const auto* word = std::find(std::begin(kAugmented), std::end(kAugmented), Text());
        Kind() == TokenKind::kOperator && word != std::end(kAugmented)) {
      Advance();
      stmt->kind = StmtKind::kAugmented;
      stmt->text = word->substr(0, word->size() - 1);
      stmt->targets = {first};
      return SetValue(stmt, ParseExpressionList());
    }
    stmt->kind = StmtKind::kExpression;
    stmt->value = first;
    while (Take("=")) {
      stmt->kind = StmtKind::kAssign;
      stmt->targets.push_back(stmt->value);
      FLAMBEAU_CHECK_OK(SetValue(stmt, ParseExpressionList()));
    }
    return {};
  }

  Syntax& syntax_;
  uint32_t depth_ = 0;
  bool too_high_ = false;
};

}  // namespace

Result<std::unique_ptr<Syntax>> Parse(std::shared_ptr<const SourceFile> source, Sink& sink) {
  auto syntax = std::make_unique<Syntax>();
  syntax->source = std::move(source);
  FLAMBEAU_TRY(std::vector<Token> tokens, Lex(*syntax->source, sink));
  FLAMBEAU_CHECK_OK(Parser(*syntax, std::move(tokens), sink).Run());
  return syntax;
}

}  // namespace flambeau::torchscript
