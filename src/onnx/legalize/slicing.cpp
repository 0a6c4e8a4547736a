// Slice, Split and Pad: what are inputs now were attributes once.
#include <algorithm>
#include <limits>

#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// A bound counted from the start, within [low, size + high].
Tensor Bound(Builder& to, const Tensor& bound, const Tensor& size, int64_t low, int64_t high) {
  const Tensor forward = WrapNegative(to, bound, size);
  return to.Min(Tensors{to.Max(Tensors{forward, to.ConstantInt(low)}), to.Add(size, to.ConstantInt(high))});
}

// Whether a step goes forwards; nullopt where only a run knows.
std::optional<bool> GoesForwards(Builder& to, const Tensor& steps, size_t place) {
  if (const auto known = KnownInts(to, steps)) return (*known)[place] > 0;
  const auto& contents = steps.type().contents;
  if (!contents) return std::nullopt;
  const auto range = to.exprs().RangeOf((*contents)[place]);
  if (range.min > 0) return true;
  return range.max < 0 ? std::optional(false) : std::nullopt;
}

// One axis, its elements picked by number.
Tensor SliceByGather(Builder& to, const Tensor& x, int64_t axis, const Tensor& start, const Tensor& end,
                     const Tensor& step, bool forward) {
  const Tensor size = SizeNumber(to, x, axis);
  const Tensor first = Bound(to, start, size, 0, forward ? 0 : -1);
  // Backwards, INT64_MIN and the like mean up to the first element.
  const Tensor last = forward ? Bound(to, end, size, 0, 0) : Bound(to, end, size, -1, -1);
  return to.Gather(x, to.Range(first, last, step), {.axis = axis});
}

Results SliceByAttributes(Builder& to, const Request& request) {
  Tensor x = request.operands[0];
  const Tensor starts = request.operands[1], ends = request.operands[2];
  if (!x.ranked() || !starts.ranked() || !to.AsConstant(starts.size(0))) return Refuse(to, request, "takes only constant bounds");
  const auto count = static_cast<size_t>(*to.AsConstant(starts.size(0)));
  std::optional<Ints> axes = Ints();
  for (size_t i = 0; i < count; ++i) axes->push_back(static_cast<int64_t>(i));
  if (request.operand(3)) axes = KnownInts(to, request.operand(3));
  if (!axes) return Refuse(to, request, "takes only constant axes");
  for (int64_t& axis : *axes) axis += axis < 0 ? x.rank() : 0;
  const Tensor steps = request.operand(4) ? request.operand(4) : to.ConstantInts(Ints(count, 1));
  const auto first = KnownInts(to, starts), last = KnownInts(to, ends), known = KnownInts(to, steps);
  const bool plain = known && std::ranges::all_of(*known, [](int64_t step) { return step == 1; });
  if (to.opset() >= 10) {
    if (axes == KnownInts(to, request.operand(3)) || !request.operand(3)) return std::nullopt;
    const Tensor operands[] = {x, starts, ends, to.ConstantInts(*axes), request.operand(4)};
    return EmitAsIs(to, "Slice", operands, {}, 1);
  }
  if (first && last && plain) {
    AttributeList attributes;
    attributes.Add("axes", *axes);
    attributes.Add("starts", *first);
    attributes.Add("ends", *last);
    return EmitAsIs(to, "Slice", {&x, 1}, attributes, 1);
  }
  for (size_t i = 0; i < count; ++i) {
    auto at = [&](const Tensor& bounds) {
      return to.CastTo(to.Gather(bounds, to.ConstantInt(static_cast<int64_t>(i))), DType::kInt64);
    };
    const auto forward = GoesForwards(to, steps, i);
    if (!forward) return Refuse(to, request, "takes only steps that are known to go forwards or backwards");
    x = SliceByGather(to, x, (*axes)[i], at(starts), at(ends), at(steps), *forward);
  }
  return {{x}};
}

