// The loss of connectionist temporal classification: the forward variables of
// all alignments, step by step.
#include <limits>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loss.h"

namespace flambeau::lower {
namespace {

// log(Σ exp) of tensors, also where all are -infinity.
Tensor LogSumExp(Lowering& to, const std::vector<Tensor>& terms) {
  const DType dtype = terms[0].dtype();
  const Tensor least = to.NumberOf(-std::numeric_limits<double>::infinity(), dtype);
  const Tensor largest = to.Max(terms);
  const Tensor base = to.Where(to.Equal(largest, least), to.NumberOf(0.0, dtype), largest);
  Tensor sum;
  for (const Tensor& term : terms) {
    const Tensor power = to.Exp(to.Sub(term, base));
    sum = sum ? to.Add(sum, power) : power;
  }
  return to.Add(to.Log(sum), base);
}

// Moved right along the states, with -infinity coming in.
Tensor Shifted(Lowering& to, Tensor alpha, int64_t by) {
  const Tensor least = to.NumberOf(-std::numeric_limits<double>::infinity(), alpha.dtype());
  const Tensor moved = to.Pad(alpha, to.ConstantInts({0, by, 0, -by}), least);
  return to.ReshapeTo(moved, alpha.sizes());
}

// The labels of each sequence, (batch, longest): targets may lie end to end.
Tensor LabelRows(Lowering& to, Tensor targets, Tensor target_lengths) {
  if (targets.rank() == 2) return targets;
  const Tensor begins = to.CumSum(target_lengths, to.ConstantInt(0), {.exclusive = 1});
  const Tensor at = to.Add(to.UnsqueezeAt(begins, {1}), Iota(to, targets.size(0)));
  return to.Gather(targets, to.Min({at, to.Number(to.Minus(targets.size(0), to.Of(1)))}));
}

struct Alignments {
  Tensor loss;       // -log of what all alignments have together, one a sequence
  Tensor log_alpha;  // the forward variables of all steps, (batch, steps, states), if they are asked for
  Tensor lengths;
};

Alignments Align(Lowering& to, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int64_t blank,
                 bool keeps_steps) {
  const bool batched = log_probs.rank() == 3;
  const Tensor scores = batched ? log_probs : to.UnsqueezeAt(log_probs, {1});
  const DType dtype = scores.dtype();
  const Tensor least = to.NumberOf(-std::numeric_limits<double>::infinity(), dtype);
  const Tensor steps = to.ReshapeTo(to.CastTo(input_lengths, DType::kInt64), Ints{-1});
  const Tensor lengths = to.ReshapeTo(to.CastTo(target_lengths, DType::kInt64), Ints{-1});
  const Tensor rows = !batched && targets.rank() == 1 ? to.UnsqueezeAt(targets, {0}) : targets;
  const Tensor labels = LabelRows(to, to.CastTo(rows, DType::kInt64), lengths);
  // States: a blank before each label and one after the last.
  const Dim batch = scores.size(1), count = to.Plus(to.Times(labels.size(1), to.Of(2)), to.Of(1));
  const Dims sizes{batch, count};
  const Tensor state = Iota(to, count);
  const Tensor is_label = to.Equal(to.Mod(state, to.ConstantInt(2)), to.ConstantInt(1));
  const Tensor last_label = to.Number(to.Minus(labels.size(1), to.Of(1)));
  const Tensor label_of = to.Max({to.Min({to.Div(state, to.ConstantInt(2)), last_label}), to.ConstantInt(0)});
  // Padding may hold any number.
  const Tensor known = to.Less(Iota(to, labels.size(1)), to.UnsqueezeAt(lengths, {1}));
  const Tensor safe = to.Where(known, labels, to.ConstantInt(blank));
  const bool no_labels = to.AsConstant(labels.size(1)) == 0;
  const Tensor symbols = no_labels ? to.Full(sizes, blank, DType::kInt64)
                                   : to.Where(is_label, to.Gather(safe, label_of, {.axis = 1}), to.ConstantInt(blank));
  // From the label before, where it is another one.
  const Tensor before = to.Pad(symbols, to.ConstantInts({0, 2, 0, -2}), to.ConstantInt(blank));
  const Tensor skips = to.And(is_label, to.Not(to.Equal(symbols, to.ReshapeTo(before, sizes))));
  const Tensor start = to.Where(to.Equal(state, to.ConstantInt(0)), to.NumberOf(0.0, dtype), least);

  std::vector<Expr> shape{batch.expr, count.expr};
  const Type alphas = Type::OfTensor(dtype, shape);
  Type step = scores.type();
  step.sizes.erase(step.sizes.begin());
  const BlockId body = to.Body([&] {
    const Tensor alpha = to.AddBlockInput(alphas);
    const Tensor now = to.AddBlockInput(step), time = to.AddBlockInput(Type::OfTensor(DType::kInt64, {}));
    const Tensor skipped = to.Where(skips, Shifted(to, alpha, 2), least);
    const Tensor arrived = LogSumExp(to, {alpha, Shifted(to, alpha, 1), skipped});
    const Tensor next = to.Add(arrived, to.GatherElements(now, symbols, {.axis = 1}));
    const Tensor lasts = to.UnsqueezeAt(to.Less(time, steps), {1});
    std::vector<Tensor> results{to.Where(lasts, next, alpha)};
    if (keeps_steps) results.push_back(to.Identity(results[0]));
    return results;
  });
  onnx::AttributeList attributes;
  attributes.Add("body", body);
  attributes.Add("num_scan_inputs", int64_t{2});
  const Tensor operands[] = {to.ExpandTo(start, sizes), scores, Iota(to, scores.size(0))};
  std::vector<Type> types{alphas};
  if (keeps_steps) {
    attributes.Add("scan_output_axes", Ints{1});
    types.push_back(Type::OfTensor(dtype, {batch.expr, scores.size(0).expr, count.expr}));
  }
  const std::vector<Tensor> scanned = to.EmitCustom("Scan", operands, attributes, types);
  const Tensor alpha = scanned[0];

  const Tensor end = to.UnsqueezeAt(to.Mul(lengths, to.ConstantInt(2)), {1});
  const Tensor after = to.GatherElements(alpha, end, {.axis = 1});
  const Tensor at_label = to.GatherElements(alpha, to.Max({to.Sub(end, to.ConstantInt(1)), to.ConstantInt(0)}), {.axis = 1});
  const Tensor has_label = to.Greater(end, to.ConstantInt(0));
  const Tensor loss = to.Neg(to.SqueezeAt(LogSumExp(to, {after, to.Where(has_label, at_label, least)}), {1}));
  return {loss, keeps_steps ? scanned[1] : Tensor(), lengths};
}

Tensor CtcLoss(Lowering& to, Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int64_t blank,
               int64_t reduction, bool zero_infinity) {
  auto [loss, steps, lengths] = Align(to, log_probs, targets, input_lengths, target_lengths, blank, false);
  const DType dtype = loss.dtype();
  const bool batched = log_probs.rank() == 3;
  if (zero_infinity) loss = to.Where(to.IsInf(loss), to.NumberOf(0.0, dtype), loss);
  if (reduction == kMeanReduction) loss = to.Div(loss, to.CastTo(to.Max({lengths, to.ConstantInt(1)}), dtype));
  return Reduced(to, batched || reduction != kNoReduction ? loss : to.SqueezeAt(loss, {0}), reduction);
}

Tensor CtcLossOfInts(Lowering& to, Tensor log_probs, Tensor targets, Dims input_lengths, Dims target_lengths,
                     int64_t blank, int64_t reduction, bool zero_infinity) {
  return CtcLoss(to, log_probs, targets, to.Shape1(input_lengths), to.Shape1(target_lengths), blank, reduction,
                 zero_infinity);
}

// What ctc_loss is made of below autograd, where `zero_infinity` is about gradients only.
std::tuple<Tensor, Tensor> CtcLossForward(Lowering& to, Tensor log_probs, Tensor targets, Tensor input_lengths,
                                          Tensor target_lengths, int64_t blank, Unused) {
  const bool batched = log_probs.rank() == 3;
  const Alignments all = Align(to, log_probs, targets, input_lengths, target_lengths, blank, to.IsRead(1));
  const auto result = [&](const Tensor& x) { return x && !batched ? to.SqueezeAt(x, {0}) : x; };
  return {result(all.loss), result(all.log_alpha)};
}

std::tuple<Tensor, Tensor> CtcLossForwardOfInts(Lowering& to, Tensor log_probs, Tensor targets, Dims input_lengths,
                                                Dims target_lengths, int64_t blank, Unused zero_infinity) {
  return CtcLossForward(to, log_probs, targets, to.Shape1(input_lengths), to.Shape1(target_lengths), blank, zero_infinity);
}

constexpr OpRow kRows[] = {
    Op<CtcLossForwardOfInts>("aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int "
                             "blank=0, bool zero_infinity=False) -> (Tensor, Tensor)"),
    Op<CtcLossForward>("aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
                       "int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)"),
    Op<CtcLossOfInts>("aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] "
                      "target_lengths, int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor"),
    Op<CtcLoss>("aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, "
                "int blank=0, int reduction=1, bool zero_infinity=False) -> Tensor"),
};

}  // namespace

std::span<const OpRow> CtcLosses() { return kRows; }

}  // namespace flambeau::lower
