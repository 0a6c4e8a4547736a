#include "aten/schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <deque>
#include <mutex>
#include <unordered_map>

#include "aten/declarations.h"
#include "aten/library_schemas.h"
#include "aten/torch_schemas.inc"
#include "support/letters.h"

namespace flambeau::aten {
namespace {

// Functions of Python's that captured graphs call on sizes and numbers.
constexpr std::string_view kPythonSchemas[] = {
#define FLAMBEAU_SCHEMA(text) text,
#include "aten/python_schemas.def"
#undef FLAMBEAU_SCHEMA
};

// Operators of libraries.
constexpr std::string_view kLibrarySchemas[] = {
#define FLAMBEAU_SCHEMA(text) text,
#include "aten/library_schemas.def"
#undef FLAMBEAU_SCHEMA
};

struct NamedBase {
  std::string_view text;
  BaseType base;
};
constexpr NamedBase kBases[] = {
    {"Tensor", BaseType::kTensor},   {"int", BaseType::kInt},
    {"SymInt", BaseType::kSymInt},   {"float", BaseType::kFloat},
    {"SymFloat", BaseType::kFloat},  {"bool", BaseType::kBool},
    {"SymBool", BaseType::kBool},    {"Scalar", BaseType::kScalar},
    {"number", BaseType::kScalar},   {"complex", BaseType::kComplex},
    {"str", BaseType::kString},      {"ScalarType", BaseType::kDtype},
    {"Layout", BaseType::kLayout},   {"Device", BaseType::kDevice},
    {"MemoryFormat", BaseType::kMemoryFormat},
    {"Generator", BaseType::kGenerator},
};

// Of lists for which one number stands, and which are made of it. PyTorch's are
// of 6 at most; archives bring schemas of their own.
constexpr int kLargestListSize = 1024;

// "Tensor(a!)?[2]" -> its parts. `text` is a type without the argument's name.
bool ParseType(std::string_view text, SchemaArgument* argument) {
  SchemaType& type = argument->type;
  argument->type_text = text;
  if (const size_t open = text.find('('); open != text.npos && open > 0) {
    const size_t close = text.find(')', open);
    if (close != text.npos) {
      std::string_view alias = text.substr(open + 1, close - open - 1);
      argument->wildcard = alias.find('*') != alias.npos;
      argument->writes = alias.find('!') != alias.npos;
      argument->alias = alias.substr(0, alias.find_first_of("! "));
      if (argument->alias == "*") argument->alias = {};
    }
  }
  // What is left of the suffixes, read from the right.
  if (text.ends_with('?')) {
    type.optional = true;
    text.remove_suffix(1);
  }
  if (text.ends_with(']')) {
    const size_t open = text.rfind('[');
    if (open != text.npos) {
      type.list = true;
      const std::string_view size = text.substr(open + 1, text.size() - open - 2);
      std::from_chars(size.data(), size.data() + size.size(), type.list_size);
      if (type.list_size > kLargestListSize) return false;
      text = text.substr(0, open);
      // "Tensor(a!)[](b)" does not occur; "Tensor(a)[]" does.
      if (text.ends_with("[]")) {
        type.nested = true;
        text.remove_suffix(2);
      }
    }
  }
  if (text.ends_with('?')) {
    (type.list ? type.optional_elements : type.optional) = true;
    text.remove_suffix(1);
  }
  const std::string_view base = text.substr(0, text.find('('));
  const auto* found = std::find_if(std::begin(kBases), std::end(kBases), [&](const NamedBase& b) { return b.text == base; });
  type.base = found == std::end(kBases) ? BaseType::kOther : found->base;
  return true;
}

// "[0, 1]", "[1.5]", "[True, False]".
Attribute ParseDefaultList(std::string_view text, const SchemaType& type) {
  Ints ints;
  Floats floats;
  bool is_float = type.base == BaseType::kFloat;
  std::string_view rest = text.substr(1, text.size() - 2);
  while (!rest.empty()) {
    const std::string_view item = Trim(rest.substr(0, rest.find(',')));
    double real = 0;
    std::from_chars(item.data(), item.data() + item.size(), real);
    int64_t integer = item == "True" ? 1 : 0;
    std::from_chars(item.data(), item.data() + item.size(), integer);
    is_float |= item.find_first_of(".e") != item.npos && item != "True" && item != "False";
    floats.push_back(real);
    ints.push_back(integer);
    rest = rest.find(',') == rest.npos ? std::string_view() : rest.substr(rest.find(',') + 1);
  }
  if (type.base == BaseType::kBool) return Bools(ints.begin(), ints.end());
  if (is_float) return floats;
  return ints;
}

Attribute ParseDefault(std::string_view text, const SchemaType& type) {
  if (text == "None") return None{};
  if (text == "True") return true;
  if (text == "False") return false;
  if (text.size() >= 2 && (text.front() == '"' || text.front() == '\'')) return std::string(text.substr(1, text.size() - 2));
  if (text == "Mean") return int64_t{1};
  if (text == "long") return DType::kInt64;
  if (text == "float") return DType::kFloat32;
  if (text == "contiguous_format") return MemoryFormat::kContiguous;
  if (text == "strided") return Layout::kStrided;
  if (text.starts_with('[')) return ParseDefaultList(text, type);
  int64_t integer = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc() && end == text.data() + text.size()) {
    if (type.list) return Ints(static_cast<size_t>(std::max(type.list_size, 1)), integer);
    if (type.base == BaseType::kFloat) return static_cast<double>(integer);
    // PyTorch prints these as the numbers of their enumerators.
    if (type.base == BaseType::kDtype) return DTypeFromTorchCode(integer).value_or(DType::kNone);
    if (type.base == BaseType::kMemoryFormat && integer >= 0 && integer <= 3) return static_cast<MemoryFormat>(integer);
    return integer;
  }
  double number = 0;
  const auto [float_end, float_error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (float_error == std::errc() && float_end == text.data() + text.size()) return number;
  return std::string(text);
}

std::optional<SchemaArgument> ParseArgument(std::string_view text, bool keyword_only, bool is_return) {
  SchemaArgument argument;
  argument.keyword_only = keyword_only;
  std::string_view declaration = text, value;
  // '=' occurs only before a default.
  if (const size_t equals = text.find('='); equals != text.npos) {
    declaration = text.substr(0, equals);
    value = text.substr(equals + 1);
    argument.has_default = true;
  }
  // The name follows the last space outside parentheses: "Tensor(a -> *) self".
  size_t space = declaration.rfind(' ');
  if (space != declaration.npos && declaration.find(')', space) != declaration.npos) space = declaration.npos;
  if (space == declaration.npos) {
    if (!is_return || !ParseType(declaration, &argument)) return std::nullopt;
  } else {
    if (!ParseType(declaration.substr(0, space), &argument)) return std::nullopt;
    argument.name = declaration.substr(space + 1);
  }
  if (argument.has_default) argument.default_value = ParseDefault(value, argument.type);
  return argument;
}

// Splits at commas outside brackets and quotes.
template <class F>
bool ForEachPart(std::string_view list, F f) {
  int depth = 0;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == list.size() || (list[i] == ',' && depth == 0 && quote == 0)) {
      const std::string_view part = Trim(list.substr(begin, i - begin));
      if (!part.empty() && !f(part)) return false;
      begin = i + 1;
      continue;
    }
    const char c = list[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(' || c == '[') {
      ++depth;
    } else if (c == ')' || c == ']') {
      --depth;
    }
  }
  return depth == 0;
}

size_t ClosingParenthesis(std::string_view text, size_t open) {
  int depth = 0;
  char quote = 0;
  for (size_t i = open; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return i;
    }
  }
  return text.npos;
}

std::string_view NameOf(std::string_view schema) { return schema.substr(0, schema.find('(')); }

}  // namespace

