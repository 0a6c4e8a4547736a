#include "ir/tensor_data.h"

#include <gtest/gtest.h>

#include <numeric>

namespace flambeau {
namespace {

// Bytes 0, 1, 2, … behind a callback, which counts what is read of them.
std::shared_ptr<const DataSource> CountingSource(uint64_t size, uint64_t* read) {
  return MakeCallbackSource(size, [read](uint64_t offset, std::span<std::byte> out) {
    for (std::byte& byte : out) byte = static_cast<std::byte>(offset++);
    *read += out.size();
    return true;
  });
}

std::vector<uint8_t> ReadPart(const TensorData& data, uint64_t position, size_t size) {
  std::vector<std::byte> bytes(size);
  EXPECT_TRUE(data.Read(position, bytes));
  std::vector<uint8_t> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<uint8_t>(byte));
  return numbers;
}

TEST(TensorDataTest, PartsOfAStridedTensorAreItsWhole) {
  uint64_t read = 0;
  const TensorData data{CountingSource(100, &read), 3, DType::kUint8, {2, 3, 4}, {12, 1, 3}};
  const std::vector<uint8_t> whole = ReadPart(data, 0, 24);
  EXPECT_EQ(whole[0], 3);
  EXPECT_EQ(whole[1], 6);   // stride 3
  EXPECT_EQ(whole[4], 4);   // stride 1
  EXPECT_EQ(whole[12], 15);  // stride 12
  for (size_t from = 0; from <= 24; ++from) {
    for (size_t to = from; to <= 24; ++to)
      EXPECT_EQ(ReadPart(data, from, to - from), std::vector(whole.begin() + from, whole.begin() + to));
  }
}

// Who reads a strided tensor in pieces must not read all of it for each.
TEST(TensorDataTest, PartsReadWhatTheyTouch) {
  uint64_t read = 0;
  const TensorData channels_last{CountingSource(4096, &read), 0, DType::kUint8, {16, 16, 4, 4}, {256, 1, 64, 16}};
  for (uint64_t position = 0; position < 4096; position += 64) ReadPart(channels_last, position, 64);
  EXPECT_LE(read, 4u * 4096);
}

}  // namespace
}  // namespace flambeau
