// The tokens of a graph's textual form, and where they lie.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "diag/sink.h"

namespace flambeau {

class Scanner {
 public:
  struct ValueName {
    std::string key;    // tells %1 from %"1"
    std::string label;  // empty for numbers
  };

  Scanner(std::string_view text, Sink& sink) : text_(text), sink_(sink) {}

  size_t position() const { return at_; }
  void MoveTo(size_t position) { at_ = position; }
  bool AtEnd() const { return at_ == text_.size(); }
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }
  // "line:column". Cheap where positions only grow.
  Location Locate(size_t position);
  // An error at the current position.
  Failure Error(std::string message, std::string hint = {});

  // Skips white space and comments.
  void Skip();
  // These skip before.
  bool Take(char c);
  Status Expect(char c);
  // `text` right here.
  bool TakeAdjacent(std::string_view text);
  bool IsAtWord(std::string_view word) const;
  bool TakeWord(std::string_view word);
  // May be empty.
  std::string_view TakeName();
  std::string_view TakeNumber(bool* is_float);
  Result<std::string> TakeString();
  Result<std::string> TakeLabel();  // a name or a string
  Result<std::string> TakeOp();
  Result<ValueName> TakeValueName();
  Result<std::vector<std::byte>> TakeHex();
  // Up to the comma or closing bracket that ends this element of a list.
  std::string_view TakeNested();
  // A comment on the same line; empty if there is none.
  std::string_view TakeComment();

 private:
  std::string_view text_;
  Sink& sink_;
  size_t at_ = 0;
  size_t line_ = 1, line_start_ = 0, counted_ = 0;  // the line of `counted_`
};

}  // namespace flambeau
