// Many tensors into one, and one into many.
#include <algorithm>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/loops.h"
#include "lower/ops/steps.h"
#include "lower/ops/views.h"
#include "onnx/complex.h"
#include "onnx/emission.h"

namespace flambeau::lower {
namespace {

// A list of tensors. One whose length is known at run time only is a sequence, alone in `tensors`: its type is that of
// the elements.
struct OpenTensorList {
  TensorList tensors;

  OpenTensorList(TensorList given) : tensors(std::move(given)) {}
  bool is_sequence() const { return tensors.size() == 1 && tensors.front() && tensors.front().type().kind == TypeKind::kSequence; }
};

}  // namespace

namespace internal {

template <>
struct Parameter<OpenTensorList> {
  static constexpr bool Accepts(uint32_t kind) { return Parameter<TensorList>::Accepts(kind); }
  static std::optional<OpenTensorList> Take(const ArgumentView& argument) {
    auto open = argument.AsTensorList();
    if (!open) return std::nullopt;
    if (OpenTensorList list(*std::move(open)); list.is_sequence()) return list;
    auto filled = argument.AsFilledTensorList();
    return filled ? std::optional<OpenTensorList>(*std::move(filled)) : std::nullopt;
  }
};

}  // namespace internal

namespace {

// What is joined along an axis that the rank decides of.
Tensor RankedSequence(Lowering& to, const OpenTensorList& list) {
  const Tensor& sequence = list.tensors.front();
  if (!sequence.ranked())
    to.Report(DiagnosticKind::kMissingInformation, "joins a list whose tensors have different ranks on the paths through the program");
  return sequence;
}

Tensor Cat(Lowering& to, OpenTensorList list, int64_t dim) {
  if (list.is_sequence()) return to.ConcatFromSequence(RankedSequence(to, list), {.axis = dim});
  TensorList& tensors = list.tensors;
  const DType dtype = to.PromotedDtype(tensors);
  // A tensor of no elements and one dimension fits with everything.
  std::vector<Tensor> parts;
  for (const Tensor& tensor : tensors)
    if (tensor.rank() != 1 || to.AsConstant(tensor.size(0)) != 0) parts.push_back(to.CastTo(tensor, dtype));
  if (parts.empty()) return to.CastTo(tensors.front(), dtype);
  if (parts.size() == 1) return parts.front();
  return to.Concat(parts, {.axis = to.Axis(dim, parts.front())});
}

Tensor Stack(Lowering& to, OpenTensorList list, int64_t dim) {
  TensorList& tensors = list.tensors;
  if (list.is_sequence()) return to.ConcatFromSequence(tensors.front(), {.axis = dim, .new_axis = 1});
  const int64_t axis = dim < 0 ? dim + tensors.front().rank() + 1 : dim;
  const DType dtype = to.PromotedDtype(tensors);
  for (Tensor& tensor : tensors) tensor = to.UnsqueezeAt(to.CastTo(tensor, dtype), {axis});
  return tensors.size() == 1 ? tensors.front() : to.Concat(tensors, {.axis = axis});
}

// How tensors of one rank are joined: along an axis that they have, or a new one, and then with axes of 1 at `ones`.
struct Joint {
  int64_t axis;
  bool is_new = false;
  Ints ones = {};
};

Joint Horizontal(int64_t rank) { return {rank < 2 ? 0 : 1, rank == 0}; }
Joint Vertical(int64_t rank) { return {0, rank < 2, rank == 0 ? Ints{1} : Ints{}}; }
Joint InDepth(int64_t rank) { return {std::min<int64_t>(rank, 2), rank < 3, rank == 0 ? Ints{0, 1} : rank == 1 ? Ints{0} : Ints{}}; }
Joint OfColumns(int64_t rank) { return {std::min<int64_t>(rank, 1), rank < 2, rank == 0 ? Ints{0} : Ints{}}; }

Tensor AsColumns(Lowering& to, Tensor tensor) { return tensor.rank() < 2 ? to.UnsqueezeAt(AtLeast1d(to, tensor), {1}) : tensor; }

// Tensors that are listed may differ in rank, and are brought to one by `kLift`; those of a sequence have one.
template <Joint (*kJoint)(int64_t rank), Tensor (*kLift)(Lowering&, Tensor)>
Tensor Join(Lowering& to, OpenTensorList list) {
  if (!list.is_sequence()) {
    for (Tensor& tensor : list.tensors) tensor = kLift(to, tensor);
    const int64_t axis = kJoint(list.tensors.front().rank()).axis;
    return Cat(to, std::move(list), axis);
  }
  const Joint joint = kJoint(RankedSequence(to, list).rank());
  const Tensor joined = joint.is_new ? Stack(to, std::move(list), joint.axis) : Cat(to, std::move(list), joint.axis);
  return to.UnsqueezeAt(joined, joint.ones);
}

Tensor BlockDiag(Lowering& to, TensorList tensors) {
  const DType dtype = to.PromotedDtype(tensors);
  Dim columns = to.Of(0);
  for (Tensor& tensor : tensors) {
    tensor = AtLeast2d(to, to.CastTo(tensor, dtype));
    columns = to.Plus(columns, tensor.size(1));
  }
  // Each block becomes a band of rows with zeros on both sides.
  Dim before = to.Of(0);
  std::vector<Tensor> bands;
  for (const Tensor& tensor : tensors) {
    const Dim after = to.Minus(to.Minus(columns, before), tensor.size(1));
    const Tensor pads = to.Shape1(Dims{to.Of(0), before, to.Of(0), after});
    const bool none = to.AsConstant(before) == 0 && to.AsConstant(after) == 0;
    bands.push_back(none ? tensor : to.Pad(tensor, pads, to.ConstantOf(int64_t{0}, dtype)));
    before = to.Plus(before, tensor.size(1));
  }
  return bands.size() == 1 ? bands.front() : to.Concat(bands, {.axis = 0});
}

// Each tensor is padded to a multiple of the chunks and laid out a chunk a row; the rows are joined.
Tensor ChunkCat(Lowering& to, TensorList tensors, int64_t dim, int64_t num_chunks) {
  const int64_t axis = to.Axis(dim, tensors.front());
  for (Tensor& tensor : tensors) {
    const Dim size = tensor.size(axis), chunks = to.Of(num_chunks);
    const Dim padded = to.Times({to.exprs().CeilDiv(size.expr, chunks.expr)}, chunks);
    if (!(padded == size)) tensor = PadEnd(to, tensor, axis, to.Minus(padded, size));
    Dims sizes = tensor.sizes();
    Dim row{to.exprs().FloorDiv(padded.expr, chunks.expr)};
    for (size_t i = static_cast<size_t>(axis) + 1; i < sizes.size(); ++i) row = to.Times(row, sizes[i]);
    sizes.resize(static_cast<size_t>(axis));
    sizes.insert(sizes.end(), {chunks, row});
    tensor = to.ReshapeTo(tensor, sizes);
  }
  return Cat(to, std::move(tensors), axis + 1);
}

TensorList SplitWithSizes(Lowering& to, Tensor self, Dims split_sizes, int64_t dim) {
  return to.SplitSizes(self, to.Axis(dim, self), split_sizes);
}

// How many pieces of `size` there are: what the program recorded; else what
// follows from the sizes. 0 if that is known at run time only.
int64_t PieceCount(Lowering& to, Tensor self, Dim size, int64_t axis) {
  const bool sequence = to.recorded_results() == 1 &&
                        to.aten().type(to.aten()[to.node()].result(0)).kind == TypeKind::kSequence;
  if (sequence) return 0;
  if (to.recorded_results() > 0) return to.recorded_results();
  const auto count = to.AsConstant({to.exprs().CeilDiv(self.size(axis).expr, size.expr)});
  return count ? WrittenOut(std::max<int64_t>(*count, 1)) : 0;
}

// A runtime without a kernel for the dtype splits a wider one; a sequence is then cast back element by element.
Tensor SplitIntoSequence(Lowering& to, Tensor self, Tensor split, const onnx::SplitToSequenceAttributes& attributes) {
  if (self.is_complex()) return onnx::OfPairs(to, SplitIntoSequence(to, onnx::Pairs(to, self), split, attributes));
  const DType dtype = self.dtype();
  const std::optional<DType> wider = onnx::WiderForRuntime(to, "SplitToSequence", "T", dtype);
  if (!wider) return to.SplitToSequence(self, split, attributes);
  const Tensor list = to.SplitToSequence(to.CastTo(self, *wider), split, attributes);
  Type type = list.type();
  type.dtype = dtype;
  const Tensor empty = to.Refined(to.SequenceEmpty({.dtype = Info(dtype).onnx_code}), type);
  return Repeat(to, to.SequenceLength(list), {empty}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    return std::vector<Tensor>{to.SequenceInsert(states[0], to.CastTo(to.SequenceAt(list, k), dtype))};
  })[0];
}

// Of nothing `of_nothing` pieces, where ONNX makes none: what the pieces hold is counted.
Tensor SplitByCount(Lowering& to, Tensor self, Dim size, Dim of_nothing, int64_t axis) {
  ExprPool& exprs = to.exprs();
  const Expr whole = self.size(axis).expr;
  const Dim end{exprs.Select(exprs.Equal(whole, exprs.Constant(0)), of_nothing.expr, whole)};
  const Tensor zero = to.ConstantInt(0), piece = to.Number({exprs.Max(size.expr, exprs.Constant(1))});
  const Tensor starts = to.Range(zero, to.Number(end), piece);
  const Tensor left = to.Max(Tensors{to.Sub(to.Number({whole}), starts), zero});
  return SplitIntoSequence(to, self, to.Min(Tensors{left, piece}), {.axis = axis});
}

bool MayBeNothing(Lowering& to, Dim size) { return to.exprs().RangeOf(size.expr).min < 1; }

// Pieces of `size`, the last of what is left.
TensorList SplitEvenly(Lowering& to, Tensor self, Dim size, Dim of_nothing, int64_t axis) {
  if (to.AsConstant(size) == 0) size = to.Of(1);
  const int64_t count = PieceCount(to, self, size, axis);
  if (count == 0 && MayBeNothing(to, self.size(axis))) return {SplitByCount(to, self, size, of_nothing, axis)};
  if (count == 0) return {SplitIntoSequence(to, self, to.Number(size), {.axis = axis})};
  Dims sizes(static_cast<size_t>(count), size);
  if (count > 0) sizes.back() = to.Minus(self.size(axis), to.Times(size, to.Of(count - 1)));
  return to.SplitSizes(self, axis, sizes);
}

TensorList SplitTensor(Lowering& to, Tensor self, Dim split_size, int64_t dim) {
  return SplitEvenly(to, self, split_size, to.Of(1), to.Axis(dim, self));
}

// As equal as can be, the larger ones first.
TensorList TensorSplitSections(Lowering& to, Tensor self, Dim sections, int64_t dim) {
  const int64_t axis = to.Axis(dim, self);
  if (!to.AsConstant(sections)) {
    const Tensor pieces = to.Number(sections);
    const Tensor places = to.Range(to.ConstantInt(0), pieces, to.ConstantInt(1));
    const Tensor most = to.Sub(to.Number(to.Plus(self.size(axis), to.Minus(sections, to.Of(1)))), places);
    return {SplitIntoSequence(to, self, to.Div(most, pieces), {.axis = axis})};
  }
  const int64_t count = WrittenOut(*to.AsConstant(sections));
  if (count < 1) throw onnx::BadOperand("makes no pieces");
  Dims sizes;
  for (int64_t i = 0; i < count; ++i) {
    const Dim rounded_up = to.Plus(self.size(axis), to.Of(count - 1 - i));
    sizes.push_back({to.exprs().FloorDiv(rounded_up.expr, to.exprs().Constant(count))});
  }
  return to.SplitSizes(self, axis, sizes);
}

// Of nothing there are as many pieces as are asked for, and else as many as are not empty.
TensorList Chunk(Lowering& to, Tensor self, Dim chunks, int64_t dim) {
  const int64_t axis = to.Axis(dim, self);
  if (to.AsConstant(self.size(axis)) == 0) return TensorSplitSections(to, self, chunks, dim);
  const Dim size{to.exprs().CeilDiv(self.size(axis).expr, chunks.expr)};
  return SplitEvenly(to, self, size, chunks, axis);
}

TensorList TensorSplitIndices(Lowering& to, Tensor self, Dims indices, int64_t dim) {
  const int64_t axis = to.Axis(dim, self);
  TensorList pieces;
  Dim start = to.Of(0);
  for (Dim index : indices) {
    pieces.push_back(SliceRange(to, self, axis, start, index, to.Of(1)));
    start = index;
  }
  pieces.push_back(SliceRange(to, self, axis, start, to.Of(INT64_MAX), to.Of(1)));
  return pieces;
}

// The same where only the run knows how many indices there are.
Tensor SequenceBetween(Lowering& to, Tensor self, const Tensor& indices, int64_t axis) {
  if (self.is_complex()) return onnx::OfPairs(to, SequenceBetween(to, onnx::Pairs(to, self), indices, axis));
  const Tensor starts = to.Concat({to.Number1(to.Of(0)), indices}, {.axis = 0});
  const Tensor ends = to.Concat({indices, to.Number1(self.size(axis))}, {.axis = 0});
  const auto piece = [&](const Tensor& k) {
    const Dim start = to.DimOf(to.Gather(starts, k, {.axis = 0})), end = to.DimOf(to.Gather(ends, k, {.axis = 0}));
    return SliceRange(to, self, axis, start, end, to.Of(1));
  };
  const Tensor first = to.SequenceConstruct({piece(to.ConstantInt(0))}), one = to.ConstantInt(1);
  Type type = first.type();
  type.sizes[static_cast<size_t>(axis)] = to.exprs().Anonymous();
  return Repeat(to, to.Number(indices.size(0)), {to.Refined(first, type)}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    return std::vector<Tensor>{to.SequenceInsert(states[0], piece(to.Add(k, one)))};
  })[0];
}

