#include "onnx/constant_nodes.h"

#include <gtest/gtest.h>

#include "onnx/model.h"

namespace flambeau::onnx {
namespace {

class ConstantNodesTest : public testing::Test {
 protected:
  ConstantNodesTest() : graph_(&context_) {}

  TypeId Vector(DType dtype, int64_t size) { return context_.Intern(Type::OfTensor(dtype, {context_.exprs().Constant(size)})); }
  ValueId Constant(std::string_view name, DType dtype, int64_t size) {
    std::vector<std::byte> bytes(static_cast<size_t>(size * ByteSize(dtype)), std::byte{0xFF});
    const DataId data = context_.Add({MakeBufferSource(std::move(bytes)), 0, dtype, {size}, {}});
    return graph_.AddConstant(data, Vector(dtype, size), context_.Intern(name));
  }
  void Return(std::vector<ValueId> values) { graph_.SetOutputs(graph_.main(), values); }
  std::vector<std::string> Operators() const {
    std::vector<std::string> ops;
    graph_.ForEachNode(graph_.main(), [&](NodeId node) { ops.emplace_back(graph_.op(node)); });
    return ops;
  }
  void Make(ValueId weight, int opset) {
    MakeConstantNodes(graph_, [&](ValueId value) { return value == weight; }, opset);
  }

  Context context_;
  Graph graph_;
};

using Ops = std::vector<std::string>;

TEST_F(ConstantNodesTest, AllButWeights) {
  const ValueId weight = Constant("w", DType::kFloat32, 2), two = Constant("c", DType::kFloat32, 2), numbers = Constant("n", DType::kInt64, 2);
  Return({weight, two, numbers});
  Make(weight, 13);
  EXPECT_EQ(Initializers(graph_), std::vector{weight});
  EXPECT_EQ(Operators(), (Ops{"Constant", "Constant"}));
  EXPECT_EQ(context_.Text(graph_[graph_.output(graph_.main(), 1)].name), "c");
}

// Before opset 9 integers are cast from floats, if these have their digits.
TEST_F(ConstantNodesTest, IntegersAreCast) {
  const ValueId minus_one = Constant("i", DType::kInt64, 2), most = Constant("u", DType::kUint64, 2), half = Constant("h", DType::kFloat16, 2);
  Return({minus_one, most, half});
  Make({}, 8);
  EXPECT_EQ(Initializers(graph_), std::vector{most});
  EXPECT_EQ(Operators(), (Ops{"Constant", "Cast", "Constant"}));
  EXPECT_EQ(graph_.type(graph_.output(graph_.main(), 0)).dtype, DType::kInt64);
}

TEST_F(ConstantNodesTest, LargeOnesStay) {
  const ValueId large = Constant("l", DType::kFloat32, 1 << 20), small = Constant("s", DType::kFloat32, 1);
  Return({large, small});
  Make({}, 13);
  EXPECT_EQ(Initializers(graph_), std::vector{large});
}

}  // namespace
}  // namespace flambeau::onnx
