// Attention as the kernels of GPUs are called: programs that were decomposed on one hold these operators.
#include "lower/op.h"
#include "lower/ops/attention.h"
#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

// States of random numbers, and memory for a backward pass: what computes values reads none of it.
Tensor State(Lowering& to, const Dims& sizes = {}) { return to.Full(sizes, int64_t{0}, DType::kInt64); }
Tensor Empty(Lowering& to, DType dtype) { return to.Full(Dims{to.Of(0)}, 0.0, dtype); }

constexpr Restriction kDebugMask = {
    "return_debug_mask=True", "torch.ops.aten._scaled_dot_product_flash_attention(q, q, q, 0.0, False, True)",
    "what the kernel puts into the mask is its own"};

// The logarithms of sums as flash attention has them: +infinity where a query sees no key.
Tensor FlashSums(Lowering& to, const Tensor& sums) {
  const auto number = [&](double value) { return to.NumberOf(value, sums.dtype()); };
  return to.Where(to.Equal(sums, number(-INFINITY)), number(INFINITY), sums);
}
Tensor FlashSums(Lowering& to, const Tensor& query, const Tensor& key, const Attended& attended, bool is_causal, int64_t axis) {
  const Tensor sums = LogSumExp(to, attended.scores);
  return is_causal && query.size(axis) != key.size(axis) ? FlashSums(to, sums) : sums;
}

// Of flash attention, a causal query sees the keys that are left of it when both ends meet.
Causal LowerRight(bool is_causal) { return is_causal ? Causal::kLowerRight : Causal::kNone; }

using Nine = std::tuple<Tensor, Tensor, Tensor, Tensor, Dim, Dim, Tensor, Tensor, Tensor>;

Nine WithStates(Lowering& to, const Tensor& query, const Tensor& key, const Tensor& output, const Tensor& logsumexp) {
  const Tensor none = State(to);
  return {output, logsumexp, none, none, query.size(2), key.size(2), none, none, Empty(to, query.dtype())};
}

Nine FlashAttention(Lowering& to, Tensor query, Tensor key, Tensor value, double dropout_p, bool is_causal,
                    bool return_debug_mask, std::optional<double> scale) {
  if (return_debug_mask) return to.Unsupported(kDebugMask);
  const Attended attended = Attend(to, query, key, value, {}, dropout_p, LowerRight(is_causal), scale, true);
  return WithStates(to, query, key, attended.output, FlashSums(to, query, key, attended, is_causal, 2));
}

Nine CudnnAttention(Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor attn_bias, bool,
                    double dropout_p, bool is_causal, bool return_debug_mask, std::optional<double> scale) {
  if (return_debug_mask) return to.Unsupported(kDebugMask);
  const Attended attended = Attend(to, query, key, value, attn_bias, dropout_p, UpperLeft(is_causal), scale, true);
  return WithStates(to, query, key, attended.output, to.UnsqueezeAt(LogSumExp(to, attended.scores), {3}));
}

Nine OverrideableAttention(Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor attn_bias, double dropout_p,
                           bool is_causal, bool return_debug_mask, std::optional<double> scale) {
  if (return_debug_mask) return to.Unsupported(kDebugMask);
  const Attended attended = Attend(to, query, key, value, attn_bias, dropout_p, UpperLeft(is_causal), scale, true);
  return WithStates(to, query, key, attended.output, LogSumExp(to, attended.scores));
}

// The kernel writes sums for whole blocks of queries, or none.
Tensor SumsOfBlocks(Lowering& to, const Attended& attended, bool compute) {
  constexpr int64_t kBlock = 32;
  const Tensor sums = LogSumExp(to, attended.scores);
  if (!compute) return to.Full(Dims{sums.size(0), sums.size(1), to.Of(0)}, 0.0, DType::kFloat32);
  ExprPool& exprs = to.exprs();
  const Expr queries = sums.size(2).expr, block = exprs.Constant(kBlock);
  const Dim whole = to.Times({exprs.FloorDiv(exprs.Add(queries, exprs.Constant(kBlock - 1)), block)}, to.Of(kBlock));
  return PadEnd(to, sums, 2, to.Minus(whole, sums.size(2)));
}

