#include "ir/text_scanner.h"

#include <algorithm>
#include <charconv>

#include "ir/text_lexer.h"

namespace flambeau {

Location Scanner::Locate(size_t position) {
  if (position < line_start_) line_ = 1, line_start_ = counted_ = 0;
  for (; counted_ < position; ++counted_)
    if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
  Location location;
  location.source = std::to_string(line_) + ":" + std::to_string(position - line_start_ + 1);
  return location;
}

Failure Scanner::Error(std::string message, std::string hint) {
  const Location location = Locate(at_);
  const std::string_view rest = text_.substr(at_, text_.find('\n', at_) - at_);
  message += rest.empty() ? " at the end of the line" : " at `" + std::string(rest.substr(0, 40)) + "`";
  return sink_.Error(DiagnosticKind::kBadText, std::move(message), location, std::move(hint));
}

void Scanner::Skip() {
  for (; !AtEnd(); ++at_) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
      if (AtEnd()) return;
    } else if (c != ' ' && c != '\n' && c != '\t' && c != '\r') {
      return;
    }
  }
}

bool Scanner::Take(char c) {
  Skip();
  if (Peek() != c || AtEnd()) return false;
  ++at_;
  return true;
}

Status Scanner::Expect(char c) {
  if (Take(c)) return {};
  return Error(std::string("`") + c + "` is expected");
}

bool Scanner::TakeAdjacent(std::string_view text) {
  if (!text_.substr(at_).starts_with(text)) return false;
  at_ += text.size();
  return true;
}

bool Scanner::IsAtWord(std::string_view word) const {
  const std::string_view rest = text_.substr(at_);
  return rest.starts_with(word) && (rest.size() == word.size() || !IsNamePartOrDot(rest[word.size()]));
}

bool Scanner::TakeWord(std::string_view word) {
  if (!IsAtWord(word)) return false;
  at_ += word.size();
  return true;
}

std::string_view Scanner::TakeName() {
  const size_t start = at_;
  if (IsNameStart(Peek()))
    while (!AtEnd() && IsNamePartOrDot(text_[at_])) ++at_;
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::TakeNumber(bool* is_float) {
  const std::string_view number = text_.substr(at_, NumberLength(text_.substr(at_), is_float));
  at_ += number.size();
  return number;
}

Result<std::string> Scanner::TakeString() {
  Skip();
  if (Peek() != '"') return Error("a string is expected");
  std::string_view rest = text_.substr(at_);
  auto text = TakeQuoted(&rest);
  if (!text) return Error("a malformed string");
  at_ = text_.size() - rest.size();
  return *std::move(text);
}

Result<std::string> Scanner::TakeLabel() {
  Skip();
  if (Peek() == '"') return TakeString();
  const std::string_view name = TakeName();
  if (name.empty()) return Error("a name is expected");
  return std::string(name);
}

Result<std::string> Scanner::TakeOp() {
  Skip();
  if (Peek() == '"') return TakeString();
  const size_t start = at_;
  if (IsNameStart(Peek()))
    while (!AtEnd() && (IsNamePartOrDot(text_[at_]) || text_[at_] == ':')) ++at_;
  if (at_ == start) return Error("an operator is expected");
  return std::string(text_.substr(start, at_ - start));
}

Result<Scanner::ValueName> Scanner::TakeValueName() {
  Skip();
  if (!Take('%')) return Error("a value is expected", "values read %x");
  if (IsDigit(Peek())) {
    const size_t start = at_;
    while (!AtEnd() && IsDigit(text_[at_])) ++at_;
    return ValueName{"%" + std::string(text_.substr(start, at_ - start)), {}};
  }
  if (Peek() != '"' && !IsNameStart(Peek())) return Error("a name is expected");
  FLAMBEAU_TRY(std::string label, TakeLabel());
  if (label.empty()) return Error("an empty name");
  return ValueName{"=" + label, label};
}

Result<std::vector<std::byte>> Scanner::TakeHex() {
  Skip();
  std::vector<std::byte> bytes;
  while (at_ + 1 < text_.size()) {
    uint8_t byte;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 2, byte, 16);
    if (error != std::errc()) break;
    if (end != text_.data() + at_ + 2) return Error("a byte has two digits");
    bytes.push_back(std::byte{byte});
    at_ += 2;
  }
  return bytes;
}

std::string_view Scanner::TakeNested() {
  const size_t start = at_;
  size_t depth = 0;
  for (; !AtEnd(); ++at_) {
    const char c = text_[at_];
    if (c == '"') {
      std::string_view rest = text_.substr(at_);
      if (!TakeQuoted(&rest)) break;
      at_ = text_.size() - rest.size() - 1;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && depth > 0) {
      --depth;
    } else if (c == '\n' || (depth == 0 && (c == ',' || c == ')' || c == ']' || c == '}'))) {
      break;
    }
  }
  return text_.substr(start, at_ - start);
}

std::string_view Scanner::TakeComment() {
  const size_t start = at_;
  while (Peek() == ' ' || Peek() == '\t') ++at_;
  if (Peek() != '#') {
    at_ = start;
    return {};
  }
  const size_t end = std::min(text_.find('\n', at_), text_.size());
  std::string_view comment = text_.substr(at_ + 1, end - at_ - 1);
  at_ = end;
  const size_t first = comment.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return comment.substr(first, comment.find_last_not_of(" \t\r") + 1 - first);
}

}  // namespace flambeau
