// Reading and writing by index.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "onnx/infer/sizes.h"
#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// Σ iota·stride over all axes but one, for tensors of the sizes of `like` that
// point into a row-major tensor like `data`; and the stride of that axis.
struct Places {
  Tensor others, stride;
};
Places PlacesAround(Builder& to, const Tensor& data, const Tensor& like, int64_t axis) {
  Places places;
  Tensor stride = to.ConstantInts({1});
  for (int64_t d = data.rank(); d-- > 0;) {
    if (d == axis) {
      places.stride = stride;
    } else if (!IsKnown(to, SizeAlong(to, like, d), 1)) {
      Ints along(static_cast<size_t>(data.rank()), 1);
      along[static_cast<size_t>(d)] = -1;
      const Tensor part = to.ReshapeTo(to.Mul(Iota(to, SizeNumber(to, like, d)), stride), along);
      places.others = places.others ? to.Add(places.others, part) : part;
    }
    stride = to.Mul(stride, SizeAlong(to, data, d));
  }
  return places;
}

Results GatherElementsByPlace(Builder& to, const Request& request) {
  const Tensor data = request.operands[0], indices = request.operands[1];
  if (!data.ranked() || !indices.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  int64_t axis = request.Int("axis", 0);
  if (axis < 0) axis += data.rank();
  const Places places = PlacesAround(to, data, indices, axis);
  const Tensor wrapped = to.CastTo(WrapNegative(to, indices, SizeNumber(to, data, axis)), DType::kInt64);
  Tensor place = to.Mul(wrapped, places.stride);
  if (places.others) place = to.Add(place, places.others);
  return {{to.Gather(to.ReshapeTo(data, Ints{-1}), place)}};
}

// The first axes as one: rows that a list of numbers can point to.
struct Rows {
  Tensor data, places, width;  // [rows, width], [n], [width]
};
Rows RowsOf(Builder& to, const Tensor& data, const Tensor& indices, int64_t depth) {
  Tensor place, rows = to.ConstantInts({1});
  for (int64_t d = depth; d-- > 0;) {
    const Tensor number = to.Gather(indices, to.ConstantInt(d), {.axis = indices.rank() - 1});
    const Tensor part = to.Mul(WrapNegative(to, number, SizeNumber(to, data, d)), rows);
    place = place ? to.Add(place, part) : part;
    rows = to.Mul(rows, SizeAlong(to, data, d));
  }
  Tensor width = to.ConstantInts({1});
  for (int64_t d = depth; d < data.rank(); ++d) width = to.Mul(width, SizeAlong(to, data, d));
  return {to.Reshape(data, to.Concat(Tensors{rows, width}, {.axis = 0})), place, width};
}

std::optional<int64_t> DepthOf(Builder& to, const Tensor& data, const Tensor& indices) {
  if (!data.ranked() || !indices.ranked() || indices.rank() == 0) return std::nullopt;
  const auto depth = to.AsConstant(indices.size(-1));
  return depth && *depth >= 1 && *depth <= data.rank() ? depth : std::nullopt;
}

Results GatherNdByRows(Builder& to, const Request& request) {
  const Tensor data = request.operands[0], indices = request.operands[1];
  if (to.opset() >= 11 && request.Int("batch_dims", 0) == 0) return std::nullopt;
  const auto depth = DepthOf(to, data, indices);
  if (!depth || request.Int("batch_dims", 0) != 0) return Refuse(to, request, "has no batches");
  std::vector<Tensor> sizes;
  for (int64_t d = 0; d + 1 < indices.rank(); ++d) sizes.push_back(SizeAlong(to, indices, d));
  for (int64_t d = *depth; d < data.rank(); ++d) sizes.push_back(SizeAlong(to, data, d));
  const Tensor shape = sizes.empty() ? to.ConstantInts({}) : to.Concat(sizes, {.axis = 0});
  if (IsEmpty(to, data) || IsEmpty(to, indices)) return {{to.Expand(to.ConstantOf(int64_t{0}, data.dtype()), shape)}};
  const Rows rows = RowsOf(to, data, indices, *depth);
  return {{to.Reshape(to.Gather(rows.data, rows.places), shape)}};
}

// What the reduction makes of an old and a new element.
Tensor Reduced(Builder& to, const std::string& reduction, const Tensor& old, const Tensor& update) {
  if (reduction == "add") return to.Add(old, update);
  if (reduction == "mul") return to.Mul(old, update);
  // onnxruntime's Max and Min compare the lower halves of int64.
  if (old.dtype() == DType::kInt64 && to.widens_for_runtime()) return reduction == "max" ? to.Where(to.Less(old, update), update, old) : to.Where(to.Less(update, old), update, old);
  return reduction == "max" ? to.Max(Tensors{old, update}) : to.Min(Tensors{old, update});
}

bool HasReduction(int opset, const std::string& reduction) {
  return reduction == "none" || opset >= 18 || (opset >= 16 && (reduction == "add" || reduction == "mul"));
}

// Along the axis one after the other: then no two write to the same place.
Results ScatterInTurn(Builder& to, const Request& request, const std::string& reduction) {
  const Tensor data = request.operands[0], indices = request.operands[1], updates = request.operands[2];
  if (!data.ranked() || !indices.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  int64_t axis = request.Int("axis", 0);
  if (axis < 0) axis += data.rank();
  const auto step = [&](const Tensor& turn, const std::vector<Tensor>& state) {
    const Tensor place = to.UnsqueezeAt(turn, {0});
    const Tensor index = to.Gather(indices, place, {.axis = axis}), update = to.Gather(updates, place, {.axis = axis});
    const Tensor old = to.GatherElements(state[0], index, {.axis = axis});
    return std::vector<Tensor>{to.ScatterElements(state[0], index, Reduced(to, reduction, old, update), {.axis = axis})};
  };
  if (to.AsConstant(indices.size(axis)) == 1) return step(to.ConstantInt(0), {data});
  return Repeat(to, SizeNumber(to, indices, axis), {data}, 0, step);
}

// Before there was Scatter: each index along the axis says where its update is chosen over what is there. Indices of other
// sizes than the data beside the axis count over all elements.
Results ScatterByWhere(Builder& to, const Request& request) {
  const Tensor data = request.operands[0], indices = request.operands[1], updates = request.operands[2];
  if (!data.ranked() || !indices.ranked() || data.rank() == 0) return Refuse(to, request, "takes only tensors of known rank");
  int64_t axis = request.Int("axis", 0);
  if (axis < 0) axis += data.rank();
  bool fits = true;
  for (int64_t d = 0; d < data.rank(); ++d) fits &= d == axis || data.size(d) == indices.size(d);
  const Tensor wrapped = to.CastTo(WrapNegative(to, indices, SizeNumber(to, data, axis)), DType::kInt64);
  if (!fits) {
    const Places places = PlacesAround(to, data, indices, axis);
    Tensor place = to.Mul(wrapped, places.stride);
    if (places.others) place = to.Add(place, places.others);
    auto flat = [&](const Tensor& x) { return to.ReshapeTo(x, Ints{-1}); };
    return {{to.Reshape(to.ScatterElements(flat(data), flat(place), flat(updates), {.axis = 0}), to.Shape(data))}};
  }
  Ints along(static_cast<size_t>(data.rank()), 1);
  along[static_cast<size_t>(axis)] = -1;
  const Tensor positions = to.ReshapeTo(Iota(to, SizeNumber(to, data, axis)), along);
  const Tensor written = Repeat(to, SizeNumber(to, indices, axis), {data}, 0, [&](const Tensor& turn, const std::vector<Tensor>& state) {
    auto pick = [&](const Tensor& x) { return to.Gather(x, to.UnsqueezeAt(turn, {0}), {.axis = axis}); };
    return std::vector<Tensor>{to.Where(to.Equal(positions, pick(wrapped)), pick(updates), state[0])};
  })[0];
  return {{written}};
}

// The places of what is not zero before there was NonZero: the count so far passes i at the i-th.
Tensor PlacesOfTrue(Builder& to, const Tensor& condition) {
  const Tensor flat = to.CastTo(to.ReshapeTo(to.CastTo(condition, DType::kBool), Ints{-1}), DType::kInt32);
  const Tensor running = to.CumSum(flat, to.ConstantInt(0)), one = to.ConstantOf(int64_t{1}, DType::kInt32);
  const Tensor count = to.CastTo(to.ReduceSum(flat, to.ConstantInts({0}), {.keepdims = 0}), DType::kInt64);
  return Repeat(to, count, {to.ConstantInt(0)}, 1, [&](const Tensor& turn, const std::vector<Tensor>& state) {
    const Tensor is_ith = to.Equal(running, to.Add(to.CastTo(turn, DType::kInt32), one));
    return std::vector<Tensor>{to.Identity(state[0]), to.ArgMax(to.Mul(flat, to.CastTo(is_ith, DType::kInt32)), {.axis = 0, .keepdims = 0})};
  })[1];
}

Results NonZeroByCounting(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.ranked() || x.rank() == 0) return Refuse(to, request, "takes only tensors of known rank");
  Tensor rest = PlacesOfTrue(to, x);
  std::vector<Tensor> coordinates;
  for (int64_t d = x.rank(); d-- > 0;) {
    Tensor coordinate = rest;
    if (d > 0) {
      Tensor size = SizeNumber(to, x, d);
      // onnxruntime stops at a division by 0, also of nothing.
      if (MayBeZero(to.exprs(), x.size(d).expr)) size = to.Max(Tensors{size, to.ConstantInt(1)});
      const Tensor quotient = to.Div(rest, size);
      coordinate = to.Sub(rest, to.Mul(quotient, size));
      rest = quotient;
    }
    coordinates.insert(coordinates.begin(), to.UnsqueezeAt(coordinate, {0}));
  }
  return {{to.Concat(coordinates, {.axis = 0})}};
}

Results CompressByGather(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], places = PlacesOfTrue(to, request.operands[1]);
  if (Find(request.attributes, "axis") == nullptr) return {{to.Gather(to.ReshapeTo(x, Ints{-1}), places)}};
  if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  const int64_t axis = request.Int("axis", 0);
  return {{to.Gather(x, places, {.axis = axis < 0 ? axis + x.rank() : axis})}};
}

