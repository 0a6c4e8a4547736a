// Layers that write to their running statistics, and have no pure counterpart.
#include "script/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// running = (1 - momentum) · running + momentum · observed
Status Follow(Evaluator& evaluator, const Val& running, const Val& observed, const Val& momentum) {
  FLAMBEAU_TRY(const Val next, evaluator.emit().Call1("aten::lerp.Scalar", {running, observed, momentum}));
  FLAMBEAU_TRY(const Val written, evaluator.emit().Call1("aten::copy_", {running, next, false}));
  return {};
}

// Over its own statistics an instance norm only updates the running ones.
Result<Vals> InstanceNorm(Evaluator& evaluator, const Node& node, Arguments arguments) {
  enum { kInput, kWeight, kBias, kMean, kVariance, kUseInputStats, kMomentum };
  const auto* input = arguments[kInput].As<TensorVal>();
  const bool follows = arguments[kMean].Is<TensorVal>() && arguments[kVariance].Is<TensorVal>() &&
                       evaluator.KnownBool(arguments[kUseInputStats]).value_or(false);
  if (input == nullptr || !follows) return evaluator.CallOperator(node, arguments);
  const Type& type = evaluator.TypeOf(*input);
  if (!type.ranked) return evaluator.CallOperator(node, arguments);
  Vals spatial, all{int64_t{0}};
  for (int64_t dim = 2; dim < static_cast<int64_t>(type.rank()); ++dim) spatial.push_back(dim);
  all.insert(all.end(), spatial.begin(), spatial.end());
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Val mean, emit.Call1("aten::mean.dim", {*input, evaluator.List(all), false, Nothing{}}));
  FLAMBEAU_TRY(const Val variances, emit.Call1("aten::var.dim", {*input, evaluator.List(spatial), true, false}));
  FLAMBEAU_TRY(const Val variance, emit.Call1("aten::mean.dim", {variances, evaluator.List({int64_t{0}}), false, Nothing{}}));
  FLAMBEAU_CHECK_OK(Follow(evaluator, arguments[kMean], mean, arguments[kMomentum]));
  FLAMBEAU_CHECK_OK(Follow(evaluator, arguments[kVariance], variance, arguments[kMomentum]));
  Vals pure(arguments.begin(), arguments.end());
  pure[kMean] = pure[kVariance] = Nothing{};
  return evaluator.CallOperator(node, pure);
}

constexpr BuiltinRow kRows[] = {
    {"aten::instance_norm", &InstanceNorm},
};

}  // namespace

std::span<const BuiltinRow> LayerBuiltins() { return kRows; }

}  // namespace flambeau::script
