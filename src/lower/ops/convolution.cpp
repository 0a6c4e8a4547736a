// Convolutions.
#include <algorithm>
#include <functional>

#include "lower/op.h"
#include "lower/ops/convolution.h"
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
  Dims stride;
  Ints pads;
  Dims dilation;
  Dim groups;
};

// A number of groups that is not constant, as where a batch has weights of its own each: a Scan over the groups, in whose
// body `convolve` takes the input and the weight of one.
using OfOneGroup = std::function<Tensor(const Tensor& input, const Tensor& weight)>;
Tensor ScanGroups(Lowering& to, const Tensor& input, const Tensor& weight, const OptionalTensor& bias, Dim groups,
                  const OfOneGroup& convolve) {
  auto split = [&](const Tensor& tensor, int64_t axis) {
    const Dim each{to.exprs().FloorDiv(tensor.size(axis).expr, groups.expr)};
    Dims sizes = tensor.sizes();
    sizes[axis] = each;
    sizes.insert(sizes.begin() + axis, groups);
    return to.ReshapeTo(tensor, sizes);
  };
  // The groups become axis 0, and back: (1, 0, 2, 3, …) is its own inverse.
  Ints swapped{1, 0};
  for (int64_t axis = 2; axis <= input.rank(); ++axis) swapped.push_back(axis);
  const std::vector<Tensor> operands = {to.Permute(split(input, 1), swapped), split(weight, 0)};
  Dims sizes;
  onnx::AttributeList attributes;
  attributes.Add("body", to.Body([&] {
    std::vector<Tensor> one;
    for (const Tensor& all : operands) {
      std::vector<Expr> inner;
      for (int64_t axis = 1; axis < all.rank(); ++axis) inner.push_back(all.size(axis).expr);
      one.push_back(to.AddBlockInput(Type::OfTensor(all.dtype(), inner)));
    }
    const Tensor result = convolve(one[0], one[1]);
    sizes = result.sizes();
    return std::vector{result};
  }));
  attributes.Add("num_scan_inputs", static_cast<int64_t>(operands.size()));
  std::vector<Expr> stacked{groups.expr};
  for (const Dim size : sizes) stacked.push_back(size.expr);
  const Tensor results = to.EmitCustom("Scan", operands, attributes, std::vector{Type::OfTensor(input.dtype(), stacked)}).front();
  const Dim channels = to.Times(groups, results.size(2));
  sizes[1] = channels;
  const Tensor y = to.ReshapeTo(to.Permute(results, swapped), sizes);
  if (!bias) return y;
  Ints trailing;
  for (int64_t axis = 1; axis < input.rank() - 1; ++axis) trailing.push_back(axis);
  return to.Add(y, to.UnsqueezeAt(*bias, trailing));
}

// Of no channels PyTorch makes none, however many the weight has.
Tensor NoneOfNone(Lowering& to, const Tensor& input, Tensor y) {
  return to.AsConstant(input.size(1)) == 0 ? to.SliceAxis(y, 1, to.Of(0), to.Of(0)) : y;
}

Tensor Convolve(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, const Geometry& geometry) {
  if (!to.RequireRank(weight, "weight")) return to.Poison(Type::Unranked(input.dtype()));
  const int64_t spatial = weight.rank() - 2;
  const Batched batched(to, input, spatial);
  const auto groups = to.AsConstant(geometry.groups);
  if (!groups) {
    const Geometry one{geometry.stride, geometry.pads, geometry.dilation, to.Of(1)};
    return batched.Undo(ScanGroups(to, batched.tensor(), weight, bias, geometry.groups,
                                   [&](const Tensor& x, const Tensor& w) { return Convolve(to, x, w, {}, one); }));
  }
  const Dims stride = StepsPerAxis(to, geometry.stride, spatial), dilation = StepsPerAxis(to, geometry.dilation, spatial);
  const auto strides = to.AsConstants(stride), dilations = to.AsConstants(dilation);
  if (!strides || !dilations || NeedsWindows(to, input, "Conv"))
    return batched.Undo(ConvolveWindows(to, batched.tensor(), weight, bias.value_or(Tensor()),
                                         {stride, DimsOf(to, geometry.pads), dilation, *groups}));
  const Tensor y = to.Conv(batched.tensor(), weight, bias.value_or(Tensor()),
                           {.dilations = *dilations,
                            .group = *groups,
                            .kernel_shape = KernelShape(to, weight),
                            .pads = geometry.pads,
                            .strides = *strides});
  return batched.Undo(NoneOfNone(to, batched.tensor(), y));
}

