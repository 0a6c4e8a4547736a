#include "onnx/operator_table.h"

#include <algorithm>

#include "onnx/row_index.h"

namespace flambeau::onnx {
namespace {

namespace table {
using enum DType;
using enum FormalOption;
#include "onnx/operator_table.inc"
}  // namespace table

template <class T, size_t N>
std::span<const T> Rows(const T (&array)[N], TableRange range) {
  return std::span(array).subspan(range.first, range.count);
}

template <class T>
const T* FindNamed(std::span<const T> rows, std::string_view name) {
  auto found = std::ranges::find(rows, name, &T::name);
  return found == rows.end() ? nullptr : &*found;
}

const FormalParameter* FormalAt(std::span<const FormalParameter> formals, int index) {
  if (index < 0 || formals.empty()) return nullptr;
  if (static_cast<size_t>(index) < formals.size()) return &formals[index];
  return formals.back().option == FormalOption::kVariadic ? &formals.back() : nullptr;
}

std::span<const OperatorVersion> VersionsOf(std::string_view name) {
  static const RowIndex<OperatorVersion> index(table::kVersions, &OperatorVersion::name);
  return index[name];
}

}  // namespace

std::span<const int64_t> AttributeSchema::default_ints() const {
  if (type != AttributeType::kInts) return {};
  return Rows(table::kDefaultInts, default_list);
}
std::span<const std::string_view> AttributeSchema::default_strings() const {
  if (type != AttributeType::kStrings) return {};
  return Rows(table::kDefaultStrings, default_list);
}

std::span<const FormalParameter> OperatorVersion::inputs() const { return Rows(table::kFormals, input_range); }
std::span<const FormalParameter> OperatorVersion::outputs() const { return Rows(table::kFormals, output_range); }
std::span<const AttributeSchema> OperatorVersion::attributes() const {
  return Rows(table::kAttributes, attribute_range);
}
std::span<const TypeConstraint> OperatorVersion::types() const { return Rows(table::kTypes, type_range); }

const FormalParameter* OperatorVersion::input(int index) const { return FormalAt(inputs(), index); }
const FormalParameter* OperatorVersion::output(int index) const { return FormalAt(outputs(), index); }
const AttributeSchema* OperatorVersion::FindAttribute(std::string_view attribute) const {
  return FindNamed(attributes(), attribute);
}
const TypeConstraint* OperatorVersion::FindType(std::string_view type_parameter) const {
  return FindNamed(types(), type_parameter);
}

const OperatorVersion* FindOperator(std::string_view name, int opset) {
  const OperatorVersion* newest = nullptr;
  for (const OperatorVersion& version : VersionsOf(name)) {
    if (version.since_version <= opset) newest = &version;
  }
  return newest;
}

bool DrawsNumbers(std::string_view name) {
  const auto versions = VersionsOf(name);
  return !versions.empty() && versions.back().FindAttribute("seed") != nullptr;
}

std::span<const OperatorVersion> AllOperators() { return table::kVersions; }

int NewestOpset() {
  static const int newest = std::ranges::max(AllOperators(), {}, &OperatorVersion::since_version).since_version;
  return newest;
}

}  // namespace flambeau::onnx
