#include "script/value.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "script/lists/held.h"

namespace flambeau::script {
namespace {

bool Watches(const Heap& heap, uint32_t cell) { return std::ranges::find(heap.watched(), cell) != heap.watched().end(); }

TEST(Heap, WatchesFewCellsHoweverManyRowsWereWritten) {
  Heap heap;
  const uint32_t list = heap.Add({.columns = {Cell{}, Cell{}}, .has_rows = true, .apart = true});
  for (int64_t place = 0; place < 10'000; ++place) {
    const Val row = ListVal{heap.Add({.elements = {place}})};
    TakeRow(heap, Taking(heap, list, place), row);
    EXPECT_TRUE(RowTaken(heap, Taking(heap, list, place)));
    heap.Edit(list).columns[0].elements = {place};  // a write to the row, by which others become lost
    heap.Edit(*CellOf(row)).lost = true;
  }
  EXPECT_TRUE(Watches(heap, list));
  EXPECT_LT(heap.watched().size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(heap.watched()));
}

TEST(Heap, WatchesRowsThatStand) {
  Heap heap;
  std::vector<uint32_t> rows;
  for (int64_t i = 0; i < 1'000; ++i) {
    const uint32_t row = heap.Add({.elements = {i}});
    heap.Edit(row).is_row = i % 2 == 0;
    if (i % 2 == 0) rows.push_back(row);
  }
  const Heap before = heap;
  for (const uint32_t row : rows) {
    EXPECT_TRUE(Watches(heap, row));
    heap.Edit(row).lost = true;
  }
  for (int64_t i = 0; i < 10'000; ++i) heap.Add({.elements = {i}});
  EXPECT_LT(heap.watched().size(), 200u);
  for (const uint32_t row : rows) EXPECT_TRUE(Watches(before, row));  // a snapshot has its own
}

}  // namespace
}  // namespace flambeau::script
