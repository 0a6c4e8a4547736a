#include "ir/tensor_data.h"

#include <algorithm>
#include <cstring>

namespace flambeau {
namespace {

class FileSource final : public DataSource {
 public:
  FileSource(std::shared_ptr<const File> file, uint64_t offset, uint64_t size)
      : file_(std::move(file)), offset_(offset), size_(size) {}
  uint64_t size() const override { return size_; }
  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    return offset <= size_ && out.size() <= size_ - offset && file_->Read(offset_ + offset, out);
  }
  std::optional<FileRange> InFile() const override { return FileRange{file_, offset_}; }
  std::string Label() const override { return file_->path().substr(file_->path().find_last_of("/\\") + 1); }

 private:
  std::shared_ptr<const File> file_;
  uint64_t offset_, size_;
};

class MemorySource final : public DataSource {
 public:
  MemorySource(std::span<const std::byte> bytes, std::shared_ptr<const void> owner)
      : bytes_(bytes), owner_(std::move(owner)) {}
  uint64_t size() const override { return bytes_.size(); }
  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > bytes_.size() || out.size() > bytes_.size() - offset) return false;
    if (!out.empty()) std::memcpy(out.data(), bytes_.data() + offset, out.size());
    return true;
  }
  std::optional<std::span<const std::byte>> InMemory() const override { return bytes_; }
  std::string Label() const override { return "memory"; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<const void> owner_;
};

class CallbackSource final : public DataSource {
 public:
  CallbackSource(uint64_t size, std::function<bool(uint64_t, std::span<std::byte>)> fetch)
      : size_(size), fetch_(std::move(fetch)) {}
  uint64_t size() const override { return size_; }
  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    return offset <= size_ && out.size() <= size_ - offset && fetch_(offset, out);
  }
  std::string Label() const override { return "callback"; }

 private:
  uint64_t size_;
  std::function<bool(uint64_t, std::span<std::byte>)> fetch_;
};

class AbsentSource final : public DataSource {
 public:
  explicit AbsentSource(std::string label) : label_(std::move(label)) {}
  uint64_t size() const override { return 0; }
  bool Read(uint64_t, std::span<std::byte>) const override { return false; }
  std::string Label() const override { return label_; }
  bool available() const override { return false; }

 private:
  std::string label_;
};

// Of the element at `position` in row-major order; no size is 0.
std::vector<int64_t> IndexOf(uint64_t position, std::span<const int64_t> sizes) {
  std::vector<int64_t> index(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    index[i] = static_cast<int64_t>(position % static_cast<uint64_t>(sizes[i]));
    position /= static_cast<uint64_t>(sizes[i]);
  }
  return index;
}

}  // namespace

std::shared_ptr<const DataSource> MakeFileSource(std::shared_ptr<const File> file, uint64_t offset, uint64_t size) {
  return std::make_shared<FileSource>(std::move(file), offset, size);
}

std::shared_ptr<const DataSource> MakeMemorySource(std::span<const std::byte> bytes,
                                                   std::shared_ptr<const void> owner) {
  return std::make_shared<MemorySource>(bytes, std::move(owner));
}

std::shared_ptr<const DataSource> MakeBufferSource(std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  return std::make_shared<MemorySource>(std::span(*owner), owner);
}

std::shared_ptr<const DataSource> MakeCallbackSource(uint64_t size,
                                                     std::function<bool(uint64_t, std::span<std::byte>)> fetch) {
  return std::make_shared<CallbackSource>(size, std::move(fetch));
}

std::shared_ptr<const DataSource> MakeAbsentSource(std::string label) {
  return std::make_shared<AbsentSource>(std::move(label));
}

uint64_t TensorData::element_count() const {
  uint64_t count = 1;
  for (int64_t size : sizes) count *= static_cast<uint64_t>(size);
  return count;
}

bool TensorData::contiguous() const {
  if (strides.empty() || element_count() == 0) return true;
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected) return false;
    expected *= sizes[i];
  }
  return true;
}

