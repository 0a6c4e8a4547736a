// A tensor's bytes, wherever they lie: in an archive, in the memory of a live
// module, in a small buffer of our own, or computed while they are written.
//
// Nothing is copied before the writer asks. Offsets and lengths are bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/dtype.h"
#include "support/file.h"

namespace flambeau {

// Bytes that can be read in pieces. Implementations are immutable and safe to
// read from one thread at a time.
class DataSource {
 public:
  struct FileRange {
    std::shared_ptr<const File> file;
    uint64_t offset;
  };

  virtual ~DataSource() = default;
  virtual uint64_t size() const = 0;
  // Reads exactly out.size() bytes; false where the source cannot deliver them.
  virtual bool Read(uint64_t offset, std::span<std::byte> out) const = 0;
  // Where the bytes lie unchanged in a file, if they do.
  virtual std::optional<FileRange> InFile() const { return std::nullopt; }
  // The bytes in memory, if they are there.
  virtual std::optional<std::span<const std::byte>> InMemory() const { return std::nullopt; }
  // What dumps call it: a file's name, "memory".
  virtual std::string Label() const = 0;
  // False where only the label is left of what once were bytes; size() is 0.
  virtual bool available() const { return true; }
};

// `[offset, offset + size)` of a file; the caller has checked that it lies inside.
std::shared_ptr<const DataSource> MakeFileSource(std::shared_ptr<const File> file, uint64_t offset, uint64_t size);
// Memory of someone else's, kept alive by `owner`.
std::shared_ptr<const DataSource> MakeMemorySource(std::span<const std::byte> bytes, std::shared_ptr<const void> owner);
std::shared_ptr<const DataSource> MakeBufferSource(std::vector<std::byte> bytes);
// Bytes fetched by a callback (a GPU's memory, say): fetch(offset, out) -> ok.
std::shared_ptr<const DataSource> MakeCallbackSource(uint64_t size,
                                                     std::function<bool(uint64_t, std::span<std::byte>)> fetch);
// Stands for bytes that are elsewhere: all that a parsed dump tells of a weight.
std::shared_ptr<const DataSource> MakeAbsentSource(std::string label);

struct TensorData {
  std::shared_ptr<const DataSource> source;
  uint64_t offset = 0;  // of the first element within the source
  DType dtype = DType::kNone;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements; empty means contiguous

  uint64_t element_count() const;
  uint64_t byte_size() const { return PackedBytes(dtype, element_count()); }
  bool contiguous() const;
  // Reads `out.size()` bytes of the row-major form at `position`, gathering
  // over strides. Sub-byte types must be contiguous.
  bool Read(uint64_t position, std::span<std::byte> out) const;
  // Whole contents as row-major bytes; nullopt above `limit` or on a failed read.
  std::optional<std::vector<std::byte>> ReadAll(uint64_t limit) const;
  // Source and position equal: the same storage seen the same way.
  bool SameBytes(const TensorData& other) const;
};

// Checks that sizes and strides (may be empty) are non-negative, don't overflow
// and that the last element lies within `available` bytes after `offset`.
bool FitsInSource(DType dtype, std::span<const int64_t> sizes, std::span<const int64_t> strides, uint64_t offset,
                  uint64_t available);

}  // namespace flambeau
