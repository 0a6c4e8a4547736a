#include "support/numeric.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace flambeau {
namespace {

uint8_t Encoded(DType dtype, double value) {
  std::byte byte{};
  StoreDouble(dtype, value, &byte);
  return std::to_integer<uint8_t>(byte);
}

// The codes are torch's: torch.tensor([…]).to(torch.float8_e8m0fnu).view(torch.uint8).
TEST(NumericTest, PowersOfTwoAreRoundedByTheirFraction) {
  const struct {
    double value;
    uint8_t code;
  } rows[] = {{1.4, 127}, {1.45, 127}, {1.49, 127}, {1.5, 128}, {2.9, 128}, {3.0, 129},      {6.0, 130},
              {0.0, 0},   {1e-45, 0},  {3e-39, 0},  {-1.6, 128}, {1.2e-38, 1}, {1.9e38, 254}, {3.4e38, 255}};
  for (const auto& row : rows) EXPECT_EQ(Encoded(DType::kFloat8E8M0, row.value), row.code) << row.value;
  EXPECT_EQ(Encoded(DType::kFloat8E8M0, std::numeric_limits<double>::infinity()), 255);
  EXPECT_EQ(Encoded(DType::kFloat8E8M0, std::nan("")), 255);
}

TEST(NumericTest, SmallFloatsRoundTrip) {
  for (const DType dtype : {DType::kFloat8E5M2, DType::kFloat8E4M3FN, DType::kFloat8E5M2FNUZ, DType::kFloat8E4M3FNUZ,
                            DType::kFloat8E8M0}) {
    for (int code = 0; code < 256; ++code) {
      const auto byte = static_cast<std::byte>(code);
      const double value = LoadDouble(dtype, &byte);
      if (std::isnan(value)) continue;
      EXPECT_EQ(Encoded(dtype, value), code) << Info(dtype).text;
    }
  }
}

TEST(NumericTest, FloatsBeyondIntegersBecomeTheLeast) {
  std::array<std::byte, 8> bytes{};
  for (const double value : {1e30, -1e30, std::nan(""), std::numeric_limits<double>::infinity()}) {
    StoreDouble(DType::kInt64, value, bytes.data());
    EXPECT_EQ(LoadInt(DType::kInt64, bytes.data()), INT64_MIN) << value;
    StoreDouble(DType::kFloat64, value, bytes.data());
    EXPECT_EQ(LoadInt(DType::kFloat64, bytes.data()), INT64_MIN) << value;
  }
}

}  // namespace
}  // namespace flambeau