bool TensorData::Read(uint64_t position, std::span<std::byte> out) const {
  if (position > byte_size() || out.size() > byte_size() - position) return false;
  if (contiguous()) return source->Read(offset + position, out);
  const auto width = static_cast<uint64_t>(ByteSize(dtype));
  if (width == 0 || position % width != 0 || out.size() % width != 0) return false;
  if (out.empty()) return true;
  // The index of the first element asked for, then an odometer.
  std::vector<int64_t> index = IndexOf(position / width, sizes);
  uint64_t begin = 0;  // of what is touched of the source, in elements
  uint64_t extent = 1;
  const std::vector<int64_t> last = IndexOf((position + out.size()) / width - 1, sizes);
  bool apart = false;  // the two indices differ further out
  for (size_t i = 0; i < sizes.size(); ++i) {
    const int64_t low = apart ? 0 : index[i], high = apart ? sizes[i] - 1 : last[i];
    begin += static_cast<uint64_t>(low * strides[i]);
    extent += static_cast<uint64_t>((high - low) * strides[i]);
    apart |= low != high;
  }
  uint64_t at = -begin;  // and back again where a huge stride of a dimension of one element takes it beyond all numbers
  for (size_t i = 0; i < sizes.size(); ++i) at += static_cast<uint64_t>(index[i] * strides[i]);
  const auto memory = source->InMemory();
  // Reading element by element from a file is slow; take all that is touched at once.
  std::vector<std::byte> copy;
  std::span<const std::byte> bytes;
  if (memory) {
    bytes = memory->subspan(offset + begin * width, extent * width);
  } else {
    copy.resize(extent * width);
    if (!source->Read(offset + begin * width, copy)) return false;
    bytes = copy;
  }
  for (size_t done = 0; done < out.size(); done += width) {
    std::memcpy(out.data() + done, bytes.data() + at * width, width);
    for (size_t i = sizes.size(); i-- > 0;) {
      at += static_cast<uint64_t>(strides[i]);
      if (++index[i] < sizes[i]) break;
      at -= static_cast<uint64_t>(strides[i]) * static_cast<uint64_t>(sizes[i]);
      index[i] = 0;
    }
  }
  return true;
}

std::optional<std::vector<std::byte>> TensorData::ReadAll(uint64_t limit) const {
  if (byte_size() > limit) return std::nullopt;
  std::vector<std::byte> bytes(byte_size());
  if (!Read(0, bytes)) return std::nullopt;
  return bytes;
}

bool TensorData::SameBytes(const TensorData& other) const {
  if (dtype != other.dtype || sizes != other.sizes) return false;
  if (contiguous() != other.contiguous() || (!contiguous() && strides != other.strides)) return false;
  if (source == other.source) return offset == other.offset;
  const auto a = source->InFile(), b = other.source->InFile();
  if (a && b) return a->file == b->file && a->offset + offset == b->offset + other.offset;
  const auto p = source->InMemory(), q = other.source->InMemory();
  return p && q && p->data() + offset == q->data() + other.offset;
}

bool FitsInSource(DType dtype, std::span<const int64_t> sizes, std::span<const int64_t> strides, uint64_t offset,
                  uint64_t available) {
  if (!strides.empty() && strides.size() != sizes.size()) return false;
  uint64_t last = 0, count = 1;
  bool empty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || (!strides.empty() && strides[i] < 0)) return false;
    if (sizes[i] == 0) empty = true;
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(std::max<int64_t>(sizes[i], 1)), &count)) return false;
    if (!strides.empty() && sizes[i] > 0) {
      uint64_t reach;
      if (__builtin_mul_overflow(static_cast<uint64_t>(sizes[i] - 1), static_cast<uint64_t>(strides[i]), &reach) ||
          __builtin_add_overflow(last, reach, &last))
        return false;
    }
  }
  if (empty) return true;
  if (strides.empty()) last = count - 1;
  // No count of bytes may overflow. What a stride of 0 may claim below that is
  // for readers to judge (support/expansion.h).
  if (last >= UINT64_MAX / 16 || count >= UINT64_MAX / 16) return false;
  const uint64_t bytes = PackedBytes(dtype, last + 1);
  return offset <= available && bytes <= available - offset;
}

}  // namespace flambeau
