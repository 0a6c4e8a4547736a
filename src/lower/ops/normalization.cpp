// Normalisations: over batches, layers, groups and instances.
#include <fmt/format.h>

#include <algorithm>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/complex.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

struct Statistics {
  Tensor centered, mean, variance, rstd;  // in the dtype of statistics; axes are kept as 1
};

Statistics StatisticsOf(Lowering& to, Tensor input, const Ints& axes, const Scalar& eps) {
  const Tensor x = to.CastTo(input, AccumulationDtype(input.dtype()));
  const Tensor mean = to.ReduceMean(x, to.ConstantInts(axes));
  const Tensor centered = to.Sub(x, mean);
  const Tensor variance = to.ReduceMean(to.Mul(centered, centered), to.ConstantInts(axes));
  const Tensor deviation = to.Sqrt(to.Add(variance, to.NumberOf(eps, x.dtype())));
  return {centered, mean, variance, to.Reciprocal(deviation)};
}

Ints AllBut(int64_t rank, int64_t axis) {
  Ints axes;
  for (int64_t i = 0; i < rank; ++i)
    if (i != axis) axes.push_back(i);
  return axes;
}

Ints Trailing(int64_t rank, size_t count) {
  Ints axes;
  for (int64_t i = rank - static_cast<int64_t>(count); i < rank; ++i) axes.push_back(i);
  return axes;
}

// A tensor of one element a channel, for broadcasting against (batch, channels, …).
Tensor OverChannels(Lowering& to, Tensor per_channel, int64_t rank) {
  Ints axes;
  for (int64_t i = 1; i < rank - 1; ++i) axes.push_back(i);
  return to.UnsqueezeAt(per_channel, axes);
}

// y · weight + bias, each of them optional, in y's dtype.
Tensor Affine(Lowering& to, Tensor y, OptionalTensor weight, OptionalTensor bias) {
  if (weight) y = to.Mul(y, to.CastTo(*weight, y.dtype()));
  if (bias) y = to.Add(y, to.CastTo(*bias, y.dtype()));
  return y;
}

// The weight, or ones: ONNX's operators insist on a scale.
Tensor OrFull(Lowering& to, OptionalTensor tensor, std::span<const Dim> sizes, double value, DType dtype) {
  if (tensor) return to.CastTo(*tensor, dtype);
  if (const auto known = to.AsConstants(sizes)) {
    int64_t count = 1;
    for (int64_t size : *known) count *= size;
    constexpr int64_t kInline = 1 << 16;
    if (count <= kInline)
      return to.ConstantFloats(std::vector<double>(static_cast<size_t>(count), value), dtype, *known);
  }
  return to.Full(sizes, value, dtype);
}

// y · weight + bias, each of them optional and of one element a channel.
Tensor AffineOverChannels(Lowering& to, Tensor y, OptionalTensor weight, OptionalTensor bias) {
  auto over_channels = [&](OptionalTensor tensor) {
    return tensor ? OptionalTensor(OverChannels(to, *tensor, y.rank())) : std::nullopt;
  };
  return Affine(to, y, over_channels(weight), over_channels(bias));
}

// --- batches ----------------------------------------------------------------------

Tensor BatchNormOfRunning(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, Tensor mean,
                          Tensor variance, Scalar eps) {
  const Dim channels[] = {input.size(1)};
  // ONNX allows weights and statistics of their own dtypes, runtimes rarely
  // do: wider ones make the whole operator wider.
  const DType dtype = to.PromotedDtype({input, weight.value_or(Tensor()), bias.value_or(Tensor()), mean, variance});
  if (!eps.is_constant()) {
    auto over_channels = [&](Tensor x) { return OverChannels(to, to.CastTo(x, dtype), input.rank()); };
    const Tensor deviation = to.Sqrt(to.Add(over_channels(variance), to.NumberOf(eps, dtype)));
    const Tensor y = to.Div(to.Sub(to.CastTo(input, dtype), over_channels(mean)), deviation);
    return to.CastTo(AffineOverChannels(to, y, weight, bias), input.dtype());
  }
  const Tensor y = to.BatchNormalization(to.CastTo(input, dtype), OrFull(to, weight, channels, 1, dtype),
                                         OrFull(to, bias, channels, 0, dtype), to.CastTo(mean, dtype),
                                         to.CastTo(variance, dtype), {.epsilon = eps.AsDouble()})[0];
  return to.CastTo(y, input.dtype());
}