// onnxruntime reduces no halves, though its kernels take them. Of float32 the sums are rounded once.
bool ReducesHalves(Builder& to, const Request& request, const std::string& reduction) {
  const DType dtype = request.operands[0].dtype();
  return to.widens_for_runtime() && reduction != "none" && (dtype == DType::kFloat16 || dtype == DType::kBfloat16);
}
Tensor Widened(Builder& to, const Tensor& halves) { return to.CastTo(halves, DType::kFloat32); }

Results ScatterElementsByTurns(Builder& to, const Request& request) {
  const std::string reduction = request.Text("reduction", "none");
  if (ReducesHalves(to, request, reduction)) {
    const Tensor data = request.operands[0];
    return {{to.CastTo(to.ScatterElements(Widened(to, data), request.operands[1], Widened(to, request.operands[2]),
                                          {.axis = request.Int("axis", 0), .reduction = reduction}), data.dtype())}};
  }
  if (!HasReduction(to.opset(), reduction)) return ScatterInTurn(to, request, reduction);
  if (to.opset() >= 11) return std::nullopt;
  if (to.opset() < 9) return ScatterByWhere(to, request);
  AttributeList attributes = request.attributes;
  attributes = Without(attributes, "reduction");
  return EmitAsIs(to, "Scatter", request.operands, attributes, 1);
}