std::tuple<Tensor, Tensor, Tensor, Tensor> EfficientAttention(Lowering& to, Tensor query, Tensor key, Tensor value,
                                                              OptionalTensor attn_bias, bool compute_log_sumexp,
                                                              double dropout_p, bool is_causal, std::optional<double> scale) {
  const Attended attended = Attend(to, query, key, value, attn_bias, dropout_p, UpperLeft(is_causal), scale, true);
  return {attended.output, SumsOfBlocks(to, attended, compute_log_sumexp), State(to), State(to)};
}

// --- which keys are seen ------------------------------------------------------------------

// How many keys before and after its own place a query sees; none: all.
struct Window {
  std::optional<Dim> left, right;
};

// Keys' places in `places`, queries' in `own`: two that broadcast to (queries, keys).
Tensor WithinWindow(Lowering& to, const Tensor& own, const Tensor& places, const Window& window, Tensor seen) {
  const auto also = [&](const Tensor& condition) { seen = seen ? to.And(seen, condition) : condition; };
  if (window.right) also(to.LessOrEqual(places, to.Add(own, to.Number(*window.right))));
  if (window.left) also(to.GreaterOrEqual(places, to.Sub(own, to.Number(*window.left))));
  return seen;
}

// (queries, keys). Counted from the end, the last query's own place is the last key.
Tensor SeenInWindow(Lowering& to, Dim queries, Dim keys, bool from_end, const Window& window) {
  Tensor own = Iota(to, queries);
  if (from_end) own = to.Add(own, to.Number(to.Minus(keys, queries)));
  return WithinWindow(to, to.UnsqueezeAt(own, {1}), Iota(to, keys), window, {});
}

// Sequences of keys that lie end to end.
struct Sequences {
  Tensor bounds;        // (sequences + 1): where each begins, and the last ends
  OptionalTensor used;  // (sequences): how many of each are keys, if not all
};

// Of elements in a row: the sequence of each, and its place there. Those after the last sequence count on.
struct Placed {
  Tensor sequence, place, lengths;
};

Placed PlaceInSequences(Lowering& to, Dim count, const Tensor& given) {
  const Tensor bounds = to.CastTo(given, DType::kInt64), at = Iota(to, count);
  const Dim sequences = to.Minus(bounds.size(0), to.Of(1));
  const Tensor begins = SliceRange(to, bounds, 0, to.Of(0), sequences, to.Of(1));
  const Tensor ends = SliceRange(to, bounds, 0, to.Of(1), bounds.size(0), to.Of(1));
  const Tensor after = to.CastTo(to.LessOrEqual(ends, to.UnsqueezeAt(at, {1})), DType::kInt64);
  const Tensor sequence = to.Min({to.ReduceSum(after, to.ConstantInts({1}), {.keepdims = 0}), to.Number(to.Minus(sequences, to.Of(1)))});
  return {sequence, to.Sub(at, to.Gather(begins, sequence)), to.Sub(ends, begins)};
}

// (queries, keys): those of the same sequence, within the window.
Tensor SeenOfSequences(Lowering& to, Dim queries, Dim keys, const Tensor& bounds_of_queries, const Sequences& of_keys, bool from_end,
                       const Window& window) {
  const Placed query = PlaceInSequences(to, queries, bounds_of_queries), key = PlaceInSequences(to, keys, of_keys.bounds);
  const Tensor lengths = of_keys.used ? to.CastTo(*of_keys.used, DType::kInt64) : key.lengths;
  Tensor own = query.place;
  if (from_end) own = to.Add(own, to.Gather(to.Sub(lengths, query.lengths), query.sequence));
  const Tensor is_key = to.Less(key.place, to.Gather(lengths, key.sequence));
  const Tensor is_query = to.UnsqueezeAt(to.Less(query.place, to.Gather(query.lengths, query.sequence)), {1});
  const Tensor same = to.Equal(to.UnsqueezeAt(query.sequence, {1}), key.sequence);
  return WithinWindow(to, to.UnsqueezeAt(own, {1}), key.place, window, to.And(to.And(same, is_key), is_query));
}

