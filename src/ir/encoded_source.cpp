#include "ir/encoded_source.h"

#include <algorithm>
#include <array>
#include <utility>

namespace flambeau {
namespace {

class PackedSource final : public DataSource {
 public:
  PackedSource(std::shared_ptr<const DataSource> packed, int bits) : packed_(std::move(packed)), bits_(bits) {}
  uint64_t size() const override { return packed_->size() * per_byte(); }
  std::string Label() const override { return packed_->Label(); }

  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size() || out.size() > size() - offset) return false;
    std::array<std::byte, 4096> piece;
    while (!out.empty()) {
      const uint64_t skipped = offset % per_byte();
      const uint64_t count = std::min<uint64_t>(out.size(), piece.size() * per_byte() - skipped);
      const auto bytes = std::span(piece).first((skipped + count + per_byte() - 1) / per_byte());
      if (!packed_->Read(offset / per_byte(), bytes)) return false;
      for (uint64_t i = 0; i < count; ++i) {
        const uint64_t at = skipped + i;
        const auto shift = static_cast<int>(at % per_byte()) * bits_;
        out[i] = bytes[at / per_byte()] >> shift & static_cast<std::byte>((1 << bits_) - 1);
      }
      offset += count;
      out = out.subspan(count);
    }
    return true;
  }

 private:
  uint64_t per_byte() const { return 8 / static_cast<uint64_t>(bits_); }

  std::shared_ptr<const DataSource> packed_;
  int bits_;
};

class SwappedSource final : public DataSource {
 public:
  SwappedSource(std::shared_ptr<const DataSource> source, int width)
      : source_(std::move(source)), width_(static_cast<uint64_t>(width)) {}
  uint64_t size() const override { return source_->size() / width_ * width_; }
  std::string Label() const override { return source_->Label(); }

  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size() || out.size() > size() - offset) return false;
    std::array<std::byte, 4096> piece;
    while (!out.empty()) {
      const uint64_t cut = offset % width_;
      const uint64_t count = std::min<uint64_t>(out.size(), piece.size() - cut);
      const auto bytes = std::span(piece).first((cut + count + width_ - 1) / width_ * width_);
      if (!source_->Read(offset - cut, bytes)) return false;
      for (uint64_t i = 0; i < bytes.size(); i += width_) std::ranges::reverse(bytes.subspan(i, width_));
      std::ranges::copy(bytes.subspan(cut, count), out.begin());
      offset += count;
      out = out.subspan(count);
    }
    return true;
  }

 private:
  std::shared_ptr<const DataSource> source_;
  uint64_t width_;
};

}  // namespace

std::shared_ptr<const DataSource> MakeEncodedSource(std::shared_ptr<const DataSource> stored, Encoding encoding) {
  if (encoding.swapped_width > 1) stored = std::make_shared<SwappedSource>(std::move(stored), encoding.swapped_width);
  if (encoding.bits != 0) stored = std::make_shared<PackedSource>(std::move(stored), encoding.bits);
  return stored;
}

}  // namespace flambeau