struct BatchNormed {
  Tensor output, mean, rstd, variance;
  Dim count;
};

BatchNormed BatchNormOfBatch(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, Scalar eps) {
  const Ints axes = AllBut(input.rank(), 1);
  const Statistics found = StatisticsOf(to, input, axes, eps);
  const Tensor y = AffineOverChannels(to, to.Mul(found.centered, found.rstd), weight, bias);
  return {to.CastTo(y, input.dtype()), to.SqueezeAt(found.mean, axes), to.SqueezeAt(found.rstd, axes),
          to.SqueezeAt(found.variance, axes), ReducedCount(to, input, axes)};
}

using Five = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>;
using Three = std::tuple<Tensor, Tensor, Tensor>;

void RequireChannels(Lowering& to, const Tensor& input, OptionalTensor running) {
  if (!running) return;
  const auto channels = to.AsConstant(input.size(1)), numbers = to.AsConstant(to.Numel(*running));
  if (channels && numbers && *channels != *numbers)
    throw onnx::BadOperand(fmt::format("has running statistics of {} numbers for {} channels", *numbers, *channels));
}

Tensor Follow(Lowering& to, Tensor running, Tensor now, double momentum) {
  return to.Add(to.Scale(to.CastTo(now, running.dtype()), momentum), to.Scale(running, 1 - momentum));
}

// n / (n - 1) times the variance of n elements.
Tensor Unbiased(Lowering& to, Tensor variance, Dim count) {
  const Tensor sum = to.Mul(variance, to.NumberOf(count, variance.dtype()));
  return to.Div(sum, to.NumberOf(to.Minus(count, to.Of(1)), variance.dtype()));
}

// (output, mean, 1/deviation, new running mean, new running variance)
Five BatchNormWithUpdate(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias,
                         OptionalTensor running_mean, OptionalTensor running_var, bool training, double momentum,
                         Scalar eps) {
  if (!to.RequireRank(input, "input")) return {};
  // Without channels PyTorch takes empty tensors only, and leaves them.
  if (input.rank() < 2) return {input, input, input, running_mean.value_or(input), running_var.value_or(input)};
  if (!training && running_mean && running_var) {
    const Tensor none = to.ConstantFloats({}, input.dtype(), Ints{0});
    return {BatchNormOfRunning(to, input, weight, bias, *running_mean, *running_var, eps), none, none, *running_mean,
            *running_var};
  }
  RequireChannels(to, input, running_mean);
  RequireChannels(to, input, running_var);
  const BatchNormed batch = BatchNormOfBatch(to, input, weight, bias, eps);
  auto update = [&](OptionalTensor running, Tensor now) { return running ? Follow(to, *running, now, momentum) : Tensor(); };
  return {batch.output, to.CastTo(batch.mean, input.dtype()), to.CastTo(batch.rstd, input.dtype()),
          update(running_mean, batch.mean), update(running_var, Unbiased(to, batch.variance, batch.count))};
}

