// Convolutions as the kernels of one device or library are called: programs that were recorded below autograd, or
// optimized for inference on a GPU, hold these operators.
#include "lower/op.h"
#include "lower/ops/activation.h"
#include "lower/ops/convolution.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

Tensor Forward(Lowering& to, const Tensor& input, const Tensor& weight, const OptionalTensor& bias, const Dims& stride,
               const Dims& padding, const Dims& dilation, Dim groups) {
  return Convolution(to, input, weight, bias, stride, padding, dilation, false, {}, groups);
}

// --- cuDNN, MIOpen and oneDNN ---------------------------------------------------------

Tensor Cudnn(Lowering& to, Tensor self, Tensor weight, Dims padding, Dims stride, Dims dilation, Dim groups, Unused, Unused, Unused) {
  return Forward(to, self, weight, {}, stride, padding, dilation, groups);
}
Tensor CudnnTransposed(Lowering& to, Tensor self, Tensor weight, Dims padding, Dims output_padding, Dims stride,
                       Dims dilation, Dim groups, Unused, Unused, Unused) {
  return Convolution(to, self, weight, {}, stride, padding, dilation, true, output_padding, groups);
}
Tensor Miopen(Lowering& to, Tensor self, Tensor weight, OptionalTensor bias, Dims padding, Dims stride, Dims dilation,
              Dim groups, Unused, Unused) {
  return Forward(to, self, weight, bias, stride, padding, dilation, groups);
}
Tensor MiopenTransposed(Lowering& to, Tensor self, Tensor weight, OptionalTensor bias, Dims padding, Dims output_padding,
                        Dims stride, Dims dilation, Dim groups, Unused, Unused) {
  return Convolution(to, self, weight, bias, stride, padding, dilation, true, output_padding, groups);
}
// Of torch.utils.mkldnn, which calls oneDNN's kernel by its name.
Tensor OneDnn(Lowering& to, Tensor self, Tensor weight, OptionalTensor bias, Dims padding, Dims stride, Dims dilation, Dim groups) {
  return Forward(to, self, weight, bias, stride, padding, dilation, groups);
}
Tensor WithRelu(Lowering& to, Tensor self, Tensor weight, OptionalTensor bias, Dims stride, Dims padding, Dims dilation, Dim groups) {
  return Relu(to, Forward(to, self, weight, bias, stride, padding, dilation, groups));
}
// relu(convolution + alpha · z)
Tensor WithAddAndRelu(Lowering& to, Tensor self, Tensor weight, Tensor z, std::optional<Scalar> alpha, OptionalTensor bias,
                      Dims stride, Dims padding, Dims dilation, Dim groups) {
  const Tensor added = alpha ? to.Mul(z, to.NumberOf(*alpha, z.dtype())) : z;
  return Relu(to, to.Add(Forward(to, self, weight, bias, stride, padding, dilation, groups), added));
}

// --- PyTorch's own ----------------------------------------------------------------------

// The kernel's sizes are those of the weight.
Tensor Depthwise(Lowering& to, Tensor self, Tensor weight, Dims, OptionalTensor bias, Dims stride, Dims padding, Dims dilation) {
  return Forward(to, self, weight, bias, stride, padding, dilation, weight.size(0));
}
Tensor Dilated(Lowering& to, Tensor self, Tensor weight, Dims, OptionalTensor bias, Dims stride, Dims padding, Dims dilation) {
  return Forward(to, self, weight, bias, stride, padding, dilation, to.Of(1));
}
Tensor Slow(Lowering& to, Tensor self, Tensor weight, Dims kernel_size, OptionalTensor bias, Dims stride, Dims padding) {
  return Dilated(to, self, weight, kernel_size, bias, stride, padding, {to.Of(1)});
}
Tensor Nnpack(Lowering& to, Tensor self, Tensor weight, OptionalTensor bias, Dims padding, Dims stride) {
  return Forward(to, self, weight, bias, stride, padding, {to.Of(1)}, to.Of(1));
}
Tensor SlowTransposed(Lowering& to, Tensor self, Tensor weight, Dims, OptionalTensor bias, Dims stride, Dims padding,
                      Dims output_padding, Dims dilation) {
  return Convolution(to, self, weight, bias, stride, padding, dilation, true, output_padding, to.Of(1));
}

