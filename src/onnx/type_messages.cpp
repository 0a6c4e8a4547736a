#include "onnx/type_messages.h"

#include "ir/expr_text.h"
#include "onnx/protobuf.h"
#include "onnx/protozero.h"

namespace flambeau::onnx {

namespace {

// The TypeProto of lists of an element, or of what may be none.
std::string Holding(uint32_t kind, const std::string& element) {
  std::string inner, outer;
  protozero::pbf_writer(inner).add_message(field::kElementType, element);
  protozero::pbf_writer(outer).add_message(kind, inner);
  return outer;
}

}  // namespace

std::string_view TypeMessages::operator[](TypeId type) {
  if (!type) return {};
  if (type.index >= places_.size()) places_.resize(type.index + 1, {UINT32_MAX, 0});
  auto& [begin, end] = places_[type.index];
  if (begin == UINT32_MAX) {
    begin = static_cast<uint32_t>(pool_.size());
    pool_ += Encode(context_[type]);
    end = static_cast<uint32_t>(pool_.size());
  }
  return std::string_view(pool_).substr(begin, end - begin);
}

std::string TypeMessages::Encode(const Type& type) const {
  const int32_t element = Info(type.dtype).onnx_code;
  const bool list = type.kind == TypeKind::kSequence || type.kind == TypeKind::kOptionalSequence;
  if (element == 0 || (!type.is_tensor() && !list && !type.is_optional())) return {};
  std::string tensor;
  protozero::pbf_writer tensor_writer(tensor);
  tensor_writer.add_int32(field::kTensorTypeElement, element);
  if (type.ranked) tensor_writer.add_message(field::kTensorTypeShape, EncodeShape(type));
  std::string message;
  protozero::pbf_writer(message).add_message(field::kTypeTensor, tensor);
  if (list) message = Holding(field::kTypeSequence, message);
  if (type.is_optional()) message = Holding(field::kTypeOptional, message);
  return message;
}

std::string TypeMessages::EncodeShape(const Type& type) const {
  const ExprPool& exprs = context_.exprs();
  std::string shape;
  protozero::pbf_writer shape_writer(shape);
  for (Expr size : type.sizes) {
    std::string dim;
    protozero::pbf_writer dim_writer(dim);
    if (size) {
      if (const auto constant = exprs.AsConstant(size)) {
        dim_writer.add_int64(field::kDimValue, *constant);
      } else if (!exprs.HasAnonymous(size)) {
        dim_writer.add_string(field::kDimParam, DimensionText(exprs, size));
      }
    }
    shape_writer.add_message(field::kShapeDim, dim);
  }
  return shape;
}

}  // namespace flambeau::onnx
