// What a node holds beside its operands: a closed set of constants.
//
// On an ATen node there is one attribute a schema argument, in schema order,
// named as the schema names it; arguments that are run-time values say which
// operand they are (Operand, or OperandList where the argument is a list).
// On an ONNX node attributes are ONNX attributes, and all operands are inputs.
#pragma once

#include <complex>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/ids.h"
#include "support/dtype.h"

namespace flambeau {

struct None {
  friend bool operator==(None, None) = default;
};
// The argument is operand number `index` of the node.
struct Operand {
  uint32_t index;
  friend bool operator==(Operand, Operand) = default;
};
// One element of a list argument of which some element is a run-time value, or
// absent: `[%s0, 4]`, `[%a, None, %b]`.
using ListElement = std::variant<None, bool, int64_t, double, Operand>;
using OperandList = std::vector<ListElement>;

struct Device {
  std::string text;  // "cpu", "cuda:0"
  friend bool operator==(const Device&, const Device&) = default;
};
enum class Layout : uint8_t { kStrided, kSparse, kOther };
enum class MemoryFormat : uint8_t { kContiguous, kPreserve, kChannelsLast, kChannelsLast3d };

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Bools = std::vector<bool>;
using Strings = std::vector<std::string>;

using Attribute = std::variant<None, bool, int64_t, double, std::complex<double>, std::string, DType, Layout,
                               MemoryFormat, Device, Ints, Floats, Bools, Strings, Operand, OperandList, BlockId, DataId, TypeId>;

struct NamedAttribute {
  Symbol name;
  Attribute value;
  friend bool operator==(const NamedAttribute&, const NamedAttribute&) = default;
};

}  // namespace flambeau