constexpr OpRow kRows[] = {
    Op<Depthwise>("aten::_conv_depthwise2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, "
                  "SymInt[2] padding, SymInt[2] dilation) -> Tensor"),
    Op<Nnpack>("aten::_nnpack_spatial_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[2] padding, SymInt[2] "
               "stride=[1, 1]) -> Tensor"),
    Op<Slow>("aten::_slow_conv2d_forward(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias, SymInt[2] stride, "
             "SymInt[2] padding) -> Tensor"),
    Op<Depthwise>("aten::conv_depthwise3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, "
                  "SymInt[3] padding, SymInt[3] dilation) -> Tensor"),
    Op<Convolution>("aten::convolution_overrideable(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] "
                    "padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"),
    Op<Cudnn>("aten::cudnn_convolution(Tensor self, Tensor weight, SymInt[] padding, SymInt[] stride, SymInt[] dilation, SymInt "
              "groups, bool benchmark, bool deterministic, bool allow_tf32) -> Tensor"),
    Op<WithAddAndRelu>("aten::cudnn_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, "
                       "SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor"),
    Op<WithRelu>("aten::cudnn_convolution_relu(Tensor self, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
                 "SymInt[] dilation, SymInt groups) -> Tensor"),
    Op<CudnnTransposed>("aten::cudnn_convolution_transpose(Tensor self, Tensor weight, SymInt[] padding, SymInt[] "
                        "output_padding, SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool "
                        "deterministic, bool allow_tf32) -> Tensor"),
    Op<Miopen>("aten::miopen_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] "
               "dilation, SymInt groups, bool benchmark, bool deterministic) -> Tensor"),
    Op<WithAddAndRelu>("aten::miopen_convolution_add_relu(Tensor self, Tensor weight, Tensor z, Scalar? alpha, Tensor? bias, "
                       "SymInt[] stride, SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor"),
    Op<WithRelu>("aten::miopen_convolution_relu(Tensor self, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
                 "SymInt[] dilation, SymInt groups) -> Tensor"),
    Op<MiopenTransposed>("aten::miopen_convolution_transpose(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] "
                         "output_padding, SymInt[] stride, SymInt[] dilation, SymInt groups, bool benchmark, bool "
                         "deterministic) -> Tensor"),
    Op<Miopen>("aten::miopen_depthwise_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, "
               "SymInt[] dilation, SymInt groups, bool benchmark, bool deterministic) -> Tensor"),
    Op<OneDnn>("aten::mkldnn_convolution(Tensor self, Tensor weight, Tensor? bias, SymInt[] padding, SymInt[] stride, SymInt[] "
               "dilation, SymInt groups) -> Tensor"),
    Op<Slow>("aten::slow_conv3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] stride=[1, 1, "
             "1], SymInt[3] padding=[0, 0, 0]) -> Tensor"),
    Op<Slow>("aten::slow_conv3d_forward(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias, SymInt[3] stride, "
             "SymInt[3] padding) -> Tensor"),
    Op<Dilated>("aten::slow_conv_dilated2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] "
                "stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1]) -> Tensor"),
    Op<Dilated>("aten::slow_conv_dilated3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, SymInt[3] "
                "stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1]) -> Tensor"),
    Op<SlowTransposed>("aten::slow_conv_transpose2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, "
                       "SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt[2] "
                       "dilation=[1, 1]) -> Tensor"),
    Op<SlowTransposed>("aten::slow_conv_transpose3d(Tensor self, Tensor weight, SymInt[3] kernel_size, Tensor? bias=None, "
                       "SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt[3] "
                       "dilation=[1, 1, 1]) -> Tensor"),
    Op<Slow>("aten::thnn_conv2d(Tensor self, Tensor weight, SymInt[2] kernel_size, Tensor? bias=None, SymInt[2] stride=[1, 1], "
             "SymInt[2] padding=[0, 0]) -> Tensor"),
};

}  // namespace

std::span<const OpRow> ConvolutionKernels() { return kRows; }

}  // namespace flambeau::lower
