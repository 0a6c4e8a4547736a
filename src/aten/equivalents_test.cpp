#include "aten/equivalents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace flambeau::aten {
namespace {

TEST(Equivalents, RowsAreSortedAndNameOperatorsAndTheirArguments) {
  const auto rows = EquivalentRows();
  EXPECT_TRUE(std::ranges::is_sorted(rows, {}, &EquivalentRow::op));
  for (const EquivalentRow& row : rows) {
    EXPECT_NE(FindSchema(row.op), nullptr) << row.op;
    EXPECT_TRUE(FindEquivalent(row.op)) << row.op;
  }
}

TEST(Equivalents, LeaveOutNothingThatMatters) {
  constexpr std::string_view kNowhere[] = {"device", "requires_grad", "non_blocking", "stride", "output_dtype", "generator"};
  for (const EquivalentRow& row : EquivalentRows()) {
    const auto equivalent = FindEquivalent(row.op);
    const Schema& from = *FindSchema(row.op);
    for (int i = 0; i < static_cast<int>(from.arguments.size()); ++i) {
      const bool taken = std::ranges::any_of(equivalent->arguments, [&](const auto& source) { return source.argument == i; });
      EXPECT_TRUE(taken || std::ranges::find(kNowhere, from.arguments[i].name) != std::end(kNowhere)) << row.op << " " << from.arguments[i].name;
    }
  }
}

TEST(Equivalents, WriteInPlaceWhereTheOperatorDoes) {
  EXPECT_EQ(FindEquivalent("aten::_foreach_add_.List")->schema->name, "aten::add_.Tensor");
  EXPECT_EQ(FindEquivalent("aten::_foreach_pow_.Scalar")->schema->name, "aten::pow_.Scalar");
  EXPECT_EQ(FindEquivalent("aten::_foreach_abs")->schema->name, "aten::abs");
  EXPECT_FALSE(FindEquivalent("aten::add_.Tensor"));
}

class ReplacedCalls : public testing::Test {
 protected:
  std::string Text(std::string_view op, const std::vector<Attribute>& arguments, uint32_t operands) {
    CanonicalCall call;
    for (uint32_t i = 0; i < operands; ++i) call.operands.push_back(ValueId{i});
    for (const Attribute& argument : arguments) call.attributes.push_back({context_.Intern("x"), argument});
    const auto calls = Replace(*FindEquivalent(op), call, op, context_, sink_);
    if (!calls) return sink_.diagnostics()[0].message;
    std::string text;
    for (const CanonicalCall& one : *calls) {
      for (const ValueId operand : one.operands) text += "%" + std::to_string(operand.index);
      for (const auto& [name, value] : one.attributes)
        if (const auto* number = std::get_if<int64_t>(&value)) text += " " + std::to_string(*number);
      text += ";";
    }
    return text;
  }
  Context context_;
  Sink sink_;
};

TEST_F(ReplacedCalls, OneForEachElement) {
  const OperandList both{Operand{0}, Operand{1}};
  EXPECT_EQ(Text("aten::_foreach_mul.List", {both, OperandList{Operand{1}, Operand{0}}}, 2), "%0%1;%1%0;");
  EXPECT_EQ(Text("aten::_foreach_mul.ScalarList", {both, Ints{3, 4}}, 2), "%0 3;%1 4;");
  EXPECT_EQ(Text("aten::_foreach_mul.Tensor", {both, Operand{2}}, 3), "%0%2;%1%2;");
  EXPECT_EQ(Text("aten::_foreach_mul.ScalarList", {both, Ints{3}}, 2), "the lists that it takes differ in length");
  EXPECT_EQ(Text("aten::_foreach_abs", {OperandList{}}, 0), "");
}

TEST(Equivalents, ResultsOfABadCallAreValuesForWhatFollows) {
  ProgramBuilder builder;
  ValueInfo info;
  info.dtype = 6;  // float32
  info.sizes = {int64_t{2}};
  const Argument x(builder.AddInput(InputKind::kUser, "x", info));
  const Argument lists[] = {Argument(Argument::List{x}), Argument(Argument::List{x, x})};
  const std::pair<std::string_view, ValueInfo> result("y", info);
  const auto handles = builder.AddCall("torch.ops.aten._foreach_mul.List", lists, {}, {&result, 1}, {});
  ASSERT_EQ(handles.size(), 1u);
  const Argument written(Argument::List{Argument(handles[0])});
  builder.AddCall("torch.ops.aten._foreach_abs_.default", {&written, 1}, {}, {}, {});
  std::vector<Diagnostic> diagnostics;
  EXPECT_FALSE(builder.Finish(diagnostics));
  ASSERT_EQ(diagnostics.size(), 1u);
  EXPECT_EQ(diagnostics[0].message, "the lists that it takes differ in length");
}

}  // namespace
}  // namespace flambeau::aten
