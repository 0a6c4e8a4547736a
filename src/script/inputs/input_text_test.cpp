#include "script/inputs/input_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "reader/torchscript/types.h"

namespace flambeau::script {
namespace {

std::string Print(const ScriptConstant& constant) {
  if (const auto* text = std::get_if<std::string>(&constant.value)) return fmt::format("'{}'", *text);
  if (const auto* integer = std::get_if<int64_t>(&constant.value)) return std::to_string(*integer);
  if (const auto* number = std::get_if<double>(&constant.value)) return fmt::format("{:.2f}", *number);
  if (const auto* flag = std::get_if<bool>(&constant.value)) return *flag ? "True" : "False";
  return "None";
}

std::string Print(const ScriptInput& input) {
  std::vector<std::string> parts;
  for (const ScriptInput& element : input.elements) parts.push_back(Print(element));
  for (size_t i = 0; i < input.keys.size(); ++i) parts[i] = Print(input.keys[i]) + ": " + parts[i];
  switch (input.kind) {
    case ScriptInput::Kind::kConstant: return Print(input.constant);
    case ScriptInput::Kind::kList: return fmt::format("[{}]", fmt::join(parts, ", "));
    case ScriptInput::Kind::kTuple: return fmt::format("({})", fmt::join(parts, ", "));
    case ScriptInput::Kind::kDict: return fmt::format("{{{}}}", fmt::join(parts, ", "));
    case ScriptInput::Kind::kTensor:
    case ScriptInput::Kind::kDefault: break;
  }
  for (const auto& size : input.sizes)
    parts.push_back(std::holds_alternative<int64_t>(size) ? std::to_string(std::get<int64_t>(size)) : std::get<std::string>(size));
  return fmt::format("{}<{}>", Info(*DTypeFromTorchCode(input.dtype)).torch_name, fmt::join(parts, ","));
}

std::string Parsed(std::string_view text) {
  const auto input = ParseInput(text);
  return input ? Print(*input) : "none";
}

TEST(InputText, DescribesTensorsAndConstants) {
  EXPECT_EQ(Parsed(" float32[batch, 3] "), "float32<batch,3>");
  EXPECT_EQ(Parsed("bool[]"), "bool<>");
  EXPECT_EQ(Parsed("3"), "3");
  EXPECT_EQ(Parsed("-0.5"), "-0.50");
  EXPECT_EQ(Parsed("True"), "True");
  EXPECT_EQ(Parsed("None"), "None");
  EXPECT_EQ(Parsed("'a, b]'"), "'a, b]'");
}

TEST(InputText, DescribesContainers) {
  EXPECT_EQ(Parsed("[]"), "[]");
  EXPECT_EQ(Parsed("[float32[3,h,w], float32[3,4,5],]"), "[float32<3,h,w>, float32<3,4,5>]");
  EXPECT_EQ(Parsed("(float32[2], [1, 2], None)"), "(float32<2>, [1, 2], None)");
  EXPECT_EQ(Parsed("{'a': int64[n], \"b\": [(), {3: True}]}"), "{'a': int64<n>, 'b': [(), {3: True}]}");
}

TEST(InputText, RefusesTheRest) {
  for (const std::string_view text : {"", "float32", "float33[2]", "float32[2", "float32[-1]", "float32[2]]", "[", "[1", "[1,,2]", "]", "[1)", "(,)", "{1}",
                                      "{1: }", "{[]: 1}", "'a", "1 2", "[1] [2]", "float32[2] x"})
    EXPECT_EQ(Parsed(text), "none") << text;
  EXPECT_EQ(Parsed(std::string(100'000, '[') + std::string(100'000, ']')), "none");
}

TEST(InputText, ShowsHowToDescribeAnInput) {
  const auto example = [](std::string_view schema_type) { return ExampleOf(*torchscript::ParseSchemaType(schema_type)); };
  for (const std::string_view type : {"Tensor", "Tensor[]", "(Tensor, int)", "Dict(str, Tensor)", "float?", "Tensor[][]"})
    EXPECT_TRUE(ParseInput(example(type))) << example(type);
  EXPECT_EQ(example("Dict(str, Tensor[])"), "{'text': [float32[batch,3,224,224]]}");
}

}  // namespace
}  // namespace flambeau::script
