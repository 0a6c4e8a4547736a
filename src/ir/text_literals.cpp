#include "ir/text_literals.h"

#include <charconv>
#include <limits>
#include <utility>

#include "ir/text_lexer.h"
#include "ir/text_names.h"

namespace flambeau {

// --- types -------------------------------------------------------------------

Status LiteralReader::ReadExprs(char close, std::vector<Expr>* list) {
  if (scan_.Take(close)) return {};
  do {
    scan_.Skip();
    const size_t start = scan_.position();
    const std::string_view text = scan_.TakeNested();
    FLAMBEAU_TRY(const Expr e, exprs_.Read(text, sink_, scan_.Locate(start)));
    list->push_back(e);
  } while (scan_.Take(','));
  return scan_.Expect(close);
}

Result<Type> LiteralReader::ReadTensorType(std::string_view word) {
  Type type;
  type.kind = TypeKind::kTensor;
  const auto dtype = word == Info(DType::kNone).text ? DType::kNone : DTypeFromText(word);
  if (!dtype) return scan_.Error("`" + std::string(word) + "` is no data type", "a type reads f32[2, n]");
  type.dtype = *dtype;
  FLAMBEAU_CHECK_OK(scan_.Expect('['));
  if (scan_.Take('*')) {
    FLAMBEAU_CHECK_OK(scan_.Expect(']'));
    return type;
  }
  type.ranked = true;
  FLAMBEAU_CHECK_OK(ReadExprs(']', &type.sizes));
  if (scan_.TakeAdjacent("{?}")) return type;
  if (scan_.TakeAdjacent("{")) {
    FLAMBEAU_CHECK_OK(ReadExprs('}', &type.strides));
    if (type.strides.size() != type.rank())
      return scan_.Error(std::to_string(type.strides.size()) + " strides for " + std::to_string(type.rank()) +
                         " sizes");
  } else if (strides_known_) {
    type.strides = ContiguousStrides(type.sizes, context_.exprs());
  }
  return type;
}

// (f32[2]): of a list, its elements.
Result<Type> LiteralReader::ReadListType(TypeKind kind) {
  FLAMBEAU_CHECK_OK(scan_.Expect('('));
  scan_.Skip();
  FLAMBEAU_TRY(Type type, ReadTensorType(scan_.TakeName()));
  type.kind = kind;
  FLAMBEAU_CHECK_OK(scan_.Expect(')'));
  return type;
}

Result<Type> LiteralReader::ReadType() {
  scan_.Skip();
  const std::string_view word = scan_.TakeName();
  if (scan_.Peek() == '[') {
    FLAMBEAU_TRY(Type type, ReadTensorType(word));
    if (scan_.TakeAdjacent("=(")) FLAMBEAU_CHECK_OK(ReadExprs(')', &type.contents.emplace()));
    return type;
  }
  if (word == "seq") return ReadListType(TypeKind::kSequence);
  if (word == "optional") {
    FLAMBEAU_CHECK_OK(scan_.Expect('('));
    scan_.Skip();
    const std::string_view element = scan_.TakeName();
    FLAMBEAU_TRY(Type type, element == "seq" ? ReadListType(TypeKind::kOptionalSequence) : ReadTensorType(element));
    if (type.is_tensor()) type.kind = TypeKind::kOptional;
    FLAMBEAU_CHECK_OK(scan_.Expect(')'));
    return type;
  }
  const TypeKind* kind = FindWord(kTypeWords, word);
  if (!kind) return scan_.Error("`" + std::string(word) + "` is no type", "a type reads f32[2, n], int or none");
  Type type;
  type.kind = *kind;
  if (*kind == TypeKind::kInt) type = {TypeKind::kInt, DType::kInt64, true, {}, {}, {}};
  if (*kind == TypeKind::kFloat) type = Type::OfFloat();
  if (*kind == TypeKind::kBool) type = Type::OfBool();
  if ((*kind == TypeKind::kInt || *kind == TypeKind::kBool) && scan_.TakeAdjacent("(")) {
    FLAMBEAU_CHECK_OK(ReadExprs(')', &type.contents.emplace()));
    if (type.contents->size() != 1) return scan_.Error("a number has one value");
  }
  return type;
}

// --- numbers -----------------------------------------------------------------

Result<std::variant<int64_t, double>> LiteralReader::ReadNumber() {
  using Number = std::variant<int64_t, double>;
  scan_.Skip();
  const size_t start = scan_.position();
  const bool negative = scan_.Take('-');
  const std::string_view sign = negative ? "-" : "";
  if (scan_.TakeWord("inf"))
    return Number(negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
  if (scan_.TakeWord("nan")) return Number(std::numeric_limits<double>::quiet_NaN());
  bool is_float;
  const std::string digits = std::string(sign) + std::string(scan_.TakeNumber(&is_float));
  if (is_float) {
    if (const auto value = ParseFloat(digits)) return Number(*value);
  } else {
    int64_t value;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc() && end == digits.data() + digits.size()) return Number(value);
  }
  scan_.MoveTo(start);
  return scan_.Error("a number is expected, within 64 bits");
}

Result<int64_t> LiteralReader::ReadInt() {
  FLAMBEAU_TRY(const auto number, ReadNumber());
  if (const auto* value = std::get_if<int64_t>(&number)) return *value;
  return scan_.Error("an integer is expected");
}

// --- constants ---------------------------------------------------------------

template <class T>
Status LiteralReader::AppendNumber(std::vector<std::byte>* bytes) {
  FLAMBEAU_TRY(const auto number, ReadNumber());
  T value;
  if constexpr (std::is_floating_point_v<T>) {
    value = std::visit([](auto n) { return static_cast<T>(n); }, number);
  } else {
    const auto* integer = std::get_if<int64_t>(&number);
    if (!integer || !std::in_range<T>(*integer)) return scan_.Error("the number does not fit the data type");
    value = static_cast<T>(*integer);
  }
  const auto* raw = reinterpret_cast<const std::byte*>(&value);
  bytes->insert(bytes->end(), raw, raw + sizeof(T));
  return {};
}

Status LiteralReader::AppendElement(DType dtype, std::vector<std::byte>* bytes) {
  scan_.Skip();
  switch (dtype) {
    case DType::kBool: {
      const bool value = scan_.TakeWord("True");
      if (!value && !scan_.TakeWord("False")) return scan_.Error("True or False is expected");
      bytes->push_back(std::byte{value});
      return {};
    }
    case DType::kUint8: return AppendNumber<uint8_t>(bytes);
    case DType::kInt8: return AppendNumber<int8_t>(bytes);
    case DType::kUint16: return AppendNumber<uint16_t>(bytes);
    case DType::kInt16: return AppendNumber<int16_t>(bytes);
    case DType::kUint32: return AppendNumber<uint32_t>(bytes);
    case DType::kInt32: return AppendNumber<int32_t>(bytes);
    case DType::kInt64: return AppendNumber<int64_t>(bytes);
    case DType::kFloat32: return AppendNumber<float>(bytes);
    case DType::kFloat64: return AppendNumber<double>(bytes);
    default:
      return scan_.Error("elements of type " + std::string(Info(dtype).text) + " have no text",
                         "give their bytes: hex 003c");
  }
}

Status LiteralReader::ReadElements(TensorData* data) {
  std::vector<std::byte> bytes;
  uint64_t count = 0;
  if (!scan_.Take(']')) {
    do {
      FLAMBEAU_CHECK_OK(AppendElement(data->dtype, &bytes));
      ++count;
    } while (scan_.Take(','));
    FLAMBEAU_CHECK_OK(scan_.Expect(']'));
  }
  if (count != data->element_count())
    return scan_.Error(std::to_string(count) + " elements for a constant of " + std::to_string(data->element_count()));
  data->source = MakeBufferSource(std::move(bytes));
  return {};
}

Status LiteralReader::ReadHex(TensorData* data) {
  FLAMBEAU_TRY(std::vector<std::byte> bytes, scan_.TakeHex());
  if (bytes.size() != data->byte_size())
    return scan_.Error(std::to_string(bytes.size()) + " bytes for a constant of " + std::to_string(data->byte_size()));
  data->source = MakeBufferSource(std::move(bytes));
  return {};
}

Status LiteralReader::DataType(const Type& type, size_t start, TensorData* data) {
  auto constants = [&](const std::vector<Expr>& exprs, std::vector<int64_t>* out) {
    for (Expr e : exprs) {
      const auto value = context_.exprs().AsConstant(e);
      if (!value) return false;
      out->push_back(*value);
    }
    return true;
  };
  data->dtype = type.dtype;
  if (type.kind == TypeKind::kTensor && type.ranked && constants(type.sizes, &data->sizes)) return {};
  scan_.MoveTo(start);
  return scan_.Error("the bytes need a tensor type with constant sizes");
}

// [type] values; inside of tensor(…), the type and a comma.
Result<TensorData> LiteralReader::ReadData(const Type* known) {
  TensorData data;
  scan_.Skip();
  const size_t start = scan_.position();
  if (!known || !(scan_.Peek() == '[' || scan_.IsAtWord("hex") || scan_.IsAtWord("data"))) {
    FLAMBEAU_TRY(const Type type, ReadType());
    FLAMBEAU_CHECK_OK(DataType(type, start, &data));
    if (type.strides != ContiguousStrides(type.sizes, context_.exprs()))
      for (Expr e : type.strides) data.strides.push_back(context_.exprs().AsConstant(e).value_or(-1));
    if (!known) FLAMBEAU_CHECK_OK(scan_.Expect(','));
  } else {
    FLAMBEAU_CHECK_OK(DataType(*known, start, &data));
  }
  scan_.Skip();
  const bool elsewhere = scan_.TakeWord("data");
  std::string label;
  if (elsewhere) {
    FLAMBEAU_CHECK_OK(scan_.Expect('('));
    FLAMBEAU_TRY(label, scan_.TakeString());
    FLAMBEAU_CHECK_OK(scan_.Expect(','));
    FLAMBEAU_TRY(const int64_t offset, ReadInt());
    FLAMBEAU_CHECK_OK(scan_.Expect(')'));
    data.offset = static_cast<uint64_t>(offset);
  }
  if (static_cast<int64_t>(data.offset) < 0 ||
      !FitsInSource(data.dtype, data.sizes, data.strides, data.offset, INT64_MAX))
    return scan_.Error("sizes, strides or offset of the constant are out of range");
  if (elsewhere) {
    auto& source = sources_[label];
    if (!source) source = MakeAbsentSource(label);
    data.source = source;
    return data;
  }
  if (!data.strides.empty()) return scan_.Error("values that are given have no strides");
  if (scan_.TakeWord("hex")) {
    FLAMBEAU_CHECK_OK(ReadHex(&data));
  } else {
    FLAMBEAU_CHECK_OK(scan_.Expect('['));
    FLAMBEAU_CHECK_OK(ReadElements(&data));
  }
  return data;
}

}  // namespace flambeau
