#include "aten/canonical.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/torch_names.h"

namespace flambeau::aten {
namespace {

class Canonicalizer {
 public:
  Canonicalizer(std::span<const ValueId> values, std::span<const BlockId> bodies, CanonicalCall* call)
      : values_(values), bodies_(bodies), call_(call) {}

  // nullopt: the argument cannot be what the schema asks for.
  std::optional<Attribute> Convert(const Argument& argument, const SchemaType* type) {
    return std::visit([&](const auto& value) { return Take(value, type); }, argument.storage());
  }

 private:
  std::optional<Attribute> Take(std::monostate, const SchemaType*) { return None{}; }
  std::optional<Attribute> Take(bool value, const SchemaType* type) {
    if (type && type->list) return Repeat(Argument(value), *type);
    if (type && type->base == BaseType::kFloat) return value ? 1.0 : 0.0;
    if (type && (type->base == BaseType::kInt || type->base == BaseType::kSymInt)) return int64_t{value};
    return value;
  }
  std::optional<Attribute> Take(int64_t value, const SchemaType* type) {
    if (type && type->list) return Repeat(Argument(value), *type);
    if (type && type->base == BaseType::kFloat) return static_cast<double>(value);
    if (type && type->base == BaseType::kBool) return value != 0;
    if (type && type->base == BaseType::kDtype) return Dtype(value);
    return value;
  }
  std::optional<Attribute> Take(double value, const SchemaType* type) {
    if (type && type->list) return Repeat(Argument(value), *type);
    return value;
  }
  std::optional<Attribute> Take(std::complex<double> value, const SchemaType*) { return value; }
  std::optional<Attribute> Take(std::string_view value, const SchemaType* type) {
    if (type && type->base == BaseType::kDevice) return Device{std::string(value)};
    return std::string(value);
  }
  std::optional<Attribute> Take(DtypeArgument value, const SchemaType*) { return Dtype(value.code); }
  std::optional<Attribute> Take(LayoutArgument value, const SchemaType*) {
    return value.name == "strided" ? Layout::kStrided : value.name.starts_with("sparse") ? Layout::kSparse : Layout::kOther;
  }
  std::optional<Attribute> Take(DeviceArgument value, const SchemaType*) { return Device{std::string(value.name)}; }
  std::optional<Attribute> Take(MemoryFormatArgument value, const SchemaType*) {
    return MemoryFormatFromTorchName(value.name);
  }
  std::optional<Attribute> Take(ValueHandle value, const SchemaType* type) {
    const auto operand = AddOperand(value);
    if (!operand) return std::nullopt;
    if (type && type->list) return OperandList(static_cast<size_t>(std::max(type->list_size, 1)), *operand);
    return *operand;
  }
  std::optional<Attribute> Take(BodyHandle value, const SchemaType*) {
    if (value.index >= bodies_.size()) return std::nullopt;
    return bodies_[value.index];
  }
  std::optional<Attribute> Take(const Argument::List& list, const SchemaType* type);
  std::optional<OperandList> Elements(const Argument::List& list, const SchemaType* type);

  std::optional<Attribute> Repeat(const Argument& one, const SchemaType& type) {
    return Take(Argument::List(static_cast<size_t>(std::max(type.list_size, 1)), one), &type);
  }
  std::optional<Attribute> Dtype(int64_t code) {
    const auto dtype = DTypeFromTorchCode(code);
    if (!dtype) return std::nullopt;
    return *dtype;
  }
  std::optional<Operand> AddOperand(ValueHandle value) {
    if (value.index >= values_.size()) return std::nullopt;
    call_->operands.push_back(values_[value.index]);
    return Operand{static_cast<uint32_t>(call_->operands.size() - 1)};
  }

