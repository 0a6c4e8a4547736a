// What makes many tensors of one.
#include "script/builtins/builtins.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

Result<Vals> ConstantChunk(Evaluator& evaluator, const Node& node, Arguments arguments) {
  auto number = [&](std::string_view name) {
    const torchscript::Constant* constant = node.Find(name);
    const auto* value = constant != nullptr ? std::get_if<int64_t>(&constant->value) : nullptr;
    return value != nullptr ? *value : 0;
  };
  FLAMBEAU_TRY(Val list, evaluator.emit().Call1("aten::chunk", {arguments[0], number("chunks"), number("dim")}));
  const auto* pieces = list.As<ListVal>();
  if (pieces == nullptr) return Vals{};
  const Cell& cell = evaluator.heap()[pieces->cell];
  return cell.sequence ? FirstElements(evaluator, list, node.outputs.size()) : cell.elements;
}

// Pieces whose number is known at run time only.
constexpr std::string_view kSplit = R"py(def split(x: Tensor, sizes: List[int], dim: int) -> List[Tensor]:
  pieces = annotate(List[Tensor], [])
  begin = 0
  for i in range(torch.len(sizes)):
    _0 = torch.append(pieces, torch.narrow(x, dim, begin, sizes[i]))
    begin = torch.add(begin, sizes[i])
  return pieces
)py";

constexpr BuiltinRow kRows[] = {
    {"aten::split_with_sizes", &SplitTensor},
    {"aten::unsafe_split_with_sizes", &SplitTensor},
    {"prim::ConstantChunk", &ConstantChunk},
};

}  // namespace

Result<Vals> SplitTensor(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* sizes = arguments.size() > 1 ? arguments[1].As<ListVal>() : nullptr;
  if (sizes == nullptr || !evaluator.heap()[sizes->cell].sequence) return evaluator.CallOperator(node, arguments);
  const Val operands[] = {arguments[0], arguments[1], arguments.size() > 2 ? arguments[2] : Val(int64_t{0})};
  return evaluator.CallLibrary(kSplit, "split", operands);
}

std::span<const BuiltinRow> SplittingBuiltins() { return kRows; }

}  // namespace flambeau::script
