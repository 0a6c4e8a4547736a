// The outcome of a step that can fail.
//
// A failure carries nothing: it means "already reported to the sink". Report
// once, where the cause is known; propagate a bare failure.
#pragma once

#include <cassert>
#include <optional>
#include <utility>

namespace flambeau {

struct Failure {};
inline constexpr Failure kFailure{};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(Failure) {}
  Result(T value) : value_(std::move(value)) {}

  explicit operator bool() const { return value_.has_value(); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result(Failure) : ok_(false) {}
  Result() : ok_(true) {}
  explicit operator bool() const { return ok_; }

 private:
  bool ok_;
};
using Status = Result<void>;

#define FLAMBEAU_CONCAT_INNER(a, b) a##b
#define FLAMBEAU_CONCAT(a, b) FLAMBEAU_CONCAT_INNER(a, b)
// FLAMBEAU_TRY(Expr size, ReadSize(json)); leaves the function on failure.
#define FLAMBEAU_TRY(declaration, ...) FLAMBEAU_TRY_INNER(FLAMBEAU_CONCAT(result_, __LINE__), declaration, __VA_ARGS__)
#define FLAMBEAU_TRY_INNER(result, declaration, ...) \
  auto result = (__VA_ARGS__);                       \
  if (!result) return ::flambeau::kFailure;          \
  declaration = *std::move(result)
// For steps without a value.
#define FLAMBEAU_CHECK_OK(...) \
  do {                         \
    if (!(__VA_ARGS__)) return ::flambeau::kFailure; \
  } while (false)

}  // namespace flambeau
