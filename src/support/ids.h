// Strong 4-byte handles: a NodeId can't be used where a ValueId is meant.
#pragma once

#include <cstdint>
#include <functional>

namespace flambeau {

template <class Tag>
struct Id {
  uint32_t index = UINT32_MAX;

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
  constexpr explicit operator bool() const { return index != UINT32_MAX; }
};

}  // namespace flambeau

template <class Tag>
struct std::hash<flambeau::Id<Tag>> {
  size_t operator()(flambeau::Id<Tag> id) const noexcept { return id.index * size_t{0x9E3779B97F4A7C15}; }
};
