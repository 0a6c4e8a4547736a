// Tuples, lists and dicts. A list of tensors whose length is known at run time
// only is a sequence of the program: its operators are called by the names that
// TorchScript gives them.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>

#include "script/builtins/builtins.h"
#include "script/lists/held.h"
#include "script/lists/open_keys.h"
#include "script/lists/sequences.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

Failure Bad(Evaluator& evaluator, std::string_view what) {
  return evaluator.sink().Error(DiagnosticKind::kBadProgram, std::string(what));
}

Result<Vals> AsVals(Result<Val> value) {
  FLAMBEAU_TRY(Val made, std::move(value));
  return Vals{std::move(made)};
}

// The place that Python means: from the end if negative.
std::optional<size_t> Place(int64_t index, size_t size) {
  const int64_t at = index < 0 ? index + static_cast<int64_t>(size) : index;
  if (at < 0 || at >= static_cast<int64_t>(size)) return std::nullopt;
  return static_cast<size_t>(at);
}

// --- tuples and construction -----------------------------------------------------------

Result<Vals> TupleConstruct(Evaluator& evaluator, const Node&, Arguments arguments) {
  Val tuple = Evaluator::Tuple(Vals(arguments.begin(), arguments.end()));
  if (!IsBounded(tuple, evaluator.heap()))
    return evaluator.sink().Error(DiagnosticKind::kLimitExceeded, "makes a tuple that nests too deep, or holds itself");
  return Vals{std::move(tuple)};
}
Result<Vals> TupleUnpack(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* tuple = arguments[0].As<TupleVal>();
  if (tuple == nullptr) return Bad(evaluator, "unpacks something that is no tuple");
  return *tuple->elements;
}
Result<Vals> TupleIndex(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* tuple = arguments[0].As<TupleVal>();
  const auto index = arguments.size() > 1 ? arguments[1].AsInt() : std::nullopt;
  if (tuple != nullptr && arguments.size() > 1 && !index) {  // a place that is known at run time only
    FLAMBEAU_TRY(Val element, ElementAtPlace(evaluator, evaluator.List(*tuple->elements), arguments[1]));
    return Vals{std::move(element)};
  }
  const auto at = tuple != nullptr && index ? Place(*index, tuple->elements->size()) : std::nullopt;
  if (!at) return Bad(evaluator, "takes an element that the tuple lacks");
  return Vals{(*tuple->elements)[*at]};
}
Result<Vals> TupleSlice(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* tuple = arguments[0].As<TupleVal>();
  const auto bound = [&](std::string_view name) {
    const torchscript::Constant* constant = node.Find(name);
    const auto* value = constant != nullptr ? std::get_if<int64_t>(&constant->value) : nullptr;
    return value != nullptr ? *value : 0;
  };
  if (tuple == nullptr) return Bad(evaluator, "slices something that is no tuple");
  const auto size = static_cast<int64_t>(tuple->elements->size());
  const int64_t begin = std::clamp<int64_t>(bound("beg"), 0, size), end = std::clamp<int64_t>(bound("end"), begin, size);
  return Vals{Evaluator::Tuple(Vals(tuple->elements->begin() + begin, tuple->elements->begin() + end))};
}
Result<Vals> ListConstruct(Evaluator& evaluator, const Node&, Arguments arguments) {
  return Vals{evaluator.List(Vals(arguments.begin(), arguments.end()))};
}
Result<Vals> ListUnpack(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return Bad(evaluator, "unpacks something that is no list");
  if (list->sequence) {
    if (node.Find("recorded_run") != nullptr)
      WarnOfExample(evaluator, fmt::format("has the {} pieces of the example", node.outputs.size()), "there are as many");
    return FirstElements(evaluator, arguments[0], node.outputs.size());
  }
  if (list->elements.size() != node.outputs.size())
    return evaluator.Raise(node, fmt::format("unpacks a list of {} into {} names", list->elements.size(), node.outputs.size()));
  return list->elements;
}
// --- lists ---------------------------------------------------------------------------------