// Makes keys and values of pages, (pages, places, heads, width), the rows of the table's sequences, end to end.
Sequences PagesInRow(Lowering& to, const Tensor& block_table, Tensor* key, Tensor* value, OptionalTensor used) {
  const Dim pages = block_table.size(1), places = key->size(1);
  const Dim length = to.Times(pages, places);
  for (Tensor* tensor : {key, value}) {
    const Tensor rows = to.Gather(*tensor, to.CastTo(Flat(to, block_table), DType::kInt64));
    *tensor = to.ReshapeTo(rows, Dims{to.Times(block_table.size(0), length), tensor->size(2), tensor->size(3)});
  }
  const Tensor bounds = to.Mul(Iota(to, to.Plus(block_table.size(0), to.Of(1))), to.Number(length));
  return {bounds, used};
}

// --- (batch, places, heads, width), the kernels' own layout -----------------------------

Tensor HeadsFirst(Lowering& to, const Tensor& tensor) { return to.Permute(tensor, {0, 2, 1, 3}); }

Attended AttendPlacesFirst(Lowering& to, const Tensor& query, const Tensor& key, const Tensor& value, OptionalTensor bias,
                           double dropout, Causal causal, std::optional<double> scale) {
  Attended result = Attend(to, HeadsFirst(to, query), HeadsFirst(to, key), HeadsFirst(to, value), bias, dropout, causal, scale, true);
  result.output = HeadsFirst(to, result.output);
  return result;
}

// What is left of a window that is open on a side.
std::optional<Dim> Bounded(Lowering& to, std::optional<Dim> side) {
  constexpr int64_t kOpen = -1;
  return side && to.AsConstant(*side) != kOpen ? side : std::nullopt;
}

Tensor SumsOf(Lowering& to, const Attended& attended, const Tensor& seen) {
  const Tensor scores = to.Where(seen, attended.scores, to.NumberOf(-INFINITY, attended.scores.dtype()));
  return FlashSums(to, LogSumExp(to, scores));
}

constexpr Restriction kFlashForm = {
    "slopes, and pages or used keys of sequences of one length",
    "torch.ops.aten._flash_attention_forward(q, q, q, None, None, 4, 4, 0.0, False, False, alibi_slopes=torch.ones(2))"};

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> FlashAttentionForward(
    Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor cum_seq_q, OptionalTensor cum_seq_k, Dim, Dim,
    double dropout_p, bool is_causal, bool return_debug_mask, std::optional<double> scale, std::optional<Dim> window_size_left,
    std::optional<Dim> window_size_right, OptionalTensor seqused_k, OptionalTensor alibi_slopes, OptionalTensor block_table,
    std::optional<int64_t>) {
  if (alibi_slopes || (!cum_seq_q && (seqused_k || block_table))) return to.Unsupported(kFlashForm);
  if (return_debug_mask) return to.Unsupported(kDebugMask);
  if (cum_seq_q && !cum_seq_k && !block_table) throw onnx::BadOperand("takes cum_seq_k or a block_table with cum_seq_q");
  Window window{Bounded(to, window_size_left), Bounded(to, window_size_right)};
  const auto results = [&](const Tensor& output, const Tensor& sums) {
    return std::tuple(output, sums, State(to, {to.Of(2)}), State(to), Empty(to, query.dtype()));
  };
  if (!cum_seq_q && !window.left && !window.right) {
    const Attended attended = AttendPlacesFirst(to, query, key, value, {}, dropout_p, LowerRight(is_causal), scale);
    return results(attended.output, FlashSums(to, query, key, attended, is_causal, 1));
  }
  if (is_causal) window.right = to.Of(0);
  if (!cum_seq_q) {
    const Tensor seen = SeenInWindow(to, query.size(1), key.size(1), true, window);
    const Attended attended = AttendPlacesFirst(to, query, key, value, seen, dropout_p, Causal::kNone, scale);
    return results(attended.output, SumsOf(to, attended, seen));
  }
  const Sequences sequences = block_table ? PagesInRow(to, *block_table, &key, &value, seqused_k) : Sequences{*cum_seq_k, seqused_k};
  const Tensor seen = SeenOfSequences(to, query.size(0), key.size(0), *cum_seq_q, sequences, true, window);
  const auto heads_first = [&](const Tensor& x) { return to.Permute(x, {1, 0, 2}); };
  const Attended attended =
      Attend(to, heads_first(query), heads_first(key), heads_first(value), seen, dropout_p, Causal::kNone, scale, true);
  return results(heads_first(attended.output), SumsOf(to, attended, seen));
}

