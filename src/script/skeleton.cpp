#include "script/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "aten/strides.h"
#include "script/columns.h"
#include "script/held.h"
#include "script/quantized.h"
#include "script/rows.h"

namespace flambeau::script {
namespace {

std::optional<Type> NumberType(const Val& value, Emitter& emit) {
  if (const auto* number = value.As<NumberVal>()) return emit.TypeOf(number->id);
  if (value.Is<bool>()) return Type::OfBool();
  if (const auto* i = value.As<int64_t>()) return Type::OfInt(emit.context().exprs().Constant(*i));
  if (value.Is<double>()) return Type::OfFloat();
  return std::nullopt;
}

bool IsNothing(const Cell& list) { return !list.sequence && list.columns.empty() && list.elements.empty(); }

// Of what paths give out: which member of an enum it is says a number, too.
std::optional<Type> PathNumberType(const Val& value, Emitter& emit) {
  if (const auto* member = value.As<EnumVal>()) return Type::OfInt(emit.context().exprs().Constant(emit.NumberOf(*member)));
  return NumberType(value, emit);
}

Type CurrentType(TensorVal tensor, Emitter& emit) {
  Storages& storages = emit.storages();
  return storages.Knows(tensor.id) ? emit.context()[storages.type(storages.ViewOf(tensor.id))] : emit.TypeOf(tensor.id);
}

// The tensor that holds a number of that type in a list of run-time length.
std::optional<Type> TensorOfNumber(const Type& number) {
  switch (number.kind) {
    case TypeKind::kBool: return Type::OfTensor(DType::kBool, {});
    case TypeKind::kInt: return Type::OfTensor(DType::kInt64, {});
    case TypeKind::kFloat: return Type::OfTensor(DType::kFloat64, {});
    default: return std::nullopt;
  }
}

// What a list of run-time length says of an element; nullopt if it cannot hold it.
std::optional<Type> ElementType(const Val& element, Emitter& emit) {
  std::optional<Type> type;
  if (const auto* tensor = element.As<TensorVal>()) {
    type = CurrentType(*tensor, emit);
  } else if (const auto number = NumberType(element, emit)) {
    type = TensorOfNumber(*number);
  }
  if (type) type->kind = TypeKind::kSequence;
  return type;
}

bool IsContiguous(const Type& type, ExprPool& exprs) {
  return aten::IsContiguous(type, MemoryFormat::kContiguous, exprs) == aten::Decision::kYes;
}

// For sizes that changed.
void SetContiguous(Type& type, bool contiguous, ExprPool& exprs) {
  type.strides = contiguous ? ContiguousStrides(type.sizes, exprs) : std::vector<Expr>();
}

std::string Words(const Type& type) {
  switch (type.kind) {
    case TypeKind::kInt: return "an int";
    case TypeKind::kFloat: return "a float";
    case TypeKind::kBool: return "a bool";
    case TypeKind::kSequence: return fmt::format("a list of {}", Info(type.dtype).torch_name);
    default: return fmt::format("a tensor of {}", Info(type.dtype).torch_name);
  }
}

}  // namespace

Skeleton Skeleton::OfTensor(Type type) {
  Skeleton skeleton;
  skeleton.kind_ = Kind::kTensor;
  skeleton.type_ = std::move(type);
  return skeleton;
}

Skeleton Skeleton::Of(const Val& value, Emitter& emit, const Heap& heap, std::optional<uint32_t> known) {
  if (IsBounded(value, heap)) return OfBounded(value, emit, heap, known);
  Skeleton skeleton;
  (void)skeleton.Conflict("it nests without end");
  return skeleton;
}

Skeleton Skeleton::OfContents(const Val& container, Emitter& emit, const Heap& heap, uint32_t known) {
  Skeleton skeleton = Of(container, emit, heap, known);
  if (skeleton.kind_ == Kind::kFixed) (void)skeleton.ReleaseContainer();
  return skeleton;
}

Skeleton Skeleton::OfBounded(const Val& unsettled, Emitter& emit, const Heap& heap, std::optional<uint32_t> known) {
  const Val value = emit.Settled(unsettled);
  Skeleton skeleton;
  if (const auto* undefined = value.As<Undefined>(); undefined != nullptr && undefined->because) {
    (void)skeleton.Conflict(*undefined->because);
    return skeleton;
  }
  if (const auto cell = CellOf(value); cell && heap[*cell].lost && *cell >= known.value_or(0)) {
    (void)skeleton.Conflict("nobody knows what it holds");
    return skeleton;
  }
  if (const auto* object = value.As<ObjectVal>(); object != nullptr && !heap[object->cell].object && object->cell >= known.value_or(0)) {
    (void)skeleton.Conflict("it is an object of a class, and another one on each path");
    return skeleton;
  }
  if (const auto cell = CellOf(value)) {
    skeleton.held_ = heap[*cell].is_row;
    skeleton.lost_ = heap[*cell].lost;
  }
  if (const Cell* cell = ListOf(value, heap)) {
    skeleton.apart_ = IsApart(*cell, heap);
    skeleton.sole_ = IsSole(*cell, heap);
  }
  skeleton.fixed_ = value;
  skeleton.kind_ = value.Is<Undefined>() ? Kind::kUndefined : Kind::kFixed;
  if (const auto* tensor = value.As<TensorVal>()) {
    skeleton.type_ = CurrentType(*tensor, emit);
    if (!known) skeleton.kind_ = Kind::kTensor;
  } else if (const auto type = PathNumberType(value, emit)) {
    skeleton.type_ = *type;
    if (!known && value.Is<NumberVal>()) skeleton.kind_ = Kind::kNumber;
  } else if (const auto* list = value.As<ListVal>(); list != nullptr && heap[list->cell].sequence) {
    skeleton.type_ = emit.TypeOf(*heap[list->cell].sequence);
    skeleton.of_numbers_ = heap[list->cell].of_numbers;
    if (list->cell >= known.value_or(0)) skeleton.kind_ = Kind::kTensor;
  } else if (list != nullptr && !heap[list->cell].columns.empty()) {
    for (const Cell& column : heap[list->cell].columns) {
      auto made = heap[list->cell].has_rows && IsNothing(column) ? OfNothing() : OfSequence({}, column, emit);
      if (!made) {
        (void)skeleton.Conflict("it is an empty list of tuples");
        return skeleton;
      }
      skeleton.children_.push_back(*std::move(made));
    }
    skeleton.is_table_ = true;
    skeleton.keys_ = heap[list->cell].keys;
    skeleton.has_rows_ = heap[list->cell].has_rows;
    if (list->cell >= known.value_or(0)) skeleton.kind_ = Kind::kTable;
  } else if (const auto* quantized = value.As<QuantizedVal>()) {
    skeleton.children_.push_back(OfBounded(quantized->value->data, emit, heap, known));
    skeleton.kind_ = Kind::kQuantized;
  } else if (const Vals* elements = ElementsOf(value, heap)) {
    for (const Val& element : *elements) skeleton.children_.push_back(OfBounded(element, emit, heap, known));
    if (list != nullptr) (void)skeleton.NoteRows(heap[list->cell], heap);
    if (value.Is<TupleVal>()) skeleton.kind_ = Kind::kTuple;
    if (list != nullptr && list->cell >= known.value_or(0)) skeleton.kind_ = Kind::kList;
  } else if (const auto* optional = value.As<OptionalVal>()) {
    skeleton.MakeOptional(OfBounded(*optional->value, emit, heap, known));
  } else if (const auto* dict = value.As<DictVal>()) {
    const bool lost = heap[dict->cell].lost;  // nobody knows its entries
    for (const auto& [key, entry] : lost ? decltype(Cell::entries)() : heap[dict->cell].entries) {
      skeleton.keys_.push_back(key);
      skeleton.children_.push_back(OfBounded(entry, emit, heap, known));
    }
    if (dict->cell >= known.value_or(0)) skeleton.kind_ = Kind::kDict;
  }
  return skeleton;
}

bool Skeleton::Conflict(std::string reason) {
  because_ = std::make_shared<const std::string>(std::move(reason));
  kind_ = Kind::kConflict;
  lossy_ = true;
  return true;
}

void Skeleton::MakeOptional(Skeleton value) {
  children_.assign(1, std::move(value));
  kind_ = Kind::kOptional;
  lossy_ = true;
}

bool TakesForRowsOf(const Type& nothing, const Type& rows, const ExprPool& exprs) {
  if (!nothing.is_tensor() || !nothing.ranked || nothing.rank() != 1 || exprs.AsConstant(nothing.sizes[0]) != 0) return false;
  return rows.is_tensor() && rows.ranked && rows.rank() > 1 &&
         std::ranges::all_of(rows.sizes | std::views::drop(1), [&](Expr size) { return exprs.AsConstant(size).has_value(); });
}

// Sizes that differ become sizes of their own.
bool Skeleton::UnifyType(const Type& other, Emitter& emit) {
  ExprPool& exprs = emit.context().exprs();
  const bool sequence = type_.kind == TypeKind::kSequence;
  if (type_.kind != other.kind || ((type_.is_tensor() || sequence) && type_.dtype != other.dtype))
    return Conflict(fmt::format("{} on one, {} on another", Words(type_), Words(other)));
  bool changed = false;
  if (type_.kind == TypeKind::kInt) {
    if (type_.contents == other.contents) return false;
    const Expr mine = type_.contents ? type_.contents->front() : Expr{};
    if (mine && exprs.kind(mine) == ExprKind::kSymbol && exprs.symbol_kind(mine) == SymbolKind::kUnbacked && joined_) return false;
    type_.contents = std::vector<Expr>{emit.FreshInteger()};
    joined_ = true;
    return true;
  }
  if (type_.kind == TypeKind::kBool || type_.kind == TypeKind::kFloat) {
    type_.contents.reset();
    return false;
  }
  if (!type_.ranked) return false;
  if (emit.nothing_is_rows() && TakesForRowsOf(other, type_, exprs)) {
    if (std::ranges::find(fresh_, type_.sizes[0]) != fresh_.end()) return false;
    type_.sizes[0] = emit.FreshSize();
    fresh_.push_back(type_.sizes[0]);
    return true;
  }
  if (emit.nothing_is_rows() && TakesForRowsOf(type_, other, exprs)) {
    type_ = other;
    type_.sizes[0] = emit.FreshSize();
    fresh_.assign(1, type_.sizes[0]);
    SetContiguous(type_, true, exprs);
    return true;
  }
  if (!other.ranked || other.rank() != type_.rank()) {
    type_.ranked = false;
    type_.sizes.clear();
    type_.strides.clear();
    lossy_ = true;
    return true;
  }
  // In memory it lies in order only where it does so on all paths.
  const bool was_contiguous = type_.is_tensor() && IsContiguous(type_, exprs);
  const bool contiguous = was_contiguous && IsContiguous(other, exprs);
  for (size_t i = 0; i < type_.rank(); ++i) {
    if (type_.sizes[i] == other.sizes[i] || (sequence && exprs.HasAnonymous(type_.sizes[i]))) continue;
    if (std::ranges::find(fresh_, type_.sizes[i]) != fresh_.end()) continue;
    // Elements of a list need not share a size that differs: it gets no name.
    type_.sizes[i] = sequence ? exprs.Anonymous() : emit.FreshSize();
    fresh_.push_back(type_.sizes[i]);
    changed = true;
  }
  if (changed || type_.strides != other.strides) SetContiguous(type_, contiguous, exprs);
  return changed || contiguous != was_contiguous;
}

// What stands for the value on a path that does not have it is of no such size: a symbol of the others must not be looked up
// there. Those of the program's inputs never are.
bool Skeleton::ForgetSymbols(Emitter& emit) {
  ExprPool& exprs = emit.context().exprs();
  auto looked_up = [&](Expr expr) {
    return exprs.kind(expr) == ExprKind::kSymbol && exprs.symbol_kind(expr) != SymbolKind::kDimension;
  };
  if (kind_ == Kind::kNumber && type_.kind == TypeKind::kInt) {
    if (joined_ || !type_.contents || !looked_up(type_.contents->front())) return false;
    type_.contents = std::vector<Expr>{emit.FreshInteger()};
    return joined_ = true;
  }
  if (kind_ != Kind::kTensor || !type_.is_tensor() || !type_.ranked) return false;
  const bool contiguous = IsContiguous(type_, exprs);
  bool changed = false;
  for (Expr& size : type_.sizes) {
    if (!looked_up(size) || std::ranges::find(fresh_, size) != fresh_.end()) continue;
    size = emit.FreshSize();
    fresh_.push_back(size);
    changed = true;
  }
  if (changed) SetContiguous(type_, contiguous, exprs);
  return changed;
}

// On a path that has no such value.
bool Skeleton::UnifyAbsent(const Undefined& undefined, Emitter& emit, const Heap& heap) {
  if (undefined.because) return Conflict(*undefined.because);
  // What is fixed and no constant may be known to the other path only.
  const Kind before = kind_;
  if (kind_ == Kind::kFixed) {
    if (fixed_.Is<TensorVal>()) kind_ = Kind::kTensor;
    if (fixed_.Is<NumberVal>()) kind_ = Kind::kNumber;
    if (fixed_.Is<ListVal>() || fixed_.Is<DictVal>()) (void)ReleaseContainer();
  }
  bool changed = ForgetSymbols(emit) || kind_ != before;
  for (Skeleton& child : children_) changed = child.Unify(undefined, emit, heap) || changed;
  return changed;
}

// What all paths had alike is to be given out from here on.
bool Skeleton::Release(const Val& value) {
  const bool enum_and_number =
      (fixed_.Is<EnumVal>() && value.IsConstantNumber()) || (fixed_.IsConstantNumber() && value.Is<EnumVal>());
  if (fixed_.Is<TensorVal>()) {
    kind_ = Kind::kTensor;
  } else if ((fixed_.IsNumber() || fixed_.Is<EnumVal>()) && !enum_and_number) {
    kind_ = Kind::kNumber;
    chooses_ = fixed_.IsConstantNumber() && value.IsConstantNumber();
  } else if (fixed_.Is<ListVal>() || fixed_.Is<DictVal>()) {
    (void)ReleaseContainer();
  } else {
    (void)Conflict("they make it of different values");
  }
  return kind_ != Kind::kConflict;
}

bool Skeleton::ReleaseContainer() {
  if (lost_) return Conflict("nobody knows what it holds");
  kind_ = KindOfFixed();
  return true;
}

bool Skeleton::Unify(const Val& unsettled, Emitter& emit, const Heap& heap) {
  const Val value = emit.Settled(unsettled);
  if (kind_ == Kind::kConflict) return false;
  if (const auto* undefined = value.As<Undefined>()) return UnifyAbsent(*undefined, emit, heap);
  if (kind_ == Kind::kUndefined) {
    *this = Of(value, emit, heap);
    (void)Unify(Val(), emit, heap);
    return true;
  }
  if (kind_ == Kind::kOptional) return children_[0].Unify(value.Is<Nothing>() ? Val() : Present(value), emit, heap);
  const auto cell = CellOf(value);
  if (kind_ == Kind::kFixed && SameConstant(fixed_, value)) {
    lost_ = lost_ || (cell && heap[*cell].lost);
    return false;
  }
  if (cell && heap[*cell].lost) return Conflict("nobody knows what it holds");
  if (cell && heap[*cell].is_row && !held_) {
    held_ = true;
    (void)Unify(value, emit, heap);
    return true;
  }
  if (kind_ == Kind::kFixed && fixed_.Is<Nothing>()) {
    Skeleton present = Of(Present(value), emit, heap);
    (void)present.Unify(Val(), emit, heap);
    MakeOptional(std::move(present));
    return true;
  }
  if (value.Is<Nothing>() || value.Is<OptionalVal>()) {
    Skeleton present = *this;
    (void)present.Unify(value.Is<Nothing>() ? Val() : Present(value), emit, heap);
    MakeOptional(std::move(present));
    return true;
  }
  if (kind_ != Kind::kFixed) return UnifyKind(value, emit, heap);
  if (Release(value)) (void)UnifyKind(value, emit, heap);
  return true;
}

bool Skeleton::UnifyKind(const Val& value, Emitter& emit, const Heap& heap) {
  const auto* list = value.As<ListVal>();
  switch (kind_) {
    case Kind::kTensor:
      if (const auto* tensor = value.As<TensorVal>(); tensor != nullptr && type_.is_tensor())
        return UnifyType(CurrentType(*tensor, emit), emit);
      if (list == nullptr || type_.kind != TypeKind::kSequence) return Conflict("they make it of different kinds");
      return UnifySequence(heap[list->cell], emit);
    case Kind::kTable:
      if (list == nullptr) return Conflict("they make it of different kinds");
      return has_rows_ ? UnifyRows(heap[list->cell], emit, heap) : UnifyTable(heap[list->cell], emit, heap);
    case Kind::kNumber: {
      const auto type = PathNumberType(value, emit);
      return type ? UnifyType(*type, emit) : Conflict("they make it of different kinds");
    }
    case Kind::kList:
    case Kind::kTuple: return UnifyElements(value, emit, heap);
    case Kind::kQuantized: {
      const auto* quantized = value.As<QuantizedVal>();
      if (quantized == nullptr || !SameGrid(*quantized->value, *fixed_.As<QuantizedVal>()->value)) return Conflict("they quantize it on different grids");
      return children_[0].Unify(quantized->value->data, emit, heap);
    }
    case Kind::kDict: {
      const auto* dict = value.As<DictVal>();
      return dict != nullptr ? UnifyEntries(heap[dict->cell], emit, heap) : Conflict("they make it of different kinds");
    }
    default: return false;
  }
}

bool Skeleton::UnifyElements(const Val& value, Emitter& emit, const Heap& heap) {
  const Vals* elements = ElementsOf(value, heap);
  const auto* list = value.As<ListVal>();
  if (const Cell* cell = kind_ == Kind::kList && list != nullptr ? &heap[list->cell] : nullptr) {
    const bool tuples = FieldsOf(*cell, heap).count != 0 || std::ranges::any_of(children_, &Skeleton::HasFields);
    const bool lists = HoldsLists(*cell, heap) || std::ranges::any_of(children_, &Skeleton::IsList);
    (void)NoteRows(*cell, heap);
    if (cell->sequence || !cell->columns.empty() || cell->elements.size() != children_.size())
      return lists ? ToRows(*cell, emit, heap) : tuples ? ToTable(*cell, emit, heap) : ToSequence(*cell, emit);
  }
  if (elements == nullptr || elements->size() != children_.size()) return Conflict("its length differs");
  bool changed = false;
  for (size_t i = 0; i < children_.size(); ++i) changed = children_[i].Unify((*elements)[i], emit, heap) || changed;
  return changed;
}

bool Skeleton::UnifyTable(const Cell& list, Emitter& emit, const Heap& heap) {
  bool changed = NoteRows(list, heap);
  const auto columns = ColumnsOf(list, heap, {children_.size(), keys_});
  if (!columns) return Conflict("they make it of different kinds");
  for (size_t k = 0; k < children_.size(); ++k) {
    changed = children_[k].UnifySequence((*columns)[k], emit) || changed;
    if (children_[k].kind_ == Kind::kConflict) return Conflict("they make it of different kinds");
  }
  return changed;
}

bool Skeleton::UnifyEntries(const Cell& dict, Emitter& emit, const Heap& heap) {
  if (dict.entries.size() != children_.size()) return Conflict("its keys differ");
  bool changed = false;
  for (size_t i = 0; i < children_.size(); ++i) {
    if (!SameConstant(keys_[i], dict.entries[i].first)) return Conflict("its keys differ");
    changed = children_[i].Unify(dict.entries[i].second, emit, heap) || changed;
  }
  return changed;
}

bool Skeleton::UnifySequence(const Cell& list, Emitter& emit) {
  if (!list.columns.empty()) return Conflict("they make it of different kinds");
  if (list.sequence)
    return list.of_numbers == of_numbers_ ? UnifyType(emit.TypeOf(*list.sequence), emit) : Conflict("they make it of different kinds");
  bool changed = false;
  for (const Val& element : list.elements) {
    auto type = ElementType(element, emit);
    if (!type || element.IsNumber() != of_numbers_) return Conflict("they make it of different kinds");
    changed = UnifyType(*type, emit) || changed;
  }
  return changed;
}

bool Skeleton::IsList() const {
  return kind_ == Kind::kList || (kind_ == Kind::kTensor && type_.kind == TypeKind::kSequence) ||
         (kind_ == Kind::kFixed && fixed_.Is<ListVal>() && !is_table_);
}

bool Skeleton::HasFields() const {
  return kind_ == Kind::kTuple || kind_ == Kind::kDict || (kind_ == Kind::kFixed && fixed_.Is<DictVal>());
}

bool Skeleton::NoteRows(const Cell& list, const Heap& heap) {
  for (const Val& element : list.elements)
    if (const auto row = CellOf(element)) rows_.push_back(*row);
  const bool apart = std::exchange(apart_, apart_ && IsApart(list, heap)), sole = std::exchange(sole_, sole_ && IsSole(list, heap));
  return apart != apart_ || sole != sole_;
}

Skeleton Skeleton::OfNothing() {
  Skeleton skeleton;
  skeleton.kind_ = Kind::kList;
  return skeleton;
}

// The elements of all the rows.
bool Skeleton::UnifyFlat(const Cell& list, Emitter& emit) {
  if (kind_ != Kind::kList) return UnifySequence(list, emit);
  return IsNothing(list) ? false : ToSequence(list, emit);
}

// A list of lists of which the number depends on the path.
bool Skeleton::ToRows(const Cell& list, Emitter& emit, const Heap& heap) {
  std::vector<const Skeleton*> elements;
  for (const Skeleton& child : children_) {
    if (!child.IsList()) return Conflict("they make it of different kinds");
    if (child.type_.kind == TypeKind::kSequence) elements.push_back(&child);
    for (const Skeleton& element : child.children_) elements.push_back(&element);
  }
  Cell first;
  if (list.has_rows) {
    first = list.columns[kRowElements];
  } else if (const auto row = std::ranges::find_if(list.elements, [&](const Val& element) {
               const auto* each = element.As<ListVal>();
               return each != nullptr && (heap[each->cell].sequence || !heap[each->cell].elements.empty());
             });
             row != list.elements.end()) {
    first = heap[row->As<ListVal>()->cell];
  }
  auto flat = elements.empty() && IsNothing(first) ? OfNothing() : OfSequence(elements, first, emit);
  if (!flat) return Conflict("it is of lists that do not all hold tensors, or numbers, of one dtype");
  Skeleton bounds = OfTensor(Type::OfTensor(DType::kInt64, {}));
  bounds.type_.kind = TypeKind::kSequence;
  bounds.of_numbers_ = true;
  children_ = {*std::move(flat), std::move(bounds)};
  kind_ = Kind::kTable;
  is_table_ = has_rows_ = true;
  (void)UnifyRows(list, emit, heap);
  return true;
}

bool Skeleton::UnifyRows(const Cell& list, Emitter& emit, const Heap& heap) {
  if (list.sequence || (!list.has_rows && !list.elements.empty() && !HoldsLists(list, heap)))
    return Conflict("they make it of different kinds");
  bool changed = NoteRows(list, heap);
  Skeleton& flat = children_[kRowElements];
  if (list.has_rows) changed = flat.UnifyFlat(list.columns[kRowElements], emit) || changed;
  for (const Val& row : list.elements) changed = flat.UnifyFlat(heap[row.As<ListVal>()->cell], emit) || changed;
  return flat.kind_ == Kind::kConflict ? Conflict(*flat.because_) : changed;
}

Skeleton::Kind Skeleton::KindOfFixed() const {
  if (fixed_.Is<DictVal>()) return Kind::kDict;
  if (is_table_) return Kind::kTable;
  return type_.kind == TypeKind::kSequence ? Kind::kTensor : Kind::kList;
}

// All elements must be tensors, or numbers.
std::optional<Skeleton> Skeleton::OfSequence(std::span<const Skeleton* const> elements, const Cell& list, Emitter& emit) {
  Skeleton made;
  bool numbers = false, tensors = false, first = true;
  auto take = [&](Type type, bool of_numbers) {
    (of_numbers ? numbers : tensors) = true;
    type.kind = TypeKind::kSequence;
    type.strides.clear();
    type.contents.reset();
    if (std::exchange(first, false)) {
      made.kind_ = Kind::kTensor;
      made.type_ = std::move(type);
    } else {
      (void)made.UnifyType(type, emit);
    }
  };
  for (const Skeleton* element : elements) {
    if (element->kind_ != Kind::kFixed && element->type_.kind == TypeKind::kSequence) {
      take(element->type_, element->of_numbers_);
      continue;
    }
    const auto number = TensorOfNumber(element->type_);
    const bool is_one = element->kind_ == Kind::kTensor || element->kind_ == Kind::kNumber || element->kind_ == Kind::kFixed;
    if (!is_one || (!number && !element->type_.is_tensor())) return std::nullopt;
    take(number ? *number : element->type_, number.has_value());
  }
  if (!list.columns.empty()) return std::nullopt;
  if (list.sequence) take(emit.TypeOf(*list.sequence), list.of_numbers);
  for (const Val& each : list.elements) {
    const auto type = ElementType(each, emit);
    if (!type) return std::nullopt;
    take(*type, each.IsNumber());
  }
  if (first || made.kind_ == Kind::kConflict || numbers == tensors) return std::nullopt;
  made.of_numbers_ = numbers;
  return made;
}

// A list whose length depends on the path.
bool Skeleton::ToSequence(const Cell& list, Emitter& emit) {
  std::vector<const Skeleton*> elements;
  for (const Skeleton& child : children_) elements.push_back(&child);
  auto made = OfSequence(elements, list, emit);
  if (!made) return Conflict("its length differs");
  made->fixed_ = fixed_;
  made->held_ = held_;
  made->chooses_ = !list.sequence;
  *this = *std::move(made);
  return true;
}

// The same of tuples and dicts: a sequence for each field.
bool Skeleton::ToTable(const Cell& list, Emitter& emit, const Heap& heap) {
  const Fields form = children_.empty() ? FieldsOf(list, heap) : Fields{children_[0].children_.size(), children_[0].keys_};
  const auto columns = ColumnsOf(list, heap, form);
  if (!columns) return Conflict("its length differs");
  std::vector<Skeleton> made;
  for (size_t k = 0; k < columns->size(); ++k) {
    std::vector<const Skeleton*> fields;
    for (const Skeleton& child : children_) {
      if (!child.HasFields() || child.children_.size() != columns->size() || !std::ranges::equal(child.keys_, form.keys, SameConstant))
        return Conflict("its length differs");
      fields.push_back(&child.children_[k]);
    }
    auto column = OfSequence(fields, (*columns)[k], emit);
    if (!column) return Conflict("its length differs");
    made.push_back(*std::move(column));
  }
  kind_ = Kind::kTable;
  is_table_ = true;
  children_ = std::move(made);
  keys_ = form.keys;
  return true;
}

}  // namespace flambeau::script
