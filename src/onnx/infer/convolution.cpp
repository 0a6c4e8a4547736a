// Convolutions and pools: windows that slide over the dimensions after the first two.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// The attributes that place windows; all lists have an element a dimension
// (pads two).
struct Windows {
  Sizes kernel;
  Ints strides, dilations, pads;
  std::string_view auto_pad;
  bool ceil_mode;
};

std::optional<Windows> ReadWindows(InferContext& context, size_t dims, std::optional<Sizes> kernel) {
  Windows windows;
  if (const auto shape = context.IntList("kernel_shape")) {
    kernel.emplace();
    for (int64_t size : *shape) kernel->push_back(context.exprs().Constant(size));
  }
  if (!kernel) return std::nullopt;
  windows.kernel = std::move(*kernel);
  windows.strides = context.IntList("strides").value_or(Ints(dims, 1));
  windows.dilations = context.IntList("dilations").value_or(Ints(dims, 1));
  windows.pads = context.IntList("pads").value_or(Ints(2 * dims, 0));
  windows.auto_pad = context.String("auto_pad", "NOTSET");
  windows.ceil_mode = context.Int("ceil_mode", 0) != 0;
  if (windows.kernel.size() != dims || windows.strides.size() != dims || windows.dilations.size() != dims ||
      windows.pads.size() != 2 * dims)
    return std::nullopt;
  for (int64_t stride : windows.strides)
    if (stride <= 0) return std::nullopt;
  return windows;
}

// What one window covers of dimension `d`: dilation * (kernel - 1) + 1.
Expr Extent(ExprPool& exprs, const Windows& windows, size_t d) {
  const Expr one = exprs.Constant(1);
  return exprs.Add(exprs.Mul(exprs.Constant(windows.dilations[d]), exprs.Sub(windows.kernel[d], one)), one);
}

// How many windows fit in `size`.
Expr WindowCount(ExprPool& exprs, const Windows& windows, size_t d, Expr size) {
  const Expr stride = exprs.Constant(windows.strides[d]), one = exprs.Constant(1);
  if (windows.auto_pad.starts_with("SAME")) return exprs.CeilDiv(size, stride);
  const bool padded = windows.auto_pad == "NOTSET";
  const Expr begin = exprs.Constant(padded ? windows.pads[d] : 0);
  const Expr end = exprs.Constant(padded ? windows.pads[windows.strides.size() + d] : 0);
  const Expr start = exprs.Add(size, begin), extent = Extent(exprs, windows, d);
  const Expr room = exprs.Sub(exprs.Add(start, end), extent);
  if (!windows.ceil_mode) return exprs.Add(exprs.FloorDiv(room, stride), one);
  const Expr count = exprs.Add(exprs.CeilDiv(room, stride), one);
  // A window must not begin in the padding after the end. It can't where the
  // end is unpadded and windows don't leave gaps.
  if (exprs.IsConstant(end, 0) && exprs.RangeOf(exprs.Sub(extent, stride)).min >= 0) return count;
  return exprs.Min(count, exprs.CeilDiv(start, stride));
}

// [batch, channels, windows…].
Sizes SlidingSizes(InferContext& context, const Sizes& input, std::optional<Sizes> kernel, Expr channels) {
  const size_t dims = input.size() - 2;
  const auto windows = ReadWindows(context, dims, std::move(kernel));
  Sizes sizes{input[0], channels};
  for (size_t d = 0; d < dims; ++d)
    sizes.push_back(windows ? WindowCount(context.exprs(), *windows, d, input[d + 2]) : context.exprs().Anonymous());
  return sizes;
}

// Weights are [out channels, in channels / group, kernel…].
template <size_t kWeight>
void Conv(InferContext& context) {
  const Sizes *input = context.sizes(0), *weight = context.sizes(kWeight);
  if (!input || input->size() < 2) return;
  std::optional<Sizes> kernel;
  Expr channels = weight && !weight->empty() ? weight->front() : context.exprs().Anonymous();
  if (weight && weight->size() == input->size()) kernel.emplace(weight->begin() + 2, weight->end());
  context.SetSizes(0, SlidingSizes(context, *input, std::move(kernel), channels));
}

