// What paths give out of a value, and what stands for it behind them.
#include <ranges>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "script/lists/held.h"
#include "script/quantized.h"
#include "script/regions/skeleton.h"

namespace flambeau::script {

// On a path on which the value is never read.
Status Skeleton::AppendPlaceholder(Emitter& emit, std::vector<ValueId>& leaves) const {
  if (kind_ == Kind::kNumber) {
    const Val zero = type_.kind == TypeKind::kBool ? Val(false) : type_.kind == TypeKind::kInt ? Val(int64_t{0}) : Val(0.0);
    leaves.push_back(emit.Materialise(zero));
    return {};
  }
  if (kind_ == Kind::kTensor && type_.is_tensor()) {
    // Of the declared sizes: onnxruntime gives results memory that it had for others of the same.
    Vals sizes;
    for (const Expr size : type_.sizes) {
      FLAMBEAU_TRY(const std::optional<Val> number, emit.ValueOfSize(size));
      sizes.push_back(number.value_or(Val(int64_t{0})));
    }
    const Val shape = ListVal{emit.heap().Add({.elements = std::move(sizes)})};
    FLAMBEAU_TRY(const Val zeros, emit.Call1("aten::zeros", {shape, int64_t{Info(type_.dtype).torch_code}}));
    leaves.push_back(zeros.As<TensorVal>()->id);
    return {};
  }
  if (kind_ == Kind::kTensor) {
    FLAMBEAU_TRY(const ValueId empty, emit.Sequence({}, type_));
    leaves.push_back(empty);
    return {};
  }
  if (kind_ == Kind::kOptional) leaves.push_back(emit.Materialise(Val(false)));
  for (const Skeleton& child : children_) FLAMBEAU_CHECK_OK(child.AppendPlaceholder(emit, leaves));
  return {};
}

// The tensor, or no rows in the place of torch.zeros(0).
Result<ValueId> Skeleton::AsRows(ValueId tensor, Emitter& emit) const {
  const ValueId id = emit.Read(tensor);
  const ExprPool& exprs = emit.context().exprs();
  if (!emit.nothing_is_rows() || !TakesForRowsOf(emit.TypeOf(id), type_, exprs)) return id;
  Ints sizes{0};
  for (const Expr size : type_.sizes | std::views::drop(1)) sizes.push_back(*exprs.AsConstant(size));
  emit.sink().Warning(DiagnosticKind::kFrozenDimension,
                      fmt::format("takes a tensor of size 0 for one of no rows, as others that may be in its place have: "
                                  "where nothing is joined to it, its shape is ({}), not (0)", fmt::join(sizes, ", ")));
  Vals numbers(sizes.begin(), sizes.end());
  FLAMBEAU_TRY(const Val rows, emit.Call1("aten::view", {TensorVal{id}, ListVal{emit.heap().Add({.elements = std::move(numbers)})}}));
  return emit.Read(rows.As<TensorVal>()->id);
}

Status Skeleton::AppendLeaves(const Val& unsettled, Emitter& emit, const Heap& heap, std::vector<ValueId>& leaves) const {
  const Val value = emit.Settled(unsettled);
  switch (kind_) {
    case Kind::kFixed:
    case Kind::kConflict:
    case Kind::kUndefined: return {};
    case Kind::kTensor:
    case Kind::kNumber: {
      if (value.Is<Undefined>()) return AppendPlaceholder(emit, leaves);
      if (const auto* tensor = value.As<TensorVal>()) {
        FLAMBEAU_TRY(const ValueId id, AsRows(tensor->id, emit));
        leaves.push_back(id);
      } else if (const auto* number = value.As<NumberVal>()) {
        leaves.push_back(number->id);
      } else if (const auto* list = value.As<ListVal>()) {
        FLAMBEAU_TRY(const ValueId sequence, emit.Sequence(heap[list->cell], type_));
        leaves.push_back(sequence);
      } else {
        leaves.push_back(emit.Materialise(value));
      }
      return {};
    }
    case Kind::kQuantized: {
      const auto* quantized = value.As<QuantizedVal>();
      return children_[0].AppendLeaves(quantized != nullptr ? Val(quantized->value->data) : Val(), emit, heap, leaves);
    }
    case Kind::kOptional: {
      if (value.Is<Undefined>() || value.Is<Nothing>()) return AppendPlaceholder(emit, leaves);
      const auto* optional = value.As<OptionalVal>();
      leaves.push_back(optional != nullptr ? optional->present : emit.Materialise(Val(true)));
      return children_[0].AppendLeaves(Present(value), emit, heap, leaves);
    }
    case Kind::kTable: {
      if (value.Is<Undefined>()) return AppendPlaceholder(emit, leaves);
      return AppendList(Cell(heap[value.As<ListVal>()->cell]), emit, leaves);
    }
    case Kind::kList:
    case Kind::kTuple:
    case Kind::kDict: {
      if (value.Is<Undefined>()) return AppendPlaceholder(emit, leaves);
      const auto* dict = value.As<DictVal>();
      const Vals elements = dict != nullptr ? EntryValues(heap[dict->cell]) : *ElementsOf(value, heap);
      for (size_t i = 0; i < children_.size(); ++i)
        FLAMBEAU_CHECK_OK(children_[i].AppendLeaves(elements[i], emit, heap, leaves));
      return {};
    }
  }
  return {};
}

void Skeleton::AppendTypes(std::vector<Type>& types) const {
  if (kind_ == Kind::kTensor || kind_ == Kind::kNumber) {
    Type type = type_;
    if (type.kind == TypeKind::kBool || type.is_tensor()) type.contents.reset();
    types.push_back(std::move(type));
  } else if (kind_ == Kind::kList || kind_ == Kind::kTuple || kind_ == Kind::kDict || kind_ == Kind::kOptional ||
             kind_ == Kind::kQuantized || kind_ == Kind::kTable) {
    if (kind_ == Kind::kOptional) types.push_back(Type::OfBool());
    for (const Skeleton& child : children_) child.AppendTypes(types);
  }
}

void Skeleton::AppendParts(const Val& unsettled, const Emitter& emit, const Heap& heap, Vals& parts) const {
  const Val value = emit.Settled(unsettled);
  if (kind_ == Kind::kFixed || kind_ == Kind::kNumber || kind_ == Kind::kConflict || kind_ == Kind::kUndefined) return;
  if (kind_ == Kind::kQuantized) {
    const auto* quantized = value.As<QuantizedVal>();
    return children_[0].AppendParts(quantized != nullptr ? Val(quantized->value->data) : Val(), emit, heap, parts);
  }
  if (kind_ == Kind::kOptional) return children_[0].AppendParts(value.Is<Nothing>() ? Val() : Present(value), emit, heap, parts);
  if (kind_ != Kind::kTuple) parts.push_back(value);
  if (kind_ == Kind::kTensor || kind_ == Kind::kTable) return;
  const auto* dict = value.As<DictVal>();
  const Vals* listed = ElementsOf(value, heap);
  const Vals elements = dict != nullptr ? EntryValues(heap[dict->cell]) : listed != nullptr ? *listed : Vals();
  for (size_t i = 0; i < children_.size(); ++i)
    children_[i].AppendParts(i < elements.size() ? elements[i] : Val(), emit, heap, parts);
}

Val Skeleton::Build(std::span<const ValueId> leaves, size_t& next, Heap& heap) const {
  switch (kind_) {
    case Kind::kFixed: return fixed_;
    case Kind::kConflict: return Undefined{because_};
    case Kind::kUndefined: return Undefined{};
    case Kind::kTensor:
      if (type_.kind == TypeKind::kSequence) return ListVal{heap.Add({.sequence = leaves[next++], .of_numbers = of_numbers_, .is_row = held_})};
      return TensorVal{leaves[next++]};
    case Kind::kNumber: return NumberVal{leaves[next++]};
    case Kind::kTable: {
      Cell table = BuildList(leaves, next);
      table.apart = apart_;
      table.sole = sole_;
      table.is_row = held_;
      for (const uint32_t row : rows_)
        if (HoldsCells(table) && row < heap.size()) Hold(heap, ListVal{row});
      return ListVal{heap.Add(std::move(table))};
    }
    case Kind::kQuantized: {
      const Val data = children_[0].Build(leaves, next, heap);
      return data.Is<TensorVal>() ? MakeQuantized(*data.As<TensorVal>(), GridOf(*fixed_.As<QuantizedVal>()->value)) : data;
    }
    case Kind::kOptional: {
      const ValueId present = leaves[next++];
      return OptionalVal{present, std::make_shared<const Val>(children_[0].Build(leaves, next, heap))};
    }
    default: break;
  }
  Vals elements;
  for (const Skeleton& child : children_) elements.push_back(child.Build(leaves, next, heap));
  if (kind_ == Kind::kTuple) return TupleVal{std::make_shared<const Vals>(std::move(elements))};
  Cell cell{.is_row = held_};
  if (kind_ == Kind::kList) {
    cell.elements = std::move(elements);
    return ListVal{heap.Add(std::move(cell))};
  }
  for (size_t i = 0; i < elements.size(); ++i) cell.entries.emplace_back(keys_[i], std::move(elements[i]));
  return DictVal{heap.Add(std::move(cell))};
}

}  // namespace flambeau::script
