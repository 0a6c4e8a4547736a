// GridSample as gathers: before opset 16, of volumes before 20, and of float64 where onnxruntime has no kernel.
#include <array>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// One of the elements along an axis, or of all, that a sample is made of; no weight is 1.
struct Tap {
  Tensor index, inside, weight;
};

class Sampler {
 public:
  Sampler(Builder& to, const Request& request)
      : to_(to), x_(request.operands[0]), grid_(request.operands[1]), mode_(request.Text("mode", "linear")),
        padding_(request.Text("padding_mode", "zeros")), align_corners_(request.Int("align_corners", 0) != 0) {}

  Tensor Sample() const {
    const int64_t axes = x_.rank() - 2;
    const Dim batch = x_.size(0), channels = x_.size(1);
    Dims result = {batch, channels};
    Expr places = to_.exprs().Constant(1), elements = places;
    for (int64_t axis = 1; axis <= axes; ++axis) {
      result.push_back(grid_.size(axis));
      places = to_.exprs().Mul(places, grid_.size(axis).expr);
      elements = to_.exprs().Mul(elements, x_.size(axis + 1).expr);
    }
    const Tensor points = to_.CastTo(to_.ReshapeTo(grid_, Dims{batch, {places}, to_.Of(axes)}), x_.dtype());
    const Tensor flat = to_.ReshapeTo(x_, Dims{batch, channels, {elements}});
    std::vector<Tap> corners(1);
    for (int64_t axis = 0; axis < axes; ++axis) {
      const Tensor size = SizeNumber(to_, x_, axis + 2);
      std::vector<Tap> more;
      // The grid's last coordinate is that of the first axis.
      for (const Tap& tap : TapsAt(to_.GatherIndex(points, 2, to_.Of(axes - 1 - axis)), to_.CastTo(size, x_.dtype())))
        for (const Tap& corner : corners)
          more.push_back(corner.index ? Joined(corner, tap, size) : tap);
      corners = std::move(more);
    }
    Tensor sum;
    for (const Tap& corner : corners) {
      const Tensor index = to_.ExpandTo(to_.UnsqueezeAt(corner.index, {1}), Dims{batch, channels, {places}});
      Tensor value = to_.Where(to_.UnsqueezeAt(corner.inside, {1}), to_.GatherElements(flat, index, {.axis = 2}), Number(0));
      if (corner.weight) value = to_.Mul(value, to_.UnsqueezeAt(corner.weight, {1}));
      sum = sum ? to_.Add(sum, value) : value;
    }
    return to_.ReshapeTo(sum, result);
  }

 private:
  Tensor Number(double value) const { return to_.ConstantOf(value, x_.dtype()); }

  Tap Joined(const Tap& before, const Tap& tap, const Tensor& size) const {
    return {to_.Add(to_.Mul(before.index, size), tap.index), to_.And(before.inside, tap.inside),
            tap.weight ? to_.Mul(before.weight, tap.weight) : Tensor()};
  }

  std::vector<Tap> TapsAt(const Tensor& coordinate, const Tensor& size) const {
    const Tensor one = Number(1), last = to_.Sub(size, one), moved = to_.Add(coordinate, one);
    const Tensor position = align_corners_ ? to_.Mul(to_.Mul(moved, Number(0.5)), last)
                                           : to_.Mul(to_.Sub(to_.Mul(moved, size), one), Number(0.5));
    if (mode_ == "nearest") return {TapAt(to_.Round(Padded(position, size)), {}, size)};
    if (mode_ == "linear") {
      const Tensor inside = Padded(position, size), low = to_.Floor(inside), part = to_.Sub(inside, low);
      return {TapAt(low, to_.Sub(one, part), size), TapAt(to_.Add(low, one), part, size)};
    }
    const Tensor low = to_.Floor(position), part = to_.Sub(position, low), rest = to_.Sub(one, part);
    const std::array weights = {Outer(to_.Add(part, one)), Inner(part), Inner(rest), Outer(to_.Add(rest, one))};
    std::vector<Tap> taps;
    for (size_t i = 0; i < weights.size(); ++i)
      taps.push_back(TapAt(Padded(to_.Add(low, Number(static_cast<double>(i) - 1)), size), weights[i], size));
    return taps;
  }

  // Cubic convolution with a = -3/4: of elements less than 1 away, and of those beyond.
  Tensor Inner(const Tensor& x) const {
    return to_.Add(to_.Mul(to_.Sub(to_.Mul(Number(1.25), x), Number(2.25)), to_.Mul(x, x)), Number(1));
  }
  Tensor Outer(const Tensor& x) const {
    const Tensor inner = to_.Add(to_.Mul(to_.Sub(Number(3.75), to_.Mul(Number(0.75), x)), x), Number(-6));
    return to_.Add(to_.Mul(inner, x), Number(3));
  }

  Tensor Clipped(const Tensor& position, const Tensor& last) const {
    return to_.Min(Tensors{to_.Max(Tensors{position, Number(0)}), last});
  }

  // What lies outside, moved inside as the padding says; zeros stay outside.
  Tensor Padded(Tensor position, const Tensor& size) const {
    if (padding_ == "zeros") return position;
    const Tensor one = Number(1), last = to_.Sub(size, one);
    if (padding_ == "reflection") {
      const Tensor begin = Number(align_corners_ ? 0 : -0.5), span = align_corners_ ? last : size;
      const Tensor none = to_.Equal(span, Number(0)), safe = to_.Where(none, one, span);
      const Tensor distance = to_.Abs(to_.Sub(position, begin)), turns = to_.Floor(to_.Div(distance, safe));
      const Tensor extra = to_.Sub(distance, to_.Mul(turns, safe)), half = to_.Mul(turns, Number(0.5));
      const Tensor even = to_.Equal(half, to_.Floor(half));
      const Tensor reflected = to_.Add(to_.Where(even, extra, to_.Sub(safe, extra)), begin);
      position = to_.Where(none, Number(0), reflected);
    }
    return Clipped(position, last);
  }

  // What lies outside, be it a zero or an element of no weight, counts nothing whatever is in its place.
  Tap TapAt(const Tensor& position, const Tensor& weight, const Tensor& size) const {
    const Tensor zero = Number(0);
    const Tensor inside = to_.And(to_.GreaterOrEqual(position, zero), to_.Less(position, size));
    return {to_.CastTo(to_.Where(inside, position, zero), DType::kInt64), inside, weight};
  }

  Builder& to_;
  Tensor x_, grid_;
  std::string mode_, padding_;
  bool align_corners_;
};

Results SampleImages(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], grid = request.operands[1];
  const bool known = x.ranked() && x.rank() > 2 && grid.ranked();
  const bool exists = to.Has("GridSample") && (!known || x.rank() == 4) && !LacksKernelOfDouble(to, request, "T1");
  if (!exists) return known ? Results({Sampler(to, request).Sample()}) : Refuse(to, request, "takes only images");
  if (to.opset() >= 20) return std::nullopt;
  const std::string mode = request.Text("mode", "linear");
  const AttributeList attributes = mode == "nearest" ? request.attributes : With(request.attributes, "mode", "bi" + mode);
  return EmitAsIs(to, "GridSample", request.operands, attributes, 1);
}

constexpr LegalizeRule kRules[] = {
    {"GridSample", 20, &SampleImages},
};

}  // namespace

std::span<const LegalizeRule> GridForms() { return kRules; }

}  // namespace flambeau::onnx
