// Convolutions.
#include <algorithm>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/spatial.h"
#include "lower/ops/windows.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

// The weight's spatial sizes, if all are known: the operators may leave them
// out, but readers of the model and some runtimes want them.
Ints KernelShape(Lowering& to, const Tensor& weight) {
  const Dims sizes = weight.sizes();
  const auto known = to.AsConstants(std::span(sizes).subspan(std::min<size_t>(2, sizes.size())));
  return known.value_or(Ints{});
}

struct Geometry {
  Ints stride, pads, dilation;
  int64_t groups;
};

Tensor Convolve(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, const Geometry& geometry) {
  if (!to.RequireRank(weight, "weight")) return to.Poison(Type::Unranked(input.dtype()));
  const int64_t spatial = weight.rank() - 2;
  const Batched batched(to, input, spatial);
  if (NeedsWindows(to, input, "Conv"))
    return batched.Undo(ConvolveWindows(to, batched.tensor(), weight, bias.value_or(Tensor()),
                                         {PerAxis(geometry.stride, spatial), DimsOf(to, geometry.pads),
                                          PerAxis(geometry.dilation, spatial), geometry.groups}));
  return batched.Undo(to.Conv(batched.tensor(), weight, bias.value_or(Tensor()),
                              {.dilations = PerAxis(geometry.dilation, spatial),
                               .group = geometry.groups,
                               .kernel_shape = KernelShape(to, weight),
                               .pads = geometry.pads,
                               .strides = PerAxis(geometry.stride, spatial)}));
}

template <int64_t kSpatial>
Tensor ConvNd(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride, Const<Dims> padding,
              Const<Dims> dilation, Const<Dim> groups) {
  return Convolve(to, input, weight, bias, {stride, BothSides(PerAxis(padding, kSpatial)), dilation, groups});
}

// 'same' puts an odd one of the padding at the end.
template <int64_t kSpatial>
Tensor ConvNdOfMode(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride,
                    std::string_view padding, Const<Dims> dilation, Const<Dim> groups) {
  if (padding != "same") return Convolve(to, input, weight, bias, {stride, Ints(2 * kSpatial, 0), dilation, groups});
  const Ints spread = PerAxis(dilation, kSpatial);
  Dims pads(2 * kSpatial);
  for (int64_t i = 0; i < kSpatial; ++i) {
    const auto axis = static_cast<size_t>(i);
    const Dim total = to.Times(to.Minus(weight.size(2 + i), to.Of(1)), to.Of(spread[axis]));
    pads[axis] = {to.exprs().FloorDiv(total.expr, to.exprs().Constant(2))};
    pads[axis + kSpatial] = to.Minus(total, pads[axis]);
  }
  if (const auto known = to.AsConstants(pads)) return Convolve(to, input, weight, bias, {stride, *known, dilation, groups});
  const Batched batched(to, input, kSpatial);
  const Tensor padded = PadSpatial(to, batched.tensor(), pads);
  return batched.Undo(Convolve(to, padded, weight, bias, {stride, Ints(2 * kSpatial, 0), dilation, groups}));
}

// Output padding is what the end of the padding leaves out. onnxruntime takes less of it than a stride, PyTorch also
// less than a dilation: what the padding at the end has is given up first, the rest is the bias alone.
struct TransposedPads {
  Ints pads, output_padding, beyond;
};
TransposedPads PadsOf(const Ints& padding, Ints output_padding, const Ints& stride) {
  const size_t count = padding.size();
  TransposedPads result{BothSides(padding), std::move(output_padding), Ints(count, 0)};
  for (size_t i = 0; i < count; ++i) {
    int64_t &end = result.pads[count + i], &more = result.output_padding[i];
    if (more < stride[i]) continue;
    const int64_t given_up = std::min(end, more);
    end -= given_up;
    result.beyond[i] = more - given_up;
    more = 0;
  }
  return result;
}

