#include "ir/encoded_source.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "support/numeric.h"

namespace flambeau {
namespace {

constexpr uint64_t kPiece = 1 << 20;

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

// The other way: a byte of what is read is two numbers of a byte each.
class HalvedSource final : public DataSource {
 public:
  explicit HalvedSource(TensorData numbers) : numbers_(std::move(numbers)) {}
  uint64_t size() const override { return (numbers_.byte_size() + 1) / 2; }
  std::string Label() const override { return numbers_.source->Label(); }

  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size() || out.size() > size() - offset) return false;
    std::vector<std::byte> piece;
    while (!out.empty()) {
      const uint64_t count = std::min<uint64_t>(out.size(), kPiece / 2);
      piece.assign(count * 2, std::byte{0});
      if (!numbers_.Read(offset * 2, std::span(piece).first(std::min(piece.size(), numbers_.byte_size() - offset * 2)))) return false;
      for (uint64_t i = 0; i < count; ++i) out[i] = (piece[2 * i] & std::byte{15}) | piece[2 * i + 1] << 4;
      offset += count;
      out = out.subspan(count);
    }
    return true;
  }

 private:
  TensorData numbers_;
};

// Whether all bytes are integers of that range.
bool LieWithin(const TensorData& numbers, int64_t low, int64_t high) {
  std::vector<std::byte> piece(std::min(numbers.byte_size(), kPiece));
  for (uint64_t done = 0; done < numbers.byte_size(); done += piece.size()) {
    piece.resize(std::min(numbers.byte_size() - done, kPiece));
    if (!numbers.Read(done, piece)) return false;
    for (const std::byte& each : piece)
      if (const int64_t number = LoadInt(numbers.dtype, &each); number < low || number > high) return false;
  }
  return true;
}

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

std::optional<TensorData> Narrowed(const TensorData& numbers, DType dtype) {
  const bool is_signed = dtype == DType::kInt4;
  if (!is_signed && dtype != DType::kUint4) return std::nullopt;
  if (!IsInteger(numbers.dtype) || ByteSize(numbers.dtype) != 1 || !LieWithin(numbers, is_signed ? -8 : 0, is_signed ? 7 : 15)) return std::nullopt;
  return TensorData{.source = std::make_shared<HalvedSource>(numbers), .dtype = dtype, .sizes = numbers.sizes};
}

}  // namespace flambeau
