// What PyTorch calls memory formats.
#pragma once

#include <algorithm>
#include <iterator>
#include <optional>
#include <string_view>

#include "ir/attribute.h"

namespace flambeau {

// By MemoryFormat, whose numbers are those of c10::MemoryFormat.
inline constexpr std::string_view kMemoryFormatNames[] = {"contiguous_format", "preserve_format", "channels_last", "channels_last_3d"};

constexpr std::string_view TorchName(MemoryFormat format) { return kMemoryFormatNames[static_cast<size_t>(format)]; }
constexpr std::optional<MemoryFormat> MemoryFormatFromTorchName(std::string_view name) {
  const auto* const found = std::ranges::find(kMemoryFormatNames, name);
  if (found == std::end(kMemoryFormatNames)) return std::nullopt;
  return static_cast<MemoryFormat>(found - std::begin(kMemoryFormatNames));
}

}  // namespace flambeau
