// Rows of a generated table by name. Every node that is emitted looks its
// operator up a few times, so this is a hash table, not a binary search.
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>

namespace flambeau::onnx {

template <class Row>
class RowIndex {
 public:
  // Rows of one name are neighbours.
  RowIndex(std::span<const Row> rows, std::string_view Row::* name) {
    for (size_t first = 0, last = 0; first < rows.size(); first = last) {
      while (last < rows.size() && rows[last].*name == rows[first].*name) ++last;
      groups_.emplace(rows[first].*name, rows.subspan(first, last - first));
    }
  }

  std::span<const Row> operator[](std::string_view name) const {
    const auto found = groups_.find(name);
    return found == groups_.end() ? std::span<const Row>() : found->second;
  }

 private:
  std::unordered_map<std::string_view, std::span<const Row>> groups_;
};

}  // namespace flambeau::onnx
