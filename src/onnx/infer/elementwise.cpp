// Operators that treat each element alone, with numpy's broadcasting.
#include <algorithm>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {

void SameAsFirst(InferContext& context) {
  if (const Sizes* sizes = context.sizes(0)) context.SetSizes(0, *sizes);
}

void Broadcast(InferContext& context) {
  Sizes sizes;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    if (!context.operand(i)) continue;
    const Sizes* own = context.sizes(i);
    if (!own) return;
    sizes = BroadcastSizes(context.exprs(), std::move(sizes), *own);
  }
  context.SetSizes(0, std::move(sizes));
}

namespace {

bool IsNonNegative(const ExprPool& exprs, Expr e) { return exprs.RangeOf(e).min >= 0; }

Expr Not(ExprPool& exprs, Expr a) { return exprs.Sub(exprs.Constant(1), a); }

Expr AddOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Add(a, b); }
Expr SubOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Sub(a, b); }
Expr MulOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Mul(a, b); }
Expr MinOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Min(a, b); }
Expr MaxOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Max(a, b); }
Expr EqualOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Equal(a, b); }
Expr LessOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Less(a, b); }
Expr GreaterOf(ExprPool& exprs, Expr a, Expr b) { return exprs.Less(b, a); }
Expr LessOrEqualOf(ExprPool& exprs, Expr a, Expr b) { return Not(exprs, exprs.Less(b, a)); }
Expr GreaterOrEqualOf(ExprPool& exprs, Expr a, Expr b) { return Not(exprs, exprs.Less(a, b)); }
Expr XorOf(ExprPool& exprs, Expr a, Expr b) { return Not(exprs, exprs.Equal(a, b)); }

// ONNX divides integers towards zero, the algebra towards -inf.
Expr DivOf(ExprPool& exprs, Expr a, Expr b) {
  const auto dividend = exprs.AsConstant(a), divisor = exprs.AsConstant(b);
  if (divisor == 1) return a;
  if (dividend && divisor && *divisor != 0 && !(*dividend == INT64_MIN && *divisor == -1))
    return exprs.Constant(*dividend / *divisor);
  if (divisor != 0 && IsNonNegative(exprs, a) && IsNonNegative(exprs, b)) return exprs.FloorDiv(a, b);
  return UnknownElement(exprs);
}
Expr ModOf(ExprPool& exprs, Expr a, Expr b) { return exprs.IsConstant(b, 0) ? UnknownElement(exprs) : exprs.Mod(a, b); }
// fmod: the sign of the dividend.
Expr RemainderOf(ExprPool& exprs, Expr a, Expr b) {
  if (IsNonNegative(exprs, a) && IsNonNegative(exprs, b)) return ModOf(exprs, a, b);
  return UnknownElement(exprs);
}
Expr PowOf(ExprPool& exprs, Expr a, Expr b) {
  return IsNonNegative(exprs, b) ? exprs.Pow(a, b) : UnknownElement(exprs);
}

using Combine = Expr (*)(ExprPool&, Expr, Expr);

// The elements of all operands combined, from the first to the last.
void CombineContents(InferContext& context, Combine combine) {
  if (context.result_count() == 0 || !context.result(0).ranked) return;
  for (size_t i = 0; i < context.operand_count(); ++i)
    if (!context.contents(i)) return;
  const Sizes sizes = context.result(0).sizes;
  std::optional<std::vector<Expr>> elements;
  for (size_t i = 0; i < context.operand_count(); ++i) {
    const auto own = BroadcastContents(context.exprs(), *context.operand(i), sizes);
    if (!own) return;
    if (!elements) {
      elements = own;
    } else {
      for (size_t n = 0; n < own->size(); ++n) (*elements)[n] = combine(context.exprs(), (*elements)[n], (*own)[n]);
    }
  }
  if (elements) context.SetContents(0, std::move(*elements));
}

template <Combine kCombine>
void Arithmetic(InferContext& context) {
  Broadcast(context);
  CombineContents(context, kCombine);
}

void Modulo(InferContext& context) {
  Broadcast(context);
  CombineContents(context, context.Int("fmod", 0) != 0 ? RemainderOf : ModOf);
}

template <Expr (*kMap)(ExprPool&, Expr)>
void MapElements(InferContext& context) {
  SameAsFirst(context);
  if (!context.contents(0)) return;
  std::vector<Expr> elements = *context.contents(0);
  for (Expr& element : elements) element = kMap(context.exprs(), element);
  context.SetContents(0, std::move(elements));
}

Expr NegOf(ExprPool& exprs, Expr a) { return exprs.Mul(exprs.Constant(-1), a); }
Expr AbsOf(ExprPool& exprs, Expr a) { return exprs.Max(a, NegOf(exprs, a)); }
Expr SignOf(ExprPool& exprs, Expr a) {
  const Expr zero = exprs.Constant(0);
  return exprs.Sub(exprs.Less(zero, a), exprs.Less(a, zero));
}

void Identity(InferContext& context) {
  if (context.operand(0)) context.Set(0, *context.operand(0));
}

void Clip(InferContext& context) {
  SameAsFirst(context);
  if (!context.contents(0)) return;
  std::vector<Expr> elements = *context.contents(0);
  for (size_t bound = 1; bound <= 2; ++bound) {
    if (!context.operand(bound)) continue;
    if (!context.contents(bound) || context.contents(bound)->size() != 1) return;
    const Expr limit = context.contents(bound)->front();
    for (Expr& e : elements) e = bound == 1 ? context.exprs().Max(e, limit) : context.exprs().Min(e, limit);
  }
  context.SetContents(0, std::move(elements));
}

