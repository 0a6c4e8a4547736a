// Lists of tensors whose length is known at run time only. TorchScript's writes
// to lists arrive as operators that return the new list.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "lower/op.h"
#include "lower/ops/loops.h"
#include "onnx/complex.h"

namespace flambeau::lower {
namespace {

// The list that is that argument: an operand, or alone in a list of them.
std::optional<Tensor> ListOf(Lowering& to, NodeId node, size_t position = 0) {
  const ArgumentView argument(to, node, position);
  std::optional<Tensor> list;
  if (std::holds_alternative<Operand>(to.aten()[node].attributes[position].value)) {
    list = argument.AsTensor();
  } else if (const auto elements = argument.AsTensorList(); elements && elements->size() == 1) {
    list = elements->front();
  }
  if (list && *list && list->type().kind == TypeKind::kSequence) return list;
  to.Report(DiagnosticKind::kBadProgram, fmt::format("argument {} must be a list of run-time length", position));
  return std::nullopt;
}

std::optional<Tensor> PositionOf(Lowering& to, NodeId node, size_t argument) {
  const auto dim = ArgumentView(to, node, argument).AsDim();
  return dim ? std::optional(to.Number(*dim)) : std::nullopt;
}

// A list of no tensors of that dtype.
Tensor NoTensors(Lowering& to, DType dtype) {
  if (IsComplex(dtype)) return onnx::OfPairs(to, NoTensors(to, onnx::PartDtype(dtype)));
  return to.SequenceEmpty({.dtype = Info(dtype).onnx_code});
}

// prim::ListConstruct(elements, dtype)
Lowered Construct(Lowering& to, NodeId node) {
  const auto elements = ArgumentView(to, node, 0).AsTensorList();
  const auto dtype = ArgumentView(to, node, 1).AsDtype();
  if (!elements || !dtype) return std::nullopt;
  if (elements->empty()) {
    const Tensor none = NoTensors(to, *dtype);
    // What other paths put into the list decides of which rank its elements are; of theirs no size is known here.
    Type type = to.aten().type(to.aten().result(to.node()));
    if (IsComplex(*dtype) || type.kind != TypeKind::kSequence || !type.ranked) return std::vector<Tensor>{none};
    for (Expr& size : type.sizes)
      if (!to.exprs().AsConstant(size)) size = to.exprs().Anonymous();
    return std::vector<Tensor>{to.Refined(none, to.OnnxType(type))};
  }
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
  if (to.AsConstant(to.DimOf(*position)) == 0) return std::vector<Tensor>{to.SequenceInsert(*list, *element, *position)};
  // As in Python, what is beyond an end is that end.
  const Tensor length = to.SequenceLength(*list);
  const Tensor place = to.Max({to.Min({*position, length}), to.Neg(length)});
  return std::vector<Tensor>{to.SequenceInsert(*list, *element, place)};
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

// What describes elements of both lists: sizes that differ become unknown.
Type CommonType(Lowering& to, Type a, const Type& b) {
  a.ranked = a.ranked && b.ranked && a.sizes.size() == b.sizes.size();
  if (!a.ranked) a.sizes.clear();
  for (size_t i = 0; i < a.sizes.size(); ++i)
    if (a.sizes[i] != b.sizes[i]) a.sizes[i] = to.exprs().Anonymous();
  return a;
}

// `start` and, after it, `count` elements of `list`: those at the places that `place` gives.
Tensor Collect(Lowering& to, Tensor start, Tensor count, Tensor list, const std::function<Tensor(Tensor)>& place) {
  start = to.Refined(start, CommonType(to, list.type(), start.type()));
  return Repeat(to, count, {start}, [&](const Tensor& k, const std::vector<Tensor>& states) {
    return std::vector<Tensor>{to.SequenceInsert(states[0], to.SequenceAt(list, place(k)))};
  })[0];
}

Tensor Empty(Lowering& to, const Tensor& like) {
  if (like.is_complex()) return onnx::OfPairs(to, Empty(to, onnx::Pairs(to, like)));
  return to.Refined(NoTensors(to, like.dtype()), like.type());
}

Lowered Join(Lowering& to, NodeId node) {
  const auto a = ListOf(to, node, 0), b = ListOf(to, node, 1);
  if (!a || !b) return std::nullopt;
  return std::vector<Tensor>{Collect(to, *a, to.SequenceLength(*b), *b, [](Tensor k) { return k; })};
}

// The list so many times, one after the other.
Lowered Multiply(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto times = PositionOf(to, node, 1);
  if (!list || !times) return std::nullopt;
  const Tensor length = to.SequenceLength(*list);
  const Tensor count = to.Mul(length, to.Max({*times, to.ConstantInt(0)}));
  return std::vector<Tensor>{Collect(to, Empty(to, *list), count, *list, [&](Tensor k) { return to.Mod(k, length); })};
}

// As Python's slice(start, end, step).indices(length).
Lowered Slice(Lowering& to, NodeId node) {
  const auto list = ListOf(to, node);
  const auto step = ArgumentView(to, node, 3).AsConstantScalar();
  if (!list || !step) return std::nullopt;
  if (step->AsInt() == 0) {
    to.Report(DiagnosticKind::kBadProgram, "slices a list by steps of 0");
    return std::nullopt;
  }
  const bool forward = step->AsInt() > 0;
  const int64_t stride = forward ? step->AsInt() : -step->AsInt();
  const Tensor length = to.SequenceLength(*list), zero = to.ConstantInt(0);
  const Tensor lowest = to.ConstantInt(forward ? 0 : -1);
  const Tensor highest = forward ? length : to.Sub(length, to.ConstantInt(1));
  auto bound = [&](size_t argument, Tensor absent) -> std::optional<Tensor> {
    if (ArgumentView(to, node, argument).IsNone()) return absent;
    const auto given = PositionOf(to, node, argument);
    if (!given) return std::nullopt;
    const Tensor place = to.Where(to.Less(*given, zero), to.Add(*given, length), *given);
    return to.Min({to.Max({place, lowest}), highest});
  };
  const auto begin = bound(1, forward ? lowest : highest), end = bound(2, forward ? highest : lowest);
  if (!begin || !end) return std::nullopt;
  const Tensor span = forward ? to.Sub(*end, *begin) : to.Sub(*begin, *end);
  const Tensor rounded = to.Add(to.Max({span, zero}), to.ConstantInt(stride - 1));
  const Tensor count = stride == 1 ? rounded : to.Div(rounded, to.ConstantInt(stride));
  return std::vector<Tensor>{Collect(to, Empty(to, *list), count, *list, [&](Tensor k) {
    return to.Add(*begin, to.Mul(k, to.ConstantInt(step->AsInt())));
  })};
}

constexpr OpRow kRows[] = {
    RawOp("aten::Delete.t", &Erase),
    RawOp("aten::__getitem__.t", &At),
    RawOp("aten::_set_item.t", &Replace),
    RawOp("aten::add.t", &Join),
    RawOp("aten::append.t", &Append),
    RawOp("aten::insert.t", &Insert),
    RawOp("aten::len.t", &Length),
    RawOp("aten::mul.left_t", &Multiply),
    RawOp("aten::slice.t", &Slice),
    RawOp("prim::ListConstruct", &Construct),
};

}  // namespace

std::span<const OpRow> Sequences() { return kRows; }

}  // namespace flambeau::lower