TensorList TensorSplitTensor(Lowering& to, Tensor self, Tensor tensor_indices_or_sections, int64_t dim) {
  const Tensor numbers = to.CastTo(tensor_indices_or_sections, DType::kInt64);
  if (numbers.rank() == 0) return TensorSplitSections(to, self, to.DimOf(numbers), dim);
  const auto count = to.AsConstant(numbers.size(0));
  if (!count) return {SequenceBetween(to, self, numbers, to.Axis(dim, self))};
  Dims indices;
  for (int64_t i = 0, bounds = WrittenOut(*count); i < bounds; ++i) indices.push_back(to.DimOf(to.GatherIndex(numbers, 0, to.Of(i))));
  return TensorSplitIndices(to, self, std::move(indices), dim);
}

template <int64_t kAxis>
TensorList SplitArray(Lowering& to, Tensor self, Ints indices) {
  Dims dims;
  for (int64_t index : indices) dims.push_back(to.Of(index));
  return TensorSplitIndices(to, self, std::move(dims), self.rank() == 1 ? 0 : kAxis);
}
template <int64_t kAxis>
TensorList SplitInt(Lowering& to, Tensor self, int64_t sections) {
  return TensorSplitSections(to, self, to.Of(sections), self.rank() == 1 ? 0 : kAxis);
}

