#include "script/value.h"

#include <algorithm>

namespace flambeau::script {
namespace {

constexpr size_t kMaxNesting = 200;  // types nest less deep
constexpr size_t kFewCells = 64;     // are not looked through
constexpr size_t kMaxParts = size_t{1} << 22;

bool IsContainer(const Val& value) {
  return value.Is<ListVal>() || value.Is<DictVal>() || value.Is<TupleVal>() || value.Is<OptionalVal>();
}

}  // namespace

bool Heap::MustBeWatched(uint32_t cell) const {
  const Cell& one = (*this)[cell];
  if (!one.columns.empty() || (one.is_row && !one.lost)) return true;
  return one.taken && one.taken->list < size() && Contents(one.taken->list) == one.taken->contents;
}

void Heap::Watch(uint32_t cell) {
  const auto place = std::ranges::lower_bound(watched_, cell);
  if (place != watched_.end() && *place == cell) return;
  watched_.insert(place, cell);
  if (watched_.size() < 2 * kept_ + kFewCells) return;
  std::erase_if(watched_, [&](uint32_t each) { return each != cell && !MustBeWatched(each); });
  kept_ = watched_.size();
}

bool SameConstant(const Val& a, const Val& b) {
  if (a.storage.index() != b.storage.index()) return false;
  return std::visit(
      [&](const auto& left) {
        using T = std::decay_t<decltype(left)>;
        const T& right = std::get<T>(b.storage);
        if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, int64_t> || std::is_same_v<T, double> ||
                      std::is_same_v<T, std::complex<double>> || std::is_same_v<T, std::string>)
          return left == right;
        else if constexpr (std::is_same_v<T, DeviceVal>)
          return left.text == right.text;
        else if constexpr (std::is_same_v<T, EnumVal>)
          return left.constant->class_name == right.constant->class_name && left.constant->member == right.constant->member;
        else if constexpr (std::is_same_v<T, TensorVal> || std::is_same_v<T, NumberVal>)
          return left.id == right.id;
        else if constexpr (std::is_same_v<T, ListVal> || std::is_same_v<T, DictVal> || std::is_same_v<T, ObjectVal>)
          return left.cell == right.cell;
        else if constexpr (std::is_same_v<T, TupleVal>)
          return left.elements == right.elements;
        else if constexpr (std::is_same_v<T, OptionalVal>)
          return left.present == right.present && SameConstant(*left.value, *right.value);
        else
          return true;
      },
      a.storage);
}

const Val& Present(const Val& value) {
  const auto* optional = value.As<OptionalVal>();
  return optional != nullptr ? *optional->value : value;
}

const Vals* ElementsOf(const Val& value, const Heap& heap) {
  if (const auto* list = value.As<ListVal>()) return &heap[list->cell].elements;
  if (const auto* tuple = value.As<TupleVal>()) return tuple->elements.get();
  return nullptr;
}

const Cell* ListOf(const Val& value, const Heap& heap) {
  const auto* list = value.As<ListVal>();
  return list != nullptr ? &heap[list->cell] : nullptr;
}

Vals EntryValues(const Cell& dict) {
  Vals values;
  for (const auto& [key, value] : dict.entries) values.push_back(value);
  return values;
}

std::optional<uint32_t> CellOf(const Val& value) {
  if (const auto* list = value.As<ListVal>()) return list->cell;
  if (const auto* dict = value.As<DictVal>()) return dict->cell;
  return std::nullopt;
}

bool MayBeSame(const Heap& heap, uint32_t a, uint32_t b) {
  const std::vector<uint32_t>&one = heap[a].kin, &other = heap[b].kin;
  const auto has = [](const std::vector<uint32_t>& kin, uint32_t cell) { return std::ranges::find(kin, cell) != kin.end(); };
  return a == b || has(one, b) || has(other, a) || std::ranges::any_of(one, [&](uint32_t cell) { return has(other, cell); });
}

bool IsBounded(const Val& value, const Heap& heap) {
  if (!IsContainer(value)) return true;
  struct Part {
    const Val* value;
    const Cell* list;  // or a column of one
    size_t depth;
  };
  std::vector<Part> open = {{&value, nullptr, 1}};
  size_t parts = 0;
  while (!open.empty()) {
    const auto [part, column, depth] = open.back();
    open.pop_back();
    if (depth > kMaxNesting) return false;
    auto take = [&](const Val& inner) {
      ++parts;
      if (IsContainer(inner)) open.push_back({&inner, nullptr, depth + 1});
    };
    if (const Cell* list = column != nullptr ? column : ListOf(*part, heap)) {
      for (const Val& element : list->elements) take(element);
      for (const Cell& inner : list->columns) open.push_back({nullptr, &inner, depth + 1});
      parts += list->columns.size();
    } else if (const auto* tuple = part->As<TupleVal>()) {
      for (const Val& element : *tuple->elements) take(element);
    } else if (const auto* dict = part->As<DictVal>()) {
      for (const auto& [key, entry] : heap[dict->cell].entries) take(key), take(entry);
    } else {
      take(*part->As<OptionalVal>()->value);
    }
    if (parts > kMaxParts) return false;
  }
  return true;
}

bool HasFewFields(const Val& value, const Heap& heap) {
  std::vector<Val> open = {value};
  for (size_t fields = 0; !open.empty(); ++fields) {
    if (fields + open.size() > kMaxFields) return false;
    const Val part = std::move(open.back());
    open.pop_back();
    if (const auto* tuple = part.As<TupleVal>()) open.insert(open.end(), tuple->elements->begin(), tuple->elements->end());
    if (const auto* dict = part.As<DictVal>())
      for (const auto& [key, entry] : heap[dict->cell].entries) open.push_back(entry);
    if (const Cell* list = ListOf(part, heap); list != nullptr && !list->elements.empty()) open.push_back(list->elements[0]);
  }
  return true;
}

}  // namespace flambeau::script
