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
  EXPECT_EQ(KernelDtypes("Gemm", 20, "T"), KernelDtypes("Gemm", 13, "T"));
  EXPECT_FALSE(KernelDtypes("Gemm", 20, "T").empty());
}

TEST(RuntimeKernels, WithoutAKernelThereAreNoTypes) {
  EXPECT_FALSE(HasKernel("MeanVarianceNormalization", 0));
  EXPECT_FALSE(HasKernel("NoSuchOperator", 20));
  EXPECT_TRUE(KernelDtypes("NoSuchOperator", 20, "T").empty());
  EXPECT_TRUE(KernelDtypes("Gelu", 19, "T").empty());
}

TEST(RuntimeKernels, WhatAKernelLeavesOpenIsAsOnnxSays) {
  ASSERT_TRUE(HasKernel("NonMaxSuppression", 11));
  EXPECT_EQ(KernelDtypes("NonMaxSuppression", 11, "tensor(float)"), DTypeSet{DType::kFloat32});
  EXPECT_TRUE(KernelDtypes("NonMaxSuppression", 11, "T").empty());
}

TEST(RuntimeKernels, TypesMustFitTogether) {
  const auto one_hot = [](DType indices, DType depth, DType values) {
    const TypeBinding types[] = {{"T1", indices}, {"T2", depth}, {"T3", values}};
    return RuntimeSupports("OneHot", 11, types);
  };
  EXPECT_TRUE(one_hot(DType::kInt32, DType::kInt32, DType::kFloat32));
  EXPECT_FALSE(one_hot(DType::kInt32, DType::kInt64, DType::kFloat32));
  EXPECT_TRUE(RuntimeSupports("OneHot", 11, "T2", DType::kInt64));
}

TEST(RuntimeKernels, KnowsContribOperators) {
  EXPECT_TRUE(RuntimeSupports("com.microsoft::FusedMatMul", 1, "T", DType::kFloat32));
  EXPECT_FALSE(HasKernel("FusedMatMul", 20));
}

}  // namespace
}  // namespace flambeau::onnx