std::tuple<Tensor, Tensor, Tensor> VarlenAttention(Lowering& to, Tensor query, Tensor key, Tensor value, Tensor cu_seq_q,
                                                   OptionalTensor cu_seq_k, Dim max_q, Dim max_k, bool is_causal,
                                                   std::optional<double> scale, std::optional<Dims> window_size, Unused,
                                                   OptionalTensor seqused_k, OptionalTensor block_table, std::optional<Dim>) {
  if (window_size && window_size->size() != 2) throw onnx::BadOperand("takes a window_size of two sides");
  const auto side = [&](size_t i) { return window_size ? std::optional((*window_size)[i]) : std::nullopt; };
  const auto [output, sums, state, unused, mask] =
      FlashAttentionForward(to, query, key, value, cu_seq_q, cu_seq_k, max_q, max_k, 0.0, is_causal, false, scale, side(0), side(1),
                            seqused_k, {}, block_table, {});
  return {output, sums, to.Full(Dims{to.Of(2)}, int64_t{0}, DType::kUint64)};
}

constexpr Restriction kCudnnForm = {
    "sequences of several lengths in one",
    "torch.ops.aten._cudnn_attention_forward(q, q, q, None, torch.tensor([0, 4]), torch.tensor([0, 4]), 4, 4, False)"};

Nine CudnnAttentionForward(Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor attn_bias, OptionalTensor cum_seq_q,
                           OptionalTensor cum_seq_k, Dim, Dim, bool compute_log_sumexp, double dropout_p, bool is_causal,
                           bool return_debug_mask, std::optional<double> scale) {
  if (cum_seq_q || cum_seq_k) return to.Unsupported(kCudnnForm);
  return CudnnAttention(to, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, return_debug_mask, scale);
}

constexpr Restriction kEfficientForm = {
    "biases of sequences of several lengths in one, and used keys of sequences of one length",
    "torch.ops.aten._efficient_attention_forward(q, q, q, None, None, None, None, None, 0.0, 0, seqlen_k=torch.tensor([2]))"};

std::tuple<Tensor, Tensor, Tensor, Tensor, Dim, Dim> EfficientAttentionForward(
    Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor bias, OptionalTensor cu_seqlens_q,
    OptionalTensor cu_seqlens_k, std::optional<Dim>, std::optional<Dim>, double dropout_p, int64_t custom_mask_type,
    bool compute_log_sumexp, std::optional<double> scale, OptionalTensor seqlen_k, std::optional<int64_t> window_size) {
  constexpr Causal kMaskTypes[] = {Causal::kNone, Causal::kUpperLeft, Causal::kLowerRight};
  if (cu_seqlens_q ? bias.has_value() : seqlen_k.has_value()) return to.Unsupported(kEfficientForm);
  if (custom_mask_type < 0 || custom_mask_type >= std::ssize(kMaskTypes))
    throw onnx::BadOperand("takes a custom_mask_type of 0, 1 or 2");
  if (cu_seqlens_q && !cu_seqlens_k) throw onnx::BadOperand("takes cu_seqlens_k with cu_seqlens_q");
  const bool has_window = window_size.value_or(0) > 0;
  if (has_window && custom_mask_type == 0) throw onnx::BadOperand("takes a window_size with a custom_mask_type only");
  if (cu_seqlens_q || has_window) {
    Window window;
    if (custom_mask_type != 0) window.right = to.Of(0);
    if (has_window) window.left = to.Of(*window_size - 1);
    const bool from_end = kMaskTypes[custom_mask_type] == Causal::kLowerRight;
    const Dim queries = query.size(1), keys = key.size(1);
    Tensor seen = cu_seqlens_q ? SeenOfSequences(to, queries, keys, *cu_seqlens_q, {*cu_seqlens_k, seqlen_k}, from_end, window)
                               : SeenInWindow(to, queries, keys, from_end, window);
    if (bias) seen = to.Where(seen, *bias, to.NumberOf(-INFINITY, bias->dtype()));
    const Attended attended = AttendPlacesFirst(to, query, key, value, seen, dropout_p, Causal::kNone, scale);
    const Tensor sums = cu_seqlens_q ? Tensor() : SumsOfBlocks(to, attended, compute_log_sumexp);
    return {attended.output, sums, State(to), State(to), queries, keys};
  }
  const Attended attended = AttendPlacesFirst(to, query, key, value, bias, dropout_p, kMaskTypes[custom_mask_type], scale);
  return {attended.output, SumsOfBlocks(to, attended, compute_log_sumexp), State(to), State(to), query.size(1), key.size(1)};
}