// The place of a key among the entries; their number if it is not there.
Result<size_t> PlaceOf(Evaluator& evaluator, const Cell& cell, const Val& key) {
  for (size_t i = 0; i < cell.entries.size(); ++i) {
    const auto *asked = key.As<NumberVal>(), *own = cell.entries[i].first.As<NumberVal>();
    const bool same = asked != nullptr && own != nullptr && asked->id == own->id;
    const auto equal = same ? true : KnownEqual(cell.entries[i].first, key, evaluator.heap());
    if (!equal) return UnknownKey(evaluator);
    if (*equal) return i;
  }
  return cell.entries.size();
}

// What tells an integer or a text that is known from all others; none of another key.
std::optional<std::string> Known(const Val& key) {
  if (const auto number = key.AsInt(); number && !key.Is<bool>()) return fmt::format("{}", *number);
  const auto* text = key.As<std::string>();
  if (text == nullptr || text->find(kRunTimeText) != text->npos) return std::nullopt;
  return "'" + *text;
}

Result<Vals> DictConstruct(Evaluator& evaluator, const Node&, Arguments arguments) {
  Cell cell;
  std::unordered_map<std::string, size_t> places;  // of keys that are known, as a vocabulary's are: there may be many
  for (size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const std::optional<std::string> known = Known(arguments[i]);
    size_t at = cell.entries.size();
    if (known && places.size() == at) {
      at = places.try_emplace(*known, at).first->second;
    } else {
      FLAMBEAU_TRY(at, PlaceOf(evaluator, cell, arguments[i]));
    }
    if (at == cell.entries.size()) cell.entries.emplace_back(arguments[i], Val());
    cell.entries[at].second = arguments[i + 1];
  }
  return Vals{DictVal{evaluator.heap().Add(std::move(cell))}};
}

// nullptr if the key is not there.
Result<const std::pair<Val, Val>*> EntryOf(Evaluator& evaluator, const Cell& cell, const Val& key) {
  FLAMBEAU_TRY(const size_t at, PlaceOf(evaluator, cell, key));
  return at < cell.entries.size() ? &cell.entries[at] : nullptr;
}

Result<Vals> Copy(Evaluator& evaluator, const Node& node, Arguments arguments) {
  auto copy = [&](uint32_t cell) {
    Cell copied = evaluator.heap()[cell];
    copied.Unshare();
    return evaluator.heap().Add(std::move(copied));
  };
  if (const auto* list = arguments[0].As<ListVal>()) return Vals{ListVal{copy(list->cell)}};
  if (const auto* dict = arguments[0].As<DictVal>()) return Vals{DictVal{copy(dict->cell)}};
  if (const auto* tuple = arguments[0].As<TupleVal>()) return Vals{evaluator.List(*tuple->elements)};
  if (const auto* text = arguments[0].As<std::string>()) {
    Vals characters;
    for (const char c : *text) characters.emplace_back(std::string(1, c));
    return Vals{evaluator.List(std::move(characters))};
  }
  return evaluator.CallOperator(node, arguments);
}
// dict(): of nothing, of pairs, or of another.
Result<Vals> MakeDict(Evaluator& evaluator, const Node& node, Arguments arguments) {
  Cell made;
  if (!arguments.empty()) {
    const auto* pairs = arguments[0].As<ListVal>();
    if (pairs == nullptr) return Copy(evaluator, node, arguments);
    if (evaluator.heap()[pairs->cell].sequence) return evaluator.Unsupported("makes a dict of a list whose length is known at run time only");
    for (const Val& element : Vals(evaluator.heap()[pairs->cell].elements)) {
      const auto* pair = element.As<TupleVal>();
      if (pair == nullptr || pair->elements->size() != 2) return evaluator.Unsupported("makes a dict of what are no pairs");
      const Val &key = (*pair->elements)[0], &value = (*pair->elements)[1];
      FLAMBEAU_TRY(const auto* earlier, EntryOf(evaluator, made, key));
      if (earlier != nullptr) made.entries[static_cast<size_t>(earlier - made.entries.data())].second = value;
      else made.entries.emplace_back(key, value);
    }
  }
  return Vals{DictVal{evaluator.heap().Add(std::move(made))}};
}

