// Our inference against onnx's own, over constant sizes: infer_cases.inc.
#include <gtest/gtest.h>

#include <cstring>
#include <sstream>

#include "onnx/infer/infer.h"
#include "onnx/infer/sizes.h"

namespace flambeau::onnx {
namespace {

struct Case {
  std::string_view op;
  int opset;
  std::string_view operands, attributes, results;
};

constexpr Case kCases[] = {
#include "onnx/infer/infer_cases.inc"
};

std::vector<std::string> SplitText(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream{std::string(text)};
  for (std::string part; std::getline(stream, part, separator);) parts.push_back(part);
  return parts;
}

Ints ParseInts(std::string_view text) {
  Ints values;
  for (const std::string& part : SplitText(text, ',')) values.push_back(std::stoll(part));
  return values;
}

std::string_view Between(std::string_view text, char open, char close) {
  const size_t from = text.find(open), to = text.find(close);
  return from == std::string_view::npos ? std::string_view() : text.substr(from + 1, to - from - 1);
}

DType ParseDType(std::string_view text) { return DTypeFromText(text.substr(0, text.find('['))).value_or(DType::kNone); }

// "f32[2,3]", "i64[2]{1,-1}"; "_" is absent.
Type ParseType(ExprPool& exprs, std::string_view text) {
  if (text == "_") return Type::OfNone();
  Type type = Type::OfTensor(ParseDType(text), ConstantExprs(exprs, ParseInts(Between(text, '[', ']'))));
  if (text.ends_with('}')) type.contents = ConstantExprs(exprs, ParseInts(Between(text, '{', '}')));
  return type;
}

DataId ParseTensor(Context& context, std::string_view text) {
  const Ints values = ParseInts(Between(text, '{', '}'));
  std::vector<std::byte> bytes(values.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return context.Add(TensorData{.source = MakeBufferSource(std::move(bytes)),
                                .dtype = ParseDType(text),
                                .sizes = ParseInts(Between(text, '[', ']'))});
}

Attribute ParseAttribute(Context& context, std::string_view kind, std::string_view text) {
  if (kind == "int") return ParseInts(text).front();
  if (kind == "ints") return ParseInts(text);
  if (kind == "tensor") return ParseTensor(context, text);
  if (kind == "text") return std::string(text);
  Floats floats;
  for (const std::string& part : SplitText(text, ',')) floats.push_back(std::stod(part));
  return floats;
}

// Nothing where `type` says at least what onnx says of a result.
std::string Disagreement(const ExprPool& exprs, const Type& type, std::string_view expected) {
  if (expected == "_") return "";
  const bool sequence = expected.starts_with("seq:");
  if (sequence) expected.remove_prefix(4);
  if (type.kind != (sequence ? TypeKind::kSequence : TypeKind::kTensor)) return "wrong kind";
  if (type.dtype != ParseDType(expected)) return "wrong element type " + std::string(Info(type.dtype).text);
  if (!expected.ends_with(']')) return "";
  if (!type.ranked) return "unranked";
  const auto sizes = SplitText(Between(expected, '[', ']'), ',');
  if (sizes.size() != type.sizes.size()) return "rank " + std::to_string(type.sizes.size());
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != "?" && sizes[d] != exprs.Text(type.sizes[d]))
      return "size " + std::to_string(d) + " is " + exprs.Text(type.sizes[d]);
  return "";
}

TEST(InferCases, AgreeWithOnnx) {
  for (const Case& row : kCases) {
    Context context;
    std::vector<Type> operands;
    for (const std::string& text : SplitText(row.operands, ' ')) operands.push_back(ParseType(context.exprs(), text));
    std::vector<const Type*> pointers;
    for (const Type& type : operands) pointers.push_back(type.kind == TypeKind::kNone ? nullptr : &type);
    const auto spelled = SplitText(row.attributes, ' ');
    std::vector<AttributeList::Item> attributes;
    for (const std::string& text : spelled) {
      const size_t equals = text.find('='), colon = text.find(':');
      const std::string_view view = text;
      attributes.emplace_back(
          view.substr(0, equals),
          ParseAttribute(context, view.substr(equals + 1, colon - equals - 1), view.substr(colon + 1)));
    }
    const auto expected = SplitText(row.results, ' ');
    std::vector<Type> results(expected.size());
    InferContext infer(context, row.opset, pointers, attributes, results);
    InferTypes(row.op, infer);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(Disagreement(context.exprs(), results[i], expected[i]), "")
          << row.op << " (opset " << row.opset << ") of " << row.operands << " with " << row.attributes << ": result "
          << i << " is " << expected[i];
  }
}

}  // namespace
}  // namespace flambeau::onnx
