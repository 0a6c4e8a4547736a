#include "lower/registry.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lower/ops/families.h"

namespace flambeau::lower {
namespace {

const std::unordered_map<std::string_view, const OpRow*>& Rows() {
  static const auto* rows = [] {
    auto* made = new std::unordered_map<std::string_view, const OpRow*>;
    for (std::span<const OpRow> family : Families())
      for (const OpRow& row : family) made->emplace(row.name(), &row);
    return made;
  }();
  return *rows;
}

std::string_view BaseName(std::string_view name) {
  const size_t colons = name.find("::");
  const size_t dot = name.find('.', colons == name.npos ? 0 : colons);
  return name.substr(0, dot);
}

}  // namespace

const OpRow* FindOp(std::string_view name) {
  const auto it = Rows().find(name);
  return it == Rows().end() ? nullptr : it->second;
}

bool TakesComplex(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
#define FLAMBEAU_COMPLEX(name) "aten::" #name,
#include "lower/complex_operators.def"
#undef FLAMBEAU_COMPLEX
  };
  // What holds graphs, or Python numbers, does nothing to elements.
  return !name.starts_with("aten::") || names.contains(BaseName(name));
}

bool TakesUnranked(std::string_view name) {
  static const std::unordered_set<std::string_view> names = {
#define FLAMBEAU_UNRANKED(name) "aten::" #name,
#include "lower/unranked_operators.def"
#undef FLAMBEAU_UNRANKED
  };
  return !name.starts_with("aten::") || names.contains(BaseName(name));
}

std::vector<const OpRow*> AllOps() {
  std::vector<const OpRow*> all;
  for (const auto& [name, row] : Rows()) all.push_back(row);
  std::sort(all.begin(), all.end(), [](const OpRow* a, const OpRow* b) { return a->name() < b->name(); });
  return all;
}

std::vector<std::string_view> NearestOps(std::string_view name) {
  std::vector<std::string_view> nearest;
  for (const OpRow* row : AllOps())
    if (BaseName(row->name()) == BaseName(name)) nearest.push_back(row->name());
  return nearest;
}

}  // namespace flambeau::lower
