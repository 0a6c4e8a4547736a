#include "reader/pt2/tensor_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "aten/program.h"
#include "container/archive_builder_test.h"
#include "reader/pt2/archive_text_test.h"

namespace flambeau {
namespace {

using testing::Entries;
using testing::FirstError;
using testing::PackArchive;
using testing::PayloadText;
using testing::ProgramText;
using testing::ReadBytes;
using testing::ReadText;
using testing::TensorMetaText;

// x and a parameter `w`, float32[2, 2].
ProgramText WithWeight() {
  ProgramText program;
  program.inputs += ", {'as_tensor': {'name': 'p_w'}}";
  program.input_specs += ", {'parameter': {'arg': {'name': 'p_w'}, 'parameter_name': 'w'}}";
  program.tensor_values = "'p_w': " + TensorMetaText({2, 2});
  return program;
}

std::string MetaText(std::string_view sizes, std::string_view strides, int offset = 0, int dtype = 7) {
  auto list = [](std::string_view numbers) {
    std::string text;
    for (size_t at = 0; at < numbers.size();) {
      const size_t end = std::min(numbers.find(' ', at), numbers.size());
      text += (text.empty() ? "{'as_int': " : ", {'as_int': ") + std::string(numbers.substr(at, end - at)) + "}";
      at = end + 1;
    }
    return text;
  };
  return "{'dtype': " + std::to_string(dtype) + ", 'sizes': [" + list(sizes) + "], 'strides': [" + list(strides) +
         "], 'storage_offset': {'as_int': " + std::to_string(offset) + "}, 'layout': 7}";
}

std::string Floats(std::initializer_list<float> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(float));
}

std::string ReadWeight(std::string_view meta, std::string payload = std::string(64, '\1')) {
  return ReadText(PackArchive(WithWeight(), PayloadText("w", "weight_0", meta), "",
                              {{"data/weights/weight_0", std::move(payload)}}));
}

TEST(TensorTableTest, GathersStridedViewsOfOnePayload) {
  ProgramText program = WithWeight();
  program.inputs += ", {'as_tensor': {'name': 'p_v'}}";
  program.input_specs += ", {'buffer': {'arg': {'name': 'p_v'}, 'buffer_name': 'v', 'persistent': false}}";
  program.tensor_values += ", 'p_v': " + TensorMetaText({2, 2});
  const std::string payload = Floats({0, 1, 2, 3, 4});
  Sink sink;
  auto read = ReadBytes(PackArchive(program, PayloadText("w", "weight_0", MetaText("2 2", "1 2", 1)),
                                    PayloadText("v", "tensor_0", MetaText("2 2", "0 1")),
                                    {{"data/weights/weight_0", payload}, {"data/constants/tensor_0", payload}}),
                        sink);
  ASSERT_TRUE(read) << FirstError(sink);
  const Program::Impl& impl = read->impl();
  auto values = [&](const InputSpec& input) {
    const auto bytes = (*impl.context)[impl.graph[input.value].data].ReadAll(1024);
    EXPECT_TRUE(bytes);
    const auto* floats = reinterpret_cast<const float*>(bytes->data());
    return std::vector<float>(floats, floats + bytes->size() / sizeof(float));
  };
  EXPECT_EQ(values(impl.inputs[1]), (std::vector<float>{1, 3, 2, 4}));
  EXPECT_EQ(values(impl.inputs[2]), (std::vector<float>{0, 1, 0, 1}));
  EXPECT_FALSE(impl.inputs[2].persistent);
}

TEST(TensorTableTest, SwapsTheBytesOfBigEndianArchives) {
  Sink sink;
  std::string payload = Floats({1, 2, 3, 4});
  for (size_t i = 0; i < payload.size(); i += 4) std::ranges::reverse(std::span(payload).subspan(i, 4));
  auto read = ReadBytes(PackArchive(WithWeight(), PayloadText("w", "weight_0", MetaText("2 2", "2 1")), "",
                                    {{"data/weights/weight_0", payload}, {"byteorder", "big"}}),
                        sink);
  ASSERT_TRUE(read) << FirstError(sink);
  const Program::Impl& impl = read->impl();
  const auto bytes = (*impl.context)[impl.graph[impl.inputs[1].value].data].ReadAll(1024);
  ASSERT_TRUE(bytes);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size()), Floats({1, 2, 3, 4}));
}

