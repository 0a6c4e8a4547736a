#include "script/regions/skeleton.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "aten/strides.h"
#include "script/lists/columns.h"
#include "script/lists/held.h"
#include "script/lists/rows.h"
#include "script/quantized.h"

namespace flambeau::script {
namespace {

std::optional<Type> NumberType(const Val& value, Emitter& emit) {
  if (const auto* number = value.As<NumberVal>()) return emit.TypeOf(number->id);
  if (value.Is<bool>()) return Type::OfBool();
  if (const auto* i = value.As<int64_t>()) return Type::OfInt(emit.context().exprs().Constant(*i));
  if (value.Is<double>()) return Type::OfFloat();
  return std::nullopt;
}

// Of what paths give out: which member of an enum it is says a number, too.
std::optional<Type> PathNumberType(const Val& value, Emitter& emit) {
  if (const auto* member = value.As<EnumVal>()) return Type::OfInt(emit.context().exprs().Constant(emit.NumberOf(*member)));
  return NumberType(value, emit);
}

Type CurrentType(TensorVal tensor, Emitter& emit) {
  Storages& storages = emit.storages();
  return storages.Knows(tensor.id) ? emit.context()[storages.type(storages.ViewOf(tensor.id))] : emit.TypeOf(tensor.id);
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

// Why paths cannot meet with the value; `known`: the cells before it were there before the paths parted.
std::optional<std::string> ReasonAgainst(const Val& value, const Heap& heap, uint32_t known) {
  if (const auto* undefined = value.As<Undefined>()) return undefined->because ? std::optional(*undefined->because) : std::nullopt;
  if (const auto* object = value.As<ObjectVal>(); object != nullptr && !heap[object->cell].object && object->cell >= known)
    return "it is an object of a class, and another one on each path";
  const auto cell = CellOf(value);
  return cell && heap[*cell].lost && *cell >= known ? std::optional<std::string>("nobody knows what it holds") : std::nullopt;
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
  if (auto reason = ReasonAgainst(value, heap, known.value_or(0))) {
    (void)skeleton.Conflict(*std::move(reason));
    return skeleton;
  }
  skeleton.fixed_ = value;
  skeleton.kind_ = value.Is<Undefined>() ? Kind::kUndefined : Kind::kFixed;
  skeleton.NoteMarks(value, heap);
  if (const auto* tensor = value.As<TensorVal>()) {
    skeleton.type_ = CurrentType(*tensor, emit);
    if (!known) skeleton.kind_ = Kind::kTensor;
  } else if (const auto type = PathNumberType(value, emit)) {
    skeleton.type_ = *type;
    if (!known && value.Is<NumberVal>()) skeleton.kind_ = Kind::kNumber;
  } else {
    skeleton.TakeParts(value, emit, heap, known);
  }
  return skeleton;
}

void Skeleton::NoteMarks(const Val& value, const Heap& heap) {
  if (const auto cell = CellOf(value)) {
    held_ = heap[*cell].is_row;
    lost_ = heap[*cell].lost;
  }
  if (const Cell* list = ListOf(value, heap)) {
    apart_ = IsApart(*list, heap);
    sole_ = IsSole(*list, heap);
  }
}

void Skeleton::TakeParts(const Val& value, Emitter& emit, const Heap& heap, std::optional<uint32_t> known) {
  const auto cell = CellOf(value);
  const bool is_new = cell && *cell >= known.value_or(0);
  const auto add = [&](const Val& part) { children_.push_back(OfBounded(part, emit, heap, known)); };
  const Cell* list = ListOf(value, heap);
  if (list != nullptr && list->sequence) {
    type_ = emit.TypeOf(*list->sequence);
    of_numbers_ = list->of_numbers;
    if (is_new) kind_ = Kind::kTensor;
  } else if (list != nullptr && !list->columns.empty()) {
    kind_ = Kind::kList;
    if (AddList(*list, emit, heap) && kind_ == Kind::kConflict) return;
    kind_ = is_new ? Kind::kTable : Kind::kFixed;
  } else if (const Vals* elements = ElementsOf(value, heap)) {
    std::ranges::for_each(*elements, add);
    if (list != nullptr) (void)NoteRows(*list, heap);
    if (list == nullptr) kind_ = Kind::kTuple;
    else if (is_new) kind_ = Kind::kList;
  } else if (const auto* dict = value.As<DictVal>()) {
    if (!heap[dict->cell].lost)  // of which nobody knows the entries
      for (const auto& [key, entry] : heap[dict->cell].entries) {
        keys_.push_back(key);
        add(entry);
      }
    if (is_new) kind_ = Kind::kDict;
  } else if (const auto* quantized = value.As<QuantizedVal>()) {
    add(quantized->value->data);
    kind_ = Kind::kQuantized;
  } else if (const auto* optional = value.As<OptionalVal>()) {
    MakeOptional(OfBounded(*optional->value, emit, heap, known));
  }
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
      return AddList(heap[list->cell], emit, heap);
    case Kind::kTable: {
      if (list == nullptr) return Conflict("they make it of different kinds");
      const bool noted = NoteRows(heap[list->cell], heap);
      return AddList(heap[list->cell], emit, heap) || noted;
    }
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
    (void)NoteRows(*cell, heap);
    if (cell->sequence || !cell->columns.empty() || cell->elements.size() != children_.size()) return OpenLength(*cell, emit, heap);
  }
  if (elements == nullptr || elements->size() != children_.size()) return Conflict("its length differs");
  bool changed = false;
  for (size_t i = 0; i < children_.size(); ++i) changed = children_[i].Unify((*elements)[i], emit, heap) || changed;
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

bool Skeleton::NoteRows(const Cell& list, const Heap& heap) {
  const std::vector<uint32_t> cells = CellsIn(list, heap);
  rows_.insert(rows_.end(), cells.begin(), cells.end());
  const bool apart = std::exchange(apart_, apart_ && IsApart(list, heap)), sole = std::exchange(sole_, sole_ && IsSole(list, heap));
  return apart != apart_ || sole != sole_;
}

Skeleton::Kind Skeleton::KindOfFixed() const {
  if (fixed_.Is<DictVal>()) return Kind::kDict;
  if (is_table_) return Kind::kTable;
  return type_.kind == TypeKind::kSequence ? Kind::kTensor : Kind::kList;
}

bool Skeleton::OpenLength(const Cell& list, Emitter& emit, const Heap& heap) {
  Skeleton made = OfNothing();
  (void)made.AddList(*this, emit);
  (void)made.AddList(list, emit, heap);
  if (made.kind_ == Kind::kConflict)
    return Conflict(fmt::format("its length differs, and {}", *made.because_));
  kind_ = made.kind_;
  type_ = std::move(made.type_);
  children_ = std::move(made.children_);
  keys_ = std::move(made.keys_);
  fresh_ = std::move(made.fresh_);
  of_numbers_ = made.of_numbers_;
  is_table_ = made.is_table_;
  has_rows_ = made.has_rows_;
  lossy_ = made.lossy_;
  chooses_ = kind_ == Kind::kTensor && !list.sequence;
  return true;
}

}  // namespace flambeau::script
