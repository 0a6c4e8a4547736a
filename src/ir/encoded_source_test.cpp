#include "ir/encoded_source.h"

#include <gtest/gtest.h>

#include <cstring>

namespace flambeau {
namespace {

std::shared_ptr<const DataSource> Bytes(std::string_view text) {
  std::vector<std::byte> bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return MakeBufferSource(std::move(bytes));
}

std::string Read(const DataSource& source, uint64_t offset, size_t size) {
  std::string out(size, '?');
  if (!source.Read(offset, std::as_writable_bytes(std::span(out)))) return "nothing";
  return out;
}

TEST(EncodedSource, HalvesOfBytesFromTheLowerOne) {
  const auto source = MakeEncodedSource(Bytes("\x21\x43"), {.bits = 4});
  EXPECT_EQ(source->size(), 4u);
  EXPECT_EQ(Read(*source, 0, 4), "\1\2\3\4");
  EXPECT_EQ(Read(*source, 1, 2), "\2\3");
  EXPECT_EQ(Read(*source, 2, 3), "nothing");
}

TEST(EncodedSource, QuartersOfBytes) {
  const auto source = MakeEncodedSource(Bytes("\xe4\x1b"), {.bits = 2});
  EXPECT_EQ(Read(*source, 0, 8), std::string("\0\1\2\3\3\2\1\0", 8));
}

TEST(EncodedSource, OtherByteOrderAtAnyOffset) {
  const auto source = MakeEncodedSource(Bytes("dcbahgfe"), {.swapped_width = 4});
  EXPECT_EQ(Read(*source, 0, 8), "abcdefgh");
  EXPECT_EQ(Read(*source, 3, 3), "def");
  EXPECT_EQ(Read(*source, 7, 2), "nothing");
}

TEST(EncodedSource, ManyPieces) {
  const std::string text(10001, '\x21');
  const auto source = MakeEncodedSource(Bytes(text), {.bits = 4});
  const std::string read = Read(*source, 1, 20001);
  EXPECT_EQ(read.substr(0, 2), "\2\1");
  EXPECT_EQ(read.substr(8190, 4), "\2\1\2\1");
  EXPECT_EQ(read.back(), '\2');
}

TEST(EncodedSource, NumbersInHalfAByte) {
  const TensorData signed_numbers{.source = Bytes("\1\xff\x8\xf8\7\2"), .offset = 0, .dtype = DType::kInt8, .sizes = {1, 5}};
  EXPECT_FALSE(Narrowed(signed_numbers, DType::kInt4));  // 8 is none
  TensorData fitting = signed_numbers;
  fitting.offset = 3;
  fitting.sizes = {3};
  const auto narrowed = Narrowed(fitting, DType::kInt4);
  ASSERT_TRUE(narrowed);
  EXPECT_EQ(narrowed->byte_size(), 2u);
  EXPECT_EQ(Read(*narrowed->source, 0, 2), "\x78\2");
  EXPECT_EQ(Read(*narrowed->source, 1, 1), "\2");
  EXPECT_EQ(Read(*narrowed->source, 1, 2), "nothing");
  EXPECT_FALSE(Narrowed(fitting, DType::kUint4));
  EXPECT_FALSE(Narrowed(fitting, DType::kInt8));
}

TEST(EncodedSource, TransposedNumbersInHalfAByte) {
  const auto narrowed = Narrowed({.source = Bytes("\1\2\3\4\5\6"), .dtype = DType::kUint8, .sizes = {3, 2}, .strides = {1, 3}}, DType::kUint4);
  ASSERT_TRUE(narrowed);
  EXPECT_TRUE(narrowed->contiguous());
  EXPECT_EQ(Read(*narrowed->source, 0, 3), "\x41\x52\x63");
}

}  // namespace
}  // namespace flambeau
