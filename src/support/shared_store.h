// A Store of which a copy is cheap: copies share their chunks until one of them
// may write to one. So many snapshots can be taken of what hardly changes.
#pragma once

#include <algorithm>
#include <cassert>
#include <memory>
#include <utility>
#include <vector>

namespace flambeau {

// A copy leaves references into the original valid, but what is read through
// them is no longer what the original holds once that has been written.
template <class IdT, class T>
class SharedStore {
 public:
  IdT Add(T item) {
    if (size_ % kChunk == 0) {
      chunks_.push_back(std::make_shared<std::vector<T>>());
      chunks_.back()->reserve(kChunk);
    }
    Own(chunks_.back()).push_back(std::move(item));
    return IdT{size_++};
  }
  // With items as they are made, up to that size.
  void Grow(uint32_t size) {
    while (size_ < size) Add(T());
  }
  T& operator[](IdT id) {
    assert(id.index < size_);
    return Own(chunks_[id.index / kChunk])[id.index % kChunk];
  }
  const T& operator[](IdT id) const {
    assert(id.index < size_);
    return (*chunks_[id.index / kChunk])[id.index % kChunk];
  }
  uint32_t size() const { return size_; }
  bool Contains(IdT id) const { return id.index < size_; }

  // Calls function(id) for the items of an earlier copy that may be others now.
  template <class Function>
  void ForEachTouched(const SharedStore& before, Function function) const {
    for (uint32_t c = 0; c < before.chunks_.size(); ++c) {
      if (chunks_[c] == before.chunks_[c]) continue;
      const uint32_t end = std::min(before.size_, (c + 1) * kChunk);
      for (uint32_t i = c * kChunk; i < end; ++i) function(IdT{i});
    }
  }

 private:
  static constexpr uint32_t kChunk = 64;
  using Chunk = std::shared_ptr<std::vector<T>>;

  static std::vector<T>& Own(Chunk& chunk) {
    if (chunk.use_count() > 1) {
      auto copy = std::make_shared<std::vector<T>>();
      copy->reserve(kChunk);  // items must not move
      copy->insert(copy->end(), chunk->begin(), chunk->end());
      chunk = std::move(copy);
    }
    return *chunk;
  }

  std::vector<Chunk> chunks_;
  uint32_t size_ = 0;
};

}  // namespace flambeau
