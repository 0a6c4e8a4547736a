// Padding; negative pads cut.
#include "lower/ops/padding.h"

#include <algorithm>
#include <utility>

#include "lower/op.h"
#include "lower/ops/geometry.h"

namespace flambeau::lower {
namespace {

// Pads come in pairs from the last dimension forwards.
struct Pads {
  Dims before, after;  // by dimension

  Pads(Lowering& to, const Tensor& self, const Dims& pad)
      : before(static_cast<size_t>(self.rank()), to.Of(0)), after(before) {
    for (size_t i = 0; i + 1 < pad.size() && i / 2 < before.size(); i += 2) {
      before[before.size() - 1 - i / 2] = pad[i];
      after[after.size() - 1 - i / 2] = pad[i + 1];
    }
  }
  bool none(const Lowering& to) const {
    auto zero = [&](Dim dim) { return to.AsConstant(dim) == 0; };
    return std::ranges::all_of(before, zero) && std::ranges::all_of(after, zero);
  }
};

// Takes the negative pads out of `pads`, as a slice of each dimension. `of_run`: also of pads of which only a run knows the sign.
struct Crop {
  Dims before, after;  // by dimension: negative, or 0

  Crop(Lowering& to, Pads* pads, bool of_run) : before(Taken(to, &pads->before, of_run)), after(Taken(to, &pads->after, of_run)) {}

  Tensor Apply(Lowering& to, Tensor x) const {
    for (size_t i = 0; i < before.size(); ++i) {
      const auto axis = static_cast<int64_t>(i);
      const auto end = to.AsConstant(after[i]);
      const Dim last = !end ? to.Plus(x.size(axis), after[i]) : *end == 0 ? to.Of(INT64_MAX) : after[i];
      x = SliceRange(to, x, axis, to.Minus(to.Of(0), before[i]), last, to.Of(1));
    }
    return x;
  }