// One update after another. onnxruntime 1.31 shares those of a ScatterND out to threads, which then lose some where two
// are of one place; along a single axis its ScatterElements is the fastest.
Tensor ScatterElementwise(Builder& to, const Request& request, const Rows& rows, bool has_width, const std::string& reduction) {
  Tensor places = to.ReshapeTo(rows.places, Ints{-1});
  if (has_width) {
    const Tensor within = Iota(to, to.SqueezeAt(rows.width, {0}));
    places = to.ReshapeTo(to.Add(to.UnsqueezeAt(to.Mul(places, rows.width), {1}), within), Ints{-1});
  }
  const Tensor data = request.operands[0], flat = to.ReshapeTo(data, Ints{-1}), updates = to.ReshapeTo(request.operands[2], Ints{-1});
  return to.ReshapeTo(to.ScatterElements(flat, places, updates, {.axis = 0, .reduction = reduction}), data.sizes());
}

Results ScatterNdByRows(Builder& to, const Request& request) {
  const std::string reduction = request.Text("reduction", "none");
  if (ReducesHalves(to, request, reduction)) {
    const Tensor data = request.operands[0];
    return {{to.CastTo(to.ScatterND(Widened(to, data), request.operands[1], Widened(to, request.operands[2]), {.reduction = reduction}), data.dtype())}};
  }
  const Tensor data = request.operands[0], indices = request.operands[1];
  const auto depth = DepthOf(to, data, indices);
  const bool exists = to.opset() >= 11 && HasReduction(to.opset(), reduction);
  const bool loses_updates = to.widens_for_runtime() && reduction != "none";
  if (exists && (!loses_updates || !depth)) return std::nullopt;
  if (!depth) return Refuse(to, request, "takes only indices of known depth");
  if (IsEmpty(to, request.operands[2])) return {{data}};
  const Rows rows = RowsOf(to, data, indices, *depth);
  if (exists) return {{ScatterElementwise(to, request, rows, *depth < data.rank(), reduction)}};
  const Tensor column = to.ReshapeTo(rows.places, Ints{-1, 1});
  const Tensor shape = to.Concat(Tensors{SizeAlong(to, column, 0), rows.width}, {.axis = 0});
  const Tensor updates = to.Reshape(request.operands[2], shape);
  const Tensor written = to.ScatterElements(rows.data, to.Expand(column, shape), updates, {.axis = 0, .reduction = reduction});
  return {{to.ReshapeTo(written, data.sizes())}};
}

