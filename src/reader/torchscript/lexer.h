// The tokens of serialized TorchScript: Python's, with indentation.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"
#include "support/result.h"

namespace flambeau::torchscript {

// One file of code. Syntax and functions point into it.
struct SourceFile {
  std::string path;  // in the archive: "model/code/__torch__.py"
  std::string text;
  Location where;    // of the entry

  // Reports about byte `offset`; the message tells line and column.
  Failure Error(uint32_t offset, std::string message, Sink& sink) const;
  Failure Error(DiagnosticKind kind, uint32_t offset, std::string message, Sink& sink) const;
};

enum class TokenKind : uint8_t {
  kEnd,
  kNewline,  // of a statement
  kIndent,
  kDedent,
  kName,  // keywords too
  kNumber,
  kString,
  kOperator,
};

struct Token {
  TokenKind kind;
  uint32_t begin, end;  // in the text
};

// All tokens, kEnd last.
Result<std::vector<Token>> Lex(const SourceFile& source, Sink& sink);

// The contents of a string literal as it stands in the text, with its quotes.
std::string UnquoteLiteral(std::string_view literal);

}  // namespace flambeau::torchscript
