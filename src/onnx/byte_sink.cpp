#include "onnx/byte_sink.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "onnx/tensor_stream.h"

namespace flambeau::onnx {
namespace {

constexpr size_t kBuffer = 1 << 20;
// Below it a system call costs more than a copy.
constexpr uint64_t kLeastRange = 64 << 10;
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

void FileSink::DoAppend(const TensorData& data) {
  const uint64_t size = data.byte_size();
  if (can_copy_range_ && size >= kLeastRange && data.contiguous()) {
    if (auto range = data.source->InFile()) {
      Flush();
      range->offset += data.offset;
      if (!ok() || CopyRange(*range, size)) return;
      can_copy_range_ = false;
    }
  }
  ByteSink::DoAppend(data);
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

bool FileSink::CopyRange([[maybe_unused]] const DataSource::FileRange& range, [[maybe_unused]] uint64_t size) {
#ifdef __linux__
  auto from = static_cast<off_t>(range.offset);
  for (bool first = true; ok() && size > 0; first = false) {
    const ssize_t copied = ::copy_file_range(range.file->descriptor(), &from, descriptor_, nullptr,
                                             static_cast<size_t>(std::min(size, kStep)), 0);
    if (copied < 0 && errno == EINTR) continue;
    if (copied < 0 && first && errno != ENOSPC && errno != EFBIG && errno != EDQUOT && errno != EIO) return false;
    if (copied < 0) Fail(SinkFailure::kTarget, errno);
    // The source has become shorter; some file systems say so of files that
    // they make up, too, which only read(2) can tell apart.
    if (copied == 0 && first) return false;
    if (copied == 0) Fail(SinkFailure::kSource);
    if (copied <= 0) break;
    size -= static_cast<uint64_t>(copied);
    Advance(static_cast<uint64_t>(copied));
  }
  return true;
#else
  return false;
#endif
}

}  // namespace flambeau::onnx
