// Order: sorting, unique values, bins.
#include <algorithm>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/geometry.h"
#include "lower/ops/indexing.h"
#include "lower/ops/linalg/matrices.h"
#include "lower/ops/loops.h"
#include "lower/ops/nan_order.h"
#include "lower/ops/scatter.h"
#include "lower/ops/views.h"

namespace flambeau::lower {
namespace {

using ValuesAndIndices = std::tuple<Tensor, Tensor>;

// ONNX's TopK puts the earlier of equal elements first, so that sorting by it is stable.
ValuesAndIndices Topk(Lowering& to, Tensor self, Dim k, int64_t dim, bool largest, bool sorted) {
  if (self.rank() == 0) return {self, to.ConstantInt(0)};
  const int64_t axis = to.Axis(dim, self);
  const Tensor keys = OrderKeys(to, self, NanRank::kHighest);
  auto [values, indices] = to.TopK(keys, to.Number1(k), {.axis = axis, .largest = largest, .sorted = sorted});
  if (keys.id() != self.id()) values = to.GatherElements(self, indices, {.axis = axis});
  const Dims sizes = WithSize(self.sizes(), axis, k);
  return {Sized(to, values, sizes), Sized(to, indices, sizes)};
}

ValuesAndIndices Sort(Lowering& to, Tensor self, int64_t dim, bool descending) {
  const Dim size = self.rank() == 0 ? to.Of(1) : self.size(to.Axis(dim, self));
  return Topk(to, self, size, dim, descending, true);
}
ValuesAndIndices SortStable(Lowering& to, Tensor self, Unused, int64_t dim, bool descending) {
  return Sort(to, self, dim, descending);
}
Tensor Argsort(Lowering& to, Tensor self, int64_t dim, bool descending) {
  return std::get<1>(Sort(to, self, dim, descending));
}
Tensor ArgsortStable(Lowering& to, Tensor self, Unused, int64_t dim, bool descending) {
  return Argsort(to, self, dim, descending);
}
Tensor Msort(Lowering& to, Tensor self) { return std::get<0>(Sort(to, self, 0, false)); }

ValuesAndIndices Kthvalue(Lowering& to, Tensor self, Dim k, int64_t dim, bool keepdim) {
  if (self.rank() == 0) return {self, to.ConstantInt(0)};
  const auto [values, indices] = Topk(to, self, k, dim, false, true);
  const int64_t axis = to.Axis(dim, self);
  const Dim last = to.Of(-1);
  if (!keepdim) return {to.GatherIndex(values, axis, last), to.GatherIndex(indices, axis, last)};
  return {SliceRange(to, values, axis, last, to.Of(INT64_MAX), to.Of(1)),
          SliceRange(to, indices, axis, last, to.Of(INT64_MAX), to.Of(1))};
}

// --- unique -------------------------------------------------------------------------

using ThreeTensors = std::tuple<Tensor, Tensor, Tensor>;

// What PyTorch gives for a result that wasn't asked for.
Tensor NotWanted(Lowering& to) { return to.ConstantInts({}); }

// Sorted always, as PyTorch's CPU kernels do.
ThreeTensors Unique2(Lowering& to, Tensor self, Unused, bool return_inverse, bool return_counts) {
  const auto [values, first, inverse, counts] = to.Unique(Flat(to, AtLeast1d(to, self)), {.sorted = 1}, 4);
  return {values, return_inverse ? to.ReshapeTo(inverse, self.sizes()) : NotWanted(to),
          return_counts ? counts : NotWanted(to)};
}
ValuesAndIndices Unique(Lowering& to, Tensor self, Unused, bool return_inverse) {
  const auto [values, inverse, counts] = Unique2(to, self, {}, return_inverse, false);
  return {values, inverse};
}
// Gives all three whether asked for or not.
ThreeTensors UniqueDim(Lowering& to, Tensor self, int64_t dim, Unused, Unused, Unused) {
  const auto [values, first, inverse, counts] = to.Unique(self, {.axis = to.Axis(dim, self), .sorted = 1}, 4);
  return {values, inverse, counts};
}

ThreeTensors UniqueConsecutive(Lowering& to, Tensor self, bool return_inverse, bool return_counts,
                               std::optional<int64_t> dim) {
  const Tensor x = dim ? AtLeast1d(to, self) : Flat(to, AtLeast1d(to, self));
  const int64_t axis = dim ? to.Axis(*dim, x) : 0;
  const bool flat = !dim || (*dim == 0 && self.rank() == 1);  // of which there is only what is asked for
  const Dim size = x.size(axis);
  // Where an element differs from the one before; the first does by definition.
  const Tensor left = SliceRange(to, x, axis, to.Of(0), to.Of(-1), to.Of(1));
  const Tensor right = SliceRange(to, x, axis, to.Of(1), to.Of(INT64_MAX), to.Of(1));
  Tensor differs = to.Not(to.Equal(left, right));
  if (x.rank() > 1) {
    Ints others(static_cast<size_t>(x.rank()));
    std::iota(others.begin(), others.end(), 0);
    others.erase(others.begin() + axis);
    differs = to.CastTo(to.ReduceMax(to.CastTo(differs, DType::kInt32), to.ConstantInts(others), {.keepdims = 0}),
                        DType::kBool);
  }
  const Dim first_count{to.exprs().Min(size.expr, to.exprs().Constant(1))};
  const Tensor starts = to.Concat({to.Full(Dims{first_count}, true, DType::kBool), differs}, {.axis = 0});
  const Tensor group = to.CumSum(to.CastTo(starts, DType::kInt64), to.ConstantInt(0));
  const Tensor inverse = to.Sub(group, to.ConstantInt(1));
  // A group is as long as it is far to the start of the next.
  const Tensor positions = to.GatherIndex(NonZeroCoordinates(to, starts), 0, to.Of(0));
  const Tensor ends =
      to.Concat({SliceRange(to, positions, 0, to.Of(1), to.Of(INT64_MAX), to.Of(1)), to.Number1(size)}, {.axis = 0});
  const Tensor counts = to.Sub(SliceRange(to, ends, 0, to.Of(0), positions.size(0), to.Of(1)), positions);
  const Tensor values = to.Compress(x, starts, {.axis = axis});
  if (!flat) return {values, inverse, counts};
  return {values, return_inverse ? to.ReshapeTo(inverse, self.sizes()) : NotWanted(to),
          return_counts ? counts : NotWanted(to)};
}
ThreeTensors UniqueDimConsecutive(Lowering& to, Tensor self, int64_t dim, bool return_inverse, bool return_counts) {
  return UniqueConsecutive(to, self, return_inverse, return_counts, dim);
}

// --- search -------------------------------------------------------------------------

constexpr int64_t kFewBoundaries = 32;  // more are searched by halves

// Whether boundaries are below values (or not above them). NaN is above all, hence the negated comparisons.
Tensor Passed(Lowering& to, Tensor boundaries, Tensor values, bool right) {
  if (boundaries.is_floating()) return to.Not(right ? to.Greater(boundaries, values) : to.GreaterOrEqual(boundaries, values));
  return right ? to.LessOrEqual(boundaries, values) : to.Less(boundaries, values);
}

// The index of the first boundary that the value does not pass, along the last axis: the sequence is a vector, or has
// the other sizes of the values. Looked for by halves as PyTorch does, so a sequence that is not sorted gives the same.
Tensor SearchByHalves(Lowering& to, Tensor sequence, Tensor values, bool right) {
  const int64_t axis = sequence.rank() - 1;
  const Tensor size = to.Number(sequence.size(-1)), zero = to.ConstantInt(0), one = to.ConstantInt(1), two = to.ConstantInt(2);
  const Tensor end = to.ExpandTo(size, values.sizes()), begin = to.ExpandTo(zero, values.sizes());
  const Tensor last = to.Max({to.Sub(size, one), zero});
  const auto states = RepeatWhile(to, to.ConstantInt(64), {to.Greater(size, zero), begin, end}, [&](const Tensor&, const std::vector<Tensor>& states) {
    const Tensor middle = to.Add(states[1], to.Div(to.Sub(states[2], states[1]), two)), index = to.Min({middle, last});
    const Tensor boundary = axis == 0 ? to.Gather(sequence, index, {.axis = 0}) : to.GatherElements(sequence, index, {.axis = axis});
    const Tensor open = to.Less(states[1], states[2]), passed = Passed(to, boundary, values, right);
    const Tensor next_begin = to.Where(to.And(open, passed), to.Add(middle, one), states[1]);
    const Tensor next_end = to.Where(to.And(open, to.Not(passed)), middle, states[2]);
    return std::vector<Tensor>{Any(to, to.Less(next_begin, next_end)), next_begin, next_end};
  });
  return states[1];
}

// The index of the first boundary that the value does not pass.
Tensor Search(Lowering& to, Tensor sequence, Tensor values, bool right, bool out_int32, bool is_sorted) {
  const DType index_dtype = out_int32 ? DType::kInt32 : DType::kInt64;
  const auto size = to.AsConstant(sequence.size(-1));
  if (size == 0) return to.Full(values.sizes(), int64_t{0}, index_dtype);
  const DType dtype = to.PromotedDtype({sequence, values});
  Tensor boundaries = to.CastTo(sequence, dtype), x = to.CastTo(values, dtype);
  if (!is_sorted || !size || *size > kFewBoundaries) return to.CastTo(SearchByHalves(to, boundaries, x, right), index_dtype);
  if (boundaries.rank() > 1) boundaries = AsRow(to, boundaries);
  const Tensor passed = Passed(to, boundaries, AsColumn(to, x), right);
  return to.ReduceSum(to.CastTo(passed, index_dtype), to.ConstantInts({passed.rank() - 1}), {.keepdims = 0});
}

Tensor Searchsorted(Lowering& to, Tensor sorted_sequence, Tensor self, bool out_int32, bool right,
                    std::optional<std::string_view> side, std::optional<Tensor> sorter) {
  if (sorter) sorted_sequence = TakeAlong(to, sorted_sequence, -1, *sorter);
  return Search(to, sorted_sequence, self, side ? *side == "right" : right, out_int32, !sorter);
}
// A float among integers stays one.
Tensor NumberBeside(Lowering& to, const Scalar& number, const Tensor& boundaries) {
  const Tensor alone = internal::AsResult(to, number);
  return to.CastTo(alone, to.PromotedDtype({boundaries, alone}));
}

Tensor SearchsortedScalar(Lowering& to, Tensor sorted_sequence, Scalar self, bool out_int32, bool right,
                          std::optional<std::string_view> side, std::optional<Tensor> sorter) {
  return Searchsorted(to, sorted_sequence, NumberBeside(to, self, sorted_sequence), out_int32, right, side, sorter);
}
Tensor Bucketize(Lowering& to, Tensor self, Tensor boundaries, bool out_int32, bool right) {
  return Search(to, boundaries, self, right, out_int32, true);
}
Tensor BucketizeScalar(Lowering& to, Scalar self, Tensor boundaries, bool out_int32, bool right) {
  return Search(to, boundaries, NumberBeside(to, self, boundaries), right, out_int32, true);
}

// Where each row's numbers begin among all, of the rows' numbers in order: (rows + 1).
Tensor RowBegins(Lowering& to, Tensor self, Dim size, bool out_int32) {
  const Tensor rows = to.CastTo(Iota(to, to.Plus(size, to.Of(1))), self.dtype());
  return Search(to, self, rows, false, out_int32, true);
}
Tensor IsIn(Lowering& to, Tensor elements, Tensor test_elements, Unused, bool invert) {
  if (to.AsConstant(to.Numel(test_elements)) == 0) return to.Full(elements.sizes(), invert, DType::kBool);
  const DType dtype = to.PromotedDtype({elements, test_elements});
  const Tensor x = to.UnsqueezeAt(to.CastTo(elements, dtype), {elements.rank()});
  const Tensor equal = to.Equal(x, Flat(to, AtLeast1d(to, to.CastTo(test_elements, dtype))));
  // A sum, as a maximum over no elements has no value.
  const Tensor matches = to.ReduceSum(to.CastTo(equal, DType::kInt32), to.ConstantInts({equal.rank() - 1}), {.keepdims = 0});
  const Tensor zero = to.ConstantOf(int64_t{0}, DType::kInt32);
  return invert ? to.Equal(matches, zero) : to.Greater(matches, zero);
}
Tensor IsInTensorScalar(Lowering& to, Tensor elements, Scalar test_element, Unused, bool invert) {
  return IsIn(to, elements, internal::AsResult(to, test_element), {}, invert);
}
Tensor IsInScalarTensor(Lowering& to, Scalar element, Tensor test_elements, Unused, bool invert) {
  return IsIn(to, internal::AsResult(to, element), test_elements, {}, invert);
}

// --- bins ---------------------------------------------------------------------------

Tensor Bincount(Lowering& to, Tensor self, std::optional<Tensor> weights, Dim minlength) {
  const DType dtype = !weights                              ? DType::kInt64
                      : weights->dtype() == DType::kFloat32 ? DType::kFloat32
                                                            : DType::kFloat64;
  const Tensor bins = to.CastTo(self, DType::kInt64);
  // One more than the largest; nothing in an empty tensor is larger than -1.
  const Tensor top = to.ReduceMax(to.Concat({bins, to.ConstantInts({-1})}, {.axis = 0}), to.ConstantInts({0}));
  const Tensor size = to.Max({to.Add(top, to.ConstantInts({1})), to.Number1(minlength)});
  const Tensor none = to.Expand(to.ConstantOf(int64_t{0}, dtype), size);
  const Tensor each = weights ? to.CastTo(*weights, dtype) : to.Full(self.sizes(), int64_t{1}, dtype);
  return ScatterAxis(to, none, 0, bins, each, Combine::kAdd);
}

Tensor Histc(Lowering& to, Tensor self, Dim bins, Scalar min, Scalar max) {
  const DType dtype = self.dtype();
  const Tensor x = Flat(to, AtLeast1d(to, self));
  auto number = [&](double value) { return to.ConstantOf(value, dtype); };
  Tensor low = to.NumberOf(min, dtype), high = to.NumberOf(max, dtype);
  const bool known = min.is_constant() && max.is_constant();
  if (!known || min.AsDouble() == max.AsDouble()) {
    // Where they are one, it is the range of the data, widened if that is one value.
    const Tensor no_range = to.Equal(low, high);
    if (to.AsConstant(x.size(0)) != 0) {
      low = to.Where(no_range, to.ReduceMin(x, {}, {.keepdims = 0}), low);
      high = to.Where(no_range, to.ReduceMax(x, {}, {.keepdims = 0}), high);
    }
    const Tensor flat = to.Equal(low, high);
    std::tie(low, high) =
        std::tuple{to.Where(flat, to.Sub(low, number(1)), low), to.Where(flat, to.Add(high, number(1)), high)};
  }
  const Tensor scaled = to.Div(to.Mul(to.Sub(x, low), to.ConstantOf(bins, dtype)), to.Sub(high, low));
  const Tensor inside = to.And(to.GreaterOrEqual(x, low), to.LessOrEqual(x, high));
  // The last bin includes its upper end; what lies outside counts 0 in any bin.
  const Tensor position = to.Where(inside, scaled, number(0));
  const Tensor bin = to.Min({to.CastTo(position, DType::kInt64), to.Sub(to.Number(bins), to.ConstantInt(1))});
  const Tensor none = to.Full(Dims{bins}, int64_t{0}, dtype);
  return ScatterAxis(to, none, 0, bin, to.CastTo(inside, dtype), Combine::kAdd);
}

constexpr OpRow kRows[] = {
    Op<RowBegins>("aten::_convert_indices_from_coo_to_csr(Tensor self, int size, *, bool out_int32=False) -> Tensor"),
    Op<Unique>("aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)"),
    Op<Unique2>("aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> "
                "(Tensor, Tensor, Tensor)"),
    Op<Argsort>("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
    Op<ArgsortStable>("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"),
    Op<Bincount>("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"),
    Op<BucketizeScalar>("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, "
                        "bool right=False) -> Tensor"),
    Op<Bucketize>(
        "aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor"),
    Op<Histc>("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor"),
    Op<IsInScalarTensor>("aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, "
                         "bool invert=False) -> Tensor"),
    Op<IsInTensorScalar>("aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, "
                         "bool invert=False) -> Tensor"),
    Op<IsIn>("aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, "
             "bool invert=False) -> Tensor"),
    Op<Kthvalue>(
        "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    Op<Msort>("aten::msort(Tensor self) -> Tensor"),
    Op<SearchsortedScalar>("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, "
                           "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"),
    Op<Searchsorted>("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, "
                     "bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"),
    Op<Sort>("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"),
    Op<SortStable>("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> "
                   "(Tensor values, Tensor indices)"),
    Op<Topk>("aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> "
             "(Tensor values, Tensor indices)"),
    Op<UniqueConsecutive>("aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, "
                          "int? dim=None) -> (Tensor, Tensor, Tensor)"),
    Op<UniqueDim>("aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, "
                  "bool return_counts=False) -> (Tensor, Tensor, Tensor)"),
    Op<UniqueDimConsecutive>("aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, "
                             "bool return_counts=False) -> (Tensor, Tensor, Tensor)"),
};

}  // namespace

std::span<const OpRow> Sorting() { return kRows; }

}  // namespace flambeau::lower
