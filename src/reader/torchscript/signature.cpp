#include "reader/torchscript/signature.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "aten/library_schemas.h"
#include "aten/schema.h"
#include "reader/torchscript/types.h"

namespace flambeau::torchscript {
namespace {

struct ToConstant {
  Constant operator()(None) const { return {}; }
  Constant operator()(bool value) const { return {value}; }
  Constant operator()(int64_t value) const { return {value}; }
  Constant operator()(double value) const { return {value}; }
  Constant operator()(const std::complex<double>& value) const { return {value}; }
  Constant operator()(const std::string& value) const { return {value}; }
  Constant operator()(DType value) const { return {int64_t{Info(value).torch_code}}; }
  Constant operator()(Layout value) const { return {static_cast<int64_t>(value)}; }
  Constant operator()(MemoryFormat value) const { return {static_cast<int64_t>(value)}; }
  Constant operator()(const Device& value) const { return {DeviceConstant{value.text}}; }
  template <class T>
  Constant operator()(const std::vector<T>& values) const {
    ListConstant list;
    for (const T value : values) list.elements.push_back({value});
    return {std::move(list)};
  }
  Constant operator()(const Strings& values) const {
    ListConstant list;
    for (const std::string& value : values) list.elements.push_back({value});
    return {std::move(list)};
  }
  // No default of a schema is one of these.
  Constant operator()(const Operand&) const { return {}; }
  Constant operator()(const OperandList&) const { return {}; }
  Constant operator()(BlockId) const { return {}; }
  Constant operator()(DataId) const { return {}; }
  Constant operator()(TypeId) const { return {}; }
};

std::string_view BaseName(std::string_view schema) { return schema.substr(0, schema.find_first_of(".(")); }

}  // namespace

std::optional<Signature> ParseSignature(std::string_view text) {
  const std::optional<aten::Schema> schema = aten::ParseSchema(text);
  if (!schema) return std::nullopt;
  Signature signature;
  signature.name = schema->base;
  if (schema->name.size() > schema->base.size()) signature.overload = schema->name.substr(schema->base.size() + 1);
  const size_t arrow = text.rfind("->");
  signature.variadic = text.substr(0, arrow).find("...") != text.npos;
  signature.variadic_results = text.substr(arrow).find("...") != text.npos;
  for (const aten::SchemaArgument& argument : schema->arguments) {
    FormalArgument formal;
    formal.name = argument.name;
    formal.type = ParseSchemaType(argument.type_text);
    if (!formal.type) return std::nullopt;
    formal.list_size = argument.type.list_size;
    formal.keyword_only = argument.keyword_only;
    if (argument.has_default) {
      formal.default_value = std::visit(ToConstant(), argument.default_value);
      // "float eps=1" is printed without its point.
      if (const auto* integer = std::get_if<int64_t>(&formal.default_value->value);
          integer != nullptr && Unwrap(formal.type)->kind == TypeKind::kFloat)
        formal.default_value = Constant{static_cast<double>(*integer)};
    }
    signature.arguments.push_back(std::move(formal));
  }
  for (const aten::SchemaArgument& result : schema->returns) {
    TypePtr type = ParseSchemaType(result.type_text);
    if (!type) return std::nullopt;
    signature.results.push_back({std::string(result.name), std::move(type)});
  }
  return signature;
}

const std::vector<Signature>& FindOverloads(std::string_view name) {
  static std::mutex mutex;
  static std::map<std::string, std::vector<Signature>, std::less<>> parsed;
  const std::lock_guard lock(mutex);
  if (const auto found = parsed.find(name); found != parsed.end()) return found->second;
  static const std::vector<std::string_view> texts = aten::TorchSchemaTexts();  // sorted by operator
  const auto first = std::ranges::lower_bound(texts, name, {}, BaseName);
  std::vector<Signature> overloads;
  for (auto it = first; it != texts.end() && BaseName(*it) == name; ++it)
    if (std::optional<Signature> signature = ParseSignature(*it)) overloads.push_back(*std::move(signature));
  if (overloads.empty())
    for (const std::string_view text : aten::LibrarySchemaTexts())
      if (BaseName(text) == name)
        if (std::optional<Signature> signature = ParseSignature(text)) overloads.push_back(*std::move(signature));
  return parsed.emplace(std::string(name), std::move(overloads)).first->second;
}

}  // namespace flambeau::torchscript
