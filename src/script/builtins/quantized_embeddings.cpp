// quantized::embedding*: tables whose rows are each on a grid of their own.
#include <algorithm>

#include "ir/tensor_data.h"
#include "script/builtins/builtins.h"
#include "script/quantized.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

constexpr int kByte = 8;  // bits of a number; of fewer, several share a byte

// integers * scale + bias, a row each.
Result<Val> OnRows(Emitter& emit, const Val& integers, const Val& scales, const Val& biases) {
  const int64_t float32 = Info(DType::kFloat32).torch_code;
  FLAMBEAU_TRY(const Val numbers, emit.Call1("aten::to.dtype", {integers, float32}));
  FLAMBEAU_TRY(const Val scale, emit.Call1("aten::to.dtype", {scales, float32}));
  FLAMBEAU_TRY(const Val bias, emit.Call1("aten::to.dtype", {biases, float32}));
  FLAMBEAU_TRY(const Val scaled, emit.Call1("aten::mul.Tensor", {numbers, scale}));
  return emit.Call1("aten::add.Tensor", {scaled, bias});
}

// The table of an object that embedding_bag_prepack made.
template <int kBits>
Result<Val> PackedTable(Evaluator& evaluator, const Val& object) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, object));
  const auto* weight = weights.weight.As<QuantizedVal>();
  if (kBits == kByte || weight == nullptr || !weight->value->axis) return Dequantize(evaluator, weights.weight);
  // torch keeps scales and biases in half precision beside narrow numbers.
  Emitter& emit = evaluator.emit();
  const Val column = evaluator.List({int64_t{-1}, int64_t{1}});
  const int64_t float16 = Info(DType::kFloat16).torch_code;
  auto rounded = [&](const Val& numbers) -> Result<Val> {
    FLAMBEAU_TRY(const Val placed, emit.Call1("aten::reshape", {numbers, column}));
    return emit.Call1("aten::to.dtype", {placed, float16});
  };
  FLAMBEAU_TRY(const Val offsets, emit.Call1("aten::mul.Tensor", {weight->value->zero_point, weight->value->scale}));
  FLAMBEAU_TRY(const Val negative, emit.Call1("aten::neg", {offsets}));
  FLAMBEAU_TRY(const Val biases, rounded(negative));
  FLAMBEAU_TRY(const Val scales, rounded(weight->value->scale));
  return OnRows(emit, weight->value->data, scales, biases);
}

// Integers of fewer than 8 bits, out of the bytes that they share, the first in the lowest bits.
template <int kBits>
Result<Val> Spread(Evaluator& evaluator, const Val& bytes, int64_t rows) {
  if (kBits == kByte) return bytes;
  Emitter& emit = evaluator.emit();
  Vals parts;
  for (int64_t shift = 0; shift < kByte; shift += kBits) {
    FLAMBEAU_TRY(const Val shifted, emit.Call1("aten::bitwise_right_shift.Tensor_Scalar", {bytes, shift}));
    FLAMBEAU_TRY(Val part, emit.Call1("aten::bitwise_and.Scalar", {shifted, int64_t{(1 << kBits) - 1}}));
    parts.push_back(std::move(part));
  }
  FLAMBEAU_TRY(const Val stacked, emit.Call1("aten::stack", {evaluator.List(std::move(parts)), int64_t{-1}}));
  return emit.Call1("aten::reshape", {stacked, evaluator.List({rows, int64_t{-1}})});
}

// The table of embedding_bag_{byte,4bit,2bit}_prepack: bytes, of which the last of each row are its scale and bias, as
// floats beside bytes and in half precision beside narrower numbers. They are seen as the numbers that they are.
template <int kBits>
Result<Val> RowwiseTable(Evaluator& evaluator, const Val& value) {
  constexpr DType kNumbers = kBits == kByte ? DType::kFloat32 : DType::kFloat16;
  constexpr int64_t kWidth = kBits == kByte ? 4 : 2;
  Emitter& emit = evaluator.emit();
  const auto* tensor = value.As<TensorVal>();
  const auto constant = [&] { return emit.graph()[tensor->id].kind == ValueKind::kConstant; };
  if (tensor == nullptr || !constant()) return evaluator.Unsupported("takes a packed table that is known at run time only");
  const TensorData data = evaluator.context()[emit.graph()[tensor->id].data];
  const bool bytes = data.dtype == DType::kUint8 && data.sizes.size() == 2 && data.contiguous();
  if (!bytes || data.sizes[1] < 2 * kWidth) return Malformed(evaluator);
  const int64_t rows = data.sizes[0], stride = data.sizes[1], columns = stride - 2 * kWidth;
  if (stride % kWidth != 0) return evaluator.Unsupported("takes a packed table whose rows are no multiple of its scales' width");
  auto seen = [&](DType dtype, int64_t at, int64_t count, int64_t width) {
    TensorData part = data;
    part.dtype = dtype;
    part.offset += static_cast<uint64_t>(at);
    part.sizes = {rows, count};
    part.strides = {stride / width, 1};
    return Val(TensorVal{emit.AddTensor(part, InputKind::kConstantTensor, "packed_table", false)});
  };
  const Val scales = seen(kNumbers, columns, 1, kWidth), biases = seen(kNumbers, columns + kWidth, 1, kWidth);
  FLAMBEAU_TRY(const Val integers, Spread<kBits>(evaluator, seen(DType::kUint8, 0, columns, 1), rows));
  return OnRows(emit, integers, scales, biases);
}

