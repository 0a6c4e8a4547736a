// What PyTorch computes at once for nn.MultiheadAttention and
// nn.TransformerEncoderLayer where no gradient is asked for; traces hold it.
#include <cmath>

#include "lower/op.h"
#include "lower/ops/activation.h"
#include "lower/ops/linalg/linear_algebra.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

// What a mask is of.
enum class MaskOf : int64_t { kQueriesAndKeys = 0, kKeys = 1, kScores = 2 };

// Where the mask holds, over scores of [batch, heads, queries, keys].
Tensor OverScores(Lowering& to, Tensor mask, MaskOf kind) {
  const Tensor hidden = to.CastTo(mask, DType::kBool);
  return kind == MaskOf::kKeys ? to.UnsqueezeAt(hidden, {1, 2}) : hidden;
}

// What is masked counts for nothing; where all is, the result is NaN, as PyTorch has it.
Tensor MaskedSoftmax(Lowering& to, Tensor self, Tensor mask, std::optional<int64_t> dim, std::optional<int64_t> mask_type) {
  const Tensor hidden = OverScores(to, mask, static_cast<MaskOf>(mask_type.value_or(2)));
  return Softmax(to, to.Where(hidden, to.NumberOf(-INFINITY, self.dtype()), self), dim.value_or(-1), std::nullopt);
}

// Weight and bias of the three projections lie one after the other.
std::vector<Tensor> Projected(Lowering& to, const Tensor& query, const Tensor& key, const Tensor& value, Tensor weight, Tensor bias,
                              int64_t width) {
  const Dims parts(3, to.Of(width));
  if (query.id() == key.id() && key.id() == value.id()) return to.SplitSizes(Linear(to, query, weight, bias), query.rank() - 1, parts);
  const std::vector<Tensor> weights = to.SplitSizes(weight, 0, parts), biases = to.SplitSizes(bias, 0, parts);
  return {Linear(to, query, weights[0], biases[0]), Linear(to, key, weights[1], biases[1]), Linear(to, value, weights[2], biases[2])};
}

std::tuple<Tensor, Tensor> MultiHeadAttention(Lowering& to, Tensor query, Tensor key, Tensor value, int64_t embed_dim, int64_t num_head,
                                              Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias,
                                              OptionalTensor mask, bool need_weights, bool average_attn_weights,
                                              std::optional<int64_t> mask_type) {
  const int64_t width = embed_dim / std::max<int64_t>(num_head, 1);
  const Dims split = {query.size(0), query.size(1), to.Of(num_head), to.Of(width)};
  const std::vector<Tensor> parts = Projected(to, query, key, value, qkv_weight, qkv_bias, embed_dim);
  auto heads = [&](const Tensor& part, const Ints& order) { return to.Permute(to.ReshapeTo(part, split), order); };
  const Tensor scaled = to.Scale(heads(parts[0], {0, 2, 1, 3}), 1 / std::sqrt(static_cast<double>(width)));
  const Tensor scores = to.MatMul(scaled, heads(parts[1], {0, 2, 3, 1}));
  const Tensor weights = mask ? MaskedSoftmax(to, scores, *mask, std::nullopt, mask_type) : Softmax(to, scores, -1, std::nullopt);
  const Tensor attended = to.Permute(to.MatMul(weights, heads(parts[2], {0, 2, 1, 3})), {0, 2, 1, 3});
  const Tensor output = Linear(to, to.ReshapeTo(attended, query.sizes()), proj_weight, proj_bias);
  if (!need_weights) return {output, Tensor()};
  return {output, average_attn_weights ? to.ReduceMean(weights, to.ConstantInts({1}), {.keepdims = 0}) : weights};
}

Tensor EncoderLayer(Lowering& to, Tensor src, int64_t embed_dim, int64_t num_heads, Tensor qkv_weight, Tensor qkv_bias,
                    Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, double eps, Tensor norm_weight_1,
                    Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1,
                    Tensor ffn_weight_2, Tensor ffn_bias_2, OptionalTensor mask, std::optional<int64_t> mask_type) {
  auto norm = [&](const Tensor& x, const Tensor& weight, const Tensor& bias) {
    return to.LayerNormalization(x, weight, bias, {.axis = -1, .epsilon = eps})[0];
  };
  auto attend = [&](const Tensor& x) {
    return std::get<0>(MultiHeadAttention(to, x, x, x, embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, false,
                                          true, mask_type));
  };
  auto feed_forward = [&](const Tensor& x) {
    const Tensor inner = Linear(to, x, ffn_weight_1, ffn_bias_1);
    return Linear(to, use_gelu ? to.Gelu(inner) : Relu(to, inner), ffn_weight_2, ffn_bias_2);
  };
  if (norm_first) {
    const Tensor x = to.Add(src, attend(norm(src, norm_weight_1, norm_bias_1)));
    return to.Add(x, feed_forward(norm(x, norm_weight_2, norm_bias_2)));
  }
  const Tensor x = norm(to.Add(src, attend(src)), norm_weight_1, norm_bias_1);
  return norm(to.Add(x, feed_forward(x)), norm_weight_2, norm_bias_2);
}

// (queries, keys, values), each of [batch, heads, sequence, width of a head], of projections that lie beside each other.
std::tuple<Tensor, Tensor, Tensor> TransformBiasRescale(Lowering& to, Tensor qkv, Tensor qkv_bias, int64_t num_heads) {
  if (qkv.rank() != 3) throw onnx::BadOperand("takes projections of (batch, sequence, width)");
  const auto width = to.AsConstant(qkv.size(2));
  if (!width || num_heads < 1) throw onnx::BadOperand("takes heads of a known width");
  const int64_t each = *width / 3 / num_heads;
  const std::vector<Tensor> parts = to.SplitSizes(to.Add(qkv, qkv_bias), 2, Dims(3, to.Of(each * num_heads)));
  auto heads = [&](const Tensor& part) {
    return to.Permute(to.ReshapeTo(part, Dims{qkv.size(0), qkv.size(1), to.Of(num_heads), to.Of(each)}), {0, 2, 1, 3});
  };
  return {to.Scale(heads(parts[0]), 1 / std::sqrt(static_cast<double>(each))), heads(parts[1]), heads(parts[2])};
}

// Whether a nested tensor can stand for the tensor without its padding. ONNX has none, so that the padding is computed,
// too, as it is where gradients are asked for.
Tensor IsLeftAligned(Lowering& to, Tensor, Tensor) { return to.NumberOf(false, DType::kBool); }

constexpr OpRow kRows[] = {
    Op<MaskedSoftmax>("aten::_masked_softmax(Tensor self, Tensor mask, int? dim=None, int? mask_type=None) -> Tensor"),
    Op<MultiHeadAttention>(
        "aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor "
        "qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, "
        "bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)"),
    Op<IsLeftAligned>("aten::_nested_tensor_from_mask_left_aligned(Tensor t, Tensor mask) -> bool"),
    Op<TransformBiasRescale>("aten::_transform_bias_rescale_qkv(Tensor qkv, Tensor qkv_bias, int num_heads) -> (Tensor, Tensor, Tensor)"),
    Op<EncoderLayer>(
        "aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor "
        "qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor "
        "norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor "
        "ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor"),
};

}  // namespace

std::span<const OpRow> EncoderLayers() { return kRows; }

}  // namespace flambeau::lower
