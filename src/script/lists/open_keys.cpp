#include "script/lists/open_keys.h"

#include <algorithm>

#include "script/builtins/builtins.h"
#include "script/lists/columns.h"
#include "script/lists/held.h"
#include "script/lists/rows.h"
#include "script/lists/sequences.h"

namespace flambeau::script {
namespace {

Vals KeysOf(const Cell& dict) {
  Vals keys;
  for (const auto& [key, value] : dict.entries) keys.push_back(key);
  return keys;
}

// Which of the keys are this one.
Result<Val> Equals(Evaluator& evaluator, const Vals& keys, const Val& key) {
  FLAMBEAU_TRY(const Val numbers, evaluator.emit().NumbersTensor(keys, DType::kFloat64));
  FLAMBEAU_TRY(const Val wanted, evaluator.emit().NumberTensor(key, DType::kFloat64));
  return evaluator.emit().Call1("aten::eq.Tensor", {numbers, wanted});
}

const torchscript::Node kAt{.kind = "aten::__getitem__", .overload = "t"};

// The value at the place.
Result<Val> ValueAt(Evaluator& evaluator, Vals values, const Val& place) {
  FLAMBEAU_TRY(Vals taken, CallOnList(evaluator, kAt, Vals{evaluator.List(std::move(values)), place}));
  return std::move(taken[0]);
}

// Whether no run has a key that is an entry's, as of a loop whose first round made the entry.
bool LacksKey(Evaluator& evaluator, const Cell& dict, const Val& key) {
  const Type& type = evaluator.emit().TypeOf(key.As<NumberVal>()->id);
  if (type.kind != TypeKind::kInt || !type.contents) return false;
  const ExprPool::Range range = evaluator.context().exprs().RangeOf(type.contents->front());
  return std::ranges::none_of(dict.entries, [&](const auto& entry) {
    const auto known = entry.first.AsInt();
    return !known || (*known >= range.min && *known <= range.max);
  });
}

}  // namespace

Failure UnknownKey(Evaluator& evaluator) {
  return evaluator.Unsupported("looks in a dict for a key that is known at run time only",
                               "make the dict with all its keys (counts: Dict[int, int] = {0: 0, 1: 0}), or count in a tensor");
}

bool IsOpenKey(const Cell& dict, const Val& key) {
  const bool open = key.Is<NumberVal>() || std::ranges::any_of(dict.entries, [](const auto& entry) { return entry.first.template Is<NumberVal>(); });
  return open && !dict.entries.empty() && key.IsNumber() &&
         std::ranges::all_of(dict.entries, [](const auto& entry) { return entry.first.IsNumber(); });
}

Result<Val> HasOpenKey(Evaluator& evaluator, const Cell& dict, const Val& key) {
  FLAMBEAU_TRY(const Val equals, Equals(evaluator, KeysOf(dict), key));
  FLAMBEAU_TRY(const Val any, evaluator.emit().Call1("aten::any", {equals}));
  return evaluator.emit().Call1("aten::item", {any});
}

Result<Val> PlaceOfKey(Evaluator& evaluator, const Cell& dict, const Val& key) {
  Emitter& emit = evaluator.emit();
  Vals keys = KeysOf(dict);
  keys.push_back(key);
  FLAMBEAU_TRY(const Val equals, Equals(evaluator, keys, key));
  FLAMBEAU_TRY(const Val counted, emit.Call1("aten::to.dtype", {equals, int64_t{Info(DType::kInt64).torch_code}}));
  FLAMBEAU_TRY(const Val place, emit.Call1("aten::argmax", {counted}));
  return emit.Call1("aten::item", {place});
}

Result<Val> AtOpenKey(Evaluator& evaluator, uint32_t dict, const Val& key) {
  Heap& heap = evaluator.heap();
  const TakenRow taking = Taking(heap, dict, key);
  if (const auto taken = RowTaken(heap, taking)) return *taken;
  const auto cell = heap.Contents(dict);
  FLAMBEAU_TRY(const Val place, PlaceOfKey(evaluator, *cell, key));
  FLAMBEAU_TRY(Val value, ValueAt(evaluator, EntryValues(*cell), place));
  if (!CellOf(value)) return value;
  TakeRow(heap, taking, value);  // of the dict, not of a list of its values
  if (value.Is<DictVal>()) TakeEntries(heap, *CellOf(value), taking.apart, taking.sole);
  if (taking.apart) TakeEntries(heap, dict, taking.apart, taking.sole);
  return value;
}

Result<Val> AtOpenKeyOr(Evaluator& evaluator, const Cell& dict, const Val& key, const Val& otherwise) {
  Vals values = EntryValues(dict);
  // Where there is no entry what stands there is not looked at.
  values.push_back(otherwise.Is<Nothing>() ? values[0] : otherwise);
  FLAMBEAU_TRY(const Val place, PlaceOfKey(evaluator, dict, key));
  FLAMBEAU_TRY(const Val value, ValueAt(evaluator, std::move(values), place));
  if (!otherwise.Is<Nothing>()) return value;
  FLAMBEAU_TRY(const Val has, HasOpenKey(evaluator, dict, key));
  if (const auto known = evaluator.KnownBool(has)) return *known ? value : Val(Nothing{});
  const auto* present = has.As<NumberVal>();
  if (present == nullptr) return UnknownKey(evaluator);
  return Val(OptionalVal{present->id, std::make_shared<const Val>(value)});
}

bool IsOpenPlace(const Cell& dict, const Val& key) {
  return key.Is<NumberVal>() && !dict.entries.empty() &&
         std::ranges::all_of(dict.entries, [](const auto& entry) { return entry.first.IsConstantNumber(); });
}

Result<Vals> WrittenAtOpenKey(Evaluator& evaluator, const torchscript::Node& node, const Cell& dict, const Val& key, const Val& value) {
  if (LacksKey(evaluator, dict, key)) return UnknownKey(evaluator);
  evaluator.sink().Warning(DiagnosticKind::kUnsupportedForm,
                           "writes to a dict at a key that is known at run time only, and is taken to be one that the dict has: "
                           "the model fails where it is another");
  const Val values = evaluator.List(EntryValues(dict));
  FLAMBEAU_TRY(const Val place, PlaceOfKey(evaluator, dict, key));
  FLAMBEAU_CHECK_OK(CallOnList(evaluator, node, Vals{values, place, value}));
  const Cell& written = *ListOf(values, evaluator.heap());
  if (written.sequence) return FirstElements(evaluator, values, dict.entries.size());
  if (written.columns.empty()) return written.elements;
  Vals entries;  // each may be the one that it was, or the one that was written
  for (size_t i = 0; i < dict.entries.size(); ++i) {
    FLAMBEAU_TRY(const Vals entry, CallOnList(evaluator, kAt, Vals{values, static_cast<int64_t>(i)}));
    Disown(evaluator.heap(), entry[0]);
    entries.push_back(entry[0]);
  }
  return entries;
}

}  // namespace flambeau::script
