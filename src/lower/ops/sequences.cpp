// Lists of tensors whose length is known at run time only. TorchScript's writes
// to lists arrive as operators that return the new list.
#include <fmt/format.h>

#include "lower/op.h"

namespace flambeau::lower {
namespace {

// The list that is argument 0: an operand, or alone in a list of them.
std::optional<Tensor> ListOf(Lowering& to, NodeId node) {
  const ArgumentView argument(to, node, 0);
  std::optional<Tensor> list;
  if (std::holds_alternative<Operand>(to.aten()[node].attributes[0].value)) {
    list = argument.AsTensor();
  } else if (const auto elements = argument.AsTensorList(); elements && elements->size() == 1) {
    list = elements->front();
  }
  if (list && *list && list->type().kind == TypeKind::kSequence) return list;
  to.Report(DiagnosticKind::kBadProgram, "argument 0 must be a list of run-time length");
  return std::nullopt;
}

std::optional<Tensor> PositionOf(Lowering& to, NodeId node, size_t argument) {
  const auto dim = ArgumentView(to, node, argument).AsDim();
  return dim ? std::optional(to.Number(*dim)) : std::nullopt;
}

// prim::ListConstruct(elements, dtype)
Lowered Construct(Lowering& to, NodeId node) {
  const auto elements = ArgumentView(to, node, 0).AsTensorList();
  const auto dtype = ArgumentView(to, node, 1).AsDtype();
  if (!elements || !dtype) return std::nullopt;
  if (elements->empty()) return std::vector<Tensor>{to.SequenceEmpty({.dtype = Info(*dtype).onnx_code})};
  return std::vector<Tensor>{to.SequenceConstruct(*elements)};
}

Lowered Append(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto element = ArgumentView(to, node, 1).AsTensor();
  if (!list || !element) return std::nullopt;
  return std::vector<Tensor>{to.SequenceInsert(*list, *element)};
}

Lowered Insert(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto position = PositionOf(to, node, 1);
  const auto element = ArgumentView(to, node, 2).AsTensor();
  if (!list || !position || !element) return std::nullopt;
  return std::vector<Tensor>{to.SequenceInsert(*list, *element, *position)};
}

Lowered Replace(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto position = PositionOf(to, node, 1);
  const auto element = ArgumentView(to, node, 2).AsTensor();
  if (!list || !position || !element) return std::nullopt;
  // Counted from the start: what is erased moves what is counted from the end.
  const Tensor zero = to.ConstantInt(0);
  const Tensor place = to.Where(to.Less(*position, zero), to.Add(*position, to.SequenceLength(*list)), *position);
  const Tensor inserted = to.SequenceInsert(*list, *element, place);
  return std::vector<Tensor>{to.SequenceErase(inserted, to.Add(place, to.ConstantInt(1)))};
}

Lowered Erase(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto position = PositionOf(to, node, 1);
  if (!list || !position) return std::nullopt;
  return std::vector<Tensor>{to.SequenceErase(*list, *position)};
}

Lowered At(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto position = PositionOf(to, node, 1);
  if (!list || !position) return std::nullopt;
  return std::vector<Tensor>{to.SequenceAt(*list, *position)};
}

Lowered Length(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  if (!list) return std::nullopt;
  const Tensor length = to.SequenceLength(*list);
  return std::vector<Tensor>{internal::AsResult(to, Scalar::OfValue(length.id(), &length.type()))};
}

constexpr OpRow kRows[] = {
    RawOp("aten::Delete.t", &Erase),
    RawOp("aten::__getitem__.t", &At),
    RawOp("aten::_set_item.t", &Replace),
    RawOp("aten::append.t", &Append),
    RawOp("aten::insert.t", &Insert),
    RawOp("aten::len.t", &Length),
    RawOp("prim::ListConstruct", &Construct),
};

}  // namespace

std::span<const OpRow> Sequences() { return kRows; }

}  // namespace flambeau::lower