// Weights are [in channels, out channels / group, kernel…].
void ConvTranspose(InferContext& context) {
  const Sizes *input = context.sizes(0), *weight = context.sizes(1);
  if (!input || input->size() < 2) return;
  ExprPool& exprs = context.exprs();
  const size_t dims = input->size() - 2;
  if (!weight || weight->size() != input->size()) return context.SetSizes(0, AnonymousSizes(exprs, input->size()));
  const auto windows = ReadWindows(context, dims, Sizes(weight->begin() + 2, weight->end()));
  const auto output_shape = context.IntList("output_shape");
  const Ints extra = context.IntList("output_padding").value_or(Ints(dims, 0));
  Sizes sizes{(*input)[0], exprs.Mul((*weight)[1], exprs.Constant(context.Int("group", 1)))};
  for (size_t d = 0; d < dims; ++d) {
    const Expr size = (*input)[d + 2];
    if (output_shape && output_shape->size() >= dims) {
      sizes.push_back(exprs.Constant((*output_shape)[output_shape->size() - dims + d]));
    } else if (!windows || extra.size() != dims) {
      sizes.push_back(exprs.Anonymous());
    } else {
      const Expr stride = exprs.Constant(windows->strides[d]);
      Expr result = exprs.Mul(size, stride);
      if (!windows->auto_pad.starts_with("SAME")) {
        result = exprs.Add(exprs.Sub(result, stride), exprs.Constant(extra[d]));
        result = exprs.Add(result, Extent(exprs, *windows, d));
        if (windows->auto_pad == "NOTSET") {
          result = exprs.Sub(result, exprs.Constant(windows->pads[d]));
          result = exprs.Sub(result, exprs.Constant(windows->pads[dims + d]));
        }
      }
      sizes.push_back(result);
    }
  }
  context.SetSizes(0, std::move(sizes));
}

void Pool(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input || input->size() < 2) return;
  const Sizes sizes = SlidingSizes(context, *input, std::nullopt, (*input)[1]);
  for (size_t i = 0; i < context.result_count(); ++i) context.SetSizes(i, sizes);
}

// The inverse of MaxPool, unless the third operand says the sizes.
void MaxUnpool(InferContext& context) {
  const Sizes* input = context.sizes(0);
  ExprPool& exprs = context.exprs();
  if (context.operand(2)) {
    if (auto sizes = SizesFromOperand(context, 2)) context.SetSizes(0, std::move(*sizes));
    return;
  }
  if (!input || input->size() < 2) return;
  const size_t dims = input->size() - 2;
  const auto windows = ReadWindows(context, dims, std::nullopt);
  Sizes sizes = *input;
  for (size_t d = 0; d < dims; ++d) {
    Expr& size = sizes[d + 2];
    if (!windows) {
      size = exprs.Anonymous();
      continue;
    }
    size = exprs.Mul(exprs.Sub(size, exprs.Constant(1)), exprs.Constant(windows->strides[d]));
    size = exprs.Add(size, windows->kernel[d]);
    size = exprs.Sub(size, exprs.Add(exprs.Constant(windows->pads[d]), exprs.Constant(windows->pads[dims + d])));
  }
  context.SetSizes(0, std::move(sizes));
}

void GlobalPool(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input || input->size() < 2) return;
  Sizes sizes(input->size(), context.exprs().Constant(1));
  std::copy_n(input->begin(), 2, sizes.begin());
  context.SetSizes(0, std::move(sizes));
}

constexpr InferRule kConvolution[] = {
    {"AveragePool", Pool},
    {"Conv", Conv<1>},
    {"ConvInteger", Conv<1>},
    {"ConvTranspose", ConvTranspose},
    {"DeformConv", Conv<1>},
    {"GlobalAveragePool", GlobalPool},
    {"GlobalLpPool", GlobalPool},
    {"GlobalMaxPool", GlobalPool},
    {"LpPool", Pool},
    {"MaxPool", Pool},
    {"MaxUnpool", MaxUnpool},
    {"QLinearConv", Conv<3>},
};

}  // namespace

std::span<const InferRule> ConvolutionRules() { return kConvolution; }

}  // namespace flambeau::onnx
