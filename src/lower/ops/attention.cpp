// Attention.
#include <algorithm>
#include <cmath>

#include "lower/op.h"
#include "lower/ops/activation.h"
#include "lower/ops/attention.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/reduction.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

// q · 1/√E, or what was given instead.
Tensor Scaled(Lowering& to, Tensor query, std::optional<double> scale) {
  if (scale) return to.Scale(query, *scale);
  const Dim width = query.size(-1);
  if (const auto known = to.AsConstant(width))
    return *known == 0 ? query : to.Scale(query, 1 / std::sqrt(static_cast<double>(*known)));
  return to.Div(query, to.Sqrt(to.NumberOf(width, query.dtype())));
}

// Whether query i sees key j: j <= i, counted from the first or from the last. A constant where it is small.
Tensor CausalMask(Lowering& to, Dim queries, Dim keys, Causal causal) {
  const auto rows = to.AsConstant(queries), columns = to.AsConstant(keys);
  const bool from_end = causal == Causal::kLowerRight && queries != keys;
  constexpr int64_t kInline = 1 << 14;
  if (rows && columns && *rows * *columns <= kInline) {
    const int64_t more = from_end ? *columns - *rows : 0;
    std::vector<std::byte> bytes(static_cast<size_t>(*rows * *columns));
    for (int64_t i = 0; i < *rows; ++i)
      for (int64_t j = 0; j < *columns; ++j) bytes[static_cast<size_t>(i * *columns + j)] = std::byte{j <= i + more};
    return to.Constant(DType::kBool, Ints{*rows, *columns}, bytes);
  }
  auto range = [&](Dim size) { return to.Range(to.ConstantInt(0), to.Number(size), to.ConstantInt(1)); };
  Tensor last = to.UnsqueezeAt(range(queries), {1});
  if (from_end) last = to.Add(last, to.Number(to.Minus(keys, queries)));
  return to.LessOrEqual(range(keys), last);
}

// Attention over groups of query heads that share a key and value head: the
// heads are split into (shared, group), and broadcasting does the rest.
class HeadGroups {
 public:
  HeadGroups(Lowering& to, Tensor query, Tensor key, bool enable) : to_(to), result_sizes_(query.sizes()) {
    if (!enable || query.rank() < 3 || key.rank() < 3) return;
    shared_ = key.size(-3);
    grouped_ = shared_ != query.size(-3);
    group_ = {to.exprs().FloorDiv(query.size(-3).expr, shared_.expr)};
  }
  Tensor Query(Tensor query) const { return grouped_ ? SplitHeads(query) : query; }
  Tensor Shared(Tensor tensor) const { return grouped_ ? to_.UnsqueezeAt(tensor, {tensor.rank() - 2}) : tensor; }
  Tensor Mask(Tensor mask) const {
    if (!grouped_ || mask.rank() < 3) return mask;
    return to_.AsConstant(mask.size(-3)) == 1 ? Shared(mask) : SplitHeads(mask);
  }
  Tensor Merge(Tensor output) const {
    if (!grouped_) return output;
    result_sizes_.back() = output.size(-1);
    return to_.ReshapeTo(output, result_sizes_);
  }

 private:
  Tensor SplitHeads(Tensor tensor) const {
    Dims sizes = tensor.sizes();
    sizes[sizes.size() - 3] = shared_;
    sizes.insert(sizes.end() - 2, group_);
    return to_.ReshapeTo(tensor, sizes);
  }

  Lowering& to_;
  mutable Dims result_sizes_;
  Dim shared_, group_;
  bool grouped_ = false;
};

}  // namespace

