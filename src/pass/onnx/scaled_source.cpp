#include "pass/onnx/scaled_source.h"

#include <algorithm>
#include <cstring>

#include "support/numeric.h"

namespace flambeau {
namespace {

// Compilers vectorise loops of constant length without being asked to.
template <uint64_t kCount>
void ScaleBlock(std::byte* at, float factor) {
  float block[kCount];
  std::memcpy(block, at, sizeof(block));
  for (float& value : block) value *= factor;
  std::memcpy(at, block, sizeof(block));
}

void ScaleFloats(std::byte* at, uint64_t count, float factor) {
  constexpr uint64_t kBlock = 16;
  uint64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) ScaleBlock<kBlock>(at + i * sizeof(float), factor);
  for (; i < count; ++i) ScaleBlock<1>(at + i * sizeof(float), factor);
}

class ScaledSource final : public DataSource {
 public:
  ScaledSource(TensorData weights, std::vector<double> factors, ChannelLayout layout)
      : weights_(std::move(weights)), factors_(std::move(factors)), layout_(layout) {}

  uint64_t size() const override { return weights_.byte_size(); }
  std::string Label() const override { return weights_.source->Label(); }

  bool Read(uint64_t offset, std::span<std::byte> out) const override {
    const auto width = static_cast<uint64_t>(ByteSize(weights_.dtype));
    if (offset > size() || out.size() > size() - offset) return false;
    // Whole elements directly; those that the range cuts by way of a copy.
    if (const uint64_t cut = offset % width; cut != 0 && !out.empty()) {
      const uint64_t count = std::min<uint64_t>(width - cut, out.size());
      if (!ReadPart(offset - cut, cut, out.first(count))) return false;
      offset += count;
      out = out.subspan(count);
    }
    const uint64_t whole = out.size() / width * width;
    if (!ReadWhole(offset, out.first(whole))) return false;
    return whole == out.size() || ReadPart(offset + whole, 0, out.subspan(whole));
  }

 private:
  bool ReadPart(uint64_t element, uint64_t from, std::span<std::byte> out) const {
    std::byte bytes[8];
    if (!ReadWhole(element, std::span(bytes, static_cast<size_t>(ByteSize(weights_.dtype))))) return false;
    std::memcpy(out.data(), bytes + from, out.size());
    return true;
  }

  bool ReadWhole(uint64_t offset, std::span<std::byte> out) const {
    if (out.empty()) return true;
    if (!weights_.Read(offset, out)) return false;
    const auto width = static_cast<size_t>(ByteSize(weights_.dtype));
    const uint64_t count = out.size() / width;
    for (uint64_t i = 0, element = offset / width; i < count;) {
      // A run of elements of one channel.
      const uint64_t row = element / layout_.inner;
      const uint64_t run = std::min(count - i, layout_.inner - element % layout_.inner);
      const uint64_t group = row / (layout_.channels * layout_.rows);
      Scale(out.data() + i * width, run, factors_[group * layout_.channels + row % layout_.channels]);
      i += run;
      element += run;
    }
    return true;
  }

  void Scale(std::byte* at, uint64_t count, double factor) const {
    if (weights_.dtype == DType::kFloat32) return ScaleFloats(at, count, static_cast<float>(factor));
    const auto width = static_cast<size_t>(ByteSize(weights_.dtype));
    for (uint64_t i = 0; i < count; ++i, at += width)
      StoreDouble(weights_.dtype, LoadDouble(weights_.dtype, at) * factor, at);
  }

  TensorData weights_;
  std::vector<double> factors_;
  ChannelLayout layout_;
};

}  // namespace

std::shared_ptr<const DataSource> MakeScaledSource(TensorData weights, std::vector<double> factors,
                                                   ChannelLayout layout) {
  return std::make_shared<ScaledSource>(std::move(weights), std::move(factors), layout);
}

}  // namespace flambeau