Result<Vals> GetItem(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto* dict = arguments[0].As<DictVal>()) {
    const Cell& cell = evaluator.heap()[dict->cell];
    if (IsOpenKey(cell, arguments[1])) return AsVals(AtOpenKey(evaluator, dict->cell, arguments[1]));
    FLAMBEAU_TRY(const auto* entry, EntryOf(evaluator, cell, arguments[1]));
    if (entry == nullptr) return evaluator.Raise(node, "reads a key that the dict lacks for these inputs");
    return Vals{entry->second};
  }
  const auto index = arguments[1].AsInt();
  if (const auto* text = arguments[0].As<std::string>()) {
    const auto at = index ? Place(*index, text->size()) : std::nullopt;
    if (!at) return evaluator.Unsupported("takes a character that the text lacks");
    return Vals{std::string(1, (*text)[*at])};
  }
  if (arguments[0].Is<TupleVal>()) return TupleIndex(evaluator, {}, arguments);
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list == nullptr) return Bad(evaluator, "takes an element of something that has none");
  if (!list->sequence && (index || list->elements.empty())) {
    const auto at = Place(index.value_or(0), list->elements.size());
    if (!at) return evaluator.Raise(node, fmt::format("takes element {} of a list of {}", index.value_or(0), list->elements.size()));
    return Vals{list->elements[*at]};
  }
  FLAMBEAU_TRY(Val element, ElementAtPlace(evaluator, arguments[0], arguments[1]));
  return Vals{std::move(element)};
}

Result<Vals> Length(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const Val& value = arguments[0];
  if (const auto* text = value.As<std::string>()) return Vals{static_cast<int64_t>(text->size())};
  if (const auto* dict = value.As<DictVal>()) return Vals{static_cast<int64_t>(evaluator.heap()[dict->cell].entries.size())};
  if (const auto* tensor = value.As<TensorVal>()) {
    evaluator.kept_inputs().NoteSizeRead(node, *tensor);
    FLAMBEAU_TRY(Val size, evaluator.emit().Call1("aten::sym_size.int", {value, int64_t{0}}));
    return Vals{std::move(size)};
  }
  if (const auto* tuple = value.As<TupleVal>()) return Vals{static_cast<int64_t>(tuple->elements->size())};
  const Cell* list = ListOf(value, evaluator.heap());
  if (list == nullptr) return Bad(evaluator, "asks for the length of something that has none");
  if (!list->sequence) return Vals{static_cast<int64_t>(list->elements.size())};
  FLAMBEAU_TRY(Val size, LengthOfSequence(evaluator, value));
  return Vals{std::move(size)};
}

// The list becomes what `by` is.
Result<Vals> Replace(Evaluator& evaluator, const Val& list, const Val& by) {
  const Cell* now = ListOf(by, evaluator.heap());
  if (now == nullptr) return Bad(evaluator, "has no list as its result");
  const Cell copy = *now;
  Cell& cell = evaluator.Edit(list.As<ListVal>()->cell);
  cell.elements = copy.elements;
  cell.sequence = copy.sequence;
  cell.pieces = copy.pieces;
  cell.of_numbers = copy.of_numbers;
  return Vals{list};
}

// A write to a list: to its elements, or by an operator that returns the new
// sequence. Argument `place` is where, or what, at run time.
template <class F>
Result<Vals> Write(Evaluator& evaluator, Arguments arguments, std::string_view op, size_t place,
                   std::optional<size_t> element, F edit) {
  const auto* list = arguments[0].As<ListVal>();
  if (list == nullptr) return Bad(evaluator, "writes to something that is no list");
  const bool known = place >= arguments.size() || !arguments[place].Is<NumberVal>();
  if (evaluator.heap()[list->cell].sequence || !known) {
    Vals operands(arguments.begin(), arguments.end());
    FLAMBEAU_TRY(operands[0], Opened(evaluator, arguments[0]));
    const bool of_numbers = OfNumbers(evaluator, operands[0]);
    if (element && of_numbers) {
      FLAMBEAU_TRY(operands[*element], evaluator.emit().NumberTensor(operands[*element], DType::kFloat64));
    }
    FLAMBEAU_TRY(const Val changed, evaluator.emit().Call1(op, operands));
    return Replace(evaluator, arguments[0], SequenceLike(evaluator, changed, of_numbers));
  }
  Cell& cell = evaluator.Edit(list->cell);
  FLAMBEAU_CHECK_OK(edit(cell.elements));
  return Vals{arguments[0]};
}

