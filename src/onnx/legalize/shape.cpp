// Sizes and layouts.
#include "onnx/legalize/rule.h"

namespace flambeau::onnx {
namespace {

// Some of the sizes, since 15.
Results ShapeByGather(Builder& to, const Request& request) {
  const Tensor x = request.operands[0];
  if (!Find(request.attributes, "start") && !Find(request.attributes, "end")) return std::nullopt;
  const Tensor all = EmitAsIs(to, "Shape", {&x, 1}, {}, 1).front();
  if (!x.ranked()) return Refuse(to, request, "takes only tensors of known rank");
  const auto place = [&](int64_t axis) { return std::clamp<int64_t>(axis < 0 ? axis + x.rank() : axis, 0, x.rank()); };
  Ints axes;
  for (int64_t axis = place(request.Int("start", 0)); axis < place(request.Int("end", x.rank())); ++axis) axes.push_back(axis);
  return {{to.Gather(all, to.ConstantInts(axes))}};
}

// To sizes of which one may be 0: the tensor is empty then. It gets an element for each that there would be with 1 for 0,
// which are cut off again.
Tensor ReshapeByOnes(Builder& to, Tensor x, Tensor shape) {
  const Tensor one = to.ConstantInt(1);
  const Tensor sizes = to.Where(to.Equal(shape, to.ConstantInt(0)), one, shape);
  // Where no size is 0: as many as there are, of 0 times so many.
  const Tensor is_empty = to.Sub(one, to.Min(Tensors{to.Abs(to.ReduceProd(shape, to.ConstantInts({0}), {.keepdims = 1})), one}));
  const Tensor missing = to.Mul(is_empty, to.ReduceProd(sizes, to.ConstantInts({0}), {.keepdims = 1}));
  const Tensor filled = to.Concat(Tensors{to.Reshape(x, to.ConstantInts({-1})), to.Expand(to.ConstantOf(int64_t{0}, x.dtype()), missing)}, {.axis = 0});
  const Tensor all = to.Where(to.Less(shape, to.ConstantInt(0)), to.ConstantInt(std::numeric_limits<int64_t>::max()), shape);
  return to.Slice(to.Reshape(filled, sizes), to.Expand(to.ConstantInt(0), to.Shape(shape)), all);
}

// A size 0 that is not copied, since 14: the tensor is empty then.
Results ReshapeOfZeros(Builder& to, const Request& request) {
  if (request.Int("allowzero", 0) == 0) return std::nullopt;
  const Tensor x = request.operands[0], shape = request.operands[1];
  bool has_zero = false, may_have_zero = true;
  if (const auto& contents = shape.type().contents) {
    may_have_zero = false;
    for (Expr size : *contents) {
      const auto constant = to.exprs().AsConstant(size);
      has_zero = has_zero || constant == 0;
      may_have_zero = may_have_zero || (!constant && to.exprs().RangeOf(size).min <= 0 && to.exprs().RangeOf(size).max >= 0);
    }
  }
  if (has_zero) return {{to.Expand(to.ConstantOf(int64_t{0}, x.dtype()), shape)}};
  if (may_have_zero && shape.type().sizes.size() != 1) return Refuse(to, request, "copies sizes for zeros");
  if (may_have_zero) return {{ReshapeByOnes(to, x, shape)}};
  return EmitAsIs(to, "Reshape", request.operands, {}, 1);
}

// Column-row-depth order, since 11.
Results DepthToSpaceByTranspose(Builder& to, const Request& request) {
  if (request.Text("mode", "DCR") == "DCR") return std::nullopt;
  const Tensor x = request.operands[0];
  const int64_t block = request.Int("blocksize", 1);
  auto size = [&](int64_t axis) { return SizeAlong(to, x, axis); };
  const Tensor b = to.ConstantInts({block});
  const Tensor parts = to.Concat(Tensors{size(0), to.Div(size(1), to.ConstantInt(block * block)), b, b, size(2), size(3)}, {.axis = 0});
  const Tensor turned = to.Transpose(to.Reshape(x, parts), {.perm = {0, 1, 4, 2, 5, 3}});
  const Tensor joined = to.Concat(Tensors{size(0), to.Div(size(1), to.ConstantInt(block * block)), to.Mul(size(2), b), to.Mul(size(3), b)}, {.axis = 0});
  return {{to.Reshape(turned, joined)}};
}

constexpr LegalizeRule kRules[] = {
    {"DepthToSpace", 11, &DepthToSpaceByTranspose},
    {"Reshape", 14, &ReshapeOfZeros},
    {"Shape", 15, &ShapeByGather},
};

}  // namespace

std::span<const LegalizeRule> ShapeForms() { return kRules; }

}  // namespace flambeau::onnx