constexpr OpRow kRows[] = {
    Op<CudnnAttentionForward>(
        "aten::_cudnn_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, Tensor? cum_seq_q, Tensor? "
        "cum_seq_k, SymInt max_q, SymInt max_k, bool compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool "
        "return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, "
        "SymInt max_q, SymInt max_k, Tensor philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
        &kCudnnForm, &kDebugMask),
    Op<EfficientAttentionForward>(
        "aten::_efficient_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? cu_seqlens_q, "
        "Tensor? cu_seqlens_k, SymInt? max_seqlen_q, SymInt? max_seqlen_k, float dropout_p, int custom_mask_type, bool "
        "compute_log_sumexp=False, *, float? scale=None, Tensor? seqlen_k=None, int? window_size=None) -> (Tensor output, "
        "Tensor logsumexp, Tensor philox_seed, Tensor philox_offset, SymInt max_seqlen_batch_q, SymInt max_seqlen_batch_k)",
        &kEfficientForm),
    Op<FlashAttentionForward>(
        "aten::_flash_attention_forward(Tensor query, Tensor key, Tensor value, Tensor? cum_seq_q, Tensor? cum_seq_k, SymInt "
        "max_q, SymInt max_k, float dropout_p, bool is_causal, bool return_debug_mask, *, float? scale=None, SymInt? "
        "window_size_left=None, SymInt? window_size_right=None, Tensor? seqused_k=None, Tensor? alibi_slopes=None, Tensor? "
        "block_table=None, int? num_splits=None) -> (Tensor output, Tensor softmax_logsumexp, Tensor rng_state, Tensor "
        "unused, Tensor debug_attn_mask)",
        &kFlashForm, &kDebugMask),
    Op<CudnnAttention>(
        "aten::_scaled_dot_product_cudnn_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool "
        "compute_log_sumexp, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) "
        "-> (Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor "
        "philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
        &kDebugMask),
    Op<EfficientAttention>(
        "aten::_scaled_dot_product_efficient_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_bias, bool "
        "compute_log_sumexp, float dropout_p=0., bool is_causal=False, *, float? scale=None) -> (Tensor output, Tensor "
        "log_sumexp, Tensor philox_seed, Tensor philox_offset)"),
    Op<FlashAttention>(
        "aten::_scaled_dot_product_flash_attention(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool "
        "is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> (Tensor output, Tensor logsumexp, Tensor "
        "cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor rng_state, Tensor unused, Tensor debug_attn_mask)",
        &kDebugMask),
    Op<OverrideableAttention>(
        "aten::_scaled_dot_product_fused_attention_overrideable(Tensor query, Tensor key, Tensor value, Tensor? "
        "attn_bias=None, float dropout_p=0., bool is_causal=False, bool return_debug_mask=False, *, float? scale=None) -> "
        "(Tensor output, Tensor logsumexp, Tensor cum_seq_q, Tensor cum_seq_k, SymInt max_q, SymInt max_k, Tensor "
        "philox_seed, Tensor philox_offset, Tensor debug_attn_mask)",
        &kDebugMask),
    Op<VarlenAttention>(
        "torch_attn::_varlen_attn(Tensor query, Tensor key, Tensor value, Tensor cu_seq_q, Tensor? cu_seq_k, SymInt max_q, SymInt "
        "max_k, bool is_causal=False, float? scale=None, SymInt[]? window_size=None, bool enable_gqa=False, Tensor? "
        "seqused_k=None, Tensor? block_table=None, SymInt? num_splits=None) -> (Tensor, Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> FusedAttention() { return kRows; }

}  // namespace flambeau::lower