template <int64_t kSpatial>
Tensor ConvTransposeNd(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride,
                       Const<Dims> padding, Const<Dims> output_padding, Const<Dim> groups, Const<Dims> dilation) {
  const Batched batched(to, input, kSpatial);
  if (NeedsWindows(to, input, "ConvTranspose"))
    return batched.Undo(ConvolveWindowsTransposed(
        to, batched.tensor(), weight, bias.value_or(Tensor()), PerAxis(stride, kSpatial), PerAxis(padding, kSpatial),
        PerAxis(output_padding, kSpatial), PerAxis(dilation, kSpatial), groups));
  const Ints strides = PerAxis(stride, kSpatial);
  const auto [pads, end, beyond] = PadsOf(PerAxis(padding, kSpatial), PerAxis(output_padding, kSpatial), strides);
  const bool all_there = std::ranges::all_of(beyond, [](int64_t count) { return count == 0; });
  Tensor y = to.ConvTranspose(batched.tensor(), weight, all_there ? bias.value_or(Tensor()) : Tensor(),
                              {.dilations = PerAxis(dilation, kSpatial),
                               .group = groups,
                               .kernel_shape = KernelShape(to, weight),
                               .output_padding = end,
                               .pads = pads,
                               .strides = strides});
  if (all_there) return batched.Undo(y);
  for (size_t i = 0; i < beyond.size(); ++i) y = PadEnd(to, y, static_cast<int64_t>(i) + 2, to.Of(beyond[i]));
  if (!bias) return batched.Undo(y);
  Ints trailing;
  for (int64_t axis = 1; axis <= kSpatial; ++axis) trailing.push_back(axis);
  return batched.Undo(to.Add(y, to.UnsqueezeAt(*bias, trailing)));
}

Tensor Convolution(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride,
                   Const<Dims> padding, Const<Dims> dilation, bool transposed, Const<Dims> output_padding,
                   Const<Dim> groups) {
  if (!to.RequireRank(weight, "weight")) return to.Poison(Type::Unranked(input.dtype()));
  const int64_t spatial = weight.rank() - 2;
  if (!transposed)
    return Convolve(to, input, weight, bias, {stride, BothSides(PerAxis(padding, spatial)), dilation, groups});
  const auto transpose = spatial == 1 ? &ConvTransposeNd<1> : spatial == 2 ? &ConvTransposeNd<2> : &ConvTransposeNd<3>;
  return transpose(to, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

Tensor ConvolutionWithFlags(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride,
                            Const<Dims> padding, Const<Dims> dilation, bool transposed, Const<Dims> output_padding,
                            Const<Dim> groups, Unused, Unused, Unused, Unused) {
  return Convolution(to, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

Tensor ConvolutionDeprecated(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride,
                             Const<Dims> padding, Const<Dims> dilation, bool transposed, Ints output_padding,
                             Const<Dim> groups, Unused, Unused, Unused) {
  return Convolution(to, input, weight, bias, stride, padding, dilation, transposed, {output_padding}, groups);
}

Tensor ConvolutionOfMode(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Const<Dims> stride,
                         std::string_view padding, Const<Dims> dilation, Const<Dim> groups) {
  const int64_t rank = weight.rank();
  const auto convolve = rank == 3 ? &ConvNdOfMode<1> : rank == 4 ? &ConvNdOfMode<2> : &ConvNdOfMode<3>;
  return convolve(to, input, weight, bias, stride, padding, dilation, groups);
}

// (time, batch, channels) with a weight of (kernel, in, out).
Tensor ConvTbc(Lowering& to, Tensor self, Tensor weight, Tensor bias, int64_t pad) {
  const Tensor y = to.Conv(to.Permute(self, {1, 2, 0}), to.Permute(weight, {2, 1, 0}), bias, {.pads = {pad, pad}});
  return to.Permute(y, {2, 0, 1});
}

constexpr OpRow kRows[] = {
    Op<ConvolutionOfMode>("aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str "
                          "padding, SymInt[] dilation, SymInt groups) -> Tensor"),
    Op<ConvolutionDeprecated>("aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] "
                              "stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, "
                              "SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor"),
    Op<ConvolutionWithFlags>("aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
                             "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, "
                             "bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor"),
    Op<ConvNd<1>>("aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
                  "padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor"),
    Op<ConvNdOfMode<1>>("aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], "
                        "str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor"),
    Op<ConvNd<2>>("aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] "
                  "padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
    Op<ConvNdOfMode<2>>("aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], "
                        "str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
    Op<ConvNd<3>>("aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] "
                  "padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor"),
    Op<ConvNdOfMode<3>>("aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, "
                        "1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor"),
    Op<ConvTbc>("aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor"),
    Op<ConvTransposeNd<1>>(
        "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] "
        "padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor"),
    Op<ConvTransposeNd<2>>("aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] "
                           "stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, "
                           "SymInt[2] dilation=[1, 1]) -> Tensor"),
    Op<ConvTransposeNd<3>>("aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] "
                           "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt "
                           "groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor"),
    Op<Convolution>("aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
                    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Convolutions() { return kRows; }

}  // namespace flambeau::lower
