// Attributes of a node to be, changed on the way.
#pragma once

#include <string_view>
#include <utility>

#include "onnx/attribute_list.h"

namespace flambeau::onnx {

inline const Attribute* Find(const AttributeList& attributes, std::string_view name) {
  for (const auto& [key, value] : attributes.items())
    if (key == name) return &value;
  return nullptr;
}

inline AttributeList Without(const AttributeList& attributes, std::string_view name) {
  AttributeList others;
  for (const auto& [key, value] : attributes.items())
    if (key != name) others.Add(key, value);
  return others;
}

inline AttributeList With(const AttributeList& attributes, std::string_view name, const Attribute& value) {
  AttributeList all = Without(attributes, name);
  all.Add(name, value);
  return all;
}

}  // namespace flambeau::onnx
