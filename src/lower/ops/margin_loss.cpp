// Losses that keep the scores of classes apart by a margin.
#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loss.h"

namespace flambeau::lower {
namespace {

// (batch, classes) of scores that may lack the batch, or both.
Tensor AsRows(Lowering& to, Tensor scores) {
  Ints added;
  for (int64_t axis = scores.rank(); axis < 2; ++axis) added.push_back(axis - scores.rank());
  return to.UnsqueezeAt(scores, added);
}

Tensor PerClass(Lowering& to, Tensor total, const Tensor& scores) {
  return to.Div(total, to.NumberOf(scores.size(1), scores.dtype()));
}

// Σ over i ≠ y of w[y] · max(0, margin - x[y] + x[i])^p, over the number of classes.
Tensor MultiMarginLoss(Lowering& to, Tensor self, Tensor target, Const<Scalar> p, Scalar margin,
                       std::optional<Tensor> weight, int64_t reduction) {
  const Tensor x = AsRows(to, self), y = to.ReshapeTo(target, Ints{-1, 1});
  const Tensor own = to.GatherElements(x, y, {.axis = 1});
  Tensor apart = to.Add(to.Sub(to.NumberOf(margin, x.dtype()), own), x);
  // NaN, as of two scores that are infinite, is not above 0.
  const Tensor counts = to.And(to.Greater(apart, to.NumberOf(0.0, x.dtype())), to.Not(to.Equal(Iota(to, x.size(1)), y)));
  if (p.value.Is(2)) apart = to.Mul(apart, apart);
  if (weight) apart = to.Mul(apart, to.Gather(*weight, y));
  apart = to.Where(counts, apart, to.NumberOf(0.0, x.dtype()));
  const Tensor loss = PerClass(to, to.ReduceSum(apart, to.ConstantInts({1}), {.keepdims = 0}), x);
  return Reduced(to, target.rank() == 0 ? to.SqueezeAt(loss, {0}) : loss, reduction);
}

// The targets of a row end before the first negative one. Σ over targets y and all other classes i of
// max(0, 1 - (x[y] - x[i])), over the number of classes.
std::tuple<Tensor, Tensor> MultilabelMarginLossForward(Lowering& to, Tensor self, Tensor target, int64_t reduction) {
  const Tensor x = AsRows(to, self), labels = AsRows(to, target);
  const Tensor none = to.ConstantInt(0), zero = to.NumberOf(0.0, x.dtype());
  const Tensor ended = to.CumSum(to.CastTo(to.Less(labels, none), DType::kInt64), to.ConstantInt(1));
  const Tensor listed = to.Equal(ended, none);
  const Tensor own = to.GatherElements(x, to.Where(listed, labels, none), {.axis = 1});
  const Tensor label = to.Where(listed, labels, to.ConstantInt(-1));
  // (batch, labels, classes)
  const Tensor same = to.Equal(to.UnsqueezeAt(label, {2}), Iota(to, x.size(1)));
  const Tensor is_target =
      to.CastTo(to.ReduceMax(to.CastTo(same, DType::kInt32), to.ConstantInts({1}), {.keepdims = 0}), DType::kBool);
  const Tensor gap = to.Sub(to.UnsqueezeAt(own, {2}), to.UnsqueezeAt(x, {1}));
  const Tensor apart = to.Sub(to.NumberOf(1.0, x.dtype()), gap);
  const Tensor others = to.And(to.UnsqueezeAt(listed, {2}), to.Not(to.UnsqueezeAt(is_target, {1})));
  const Tensor counts = to.And(others, to.Greater(apart, zero));
  Tensor loss = to.ReduceSum(to.Where(counts, apart, zero), to.ConstantInts({1, 2}), {.keepdims = 0});
  loss = PerClass(to, loss, x);
  const Tensor flags = to.ReshapeTo(to.CastTo(is_target, x.dtype()), target.sizes());
  return {Reduced(to, target.rank() < 2 ? to.SqueezeAt(loss, {0}) : loss, reduction), flags};
}
Tensor MultilabelMarginLoss(Lowering& to, Tensor self, Tensor target, int64_t reduction) {
  return std::get<0>(MultilabelMarginLossForward(to, self, target, reduction));
}

constexpr OpRow kRows[] = {
    Op<MultiMarginLoss>("aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? "
                        "weight=None, int reduction=1) -> Tensor"),
    Op<MultilabelMarginLoss>("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    Op<MultilabelMarginLossForward>("aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) "
                                    "-> (Tensor output, Tensor is_target)"),
};

}  // namespace

std::span<const OpRow> MarginLosses() { return kRows; }

}  // namespace flambeau::lower
