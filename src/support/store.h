// Append-only storage addressed by strong ids.
//
// Chunked, so references survive growth; copied as a whole, so that a snapshot
// of a graph is a plain copy in which the same ids work.
#pragma once

#include <cassert>
#include <memory>
#include <utility>
#include <vector>

#include "support/ids.h"

namespace flambeau {

template <class IdT, class T>
class Store {
 public:
  Store() = default;
  Store(Store&& other) noexcept : chunks_(std::move(other.chunks_)), size_(std::exchange(other.size_, 0)) {}
  Store& operator=(Store&& other) noexcept {
    chunks_ = std::move(other.chunks_);
    size_ = std::exchange(other.size_, 0);
    return *this;
  }
  Store(const Store& other) : size_(other.size_) {
    chunks_.reserve(other.chunks_.size());
    for (const auto& chunk : other.chunks_) {
      auto copy = std::make_unique<std::vector<T>>();
      copy->reserve(kChunk);
      copy->insert(copy->end(), chunk->begin(), chunk->end());
      chunks_.push_back(std::move(copy));
    }
  }
  Store& operator=(const Store& other) { return *this = Store(other); }

  IdT Add(T item) {
    if (size_ % kChunk == 0) {
      chunks_.push_back(std::make_unique<std::vector<T>>());
      // Items must not move, hence the fixed capacity.
      chunks_.back()->reserve(kChunk);
    }
    chunks_.back()->push_back(std::move(item));
    return IdT{size_++};
  }
  T& operator[](IdT id) {
    assert(id.index < size_);
    return (*chunks_[id.index / kChunk])[id.index % kChunk];
  }
  const T& operator[](IdT id) const {
    assert(id.index < size_);
    return (*chunks_[id.index / kChunk])[id.index % kChunk];
  }
  uint32_t size() const { return size_; }
  bool Contains(IdT id) const { return id.index < size_; }

 private:
  static constexpr uint32_t kChunk = 256;
  std::vector<std::unique_ptr<std::vector<T>>> chunks_;
  uint32_t size_ = 0;
};

}  // namespace flambeau