Three NativeBatchNorm(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias,
                      OptionalTensor running_mean, OptionalTensor running_var, bool training, double momentum,
                      Scalar eps) {
  const auto [y, mean, rstd, m, v] =
      BatchNormWithUpdate(to, input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {y, mean, rstd};
}

Five NativeBatchNormLegitFunctional(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias,
                                    Tensor running_mean, Tensor running_var, bool training, double momentum,
                                    Scalar eps) {
  return BatchNormWithUpdate(to, input, weight, bias, running_mean, running_var, training, momentum, eps);
}

using Six = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor, Tensor>;

// The fourth is memory that only a backward pass on a GPU reads.
Six BatchNormWithUpdateFunctional(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias,
                                  Tensor running_mean, Tensor running_var, double momentum, Scalar eps) {
  const auto [y, mean, rstd, new_mean, new_var] =
      BatchNormWithUpdate(to, input, weight, bias, running_mean, running_var, true, momentum, eps);
  return {y, mean, rstd, to.Full(Dims{to.Of(0)}, int64_t{0}, DType::kUint8), new_mean, new_var};
}

Three NativeBatchNormLegit(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, Tensor running_mean,
                           Tensor running_var, bool training, double momentum, Scalar eps) {
  return NativeBatchNorm(to, input, weight, bias, running_mean, running_var, training, momentum, eps);
}

Three NativeBatchNormLegitNoTraining(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias,
                                     Tensor running_mean, Tensor running_var, double momentum, Scalar eps) {
  return NativeBatchNorm(to, input, weight, bias, running_mean, running_var, false, momentum, eps);
}

Three NativeBatchNormLegitNoStats(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, bool,
                                  double momentum, Scalar eps) {
  return NativeBatchNorm(to, input, weight, bias, std::nullopt, std::nullopt, true, momentum, eps);
}

using Four = std::tuple<Tensor, Tensor, Tensor, Tensor>;

Four BatchNormNoUpdate(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, OptionalTensor running_mean,
                       OptionalTensor running_var, double momentum, Scalar eps) {
  const auto [y, mean, rstd] = NativeBatchNorm(to, input, weight, bias, running_mean, running_var, false, momentum, eps);
  return {y, mean, rstd, to.Full(Dims{to.Of(0)}, int64_t{0}, DType::kUint8)};
}

constexpr Restriction kStatisticsOfLibrary = {
    "training=True of cuDNN's and MIOpen's operators", "torch.ops.aten.cudnn_batch_norm(x, w, b, mean, var, True, 0.1, 1e-5)",
    "they write the running statistics without saying so: export on the CPU, or without run_decompositions()"};

Three MiopenBatchNorm(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, OptionalTensor running_mean,
                      OptionalTensor running_var, bool training, double momentum, Scalar eps) {
  if (training) return to.Unsupported(kStatisticsOfLibrary);
  return NativeBatchNorm(to, input, weight, bias, running_mean, running_var, false, momentum, eps);
}

Four CudnnBatchNorm(Lowering& to, Tensor input, Tensor weight, OptionalTensor bias, OptionalTensor running_mean,
                    OptionalTensor running_var, bool training, double momentum, Scalar eps) {
  const auto [y, mean, rstd] = MiopenBatchNorm(to, input, weight, bias, running_mean, running_var, training, momentum, eps);
  return {y, mean, rstd, to.Full(Dims{to.Of(0)}, int64_t{0}, DType::kUint8)};
}

// With statistics that are there.
Tensor BatchNormElements(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, Tensor mean, Tensor invstd, double) {
  const DType dtype = to.PromotedDtype({input, mean, invstd});
  const auto over_channels = [&](Tensor x) { return OverChannels(to, to.CastTo(x, dtype), input.rank()); };
  const Tensor y = to.Mul(to.Sub(to.CastTo(input, dtype), over_channels(mean)), over_channels(invstd));
  return to.CastTo(AffineOverChannels(to, y, weight, bias), input.dtype());
}

Tensor BatchNorm(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, OptionalTensor running_mean,
                 OptionalTensor running_var, bool training, double momentum, Scalar eps, Unused) {
  return std::get<0>(NativeBatchNorm(to, input, weight, bias, running_mean, running_var, training, momentum, eps));
}

// --- layers -----------------------------------------------------------------------

Tensor LayerNorm(Lowering& to, Tensor input, Dims normalized_shape, OptionalTensor weight, OptionalTensor bias,
                 Scalar eps, Unused) {
  if (normalized_shape.empty()) return input;
  // A wider weight makes the operator wider: ONNX has one dtype for both.
  const DType dtype = to.PromotedDtype({input, weight.value_or(Tensor()), bias.value_or(Tensor())});
  if (!eps.is_constant()) {
    const Statistics found = StatisticsOf(to, to.CastTo(input, dtype), Trailing(input.rank(), normalized_shape.size()), eps);
    return to.CastTo(Affine(to, to.Mul(found.centered, found.rstd), weight, bias), input.dtype());
  }
  const Tensor y = to.LayerNormalization(to.CastTo(input, dtype), OrFull(to, weight, normalized_shape, 1, dtype),
                                         bias ? to.CastTo(*bias, dtype) : Tensor(),
                                         {.axis = -static_cast<int64_t>(normalized_shape.size()),
                                          .epsilon = eps.AsDouble(),
                                          .stash_type = Info(AccumulationDtype(dtype)).onnx_code})[0];
  return to.CastTo(y, input.dtype());
}

Three NativeLayerNorm(Lowering& to, Tensor input, Dims normalized_shape, OptionalTensor weight, OptionalTensor bias,
                      Scalar eps) {
  const Statistics found = StatisticsOf(to, input, Trailing(input.rank(), normalized_shape.size()), eps);
  // Mixed dtypes keep the statistics of the wider one.
  const DType dtype = weight ? to.PromotedDtype({input, *weight}) : input.dtype();
  return {LayerNorm(to, input, normalized_shape, weight, bias, eps, {}), to.CastTo(found.mean, dtype),
          to.CastTo(found.rstd, dtype)};
}

// (output, 1/root mean square) over the last `axes`. The squares of complex numbers are complex.
std::tuple<Tensor, Tensor> ByRootMeanSquare(Lowering& to, Tensor input, size_t axes, OptionalTensor weight, std::optional<Scalar> eps) {
  const Tensor x = to.CastTo(input, AccumulationDtype(input.dtype()));
  const Tensor mean = to.ReduceMean(to.Mul(x, x), to.ConstantInts(Trailing(x.rank(), axes)));
  const Tensor rstd =
      to.Reciprocal(to.Sqrt(to.Add(mean, to.NumberOf(eps.value_or(Epsilon(RealDtype(input))), x.dtype()))));
  return {to.CastTo(Affine(to, to.Mul(x, rstd), weight, std::nullopt), input.dtype()), rstd};
}

std::tuple<Tensor, Tensor> FusedRmsNorm(Lowering& to, Tensor input, Ints normalized_shape, OptionalTensor weight,
                                        std::optional<Scalar> eps) {
  return ByRootMeanSquare(to, input, normalized_shape.size(), weight, eps);
}

Tensor RmsNorm(Lowering& to, Tensor input, Dims normalized_shape, OptionalTensor weight, std::optional<Scalar> eps) {
  if (input.is_complex() || (eps && !eps->is_constant())) return std::get<0>(ByRootMeanSquare(to, input, normalized_shape.size(), weight, eps));
  const DType dtype = weight ? to.PromotedDtype({input, *weight}) : input.dtype();
  const Tensor y = to.RMSNormalization(to.CastTo(input, dtype), OrFull(to, weight, normalized_shape, 1, dtype),
                                       {.axis = -static_cast<int64_t>(normalized_shape.size()),
                                        .epsilon = eps ? eps->AsDouble() : Epsilon(input.dtype()),
                                        .stash_type = Info(AccumulationDtype(dtype)).onnx_code});
  return to.CastTo(y, input.dtype());
}

// --- groups and instances ---------------------------------------------------------

// (batch, groups, all of a group)
Tensor InGroups(Lowering& to, Tensor input, Dim groups) {
  const Dim batch = input.size(0);
  return to.ReshapeTo(input, Dims{batch, groups, {to.exprs().FloorDiv(to.Numel(input).expr, to.Times(batch, groups).expr)}});
}

Tensor GroupNorm(Lowering& to, Tensor input, Dim num_groups, OptionalTensor weight, OptionalTensor bias, Scalar eps,
                 Unused) {
  if (!to.RequireRank(input, "input")) return to.Poison(input.type());
  const auto groups = to.AsConstant(num_groups);
  if (!groups || !eps.is_constant()) {
    const Statistics found = StatisticsOf(to, InGroups(to, input, num_groups), {2}, eps);
    const Tensor y = to.ReshapeTo(to.Mul(found.centered, found.rstd), input.sizes());
    return to.CastTo(AffineOverChannels(to, y, weight, bias), input.dtype());
  }
  const Dim channels[] = {input.size(1)};
  const DType dtype = to.PromotedDtype({input, weight.value_or(Tensor()), bias.value_or(Tensor())});
  const Tensor y = to.GroupNormalization(
      to.CastTo(input, dtype), OrFull(to, weight, channels, 1, dtype), OrFull(to, bias, channels, 0, dtype),
      {.num_groups = *groups, .epsilon = eps.AsDouble(), .stash_type = Info(AccumulationDtype(dtype)).onnx_code});
  return to.CastTo(y, input.dtype());
}

// N, C and HxW repeat the input's sizes.
Three NativeGroupNorm(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, Dim, Dim, Dim,
                      Dim group, Scalar eps) {
  const Statistics found = StatisticsOf(to, InGroups(to, input, group), {2}, eps);
  auto saved = [&](Tensor tensor) { return to.CastTo(to.SqueezeAt(tensor, {2}), input.dtype()); };
  return {GroupNorm(to, input, group, weight, bias, eps, {}), saved(found.mean), saved(found.rstd)};
}

Tensor InstanceNorm(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, OptionalTensor running_mean,
                    OptionalTensor running_var, bool use_input_stats, double, Scalar eps, Unused) {
  if (!to.RequireRank(input, "input")) return to.Poison(input.type());
  if (!use_input_stats && running_mean && running_var)
    return BatchNormOfRunning(to, input, weight, bias, *running_mean, *running_var, eps);
  const Dim channels[] = {input.size(1)};
  const DType dtype = AccumulationDtype(to.PromotedDtype({input, weight.value_or(Tensor()), bias.value_or(Tensor())}));
  if (!eps.is_constant()) {
    const Ints axes = Trailing(input.rank(), static_cast<size_t>(input.rank() - 2));
    const Statistics found = StatisticsOf(to, to.CastTo(input, dtype), axes, eps);
    const Tensor y = to.Mul(found.centered, found.rstd);
    return to.CastTo(AffineOverChannels(to, y, weight, bias), input.dtype());
  }
  const Tensor y = to.InstanceNormalization(to.CastTo(input, dtype), OrFull(to, weight, channels, 1, dtype),
                                            OrFull(to, bias, channels, 0, dtype), {.epsilon = eps.AsDouble()});
  return to.CastTo(y, input.dtype());
}

// (output, new running mean, new running variance): those of the instances, averaged over the batch.
Three InstanceNormWithUpdate(Lowering& to, Tensor input, OptionalTensor weight, OptionalTensor bias, OptionalTensor running_mean,
                             OptionalTensor running_var, bool use_input_stats, double momentum, Scalar eps, Unused unused) {
  if (!to.RequireRank(input, "input")) return {};
  const Tensor y = InstanceNorm(to, input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, unused);
  if (!use_input_stats) return {y, running_mean.value_or(Tensor()), running_var.value_or(Tensor())};
  const Ints spatial = Trailing(input.rank(), static_cast<size_t>(input.rank() - 2)), all = AllBut(input.rank(), 1);
  const Statistics found = StatisticsOf(to, input, spatial, eps);
  auto update = [&](OptionalTensor running, Tensor now) {
    if (!running) return Tensor();
    return Follow(to, *running, to.ReduceMean(now, to.ConstantInts(all), {.keepdims = 0}), momentum);
  };
  return {y, update(running_mean, found.mean), update(running_var, Unbiased(to, found.variance, ReducedCount(to, input, spatial)))};
}

// --- weights ----------------------------------------------------------------------

// The p-norm over all axes but one; dim = -1 means over all.
Tensor NormExceptDim(Lowering& to, Tensor v, int64_t pow, int64_t dim) {
  if (dim == -1) return VectorNorm(to, v, Scalar(pow), std::nullopt, false, std::nullopt);
  const Ints axes = AllBut(v.rank(), dim);
  if (axes.empty()) return to.Abs(v);
  return VectorNorm(to, v, Scalar(pow), axes, true, std::nullopt);
}

std::tuple<Tensor, Tensor> WeightNormInterface(Lowering& to, Tensor v, Tensor g, int64_t dim) {
  const Tensor norm = NormExceptDim(to, v, 2, dim);
  return {to.Mul(v, to.Div(g, norm)), norm};
}

Tensor WeightNorm(Lowering& to, Tensor v, Tensor g, int64_t dim) {
  return std::get<0>(WeightNormInterface(to, v, g, dim));
}

// Slices along `dim` whose norm exceeds maxnorm are scaled down to it.
Tensor Renorm(Lowering& to, Tensor self, Scalar p, int64_t dim, Scalar maxnorm) {
  const Ints axes = AllBut(self.rank(), to.Axis(dim, self));
  const Tensor x = to.CastTo(self, AccumulationDtype(self.dtype()));
  const Tensor norm = VectorNorm(to, x, p, axes, true, std::nullopt);
  const Tensor limit = to.NumberOf(maxnorm, norm.dtype());
  const Tensor factor = to.Div(limit, to.Add(norm, to.NumberOf(1e-7, norm.dtype())));
  const Tensor scale = to.Where(to.Greater(norm, limit), factor, to.NumberOf(1.0, norm.dtype()));
  return to.CastTo(to.Mul(x, scale), self.dtype());
}

constexpr OpRow kRows[] = {
    Op<FusedRmsNorm>(
        "aten::_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)"),
    Op<BatchNormNoUpdate>(
        "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var, "
        "float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)"),
    Op<BatchNormWithUpdateFunctional>(
        "aten::_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
        "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, "
        "Tensor running_var_out)"),
    Op<NativeBatchNormLegit>(
        "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean, "
        "Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"),
    Op<NativeBatchNormLegitNoStats>("aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? "
                                    "bias, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"),
    Op<NativeBatchNormLegitFunctional>(
        "aten::_native_batch_norm_legit_functional(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
        "Tensor running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor "
        "running_mean_out, Tensor running_var_out)"),
    Op<NativeBatchNormLegitNoTraining>(
        "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean, "
        "Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)"),
    Op<WeightNorm>("aten::_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor"),
    Op<WeightNormInterface>("aten::_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, Tensor)"),
    Op<BatchNorm>("aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
                  "running_var, bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor"),
    Op<BatchNormElements>("aten::batch_norm_elemt(Tensor input, Tensor? weight, Tensor? bias, Tensor mean, Tensor invstd, float "
                          "eps) -> Tensor"),
    Op<CudnnBatchNorm>("aten::cudnn_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? "
                       "running_var, bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor, Tensor)",
                       &kStatisticsOfLibrary),
    Op<GroupNorm>("aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float "
                  "eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> Tensor"),
    Op<InstanceNorm>("aten::instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
                     "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> Tensor"),
    Op<LayerNorm>("aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, "
                  "float eps=1.0000000000000001e-05, bool cudnn_enable=True) -> Tensor"),
    Op<MiopenBatchNorm>("aten::miopen_batch_norm(Tensor input, Tensor weight, Tensor? bias, Tensor? running_mean, Tensor? "
                        "running_var, bool training, float exponential_average_factor, float epsilon) -> (Tensor, Tensor, Tensor)",
                        &kStatisticsOfLibrary),
    Op<NativeBatchNorm>("aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, "
                        "Tensor? running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)"),
    Op<NativeGroupNorm>("aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, "
                        "SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)"),
    Op<NativeLayerNorm>("aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? "
                        "bias, float eps) -> (Tensor, Tensor, Tensor)"),
    Op<NormExceptDim>("aten::norm_except_dim(Tensor v, int pow=2, int dim=0) -> Tensor"),
    Op<Renorm>("aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor"),
    Op<RmsNorm>(
        "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor"),
    Op<InstanceNormWithUpdate>("flambeau::instance_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? "
                               "running_var, bool use_input_stats, float momentum, float eps, bool cudnn_enabled) -> (Tensor, Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> Normalization() { return kRows; }

}  // namespace flambeau::lower