Results SplitByAttribute(Builder& to, const Request& request) {
  const Tensor x = request.operands[0], split = request.operand(1);
  AttributeList attributes = request.attributes;
  attributes = Without(attributes, "num_outputs");
  int64_t axis = request.Int("axis", 0);
  if (x.ranked() && axis < 0) axis += x.rank();
  std::optional<Ints> sizes = split ? KnownInts(to, split) : std::nullopt;
  const auto size = !split && x.ranked() ? to.AsConstant(x.size(axis)) : std::nullopt;
  if (size) {
    const auto count = static_cast<int64_t>(request.results);
    const int64_t part = (*size + count - 1) / count;
    sizes = Ints(request.results, part);
    sizes->back() = *size - part * (count - 1);
  }
  if (to.opset() >= 13) {
    if (split) return std::nullopt;
    if (!sizes) return Refuse(to, request, "divides only known sizes");
    const Tensor operands[] = {x, to.ConstantInts(*sizes)};
    return EmitAsIs(to, "Split", operands, attributes, request.results);
  }
  if (sizes) {
    attributes = With(attributes, "split", *sizes);
    return EmitAsIs(to, "Split", {&x, 1}, attributes, request.results);
  }
  if (!split) return Refuse(to, request, "divides only known sizes");
  std::vector<Tensor> parts;
  Tensor start = to.ConstantInts({0});
  for (size_t i = 0; i < request.results; ++i) {
    const Tensor end = to.Add(start, to.Gather(split, to.ConstantInts({static_cast<int64_t>(i)})));
    parts.push_back(to.Slice(x, start, end, to.ConstantInts({axis})));
    start = end;
  }
  return parts;
}

// --- Pad ----------------------------------------------------------------------------

// Pads of all axes: (begin, end) an axis; nullopt where they are not known.
std::optional<Ints> AllPads(Builder& to, const Request& request, int64_t rank) {
  const auto pads = KnownInts(to, request.operands[1]);
  if (!pads || !request.operand(3)) return pads;
  const auto axes = KnownInts(to, request.operand(3));
  if (!axes || pads->size() != 2 * axes->size()) return std::nullopt;
  Ints all(static_cast<size_t>(2 * rank), 0);
  for (size_t i = 0; i < axes->size(); ++i) {
    const auto axis = static_cast<size_t>((*axes)[i] < 0 ? (*axes)[i] + rank : (*axes)[i]);
    all[axis] = (*pads)[i];
    all[axis + static_cast<size_t>(rank)] = (*pads)[axes->size() + i];
  }
  return all;
}

// Whether a pad that is computed may take away instead of adding.
bool MayCut(Builder& to, const Tensor& pads, int64_t place) {
  const auto& contents = pads.type().contents;
  return !contents || to.exprs().RangeOf((*contents)[static_cast<size_t>(place)]).min < 0;
}

// Without what computed pads below 0 take away from an axis.
Tensor CutByPads(Builder& to, const Tensor& x, int64_t axis, const Tensor& pads) {
  const int64_t places[] = {axis, axis + x.rank()};
  if (!MayCut(to, pads, places[0]) && !MayCut(to, pads, places[1])) return x;
  const auto cut = [&](int64_t place) {
    return to.Max(Tensors{to.Neg(to.Gather(pads, to.ConstantInts({place}))), to.ConstantInts({0})});
  };
  return to.Slice(x, cut(places[0]), to.Sub(SizeAlong(to, x, axis), cut(places[1])), to.ConstantInts({axis}));
}

