// Where a model's bytes go: a string, or a file.
//
// A sink that has failed ignores what follows and remembers why. Payloads are
// handed over as TensorData, so that a sink may move them without looking.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "ir/tensor_data.h"

namespace flambeau::onnx {

enum class SinkFailure : uint8_t {
  kNone,
  kTarget,       // cannot write; see error_number()
  kSource,       // a tensor's bytes cannot be read
  kInterrupted,  // the meter said so
};

// Counts bytes over all sinks of one call; false stops them.
class Meter {
 public:
  using Callback = std::function<bool(uint64_t done, uint64_t total)>;
  explicit Meter(Callback callback = {}) : callback_(std::move(callback)) {}

  void SetTotal(uint64_t total) { total_ = total; }
  bool Advance(uint64_t bytes) {
    done_ += bytes;
    return !callback_ || callback_(done_, total_);
  }

 private:
  Callback callback_;
  uint64_t done_ = 0, total_ = 0;
};

class ByteSink {
 public:
  virtual ~ByteSink() = default;

  void Append(std::string_view bytes);
  // The row-major bytes of a tensor.
  void Append(const TensorData& data);

  bool ok() const { return failure_ == SinkFailure::kNone; }
  SinkFailure failure() const { return failure_; }
  int error_number() const { return error_number_; }
  uint64_t position() const { return position_; }

 protected:
  virtual void DoAppend(std::string_view bytes) = 0;
  virtual void DoAppend(const TensorData& data);

  void Fail(SinkFailure failure, int error_number = 0) {
    if (!ok()) return;
    failure_ = failure;
    error_number_ = error_number;
  }
  uint64_t position_ = 0;  // bytes taken so far

 private:
  SinkFailure failure_ = SinkFailure::kNone;
  int error_number_ = 0;
};

class StringSink final : public ByteSink {
 public:
  explicit StringSink(uint64_t expected) { bytes_.reserve(expected); }
  std::string Take() { return std::move(bytes_); }

 protected:
  void DoAppend(std::string_view bytes) override;

 private:
  std::string bytes_;
};

// Writes to a descriptor, from its position on; Finish() when done. What lies
// unchanged in a file goes through a buffer that stays in the cache:
// copy_file_range(2) moves single pages where offsets are not aligned alike,
// and those of archives are not.
class FileSink final : public ByteSink {
 public:
  FileSink(int descriptor, Meter* meter) : descriptor_(descriptor), meter_(meter) {}
  // Zeros up to the next multiple of `alignment`.
  void Align(uint64_t alignment);
  bool Finish();

 protected:
  void DoAppend(std::string_view bytes) override;

 private:
  void Flush();
  void Write(std::string_view bytes);
  void Advance(uint64_t bytes);

  int descriptor_;
  Meter* meter_;
  std::string pending_;
};

}  // namespace flambeau::onnx
