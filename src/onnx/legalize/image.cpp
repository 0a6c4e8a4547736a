// Pooling, resizing and sampling.
#include <algorithm>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

Results RenameGridSampleMode(Builder& to, const Request& request) {
  const std::string mode = request.Text("mode", "linear");
  AttributeList attributes = request.attributes;
  if (mode != "nearest") attributes = With(attributes, "mode", "bi" + mode);
  const Tensor x = request.operands[0];
  if (x.ranked() && x.rank() != 4) return Refuse(to, request, "takes only images");
  return EmitAsIs(to, "GridSample", request.operands, attributes, 1);
}

// A result size that is rounded up is one rounded down, of more pads at the end.
Results PoolWithMorePads(Builder& to, const Request& request) {
  AttributeList attributes = request.attributes;
  const auto& dilations = request.IntList("dilations");
  if (std::ranges::all_of(dilations, [](int64_t dilation) { return dilation == 1; })) {
    attributes = Without(attributes, "dilations");
  } else if (to.opset() < 10) {
    return Refuse(to, request, "has no dilations");
  }
  if (to.opset() < 10 && request.Int("ceil_mode", 0) != 0) {
    const Ints kernel = request.IntList("kernel_shape");
    const auto in = KnownSizes(to, request.operands[0].type()), out = KnownSizes(to, request.types[0]);
    if (!in || !out) return Refuse(to, request, "rounds sizes up only where they are known");
    Ints strides = request.IntList("strides"), pads = request.IntList("pads");
    if (strides.empty()) strides.assign(kernel.size(), 1);
    if (pads.empty()) pads.assign(2 * kernel.size(), 0);
    for (size_t i = 0; i < kernel.size(); ++i) {
      const int64_t covered = ((*out)[i + 2] - 1) * strides[i] + kernel[i];
      const int64_t more = covered - ((*in)[i + 2] + pads[i] + pads[kernel.size() + i]);
      if (more <= 0) continue;
      if (request.Int("count_include_pad", 0) != 0) return Refuse(to, request, "counts what it rounds up by");
      pads[kernel.size() + i] += more;
      if (pads[kernel.size() + i] >= kernel[i]) return Refuse(to, request, "rounds up only by less than its kernel");
    }
    attributes = Without(attributes, "ceil_mode");
    attributes = With(attributes, "pads", pads);
  }
  return EmitAsIs(to, request.op, request.operands, attributes, request.results);
}

// Each column of the input holds a patch: a transposed convolution puts them
// back, with kernels that have a single one.
Results Col2ImByConvolution(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto image = KnownInts(to, request.operands[1]), block = KnownInts(to, request.operands[2]);
  const auto columns = x.ranked() && x.rank() == 3 ? to.AsConstant(x.size(1)) : std::nullopt;
  if (!image || !block || !columns || !x.is_floating()) return Refuse(to, request, "does not exist");
  const size_t axes = block->size();
  Ints dilations = request.IntList("dilations"), strides = request.IntList("strides"), pads = request.IntList("pads");
  if (dilations.empty()) dilations.assign(axes, 1);
  if (strides.empty()) strides.assign(axes, 1);
  if (pads.empty()) pads.assign(2 * axes, 0);
  int64_t places = 1;
  for (int64_t size : *block) places *= size;
  Ints patches = {-1, places}, result = {-1, *columns / places}, kernel = {places, 1}, output_padding;
  for (size_t i = 0; i < axes; ++i) {
    const int64_t room = (*image)[i] + pads[i] + pads[axes + i] - dilations[i] * ((*block)[i] - 1) - 1;
    patches.push_back(room / strides[i] + 1);
    output_padding.push_back(room % strides[i]);
    kernel.push_back((*block)[i]);
    result.push_back((*image)[i]);
  }
  Floats ones(static_cast<size_t>(places * places), 0.0);
  for (int64_t i = 0; i < places; ++i) ones[static_cast<size_t>(i * places + i)] = 1;
  const Tensor y = to.ConvTranspose(to.ReshapeTo(x, patches), to.ConstantFloats(ones, x.dtype(), kernel),
                                    {.dilations = dilations, .kernel_shape = *block, .output_padding = output_padding, .pads = pads, .strides = strides});
  return {{to.ReshapeTo(y, result)}};
}

constexpr LegalizeRule kRules[] = {
    {"AveragePool", 10, &PoolWithMorePads},
    {"Col2Im", 18, &Col2ImByConvolution},
    {"GridSample", 20, &RenameGridSampleMode},
    {"MaxPool", 10, &PoolWithMorePads},
};

}  // namespace

std::span<const LegalizeRule> ImageForms() { return kRules; }

}  // namespace flambeau::onnx
