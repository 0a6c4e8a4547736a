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
  return WithStates(to, query, key, attended.output, LogSumExp(to, attended.scores));
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

// --- (batch, places, heads, width), the kernels' own layout -----------------------------

Tensor HeadsFirst(Lowering& to, const Tensor& tensor) { return to.Permute(tensor, {0, 2, 1, 3}); }

Attended AttendPlacesFirst(Lowering& to, const Tensor& query, const Tensor& key, const Tensor& value, OptionalTensor bias,
                           double dropout, Causal causal, std::optional<double> scale) {
  Attended result = Attend(to, HeadsFirst(to, query), HeadsFirst(to, key), HeadsFirst(to, value), bias, dropout, causal, scale, true);
  result.output = HeadsFirst(to, result.output);
  return result;
}

constexpr Restriction kFlashForm = {
    "sequences of several lengths in one, windows of keys, slopes and pages of keys",
    "torch.ops.aten._flash_attention_forward(q, q, q, torch.tensor([0, 4]), torch.tensor([0, 4]), 4, 4, 0.0, False, False)"};

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> FlashAttentionForward(
    Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor cum_seq_q, OptionalTensor cum_seq_k, Dim, Dim,
    double dropout_p, bool is_causal, bool return_debug_mask, std::optional<double> scale, std::optional<Dim> window_size_left,
    std::optional<Dim> window_size_right, OptionalTensor seqused_k, OptionalTensor alibi_slopes, OptionalTensor block_table,
    std::optional<int64_t>) {
  constexpr int64_t kOpen = -1;
  const auto is_window = [&](std::optional<Dim> side) { return side && to.AsConstant(*side) != kOpen; };
  if (cum_seq_q || cum_seq_k || is_window(window_size_left) || is_window(window_size_right) || seqused_k || alibi_slopes || block_table)
    return to.Unsupported(kFlashForm);
  if (return_debug_mask) return to.Unsupported(kDebugMask);
  const Attended attended = AttendPlacesFirst(to, query, key, value, {}, dropout_p, LowerRight(is_causal), scale);
  return {attended.output, LogSumExp(to, attended.scores), State(to, {to.Of(2)}), State(to), Empty(to, query.dtype())};
}

constexpr Restriction kEfficientForm = {
    "sequences of several lengths in one, and windows of keys",
    "torch.ops.aten._efficient_attention_forward(q, q, q, None, None, None, None, None, 0.0, 0, window_size=2)"};

std::tuple<Tensor, Tensor, Tensor, Tensor, Dim, Dim> EfficientAttentionForward(
    Lowering& to, Tensor query, Tensor key, Tensor value, OptionalTensor bias, OptionalTensor cu_seqlens_q,
    OptionalTensor cu_seqlens_k, std::optional<Dim>, std::optional<Dim>, double dropout_p, int64_t custom_mask_type,
    bool compute_log_sumexp, std::optional<double> scale, OptionalTensor seqlen_k, std::optional<int64_t> window_size) {
  constexpr Causal kMaskTypes[] = {Causal::kNone, Causal::kUpperLeft, Causal::kLowerRight};
  if (cu_seqlens_q || cu_seqlens_k || seqlen_k || window_size.value_or(0) > 0) return to.Unsupported(kEfficientForm);
  if (custom_mask_type < 0 || custom_mask_type >= std::ssize(kMaskTypes))
    throw onnx::BadOperand("takes a custom_mask_type of 0, 1 or 2");
  const Attended attended = AttendPlacesFirst(to, query, key, value, bias, dropout_p, kMaskTypes[custom_mask_type], scale);
  return {attended.output, SumsOfBlocks(to, attended, compute_log_sumexp), State(to), State(to), query.size(1), key.size(1)};
}

constexpr OpRow kRows[] = {
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
};

}  // namespace

std::span<const OpRow> FusedAttention() { return kRows; }

}  // namespace flambeau::lower
