#include "script/lists/sequences.h"

#include <algorithm>

namespace flambeau::script {
namespace {

// What describes all elements; nullopt if no sequence can hold them.
std::optional<Type> SequenceType(Evaluator& evaluator, const Cell& list) {
  if (list.sequence) return evaluator.emit().TypeOf(*list.sequence);
  std::optional<Type> common;
  for (const Val& element : list.elements) {
    const auto* tensor = element.As<TensorVal>();
    if (tensor == nullptr) return std::nullopt;
    Type type = evaluator.TypeOf(*tensor);
    type.kind = TypeKind::kSequence;
    type.strides.clear();
    type.contents.reset();
    if (!common) {
      common = std::move(type);
      continue;
    }
    if (common->dtype != type.dtype) return std::nullopt;
    common->ranked = common->ranked && type.ranked && common->sizes.size() == type.sizes.size();
    if (!common->ranked) common->sizes.clear();
    for (size_t i = 0; i < common->sizes.size(); ++i)
      if (common->sizes[i] != type.sizes[i]) common->sizes[i] = evaluator.context().exprs().Anonymous();
  }
  return common;
}

}  // namespace

Result<Val> AsSequence(Evaluator& evaluator, const Val& value) {
  const auto* list = value.As<ListVal>();
  if (list == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "takes something for a list that is none");
  Cell cell = evaluator.heap()[list->cell];
  if (cell.sequence) return value;
  if (!cell.columns.empty()) return evaluator.Unsupported("asks something of a list of tuples or dicts whose length is known at run time only");
  const bool numbers = !cell.elements.empty() && std::ranges::all_of(cell.elements, &Val::IsNumber);
  if (numbers)
    for (Val& element : cell.elements) {
      FLAMBEAU_TRY(element, evaluator.emit().NumberTensor(element, DType::kFloat64));
    }
  const auto type = SequenceType(evaluator, cell);
  if (!type)
    return evaluator.Unsupported("needs at run time a list whose elements are not all tensors, or numbers, of one dtype");
  FLAMBEAU_TRY(const ValueId sequence, evaluator.emit().Sequence(cell, *type));
  return Val(ListVal{evaluator.heap().Add({.sequence = sequence, .of_numbers = numbers})});
}

Result<Val> Opened(Evaluator& evaluator, const Val& list) {
  constexpr size_t kMaxOpened = 32;  // each is looked at after each node
  const auto* value = list.As<ListVal>();
  if (value == nullptr || evaluator.heap()[value->cell].sequence) return AsSequence(evaluator, list);
  std::vector<OpenedList>& all = evaluator.opened_lists();
  Storages& storages = evaluator.emit().storages();
  std::shared_ptr<const Cell> contents = evaluator.heap().Contents(value->cell);
  for (const OpenedList& known : all)
    if (known.contents == contents && storages.Knows(known.sequence) && !storages.MaybeWritten(known.sequence))
      return Val(ListVal{evaluator.heap().Add({.sequence = known.sequence})});
  FLAMBEAU_TRY(const Val opened, AsSequence(evaluator, list));
  const ValueId sequence = *evaluator.heap()[opened.As<ListVal>()->cell].sequence;
  if (OfNumbers(evaluator, opened) || !storages.OwnsElements(sequence)) return opened;
  if (all.size() == kMaxOpened) all.erase(all.begin());
  all.push_back({value->cell, std::move(contents), sequence});
  return opened;
}

Val SequenceLike(Evaluator& evaluator, const Val& made, bool of_numbers) {
  const auto* list = made.As<ListVal>();
  if (list != nullptr && of_numbers) evaluator.heap().Edit(list->cell).of_numbers = true;
  return made;
}

bool OfNumbers(Evaluator& evaluator, const Val& sequence) { return evaluator.heap()[sequence.As<ListVal>()->cell].of_numbers; }

namespace {

// The tensor and places of which the list still is the pieces.
const Pieces* PiecesOf(Evaluator& evaluator, const Val& list) {
  const auto* value = list.As<ListVal>();
  if (value == nullptr) return nullptr;
  const Cell& cell = evaluator.heap()[value->cell];
  return cell.pieces && cell.sequence == cell.pieces->sequence ? cell.pieces.get() : nullptr;
}

// Where the piece begins and ends.
Result<std::pair<Val, Val>> EndsOfPiece(Emitter& emit, const Pieces& pieces, const Val& place) {
  if (pieces.bounds.Is<Nothing>()) {
    FLAMBEAU_TRY(const Val start, emit.Call1("_operator::mul", {pieces.size, place}));
    FLAMBEAU_TRY(const Val end, emit.Call1("_operator::add", {start, pieces.size}));
    return std::pair(start, end);
  }
  const auto bound = [&](const Val& at) -> Result<Val> {
    FLAMBEAU_TRY(const Val element, emit.Call1("aten::select.int", {pieces.bounds, int64_t{0}, at}));
    return emit.Call1("aten::item", {element});
  };
  FLAMBEAU_TRY(const Val next, emit.Call1("_operator::add", {place, int64_t{1}}));
  FLAMBEAU_TRY(const Val start, bound(place));
  FLAMBEAU_TRY(const Val end, bound(next));
  return std::pair(start, end);
}

Result<Val> Take(Evaluator& evaluator, const Val& list, const Val& index) {
  if (const Pieces* pieces = PiecesOf(evaluator, list)) {
    Emitter& emit = evaluator.emit();
    if (pieces->count.Is<Nothing>()) {
      FLAMBEAU_TRY(Val element, emit.Call1("aten::select.int", {pieces->tensor, pieces->dim, index}));
      if (!OfNumbers(evaluator, list)) return element;
      return emit.Call1("aten::item", {element});
    }
    Val place = index;
    if (index.AsInt().value_or(-1) < 0) {  // counted from the end, as far as is known
      FLAMBEAU_TRY(const Val length, LengthOfSequence(evaluator, list));
      FLAMBEAU_TRY(place, emit.Call1("_operator::mod", {index, length}));
    }
    FLAMBEAU_TRY(const auto ends, EndsOfPiece(emit, *pieces, place));
    FLAMBEAU_TRY(Val piece, emit.Call1("aten::slice.Tensor", {pieces->tensor, pieces->dim, ends.first, ends.second, int64_t{1}}));
    const auto* tensor = piece.As<TensorVal>();
    const auto* number = index.As<NumberVal>();
    if (tensor != nullptr && number != nullptr && emit.storages().IsDistinct(pieces->sequence))
      emit.storages().SetPiece(tensor->id, number->id, pieces->dim, pieces->sequence.index + 1);
    return piece;
  }
  FLAMBEAU_TRY(Val element, evaluator.emit().Call1("aten::__getitem__.t", {list, index}));
  if (!OfNumbers(evaluator, list)) return element;
  return evaluator.emit().Call1("aten::item", {element});
}

// The list as the program names it now; invalid if its length is known.
ValueId SequenceOf(Evaluator& evaluator, const Val& list) {
  const auto* value = list.As<ListVal>();
  return value != nullptr ? evaluator.heap()[value->cell].sequence.value_or(ValueId{}) : ValueId{};
}

}  // namespace

Result<Val> ElementAt(Evaluator& evaluator, const Val& list, const Val& index) {
  FLAMBEAU_TRY(const Val sequence, Opened(evaluator, list));
  FLAMBEAU_TRY(Val element, Take(evaluator, sequence, index));
  if (const auto* tensor = element.As<TensorVal>()) evaluator.taken()[tensor->id.index] = {SequenceOf(evaluator, sequence), index};
  return element;
}

void TakeInWrittenElements(Evaluator& evaluator) {
  Storages& storages = evaluator.emit().storages();
  std::vector<OpenedList>& all = evaluator.opened_lists();
  for (size_t i = all.size(); i-- > 0;) {
    const OpenedList list = all[i];
    const bool known = list.cell < evaluator.heap().size() && evaluator.heap().Contents(list.cell) == list.contents;
    if (!known || !storages.Knows(list.sequence) || !storages.IsWritten(list.sequence)) continue;
    Cell& cell = evaluator.Edit(list.cell);
    cell.elements.clear();
    cell.sequence = list.sequence;
    all.erase(all.begin() + static_cast<ptrdiff_t>(i));
  }
}

bool IsElementAt(Evaluator& evaluator, const Val& list, const Val& index, const Val& element) {
  const auto* tensor = element.As<TensorVal>();
  const auto taken = tensor != nullptr ? evaluator.taken().find(tensor->id.index) : evaluator.taken().end();
  if (taken == evaluator.taken().end() || taken->second.sequence != SequenceOf(evaluator, list)) return false;
  const Val& place = taken->second.place;
  const auto *number = index.As<NumberVal>(), *other = place.As<NumberVal>();
  if (number != nullptr && other != nullptr) return number->id == other->id;
  return index.AsInt() && index.AsInt() == place.AsInt();
}

Result<Val> ElementAtPlace(Evaluator& evaluator, const Val& list, const Val& place) {
  const Cell* cell = ListOf(list, evaluator.heap());
  const auto is_number = [](const Val& value) { return value.IsNumber() || value.Is<EnumVal>(); };
  if (cell == nullptr || cell->sequence || !std::ranges::all_of(cell->elements, is_number)) return ElementAt(evaluator, list, place);
  // Numbers come from a tensor of them; members of enums are numbers, too.
  Vals numbers = cell->elements;
  for (Val& number : numbers)
    if (const auto* member = number.As<EnumVal>()) number = evaluator.emit().NumberOf(*member);
  FLAMBEAU_TRY(Val tensor, evaluator.emit().NumbersTensor(numbers, DType::kFloat64));
  FLAMBEAU_TRY(Val at, evaluator.emit().NumbersTensor(Vals{place}));
  FLAMBEAU_TRY(Val element, evaluator.emit().Call1("aten::index_select", {tensor, int64_t{0}, at}));
  return evaluator.emit().Call1("aten::item", {element});
}

Result<Val> LengthOfSequence(Evaluator& evaluator, const Val& list) {
  const Pieces* pieces = PiecesOf(evaluator, list);
  if (pieces != nullptr && !pieces->count.Is<Nothing>()) return pieces->count;
  if (pieces != nullptr)
    return evaluator.emit().Call1("aten::sym_size.int", {pieces->tensor, pieces->dim});
  return evaluator.emit().Call1("aten::len.t", {list});
}

Result<std::optional<Val>> Rejoined(Evaluator& evaluator, const Val& list, bool stacked, int64_t dim) {
  Emitter& emit = evaluator.emit();
  const Pieces* pieces = PiecesOf(evaluator, list);
  const auto* tensor = pieces != nullptr ? pieces->tensor.As<TensorVal>() : nullptr;
  if (tensor == nullptr || !evaluator.TypeOf(*tensor).ranked || !emit.storages().IsDistinct(pieces->sequence)) return std::optional<Val>();
  const bool unbound = pieces->count.Is<Nothing>();
  const auto rank = static_cast<int64_t>(evaluator.TypeOf(*tensor).rank());
  const auto axis = [&](int64_t at) { return at < 0 ? at + rank : at; };
  if (unbound != stacked || OfNumbers(evaluator, list) || axis(dim) < 0 || axis(dim) >= rank) return std::optional<Val>();
  if (!stacked && axis(dim) != axis(pieces->dim)) return std::optional<Val>();
  Val whole = *tensor;
  if (stacked && axis(dim) != axis(pieces->dim)) {
    FLAMBEAU_TRY(whole, emit.Call1("aten::movedim.int", {whole, pieces->dim, dim}));
  }
  const Val format = int64_t{0};  // contiguous, as what is joined
  FLAMBEAU_TRY(Val joined, emit.Call1("aten::clone", {whole, format}));
  return std::optional<Val>(std::move(joined));
}

Result<Vals> FirstElements(Evaluator& evaluator, const Val& list, size_t count) {
  Vals elements;
  const Pieces* pieces = PiecesOf(evaluator, list);
  if (pieces != nullptr && !pieces->size.Is<Nothing>() && count > 0) {
    Emitter& emit = evaluator.emit();
    FLAMBEAU_TRY(Val rest, emit.Call1("aten::sym_size.int", {pieces->tensor, pieces->dim}));
    Vals sizes(count - 1, pieces->size);
    for (const Val& size : sizes) {
      FLAMBEAU_TRY(rest, emit.Call1("_operator::sub", {rest, size}));
    }
    sizes.push_back(std::move(rest));
    FLAMBEAU_TRY(const Val split, emit.Call1("aten::split_with_sizes", {pieces->tensor, evaluator.List(std::move(sizes)), pieces->dim}));
    if (const auto* parts = split.As<ListVal>()) elements = evaluator.heap()[parts->cell].elements;
    return elements;
  }
  for (size_t i = 0; i < count; ++i) {
    FLAMBEAU_TRY(Val element, ElementAt(evaluator, list, static_cast<int64_t>(i)));
    elements.push_back(std::move(element));
  }
  return elements;
}

Result<Val> NumbersOf(Evaluator& evaluator, const Val& list) {
  Emitter& emit = evaluator.emit();
  FLAMBEAU_TRY(const Val sequence, AsSequence(evaluator, list));
  const ValueId value = *evaluator.heap()[sequence.As<ListVal>()->cell].sequence;
  const int64_t dtype{Info(emit.TypeOf(value).dtype).torch_code};
  // One more in front makes a list that may be empty one that can be stacked.
  FLAMBEAU_TRY(const Val zero, emit.Call1("aten::scalar_tensor", {int64_t{0}, dtype}));
  FLAMBEAU_TRY(const Val filled, emit.Call1("aten::insert.t", {sequence, int64_t{0}, zero}));
  FLAMBEAU_TRY(const Val stacked, emit.Call1("aten::stack", {filled, int64_t{0}}));
  return emit.Call1("aten::slice.Tensor", {stacked, int64_t{0}, int64_t{1}});
}

}  // namespace flambeau::script
