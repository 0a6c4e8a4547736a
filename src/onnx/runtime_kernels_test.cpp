#include "onnx/runtime_kernels.h"

#include <gtest/gtest.h>

namespace flambeau::onnx {
namespace {

TEST(RuntimeKernels, KnowsTypesByVersion) {
  EXPECT_TRUE(RuntimeSupports("Gemm", 13, "T", DType::kFloat32));
  EXPECT_FALSE(RuntimeSupports("Gemm", 13, "T", DType::kInt64));
  EXPECT_FALSE(RuntimeSupports("TopK", 10, "T", DType::kInt64));
  EXPECT_TRUE(RuntimeSupports("TopK", 11, "T", DType::kInt64));
}

TEST(RuntimeKernels, AnOpsetBetweenTwoVersionsMeansTheEarlier) {
  EXPECT_EQ(RuntimeKernels("Gemm", 20).Dtypes("T"), RuntimeKernels("Gemm", 13).Dtypes("T"));
  EXPECT_FALSE(RuntimeKernels("Gemm", 20).Dtypes("T").empty());
}

TEST(RuntimeKernels, WithoutAKernelThereAreNoTypes) {
  EXPECT_FALSE(RuntimeKernels("MeanVarianceNormalization", 0).any());
  EXPECT_FALSE(RuntimeKernels("NoSuchOperator", 20).any());
  EXPECT_TRUE(RuntimeKernels("NoSuchOperator", 20).Dtypes("T").empty());
  EXPECT_TRUE(RuntimeKernels("Gelu", 19).Dtypes("T").empty());
}

TEST(RuntimeKernels, WhatAKernelLeavesOpenIsAsOnnxSays) {
  ASSERT_TRUE(RuntimeKernels("NonMaxSuppression", 11).any());
  EXPECT_EQ(RuntimeKernels("NonMaxSuppression", 11).Dtypes("tensor(float)"), DTypeSet{DType::kFloat32});
  EXPECT_TRUE(RuntimeKernels("NonMaxSuppression", 11).Dtypes("T").empty());
}

TEST(RuntimeKernels, KnowsContribOperators) {
  EXPECT_TRUE(RuntimeSupports("com.microsoft::FusedMatMul", 1, "T", DType::kFloat32));
  EXPECT_FALSE(RuntimeKernels("FusedMatMul", 20).any());
}

}  // namespace
}  // namespace flambeau::onnx
