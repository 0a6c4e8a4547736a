#include "reader/torchscript/graph.h"

#include <gtest/gtest.h>

namespace flambeau::torchscript {
namespace {

TEST(TorchScriptGraph, PrintsAsTorchDoes) {
  Graph graph;
  Block* main = graph.AddBlock();
  const TypePtr tensor = Type::Of(TypeKind::kTensor), boolean = Type::Of(TypeKind::kBool);
  Value* x = graph.AddInput(main, tensor, "x.1");
  Value* one = graph.AppendConstant(main, {int64_t{1}}, Type::Of(TypeKind::kInt), "3");
  Value* flag = graph.AddOutput(graph.Append(main, "aten::Bool", "Tensor", {x}), boolean, "4");
  Node* branch = graph.Append(main, "prim::If", "", {flag});
  for (int i = 0; i < 2; ++i) {
    Block* block = graph.AddBlock();
    branch->blocks.push_back(block);
    block->outputs.push_back(i == 0 ? x : graph.AddOutput(graph.Append(block, "aten::add", "Tensor", {x, x, one}), tensor, "5"));
  }
  main->outputs.push_back(graph.AddOutput(branch, tensor, "6"));
  EXPECT_EQ(Print(graph),
            "graph(%x.1 : Tensor):\n"
            "  %3 : int = prim::Constant[value=1]()\n"
            "  %4 : bool = aten::Bool.Tensor(%x.1)\n"
            "  %6 : Tensor = prim::If(%4)\n"
            "    block0():\n"
            "      -> (%x.1)\n"
            "    block1():\n"
            "      %5 : Tensor = aten::add.Tensor(%x.1, %x.1, %3)\n"
            "      -> (%5)\n"
            "  return (%6)\n");
}

TEST(TorchScriptGraph, WritesTypesAsAnnotations) {
  const TypePtr list = Type::Of(TypeKind::kList, {Type::Of(TypeKind::kTensor)});
  EXPECT_EQ(Text(*Type::Of(TypeKind::kOptional, {list})), "Optional[List[Tensor]]");
  Type sized;
  sized.kind = TypeKind::kTensor;
  sized.dtype = DType::kFloat32;
  sized.sizes = {{2, -1}};
  EXPECT_EQ(Text(sized), "Tensor(float32, 2, *)");
}

}  // namespace
}  // namespace flambeau::torchscript
