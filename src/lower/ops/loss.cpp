// Loss functions.
#include "lower/ops/loss.h"

#include <cmath>
#include <limits>

#include "lower/op.h"
#include "lower/ops/accumulation.h"
#include "lower/ops/activation.h"
#include "lower/ops/arithmetic.h"
#include "lower/ops/elementwise.h"
#include "lower/ops/geometry.h"
#include "lower/ops/linalg/linear_algebra.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {

Tensor Reduced(Lowering& to, Tensor loss, int64_t reduction) {
  if (reduction == kNoReduction) return loss;
  return reduction == kMeanReduction ? Mean(to, loss, std::nullopt, false, std::nullopt)
                                     : Sum(to, loss, std::nullopt, false, std::nullopt);
}

namespace {

using OptionalTensor = std::optional<Tensor>;

Tensor Number(Lowering& to, const Tensor& like, const Scalar& value) { return to.NumberOf(value, like.dtype()); }

Tensor Difference(Lowering& to, Tensor self, Tensor target) {
  const auto [dtype, a, b] = Promoted(to, self, target);
  return to.Sub(a, b);
}

// --- distances -------------------------------------------------------------------

Tensor MseLoss(Lowering& to, Tensor self, Tensor target, int64_t reduction) {
  const Tensor difference = Difference(to, self, target);
  return Reduced(to, to.Mul(difference, difference), reduction);
}

Tensor L1Loss(Lowering& to, Tensor self, Tensor target, int64_t reduction) {
  return Reduced(to, to.Abs(Difference(to, self, target)), reduction);
}

// Squares near zero, straight lines beyond.
Tensor SmoothL1Loss(Lowering& to, Tensor self, Tensor target, int64_t reduction, Scalar beta) {
  const Tensor difference = to.Abs(Difference(to, self, target));
  if (beta.Is(0)) return Reduced(to, difference, reduction);
  // A small beta is none in float16.
  const Tensor z = to.CastTo(difference, AccumulationDtype(difference.dtype()));
  const Tensor end = Number(to, z, beta), half = Number(to, z, 0.5);
  const Tensor square = to.Mul(to.Mul(z, z), to.Div(half, end));
  const Tensor line = to.Sub(z, to.Mul(half, end));
  return Reduced(to, to.CastTo(to.Where(to.Less(z, end), square, line), difference.dtype()), reduction);
}

Tensor HuberLoss(Lowering& to, Tensor self, Tensor target, int64_t reduction, Scalar delta) {
  const Tensor z = to.Abs(Difference(to, self, target));
  const Tensor end = Number(to, z, delta), half = Number(to, z, 0.5);
  const Tensor square = to.Mul(to.Mul(z, z), half);
  const Tensor line = to.Mul(to.Sub(z, to.Mul(half, end)), end);
  return Reduced(to, to.Where(to.LessOrEqual(z, end), square, line), reduction);
}

// --- probabilities ----------------------------------------------------------------

Tensor BinaryCrossEntropy(Lowering& to, Tensor self, Tensor target, std::optional<Tensor> weight, int64_t reduction) {
  // The logarithms are cut at -100, so that the loss of certainties is finite.
  const Tensor one = Number(to, self, 1), least = Number(to, self, -100);
  const Tensor log = to.Max({Log(to, self), least}), log_of_rest = to.Max({to.Log(to.Sub(one, self)), least});
  Tensor loss = to.Sub(to.Mul(to.Sub(target, one), log_of_rest), to.Mul(target, log));
  if (weight) loss = to.Mul(loss, *weight);
  return Reduced(to, loss, reduction);
}

// (1 - y)·x + (1 + (w - 1)·y)·softplus(-x), for w the weight of positives.
Tensor BinaryCrossEntropyWithLogits(Lowering& to, Tensor self, Tensor target, std::optional<Tensor> weight,
                                    std::optional<Tensor> pos_weight, int64_t reduction) {
  const auto [dtype, x, y] = PromotedToFloat(to, self, target);
  const Tensor one = Number(to, x, 1);
  Tensor log_sigmoid = LogSigmoid(to, x);
  if (pos_weight) {
    const Tensor positive = Mul(to, to.Sub(*pos_weight, Number(to, *pos_weight, 1)), target);
    log_sigmoid = to.Mul(log_sigmoid, to.CastTo(to.Add(positive, Number(to, positive, 1)), dtype));
  }
  Tensor loss = to.Sub(to.Mul(to.Sub(one, y), x), log_sigmoid);
  if (target.is_floating()) loss = to.CastTo(loss, target.dtype());  // PyTorch computes it in the memory of 1 - target
  if (weight) loss = to.Mul(loss, to.CastTo(*weight, loss.dtype()));
  return Reduced(to, loss, reduction);
}

// t·log t, 0 at 0.
Tensor XLogX(Lowering& to, Tensor t) {
  return to.Where(to.Equal(t, Number(to, t, 0)), Number(to, t, 0), to.Mul(t, to.Log(t)));
}

Tensor KlDiv(Lowering& to, Tensor self, Tensor target, int64_t reduction, bool log_target) {
  const DType dtype = to.PromotedDtype({self, target});
  self = to.CastTo(self, dtype), target = to.CastTo(target, dtype);
  if (log_target) return Reduced(to, to.Mul(to.Exp(target), to.Sub(target, self)), reduction);
  return Reduced(to, to.Sub(XLogX(to, target), to.Mul(target, self)), reduction);
}

Tensor PoissonNllLoss(Lowering& to, Tensor input, Tensor target, bool log_input, bool full, Scalar eps,
                      int64_t reduction) {
  const auto [dtype, x, t] = PromotedToFloat(to, input, target);
  const Tensor rate = log_input ? to.Exp(x) : x;
  const Tensor log_rate = log_input ? x : to.Log(to.Add(x, Number(to, x, eps)));
  Tensor loss = to.Sub(rate, to.Mul(t, log_rate));
  if (full) {
    // Stirling's approximation of log t!, for t above 1.
    const Tensor half_log = to.Mul(to.Log(to.Mul(t, Number(to, t, 2 * M_PI))), Number(to, t, 0.5));
    const Tensor stirling = to.Add(to.Sub(to.Mul(t, to.Log(t)), t), half_log);
    loss = to.Add(loss, to.Where(to.LessOrEqual(t, Number(to, t, 1)), Number(to, t, 0), stirling));
  }
  return Reduced(to, loss, reduction);
}

// --- classes ------------------------------------------------------------------------

// Targets that are compared with -1, which bool does not hold.
Tensor Signed(Lowering& to, const Tensor& target) { return target.is_bool() ? to.CastTo(target, DType::kInt32) : target; }

struct NllTerms {
  Tensor loss;    // one an element of the target
  Tensor weight;  // the weight that each counts with
};

// Classes are on axis 1, or the only one. `ignored` targets have weight 0.
NllTerms NllOf(Lowering& to, Tensor scores, Tensor target, std::optional<Tensor> weight, Dim ignore_index) {
  const int64_t axis = scores.rank() == 1 ? 0 : 1;
  if (target.dtype() == DType::kUint8) target = to.CastTo(target, DType::kInt64);  // which is compared as such
  const Tensor ignored = to.Equal(target, to.NumberOf(ignore_index, target.dtype()));
  const Tensor known = to.Where(ignored, to.NumberOf(0, target.dtype()), target);
  Tensor picked = to.GatherElements(scores, to.UnsqueezeAt(known, {axis}), {.axis = axis});
  picked = to.SqueezeAt(picked, {axis});
  const Tensor zero = Number(to, scores, 0);
  const Tensor each = weight ? to.Gather(*weight, known) : Number(to, scores, 1);
  const Tensor counted = to.Where(ignored, zero, each);
  // Not a product with 0: an ignored score may be infinite.
  const Tensor loss = to.Where(ignored, zero, to.Neg(weight ? to.Mul(picked, each) : picked));
  return {loss, counted};
}

Tensor Total(Lowering& to, Tensor x) { return Sum(to, x, std::nullopt, false, std::nullopt); }

Tensor NllLoss(Lowering& to, Tensor self, Tensor target, std::optional<Tensor> weight, int64_t reduction,
               Dim ignore_index) {
  const auto [loss, counted] = NllOf(to, self, target, weight, ignore_index);
  if (reduction == kNoReduction) return loss;
  return reduction == kSumReduction ? Total(to, loss) : to.Div(Total(to, loss), Total(to, counted));
}

std::tuple<Tensor, Tensor> NllLossForward(Lowering& to, Tensor self, Tensor target, std::optional<Tensor> weight,
                                          int64_t reduction, Dim ignore_index) {
  const auto [loss, counted] = NllOf(to, self, target, weight, ignore_index);
  if (reduction == kNoReduction) return {loss, Number(to, self, 0)};
  const Tensor total = Total(to, loss), weights = Total(to, counted);
  return {reduction == kSumReduction ? total : to.Div(total, weights), weights};
}

// A weight of each class, ready to broadcast over the scores.
Tensor AlongClasses(Lowering& to, Tensor weight, const Tensor& scores) {
  Ints trailing;
  for (int64_t axis = 2; axis < scores.rank(); ++axis) trailing.push_back(axis - 1);
  return to.UnsqueezeAt(weight, trailing);
}

// Targets are the classes' probabilities.
Tensor SoftCrossEntropy(Lowering& to, Tensor log_scores, Tensor target, std::optional<Tensor> weight, int64_t reduction,
                        const Scalar& smoothing) {
  const int64_t axis = log_scores.rank() == 1 ? 0 : 1;
  const Dim classes = log_scores.size(axis);
  if (!smoothing.Is(0)) {
    const Tensor spread = Number(to, target, smoothing), share = to.Div(spread, Number(to, target, classes));
    target = to.Add(to.Mul(target, to.Sub(Number(to, target, 1), spread)), share);
  }
  Tensor product = Mul(to, log_scores, target);
  if (weight) product = Mul(to, product, AlongClasses(to, *weight, log_scores));
  if (reduction == kNoReduction) return to.Neg(Sum(to, product, Ints{axis}, false, std::nullopt));
  const Tensor total = to.Neg(Total(to, product));
  if (reduction == kSumReduction) return total;
  Ints others;
  for (int64_t i = 0; i < log_scores.rank(); ++i)
    if (i != axis) others.push_back(i);
  return to.Div(total, to.CastTo(to.Number(ReducedCount(to, log_scores, others)), total.dtype()));
}

Tensor CrossEntropyLoss(Lowering& to, Tensor self, Tensor target, std::optional<Tensor> weight, int64_t reduction,
                        Dim ignore_index, Scalar label_smoothing) {
  const int64_t axis = self.rank() == 1 ? 0 : 1;
  const Tensor log_scores = LogSoftmax(to, self, axis, std::nullopt);
  if (target.is_floating()) return SoftCrossEntropy(to, log_scores, target, weight, reduction, label_smoothing);
  const auto [loss, counted] = NllOf(to, log_scores, target, weight, ignore_index);
  auto reduced = [&](Tensor x) {
    if (reduction == kNoReduction) return x;
    return reduction == kSumReduction ? Total(to, x) : to.Div(Total(to, x), Total(to, counted));
  };
  if (label_smoothing.Is(0)) return reduced(loss);
  // A part of each target is spread evenly over the classes.
  const Tensor weighted = weight ? to.Mul(log_scores, AlongClasses(to, *weight, log_scores)) : log_scores;
  const Tensor ignored = to.Equal(target, to.NumberOf(ignore_index, target.dtype()));
  const Tensor spread =
      to.Where(ignored, Number(to, self, 0), to.Neg(Sum(to, weighted, Ints{axis}, false, std::nullopt)));
  const Tensor part = Number(to, self, label_smoothing), share = to.Div(part, Number(to, self, self.size(axis)));
  return to.Add(to.Mul(reduced(loss), to.Sub(Number(to, self, 1), part)), to.Mul(reduced(spread), share));
}

// The loss of a linear layer's results, as PyTorch computes it in chunks; its gradients, the other results, have no form.
Tensor LinearCrossEntropy(Lowering& to, const Tensor& input, const Tensor& linear_weight, const Tensor& target,
                          const OptionalTensor& linear_bias, const OptionalTensor& weight, int64_t reduction, Dim ignore_index,
                          Scalar label_smoothing) {
  const DType dtype = to.PromotedDtype({input, linear_weight});
  const auto cast = [&](const OptionalTensor& x) { return x ? OptionalTensor(to.CastTo(*x, dtype)) : std::nullopt; };
  const Tensor scores = Linear(to, to.CastTo(input, dtype), to.CastTo(linear_weight, dtype), cast(linear_bias));
  return to.CastTo(CrossEntropyLoss(to, scores, target, cast(weight), reduction, ignore_index, label_smoothing), input.dtype());
}

std::tuple<Tensor, Tensor, Tensor, Tensor> ReducedLinearCrossEntropy(
    Lowering& to, Tensor input, Tensor linear_weight, Tensor target, OptionalTensor linear_bias, OptionalTensor weight,
    std::string_view reduction, Dim ignore_index, Scalar label_smoothing, Dim, std::string_view, DType, Unused, Unused, Unused,
    Unused) {
  const int64_t kind = reduction == "mean" ? kMeanReduction : kSumReduction;
  return {LinearCrossEntropy(to, input, linear_weight, target, linear_bias, weight, kind, ignore_index, label_smoothing), {}, {}, {}};
}

Tensor LinearCrossEntropies(Lowering& to, Tensor input, Tensor linear_weight, Tensor target, OptionalTensor linear_bias,
                            OptionalTensor weight, Dim ignore_index, Dim, std::string_view, DType) {
  return LinearCrossEntropy(to, input, linear_weight, target, linear_bias, weight, kNoReduction, ignore_index, Scalar(int64_t{0}));
}

// --- margins --------------------------------------------------------------------------

Tensor SoftMarginLoss(Lowering& to, Tensor self, Tensor target, int64_t reduction) {
  const DType dtype = to.PromotedDtype({self, target});
  return Reduced(to, to.Softplus(to.Neg(to.Mul(to.CastTo(self, dtype), to.CastTo(target, dtype)))), reduction);
}

Tensor HingeEmbeddingLoss(Lowering& to, Tensor self, Tensor target, Scalar margin, int64_t reduction) {
  target = Signed(to, target);
  const Tensor zero = Number(to, self, 0);
  const Tensor apart = to.Relu(to.Sub(Number(to, self, margin), self));
  const Tensor is_one = to.Equal(target, to.NumberOf(1, target.dtype()));
  const Tensor is_minus_one = to.Equal(target, to.NumberOf(-1, target.dtype()));
  // Targets that are neither count both ways.
  return Reduced(to, to.Add(to.Where(is_one, zero, apart), to.Where(is_minus_one, zero, self)), reduction);
}

Tensor MarginRankingLoss(Lowering& to, Tensor input1, Tensor input2, Tensor target, Scalar margin, int64_t reduction) {
  const Tensor ranked = to.ToFloat(Mul(to, to.Neg(target), Difference(to, input1, input2)));
  return Reduced(to, to.Relu(margin.Is(0) ? ranked : to.Add(ranked, Number(to, ranked, margin))), reduction);
}

// Each norm is at least eps on its own.
Tensor CosineSimilarity(Lowering& to, Tensor x1, Tensor x2, int64_t dim, Scalar eps) {
  auto [dtype, a, b] = PromotedToFloat(to, x1, x2);
  const int64_t rank = std::max(a.rank(), b.rank()), axis = rank > 0 && dim >= 0 ? dim - rank : dim;
  // The norms are of what is broadcast, too.
  if (rank > 0 && (std::min(a.rank(), b.rank()) < -axis || a.size(axis) != b.size(axis))) {
    const TensorList both = Broadcast(to, {a, b});
    a = both[0];
    b = both[1];
  }
  // Divided before they are multiplied: squares pass what float16 holds long before vectors do.
  auto unit = [&](const Tensor& x) {
    const Tensor norm = VectorNorm(to, x, 2.0, Ints{axis}, true, std::nullopt);
    return to.Div(x, to.Max({norm, Number(to, norm, eps)}));
  };
  return Sum(to, to.Mul(unit(a), unit(b)), Ints{axis}, false, std::nullopt);
}

Tensor CosineEmbeddingLoss(Lowering& to, Tensor input1, Tensor input2, Tensor target, Scalar margin,
                           int64_t reduction) {
  target = Signed(to, target);
  auto sum = [&](Tensor product) { return to.ToFloat(Sum(to, product, Ints{-1}, false, std::nullopt)); };
  auto square = [&](Tensor x) {
    const Tensor total = sum(to.Mul(x, x));
    return to.Add(total, Number(to, total, 1e-12));
  };
  const Tensor cosine = Div(to, sum(Mul(to, input1, input2)), to.Sqrt(Mul(to, square(input1), square(input2))));
  const Tensor zero = Number(to, cosine, 0);
  const Tensor is_one = to.Equal(target, to.NumberOf(1, target.dtype()));
  const Tensor is_minus_one = to.Equal(target, to.NumberOf(-1, target.dtype()));
  const Tensor near = to.Where(is_one, to.Sub(Number(to, cosine, 1), cosine), zero);
  const Tensor far = to.Where(is_minus_one, to.Relu(to.Sub(cosine, Number(to, cosine, margin))), zero);
  return Reduced(to, to.Add(near, far), reduction);
}

Tensor PairwiseDistance(Lowering& to, Tensor x1, Tensor x2, Scalar p, Scalar eps, bool keepdim) {
  const Tensor difference = to.ToFloat(Difference(to, x1, x2));
  return VectorNorm(to, to.Add(difference, Number(to, difference, eps)), p, Ints{-1}, keepdim, std::nullopt);
}

Tensor TripletMarginLoss(Lowering& to, Tensor anchor, Tensor positive, Tensor negative, Scalar margin, Scalar p,
                         Scalar eps, bool swap, int64_t reduction) {
  auto distance = [&](Tensor a, Tensor b) { return PairwiseDistance(to, a, b, p, eps, false); };
  const DType dtype = to.PromotedDtype({anchor, positive, negative});
  anchor = to.CastTo(anchor, dtype), positive = to.CastTo(positive, dtype), negative = to.CastTo(negative, dtype);
  const Tensor near = distance(anchor, positive);
  Tensor far = distance(anchor, negative);
  if (swap) far = to.Min({far, distance(positive, negative)});
  return Reduced(to, to.Relu(to.Add(to.Sub(near, far), Number(to, near, margin))), reduction);
}

constexpr OpRow kRows[] = {
    Op<BinaryCrossEntropy>(
        "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor"),
    Op<BinaryCrossEntropyWithLogits>("aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? "
                                     "weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor"),
    Op<CosineEmbeddingLoss>("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., "
                            "int reduction=1) -> Tensor"),
    Op<CosineSimilarity>("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"),
    Op<CrossEntropyLoss>("aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, "
                         "SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor"),
    Op<HingeEmbeddingLoss>(
        "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor"),
    Op<HuberLoss>("aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor"),
    Op<KlDiv>("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor"),
    Op<L1Loss>("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    Op<MarginRankingLoss>("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int "
                          "reduction=1) -> Tensor"),
    Op<MseLoss>("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    Op<NllLoss>("aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
                "ignore_index=-100) -> Tensor"),
    Op<NllLoss>("aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
                "ignore_index=-100) -> Tensor"),
    Op<NllLossForward>("aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
                       "ignore_index) -> (Tensor output, Tensor total_weight)"),
    Op<NllLossForward>("aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt "
                       "ignore_index) -> (Tensor output, Tensor total_weight)"),
    Op<NllLoss>("aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt "
                "ignore_index=-100) -> Tensor"),
    Op<PairwiseDistance>("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, "
                         "bool keepdim=False) -> Tensor"),
    Op<PoissonNllLoss>("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int "
                       "reduction) -> Tensor"),
    Op<SmoothL1Loss>("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor"),
    Op<SoftMarginLoss>("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    Op<TripletMarginLoss>("aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., "
                          "float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor"),
    Op<ReducedLinearCrossEntropy>(
        "torch_nn::_linear_cross_entropy_batch_chunked(Tensor input, Tensor linear_weight, Tensor target, Tensor? linear_bias, "
        "Tensor? weight, str reduction, SymInt ignore_index, float label_smoothing, SymInt batch_chunk_size, str acc_policy, "
        "ScalarType acc_dtype, bool allow_retain_graph, bool compute_input_grad, bool compute_linear_weight_grad, bool "
        "compute_linear_bias_grad) -> (Tensor, Tensor, Tensor, Tensor)"),
    Op<LinearCrossEntropies>(
        "torch_nn::_linear_cross_entropy_batch_chunked_no_reduction(Tensor input, Tensor linear_weight, Tensor target, Tensor? "
        "linear_bias, Tensor? weight, SymInt ignore_index, SymInt batch_chunk_size, str acc_policy, ScalarType acc_dtype) -> "
        "Tensor"),
};

}  // namespace

std::span<const OpRow> Loss() { return kRows; }

}  // namespace flambeau::lower
