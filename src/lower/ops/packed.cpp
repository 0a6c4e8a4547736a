#include "lower/ops/packed.h"

#include <numeric>

#include "lower/op.h"
#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

Tensor Count(Lowering& to, Tensor number) {
  return to.Range(to.ConstantInt(0), number, to.ConstantInt(1));
}

// Ones behind, to broadcast over what each row holds.
Tensor OverRows(Lowering& to, Tensor mask, int64_t rank) {
  Ints trailing(static_cast<size_t>(rank - mask.rank()));
  std::iota(trailing.begin(), trailing.end(), mask.rank());
  return to.UnsqueezeAt(mask, trailing);
}

Tensor SwapFirst(Lowering& to, Tensor tensor) {
  Ints order(static_cast<size_t>(tensor.rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return to.Permute(tensor, order);
}

}  // namespace

Packing PackingOf(Lowering& to, Tensor batch_sizes, Tensor batch) {
  const Tensor sizes = to.UnsqueezeAt(batch_sizes, {1}), sequence = Count(to, batch);
  const Tensor inside = to.Less(sequence, sizes);
  const Tensor begins = to.CumSum(sizes, to.ConstantInt(0), {.exclusive = 1});
  const Tensor lengths = to.ReduceSum(to.CastTo(inside, DType::kInt64), to.ConstantInts({0}), {.keepdims = 0});
  return {inside, to.Where(inside, to.Add(begins, sequence), to.ConstantInt(0)), lengths};
}

Tensor Padded(Lowering& to, Tensor data, const Packing& packing) { return to.Gather(data, packing.rows); }

Tensor Packed(Lowering& to, Tensor padded, Tensor inside) {
  Dims sizes = padded.sizes();
  sizes.erase(sizes.begin());
  sizes[0] = to.Times(padded.size(0), padded.size(1));
  return to.Compress(to.ReshapeTo(padded, sizes), to.ReshapeTo(inside, Ints{-1}), {.axis = 0});
}

namespace {

// (data, batch_sizes)
std::tuple<Tensor, Tensor> PackPadded(Lowering& to, Tensor input, Tensor lengths, bool batch_first) {
  if (input.rank() < 2) onnx::ThrowNoAxis(1, input.rank());
  const Tensor x = batch_first ? SwapFirst(to, input) : input;
  const Tensor inside = to.Less(to.UnsqueezeAt(Iota(to, x.size(0)), {1}), lengths);
  const Tensor longest = to.ReduceMax(lengths, {}, {.keepdims = 0});
  const Tensor lasting = to.Less(to.UnsqueezeAt(Count(to, longest), {1}), lengths);
  return {Packed(to, x, inside),
          to.ReduceSum(to.CastTo(lasting, DType::kInt64), to.ConstantInts({1}), {.keepdims = 0})};
}

// (padded, lengths)
std::tuple<Tensor, Tensor> PadPacked(Lowering& to, Tensor data, Tensor batch_sizes, bool batch_first,
                                     Const<Scalar> padding_value, Dim total_length) {
  const Packing packing = PackingOf(to, batch_sizes, to.GatherIndex(batch_sizes, 0, to.Of(0)));
  const Tensor value = to.ConstantOf(padding_value.value, data.dtype());
  Tensor x = Padded(to, data, packing);
  x = to.Where(OverRows(to, packing.inside, x.rank()), x, value);
  const Dim missing = to.Minus(total_length, batch_sizes.size(0));
  if (to.AsConstant(missing) != 0 && to.AsConstant(total_length).value_or(1) > 0) {
    Dims pads(static_cast<size_t>(2 * x.rank()), to.Of(0));
    pads[static_cast<size_t>(x.rank())] = missing;
    x = to.Pad(x, to.Shape1(pads), value);
  }
  return {batch_first ? SwapFirst(to, x) : x, packing.lengths};
}

// Where the rows of each sequence begin and end, as columns.
struct Extents {
  Tensor begins, ends;
};
Extents ExtentsOf(Lowering& to, const TensorList& offsets) {
  if (offsets.size() != 1) throw onnx::BadOperand("takes the offsets of one ragged dimension");
  const Tensor& all = offsets[0];
  const Dim count = to.Minus(all.size(0), to.Of(1));
  return {to.UnsqueezeAt(to.SliceAxis(all, 0, to.Of(0), count), {1}), to.UnsqueezeAt(to.SliceAxis(all, 0, to.Of(1), all.size(0)), {1})};
}

Tensor JaggedToPadded(Lowering& to, Tensor values, TensorList offsets, Dims max_lengths, double padding_value) {
  const Extents sequences = ExtentsOf(to, offsets);
  if (max_lengths.size() != 1) throw onnx::BadOperand("takes a length for each ragged dimension");
  // One row of padding lies behind all others.
  const Tensor padding = to.Full(WithSize(values.sizes(), 0, to.Of(1)), padding_value, values.dtype());
  const Tensor rows = to.Add(to.CastTo(sequences.begins, DType::kInt64), Iota(to, max_lengths[0]));
  const Tensor inside = to.Less(rows, to.CastTo(sequences.ends, DType::kInt64));
  return to.Gather(to.Concat({values, padding}, {.axis = 0}), to.Where(inside, rows, to.Number(values.size(0))));
}

// The offsets say how many rows there are in all, too.
Tensor PaddedToJagged(Lowering& to, Tensor dense, TensorList offsets, std::optional<Dim>) {
  const Extents sequences = ExtentsOf(to, offsets);
  return Packed(to, dense, to.Less(Iota(to, dense.size(1)), to.CastTo(to.Sub(sequences.ends, sequences.begins), DType::kInt64)));
}

constexpr OpRow kRows[] = {
    Op<JaggedToPadded>("aten::_jagged_to_padded_dense_forward(Tensor values, Tensor[] offsets, SymInt[] max_lengths, float "
                       "padding_value=0.) -> Tensor"),
    Op<PackPadded>("aten::_pack_padded_sequence(Tensor input, Tensor lengths, bool batch_first) -> (Tensor, Tensor)"),
    Op<PaddedToJagged>("aten::_padded_dense_to_jagged_forward(Tensor dense, Tensor[] offsets, SymInt? total_L=None) -> Tensor"),
    Op<PadPacked>("aten::_pad_packed_sequence(Tensor data, Tensor batch_sizes, bool batch_first, Scalar "
                  "padding_value, int total_length) -> (Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> PackedSequences() { return kRows; }

}  // namespace flambeau::lower
