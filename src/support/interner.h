// Strings that occur often (operators, argument names, value names) as 4-byte
// symbols. Symbol 0 is the empty string.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash_table.h"
#include "support/ids.h"

namespace flambeau {

using Symbol = Id<struct SymbolTag>;

class Interner {
 public:
  Interner() { Intern(""); }
  Interner(const Interner&) = delete;
  Interner& operator=(const Interner&) = delete;

  Symbol Intern(std::string_view text);
  // An invalid symbol if `text` was never interned.
  Symbol Find(std::string_view text) const;
  std::string_view Text(Symbol symbol) const { return symbol ? texts_[symbol.index] : std::string_view(); }

 private:
  std::string_view Keep(std::string_view text);

  NameTable<Symbol> symbols_;
  std::vector<std::string_view> texts_;
  std::vector<std::unique_ptr<char[]>> blocks_;
  size_t left_ = 0;
  char* next_ = nullptr;
};

}  // namespace flambeau
