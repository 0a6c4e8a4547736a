// What a list is like whose length is known at run time only: of tensors or numbers, of tuples or dicts, of lists, or of such
// lists again.
#include <algorithm>
#include <utility>

#include "script/lists/columns.h"
#include "script/lists/rows.h"
#include "script/regions/skeleton.h"

namespace flambeau::script {
namespace {

constexpr const char* kOtherKinds = "they make it of different kinds";
constexpr const char* kOtherElements = "it holds what is no tensor or number on all paths, as text or None";

// The tensor that holds a number of that type in a list of run-time length.
std::optional<Type> TensorOfNumber(const Type& number) {
  switch (number.kind) {
    case TypeKind::kBool: return Type::OfTensor(DType::kBool, {});
    case TypeKind::kInt: return Type::OfTensor(DType::kInt64, {});
    case TypeKind::kFloat: return Type::OfTensor(DType::kFloat64, {});
    default: return std::nullopt;
  }
}

}  // namespace

Skeleton Skeleton::OfNothing() {
  Skeleton skeleton;
  skeleton.kind_ = Kind::kList;
  return skeleton;
}

bool Skeleton::IsList() const {
  return kind_ == Kind::kList || kind_ == Kind::kTable || (kind_ == Kind::kTensor && type_.kind == TypeKind::kSequence) ||
         (kind_ == Kind::kFixed && fixed_.Is<ListVal>());
}

bool Skeleton::HasFields() const {
  return kind_ == Kind::kTuple || kind_ == Kind::kDict || (kind_ == Kind::kFixed && fixed_.Is<DictVal>());
}

bool Skeleton::BeTable(size_t columns, const Vals& keys, bool has_rows) {
  if (kind_ == Kind::kTable) {
    if (has_rows_ == has_rows && children_.size() == columns && std::ranges::equal(keys_, keys, SameConstant)) return false;
    return Conflict(kOtherKinds);
  }
  if (!IsNothing() || columns == 0) return Conflict(kOtherKinds);
  children_.assign(columns, OfNothing());
  kind_ = Kind::kTable;
  is_table_ = true;
  has_rows_ = has_rows;
  keys_ = keys;
  if (has_rows) {
    Skeleton& bounds = children_[kRowBounds] = OfTensor(Type::OfTensor(DType::kInt64, {}));
    bounds.type_.kind = TypeKind::kSequence;
    bounds.of_numbers_ = true;
  }
  return true;
}

bool Skeleton::AddSequence(Type type, bool of_numbers, Emitter& emit) {
  type.kind = TypeKind::kSequence;
  type.strides.clear();
  type.contents.reset();
  if (IsNothing()) {
    kind_ = Kind::kTensor;
    type_ = std::move(type);
    of_numbers_ = of_numbers;
    return true;
  }
  if (kind_ != Kind::kTensor || of_numbers_ != of_numbers) return Conflict(kOtherKinds);
  return UnifyType(type, emit);
}

bool Skeleton::HasFewFields() const {
  std::vector<const Skeleton*> open = {this};
  for (size_t fields = 0; !open.empty(); ++fields) {
    if (fields + open.size() > kMaxFields) return false;
    const Skeleton& part = *open.back();
    open.pop_back();
    const bool one = part.IsList() && !part.is_table_;
    for (const Skeleton& child : std::span(part.children_).first(one ? std::min<size_t>(part.children_.size(), 1) : part.children_.size()))
      open.push_back(&child);
  }
  return true;
}

bool Skeleton::AddElement(const Skeleton& element, Emitter& emit) {
  if (kind_ == Kind::kConflict) return false;
  if (!element.HasFewFields()) return Conflict("its elements have too many fields");
  if (element.IsList()) {
    const bool changed = BeTable(2, {}, true);
    if (kind_ == Kind::kConflict) return true;
    Skeleton& elements = children_[kRowElements];
    const bool more = elements.AddList(element, emit);
    return elements.kind_ == Kind::kConflict ? Conflict(*elements.because_) : changed || more;
  }
  if (element.HasFields()) {
    bool changed = BeTable(element.children_.size(), element.keys_, false);
    for (size_t k = 0; kind_ != Kind::kConflict && k < children_.size(); ++k) {
      changed = children_[k].AddElement(element.children_[k], emit) || changed;
      if (children_[k].kind_ == Kind::kConflict) return Conflict(*children_[k].because_);
    }
    return changed;
  }
  const bool known = element.kind_ == Kind::kFixed && !element.fixed_.Is<EnumVal>();
  if (!known && element.kind_ != Kind::kTensor && element.kind_ != Kind::kNumber) return Conflict(kOtherElements);
  if (element.type_.is_tensor()) return AddSequence(element.type_, false, emit);
  const auto number = TensorOfNumber(element.type_);
  return number ? AddSequence(*number, true, emit) : Conflict(kOtherElements);
}

bool Skeleton::AddList(const Skeleton& list, Emitter& emit) {
  if (kind_ == Kind::kConflict) return false;
  if (list.lost_) return Conflict("nobody knows what it holds");
  if (list.type_.kind == TypeKind::kSequence) return AddSequence(list.type_, list.of_numbers_, emit);
  bool changed = list.is_table_ && BeTable(list.children_.size(), list.keys_, list.has_rows_);
  for (size_t i = 0; kind_ != Kind::kConflict && i < list.children_.size(); ++i) {
    if (!list.is_table_) {
      changed = AddElement(list.children_[i], emit) || changed;
      continue;
    }
    changed = children_[i].AddList(list.children_[i], emit) || changed;
    if (children_[i].kind_ == Kind::kConflict) return Conflict(*children_[i].because_);
  }
  return changed;
}

bool Skeleton::AddList(const Cell& list, Emitter& emit, const Heap& heap) {
  if (kind_ == Kind::kConflict) return false;
  if (list.sequence) return AddSequence(emit.TypeOf(*list.sequence), list.of_numbers, emit);
  bool changed = !list.columns.empty() && BeTable(list.columns.size(), list.keys, list.has_rows);
  for (size_t k = 0; kind_ != Kind::kConflict && k < list.columns.size(); ++k) {
    changed = children_[k].AddList(list.columns[k], emit, heap) || changed;
    if (children_[k].kind_ == Kind::kConflict) return Conflict(*children_[k].because_);
  }
  for (const Val& element : list.elements) changed = AddElement(Of(element, emit, heap), emit) || changed;
  return changed;
}

std::optional<Skeleton> Skeleton::OfLists(std::span<const Cell> lists, Emitter& emit, const Heap& heap) {
  Skeleton made = OfNothing();
  for (const Cell& list : lists) (void)made.AddList(list, emit, heap);
  return made.kind_ == Kind::kConflict ? std::nullopt : std::optional(std::move(made));
}

Result<Cell> Skeleton::Joined(std::span<const Cell> lists, Emitter& emit) const {
  Cell made;
  if (std::ranges::all_of(lists, [](const Cell& list) { return !list.sequence && list.columns.empty(); })) {
    for (const Cell& list : lists) made.elements.insert(made.elements.end(), list.elements.begin(), list.elements.end());
    return made;
  }
  if (has_rows_)
    return emit.sink().Error(DiagnosticKind::kUnsupportedForm, "joins lists of lists whose lengths are known at run time only");
  if (kind_ == Kind::kTable) {
    made.keys = keys_;
    for (size_t k = 0; k < children_.size(); ++k) {
      std::vector<Cell> columns;
      for (const Cell& list : lists)
        if (auto fields = ColumnsOf(list, emit.heap(), {children_.size(), keys_})) columns.push_back(std::move((*fields)[k]));
      FLAMBEAU_TRY(Cell column, children_[k].Joined(columns, emit));
      made.columns.push_back(std::move(column));
    }
    return made;
  }
  for (const Cell& list : lists) {
    FLAMBEAU_TRY(ValueId sequence, emit.Sequence(list, type_));
    if (made.sequence) {
      const Val left = ListVal{emit.heap().Add(made)}, right = ListVal{emit.heap().Add({.sequence = sequence})};
      FLAMBEAU_TRY(const Val joined, emit.Call1("aten::add.t", {left, right}));
      sequence = *ListOf(joined, emit.heap())->sequence;
    }
    made = {.sequence = sequence, .of_numbers = of_numbers_};
  }
  return made;
}

// The leaves of a list that becomes one of run-time length, as this is.
Status Skeleton::AppendList(const Cell& list, Emitter& emit, std::vector<ValueId>& leaves) const {
  if (IsNothing()) return {};
  if (kind_ == Kind::kTensor) {
    FLAMBEAU_TRY(const ValueId sequence, emit.Sequence(list, type_));
    leaves.push_back(sequence);
    return {};
  }
  std::optional<std::vector<Cell>> columns;
  if (has_rows_) {
    FLAMBEAU_TRY(columns, RowColumns(emit, list, children_[kRowElements]));
  } else {
    columns = ColumnsOf(list, emit.heap(), {children_.size(), keys_});
  }
  if (!columns) return emit.sink().Error(DiagnosticKind::kInternalError, "a list has other fields than where paths met");
  for (size_t k = 0; k < children_.size(); ++k) FLAMBEAU_CHECK_OK(children_[k].AppendList((*columns)[k], emit, leaves));
  return {};
}

Cell Skeleton::BuildList(std::span<const ValueId> leaves, size_t& next) const {
  if (kind_ == Kind::kTensor) return {.sequence = leaves[next++], .of_numbers = of_numbers_};
  Cell list{.keys = keys_, .has_rows = has_rows_};
  for (const Skeleton& column : children_) list.columns.push_back(column.BuildList(leaves, next));
  return list;
}

}  // namespace flambeau::script
