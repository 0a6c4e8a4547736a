#include "reader/torchscript/lexer.h"

#include <fmt/format.h>

#include <algorithm>

#include "container/quote.h"
#include "support/letters.h"

namespace flambeau::torchscript {
namespace {

constexpr uint32_t kMaxIndents = 512, kMaxBrackets = 512;
// Longest first.
constexpr std::string_view kOperators[] = {
    "**=", "//=", "<<=", ">>=", "...", "->", "**", "//", "<<", ">>", "<=", ">=", "==", "!=", "+=", "-=", "*=", "/=",
    "%=",  "|=",  "&=",  "^=",  "@=",  "+",  "-",  "*",  "/",  "%",  "@",  "&",  "|",  "^",  "~",  "<",  ">",  "(",
    ")",   "[",   "]",   "{",   "}",   ",",  ":",  ".",  ";",  "=",
};

class Lexer {
 public:
  Lexer(const SourceFile& source, Sink& sink) : source_(source), text_(source.text), sink_(sink) {}

  Result<std::vector<Token>> Run() {
    if (text_.size() >= UINT32_MAX)
      return source_.Error(DiagnosticKind::kLimitExceeded, 0, "the code is larger than 4 GiB", sink_);
    FLAMBEAU_CHECK_OK(StartLine());
    while (at_ < text_.size()) FLAMBEAU_CHECK_OK(Step());
    if (brackets_ > 0) return source_.Error(at_, "the code ends inside of brackets", sink_);
    if (!tokens_.empty() && tokens_.back().kind != TokenKind::kNewline) Push(TokenKind::kNewline, at_);
    for (; indents_.size() > 1; indents_.pop_back()) Push(TokenKind::kDedent, at_);
    Push(TokenKind::kEnd, at_);
    return std::move(tokens_);
  }

