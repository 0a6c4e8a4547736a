// A Gather by a Range: onnxruntime 1.31 makes a Slice of it, in which an end of -1 means the last element.
// So `x[arange(n - 1, -1, -1)]`, the flip, would be empty.
#include <cstdint>
#include <cstring>
#include <vector>

#include "onnx/operator_table.h"
#include "pass/onnx/editor.h"
#include "pass/onnx/passes.h"

namespace flambeau {
namespace {

bool MayBeNegative(const Editor& to, ValueId number) {
  if (const auto known = to.KnownInts(number)) return known->front() < 0;
  const auto& contents = to.type(number).contents;
  return !contents || contents->size() != 1 || to.exprs().RangeOf(contents->front()).min < 0;
}

ValueId Negated(Editor& to, NodeId position, ValueId number) {
  const auto known = to.KnownInts(number);
  if (!known) return to.Insert(position, "Neg", {number});
  const DType dtype = to.type(number).dtype;
  const auto negated = static_cast<int64_t>(-static_cast<uint64_t>(known->front()));  // of the least number itself, as Neg has it
  std::vector<std::byte> bytes(ByteSize(dtype));
  std::memcpy(bytes.data(), &negated, bytes.size());  // of an int32 its lower half
  return to.AddConstant({.source = MakeBufferSource(std::move(bytes)), .dtype = dtype, .sizes = {}});
}

}  // namespace

Result<Changed> GuardRanges(Graph& graph, PassContext& context) {
  std::vector<NodeId> gathers;
  for (const BlockId block : graph.AllBlocks())
    graph.ForEachNode(block, [&](NodeId node) {
      if (graph.op(node) == "Gather") gathers.push_back(node);
    });
  Editor to(graph, context);
  for (const NodeId gather : gathers) {
    const NodeId range = to.Producer(graph.operand(gather, 1), "Range");
    if (!range || !(MayBeNegative(to, graph.operand(range, 0)) || MayBeNegative(to, graph.operand(range, 1)))) continue;
    std::vector<ValueId> operands;
    for (const uint32_t i : {0U, 1U, 2U}) operands.push_back(Negated(to, range, graph.operand(range, i)));
    const ValueId negative = graph.result(to.InsertNode(range, "Range", operands, {}));
    to.Replace(range, to.Insert(range, "Neg", {negative}));
    to.Erase(range);
  }
  return to.changed() ? Changed::kYes : Changed::kNo;
}

}  // namespace flambeau