// Nothing, of the right sizes.
Results NoneOf(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.ranked()) return Refuse(to, request, "takes only a positive 'K'");
  const int64_t axis = request.Int("axis", -1) < 0 ? request.Int("axis", -1) + x.rank() : request.Int("axis", -1);
  std::vector<Tensor> sizes;
  for (int64_t d = 0; d < x.rank(); ++d) sizes.push_back(d == axis ? to.ConstantInts({0}) : SizeAlong(to, x, d));
  const Tensor shape = to.Concat(sizes, {.axis = 0});
  return {{to.Expand(to.ConstantOf(int64_t{0}, x.dtype()), shape), to.Expand(to.ConstantInt(0), shape)}};
}

// Of integers, which TopK took later: floats sort them. Those of 64 bits are sorted by their lower halves, then by their
// upper ones, because TopK keeps equal elements in order. The halves grow with the integer, however its float is rounded.
Results TopKOfIntegers(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const int64_t axis = request.Int("axis", -1);
  const auto floats = [&](const Tensor& y) { return to.CastTo(y, DType::kFloat64); };
  const auto top = [&](const Tensor& y, const Tensor& k) {
    return to.TopK(y, k, {.axis = axis, .largest = request.Int("largest", 1)})[1];
  };
  const auto pick = [&](const Tensor& y, const Tensor& places) { return to.GatherElements(y, places, {.axis = axis}); };
  Tensor places;
  if (x.dtype() != DType::kInt64 && x.dtype() != DType::kUint64) {
    places = top(floats(x), request.operands[1]);
  } else {
    if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
    const Tensor half = to.ConstantOf(std::exp2(32.0), DType::kFloat64), upper = to.Floor(to.Div(floats(x), half));
    const Tensor lower = floats(to.Sub(x, to.CastTo(to.Mul(upper, half), x.dtype())));
    const Tensor all = SizeAlong(to, x, axis < 0 ? axis + x.rank() : axis), sorted = top(lower, all);
    places = pick(sorted, top(pick(upper, sorted), request.operands[1]));
  }
  return {{pick(x, places), places}};
}

// How many is only known when the model runs: an element's place is the number of those that are ahead of it.
Results TopKByRank(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.ranked()) return Refuse(to, request, "takes 'K' only as a constant");
  const int64_t rank = x.rank(), axis = request.Int("axis", -1) < 0 ? request.Int("axis", -1) + rank : request.Int("axis", -1);
  Ints swapped(static_cast<size_t>(rank));
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[static_cast<size_t>(axis)], swapped.back());
  const Tensor y = to.Permute(x, swapped), each = Iota(to, SizeNumber(to, y, rank - 1));
  const Tensor own = to.UnsqueezeAt(y, {rank}), other = to.UnsqueezeAt(y, {rank - 1});
  const Tensor ahead = request.Int("largest", 1) != 0 ? to.Greater(other, own) : to.Less(other, own);
  const Tensor earlier = to.Less(to.UnsqueezeAt(each, {0}), to.UnsqueezeAt(each, {1}));
  const auto count = [&](const Tensor& flags) { return to.CastTo(flags, DType::kInt64); };
  const Tensor places = to.ReduceSum(count(to.Or(ahead, to.And(to.Equal(other, own), earlier))), to.ConstantInts({rank}), {.keepdims = 0});
  const Tensor wanted = to.UnsqueezeAt(Iota(to, to.ReshapeTo(request.operands[1], Ints{})), {1});
  const Tensor found = to.Mul(count(to.Equal(to.UnsqueezeAt(places, {rank - 1}), wanted)), each);
  const Tensor indices = to.ReduceSum(found, to.ConstantInts({rank}), {.keepdims = 0});
  return {{to.Permute(to.GatherElements(y, indices, {.axis = rank - 1}), swapped), to.Permute(indices, swapped)}};
}

