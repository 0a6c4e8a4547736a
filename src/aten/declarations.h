// Schemas of operators that are in no table, those that users registered with
// torch.library: each program has its own.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "aten/schema.h"

namespace flambeau::aten {

class Declarations {
 public:
  Declarations() = default;
  Declarations(Declarations&&) = default;  // the schemas stay where they are
  Declarations& operator=(Declarations&&) = default;

  // The last text for a name wins; false if it is no schema, or the name is one of the tables'.
  bool Declare(std::string_view text);
  // Of these; nullptr if it is none of them.
  const Schema* Find(std::string_view name) const;

 private:
  std::deque<std::string> texts_;
  std::deque<Schema> schemas_;  // those that a later text replaced, too
  std::unordered_map<std::string_view, const Schema*> by_name_;
};

// What FindSchema finds on this thread besides the tables, while the scope lasts: those of the innermost scope.
class DeclarationScope {
 public:
  explicit DeclarationScope(Declarations& declared);
  ~DeclarationScope();
  DeclarationScope(const DeclarationScope&) = delete;
  DeclarationScope& operator=(const DeclarationScope&) = delete;

  // Of the innermost scope; nullptr outside of all.
  static Declarations* Current();

 private:
  Declarations* around_;
};

}  // namespace flambeau::aten