Result<Vals> Append(Evaluator& evaluator, const Node&, Arguments arguments) {
  return Write(evaluator, arguments, "aten::append.t", arguments.size(), 1, [&](Vals& elements) -> Status {
    elements.push_back(arguments[1]);
    return {};
  });
}
// Both lists as one, the elements of `b` last.
Result<Val> Joined(Evaluator& evaluator, const Val& a, const Val& b) {
  const Cell *left = ListOf(a, evaluator.heap()), *right = ListOf(b, evaluator.heap());
  if (!left->sequence && !right->sequence) {
    if (left->elements.size() + right->elements.size() > Evaluator::kMaxLength) return evaluator.TooLong();
    Vals elements = left->elements;
    elements.insert(elements.end(), right->elements.begin(), right->elements.end());
    return evaluator.List(std::move(elements));
  }
  if (!left->sequence && left->elements.empty()) return b;
  if (!right->sequence && right->elements.empty()) return a;
  FLAMBEAU_TRY(const Val first, AsSequence(evaluator, a));
  FLAMBEAU_TRY(const Val second, AsSequence(evaluator, b));
  FLAMBEAU_TRY(const Val joined, evaluator.emit().Call1("aten::add.t", {first, second}));
  return SequenceLike(evaluator, joined, OfNumbers(evaluator, first));
}

Result<Vals> Extend(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (ListOf(arguments[0], evaluator.heap()) == nullptr || ListOf(arguments[1], evaluator.heap()) == nullptr)
    return Bad(evaluator, "extends something that is no list, or by something that is none");
  FLAMBEAU_TRY(const Val joined, Joined(evaluator, arguments[0], arguments[1]));
  return Replace(evaluator, arguments[0], joined);
}
Result<Vals> Insert(Evaluator& evaluator, const Node& node, Arguments arguments) {
  // Into nothing any place is the end.
  const Cell* list = ListOf(arguments[0], evaluator.heap());
  if (list != nullptr && !list->sequence && list->columns.empty() && list->elements.empty() && arguments[1].IsNumber())
    return Append(evaluator, node, Vals{arguments[0], arguments[2]});
  return Write(evaluator, arguments, "aten::insert.t", 1, 2, [&](Vals& elements) -> Status {
    const auto index = arguments[1].AsInt();
    if (!index) return evaluator.Unsupported("inserts at a place that is known at run time only");
    const auto size = static_cast<int64_t>(elements.size());
    elements.insert(elements.begin() + std::clamp<int64_t>(*index < 0 ? *index + size : *index, 0, size), arguments[2]);
    return {};
  });
}
Result<Vals> Clear(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (const auto* dict = arguments[0].As<DictVal>()) {
    Cell& cell = evaluator.Edit(dict->cell);
    cell.entries.clear();
    return Vals{};
  }
  const auto* list = arguments[0].As<ListVal>();
  if (list == nullptr) return Bad(evaluator, "clears something that is no list");
  Cell& cell = evaluator.Edit(list->cell);
  cell.elements.clear();
  cell.sequence.reset();
  cell.of_numbers = false;
  return Vals{};
}
// Of a list or a text, as Python slices.
Result<Val> SliceOf(Evaluator& evaluator, const Val& value, const Val& start, const Val& stop, const Val& stride) {
  const Cell* list = ListOf(value, evaluator.heap());
  const auto* text = value.As<std::string>();
  const auto size = static_cast<int64_t>(list != nullptr ? list->elements.size() : text->size());
  auto bound = [&](const Val& given, int64_t absent) { return given.Is<Nothing>() ? std::optional(absent) : given.AsInt(); };
  const auto step = bound(stride, 1);
  const auto begin = bound(start, step && *step < 0 ? size - 1 : 0), end = bound(stop, step && *step < 0 ? -size - 1 : size);
  if (!step || *step == 0) return evaluator.Unsupported("slices by a step that is known at run time only, or is 0");
  if (list != nullptr && !list->sequence && list->elements.empty()) return evaluator.List({});
  if (list != nullptr && (list->sequence || !begin || !end)) {
    FLAMBEAU_TRY(const Val sequence, AsSequence(evaluator, value));
    FLAMBEAU_TRY(const Val slice, evaluator.emit().Call1("aten::slice.t", {sequence, start, stop, *step}));
    return SequenceLike(evaluator, slice, OfNumbers(evaluator, sequence));
  }
  if (!begin || !end) return evaluator.Unsupported("slices text at places that are known at run time only");
  const int64_t lowest = *step < 0 ? -1 : 0, highest = *step < 0 ? size - 1 : size;
  auto clamp = [&](int64_t at) { return std::clamp(at < 0 ? at + size : at, lowest, highest); };
  Vals elements;
  std::string characters;
  // An absent end below the start is before the first element.
  const int64_t first = clamp(*begin), last = clamp(*end);
  for (int64_t i = first; *step > 0 ? i < last : i > last;) {
    if (list != nullptr) elements.push_back(list->elements[static_cast<size_t>(i)]);
    else characters += (*text)[static_cast<size_t>(i)];
    if (__builtin_add_overflow(i, *step, &i)) break;
  }
  return list != nullptr ? evaluator.List(std::move(elements)) : Val(std::move(characters));
}