// All of an axis of that many, and the first of them.
Results TopKOfAll(Builder& to, const Request& request, int64_t axis, int64_t count) {
  const auto [values, indices] = to.TopK(request.operands[0], to.ConstantInts({count}), {.axis = axis, .largest = request.Int("largest", 1)});
  const auto first = [&](const Tensor& sorted) {
    return to.Slice(sorted, to.ConstantInts({0}), request.operands[1], to.ConstantInts({axis}));
  };
  return {{first(values), first(indices)}};
}

// The smallest are the largest of the negated; how many was an attribute.
Results TopKOfNegated(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.is_floating()) return TopKOfIntegers(to, request);
  const bool largest = request.Int("largest", 1) != 0;
  AttributeList attributes = request.attributes;
  attributes = Without(attributes, "largest");
  attributes = Without(attributes, "sorted");  // it always was
  std::vector<Tensor> operands = {x, request.operands[1]};
  if (!largest) operands[0] = to.Neg(x);
  if (to.opset() < 10) {
    const auto k = KnownInts(to, request.operands[1]);
    const int64_t axis = request.Int("axis", -1) + (request.Int("axis", -1) < 0 && x.ranked() ? x.rank() : 0);
    const auto count = !k && x.ranked() ? to.AsConstant(x.size(axis)) : std::nullopt;
    if (count && *count > 0) return TopKOfAll(to, request, axis, *count);
    if (!k) return TopKByRank(to, request);
    if (k->front() == 0) return NoneOf(to, request);
    attributes = With(attributes, "k", k->front());
    operands.pop_back();
  }
  std::vector<Tensor> results = EmitAsIs(to, "TopK", operands, attributes, request.results);
  if (!largest && !to.poisoned()) results[0] = to.Neg(results[0]);
  return results;
}

// A loop over the axis carries the sum so far. One of no rounds gives onnxruntime no other sizes: where there may be
// none, it goes on to a slice of zeros.
Results CumSumByLoop(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const auto known = KnownInts(to, request.operands[1]);
  if (!x.ranked() || !known || known->size() != 1) return Refuse(to, request, "does not exist");
  const int64_t axis = known->front() < 0 ? known->front() + x.rank() : known->front();
  const bool exclusive = request.Int("exclusive", 0) != 0, reverse = request.Int("reverse", 0) != 0;
  if (IsEmpty(to, x)) return {{to.Identity(x)}};
  const bool may_be_none = to.exprs().RangeOf(x.size(axis).expr).min < 1;
  const Tensor size = SizeNumber(to, x, axis), last = to.Sub(size, to.ConstantInt(1));
  std::vector<Tensor> sizes;
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != axis) sizes.push_back(SizeAlong(to, x, d));
  Tensor zero = to.ConstantOf(int64_t{0}, x.dtype());
  if (!sizes.empty()) zero = to.Expand(zero, to.Concat(sizes, {.axis = 0}));
  const Tensor rows = may_be_none ? to.Concat(Tensors{x, to.UnsqueezeAt(zero, {axis})}, {.axis = axis}) : x;
  const auto step = [&](const Tensor& turn, const std::vector<Tensor>& state) {
    const Tensor sum = to.Add(state[0], to.Gather(rows, reverse ? to.Sub(last, turn) : turn, {.axis = axis}));
    return std::vector<Tensor>{sum, to.Identity(exclusive ? state[0] : sum)};
  };
  Tensor sums = Repeat(to, may_be_none ? to.Add(size, to.ConstantInt(1)) : size, {zero}, 1, step)[1];
  if (may_be_none) sums = to.SliceAxis(sums, 0, to.Of(0), x.size(axis));
  if (reverse) sums = to.Gather(sums, to.Sub(last, Iota(to, size)));
  Ints back;  // the new axis is in front
  for (int64_t d = 0; d < x.rank(); ++d) back.push_back(d == axis ? 0 : d < axis ? d + 1 : d);
  return {{to.Permute(sums, back)}};
}