 private:
  static Dims Taken(Lowering& to, Dims* pads, bool of_run) {
    ExprPool& exprs = to.exprs();
    const Expr zero = exprs.Constant(0);
    Dims cut(pads->size(), to.Of(0));
    for (size_t i = 0; i < cut.size(); ++i) {
      Dim& pad = (*pads)[i];
      if (!of_run && !to.AsConstant(pad)) continue;
      cut[i] = {exprs.Min(std::exchange(pad, {exprs.Max(pad.expr, zero)}).expr, zero)};
    }
    return cut;
  }
};

// Cut after padding: what the border repeats may be cut off itself.
Tensor PadWith(Lowering& to, Tensor self, const Dims& pad, std::string mode, Tensor value) {
  Pads pads(to, self, pad);
  // A runtime cuts before it pads, which a border that is cut off does not bear.
  const Crop crop(to, &pads, mode != "constant");
  if (pads.none(to)) return crop.Apply(to, self);
  Dims bounds = pads.before, sizes = self.sizes();
  bounds.insert(bounds.end(), pads.after.begin(), pads.after.end());
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = to.Plus(to.Plus(sizes[i], pads.before[i]), pads.after[i]);
  const Tensor padded = to.Pad(self, to.Shape1(bounds), value, {}, {.mode = std::move(mode)});
  return crop.Apply(to, Sized(to, padded, sizes));
}

Tensor ConstantPad(Lowering& to, Tensor self, Dims pad, Scalar value) {
  return PadWith(to, self, pad, "constant", value.Is(0) ? Tensor() : to.NumberOf(value, self.dtype()));
}
Tensor ReflectionPad(Lowering& to, Tensor self, Dims padding) { return PadWith(to, self, padding, "reflect", {}); }
Tensor ReplicationPad(Lowering& to, Tensor self, Dims padding) { return PadWith(to, self, padding, "edge", {}); }

constexpr Restriction kUnwritten = {"a circular pad longer than what a negative one beside it leaves",
                                   "F.pad(torch.ones(1, 2, 4), (3, -2), mode='circular')",
                                   "PyTorch reads memory there that it has not written"};

Tensor CircularPad(Lowering& to, Tensor self, Dims pad) {
  Pads pads(to, self, pad);
  // Here what is left after cutting repeats.
  const Crop crop(to, &pads, true);
  Tensor x = crop.Apply(to, self);
  for (size_t axis = 0; axis < pads.before.size(); ++axis) {
    // Of a dynamic size at least one element is taken to be left.
    const Dim size = x.size(static_cast<int64_t>(axis));
    const int64_t left = to.AsConstant(size).value_or(std::max<int64_t>(to.exprs().RangeOf(size.expr).min, 1));
    const auto known = [&](const Dims& all) { return to.AsConstant(all[axis]).value_or(0); };
    const bool cut = known(crop.before) != 0 || known(crop.after) != 0;
    if (cut && std::max(known(pads.before), known(pads.after)) > left) return to.Unsupported(kUnwritten);
  }
  for (int64_t axis = 0; axis < x.rank(); ++axis) {
    const Dim before = pads.before[static_cast<size_t>(axis)], after = pads.after[static_cast<size_t>(axis)];
    const Dim size = x.size(axis);
    std::vector<Tensor> parts{x};
    if (to.AsConstant(before) != 0)
      parts.insert(parts.begin(), SliceRange(to, x, axis, to.Minus(size, before), to.Of(INT64_MAX), to.Of(1)));
    if (to.AsConstant(after) != 0) parts.push_back(SliceRange(to, x, axis, to.Of(0), after, to.Of(1)));
    if (parts.size() == 1) continue;
    const Dims sizes = WithSize(x.sizes(), axis, to.Plus(to.Plus(size, before), after));
    x = Sized(to, to.Concat(parts, {.axis = axis}), sizes);
  }
  return x;
}

// As ATen numbers them.
enum PadMode : int64_t { kReflect, kReplicate, kCircular, kConstant };

Tensor PadEnum(Lowering& to, Tensor self, Dims pad, int64_t mode, std::optional<Scalar> value) {
  switch (mode) {
    case kReflect: return ReflectionPad(to, self, std::move(pad));
    case kReplicate: return ReplicationPad(to, self, std::move(pad));
    case kCircular: return CircularPad(to, self, std::move(pad));
    default: return ConstantPad(to, self, std::move(pad), value.value_or(0));
  }
}

}  // namespace

Tensor Pad(Lowering& to, Tensor self, Dims pad, std::string_view mode, std::optional<Scalar> value) {
  const int64_t which = mode == "reflect"     ? kReflect
                        : mode == "replicate" ? kReplicate
                        : mode == "circular"  ? kCircular
                                              : kConstant;
  return PadEnum(to, self, std::move(pad), which, value);
}

namespace {

constexpr OpRow kRows[] = {
    Op<CircularPad>("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor", &kUnwritten),
    Op<PadEnum>("aten::_pad_enum(Tensor self, SymInt[] pad, int mode, float? value=None) -> Tensor", &kUnwritten),
    Op<ConstantPad>("aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor"),
    Op<Pad>("aten::pad(Tensor self, SymInt[] pad, str mode=\"constant\", float? value=None) -> Tensor", &kUnwritten),
    Op<ReflectionPad>("aten::reflection_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
    Op<ReflectionPad>("aten::reflection_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
    Op<ReflectionPad>("aten::reflection_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
    Op<ReplicationPad>("aten::replication_pad1d(Tensor self, SymInt[2] padding) -> Tensor"),
    Op<ReplicationPad>("aten::replication_pad2d(Tensor self, SymInt[4] padding) -> Tensor"),
    Op<ReplicationPad>("aten::replication_pad3d(Tensor self, SymInt[6] padding) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Padding() { return kRows; }

}  // namespace flambeau::lower