Result<Vals> Reverse(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (ListOf(arguments[0], evaluator.heap()) == nullptr) return Bad(evaluator, "reverses something that is no list");
  FLAMBEAU_TRY(const Val reversed, SliceOf(evaluator, arguments[0], Nothing{}, Nothing{}, int64_t{-1}));
  return Replace(evaluator, arguments[0], reversed);
}
Result<Vals> SetItem(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto* dict = arguments[0].As<DictVal>()) {
    if (IsRowAt(evaluator.heap(), dict->cell, arguments[1], arguments[2])) return Vals{};  // d[k] += [x]
    if (const Cell& cell = evaluator.heap()[dict->cell]; IsOpenPlace(cell, arguments[1])) {
      FLAMBEAU_TRY(const Vals values, WrittenAtOpenKey(evaluator, node, Cell(cell), arguments[1], arguments[2]));
      Cell& written = evaluator.Edit(dict->cell);
      for (size_t i = 0; i < values.size(); ++i) written.entries[i].second = values[i];
      return Vals{};
    }
    FLAMBEAU_TRY(const size_t at, PlaceOf(evaluator, evaluator.heap()[dict->cell], arguments[1]));
    Cell& cell = evaluator.Edit(dict->cell);
    if (at == cell.entries.size()) cell.entries.emplace_back(arguments[1], Val());
    cell.entries[at].second = arguments[2];
    return Vals{};
  }
  if (IsElementAt(evaluator, arguments[0], arguments[1], arguments[2])) return Vals{arguments[0]};  // l[i] += 1
  return Write(evaluator, arguments, "aten::_set_item.t", 1, 2, [&](Vals& elements) -> Status {
    const auto index = arguments[1].AsInt();
    const auto at = index ? Place(*index, elements.size()) : std::nullopt;
    if (index && !at) return evaluator.Raise(node, fmt::format("writes element {} of a list of {}", *index, elements.size()));
    if (!at) return evaluator.Unsupported("writes an element at a place that is known at run time only");
    elements[*at] = arguments[2];
    return {};
  });
}
Result<Vals> Pop(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto* dict = arguments[0].As<DictVal>()) {
    FLAMBEAU_TRY(const auto* entry, EntryOf(evaluator, evaluator.heap()[dict->cell], arguments[1]));
    if (entry == nullptr && arguments.size() > 2) return Vals{arguments[2]};
    if (entry == nullptr) return evaluator.Raise(node, "pops a key that the dict lacks");
    const Val value = entry->second;
    FLAMBEAU_CHECK_OK(DeleteElement(evaluator, node, arguments.first(2)));
    return Vals{value};
  }
  const Vals place = {arguments[0], arguments.size() > 1 ? arguments[1] : Val(int64_t{-1})};
  FLAMBEAU_TRY(Vals value, GetItem(evaluator, node, place));
  FLAMBEAU_CHECK_OK(DeleteElement(evaluator, node, place));
  return value;
}
Result<Vals> Add(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto *a = arguments[0].As<std::string>(), *b = arguments[1].As<std::string>();
  if (a != nullptr && b != nullptr) return Vals{*a + *b};
  if (ListOf(arguments[0], evaluator.heap()) == nullptr || ListOf(arguments[1], evaluator.heap()) == nullptr)
    return evaluator.CallOperator(node, arguments);
  if (node.kind == "aten::add_") return Extend(evaluator, node, arguments);
  FLAMBEAU_TRY(const Val joined, Joined(evaluator, arguments[0], arguments[1]));
  return Copy(evaluator, node, Vals{joined});
}
Result<Vals> Multiply(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const bool swapped = arguments[1].Is<ListVal>();
  const Cell* list = ListOf(arguments[swapped ? 1 : 0], evaluator.heap());
  if (list == nullptr) return evaluator.CallOperator(node, arguments);
  const auto times = arguments[swapped ? 0 : 1].AsInt();
  const auto most = static_cast<int64_t>(Evaluator::kMaxLength / std::max<size_t>(list->elements.size(), 1));
  Val repeated;
  if (!times || list->sequence || *times > most) {
    FLAMBEAU_TRY(const Val once, AsSequence(evaluator, arguments[swapped ? 1 : 0]));
    FLAMBEAU_TRY(const Val sequence, evaluator.emit().Call1("aten::mul.left_t", {once, arguments[swapped ? 0 : 1]}));
    repeated = SequenceLike(evaluator, sequence, OfNumbers(evaluator, once));
  } else {
    const Vals once = list->elements;
    Vals elements;
    for (int64_t i = 0; i < *times; ++i) elements.insert(elements.end(), once.begin(), once.end());
    repeated = evaluator.List(std::move(elements));
  }
  return node.kind == "aten::mul_" ? Replace(evaluator, arguments[0], repeated) : Vals{std::move(repeated)};
}
Result<Vals> Slice(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (ListOf(arguments[0], evaluator.heap()) == nullptr && !arguments[0].Is<std::string>()) return evaluator.CallOperator(node, arguments);
  auto at = [&](size_t i) { return i < arguments.size() ? arguments[i] : Val(Nothing{}); };
  FLAMBEAU_TRY(Val slice, SliceOf(evaluator, arguments[0], at(1), at(2), at(3)));
  return Vals{std::move(slice)};
}