using Table = Result<Val> (*)(Evaluator&, const Val&);

Result<Vals> Prepack(Evaluator& evaluator, const Node&, Arguments arguments) {
  return Vals{Pack(evaluator, {.weight = arguments[0], .bias = Nothing{}})};
}
Result<Vals> UnpackObject(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(const PackedWeights weights, Unpack(evaluator, arguments[0]));
  return Vals{weights.weight};
}
template <Table kTable>
Result<Vals> UnpackRows(Evaluator& evaluator, const Node&, Arguments arguments) {
  FLAMBEAU_TRY(Val table, kTable(evaluator, arguments[0]));
  return Vals{std::move(table)};
}

// (weights, indices, pruned)
template <Table kTable>
Result<Vals> Embedding(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() < 2) return Malformed(evaluator);
  FLAMBEAU_TRY(const Val table, kTable(evaluator, arguments[0]));
  FLAMBEAU_TRY(Val rows, evaluator.emit().Call1("aten::embedding", {table, arguments[1]}));
  return Vals{std::move(rows)};
}

// (weights, indices, offsets, scale_grad_by_freq, mode, pruned, per_sample_weights, mapping, include_last_offset)
template <Table kTable>
Result<Vals> EmbeddingBag(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (arguments.size() != 9) return Malformed(evaluator);
  if (arguments[5].AsInt().value_or(0) != 0 && !arguments[7].Is<Nothing>()) return evaluator.Unsupported("maps the indices of pruned rows");
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Val table, kTable(evaluator, arguments[0]));
  Val indices = arguments[1], offsets = arguments[2], factors = arguments[6];
  const auto* tensor = indices.As<TensorVal>();
  if (tensor == nullptr) return Malformed(evaluator);
  if (evaluator.TypeOf(*tensor).rank() == 2) {  // a bag is a row
    const Val flat = evaluator.List({int64_t{-1}});
    FLAMBEAU_TRY(const Val count, emit.Call1("aten::sym_numel", {indices}));
    FLAMBEAU_TRY(const Val width, emit.Call1("aten::sym_size.int", {indices, int64_t{1}}));
    FLAMBEAU_TRY(offsets, emit.Call1("aten::arange.start_step", {int64_t{0}, count, width, int64_t{Info(DType::kInt64).torch_code}}));
    FLAMBEAU_TRY(indices, emit.Call1("aten::reshape", {indices, flat}));
    if (!factors.Is<Nothing>()) {
      FLAMBEAU_TRY(factors, emit.Call1("aten::reshape", {factors, flat}));
    }
  }
  constexpr int64_t kSum = 0;  // whatever the mode: torch has no other
  FLAMBEAU_TRY(const Vals bags, emit.Call("aten::embedding_bag", {table, indices, offsets, false, kSum, false, factors, arguments[8]}));
  return Vals{bags[0]};
}

constexpr BuiltinRow kRows[] = {
    {"quantized::embedding_4bit", &Embedding<&PackedTable<4>>},
    {"quantized::embedding_bag_2bit_rowwise_offsets", &EmbeddingBag<&RowwiseTable<2>>},
    {"quantized::embedding_bag_2bit_unpack", &UnpackRows<&RowwiseTable<2>>},
    {"quantized::embedding_bag_4bit", &EmbeddingBag<&PackedTable<4>>},
    {"quantized::embedding_bag_4bit_rowwise_offsets", &EmbeddingBag<&RowwiseTable<4>>},
    {"quantized::embedding_bag_4bit_unpack", &UnpackRows<&RowwiseTable<4>>},
    {"quantized::embedding_bag_byte", &EmbeddingBag<&PackedTable<kByte>>},
    {"quantized::embedding_bag_byte_rowwise_offsets", &EmbeddingBag<&RowwiseTable<kByte>>},
    {"quantized::embedding_bag_byte_unpack", &UnpackRows<&RowwiseTable<kByte>>},
    {"quantized::embedding_bag_prepack", &Prepack},
    {"quantized::embedding_bag_unpack", &UnpackObject},
    {"quantized::embedding_byte", &Embedding<&PackedTable<kByte>>},
};

}  // namespace

std::span<const BuiltinRow> QuantizedEmbeddingBuiltins() { return kRows; }

}  // namespace flambeau::script
