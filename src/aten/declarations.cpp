#include "aten/declarations.h"

#include <utility>

namespace flambeau::aten {
namespace {

thread_local Declarations* current = nullptr;

}  // namespace

bool Declarations::Declare(std::string_view text) {
  const std::string_view name = text.substr(0, text.find('('));
  if (IsInTables(name)) return false;
  if (const Schema* known = Find(name); known != nullptr && known->text == text) return true;
  auto schema = ParseSchema(texts_.emplace_back(text));
  if (!schema) {
    texts_.pop_back();
    return false;
  }
  const Schema& added = schemas_.emplace_back(*std::move(schema));
  by_name_.erase(added.name);  // the key lives in the schema that it leads to
  by_name_.emplace(added.name, &added);
  return true;
}

const Schema* Declarations::Find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

DeclarationScope::DeclarationScope(Declarations& declared) : around_(std::exchange(current, &declared)) {}
DeclarationScope::~DeclarationScope() { current = around_; }

Declarations* DeclarationScope::Current() { return current; }

}  // namespace flambeau::aten
