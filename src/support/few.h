// Items of a number that is known when they are made, in place where they are
// few: what is gathered for each node of a graph, and gone with it.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace flambeau {

template <class T, size_t kFew = 4>
class Few {
 public:
  explicit Few(size_t size) : size_(size), many_(size > kFew ? size : 0) {}
  Few(const Few&) = delete;
  Few& operator=(const Few&) = delete;

  T* data() { return many_.empty() ? few_.data() : many_.data(); }
  const T* data() const { return many_.empty() ? few_.data() : many_.data(); }
  size_t size() const { return size_; }
  T& operator[](size_t i) { return data()[i]; }
  T* begin() { return data(); }
  T* end() { return data() + size_; }
  const T* begin() const { return data(); }
  const T* end() const { return data() + size_; }

 private:
  size_t size_;
  std::array<T, kFew> few_ = {};
  std::vector<T> many_;
};

}  // namespace flambeau
