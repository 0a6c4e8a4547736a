#include "lower/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "lower/ops/families.h"
#include "support/static_index.h"

namespace flambeau::lower {
namespace {

const StaticIndex<const OpRow*>& Rows() {
  static const auto* rows = [] {
    auto* made = new StaticIndex<const OpRow*>;
    for (std::span<const OpRow> family : Families())
      for (const OpRow& row : family) made->Add(row.name(), &row);
    return made;
  }();
  return *rows;
}

constexpr OperatorNote kWithoutOnnxForm[] = {
#define FLAMBEAU_NO_ONNX_FORM(names, reason) {names, reason},
#include "lower/no_onnx_form.def"
#undef FLAMBEAU_NO_ONNX_FORM
};

constexpr OperatorNote kOpenResults[] = {
#define FLAMBEAU_OPEN_RESULT(name, what) {name, what},
#include "lower/open_results.def"
#undef FLAMBEAU_OPEN_RESULT
};

// Whether a name fits a pattern, whose `*` stand for any text.
bool Fits(std::string_view name, std::string_view pattern) {
  const size_t first = pattern.find('*');
  if (first == pattern.npos) return name == pattern;
  if (!name.starts_with(pattern.substr(0, first))) return false;
  name.remove_prefix(first);
  for (size_t star = first; star != pattern.npos;) {
    const size_t next = pattern.find('*', star + 1);
    const std::string_view part = pattern.substr(star + 1, next == pattern.npos ? next : next - star - 1);
    if (next == pattern.npos) return name.ends_with(part);
    const size_t found = name.find(part);
    if (found == name.npos) return false;
    name.remove_prefix(found + part.size());
    star = next;
  }
  return false;
}

std::string_view BaseName(std::string_view name) {
  const size_t colons = name.find("::");
  const size_t dot = name.find('.', colons == name.npos ? 0 : colons);
  return name.substr(0, dot);
}

}  // namespace

const OpRow* FindOp(std::string_view name) { return Rows().ValueOr(name, nullptr); }

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
  // Of these the overload of that very name, which takes all elements.
  static const std::unordered_set<std::string_view> wholes = {"aten::max", "aten::mean", "aten::min", "aten::numel", "aten::sum", "aten::sym_numel", "aten::view"};
  return !name.starts_with("aten::") || names.contains(BaseName(name)) || wholes.contains(name);
}

std::vector<const OpRow*> AllOps() {
  std::vector<const OpRow*> all;
  for (const auto& [name, row] : Rows()) all.push_back(row);
  std::sort(all.begin(), all.end(), [](const OpRow* a, const OpRow* b) { return a->name() < b->name(); });
  return all;
}

const OperatorNote* WhyNoOnnxForm(std::string_view name) {
  if (FindOp(name) != nullptr) return nullptr;
  for (const OperatorNote& note : kWithoutOnnxForm)
    if (Fits(BaseName(name), note.names)) return &note;
  return nullptr;
}

std::string NoTranslation(std::string_view name) {
  const OperatorNote* why = WhyNoOnnxForm(name);
  return fmt::format("{} has no translation{}", name, why ? fmt::format(": no ONNX form because {}", why->text) : "");
}

std::span<const OperatorNote> OperatorsWithoutOnnxForm() { return kWithoutOnnxForm; }
std::span<const OperatorNote> OpenResults() { return kOpenResults; }

std::vector<std::string_view> NearestOps(std::string_view name) {
  std::vector<std::string_view> nearest;
  for (const OpRow* row : AllOps())
    if (BaseName(row->name()) == BaseName(name)) nearest.push_back(row->name());
  return nearest;
}

}  // namespace flambeau::lower
