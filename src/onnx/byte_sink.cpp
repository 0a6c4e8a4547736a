#include "onnx/byte_sink.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "onnx/tensor_stream.h"

namespace flambeau::onnx {
namespace {

// Below it a system call costs more than a copy.
constexpr size_t kBuffer = 256 << 10;
// How much is written between two looks at the meter.
constexpr uint64_t kStep = 32 << 20;

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

void ByteSink::Append(std::string_view bytes) {
  if (!ok()) return;
  position_ += bytes.size();
  DoAppend(bytes);
}

void ByteSink::Append(const TensorData& data) {
  if (!ok()) return;
  position_ += data.byte_size();
  DoAppend(data);
}

void ByteSink::DoAppend(const TensorData& data) {
  const bool read = StreamBytes(data, [&](std::span<const std::byte> piece) {
    DoAppend(AsText(piece));
    return ok();
  });
  if (!read) Fail(SinkFailure::kSource);  // keeps an earlier failure
}

void StringSink::DoAppend(std::string_view bytes) { bytes_.append(bytes); }

void FileSink::DoAppend(std::string_view bytes) {
  if (pending_.size() + bytes.size() > kBuffer) Flush();
  if (bytes.size() >= kBuffer) {
    Write(bytes);
  } else {
    pending_.append(bytes);
  }
}

void FileSink::Align(uint64_t alignment) {
  const uint64_t rest = position_ % alignment;
  if (rest != 0) Append(std::string(alignment - rest, '\0'));
}

bool FileSink::Finish() {
  Flush();
  return ok();
}

void FileSink::Flush() {
  Write(pending_);
  pending_.clear();
}

void FileSink::Write(std::string_view bytes) {
  while (ok() && !bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), kStep));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return Fail(SinkFailure::kTarget, written < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(written));
    Advance(static_cast<uint64_t>(written));
  }
}

void FileSink::Advance(uint64_t bytes) {
  if (!meter_->Advance(bytes)) Fail(SinkFailure::kInterrupted);
}

}  // namespace flambeau::onnx
