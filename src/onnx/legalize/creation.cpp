// Tensors made of a few numbers: ranges, fills, one-hot codes, masks.
#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// The number of steps: ⌈(limit - start) / delta⌉, at least 0.
Tensor StepCount(Builder& to, const Tensor& start, const Tensor& limit, const Tensor& delta) {
  const Tensor span = IsKnown(to, start, 0) ? limit : to.Sub(limit, start);
  if (start.is_floating()) {
    const Tensor count = to.Ceil(to.Div(span, delta));
    return to.CastTo(to.Max(Tensors{count, to.ConstantOf(0.0, count.dtype())}), DType::kInt64);
  }
  Tensor count = to.CastTo(span, DType::kInt64);
  if (!IsKnown(to, delta, 1)) {
    // Rounded up: division truncates, so span moves away from 0 by |delta| - 1.
    const Tensor step = to.CastTo(delta, DType::kInt64);
    count = to.Div(to.Sub(to.Add(count, step), to.Sign(step)), step);
  }
  const auto& contents = count.type().contents;
  if (contents && contents->size() == 1 && to.exprs().RangeOf(contents->front()).min >= 0) return count;
  return to.Max(Tensors{count, to.ConstantInt(0)});
}

// 0, 1, … before there was Range: the places of ones, or the turns of a loop.
Tensor CountUp(Builder& to, const Tensor& count) {
  if (to.opset() < 9)  // such loops carry something
    return Repeat(to, count, {to.ConstantInt(0)}, 1, [&](const Tensor& turn, const std::vector<Tensor>& state) {
             return std::vector<Tensor>{to.Identity(state[0]), to.Identity(turn)};
           })[1];
  const Tensor ones = to.Expand(to.ConstantOf(true, DType::kBool), to.UnsqueezeAt(count, {0}));
  return to.SqueezeAt(to.NonZero(ones), {0});
}

Results RangeByCounting(Builder& to, const Request& request) {
  const Tensor start = request.operands[0], delta = request.operands[2];
  const DType dtype = start.dtype();
  Tensor y = to.CastTo(CountUp(to, StepCount(to, start, request.operands[1], delta)), dtype);
  if (!IsKnown(to, delta, 1)) y = to.Mul(y, delta);
  if (!IsKnown(to, start, 0)) y = to.Add(y, start);
  return {{y}};
}

// Tile repeats what has one element.
Results ConstantOfShapeByTile(Builder& to, const Request& request) {
  const Tensor shape = request.operands[0];
  const Attribute* data = Find(request.attributes, "value");
  Tensor value = data ? to.Weight(std::get<DataId>(*data)) : to.ConstantFloats(Floats{0}, DType::kFloat32, Ints{1});
  if (!shape.ranked() || !to.AsConstant(shape.size(0))) return Refuse(to, request, "does not exist");
  const int64_t rank = *to.AsConstant(shape.size(0));
  value = to.ReshapeTo(value, Ints(static_cast<size_t>(rank), 1));
  return {{rank == 0 ? value : to.Tile(value, shape)}};
}

// An axis of size 1 is repeated as often as the shape says, others once.
Results ExpandByTile(Builder& to, const Request& request) {
  Tensor x = request.operands[0], shape = request.operands[1];
  const auto rank_of_shape = shape.ranked() ? to.AsConstant(shape.size(0)) : std::nullopt;
  if (!x.ranked() || !rank_of_shape) return Refuse(to, request, "does not exist");
  if (x.rank() < *rank_of_shape) {
    Ints added;
    for (int64_t axis = 0; axis < *rank_of_shape - x.rank(); ++axis) added.push_back(axis);
    x = to.UnsqueezeAt(x, added);
  }
  if (x.rank() == 0) return {{to.Identity(x)}};
  const Type& result = request.types[0];
  std::vector<Tensor> repeats;
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const int64_t in_shape = axis - (x.rank() - *rank_of_shape);
    const Tensor wanted = in_shape < 0 ? to.ConstantInts({1}) : to.Gather(shape, to.ConstantInts({in_shape}));
    if (to.AsConstant(x.size(axis)) == 1) {
      repeats.push_back(wanted);
    } else if (result.ranked && x.size(axis).expr == result.sizes[static_cast<size_t>(axis)]) {
      repeats.push_back(to.ConstantInts({1}));
    } else {
      const Tensor size = SizeAlong(to, x, axis);
      const Tensor is_one = to.CastTo(to.Equal(size, to.ConstantInt(1)), DType::kInt64);
      // 1 where the size is not 1.
      repeats.push_back(to.Add(to.ConstantInt(1), to.Mul(is_one, to.Sub(wanted, to.ConstantInt(1)))));
    }
  }
  return {{to.Tile(x, to.Concat(repeats, {.axis = 0}))}};
}

Results OneHotByComparison(Builder& to, const Request& request) {
  const Tensor indices = request.operands[0], depth = to.CastTo(to.ReshapeTo(request.operands[1], Ints{}), DType::kInt64);
  if (!indices.ranked()) return Refuse(to, request, "does not exist");
  int64_t axis = request.Int("axis", -1);
  if (axis < 0) axis += indices.rank() + 1;
  const Tensor places = to.UnsqueezeAt(WrapNegative(to, indices, depth), {axis});
  Ints along(static_cast<size_t>(indices.rank() + 1), 1);
  along[static_cast<size_t>(axis)] = -1;
  const Tensor hot = to.Equal(places, to.ReshapeTo(Iota(to, depth), along));
  const Tensor values = request.operands[2];
  return {{to.Where(hot, to.Gather(values, to.ConstantInt(1)), to.Gather(values, to.ConstantInt(0)))}};
}

// Row r keeps the columns c with c - r <= k, or >= k.
Results TriluByComparison(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!x.ranked()) return Refuse(to, request, "does not exist");
  const Tensor columns = Iota(to, SizeNumber(to, x, x.rank() - 1));
  const Tensor rows = to.UnsqueezeAt(Iota(to, SizeNumber(to, x, x.rank() - 2)), {1});
  const Tensor k = request.operand(1) ? request.operand(1) : to.ConstantInt(0);
  const Tensor diagonal = to.Add(rows, k);
  const Tensor kept = request.Int("upper", 1) != 0 ? to.Not(to.Less(columns, diagonal)) : to.Not(to.Less(diagonal, columns));
  return {{to.Where(kept, x, to.ConstantOf(int64_t{0}, x.dtype()))}};
}

Results EyeByComparison(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const Tensor columns = Iota(to, SizeNumber(to, x, 1)), rows = to.UnsqueezeAt(Iota(to, SizeNumber(to, x, 0)), {1});
  const Tensor ones = to.Equal(to.Add(rows, to.ConstantInt(request.Int("k", 0))), columns);
  return {{to.CastTo(ones, request.types[0].dtype)}};
}

constexpr LegalizeRule kRules[] = {
    {"ConstantOfShape", 9, &ConstantOfShapeByTile},
    {"Expand", 8, &ExpandByTile},
    {"EyeLike", 9, &EyeByComparison},
    {"OneHot", 9, &OneHotByComparison},
    {"Range", 11, &RangeByCounting},
    {"Trilu", 14, &TriluByComparison},
};

}  // namespace

std::span<const LegalizeRule> CreationForms() { return kRules; }

}  // namespace flambeau::onnx