const SchemaArgument* Schema::Find(std::string_view argument) const {
  for (const SchemaArgument& each : arguments)
    if (each.name == argument) return &each;
  return nullptr;
}

bool Schema::has_writes() const {
  return std::any_of(arguments.begin(), arguments.end(), [](const SchemaArgument& a) { return a.writes; });
}

std::optional<Schema> ParseSchema(std::string_view text) {
  Schema schema;
  schema.text = text;
  const size_t open = text.find('(');
  if (open == text.npos) return std::nullopt;
  schema.name = text.substr(0, open);
  const size_t colons = schema.name.find("::");
  const size_t dot = schema.name.find('.', colons == schema.name.npos ? 0 : colons);
  schema.base = schema.name.substr(0, dot);
  const size_t close = ClosingParenthesis(text, open);
  if (close == text.npos) return std::nullopt;
  bool keyword_only = false;
  const bool arguments_ok = ForEachPart(text.substr(open + 1, close - open - 1), [&](std::string_view part) {
    if (part == "*") return keyword_only = true;
    if (part == "...") return schema.variadic = true;
    auto argument = ParseArgument(part, keyword_only, false);
    if (!argument) return false;
    schema.arguments.push_back(std::move(*argument));
    return true;
  });
  const size_t arrow = text.find("->", close);
  if (!arguments_ok || arrow == text.npos) return std::nullopt;
  std::string_view returns = Trim(text.substr(arrow + 2));
  if (returns.starts_with('(') && ClosingParenthesis(returns, 0) == returns.size() - 1)
    returns = returns.substr(1, returns.size() - 2);
  const bool returns_ok = ForEachPart(returns, [&](std::string_view part) {
    if (part == "...") return schema.variadic = true;
    auto argument = ParseArgument(part, false, true);
    if (!argument) return false;
    schema.returns.push_back(std::move(*argument));
    return true;
  });
  if (!returns_ok) return std::nullopt;
  return schema;
}

