// The words of the textual form, shared by printer and parser.
#pragma once

#include <string_view>
#include <utility>

#include "ir/attribute.h"
#include "ir/type.h"

namespace flambeau {

inline constexpr std::pair<TypeKind, std::string_view> kTypeWords[] = {
    {TypeKind::kUnknown, "unknown"}, {TypeKind::kNone, "none"},     {TypeKind::kInt, "int"},
    {TypeKind::kFloat, "float"},     {TypeKind::kBool, "bool"},     {TypeKind::kString, "string"},
    {TypeKind::kToken, "token"},     {TypeKind::kObject, "object"},
};
inline constexpr std::pair<Layout, std::string_view> kLayoutWords[] = {
    {Layout::kStrided, "strided"}, {Layout::kSparse, "sparse"}, {Layout::kOther, "other_layout"}};
inline constexpr std::pair<MemoryFormat, std::string_view> kMemoryFormatWords[] = {
    {MemoryFormat::kContiguous, "contiguous"},
    {MemoryFormat::kPreserve, "preserve"},
    {MemoryFormat::kChannelsLast, "channels_last"},
    {MemoryFormat::kChannelsLast3d, "channels_last_3d"}};

template <class E, size_t n>
std::string_view WordOf(const std::pair<E, std::string_view> (&words)[n], E value) {
  for (const auto& [each, word] : words)
    if (each == value) return word;
  return {};
}
template <class E, size_t n>
const E* FindWord(const std::pair<E, std::string_view> (&words)[n], std::string_view word) {
  for (const auto& each : words)
    if (each.second == word) return &each.first;
  return nullptr;
}

}  // namespace flambeau
