// torch.onnx.ops: ONNX's own operators, called in a model.
#include <fmt/format.h>

#include "lower/op.h"

namespace flambeau::lower {
namespace {

using OptionalTensor = std::optional<Tensor>;

Tensor RotaryEmbedding(Lowering& to, Tensor x, Tensor cos_cache, Tensor sin_cache, OptionalTensor position_ids,
                       bool interleaved, Const<Dim> num_heads, Const<Dim> rotary_embedding_dim) {
  onnx::RotaryEmbeddingAttributes attributes{.interleaved = interleaved, .rotary_embedding_dim = rotary_embedding_dim.value};
  if (num_heads.value != 0) attributes.num_heads = num_heads.value;
  return to.RotaryEmbedding(x, cos_cache, sin_cache, position_ids.value_or(Tensor()), attributes);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> Attention23(Lowering& to, Tensor q, Tensor k, Tensor v,
                                                       OptionalTensor attn_mask, OptionalTensor past_key,
                                                       OptionalTensor past_value, bool is_causal, Const<Dim> kv_num_heads,
                                                       Const<Dim> q_num_heads, Const<Dim> qk_matmul_output_mode,
                                                       std::optional<double> scale, double softcap,
                                                       std::optional<Const<Dim>> softmax_precision) {
  onnx::AttentionAttributes attributes{.is_causal = is_causal, .qk_matmul_output_mode = qk_matmul_output_mode.value,
                                       .scale = scale, .softcap = softcap};
  if (softmax_precision) attributes.softmax_precision = softmax_precision->value;
  if (kv_num_heads.value != 0) attributes.kv_num_heads = kv_num_heads.value;
  if (q_num_heads.value != 0) attributes.q_num_heads = q_num_heads.value;
  if (softcap != 0 && (attn_mask || is_causal))
    to.sink().Warning(DiagnosticKind::kUnsupportedForm,
                      "softcap together with a mask: the model caps the scores before it masks them, as onnx says of its Attention; pytorch's "
                      "code for this operator caps them afterwards, which lets masked places through");
  // Only the results that are used: a present key needs a past one.
  int outputs = 1;
  const flambeau::Node& node = to.aten()[to.node()];
  for (uint32_t i = 1; i < node.result_count; ++i)
    if (to.aten().HasUses(node.result(i))) outputs = static_cast<int>(i) + 1;
  const auto results = to.Attention(q, k, v, attn_mask.value_or(Tensor()), past_key.value_or(Tensor()),
                                    past_value.value_or(Tensor()), {}, attributes, outputs);
  return {results[0], results[1], results[2], results[3]};
}

// torch.onnx.ops.symbolic: the attributes come as parallel lists, by the type of each.
class EncodedAttributes {
 public:
  EncodedAttributes(Lowering& to, NodeId node) : to_(to), node_(node) {}

  // False after a report.
  bool Decode(onnx::AttributeList* attributes) {
    const auto* keys = Find<Strings>("attr_keys");
    const auto* types = Find<Strings>("attr_types");
    const auto* positions = Find<Ints>("attr_pos");  // [[0, 1], [1, 3]] as one list
    const auto* ints = Find<Ints>("attr_ints");
    const auto* floats = Find<Floats>("attr_floats");
    const auto* strings = Find<Strings>("attr_strs");
    if (!keys || !types || !positions || !ints || !floats || !strings) return Bad("an argument is no list of constants");
    if (types->size() != keys->size() || positions->size() != 2 * keys->size()) return Bad("the lists differ in length");
    for (size_t i = 0; i < keys->size(); ++i) {
      const auto [first, last] = std::pair((*positions)[2 * i], (*positions)[2 * i + 1]);
      const std::string& type = (*types)[i];
      const std::string_view key = (*keys)[i];
      const bool fine = type == "i"    ? One(*ints, first, last, key, attributes)
                        : type == "f"  ? One(*floats, first, last, key, attributes)
                        : type == "s"  ? One(*strings, first, last, key, attributes)
                        : type == "is" ? Some(*ints, first, last, key, attributes)
                        : type == "fs" ? Some(*floats, first, last, key, attributes)
                        : type == "ss" && Some(*strings, first, last, key, attributes);
      if (!fine) return Bad(fmt::format("attribute '{}' is of type '{}', elements {} to {}", key, type, first, last));
    }
    return true;
  }

  template <class T>
  const T* Find(std::string_view argument) const {
    const Attribute* found = to_.aten().FindAttribute(node_, argument);
    return found ? std::get_if<T>(found) : nullptr;
  }
  bool Bad(std::string message) {
    to_.Report(DiagnosticKind::kBadProgram, fmt::format("the attributes cannot be read: {}", message));
    return false;
  }

 private:
  template <class T>
  static bool Within(const std::vector<T>& values, int64_t first, int64_t last) {
    return first >= 0 && first <= last && last <= static_cast<int64_t>(values.size());
  }
  template <class T>
  static bool One(const std::vector<T>& values, int64_t first, int64_t last, std::string_view key, onnx::AttributeList* attributes) {
    if (!Within(values, first, last) || last != first + 1) return false;
    attributes->Add(key, Attribute(values[static_cast<size_t>(first)]));
    return true;
  }
  template <class T>
  static bool Some(const std::vector<T>& values, int64_t first, int64_t last, std::string_view key, onnx::AttributeList* attributes) {
    if (!Within(values, first, last)) return false;
    attributes->Add(key, Attribute(std::vector<T>(values.begin() + first, values.begin() + last)));
    return true;
  }

  Lowering& to_;
  NodeId node_;
};

constexpr Restriction kComplexSymbolic = {
    "complex results", "torch.onnx.ops.symbolic('mine::Op', (x,), dtype=torch.complex64, shape=(2,))"};

Lowered Symbolic(Lowering& to, NodeId id) {
  const flambeau::Node& node = to.aten()[id];
  EncodedAttributes encoded(to, id);
  onnx::AttributeList attributes;
  if (!encoded.Decode(&attributes)) return std::nullopt;
  const auto* op_type = encoded.Find<std::string>("op_type");
  const auto* domain = encoded.Find<std::string>("domain");
  const auto operands = ArgumentView(to, id, 0).AsTensorList();
  if (!op_type || !domain || !operands) {
    encoded.Bad("the operator has no name, or its inputs are no list of tensors");
    return std::nullopt;
  }
  std::vector<Type> types;
  for (uint32_t i = 0; i < node.result_count; ++i) {
    const Type& type = to.aten().type(node.result(i));
    if (IsComplex(type.dtype)) {
      to.Unsupported(kComplexSymbolic);
      return std::nullopt;
    }
    types.push_back(to.OnnxType(type));
  }
  const bool is_onnx = domain->empty() || *domain == "ai.onnx";
  const auto results = to.EmitCustom(is_onnx ? *op_type : fmt::format("{}::{}", *domain, *op_type), *operands, attributes, types);
  if (const auto* version = encoded.Find<int64_t>("version"); version && !is_onnx)
    to.additions().domains.insert_or_assign(*domain, static_cast<int>(*version));
  const auto* keys = encoded.Find<Strings>("metadata_props_keys");
  const auto* values = encoded.Find<Strings>("metadata_props_values");
  if (keys && values && keys->size() == values->size() && !keys->empty() && !results.empty()) {
    onnx::Properties& properties = to.additions().node_metadata[to.graph()[results[0].id()].node];
    for (size_t i = 0; i < keys->size(); ++i) properties.emplace_back((*keys)[i], (*values)[i]);
  }
  return results;
}

constexpr OpRow kRows[] = {
    Op<Attention23>(
        "onnx::Attention.opset23(Tensor Q, Tensor K, Tensor V, Tensor? attn_mask=None, Tensor? past_key=None, Tensor? "
        "past_value=None, *, bool is_causal=False, SymInt kv_num_heads=0, SymInt q_num_heads=0, SymInt "
        "qk_matmul_output_mode=0, float? scale=None, float softcap=0., SymInt? softmax_precision=None) -> (Tensor, "
        "Tensor, Tensor, Tensor)"),
    Op<RotaryEmbedding>(
        "onnx::RotaryEmbedding.opset23(Tensor x, Tensor cos_cache, Tensor sin_cache, Tensor? position_ids=None, *, bool "
        "interleaved=False, SymInt num_heads=0, SymInt rotary_embedding_dim=0) -> Tensor"),
    RawOp("onnx_symbolic::_symbolic", Symbolic),
    RawOp("onnx_symbolic::_symbolic_multi_out", Symbolic),
};

}  // namespace

std::span<const OpRow> OnnxOperators() { return kRows; }

}  // namespace flambeau::lower