// A query that sees no key gives zeros, as
// PyTorch's safe softmax does, where a plain softmax gives NaN. Scores of bfloat16 stay in float32, as in PyTorch's
// kernels: their 8 bits would move the weights of large scores by as much as the weights are.
Attended Attend(Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor mask, double dropout, Causal causal,
                std::optional<double> scale, bool grouped) {
  const DType given = query.dtype();
  if (given == DType::kBfloat16)
    for (Tensor* tensor : {&query, &key, &value}) *tensor = to.CastTo(*tensor, DType::kFloat32);
  const HeadGroups heads(to, query, key, grouped);
  const DType dtype = query.dtype();
  auto number = [&](double number) { return to.NumberOf(number, dtype); };
  Tensor scores = to.MatMul(Scaled(to, heads.Query(query), scale), Transposed(to, heads.Shared(key)));
  const auto safe_softmax = [&] {
    return to.Where(to.Equal(scores, number(-INFINITY)), number(0), to.Softmax(scores, {.axis = -1}));
  };
  Tensor weights;
  if (causal != Causal::kNone) {
    if (mask) scores = to.Add(scores, to.CastTo(heads.Mask(*mask), dtype));
    scores = to.Where(CausalMask(to, query.size(-2), key.size(-2), causal), scores, number(-INFINITY));
    const bool all_see_the_first = !mask && (causal == Causal::kUpperLeft || query.size(-2) == key.size(-2));
    weights = all_see_the_first ? to.Softmax(scores, {.axis = -1}) : safe_softmax();
  } else if (mask && mask->is_bool()) {
    const Tensor seen = heads.Mask(*mask);
    const double lowest = dtype == DType::kFloat16 ? -65504 : std::numeric_limits<float>::lowest();
    scores = to.Where(seen, scores, number(lowest));
    weights = to.Where(seen, to.Softmax(scores, {.axis = -1}), number(0));
  } else if (mask) {
    scores = to.Add(scores, to.CastTo(heads.Mask(*mask), dtype));
    weights = safe_softmax();
  } else {
    weights = to.Softmax(scores, {.axis = -1});
  }
  weights = Dropout(to, weights, dropout, dropout > 0);
  const Tensor output = heads.Merge(to.MatMul(weights, heads.Shared(value)));
  return {to.CastTo(output, given), to.CastTo(heads.Merge(weights), given), heads.Merge(scores)};
}

Tensor LogSumExp(Lowering& to, const Tensor& scores) {
  const DType dtype = scores.dtype() == DType::kFloat64 ? DType::kFloat64 : DType::kFloat32;
  return to.ReduceLogSumExp(to.CastTo(scores, dtype), to.ConstantInts({scores.rank() - 1}), {.keepdims = 0});
}

namespace {

Tensor ScaledDotProductAttention(Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor attn_mask,
                                 double dropout_p, bool is_causal, std::optional<double> scale, bool enable_gqa) {
  for (const Tensor& tensor : {query, key, value})
    if (!to.RequireRank(tensor, "query, key, value")) return to.Poison(query.type());
  const auto has_none = [&](const Tensor& tensor) { return std::ranges::any_of(tensor.sizes(), [&](Dim size) { return to.AsConstant(size) == 0; }); };
  if (has_none(query) || has_none(key) || has_none(value)) {  // PyTorch does not ask whether their batches fit
    Dims sizes = query.sizes();
    sizes.back() = value.size(-1);
    return to.Full(sizes, 0.0, query.dtype());
  }
  return Attend(to, query, key, value, attn_mask, dropout_p, UpperLeft(is_causal), scale, enable_gqa).output;
}

// (output, log of the sum of exponents of the scores)
std::tuple<Tensor, Tensor> FlashAttentionForCpu(Lowering& to, Tensor query, Tensor key, Tensor value, double dropout_p,
                                                bool is_causal, OptionalTensor attn_mask, std::optional<double> scale) {
  const Attended attended = Attend(to, query, key, value, attn_mask, dropout_p, UpperLeft(is_causal), scale, false);
  return {attended.output, LogSumExp(to, attended.scores)};
}

// A row of -inf alone gives zeros.
Tensor SafeSoftmax(Lowering& to, Tensor self, int64_t dim, std::optional<DType> dtype) {
  const Tensor x = to.CastTo(self, dtype.value_or(self.dtype()));
  const Tensor has_none = to.Equal(Amax(to, x, {dim}, true), to.NumberOf(-INFINITY, x.dtype()));
  return to.Where(has_none, to.NumberOf(0.0, x.dtype()), Softmax(to, x, dim, std::nullopt));
}

constexpr Restriction kDropoutMask = {
    "a dropout mask that is given",
    "torch.ops.aten._scaled_dot_product_attention_math(q, k, v, dropout_p=0.5, dropout_mask=mask)"};

std::tuple<Tensor, Tensor> ScaledDotProductAttentionMath(Lowering& to, Tensor query, Tensor key, Tensor value,
                                                         OptionalTensor attn_mask, double dropout_p, bool is_causal,
                                                         OptionalTensor dropout_mask, std::optional<double> scale,
                                                         bool enable_gqa) {
  if (dropout_mask) return to.Unsupported(kDropoutMask);
  const Attended attended = Attend(to, query, key, value, attn_mask, dropout_p, UpperLeft(is_causal), scale, enable_gqa);
  return {attended.output, attended.weights};
}

constexpr OpRow kRows[] = {
    Op<SafeSoftmax>("aten::_safe_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    Op<ScaledDotProductAttentionMath>(
        "aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, "
        "float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool "
        "enable_gqa=False) -> (Tensor, Tensor)",
        &kDropoutMask),
    Op<FlashAttentionForCpu>(
        "aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., "
        "bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)"),
    Op<ScaledDotProductAttention>(
        "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float "
        "dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Attention() { return kRows; }

}  // namespace flambeau::lower
