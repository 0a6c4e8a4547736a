// How the generated methods of Builder gather a node's attributes.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "ir/attribute.h"

namespace flambeau::onnx {

class AttributeList {
 public:
  using Item = std::pair<std::string_view, Attribute>;  // the name is a literal

  template <class T>
  void Add(std::string_view name, const T& value) {
    items_.emplace_back(name, value);
  }
  // An attribute that ONNX lets absent.
  template <class T>
  void Add(std::string_view name, const std::optional<T>& value) {
    if (value) Add(name, *value);
  }
  // An attribute with a default, which is the same in all versions.
  template <class T>
  void Add(std::string_view name, const T& value, const std::type_identity_t<T>& default_value) {
    if (value != default_value) Add(name, value);
  }
  // A list that is absent if it is empty.
  template <class T>
  void AddUnlessEmpty(std::string_view name, const std::vector<T>& values) {
    if (!values.empty()) Add(name, values);
  }

  std::span<const Item> items() const { return items_; }

 private:
  std::vector<Item> items_;
};

// The results of an operator, absent ones where fewer were asked for.
template <size_t kCount, class T>
std::array<T, kCount> FirstOf(const std::vector<T>& results) {
  std::array<T, kCount> first = {};
  std::copy_n(results.begin(), std::min(kCount, results.size()), first.begin());
  return first;
}

}  // namespace flambeau::onnx
