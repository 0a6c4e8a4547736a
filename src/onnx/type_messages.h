// TypeProto messages, encoded once a type: many values share few types.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/context.h"

namespace flambeau::onnx {

class TypeMessages {
 public:
  explicit TypeMessages(const Context& context) : context_(context) {}
  // The encoded TypeProto; empty where ONNX cannot say the type, or nothing is
  // known. Valid until the next call.
  std::string_view operator[](TypeId type);

 private:
  std::string Encode(const Type& type) const;
  std::string EncodeShape(const Type& type) const;

  const Context& context_;
  std::vector<std::pair<uint32_t, uint32_t>> places_;  // by type: begin and end in pool_
  std::string pool_;
};

}  // namespace flambeau::onnx
