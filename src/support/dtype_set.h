// A set of element types in one word; the generated tables are full of them.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "support/dtype.h"

namespace flambeau {

class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) bits_ |= Bit(dtype);
  }

  constexpr bool contains(DType dtype) const { return (bits_ & Bit(dtype)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr uint64_t bits() const { return bits_; }  // bit N is the dtype whose enumerator is N

  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ | b.bits_); }
  friend constexpr DTypeSet operator&(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ & b.bits_); }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;

 private:
  constexpr explicit DTypeSet(uint64_t bits) : bits_(bits) {}
  static constexpr uint64_t Bit(DType dtype) { return uint64_t{1} << static_cast<unsigned>(dtype); }

  uint64_t bits_ = 0;
};

}  // namespace flambeau