// Joins blocks of the value before and after, axis by axis.
Results PadByConcat(Builder& to, const Request& request, const Tensor& pads, const std::optional<Ints>& known) {
  Tensor x = request.operands[0];
  const int64_t rank = x.rank();
  for (int64_t axis = 0; known && axis < rank; ++axis) {
    const int64_t before = std::min<int64_t>((*known)[static_cast<size_t>(axis)], 0), after = (*known)[static_cast<size_t>(axis + rank)];
    if (before < 0 || after < 0) x = to.SliceAxis(x, axis, to.Of(-before), to.Of(after < 0 ? after : std::numeric_limits<int64_t>::max()));
  }
  for (int64_t axis = 0; !known && axis < rank; ++axis) x = CutByPads(to, x, axis, pads);
  const Tensor value = request.operand(2) ? to.ReshapeTo(request.operand(2), Ints{}) : to.ConstantOf(int64_t{0}, x.dtype());
  for (int64_t axis = 0; axis < rank; ++axis) {
    auto block = [&](int64_t place) -> Tensor {
      if (known && (*known)[static_cast<size_t>(place)] <= 0) return {};
      Tensor added = to.Gather(pads, to.ConstantInts({place}));
      if (!known && MayCut(to, pads, place)) added = to.Max(Tensors{added, to.ConstantInts({0})});
      std::vector<Tensor> sizes;
      for (int64_t d = 0; d < rank; ++d) sizes.push_back(d == axis ? added : SizeAlong(to, x, d));
      return to.Expand(value, to.Concat(sizes, {.axis = 0}));
    };
    const Tensor before = block(axis), after = block(axis + rank);
    std::vector<Tensor> parts;
    if (before) parts.push_back(before);
    parts.push_back(x);
    if (after) parts.push_back(after);
    if (parts.size() > 1) x = to.Concat(parts, {.axis = axis});
  }
  return {{x}};
}

// What the modes repeat, by its places along each axis.
Results PadByGather(Builder& to, Tensor x, const std::string& mode, const Tensor& pads, const std::optional<Ints>& known) {
  const int64_t rank = x.rank();
  const Tensor zero = to.ConstantInt(0);
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (known && (*known)[static_cast<size_t>(axis)] == 0 && (*known)[static_cast<size_t>(axis + rank)] == 0) continue;
    auto pad = [&](int64_t place) { return to.Gather(pads, to.ConstantInt(place)); };
    const Tensor before = pad(axis), size = SizeNumber(to, x, axis), last = to.Sub(size, to.ConstantInt(1));
    const Tensor place = to.Sub(Iota(to, to.Add(to.Add(before, size), pad(axis + rank))), before);
    Tensor from;
    if (mode == "wrap") from = to.Mod(place, size);
    if (mode == "edge") from = to.Max(Tensors{to.Min(Tensors{place, last}), zero});
    if (mode == "reflect") from = to.Sub(last, to.Abs(to.Sub(last, to.Abs(place))));
    x = to.Gather(x, from, {.axis = axis});
  }
  return {{x}};
}

Results PadByAttributes(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  const std::string mode = request.Text("mode", "constant");
  if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  const auto pads = AllPads(to, request, x.rank());
  if (request.operand(3) && !pads) return Refuse(to, request, "pads chosen axes by constants only");
  const Tensor all = pads ? to.ConstantInts(*pads) : request.operands[1];
  if (mode == "wrap") return PadByGather(to, x, mode, all, pads);
  if (to.opset() >= 11) {
    if (!request.operand(3)) return std::nullopt;
    const Tensor operands[] = {x, all, request.operand(2)};
    return EmitAsIs(to, "Pad", operands, request.attributes, 1);
  }
  const auto value = request.operand(2) ? KnownFloats(to, request.operand(2)) : std::nullopt;
  const bool exact = !request.operand(2) || (value && static_cast<double>(static_cast<float>(value->front())) == value->front());
  if (pads && x.is_floating() && exact) {
    AttributeList attributes = request.attributes;
    attributes = With(attributes, "pads", *pads);
    if (value) attributes = With(attributes, "value", value->front());
    return EmitAsIs(to, "Pad", {&x, 1}, attributes, 1);
  }
  if (mode != "constant") return PadByGather(to, x, mode, all, pads);
  return PadByConcat(to, request, all, pads);
}

constexpr LegalizeRule kRules[] = {
    {"Pad", 19, &PadByAttributes},
    {"Slice", 11, &SliceByAttributes},
    {"Split", 18, &SplitByAttribute},
};

}  // namespace

std::span<const LegalizeRule> SlicingForms() { return kRules; }

}  // namespace flambeau::onnx
