#include "onnx/operator_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace flambeau::onnx {
namespace {

TEST(OperatorTable, FindsTheVersionInForce) {
  ASSERT_EQ(FindOperator("ReduceSum", 12)->since_version, 11);
  ASSERT_EQ(FindOperator("ReduceSum", 13)->since_version, 13);
  EXPECT_EQ(FindOperator("Gelu", 19), nullptr);
  EXPECT_EQ(FindOperator("Gelu", 20)->since_version, 20);
  EXPECT_EQ(FindOperator("NoSuchOperator", 20), nullptr);
  EXPECT_EQ(FindOperator("", 20), nullptr);
}

TEST(OperatorTable, IsSortedSoThatBinarySearchFindsEveryRow) {
  for (const OperatorVersion& row : AllOperators()) {
    EXPECT_EQ(FindOperator(row.name, row.since_version), &row) << row.name << " " << row.since_version;
  }
}

TEST(OperatorTable, KnowsWhatDraws) {
  std::set<std::string_view> draws;
  for (const OperatorVersion& row : AllOperators())
    if (DrawsNumbers(row.name)) draws.insert(row.name);
  EXPECT_EQ(draws, (std::set<std::string_view>{"Bernoulli", "Dropout", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
                                               "RandomUniformLike"}));
  EXPECT_FALSE(DrawsNumbers("NoSuchOperator"));
}

TEST(OperatorTable, RangesStayInsideTheirArrays) {
  for (const OperatorVersion& row : AllOperators()) {
    EXPECT_GE(NewestOpset(), row.since_version);
    for (const auto& formals : {row.inputs(), row.outputs()}) {
      for (const FormalParameter& formal : formals) EXPECT_LT(formal.type, row.types().size()) << row.name;
    }
    for (const AttributeSchema& attribute : row.attributes()) {
      EXPECT_FALSE(attribute.required && attribute.has_default) << row.name << " " << attribute.name;
      EXPECT_EQ(row.FindAttribute(attribute.name), &attribute);
    }
  }
}

TEST(OperatorTable, KnowsAxesAsAttributeThenAsInput) {
  const OperatorVersion& before = *FindOperator("ReduceSum", 11);
  EXPECT_EQ(before.FindAttribute("axes")->type, AttributeType::kInts);
  EXPECT_EQ(before.inputs().size(), 1u);
  const OperatorVersion& after = *FindOperator("ReduceSum", 13);
  EXPECT_EQ(after.FindAttribute("axes"), nullptr);
  ASSERT_EQ(after.inputs().size(), 2u);
  EXPECT_EQ(after.inputs()[1].name, "axes");
  EXPECT_EQ(after.inputs()[1].option, FormalOption::kOptional);
  EXPECT_EQ(after.type_of(after.inputs()[1]).tensors, DTypeSet{DType::kInt64});
  EXPECT_EQ(after.min_inputs, 1);
  EXPECT_EQ(after.max_inputs, 2);
}

TEST(OperatorTable, VariadicFormalsTakeAllThatFollows) {
  const OperatorVersion& concat = *FindOperator("Concat", 13);
  EXPECT_EQ(concat.input(0), concat.input(100));
  EXPECT_EQ(concat.input(-1), nullptr);
  EXPECT_EQ(concat.max_inputs, kUnbounded);
  EXPECT_TRUE(concat.FindAttribute("axis")->required);
  EXPECT_EQ(FindOperator("Relu", 14)->input(1), nullptr);
  EXPECT_FALSE(FindOperator("Loop", 13)->input(2)->homogeneous);
}

TEST(OperatorTable, HoldsDefaultsOfEachKind) {
  const OperatorVersion& rnn = *FindOperator("RNN", 14);
  EXPECT_EQ(rnn.FindAttribute("direction")->default_string, "forward");
  ASSERT_EQ(rnn.FindAttribute("activations")->default_strings().size(), 2u);
  EXPECT_EQ(rnn.FindAttribute("activations")->default_strings()[1], "Tanh");
  const AttributeSchema& axes = *FindOperator("MeanVarianceNormalization", 13)->FindAttribute("axes");
  EXPECT_TRUE(std::ranges::equal(axes.default_ints(), std::initializer_list<int64_t>{0, 2, 3}));
  EXPECT_EQ(FindOperator("Softmax", 11)->FindAttribute("axis")->default_int, 1);
  EXPECT_EQ(FindOperator("Softmax", 13)->FindAttribute("axis")->default_int, -1);
  EXPECT_EQ(FindOperator("BatchNormalization", 15)->FindAttribute("momentum")->default_float, 0.9);
  EXPECT_FALSE(FindOperator("EyeLike", 9)->FindAttribute("dtype")->has_default);
}

TEST(OperatorTable, KnowsTypesSequencesAndOptionals) {
  const TypeConstraint& relu = *FindOperator("Relu", 14)->FindType("T");
  EXPECT_TRUE(relu.tensors.contains(DType::kInt32));
  EXPECT_FALSE(relu.tensors.contains(DType::kBool));
  EXPECT_TRUE(relu.sequences.empty());
  const TypeConstraint& sequence = *FindOperator("SequenceAt", 11)->FindType("S");
  EXPECT_TRUE(sequence.tensors.empty());
  EXPECT_TRUE(sequence.sequences.contains(DType::kString));
  EXPECT_TRUE(FindOperator("Identity", 16)->FindType("V")->optionals);
  EXPECT_EQ(FindOperator("Relu", 14)->FindType("Q"), nullptr);
}

TEST(OperatorTable, FlagsDeprecatedOperatorsAndFunctions) {
  EXPECT_TRUE(FindOperator("Upsample", 10)->deprecated);
  EXPECT_FALSE(FindOperator("Upsample", 9)->deprecated);
  EXPECT_TRUE(FindOperator("Gelu", 20)->has_function);
  EXPECT_FALSE(FindOperator("MatMul", 13)->has_function);
}

}  // namespace
}  // namespace flambeau::onnx