// --- dicts -------------------------------------------------------------------------------

template <class F>
Result<Vals> OfEntries(Evaluator& evaluator, Arguments arguments, F pick) {
  const auto* dict = arguments[0].As<DictVal>();
  if (dict == nullptr) return Bad(evaluator, "asks for the entries of something that is no dict");
  Vals picked;
  for (const auto& entry : evaluator.heap()[dict->cell].entries) picked.push_back(pick(entry));
  return Vals{evaluator.List(std::move(picked))};
}
Result<Vals> Keys(Evaluator& evaluator, const Node&, Arguments arguments) {
  return OfEntries(evaluator, arguments, [](const auto& entry) { return entry.first; });
}
Result<Vals> Values(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (arguments[0].Is<TensorVal>()) return evaluator.CallOperator(node, arguments);
  return OfEntries(evaluator, arguments, [](const auto& entry) { return entry.second; });
}
Result<Vals> Items(Evaluator& evaluator, const Node&, Arguments arguments) {
  return OfEntries(evaluator, arguments, [](const auto& entry) { return Evaluator::Tuple({entry.first, entry.second}); });
}
Result<Vals> Get(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* dict = arguments[0].As<DictVal>();
  if (dict == nullptr) return Bad(evaluator, "looks into something that is no dict");
  const Cell& cell = evaluator.heap()[dict->cell];
  const Val otherwise = arguments.size() > 2 ? arguments[2] : Val(Nothing{});
  if (IsOpenKey(cell, arguments[1])) return AsVals(AtOpenKeyOr(evaluator, Cell(cell), arguments[1], otherwise));
  FLAMBEAU_TRY(const auto* entry, EntryOf(evaluator, cell, arguments[1]));
  return Vals{entry != nullptr ? entry->second : otherwise};
}
Result<Vals> SetDefault(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* dict = arguments[0].As<DictVal>();
  if (dict == nullptr || arguments.size() < 3) return Bad(evaluator, "looks into something that is no dict");
  FLAMBEAU_TRY(const auto* entry, EntryOf(evaluator, evaluator.heap()[dict->cell], arguments[1]));
  if (entry != nullptr) return Vals{entry->second};
  FLAMBEAU_CHECK_OK(SetItem(evaluator, node, arguments));
  return Vals{arguments[2]};
}
// PyTorch takes the first entry, Python the last.
Result<Vals> PopItem(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* dict = arguments[0].As<DictVal>();
  if (dict == nullptr) return Bad(evaluator, "takes an entry of something that is no dict");
  if (evaluator.heap()[dict->cell].entries.empty()) return evaluator.Raise(node, "pops an entry of a dict that is empty");
  Cell& cell = evaluator.Edit(dict->cell);
  const auto [key, value] = cell.entries.front();
  cell.entries.erase(cell.entries.begin());
  return Vals{Evaluator::Tuple({key, value})};
}
Result<Vals> Update(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* other = arguments[1].As<DictVal>();
  if (other == nullptr) return Bad(evaluator, "updates a dict by something that is none");
  const auto entries = evaluator.heap()[other->cell].entries;
  for (const auto& [key, value] : entries) FLAMBEAU_CHECK_OK(SetItem(evaluator, node, Vals{arguments[0], key, value}));
  return Vals{};
}