 private:
  char Peek(uint32_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  void Push(TokenKind kind, uint32_t begin) { tokens_.push_back({kind, begin, at_}); }

  Status Step() {
    const char c = Peek();
    const uint32_t begin = at_;
    if (c == ' ' || c == '\t' || c == '\r') {
      ++at_;
    } else if (c == '#') {
      SkipComment();
    } else if (c == '\n') {
      ++at_;
      if (brackets_ > 0) return {};
      Push(TokenKind::kNewline, begin);
      return StartLine();
    } else if (c == '\\' && (Peek(1) == '\n' || (Peek(1) == '\r' && Peek(2) == '\n'))) {
      at_ += Peek(1) == '\n' ? 2 : 3;
    } else if (IsNameStart(c)) {
      while (IsNamePart(Peek())) ++at_;
      Push(TokenKind::kName, begin);
    } else if (IsDigit(c) || (c == '.' && IsDigit(Peek(1)))) {
      TakeNumber();
      Push(TokenKind::kNumber, begin);
    } else if (c == '"' || c == '\'') {
      FLAMBEAU_CHECK_OK(TakeString(c));
      Push(TokenKind::kString, begin);
    } else {
      return TakeOperator();
    }
    return {};
  }

  void SkipComment() {
    while (at_ < text_.size() && Peek() != '\n') ++at_;
  }

  // Takes the indentation of the next line that is not blank.
  Status StartLine() {
    uint32_t begin = at_;
    while (at_ < text_.size()) {
      const char c = Peek();
      if (c == '#') SkipComment();
      if (Peek() == '\n') {
        begin = ++at_;
      } else if (c == ' ' || c == '\t' || c == '\r') {
        ++at_;
      } else {
        break;
      }
    }
    if (at_ == text_.size()) return {};
    const uint32_t width = at_ - begin;
    if (width > indents_.back()) {
      if (indents_.size() >= kMaxIndents)
        return source_.Error(DiagnosticKind::kLimitExceeded, at_,
                             fmt::format("blocks are nested more than {} deep", kMaxIndents), sink_);
      indents_.push_back(width);
      Push(TokenKind::kIndent, begin);
      return {};
    }
    for (; width < indents_.back(); indents_.pop_back()) Push(TokenKind::kDedent, at_);
    if (width != indents_.back()) return source_.Error(at_, "the indentation matches no block", sink_);
    return {};
  }

  void TakeNumber() {
    const auto digits = [&] {
      while (IsDigit(Peek())) ++at_;
    };
    digits();
    if (Peek() == '.') ++at_;
    digits();
    if (Peek() == 'e' || Peek() == 'E') {
      const uint32_t sign = Peek(1) == '+' || Peek(1) == '-' ? 1 : 0;
      if (IsDigit(Peek(1 + sign))) {
        at_ += 1 + sign;
        digits();
      }
    }
    if (Peek() == 'j') ++at_;
  }

  Status TakeString(char quote) {
    const uint32_t begin = at_;
    const uint32_t width = Peek(1) == quote && Peek(2) == quote ? 3 : 1;
    at_ += width;
    while (at_ < text_.size()) {
      if (Peek() == '\\') {
        at_ = static_cast<uint32_t>(std::min<size_t>(text_.size(), at_ + size_t{2}));
      } else if (Peek() == quote && (width == 1 || (Peek(1) == quote && Peek(2) == quote))) {
        at_ += width;
        return {};
      } else if (Peek() == '\n' && width == 1) {
        break;
      } else {
        ++at_;
      }
    }
    return source_.Error(begin, "a string does not end", sink_);
  }

  Status TakeOperator() {
    const std::string_view rest = std::string_view(text_).substr(at_);
    const auto* found = std::find_if(std::begin(kOperators), std::end(kOperators),
                                     [&](std::string_view each) { return rest.starts_with(each); });
    if (found == std::end(kOperators))
      return source_.Error(at_, fmt::format("the character {} has no meaning here", Quote(rest.substr(0, 1))), sink_);
    const char c = found->front();
    const uint32_t begin = at_;
    if (c == '(' || c == '[' || c == '{') {
      if (++brackets_ > kMaxBrackets)
        return source_.Error(DiagnosticKind::kLimitExceeded, at_,
                             fmt::format("brackets are nested more than {} deep", kMaxBrackets), sink_);
    } else if (c == ')' || c == ']' || c == '}') {
      if (brackets_-- == 0) return source_.Error(at_, "a bracket is closed that was not opened", sink_);
    }
    at_ += static_cast<uint32_t>(found->size());
    Push(TokenKind::kOperator, begin);
    return {};
  }

  const SourceFile& source_;
  const std::string& text_;
  Sink& sink_;
  uint32_t at_ = 0, brackets_ = 0;
  std::vector<uint32_t> indents_ = {0};
  std::vector<Token> tokens_;
};

}  // namespace

Failure SourceFile::Error(DiagnosticKind kind, uint32_t offset, std::string message, Sink& sink) const {
  const std::string_view before = std::string_view(text).substr(0, offset);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const size_t newline = before.rfind('\n');
  const size_t column = before.size() - (newline == before.npos ? 0 : newline + 1) + 1;
  return sink.Error(kind, fmt::format("{} (line {}, column {})", std::move(message), line, column), where);
}

Failure SourceFile::Error(uint32_t offset, std::string message, Sink& sink) const {
  return Error(DiagnosticKind::kBadProgram, offset, std::move(message), sink);
}

Result<std::vector<Token>> Lex(const SourceFile& source, Sink& sink) { return Lexer(source, sink).Run(); }

std::string UnquoteLiteral(std::string_view literal) {
  const size_t width = literal.size() >= 6 && literal[1] == literal[0] && literal[2] == literal[0] ? 3 : 1;
  const std::string_view body = literal.substr(width, literal.size() - 2 * width);
  constexpr std::string_view kEscapes = "abfnrtv\\'\"", kMeanings = "\a\b\f\n\r\t\v\\'\"";
  std::string text;
  for (size_t i = 0; i < body.size(); ++i) {
    if (body[i] != '\\' || i + 1 == body.size()) {
      text += body[i];
      continue;
    }
    const char c = body[++i];
    if (const size_t known = kEscapes.find(c); known != kEscapes.npos) {
      text += kMeanings[known];
    } else if (c >= '0' && c <= '7') {
      int code = c - '0';
      for (int digits = 1; digits < 3 && i + 1 < body.size() && body[i + 1] >= '0' && body[i + 1] <= '7'; ++digits)
        code = code * 8 + (body[++i] - '0');
      text += static_cast<char>(code);
    } else if (c == 'x' && i + 2 < body.size() && HexDigit(body[i + 1]) >= 0 && HexDigit(body[i + 2]) >= 0) {
      text += static_cast<char>(HexDigit(body[i + 1]) * 16 + HexDigit(body[i + 2]));
      i += 2;
    } else if (c != '\n') {
      text += '\\';
      text += c;
    }
  }
  return text;
}

}  // namespace flambeau::torchscript
