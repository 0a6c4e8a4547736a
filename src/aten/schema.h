// Operator schemas: names, arguments, defaults and alias annotations, read from
// the text in which PyTorch itself writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attribute.h"

namespace flambeau::aten {

enum class BaseType : uint8_t {
  kTensor,
  kInt,
  kSymInt,
  kFloat,
  kBool,
  kScalar,  // "Scalar", "number": an int, float, bool or complex
  kComplex,
  kString,
  kDtype,
  kLayout,
  kDevice,
  kMemoryFormat,
  kGenerator,
  kOther,  // a class, a type variable, Any
};

struct SchemaType {
  BaseType base = BaseType::kOther;
  bool optional = false;
  bool list = false;
  bool optional_elements = false;  // "Tensor?[]"
  bool nested = false;             // "int[][]": kept as one list
  int list_size = 0;               // "int[2]": a single number stands for two
};

struct SchemaArgument {
  std::string_view name;
  SchemaType type;
  std::string_view type_text;  // as the schema has it, with the alias annotation: "Dict(str, t)(a!)"
  bool keyword_only = false;
  bool has_default = false;
  Attribute default_value;
  // Alias annotation: "a" of "Tensor(a!)"; empty if there is none.
  std::string_view alias;
  bool writes = false;     // "(a!)"
  bool wildcard = false;   // "(a -> *)", "(*)"
};

struct Schema {
  std::string_view text;
  std::string_view name;      // "aten::add.Tensor"
  std::string_view base;      // "aten::add"
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaArgument> returns;  // names may be empty
  bool variadic = false;  // "..."

  const SchemaArgument* Find(std::string_view argument) const;
  bool has_writes() const;
};

// Parses a schema; nullopt if the text is none. The views point into `text`.
std::optional<Schema> ParseSchema(std::string_view text);

// The schema of that full overload name, of PyTorch's table, of ours for
// Python's own functions (`_operator::add`, `torch::sym_max`), or of those that
// the program declares (declarations.h); nullptr if there is none. The tables'
// are parsed at first use; the address is stable; thread-safe.
const Schema* FindSchema(std::string_view name);

// Whether one of the tables has the operator.
bool IsInTables(std::string_view name);
// Whether the schema is of an operator that is in no table.
inline bool IsDeclared(const Schema& schema) { return !IsInTables(schema.name); }

// PyTorch's table in registration order.
std::vector<std::string_view> TorchSchemaTexts();

// "torch.ops.aten.add.Tensor", "aten.add.Tensor", "aten::add.Tensor" ->
// "aten::add.Tensor"; the overload "default" is left out; "_operator.sub" ->
// "_operator::sub"; "torch.sym_max" -> "torch::sym_max".
std::string CanonicalName(std::string_view target);

}  // namespace flambeau::aten
