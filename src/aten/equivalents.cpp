#include "aten/equivalents.h"

#include <algorithm>
#include <charconv>
#include <string>

namespace flambeau::aten {
namespace {

constexpr EquivalentRow kRows[] = {
#define FLAMBEAU_EQUIVALENT(op, call) {op, call},
#include "aten/equivalents.def"
#undef FLAMBEAU_EQUIVALENT
};
static_assert(std::ranges::is_sorted(kRows, {}, &EquivalentRow::op));

const EquivalentRow* FindRow(std::string_view op) {
  const auto row = std::ranges::lower_bound(kRows, op, {}, &EquivalentRow::op);
  return row != std::end(kRows) && row->op == op ? row : nullptr;
}

int PositionOf(const Schema& schema, std::string_view argument) {
  const auto at = std::ranges::find(schema.arguments, argument, &SchemaArgument::name);
  return at == schema.arguments.end() ? -1 : static_cast<int>(at - schema.arguments.begin());
}

// "self, dims, dtype=output_dtype, 0": arguments of `from`, or whole numbers, in the order of those of `to` or by name.
std::optional<Equivalent> ParseCall(const Schema& from, const Schema& to, std::string_view arguments) {
  Equivalent equivalent{&to, {}, false};
  for (const SchemaArgument& argument : to.arguments) equivalent.arguments.push_back({Equivalent::Source::kConstant, argument.default_value});
  std::vector<bool> given(to.arguments.size());
  for (int next = 0; !arguments.empty(); ++next) {
    const size_t end = std::min(arguments.find(", "), arguments.size());
    std::string_view value = arguments.substr(0, end);
    arguments.remove_prefix(std::min(end + 2, arguments.size()));
    int position = next;
    if (const size_t equals = value.find('='); equals != std::string_view::npos) {
      position = PositionOf(to, value.substr(0, equals));
      value.remove_prefix(equals + 1);
    }
    if (position < 0 || position >= static_cast<int>(to.arguments.size())) return std::nullopt;
    Equivalent::Source& source = equivalent.arguments[position];
    given[position] = true;
    int64_t number = 0;
    if (std::from_chars(value.data(), value.data() + value.size(), number).ptr == value.data() + value.size()) {
      source.constant = number;
      continue;
    }
    source.argument = PositionOf(from, value);
    if (source.argument < 0) return std::nullopt;
    equivalent.each |= from.arguments[source.argument].type.list && !to.arguments[position].type.list;
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const SchemaArgument& argument = to.arguments[i];
    if (!given[i] && !argument.has_default && !argument.type.optional) return std::nullopt;
  }
  return equivalent;
}

// "aten::add.Tensor" -> "aten::add_.Tensor".
std::string InPlace(std::string_view op) {
  const size_t dot = std::min(op.find('.'), op.size());
  return std::string(op.substr(0, dot)) + "_" + std::string(op.substr(dot));
}

// "aten::_foreach_add_.List" -> "aten::_foreach_add.List"; empty if it does not write in place.
std::string OutOfPlace(const Schema& schema) {
  if (!schema.base.ends_with('_') || !schema.has_writes()) return {};
  return std::string(schema.base.substr(0, schema.base.size() - 1)) + std::string(schema.name.substr(schema.base.size()));
}

bool IsList(const Attribute& value) {
  return std::holds_alternative<OperandList>(value) || std::holds_alternative<Ints>(value) ||
         std::holds_alternative<Floats>(value) || std::holds_alternative<Bools>(value);
}

size_t SizeOf(const Attribute& list) {
  if (const auto* operands = std::get_if<OperandList>(&list)) return operands->size();
  if (const auto* ints = std::get_if<Ints>(&list)) return ints->size();
  if (const auto* floats = std::get_if<Floats>(&list)) return floats->size();
  return std::get<Bools>(list).size();
}

Attribute ElementOf(const Attribute& list, size_t i) {
  if (const auto* operands = std::get_if<OperandList>(&list))
    return std::visit([](const auto& element) { return Attribute(element); }, (*operands)[i]);
  if (const auto* ints = std::get_if<Ints>(&list)) return (*ints)[i];
  if (const auto* floats = std::get_if<Floats>(&list)) return (*floats)[i];
  return static_cast<bool>(std::get<Bools>(list)[i]);
}

// Appends the operands that `value` names, and names them by where they are then.
Attribute WithOperands(const Attribute& value, std::span<const ValueId> operands, CanonicalCall& call) {
  const auto moved = [&](Operand operand) {
    call.operands.push_back(operands[operand.index]);
    return Operand{static_cast<uint32_t>(call.operands.size() - 1)};
  };
  if (const auto* operand = std::get_if<Operand>(&value)) return moved(*operand);
  const auto* list = std::get_if<OperandList>(&value);
  if (list == nullptr) return value;
  OperandList elements;
  for (const ListElement& element : *list) {
    const auto* operand = std::get_if<Operand>(&element);
    elements.push_back(operand ? ListElement(moved(*operand)) : element);
  }
  return elements;
}

}  // namespace

std::span<const EquivalentRow> EquivalentRows() { return kRows; }

std::optional<Equivalent> FindEquivalent(std::string_view op) {
  const Schema* from = FindSchema(op);
  if (from == nullptr) return std::nullopt;
  const EquivalentRow* row = FindRow(op);
  const bool in_place = row == nullptr;
  if (in_place) row = FindRow(OutOfPlace(*from));
  if (row == nullptr) return std::nullopt;
  const size_t open = row->call.find('(');
  const std::string_view name = row->call.substr(0, open);
  const Schema* to = FindSchema(in_place ? InPlace(name) : std::string(name));
  return to == nullptr ? std::nullopt : ParseCall(*from, *to, row->call.substr(open + 1, row->call.size() - open - 2));
}

Result<std::vector<CanonicalCall>> Replace(const Equivalent& equivalent, const CanonicalCall& call, std::string_view target,
                                           Context& context, Sink& sink) {
  const auto taken_apart = [&](size_t i) {
    const Equivalent::Source& source = equivalent.arguments[i];
    return source.argument >= 0 && !equivalent.schema->arguments[i].type.list && IsList(call.attributes[source.argument].value);
  };
  std::optional<size_t> count = equivalent.each ? std::nullopt : std::optional<size_t>(1);
  for (size_t i = 0; i < equivalent.arguments.size(); ++i) {
    if (!taken_apart(i)) continue;
    const size_t size = SizeOf(call.attributes[equivalent.arguments[i].argument].value);
    if (count.value_or(size) != size)
      return sink.Error(DiagnosticKind::kBadProgram, "the lists that it takes differ in length", {.operation = std::string(target)});
    count = size;
  }
  std::vector<CanonicalCall> calls(count.value_or(0));
  for (size_t element = 0; element < calls.size(); ++element) {
    for (size_t i = 0; i < equivalent.arguments.size(); ++i) {
      const Equivalent::Source& source = equivalent.arguments[i];
      const SchemaArgument& formal = equivalent.schema->arguments[i];
      Attribute value = source.constant;
      if (source.argument >= 0) {
        const Attribute& given = call.attributes[source.argument].value;
        if (taken_apart(i)) {
          value = ElementOf(given, element);
        } else if (formal.type.optional || !std::holds_alternative<None>(given)) {
          value = given;
        }
      }
      if (const auto* whole = std::get_if<int64_t>(&value); whole && formal.type.base == BaseType::kFloat) value = static_cast<double>(*whole);
      calls[element].attributes.push_back({context.Intern(formal.name), WithOperands(value, call.operands, calls[element])});
    }
  }
  return calls;
}

}  // namespace flambeau::aten