TEST(TensorTableTest, TiedWeightsShareTheirBytes) {
  ProgramText program = WithWeight();
  program.inputs += ", {'as_tensor': {'name': 'p_v'}}, {'as_tensor': {'name': 'p_u'}}";
  program.input_specs +=
      ", {'parameter': {'arg': {'name': 'p_v'}, 'parameter_name': 'v'}}, "
      "{'parameter': {'arg': {'name': 'p_u'}, 'parameter_name': 'u'}}";
  program.tensor_values += ", 'p_v': " + TensorMetaText({2, 2}) + ", 'p_u': " + TensorMetaText({2, 2});
  const std::string same = MetaText("2 2", "2 1");
  Sink sink;
  auto read = ReadBytes(PackArchive(program,
                                    PayloadText("w", "weight_0", same) + ", " + PayloadText("v", "weight_0", same) +
                                        ", " + PayloadText("u", "weight_0", MetaText("2 2", "2 1", 1)),
                                    "", {{"data/weights/weight_0", std::string(20, '\2')}}),
                        sink);
  ASSERT_TRUE(read) << FirstError(sink);
  const Program::Impl& impl = read->impl();
  auto data = [&](int i) -> const TensorData& { return (*impl.context)[impl.graph[impl.inputs[i].value].data]; };
  EXPECT_TRUE(data(1).SameBytes(data(2)));
  EXPECT_FALSE(data(1).SameBytes(data(3)));
}

TEST(TensorTableTest, RefusesWhatDoesNotFitThePayload) {
  const std::string at = " [m/data/weights/model_weights_config.json#/config/w/tensor_meta]";
  EXPECT_EQ(ReadWeight(MetaText("2 2", "2 1"), std::string(15, '\0')),
            "bad-tensor: the tensor does not fit its payload of 15 bytes, 'm/data/weights/weight_0'" + at);
  EXPECT_TRUE(ReadWeight(MetaText("2 2", "2 1", 13)).starts_with("bad-tensor: the tensor does not fit"));
  EXPECT_TRUE(ReadWeight(MetaText("2 2", "2 1", -1)).starts_with("bad-tensor: the tensor does not fit"));
  EXPECT_TRUE(ReadWeight(MetaText("2 2", "-2 1")).starts_with("bad-tensor: the tensor does not fit"));
  EXPECT_TRUE(ReadWeight(MetaText("2 2", "1")).starts_with("bad-tensor: the tensor does not fit"));
  EXPECT_TRUE(ReadWeight(MetaText("4611686018427387904 4611686018427387904", "0 0"))
                  .starts_with("bad-tensor: the tensor does not fit"));
  EXPECT_EQ(
      ReadWeight(MetaText("1000000000000000", "0")),
      "bad-tensor: the tensor claims 4000000000000000 bytes, its payload 'm/data/weights/weight_0' holds 64" + at);
  EXPECT_EQ(ReadWeight(MetaText("2 3", "3 1")),
            "bad-tensor: the graph describes 'w' with another dtype or other sizes than it was saved with "
            "[m/models/model.json#/graph_module/signature/input_specs/1/parameter]");
  EXPECT_TRUE(
      ReadWeight(MetaText("2 2", "2 1", 0, 8)).starts_with("bad-tensor: the graph describes 'w' with another dtype"));
}

TEST(TensorTableTest, SaysWhatIsMissing) {
  EXPECT_EQ(ReadText(PackArchive(WithWeight())),
            "missing-entry: the archive holds no tensor named 'w' "
            "[m/models/model.json#/graph_module/signature/input_specs/1/parameter]");
  EXPECT_EQ(ReadText(PackArchive(WithWeight(), PayloadText("w", "weight_0", MetaText("2 2", "2 1")))),
            "missing-entry: the archive has no entry 'm/data/weights/weight_0' "
            "[m/data/weights/model_weights_config.json#/config/w]");
  EXPECT_EQ(ReadText(PackArchive(WithWeight(), "", "", {{"data/weights/model_weights_config.json", ""}})),
            "missing-entry: the archive has no entry 'm/data/weights/model_weights_config.json'");
  EXPECT_TRUE(ReadText(PackArchive(WithWeight(), "'w': {'path_name': 3}"))
                  .starts_with("bad-json: expected a string, found an integer"));
}

}  // namespace
}  // namespace flambeau
