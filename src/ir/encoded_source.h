// Bytes that are stored in another form than the one they are read in.
#pragma once

#include <memory>
#include <optional>

#include "ir/tensor_data.h"

namespace flambeau {

struct Encoding {
  int bits = 0;           // of a number, where several are packed into a byte, the first in its lowest bits; else 0
  int swapped_width = 0;  // of numbers whose bytes are in the other order; else 0

  bool plain() const { return bits == 0 && swapped_width == 0; }
  friend bool operator==(const Encoding&, const Encoding&) = default;
  friend auto operator<=>(const Encoding&, const Encoding&) = default;
};

// `stored`, decoded while it is read: packed numbers take a byte each.
std::shared_ptr<const DataSource> MakeEncodedSource(std::shared_ptr<const DataSource> stored, Encoding encoding);

// `numbers`, integers of a byte each, as `dtype`, several of which take a byte: packed while they are read, and nothing if one
// of them is not a number of that type.
std::optional<TensorData> Narrowed(const TensorData& numbers, DType dtype);

}  // namespace flambeau
