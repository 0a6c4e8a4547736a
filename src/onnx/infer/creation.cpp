// Operators that make tensors of attributes and of shapes: Shape, Constant, Range, random ones.
#include <algorithm>
#include <cstring>

#include "onnx/infer/rules.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

// The elements of a small int64 or bool constant.
std::optional<std::vector<Expr>> ReadElements(ExprPool& exprs, const TensorData& data) {
  if (data.dtype != DType::kInt64 && data.dtype != DType::kBool) return std::nullopt;
  const auto bytes = data.ReadAll(kMaxContents * 8);
  if (!bytes) return std::nullopt;
  std::vector<Expr> elements;
  const size_t width = data.dtype == DType::kInt64 ? 8 : 1;
  for (size_t at = 0; at + width <= bytes->size(); at += width) {
    int64_t value = 0;
    if (width == 8) {
      std::memcpy(&value, bytes->data() + at, width);
    } else {
      value = (*bytes)[at] != std::byte{0};
    }
    elements.push_back(exprs.Constant(value));
  }
  return elements;
}

void Constant(InferContext& context) {
  ExprPool& exprs = context.exprs();
  auto list = [&](DType dtype, size_t count) {
    context.SetTensor(0, dtype, {exprs.Constant(static_cast<int64_t>(count))});
  };
  if (const TensorData* data = context.Data("value")) {
    context.SetTensor(0, data->dtype, ConstantExprs(exprs, data->sizes));
    if (auto elements = ReadElements(exprs, *data)) context.SetContents(0, std::move(*elements));
  } else if (context.attribute("value_int")) {
    context.SetTensor(0, DType::kInt64, {});
    context.SetContents(0, {exprs.Constant(context.Int("value_int", 0))});
  } else if (const auto ints = context.IntList("value_ints")) {
    list(DType::kInt64, ints->size());
    if (ints->size() <= static_cast<size_t>(kMaxContents)) context.SetContents(0, ConstantExprs(exprs, *ints));
  } else if (context.attribute("value_float")) {
    context.SetTensor(0, DType::kFloat32, {});
  } else if (const auto floats = context.FloatList("value_floats")) {
    list(DType::kFloat32, floats->size());
  } else if (context.attribute("value_string")) {
    context.SetTensor(0, DType::kString, {});
  }
}

void Shape(InferContext& context) {
  const Sizes* input = context.sizes(0);
  if (!input) return context.SetSizes(0, {context.exprs().Anonymous()});
  const auto rank = static_cast<int64_t>(input->size());
  auto bound = [&](std::string_view name, int64_t otherwise) {
    const int64_t value = context.Int(name, otherwise);
    return std::clamp(value < 0 ? value + rank : value, int64_t{0}, rank);
  };
  const int64_t start = bound("start", 0), end = std::max(start, bound("end", rank));
  context.SetSizes(0, {context.exprs().Constant(end - start)});
  context.SetContents(0, Sizes(input->begin() + start, input->begin() + end));
}

void Size(InferContext& context) {
  context.SetSizes(0, {});
  if (const Sizes* input = context.sizes(0)) context.SetContents(0, {Product(context.exprs(), *input)});
}

void ConstantOfShape(InferContext& context) {
  const TensorData* value = context.Data("value");
  const DType dtype = value ? value->dtype : DType::kFloat32;
  auto sizes = SizesFromOperand(context, 0);
  if (!sizes) return context.SetUnranked(0, dtype);
  const auto count = SmallCount(context.exprs(), *sizes);
  context.SetTensor(0, dtype, std::move(*sizes));
  const auto element = value && count ? ReadElements(context.exprs(), *value) : std::nullopt;
  if (element && element->size() == 1) context.SetContents(0, std::vector<Expr>(*count, element->front()));
}

void Range(InferContext& context) {
  ExprPool& exprs = context.exprs();
  Expr bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    const auto* value = context.contents(i);
    if (!value || value->size() != 1) return context.SetSizes(0, {exprs.Anonymous()});
    bounds[i] = value->front();
  }
  const auto [start, limit, delta] = bounds;
  const auto step = exprs.AsConstant(delta);
  if (!step || *step == 0 || *step == INT64_MIN || exprs.HasAnonymous(start) || exprs.HasAnonymous(limit))
    return context.SetSizes(0, {exprs.Anonymous()});
  const Expr way = *step > 0 ? exprs.Sub(limit, start) : exprs.Sub(start, limit);
  const Expr count = exprs.Max(exprs.Constant(0), exprs.CeilDiv(way, exprs.Constant(std::abs(*step))));
  context.SetSizes(0, {count});
  const auto fixed = exprs.AsConstant(count);
  if (!fixed || *fixed > kMaxContents) return;
  std::vector<Expr> elements;
  for (int64_t n = 0; n < *fixed; ++n) elements.push_back(exprs.Add(start, exprs.Mul(exprs.Constant(n), delta)));
  context.SetContents(0, std::move(elements));
}

// The `shape` and `dtype` attributes; float32 by default.
void RandomOfShape(InferContext& context) {
  const DType dtype = context.ElementType("dtype", DType::kFloat32);
  const auto shape = context.IntList("shape");
  if (!shape) return context.SetUnranked(0, dtype);
  context.SetTensor(0, dtype, ConstantExprs(context.exprs(), *shape));
}

// [batch, sample_size] class indices.
void Multinomial(InferContext& context) {
  const DType dtype = context.ElementType("dtype", DType::kInt32);
  const Sizes* input = context.sizes(0);
  const Expr batch = input && !input->empty() ? input->front() : context.exprs().Anonymous();
  context.SetTensor(0, dtype, {batch, context.exprs().Constant(context.Int("sample_size", 1))});
}

// The operand's sizes, and its element type unless the attribute says another.
void LikeFirst(InferContext& context) {
  const DType dtype = context.ElementType("dtype", context.dtype(0));
  if (const Sizes* sizes = context.sizes(0)) return context.SetTensor(0, dtype, *sizes);
  context.SetUnranked(0, dtype);
}

constexpr InferRule kCreation[] = {
    {"Constant", Constant},
    {"ConstantOfShape", ConstantOfShape},
    {"EyeLike", LikeFirst},
    {"Multinomial", Multinomial},
    {"RandomNormal", RandomOfShape},
    {"RandomNormalLike", LikeFirst},
    {"RandomUniform", RandomOfShape},
    {"RandomUniformLike", LikeFirst},
    {"Range", Range},
    {"Shape", Shape},
    {"Size", Size},
    {"Trilu", SameAsFirst},
};

}  // namespace

std::span<const InferRule> CreationRules() { return kCreation; }

}  // namespace flambeau::onnx
