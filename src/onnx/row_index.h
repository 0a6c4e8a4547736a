// Rows of a generated table by name, of which several share one.
#pragma once

#include <span>
#include <string_view>

#include "support/static_index.h"

namespace flambeau::onnx {

template <class Row>
class RowIndex {
 public:
  // Rows of one name are neighbours.
  RowIndex(std::span<const Row> rows, std::string_view Row::* name) {
    for (size_t first = 0, last = 0; first < rows.size(); first = last) {
      while (last < rows.size() && rows[last].*name == rows[first].*name) ++last;
      groups_.Add(rows[first].*name, rows.subspan(first, last - first));
    }
  }

  std::span<const Row> operator[](std::string_view name) const { return groups_.ValueOr(name, {}); }

 private:
  StaticIndex<std::span<const Row>> groups_;
};

}  // namespace flambeau::onnx