void CastTo(InferContext& context, DType dtype) {
  const Type* from = context.operand(0);
  if (!from) return context.SetUnranked(0, dtype);
  Type type = Type::Unranked(dtype);
  type.ranked = from->ranked;
  type.sizes = from->sizes;
  context.Set(0, std::move(type));
  if (!from->contents) return;
  std::vector<Expr> elements = *from->contents;
  if (dtype == DType::kBool && from->dtype != DType::kBool)
    for (Expr& e : elements) e = Not(context.exprs(), context.exprs().Equal(e, context.exprs().Constant(0)));
  context.SetContents(0, std::move(elements));
}

void Cast(InferContext& context) { CastTo(context, context.ElementType("to", DType::kNone)); }
void CastLike(InferContext& context) { CastTo(context, context.dtype(1)); }

// Same element width; the shape stays.
void BitCast(InferContext& context) {
  const DType dtype = context.ElementType("to", DType::kNone);
  if (const Sizes* sizes = context.sizes(0)) return context.SetTensor(0, dtype, *sizes);
  context.SetUnranked(0, dtype);
}

void Where(InferContext& context) {
  Broadcast(context);
  if (context.result_count() == 0 || !context.result(0).ranked) return;
  const Sizes sizes = context.result(0).sizes;
  std::optional<std::vector<Expr>> parts[3];
  for (size_t i = 0; i < 3; ++i) {
    if (!context.contents(i)) return;
    parts[i] = BroadcastContents(context.exprs(), *context.operand(i), sizes);
    if (!parts[i]) return;
  }
  std::vector<Expr> elements;
  for (size_t n = 0; n < parts[0]->size(); ++n)
    elements.push_back(context.exprs().Select((*parts[0])[n], (*parts[1])[n], (*parts[2])[n]));
  context.SetContents(0, std::move(elements));
}

// The mask, too, has the data's sizes.
void Dropout(InferContext& context) {
  SameAsFirst(context);
  if (const Sizes* sizes = context.sizes(0)) context.SetSizes(1, *sizes);
}

constexpr InferRule kElementwise[] = {
    {"Abs", MapElements<AbsOf>},
    {"Acos", SameAsFirst},
    {"Acosh", SameAsFirst},
    {"Add", Arithmetic<AddOf>},
    {"And", Arithmetic<MulOf>},
    {"Asin", SameAsFirst},
    {"Asinh", SameAsFirst},
    {"Atan", SameAsFirst},
    {"Atanh", SameAsFirst},
    {"Bernoulli", [](InferContext& context) { CastTo(context, context.ElementType("dtype", context.dtype(0))); }},
    {"BitCast", BitCast},
    {"BitShift", Broadcast},
    {"BitwiseAnd", Broadcast},
    {"BitwiseNot", SameAsFirst},
    {"BitwiseOr", Broadcast},
    {"BitwiseXor", Broadcast},
    {"Cast", Cast},
    {"CastLike", CastLike},
    {"Ceil", SameAsFirst},
    {"Celu", SameAsFirst},
    {"Clip", Clip},
    {"Cos", SameAsFirst},
    {"Cosh", SameAsFirst},
    {"Div", Arithmetic<DivOf>},
    {"Dropout", Dropout},
    {"Elu", SameAsFirst},
    {"Equal", Arithmetic<EqualOf>},
    {"Erf", SameAsFirst},
    {"Exp", SameAsFirst},
    {"Floor", SameAsFirst},
    {"Gelu", SameAsFirst},
    {"Greater", Arithmetic<GreaterOf>},
    {"GreaterOrEqual", Arithmetic<GreaterOrEqualOf>},
    {"HardSigmoid", SameAsFirst},
    {"HardSwish", SameAsFirst},
    {"Identity", Identity},
    {"IsInf", SameAsFirst},
    {"IsNaN", SameAsFirst},
    {"LeakyRelu", SameAsFirst},
    {"Less", Arithmetic<LessOf>},
    {"LessOrEqual", Arithmetic<LessOrEqualOf>},
    {"Log", SameAsFirst},
    {"Max", Arithmetic<MaxOf>},
    {"Mean", Broadcast},
    {"Min", Arithmetic<MinOf>},
    {"Mish", SameAsFirst},
    {"Mod", Modulo},
    {"Mul", Arithmetic<MulOf>},
    {"Neg", MapElements<NegOf>},
    {"Not", MapElements<Not>},
    {"Or", Arithmetic<MaxOf>},
    {"PRelu", SameAsFirst},
    {"Pow", Arithmetic<PowOf>},
    {"Reciprocal", SameAsFirst},
    {"Relu", MapElements<[](ExprPool& exprs, Expr a) { return exprs.Max(a, exprs.Constant(0)); }>},
    {"Round", SameAsFirst},
    {"Selu", SameAsFirst},
    {"Shrink", SameAsFirst},
    {"Sigmoid", SameAsFirst},
    {"Sign", MapElements<SignOf>},
    {"Sin", SameAsFirst},
    {"Sinh", SameAsFirst},
    {"Softplus", SameAsFirst},
    {"Softsign", SameAsFirst},
    {"Sqrt", SameAsFirst},
    {"Sub", Arithmetic<SubOf>},
    {"Sum", Arithmetic<AddOf>},
    {"Swish", SameAsFirst},
    {"Tan", SameAsFirst},
    {"Tanh", SameAsFirst},
    {"ThresholdedRelu", SameAsFirst},
    {"Where", Where},
    {"Xor", Arithmetic<XorOf>},
};

}  // namespace

std::span<const InferRule> ElementwiseRules() { return kElementwise; }

}  // namespace flambeau::onnx
