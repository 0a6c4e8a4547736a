// What a function of the evaluator is called with.
#pragma once

#include <algorithm>
#include <span>

#include "script/value.h"

namespace flambeau::script {

// An archive may call a function with fewer arguments than the function reads. What is missing is undefined, and so of a
// kind that no function takes.
class Arguments {
 public:
  Arguments(std::span<const Val> values) : values_(values) {}
  Arguments(const Vals& values) : values_(values) {}
  template <size_t kCount>
  Arguments(const Val (&values)[kCount]) : values_(values) {}

  const Val& operator[](size_t i) const { return i < values_.size() ? values_[i] : kMissing; }
  const Val& back() const { return values_.empty() ? kMissing : values_.back(); }
  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  Arguments first(size_t count) const { return values_.first(std::min(count, size())); }
  Arguments subspan(size_t start) const { return values_.subspan(std::min(start, size())); }
  operator std::span<const Val>() const { return values_; }

 private:
  static inline const Val kMissing;
  std::span<const Val> values_;
};

}  // namespace flambeau::script
