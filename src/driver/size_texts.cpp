#include "driver/size_texts.h"

#include <fmt/format.h>

#include "ir/expr_text.h"

namespace flambeau {

std::vector<std::string> SizeTexts(const ExprPool& exprs, const Type& type) {
  std::vector<std::string> texts;
  texts.reserve(type.sizes.size());
  for (Expr size : type.sizes) texts.push_back(exprs.HasAnonymous(size) ? "?" : DimensionText(exprs, size));
  return texts;
}

std::string RangeText(const ExprPool::Range& range) {
  return fmt::format("{} … {}", range.min == INT64_MIN ? "-∞" : fmt::to_string(range.min),
                     range.max == INT64_MAX ? "∞" : fmt::to_string(range.max));
}

}  // namespace flambeau
