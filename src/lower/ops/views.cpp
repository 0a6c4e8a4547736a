// Other shapes of the same elements.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "lower/op.h"
#include "lower/ops/complex.h"
#include "lower/ops/geometry.h"
#include "lower/ops/views.h"

namespace flambeau::lower {

Tensor TransposeInt(Lowering& to, Tensor self, int64_t dim0, int64_t dim1) {
  if (self.rank() == 0) return self;
  Ints permutation(static_cast<size_t>(self.rank()));
  std::iota(permutation.begin(), permutation.end(), 0);
  std::swap(permutation[static_cast<size_t>(to.Axis(dim0, self))],
            permutation[static_cast<size_t>(to.Axis(dim1, self))]);
  return to.Permute(self, permutation);
}

Tensor MoveDims(Lowering& to, Tensor self, Ints source, Ints destination) {
  if (self.rank() == 0) return self;
  return to.Permute(self, MovingPermutation(self.rank(), to.Axes(source, self), to.Axes(destination, self)));
}

Tensor LeadingDims(Lowering& to, Tensor self, int64_t rank) {
  Ints axes(static_cast<size_t>(std::max<int64_t>(rank - self.rank(), 0)));
  std::iota(axes.begin(), axes.end(), 0);
  return to.UnsqueezeAt(self, axes);
}

Tensor Expand(Lowering& to, Tensor self, Dims size) {
  // -1 keeps a size.
  for (size_t i = 0; i < size.size(); ++i)
    if (to.AsConstant(size[i]) == -1) size[i] = self.size(static_cast<int64_t>(i) - static_cast<int64_t>(size.size()));
  return to.ExpandTo(self, size);
}

Tensor Ranked(Lowering& to, Tensor self) { return self.ranked() ? self : to.ReshapeTo(self, Ints{-1}); }

Tensor AtLeast2d(Lowering& to, Tensor self) {
  return self.rank() == 0 ? to.UnsqueezeAt(self, {0, 1}) : self.rank() == 1 ? to.UnsqueezeAt(self, {0}) : self;
}

Tensor AtLeast3d(Lowering& to, Tensor self) {
  switch (self.rank()) {
    case 0: return to.UnsqueezeAt(self, {0, 1, 2});
    case 1: return to.UnsqueezeAt(self, {0, 2});
    case 2: return to.UnsqueezeAt(self, {2});
    default: return self;
  }
}

Tensor Unfold(Lowering& to, Tensor self, int64_t dimension, Dim size, Dim step) {
  const Tensor x = AtLeast1d(to, self);
  const int64_t axis = to.Axis(dimension, x);
  if (const auto wide = to.AsConstant(size), long_ = to.AsConstant(x.size(axis)); wide && long_ && (*wide < 0 || *wide > *long_))
    throw onnx::BadOperand(fmt::format("takes windows of at most the {} elements of the dimension", *long_));
  if (self.rank() == 0 && to.AsConstant(size) == 0) return to.Full(Dims{to.Of(0)}, int64_t{0}, self.dtype());
  ExprPool& exprs = to.exprs();
  const Expr last = to.Minus(x.size(axis), size).expr;
  const Dim count{exprs.Add(exprs.FloorDiv(last, step.expr), exprs.Constant(1))};
  const Tensor positions = StridedPositions(to, {count, size}, {step, to.Of(1)}, to.Of(0));
  const Tensor windows = to.Gather(x, positions, {.axis = axis});
  const Tensor unfolded = MoveDims(to, windows, {axis + 1}, {-1});
  return self.rank() == 0 ? to.SqueezeAt(unfolded, {0}) : unfolded;
}

namespace {

Tensor Same(Lowering&, Tensor self) { return self; }
Tensor Clone(Lowering&, Tensor self, Unused) { return self; }

Tensor View(Lowering& to, Tensor self, Dims size) {
  self = Ranked(to, self);
  return to.ReshapeTo(self, InferSize(to, std::move(size), to.Numel(self)));
}
Tensor ReshapeAlias(Lowering& to, Tensor self, Dims size, Dims) { return View(to, self, std::move(size)); }
Tensor ViewAs(Lowering& to, Tensor self, Tensor other) {
  if (!other.ranked() && !self.is_complex()) return to.Reshape(self, to.Shape(other), {.allowzero = 1});
  return to.ReshapeTo(self, other.sizes());
}

Tensor Flatten(Lowering& to, Tensor self, int64_t start_dim, int64_t end_dim) {
  if (start_dim == 0 && end_dim == -1) self = Ranked(to, self);
  if (!to.RequireRank(self, "self")) return to.Poison(Type::Unranked(self.dtype()));
  if (self.rank() == 0) return to.UnsqueezeAt(self, {0});
  const int64_t start = to.Axis(start_dim, self), end = to.Axis(end_dim, self);
  Dims sizes;
  for (int64_t i = 0; i < self.rank(); ++i) {
    if (i > start && i <= end) {
      sizes.back() = to.Times(sizes.back(), self.size(i));
    } else {
      sizes.push_back(self.size(i));
    }
  }
  return to.ReshapeTo(self, sizes);
}
Tensor Ravel(Lowering& to, Tensor self) { return Flatten(to, self, 0, -1); }

Tensor Unflatten(Lowering& to, Tensor self, int64_t dim, Dims sizes) {
  const int64_t axis = to.Axis(dim, self);
  Dims result = self.sizes();
  sizes = InferSize(to, std::move(sizes), self.size(axis));
  result.erase(result.begin() + axis);
  result.insert(result.begin() + axis, sizes.begin(), sizes.end());
  return to.ReshapeTo(self, result);
}

// Of a size that is not known to be 1, torch.export has checked that it is not.
Tensor SqueezeOnes(Lowering& to, Tensor self, const Ints& axes) {
  const auto among = [&](auto is_one) {
    Ints ones;
    for (const int64_t axis : axes)
      if (axis < self.rank() && is_one(self.size(axis))) ones.push_back(axis);
    std::ranges::sort(ones);
    return ones;
  };
  // A size of at most 1, as a slice of one row has, is 1 wherever there are elements.
  Ints ones = among([&](Dim size) { return to.AsConstant(size).value_or(to.exprs().RangeOf(size.expr).max <= 1 ? 1 : 0) == 1; });
  // The program may keep it all the same.
  const Node& node = to.aten()[to.node()];
  const Type* recorded = node.result_count > 0 ? &to.aten().type(node.result(0)) : nullptr;
  const bool ranked = recorded != nullptr && recorded->is_tensor() && recorded->ranked;
  if (ranked && recorded->rank() > static_cast<size_t>(self.rank()) - ones.size())
    ones = among([&](Dim size) { return to.AsConstant(size) == 1; });
  return to.SqueezeAt(self, ones);
}
Tensor Squeeze(Lowering& to, Tensor self) {
  Ints axes(static_cast<size_t>(self.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return SqueezeOnes(to, self, axes);
}
Tensor SqueezeDim(Lowering& to, Tensor self, int64_t dim) { return SqueezeOnes(to, self, {to.Axis(dim, self)}); }
Tensor SqueezeDims(Lowering& to, Tensor self, Ints dim) { return SqueezeOnes(to, self, to.Axes(dim, self)); }

Tensor Unsqueeze(Lowering& to, Tensor self, int64_t dim) {
  return to.UnsqueezeAt(self, {dim < 0 ? dim + self.rank() + 1 : dim});
}

Tensor TransposeLast(Lowering& to, Tensor self) { return self.rank() < 2 ? self : TransposeInt(to, self, -2, -1); }
Tensor Adjoint(Lowering& to, Tensor self) { return Conj(to, TransposeLast(to, self)); }

Tensor ReverseDims(Lowering& to, Tensor self) {
  Ints permutation(static_cast<size_t>(self.rank()));
  std::iota(permutation.rbegin(), permutation.rend(), 0);
  return to.Permute(self, permutation);
}

Tensor Permute(Lowering& to, Tensor self, Ints dims) {
  return to.Permute(self, self.rank() ? to.Axes(dims, self) : Ints{});
}
Tensor MoveDim(Lowering& to, Tensor self, int64_t source, int64_t destination) {
  return MoveDims(to, self, {source}, {destination});
}

Tensor ExpandImplicit(Lowering& to, Tensor self, Dims size, Unused) { return Expand(to, self, std::move(size)); }
Tensor ExpandAs(Lowering& to, Tensor self, Tensor other) {
  if (!other.ranked() && !self.is_complex()) return to.Expand(self, to.Shape(other));
  return to.ExpandTo(self, other.sizes());
}

TensorList BroadcastTensors(Lowering& to, TensorList tensors) { return Broadcast(to, std::move(tensors)); }

template <auto kOne>
TensorList Each(Lowering& to, TensorList tensors) {
  for (Tensor& tensor : tensors) tensor = kOne(to, tensor);
  return tensors;
}

Tensor PixelShuffle(Lowering& to, Tensor self, Dim factor) {
  const int64_t rank = self.rank();
  const auto known = to.AsConstant(factor);
  if (known && rank == 4 && self.is_floating()) return to.DepthToSpace(self, {.blocksize = *known, .mode = "CRD"});
  const Dim channels{to.exprs().FloorDiv(self.size(-3).expr, to.Times(factor, factor).expr)};
  Dims split = self.sizes(), merged = split;
  split.resize(static_cast<size_t>(rank - 3));
  merged.resize(static_cast<size_t>(rank - 3));
  for (Dim dim : {channels, factor, factor, self.size(-2), self.size(-1)}) split.push_back(dim);
  for (Dim dim : {channels, to.Times(self.size(-2), factor), to.Times(self.size(-1), factor)}) merged.push_back(dim);
  // C r r H W -> C H r W r
  const Tensor blocks = MoveDims(to, to.ReshapeTo(self, split), {-5, -2, -4, -1, -3}, {-5, -4, -3, -2, -1});
  return to.ReshapeTo(blocks, merged);
}

Tensor PixelUnshuffle(Lowering& to, Tensor self, Dim factor) {
  const Dim height{to.exprs().FloorDiv(self.size(-2).expr, factor.expr)};
  const Dim width{to.exprs().FloorDiv(self.size(-1).expr, factor.expr)};
  Dims split = self.sizes(), merged = split;
  split.resize(static_cast<size_t>(self.rank() - 3));
  merged.resize(split.size());
  for (Dim dim : {self.size(-3), height, factor, width, factor}) split.push_back(dim);
  for (Dim dim : {to.Times(self.size(-3), to.Times(factor, factor)), height, width}) merged.push_back(dim);
  // C H r W r -> C r r H W
  const Tensor blocks = MoveDims(to, to.ReshapeTo(self, split), {-5, -3, -1, -4, -2}, {-5, -4, -3, -2, -1});
  return to.ReshapeTo(blocks, merged);
}

Tensor ChannelShuffle(Lowering& to, Tensor self, Dim groups) {
  if (self.rank() < 2) onnx::ThrowNoAxis(1, self.rank());
  Dims split = self.sizes();
  split[1] = {to.exprs().FloorDiv(split[1].expr, groups.expr)};
  split.insert(split.begin() + 1, groups);
  return to.ReshapeTo(TransposeInt(to, to.ReshapeTo(self, split), 1, 2), self.sizes());
}

constexpr OpRow kRows[] = {
    Op<ReshapeAlias>("aten::_reshape_alias(Tensor(a) self, SymInt[] size, SymInt[] stride) -> Tensor(a)"),
    Op<ReshapeAlias>("aten::_reshape_alias_copy(Tensor self, SymInt[] size, SymInt[] stride) -> Tensor"),
    Op<View>("aten::_reshape_copy(Tensor self, SymInt[] size) -> Tensor"),
    Op<View>("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor"),
    Op<Adjoint>("aten::adjoint(Tensor(a) self) -> Tensor(a)"),
    Op<Same>("aten::alias(Tensor(a) self) -> Tensor(a)"),
    Op<Same>("aten::alias_copy(Tensor self) -> Tensor"),
    Op<AtLeast1d>("aten::atleast_1d(Tensor self) -> Tensor"),
    Op<Each<AtLeast1d>>("aten::atleast_1d.Sequence(Tensor[] tensors) -> Tensor[]"),
    Op<AtLeast2d>("aten::atleast_2d(Tensor self) -> Tensor"),
    Op<Each<AtLeast2d>>("aten::atleast_2d.Sequence(Tensor[] tensors) -> Tensor[]"),
    Op<AtLeast3d>("aten::atleast_3d(Tensor self) -> Tensor"),
    Op<Each<AtLeast3d>>("aten::atleast_3d.Sequence(Tensor[] tensors) -> Tensor[]"),
    Op<BroadcastTensors>("aten::broadcast_tensors(Tensor[] tensors) -> Tensor[]"),
    Op<Expand>("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)"),
    Op<ChannelShuffle>("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor"),
    Op<Clone>("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor"),
    Op<Clone>("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)"),
    Op<Same>("aten::detach(Tensor(a) self) -> Tensor(a)"),
    Op<Same>("aten::detach_copy(Tensor self) -> Tensor"),
    Op<ExpandImplicit>("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)"),
    Op<ExpandAs>("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)"),
    Op<ExpandImplicit>("aten::expand_copy(Tensor self, SymInt[] size, *, bool implicit=False) -> Tensor"),
    Op<Flatten>("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)"),
    Op<Same>("aten::lift(Tensor self) -> Tensor"),
    Op<Same>("aten::lift_fresh(Tensor(a) self) -> Tensor(a)"),
    Op<Same>("aten::lift_fresh_copy(Tensor self) -> Tensor"),
    Op<Adjoint>("aten::mH(Tensor(a) self) -> Tensor(a)"),
    Op<Adjoint>("aten::mH.a(Tensor(a) self) -> Tensor(a)"),
    Op<TransposeLast>("aten::mT(Tensor(a) self) -> Tensor(a)"),
    Op<TransposeLast>("aten::mT.a(Tensor(a) self) -> Tensor(a)"),
    Op<Adjoint>("aten::matrix_H(Tensor(a) self) -> Tensor(a)"),
    Op<Adjoint>("aten::matrix_H.a(Tensor(a) self) -> Tensor(a)"),
    Op<MoveDim>("aten::moveaxis.int(Tensor(a) self, int source, int destination) -> Tensor(a)"),
    Op<MoveDims>("aten::moveaxis.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)"),
    Op<MoveDim>("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)"),
    Op<MoveDims>("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)"),
    Op<ChannelShuffle>("aten::native_channel_shuffle(Tensor self, SymInt groups) -> Tensor"),
    Op<ReverseDims>("aten::numpy_T(Tensor(a) self) -> Tensor(a)"),
    Op<ReverseDims>("aten::numpy_T.a(Tensor(a) self) -> Tensor(a)"),
    Op<Permute>("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)"),
    Op<Permute>("aten::permute_copy(Tensor self, int[] dims) -> Tensor"),
    Op<PixelShuffle>("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor"),
    Op<PixelUnshuffle>("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor"),
    Op<Ravel>("aten::ravel(Tensor(a) self) -> Tensor(a)"),
    Op<View>("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)"),
    Op<ViewAs>("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)"),
    Op<Same>("aten::resolve_neg(Tensor(a) self) -> Tensor(a)"),
    Op<Squeeze>("aten::squeeze(Tensor(a) self) -> Tensor(a)"),
    Op<SqueezeDim>("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)"),
    Op<SqueezeDims>("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)"),
    Op<Squeeze>("aten::squeeze_copy(Tensor self) -> Tensor"),
    Op<SqueezeDim>("aten::squeeze_copy.dim(Tensor self, int dim) -> Tensor"),
    Op<SqueezeDims>("aten::squeeze_copy.dims(Tensor self, int[] dim) -> Tensor"),
    Op<TransposeInt>("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)"),
    Op<TransposeInt>("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"),
    Op<TransposeLast>("aten::t(Tensor(a) self) -> Tensor(a)"),
    Op<TransposeLast>("aten::t_copy(Tensor self) -> Tensor"),
    Op<TransposeInt>("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)"),
    Op<TransposeInt>("aten::transpose_copy.int(Tensor self, int dim0, int dim1) -> Tensor"),
    Op<Unflatten>("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)"),
    Op<Unfold>("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)"),
    Op<Unfold>("aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor"),
    Op<Unsqueeze>("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)"),
    Op<Unsqueeze>("aten::unsqueeze_copy(Tensor self, int dim) -> Tensor"),
    Op<View>("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)"),
    Op<ViewAs>("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)"),
    Op<View>("aten::view_copy(Tensor self, SymInt[] size) -> Tensor"),
};

}  // namespace

std::span<const OpRow> Views() { return kRows; }

}  // namespace flambeau::lower