constexpr BuiltinRow kRows[] = {
    {"aten::Delete", &DeleteElement},
    {"aten::__getitem__", &GetItem, kReadsText},
    {"aten::_set_item", &SetItem},
    {"aten::add", &Add},
    {"aten::add_", &Add},
    {"aten::append", &Append},
    {"aten::clear", &Clear},
    {"aten::copy", &Copy},
    {"aten::dict", &MakeDict},
    {"aten::extend", &Extend},
    {"aten::get", &Get},
    {"aten::setdefault", &SetDefault},
    {"aten::insert", &Insert},
    {"aten::items", &Items},
    {"aten::keys", &Keys},
    {"aten::len", &Length, kReadsText},
    {"aten::list", &Copy, kReadsText},
    {"aten::mul", &Multiply},
    {"aten::mul_", &Multiply},
    {"aten::pop", &Pop},
    {"aten::popitem", &PopItem},
    {"aten::reverse", &Reverse},
    {"aten::slice", &Slice, kReadsText},
    {"aten::update", &Update},
    {"aten::values", &Values},
    {"prim::DictConstruct", &DictConstruct},
    {"prim::ListConstruct", &ListConstruct},
    {"prim::ListUnpack", &ListUnpack},
    {"prim::TupleConstruct", &TupleConstruct, kTakesUndefined | kTakesLost},
    {"prim::TupleIndex", &TupleIndex},
    {"prim::TupleSlice", &TupleSlice},
    {"prim::TupleUnpack", &TupleUnpack},
};

}  // namespace

Result<Vals> DeleteElement(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (const auto* dict = arguments[0].As<DictVal>()) {
    FLAMBEAU_TRY(const size_t at, PlaceOf(evaluator, evaluator.heap()[dict->cell], arguments[1]));
    Cell& cell = evaluator.Edit(dict->cell);
    if (at >= cell.entries.size()) return evaluator.Raise(node, "deletes a key that the dict lacks");
    cell.entries.erase(cell.entries.begin() + static_cast<ptrdiff_t>(at));
    return Vals{};
  }
  FLAMBEAU_TRY(Vals written, Write(evaluator, arguments, "aten::Delete.t", 1, {}, [&](Vals& elements) -> Status {
    const auto index = arguments[1].AsInt();
    const auto at = index ? Place(*index, elements.size()) : std::nullopt;
    if (index && !at) return evaluator.Raise(node, fmt::format("deletes element {} of a list of {}", *index, elements.size()));
    if (!at) return evaluator.Unsupported("deletes an element at a place that is known at run time only");
    elements.erase(elements.begin() + static_cast<ptrdiff_t>(*at));
    return {};
  }));
  return Vals{};
}

Result<Vals> ContainsKey(Evaluator& evaluator, const Node&, Arguments arguments) {
  if (const auto* dict = arguments[0].As<DictVal>()) {
    const Cell& cell = evaluator.heap()[dict->cell];
    if (IsOpenKey(cell, arguments[1])) return AsVals(HasOpenKey(evaluator, Cell(cell), arguments[1]));
    FLAMBEAU_TRY(const auto* entry, EntryOf(evaluator, cell, arguments[1]));
    return Vals{entry != nullptr};
  }
  const auto *text = arguments[0].As<std::string>(), *part = arguments[1].As<std::string>();
  if (text == nullptr || part == nullptr) return Bad(evaluator, "looks into something that holds nothing");
  return Vals{text->find(*part) != std::string::npos};
}

std::span<const BuiltinRow> ContainerBuiltins() { return kRows; }

}  // namespace flambeau::script