  std::span<const ValueId> values_;
  std::span<const BlockId> bodies_;
  CanonicalCall* call_;
};

template <class T>
bool All(const Argument::List& list) {
  return std::all_of(list.begin(), list.end(), [](const Argument& a) { return std::holds_alternative<T>(a.storage()); });
}

bool IsNumber(const Argument& a) {
  return std::holds_alternative<int64_t>(a.storage()) || std::holds_alternative<double>(a.storage()) ||
         std::holds_alternative<bool>(a.storage());
}

double AsNumber(const Argument& a) {
  if (const auto* i = std::get_if<int64_t>(&a.storage())) return static_cast<double>(*i);
  if (const auto* b = std::get_if<bool>(&a.storage())) return *b ? 1 : 0;
  return std::get<double>(a.storage());
}

// [[0, 1], [1, 3]] as [0, 1, 1, 3]; one level, which is all that schemas nest ("int[][]").
Argument::List Flattened(const Argument::List& lists) {
  Argument::List flat;
  for (const Argument& list : lists) {
    if (const auto* inner = std::get_if<Argument::List>(&list.storage())) {
      flat.insert(flat.end(), inner->begin(), inner->end());
    } else {
      flat.push_back(list);
    }
  }
  return flat;
}

Attribute EmptyList(BaseType base) {
  switch (base) {
    case BaseType::kTensor: return OperandList{};
    case BaseType::kFloat: return Floats{};
    case BaseType::kBool: return Bools{};
    case BaseType::kString: return Strings{};
    case BaseType::kOther: return OperandList{};
    default: return Ints{};
  }
}

// A list of constants of one type, as the schema's type has it; nullopt for others.
std::optional<Attribute> ConstantList(const Argument::List& list, BaseType base) {
  const bool of_ints = base == BaseType::kInt || base == BaseType::kSymInt, of_floats = base == BaseType::kFloat;
  if (All<bool>(list) && !of_ints && !of_floats) {
    Bools bools;
    for (const Argument& a : list) bools.push_back(std::get<bool>(a.storage()));
    return bools;
  }
  if (All<int64_t>(list) && !of_floats) {
    Ints ints;
    for (const Argument& a : list) ints.push_back(std::get<int64_t>(a.storage()));
    return ints;
  }
  // Numbers that take part in promotion stay what each of them is.
  const bool as_they_are = base == BaseType::kScalar && !All<double>(list);
  if (std::all_of(list.begin(), list.end(), IsNumber) && !of_ints && !as_they_are) {
    Floats floats;
    for (const Argument& a : list) floats.push_back(AsNumber(a));
    return floats;
  }
  if (All<std::string_view>(list)) {
    Strings strings;
    for (const Argument& a : list) strings.emplace_back(std::get<std::string_view>(a.storage()));
    return strings;
  }
  return std::nullopt;
}

std::optional<Attribute> Canonicalizer::Take(const Argument::List& list, const SchemaType* type) {
  if (type && type->nested) {
    SchemaType inner = *type;
    inner.nested = false;
    return Take(Flattened(list), &inner);
  }
  const BaseType base = type ? type->base : BaseType::kOther;
  if (list.empty()) return EmptyList(base);
  if (base != BaseType::kTensor)
    if (auto constants = ConstantList(list, base)) return constants;
  return Elements(list, type);
}

std::optional<OperandList> Canonicalizer::Elements(const Argument::List& list, const SchemaType* type) {
  OperandList elements;
  for (const Argument& a : list) {
    if (std::holds_alternative<std::monostate>(a.storage())) {
      if (type && type->base == BaseType::kTensor && !type->optional_elements) return std::nullopt;
      elements.push_back(None{});
    } else if (const auto* b = std::get_if<bool>(&a.storage())) {
      elements.push_back(*b);
    } else if (const auto* i = std::get_if<int64_t>(&a.storage())) {
      elements.push_back(*i);
    } else if (const auto* d = std::get_if<double>(&a.storage())) {
      elements.push_back(*d);
    } else if (const auto* value = std::get_if<ValueHandle>(&a.storage())) {
      const auto operand = AddOperand(*value);
      if (!operand) return std::nullopt;
      elements.push_back(*operand);
    } else {
      return std::nullopt;
    }
  }
  return elements;
}

using NamedArguments = std::span<const std::pair<std::string_view, Argument>>;

// Why a call has arguments that no formal of the schema took.
std::string WhyLeft(const Schema& schema, NamedArguments named) {
  std::vector<std::string_view> names;
  for (const auto& [name, argument] : named) {
    if (!schema.Find(name)) return fmt::format("has no argument '{}'", name);
    names.push_back(name);
  }
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  return twice != names.end() ? fmt::format("argument '{}' is given twice", *twice) : "an argument is given by its place and its name";
}

}  // namespace

Result<CanonicalCall> Canonicalize(const Schema* schema, std::string_view target, std::span<const Argument> positional,
                                   std::span<const std::pair<std::string_view, Argument>> named,
                                   std::span<const ValueId> values, std::span<const BlockId> bodies, Context& context,
                                   Sink& sink) {
  CanonicalCall call;
  Canonicalizer convert(values, bodies, &call);
  auto bad = [&](std::string message) {
    return sink.Error(DiagnosticKind::kBadProgram, std::move(message), {.operation = std::string(target)});
  };
  auto add = [&](std::string_view name, const Argument& argument, const SchemaType* type) {
    auto attribute = convert.Convert(argument, type);
    if (attribute) call.attributes.push_back({context.Intern(name), std::move(*attribute)});
    return attribute.has_value();
  };
  if (schema == nullptr) {
    size_t position = 0;
    for (const Argument& argument : positional) {
      const std::string name = fmt::format("arg{}", position++);
      if (!add(name, argument, nullptr)) return bad(fmt::format("argument '{}' has a value that no argument can have", name));
    }
    for (const auto& [given, argument] : named) {
      const std::string name = given.empty() ? fmt::format("arg{}", position++) : std::string(given);
      if (!add(name, argument, nullptr)) return bad(fmt::format("argument '{}' has a value that no argument can have", name));
    }
    return call;
  }
  if (positional.size() > 1 && schema->arguments.size() == 1 && schema->arguments[0].type.list && schema->base.starts_with("torch::")) {
    // Python's functions take the elements of a list one by one, too: torch.sym_sum(a, b).
    const Argument all(Argument::List(positional.begin(), positional.end()));
    return Canonicalize(schema, target, {&all, 1}, named, values, bodies, context, sink);
  }
  if (positional.size() > schema->arguments.size())
    return bad(fmt::format("takes {} arguments, {} are given", schema->arguments.size(), positional.size()));
  size_t used = 0;
  call.attributes.reserve(schema->arguments.size());
  for (size_t i = 0; i < schema->arguments.size(); ++i) {
    const SchemaArgument& formal = schema->arguments[i];
    const Argument* actual = nullptr;
    if (i < positional.size()) {
      actual = &positional[i];
      ++used;
    }
    // Named arguments come nearly always in schema order.
    for (size_t k = 0; k < named.size(); ++k) {
      const auto& candidate = named[(i + k) % named.size()];
      if (candidate.first != formal.name) continue;
      if (actual) return bad(fmt::format("argument '{}' is given twice", formal.name));
      actual = &candidate.second;
      ++used;
      break;
    }
    if (actual) {
      if (!add(formal.name, *actual, &formal.type))
        return bad(fmt::format("argument '{}' has a value that does not fit the schema", formal.name));
    } else if (formal.has_default) {
      call.attributes.push_back({context.Intern(formal.name), formal.default_value});
    } else if (formal.type.optional || formal.type.base == BaseType::kGenerator) {
      call.attributes.push_back({context.Intern(formal.name), None{}});
    } else {
      return bad(fmt::format("argument '{}' is missing", formal.name));
    }
  }
  if (used == positional.size() + named.size()) return call;
  return bad(WhyLeft(*schema, named));
}

}  // namespace flambeau::aten
