// A parser's place among the tokens.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "container/quote.h"
#include "reader/torchscript/lexer.h"

namespace flambeau::torchscript {

inline constexpr std::string_view kKeywords[] = {"def",  "class",  "if",       "elif",  "else",   "while", "for", "in",  "return",
                                          "pass", "break",  "continue", "raise", "assert", "del",   "and", "or",  "not",
                                          "is",   "import", "with",     "as",    "True",   "False", "None", "lambda"};

inline bool IsKeyword(std::string_view word) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

class TokenCursor {
 public:
  TokenCursor(const SourceFile& source, std::vector<Token> tokens, Sink& sink)
      : sink_(sink), source_(source), text_(source.text), tokens_(std::move(tokens)) {}

 protected:
  TokenKind Kind() const { return tokens_[next_].kind; }
  std::string_view Text() const { return TextOf(tokens_[next_]); }
  std::string_view TextOf(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  std::string_view NextText() const { return TextOf(tokens_[next_ + 1]); }  // not at the end
  uint32_t Begin() const { return tokens_[next_].begin; }
  uint32_t End() const { return next_ == 0 ? 0 : tokens_[next_ - 1].end; }  // of what was taken last
  void Advance() {
    if (Kind() != TokenKind::kEnd) ++next_;
  }
  bool Is(std::string_view text) const {
    return (Kind() == TokenKind::kOperator || Kind() == TokenKind::kName) && Text() == text;
  }
  bool Take(std::string_view text) {
    if (!Is(text)) return false;
    Advance();
    return true;
  }
  Failure Unexpected(std::string_view expected) {
    std::string found;
    switch (Kind()) {
      case TokenKind::kEnd: found = "the end of the code"; break;
      case TokenKind::kNewline: found = "the end of the line"; break;
      case TokenKind::kIndent: found = "a deeper indentation"; break;
      case TokenKind::kDedent: found = "the end of a block"; break;
      default: found = Quote(Text());
    }
    return source_.Error(Begin(), fmt::format("expected {}, found {}", expected, found), sink_);
  }
  Status Expect(std::string_view text) {
    if (!Take(text)) return Unexpected(fmt::format("'{}'", text));
    return {};
  }
  Result<std::string_view> ExpectName(std::string_view what) {
    if (Kind() != TokenKind::kName || IsKeyword(Text())) return Unexpected(what);
    const std::string_view name = Text();
    Advance();
    return name;
  }
  Status ExpectNewline() {
    if (Take(";")) return {};
    if (Kind() == TokenKind::kEnd) return {};
    if (Kind() != TokenKind::kNewline) return Unexpected("the end of the statement");
    Advance();
    return {};
  }

  Sink& sink_;

 private:
  const SourceFile& source_;
  const std::string_view text_;
  std::vector<Token> tokens_;
  size_t next_ = 0;
};

}  // namespace flambeau::torchscript
