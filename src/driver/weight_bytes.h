// How many bytes an archive's tensors have: those that lie in one place count once.
#pragma once

#include <cstdint>
#include <set>
#include <utility>

#include "ir/tensor_data.h"

namespace flambeau {

class WeightBytes {
 public:
  void Add(const TensorData& data) {
    const auto range = data.source->InFile();
    const auto memory = data.source->InMemory();
    const bool again = range    ? !seen_.emplace(range->file.get(), range->offset + data.offset).second
                       : memory ? !seen_.emplace(memory->data(), data.offset).second
                                : false;
    if (!again) sum_ += data.byte_size();
  }
  uint64_t sum() const { return sum_; }

 private:
  std::set<std::pair<const void*, uint64_t>> seen_;
  uint64_t sum_ = 0;
};

}  // namespace flambeau