TensorList Unbind(Lowering& to, Tensor self, int64_t dim) {
  const int64_t axis = to.Axis(dim, self), count = PieceCount(to, self, to.Of(1), axis);
  if (count > 0 && to.recorded_results() == 0 && to.AsConstant(self.size(axis)) == 0) return {};
  if (count == 0) return {SplitIntoSequence(to, self, {}, {.axis = axis, .keepdims = 0})};
  if (count == 1) return {to.SqueezeAt(self, {axis})};
  TensorList slices;
  for (int64_t i = 0; i < count; ++i) slices.push_back(to.GatherIndex(self, axis, to.Of(i)));
  return slices;
}

// Side by side, each made as long as the longest.
Tensor PadSequence(Lowering& to, TensorList sequences, bool batch_first, Scalar padding_value, std::string_view padding_side) {
  Dim longest = sequences.front().size(0);
  for (const Tensor& sequence : sequences) longest = {to.exprs().Max(longest.expr, sequence.size(0).expr)};
  for (Tensor& sequence : sequences) {
    const Dim missing = to.Minus(longest, sequence.size(0));
    if (to.AsConstant(missing) == 0) continue;
    const Tensor padding = to.Full(WithSize(sequence.sizes(), 0, missing), padding_value, sequence.dtype());
    sequence = padding_side == "left" ? to.Concat({padding, sequence}, {.axis = 0}) : to.Concat({sequence, padding}, {.axis = 0});
  }
  return Stack(to, std::move(sequences), batch_first ? 0 : 1);
}