namespace {

// The tables' schemas that were asked for. Entries stay where they are.
struct Known {
  std::mutex mutex;
  std::unordered_map<std::string_view, const Schema*> by_name;
  std::deque<Schema> schemas;

  static Known& Get() {
    static Known* known = new Known;
    return *known;
  }
};

std::string_view TextInTables(std::string_view name) {
  const auto by_name = [](uint32_t index, std::string_view wanted) { return NameOf(kTorchSchemas[index]) < wanted; };
  const auto* found =
      std::lower_bound(std::begin(kTorchSchemasByName), std::end(kTorchSchemasByName), name, by_name);
  if (found != std::end(kTorchSchemasByName) && NameOf(kTorchSchemas[*found]) == name) return kTorchSchemas[*found];
  for (std::string_view each : kPythonSchemas)
    if (NameOf(each) == name) return each;
  for (std::string_view each : kLibrarySchemas)
    if (NameOf(each) == name) return each;
  return {};
}

}  // namespace

const Schema* FindSchema(std::string_view name) {
  if (const Declarations* declared = DeclarationScope::Current())
    if (const Schema* schema = declared->Find(name)) return schema;
  Known& known = Known::Get();
  const std::lock_guard lock(known.mutex);
  if (auto it = known.by_name.find(name); it != known.by_name.end()) return it->second;
  const std::string_view text = TextInTables(name);
  if (text.empty()) return nullptr;
  auto schema = ParseSchema(text);
  if (!schema) return nullptr;
  const Schema* result = &known.schemas.emplace_back(std::move(*schema));
  known.by_name.emplace(result->name, result);
  return result;
}

bool IsInTables(std::string_view name) { return !TextInTables(name).empty(); }

std::vector<std::string_view> LibrarySchemaTexts() { return {std::begin(kLibrarySchemas), std::end(kLibrarySchemas)}; }

std::vector<std::string_view> TorchSchemaTexts() { return {std::begin(kTorchSchemas), std::end(kTorchSchemas)}; }

std::string CanonicalName(std::string_view target) {
  constexpr std::string_view kOps = "torch.ops.";
  if (target.starts_with(kOps)) target.remove_prefix(kOps.size());
  std::string name(target);
  if (name.find("::") == std::string::npos) {
    const size_t dot = name.find('.');
    if (dot == std::string::npos) return name;
    name.replace(dot, 1, "::");
  }
  constexpr std::string_view kDefault = ".default";
  if (name.ends_with(kDefault)) name.resize(name.size() - kDefault.size());
  return name;
}

}  // namespace flambeau::aten