// Padding that follows from sizes goes around the input first. `pads` are those at the begins, then those at the ends.
Tensor ConvolvePadded(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, const Dims& stride,
                      const Dims& pads, const Dims& dilation, Dim groups) {
  if (const auto known = to.AsConstants(pads)) return Convolve(to, input, weight, bias, {stride, *known, dilation, groups});
  const Batched batched(to, input, static_cast<int64_t>(pads.size() / 2));
  const Tensor padded = PadSpatial(to, batched.tensor(), pads);
  return batched.Undo(Convolve(to, padded, weight, bias, {stride, Ints(pads.size(), 0), dilation, groups}));
}

Dims OnBothSides(const Dims& padding, int64_t spatial) {
  Dims pads = PerAxis(padding, spatial);
  const Dims ends = pads;
  pads.insert(pads.end(), ends.begin(), ends.end());
  return pads;
}

template <int64_t kSpatial>
Tensor ConvNd(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride, Dims padding,
              Dims dilation, Dim groups) {
  return ConvolvePadded(to, input, weight, bias, stride, OnBothSides(padding, kSpatial), dilation, groups);
}

// 'same' puts an odd one of the padding at the end.
template <int64_t kSpatial>
Tensor ConvNdOfMode(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride,
                    std::string_view padding, Dims dilation, Dim groups) {
  if (padding == "same" && std::ranges::any_of(stride, [&](Dim step) { return to.AsConstant(step).value_or(1) != 1; }))
    throw onnx::BadOperand("pads to the same size, which a stride does not leave");
  if (padding != "same") return Convolve(to, input, weight, bias, {stride, Ints(2 * kSpatial, 0), dilation, groups});
  const Dims spread = StepsPerAxis(to, dilation, kSpatial);
  Dims pads(2 * kSpatial);
  for (int64_t i = 0; i < kSpatial; ++i) {
    const auto axis = static_cast<size_t>(i);
    const Dim total = to.Times(to.Minus(weight.size(2 + i), to.Of(1)), spread[axis]);
    pads[axis] = {to.exprs().FloorDiv(total.expr, to.exprs().Constant(2))};
    pads[axis + kSpatial] = to.Minus(total, pads[axis]);
  }
  return ConvolvePadded(to, input, weight, bias, stride, pads, dilation, groups);
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

using TransposedConvolution = Tensor (*)(Lowering&, Tensor, Tensor, OptionalTensor, Dims, Dims, Dims, Dim, Dims);

// Output padding that follows from sizes is less than a stride or a dilation: as much as that is computed, and cut.
Tensor ConvTransposeAndCut(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, const Ints& strides,
                           const Dims& padding, const Dims& output_padding, Dim groups, const Ints& dilations,
                           TransposedConvolution convolve) {
  const auto spatial = static_cast<int64_t>(output_padding.size());
  Dims most = output_padding;
  for (size_t i = 0; i < most.size(); ++i)
    if (!to.AsConstant(most[i])) most[i] = to.Of(std::max(strides[i], dilations[i]) - 1);
  Tensor y = convolve(to, input, weight, bias, DimsOf(to, strides), padding, most, groups, DimsOf(to, dilations));
  for (size_t i = 0; i < most.size(); ++i) {
    if (most[i] == output_padding[i]) continue;
    const int64_t axis = y.rank() - spatial + static_cast<int64_t>(i);
    y = to.SliceAxis(y, axis, to.Of(0), to.Minus(y.size(axis), to.Minus(most[i], output_padding[i])));
  }
  return y;
}

// Padding that follows from sizes is cut off what there is without.
Tensor CutPadding(Lowering& to, Tensor y, const Dims& padding) {
  const auto spatial = static_cast<int64_t>(padding.size());
  for (int64_t i = 0; i < spatial; ++i) {
    const int64_t axis = y.rank() - spatial + i;
    const Dim each = padding[static_cast<size_t>(i)];
    y = to.SliceAxis(y, axis, each, to.Minus(y.size(axis), each));
  }
  return y;
}

template <int64_t kSpatial>
Tensor ConvTransposeNd(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride,
                       Dims given_padding, Dims given_output_padding, Dim groups, Dims dilation) {
  const Batched batched(to, input, kSpatial);
  const auto group_count = to.AsConstant(groups);
  if (!group_count) {
    auto one = [&](const Tensor& x, const Tensor& w) {
      return ConvTransposeNd<kSpatial>(to, x, w, {}, stride, given_padding, given_output_padding, to.Of(1), dilation);
    };
    return batched.Undo(ScanGroups(to, batched.tensor(), weight, bias, groups, one));
  }
  const Dims steps = StepsPerAxis(to, stride, kSpatial), gaps = StepsPerAxis(to, dilation, kSpatial);
  const auto strides = to.AsConstants(steps), dilations = to.AsConstants(gaps);
  if (!strides || !dilations || NeedsWindows(to, input, "ConvTranspose"))
    return batched.Undo(ConvolveWindowsTransposed(to, batched.tensor(), weight, bias.value_or(Tensor()), steps, PerAxis(given_padding, kSpatial),
                                                  PerAxis(given_output_padding, kSpatial), gaps, *group_count));
  const auto padding = to.AsConstants(given_padding);
  if (!padding) {
    const Tensor all = ConvTransposeNd<kSpatial>(to, input, weight, bias, stride, Dims(kSpatial, to.Of(0)),
                                                 given_output_padding, groups, dilation);
    return CutPadding(to, all, PerAxis(given_padding, kSpatial));
  }
  const auto output_padding = to.AsConstants(given_output_padding);
  if (!output_padding)
    return ConvTransposeAndCut(to, input, weight, bias, *strides, given_padding, PerAxis(given_output_padding, kSpatial),
                               groups, *dilations, &ConvTransposeNd<kSpatial>);
  const auto [pads, end, beyond] = PadsOf(PerAxis(*padding, kSpatial), PerAxis(*output_padding, kSpatial), *strides);
  const bool all_there = std::ranges::all_of(beyond, [](int64_t count) { return count == 0; });
  Tensor y = to.ConvTranspose(batched.tensor(), weight, all_there ? bias.value_or(Tensor()) : Tensor(),
                              {.dilations = *dilations,
                               .group = *group_count,
                               .kernel_shape = KernelShape(to, weight),
                               .output_padding = end,
                               .pads = pads,
                               .strides = *strides});
  if (all_there) return batched.Undo(y);
  for (size_t i = 0; i < beyond.size(); ++i) y = PadEnd(to, y, static_cast<int64_t>(i) + 2, to.Of(beyond[i]));
  if (!bias) return batched.Undo(y);
  Ints trailing;
  for (int64_t axis = 1; axis <= kSpatial; ++axis) trailing.push_back(axis);
  return batched.Undo(to.Add(y, to.UnsqueezeAt(*bias, trailing)));
}

}  // namespace

