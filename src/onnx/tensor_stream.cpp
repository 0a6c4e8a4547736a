#include "onnx/tensor_stream.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace flambeau::onnx {
namespace {

constexpr uint64_t kPiece = 8 << 20;   // bytes of output at a time
constexpr uint64_t kRun = 256 << 10;   // of what is copied as it lies: a buffer that stays in the cache
constexpr uint64_t kExtent = 8 << 20;  // bytes of the source read at a time
// A run with holes is read in one go while at least one byte in this many is
// wanted.
constexpr uint64_t kSparsest = 64;

struct Axis {
  uint64_t size;
  uint64_t from;  // stride in the source, in bytes
  uint64_t to;    // stride in the piece, in bytes
};

template <size_t kWidth>
void CopyRun(std::byte* to, const std::byte* from, const Axis& run) {
  for (uint64_t i = 0; i < run.size; ++i) std::memcpy(to + i * run.to, from + i * run.from, kWidth);
}

// Calls f(source offset, piece offset) for each index over `axes`; false stops.
template <class F>
bool ForEachIndex(std::span<const Axis> axes, F f) {
  std::vector<uint64_t> index(axes.size());
  uint64_t from = 0, to = 0;
  for (;;) {
    if (!f(from, to)) return false;
    size_t i = axes.size();
    while (i-- > 0) {
      from += axes[i].from;
      to += axes[i].to;
      if (++index[i] < axes[i].size) break;
      from -= axes[i].from * axes[i].size;
      to -= axes[i].to * axes[i].size;
      index[i] = 0;
    }
    if (i == SIZE_MAX) return true;
  }
}

class Gatherer {
 public:
  explicit Gatherer(const TensorData& data)
      : data_(data), width_(static_cast<uint64_t>(ByteSize(data.dtype))), memory_(data.source->InMemory()) {
    uint64_t to = width_;
    for (size_t i = data.sizes.size(); i-- > 0;) {
      const auto size = static_cast<uint64_t>(data.sizes[i]);
      if (size != 1) axes_.push_back({size, static_cast<uint64_t>(data.strides[i]) * width_, to});
      to *= size;
    }
    std::ranges::reverse(axes_);
  }

  bool Run(const std::function<bool(std::span<const std::byte>)>& take) {
    // Boxes are slabs of the first axis whose rows fit in a piece, at each
    // index of those before it. (One of stride `width_` counts as a row.)
    size_t split = 0;
    while (split + 1 < axes_.size() && axes_[split].to > kPiece) ++split;
    const Axis slabs = axes_[split];
    const uint64_t rows = std::clamp<uint64_t>(kPiece / slabs.to, 1, slabs.size);
    return ForEachIndex(std::span(axes_).first(split), [&](uint64_t outer, uint64_t) {
      for (uint64_t row = 0; row < slabs.size; row += rows) {
        std::vector<Axis> box(axes_.begin() + static_cast<ptrdiff_t>(split), axes_.end());
        box[0].size = std::min(rows, slabs.size - row);
        piece_.resize(box[0].size * slabs.to);
        if (!Gather(data_.offset + outer + row * slabs.from, std::move(box)) || !take(piece_)) return false;
      }
      return true;
    });
  }

 private:
  // Fills piece_ from the box that begins at `base` of the source.
  bool Gather(uint64_t base, std::vector<Axis> box) {
    // In the order of the source, whatever the order of the tensor.
    std::ranges::stable_sort(box, std::ranges::greater(), &Axis::from);
    size_t inner = memory_ ? 0 : box.size();
    uint64_t extent = width_, wanted = width_;
    while (inner > 0) {
      const Axis& axis = box[inner - 1];
      const uint64_t longer = extent + (axis.size - 1) * axis.from;
      wanted *= axis.from == 0 ? 1 : axis.size;
      if (longer > kExtent || longer / kSparsest > wanted) break;
      extent = longer;
      --inner;
    }
    const auto run = std::span<const Axis>(box).subspan(inner);
    return ForEachIndex(std::span<const Axis>(box).first(inner), [&](uint64_t from, uint64_t to) {
      const std::byte* bytes = nullptr;
      if (memory_) {
        bytes = memory_->data() + base + from;
      } else {
        extent_.resize(extent);
        if (!data_.source->Read(base + from, extent_)) return false;
        bytes = extent_.data();
      }
      Scatter(bytes, piece_.data() + to, run);
      return true;
    });
  }

  void Scatter(const std::byte* from, std::byte* to, std::span<const Axis> axes) const {
    const Axis single{1, width_, width_};
    const Axis& last = axes.empty() ? single : axes.back();
    const auto before = axes.first(axes.empty() ? 0 : axes.size() - 1);
    ForEachIndex(before, [&](uint64_t source, uint64_t target) {
      switch (width_) {
        case 1: CopyRun<1>(to + target, from + source, last); break;
        case 2: CopyRun<2>(to + target, from + source, last); break;
        case 4: CopyRun<4>(to + target, from + source, last); break;
        case 8: CopyRun<8>(to + target, from + source, last); break;
        default: CopyRun<16>(to + target, from + source, last); break;
      }
      return true;
    });
  }

  const TensorData& data_;
  uint64_t width_;
  std::optional<std::span<const std::byte>> memory_;
  std::vector<Axis> axes_;
  std::vector<std::byte> piece_, extent_;
};

bool StreamContiguous(const TensorData& data, const std::function<bool(std::span<const std::byte>)>& take) {
  const uint64_t size = data.byte_size();
  if (const auto memory = data.source->InMemory()) return take(memory->subspan(data.offset, size));
  std::vector<std::byte> piece(std::min(size, kRun));
  for (uint64_t done = 0; done < size; done += piece.size()) {
    piece.resize(std::min(size - done, kRun));
    if (!data.source->Read(data.offset + done, piece) || !take(piece)) return false;
  }
  return true;
}

}  // namespace

bool StreamBytes(const TensorData& data, const std::function<bool(std::span<const std::byte>)>& take) {
  if (data.byte_size() == 0) return true;
  if (!FitsInSource(data.dtype, data.sizes, data.strides, data.offset, data.source->size())) return false;
  if (data.contiguous()) return StreamContiguous(data, take);
  if (ByteSize(data.dtype) == 0) return false;
  return Gatherer(data).Run(take);
}

}  // namespace flambeau::onnx