constexpr OpRow kRows[] = {
    Op<ChunkCat>("aten::_chunk_cat(Tensor[] tensors, int dim, int num_chunks) -> Tensor"),
    Op<Stack>("aten::_stack(Tensor[] tensors, int dim=0) -> Tensor"),
    Op<BlockDiag>("aten::block_diag(Tensor[] tensors) -> Tensor"),
    Op<Cat>("aten::cat(Tensor[] tensors, int dim=0) -> Tensor"),
    Op<Chunk>("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]"),
    Op<Join<OfColumns, AsColumns>>("aten::column_stack(Tensor[] tensors) -> Tensor"),
    Op<Cat>("aten::concat(Tensor[] tensors, int dim=0) -> Tensor"),
    Op<Cat>("aten::concatenate(Tensor[] tensors, int dim=0) -> Tensor"),
    Op<SplitArray<2>>("aten::dsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"),
    Op<SplitInt<2>>("aten::dsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"),
    Op<Join<InDepth, AtLeast3d>>("aten::dstack(Tensor[] tensors) -> Tensor"),
    Op<SplitArray<1>>("aten::hsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"),
    Op<SplitInt<1>>("aten::hsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"),
    Op<Join<Horizontal, AtLeast1d>>("aten::hstack(Tensor[] tensors) -> Tensor"),
    Op<PadSequence>("aten::pad_sequence(Tensor[] sequences, bool batch_first=False, float padding_value=0., str "
                    "padding_side=\"right\") -> Tensor"),
    Op<Join<Vertical, AtLeast2d>>("aten::row_stack(Tensor[] tensors) -> Tensor"),
    Op<SplitWithSizes>("aten::split(Tensor(a -> *) self, int[] split_sizes, int dim=0) -> Tensor(a)[]"),
    Op<SplitTensor>("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]"),
    Op<SplitWithSizes>("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]"),
    Op<SplitTensor>("aten::split_copy.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
    Op<SplitWithSizes>("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]"),
    Op<SplitWithSizes>("aten::split_with_sizes_copy(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
    Op<Stack>("aten::stack(Tensor[] tensors, int dim=0) -> Tensor"),
    Op<TensorSplitIndices>(
        "aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]"),
    Op<TensorSplitSections>(
        "aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]"),
    Op<TensorSplitTensor>("aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor "
                          "tensor_indices_or_sections, int dim=0) -> Tensor(a)[]"),
    Op<Unbind>("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]"),
    Op<Unbind>("aten::unbind_copy.int(Tensor self, int dim=0) -> Tensor[]"),
    Op<Chunk>("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]"),
    Op<SplitTensor>("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
    Op<SplitWithSizes>("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
    Op<SplitArray<0>>("aten::vsplit.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]"),
    Op<SplitInt<0>>("aten::vsplit.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]"),
    Op<Join<Vertical, AtLeast2d>>("aten::vstack(Tensor[] tensors) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Joining() { return kRows; }

}  // namespace flambeau::lower
