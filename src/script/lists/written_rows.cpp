// What was taken out of a list or dict whose elements only a run can tell apart, and written there, goes back.
#include "script/lists/columns.h"
#include "script/lists/held.h"
#include "script/lists/open_keys.h"
#include "script/lists/rows.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

const Node kSet{.kind = "aten::_set_item"}, kGet{.kind = "aten::__getitem__"};

// The element of a list of lists or dicts at a place of run time.
Status PutElement(Evaluator& evaluator, const TakenRow& taken, uint32_t row) {
  if (evaluator.heap()[row].entries.empty()) return PutList(evaluator, taken, row);
  FLAMBEAU_CHECK_OK(OnColumns(evaluator, kSet, Vals{ListVal{taken.list}, taken.place, DictVal{row}}, true));
  return {};
}

// Each entry of a dict that may have the key becomes what it is then.
Status PutEntry(Evaluator& evaluator, const TakenRow& taken, uint32_t row) {
  Heap& heap = evaluator.heap();
  const auto dict = heap.Contents(taken.list);
  const Vals entries = EntryValues(*dict);
  evaluator.NoteWrite(taken.list);  // it may be an element, too
  if (std::ranges::any_of(entries, [&](const Val& entry) { return CellOf(entry) == row; })) return {};
  const auto shared = [&](const Val& entry) { return heap[*CellOf(entry)].shared; };
  if (heap[taken.list].shared || std::ranges::any_of(entries, shared)) return evaluator.Unsupported("writes to a list that may be another one");
  const Val values = evaluator.List(entries);
  const uint32_t list = values.As<ListVal>()->cell;
  FLAMBEAU_TRY(const Val place, PlaceOfKey(evaluator, *dict, taken.place));
  FLAMBEAU_CHECK_OK(PutElement(evaluator, {list, place, heap.Contents(list), true, taken.sole}, row));
  for (size_t i = 0; i < entries.size(); ++i) {
    const Vals arguments{values, static_cast<int64_t>(i)};
    FLAMBEAU_TRY(const Vals made, CallOnList(evaluator, kGet, arguments));
    const Cell now = heap[*CellOf(made[0])];
    Cell& entry = heap.Edit(*CellOf(entries[i]));
    entry.elements = now.elements;
    entry.sequence = now.sequence;
    entry.of_numbers = now.of_numbers;
    entry.columns = now.columns;
    entry.keys = now.keys;
    entry.has_rows = now.has_rows;
    entry.entries = now.entries;
    entry.pieces.reset();
  }
  return {};
}

Status PutRow(Evaluator& evaluator, const TakenRow& taken, uint32_t row) {
  return evaluator.heap()[taken.list].entries.empty() ? PutElement(evaluator, taken, row) : PutEntry(evaluator, taken, row);
}

}  // namespace

// Also from a list that is an element itself into its own. A list that can't have what was written is lost.
void Evaluator::PutRowsBack() {
  for (auto rows = std::exchange(written_rows_, {}); !rows.empty(); rows = std::exchange(written_rows_, {}))
    for (const uint32_t row : rows) {
      if (sink_.HasErrors() || raised_) continue;
      const TakenRow taken = *heap_[row].taken;
      const size_t reported = sink_.diagnostics().size(), written = written_rows_.size();
      const Snapshot before = Save();
      const BlockId first = emitter_.NextBlock();
      if (!heap_[row].lost && PutRow(*this, taken, row)) {
        TakeAgain(heap_, row, {taken.list, taken.place, nullptr, true, taken.sole});
        continue;
      }
      sink_.Truncate(reported);
      written_rows_.resize(written);
      Restore(before);
      emitter_.DiscardLeftBlocksFrom(first);
      for (std::optional<uint32_t> list = taken.list; list;) {
        const auto outer = heap_[*list].is_row ? OwnerOf(heap_, *list) : std::nullopt;
        heap_.Edit(*list).lost = true;
        list = outer;
      }
    }
}

}  // namespace flambeau::script