// Which rows are in order ahead of each: those that are less where the two first differ. Rows of the axis, as many numbers.
Tensor PlacesOfRows(Builder& to, const Tensor& x, int64_t axis) {
  Ints front{axis};
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != axis) front.push_back(d);
  const Tensor numbers = x.dtype() == DType::kBool ? to.CastTo(x, DType::kInt32) : x;
  const Tensor first = to.Permute(numbers, front);
  const bool flattens = to.opset() >= 9 || IsFloating(first.dtype());  // Flatten of all types came then
  const Tensor rows = flattens ? to.Flatten(first, {.axis = 1}) : to.ReshapeTo(first, Ints{0, -1});
  const Tensor own = to.UnsqueezeAt(rows, {1}), other = to.UnsqueezeAt(rows, {0});
  const auto count = [&](const Tensor& flags) { return to.CastTo(flags, DType::kInt64); };
  const Tensor differs = count(to.Not(to.Equal(own, other)));
  const Tensor is_first = to.Equal(to.CumSum(differs, to.ConstantInt(2), {.exclusive = 1}), to.ConstantInt(0));
  const Tensor ahead = to.ReduceSum(count(to.And(is_first, to.Less(other, own))), to.ConstantInts({2}), {.keepdims = 0});
  return to.ReduceSum(count(to.Greater(ahead, to.ConstantInt(0))), to.ConstantInts({1}), {.keepdims = 0});
}

// Sorted, equal elements lie side by side, and the first of each counts.
Results UniqueBySorting(Builder& to, const Request& request) {
  Tensor x = request.operands[0];
  if (!x.ranked()) return Refuse(to, request, "does not exist");
  const Attribute* along = Find(request.attributes, "axis");
  const int64_t axis = along == nullptr ? 0 : std::get<int64_t>(*along) + (std::get<int64_t>(*along) < 0 ? x.rank() : 0);
  if (along == nullptr) x = to.ReshapeTo(x, Ints{-1});
  const Tensor keys = along == nullptr ? x : PlacesOfRows(to, x, axis), size = SizeAlong(to, keys, 0);
  const auto [sorted, order] = to.TopK(keys, size, {.axis = 0, .largest = 0});
  const Tensor each = Iota(to, SizeNumber(to, keys, 0)), zero = to.ConstantInt(0), one = to.ConstantInt(1);
  const Tensor before = to.Gather(sorted, to.Max(Tensors{to.Sub(each, one), zero}));
  const Tensor is_first = to.Or(to.Equal(each, zero), to.Not(to.Equal(sorted, before)));
  const Tensor chosen = to.Compress(order, is_first, {.axis = 0}), starts = to.Compress(each, is_first, {.axis = 0});
  const Tensor group = to.Sub(to.CumSum(to.CastTo(is_first, DType::kInt64), zero), one);
  const Tensor inverse = to.ScatterElements(each, order, group, {.axis = 0});
  const Tensor ends = to.Concat(Tensors{starts, size}, {.axis = 0});
  const Tensor counts = to.Sub(to.SliceAxis(ends, 0, to.Of(1), to.Of(std::numeric_limits<int64_t>::max())), starts);
  const Tensor results[] = {to.Gather(x, chosen, {.axis = axis}), chosen, inverse, counts};
  std::vector<Tensor> refined;
  for (size_t i = 0; i < request.results; ++i) refined.push_back(to.Refined(results[i], request.types[i]));
  return refined;
}

constexpr LegalizeRule kRules[] = {
    {"Compress", 9, &CompressByGather},
    {"CumSum", 11, &CumSumByLoop},
    {"GatherElements", 11, &GatherElementsByPlace},
    {"GatherND", 12, &GatherNdByRows},
    {"NonZero", 9, &NonZeroByCounting},
    {"ScatterElements", kNever, &ScatterElementsByTurns},
    {"ScatterND", kNever, &ScatterNdByRows},
    {"TopK", 11, &TopKOfNegated},
    {"Unique", 11, &UniqueBySorting},
};

}  // namespace

std::span<const LegalizeRule> IndexingForms() { return kRules; }

}  // namespace flambeau::onnx