Tensor Convolution(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride,
                   Dims padding, Dims dilation, bool transposed, Dims output_padding, Dim groups) {
  if (!to.RequireRank(weight, "weight")) return to.Poison(Type::Unranked(input.dtype()));
  const int64_t spatial = weight.rank() - 2;
  if (!transposed)
    return ConvolvePadded(to, input, weight, bias, stride, OnBothSides(padding, spatial), dilation, groups);
  const auto transpose = spatial == 1 ? &ConvTransposeNd<1> : spatial == 2 ? &ConvTransposeNd<2> : &ConvTransposeNd<3>;
  return transpose(to, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

namespace {

Tensor ConvolutionWithFlags(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride,
                            Dims padding, Dims dilation, bool transposed, Dims output_padding, Dim groups,
                            Unused, Unused, Unused, Unused) {
  return Convolution(to, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups);
}

Tensor ConvolutionDeprecated(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride,
                             Dims padding, Dims dilation, bool transposed, Ints output_padding,
                             Dim groups, Unused, Unused, Unused) {
  Dims added;
  for (const int64_t count : output_padding) added.push_back(to.Of(count));
  return Convolution(to, input, weight, bias, stride, padding, dilation, transposed, added, groups);
}

Tensor ConvolutionOfMode(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, Dims stride,
                         std::string_view padding, Dims dilation, Dim groups) {
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
