// Lists of tensors, and what may be none. The type of a list describes any of its elements.
#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

Type SequenceOf(Type element) {
  element.kind = TypeKind::kSequence;
  element.contents.reset();
  element.strides.clear();
  return element;
}

// What holds of both: sizes that differ become anonymous.
Type Common(ExprPool& exprs, Type a, const Type& b) {
  a.ranked = a.ranked && b.ranked && a.sizes.size() == b.sizes.size();
  if (!a.ranked) a.sizes.clear();
  for (size_t d = 0; d < a.sizes.size(); ++d)
    if (a.sizes[d] != b.sizes[d]) a.sizes[d] = exprs.Anonymous();
  return a;
}

void SequenceConstruct(InferContext& context) {
  std::optional<Type> element;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    if (!context.operand(i)) continue;
    element = element ? Common(context.exprs(), *element, *context.operand(i)) : *context.operand(i);
  }
  if (element) context.Set(0, SequenceOf(std::move(*element)));
}

void SequenceEmpty(InferContext& context) {
  context.Set(0, SequenceOf(Type::Unranked(context.ElementType("dtype", DType::kFloat32))));
}

void SequenceErase(InferContext& context) {
  if (context.operand(0)) context.Set(0, *context.operand(0));
}

void SequenceInsert(InferContext& context) {
  const Type *list = context.operand(0), *element = context.operand(1);
  if (list && element) context.Set(0, SequenceOf(Common(context.exprs(), *list, *element)));
}

// Two elements need not share a size that is anonymous.
void SequenceAt(InferContext& context) {
  const Type* list = context.operand(0);
  if (!list) return;
  if (!list->ranked) return context.SetUnranked(0, list->dtype);
  Sizes sizes = list->sizes;
  for (Expr& size : sizes)
    if (context.exprs().HasAnonymous(size)) size = context.exprs().Anonymous();
  context.SetTensor(0, list->dtype, std::move(sizes));
}

void Scalar(InferContext& context) { context.SetSizes(0, {}); }

// One tensor joined along an axis, which `new_axis` makes.
void ConcatFromSequence(InferContext& context) {
  const Type* list = context.operand(0);
  if (!list) return;
  context.SetUnranked(0, list->dtype);
  const bool stacks = context.Int("new_axis", 0) != 0;
  const auto axis = list->ranked ? NormalizeAxis(context.Int("axis", 0), list->rank() + stacks) : std::nullopt;
  if (!axis) return;
  Sizes sizes = list->sizes;
  if (stacks) {
    sizes.insert(sizes.begin() + static_cast<ptrdiff_t>(*axis), context.exprs().Anonymous());
  } else {
    sizes[*axis] = context.exprs().Anonymous();
  }
  context.SetTensor(0, list->dtype, std::move(sizes));
}

// Pieces of size 1 lose the axis unless `keepdims`; sizes given keep it.
void SplitToSequence(InferContext& context) {
  const Type* input = context.operand(0);
  if (!input) return;
  Type element = *input;
  const auto axis = input->ranked ? NormalizeAxis(context.Int("axis", 0), input->rank()) : std::nullopt;
  ExprPool& exprs = context.exprs();
  if (!axis) {
    element = Type::Unranked(input->dtype);
  } else if (!context.operand(1) && context.Int("keepdims", 1) == 0) {
    element.sizes.erase(element.sizes.begin() + static_cast<ptrdiff_t>(*axis));
  } else if (!context.operand(1)) {
    element.sizes[*axis] = exprs.Constant(1);
  } else {
    element.sizes[*axis] = exprs.Anonymous();
  }
  context.Set(0, SequenceOf(std::move(element)));
}

// Of an empty one, the node says the type.
void Optional(InferContext& context) {
  if (!context.operand(0)) return;
  Type type = *context.operand(0);
  type.kind = type.kind == TypeKind::kSequence ? TypeKind::kOptionalSequence : TypeKind::kOptional;
  type.contents.reset();
  type.strides.clear();
  context.Set(0, std::move(type));
}

void OptionalGetElement(InferContext& context) {
  if (!context.operand(0)) return;
  Type type = *context.operand(0);
  if (type.kind == TypeKind::kOptional) type.kind = TypeKind::kTensor;
  if (type.kind == TypeKind::kOptionalSequence) type.kind = TypeKind::kSequence;
  context.Set(0, std::move(type));
}

constexpr InferRule kSequence[] = {
    {"ConcatFromSequence", ConcatFromSequence},
    {"Optional", Optional},
    {"OptionalGetElement", OptionalGetElement},
    {"OptionalHasElement", Scalar},
    {"SequenceAt", SequenceAt},
    {"SequenceConstruct", SequenceConstruct},
    {"SequenceEmpty", SequenceEmpty},
    {"SequenceErase", SequenceErase},
    {"SequenceInsert", SequenceInsert},
    {"SequenceLength", Scalar},
    {"SplitToSequence", SplitToSequence},
};

}  // namespace

std::span<const InferRule> SequenceRules() { return kSequence; }

}  // namespace flambeau::onnx
