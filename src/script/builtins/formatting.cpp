// Text that is made of values, and of other text: it may hold what only a run knows.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

// As TorchScript has it: "1." of a whole number, else 17 digits.
std::string TextOfDouble(double value) {
  constexpr double kBeyond = 9223372036854775808.0;  // int64
  if (std::abs(value) < kBeyond && std::trunc(value) == value) return fmt::format("{}.", static_cast<int64_t>(value));
  return fmt::format("{:.17g}", value);
}

std::string TextOfBounded(Evaluator& evaluator, const Val& value) {
  if (const auto* text = value.As<std::string>()) return *text;
  if (const auto* i = value.As<int64_t>()) return fmt::format("{}", *i);
  if (const auto* b = value.As<bool>()) return *b ? "True" : "False";
  if (const auto* d = value.As<double>()) return TextOfDouble(*d);
  if (const auto* device = value.As<DeviceVal>()) return device->text;
  if (value.Is<Nothing>()) return "None";
  if (const auto* list = value.As<ListVal>()) {
    std::string out = "[";
    for (const Val& element : evaluator.heap()[list->cell].elements) out += (out.size() > 1 ? ", " : "") + TextOfBounded(evaluator, element);
    return out + "]";
  }
  return std::string(1, kRunTimeText);
}

}  // namespace

Failure UnknownText(Evaluator& evaluator) { return evaluator.Unsupported("works on text that is known at run time only"); }

std::string TextOf(Evaluator& evaluator, const Val& value) {
  return IsBounded(value, evaluator.heap()) ? TextOfBounded(evaluator, value) : std::string(1, kRunTimeText);
}

namespace {

Result<Vals> Text(Evaluator& evaluator, const Node&, Arguments arguments) {
  return Vals{TextOf(evaluator, arguments[0])};
}

// "{}" is replaced by the next argument.
Result<Vals> Format(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* pattern = arguments.empty() ? nullptr : arguments[0].As<std::string>();
  if (pattern == nullptr) return evaluator.sink().Error(DiagnosticKind::kBadProgram, "formats something that is no text");
  std::string out;
  size_t next = 1;
  for (size_t i = 0; i < pattern->size(); ++i) {
    if (pattern->compare(i, 2, "{}") == 0 && next < arguments.size()) {
      out += TextOf(evaluator, arguments[next++]);
      ++i;
    } else {
      out += (*pattern)[i];
    }
  }
  return Vals{std::move(out)};
}

// (separator, list)
Result<Vals> Join(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* separator = arguments[0].As<std::string>();
  const auto* list = arguments.size() > 1 ? arguments[1].As<ListVal>() : nullptr;
  if (separator == nullptr || list == nullptr) return UnknownText(evaluator);
  std::string joined;
  bool first = true;
  for (const Val& element : evaluator.heap()[list->cell].elements) {
    const auto* text = element.As<std::string>();
    if (text == nullptr) return UnknownText(evaluator);
    joined += (std::exchange(first, false) ? "" : *separator) + *text;
    if (joined.size() > Evaluator::kMaxLength) return evaluator.TooLong();
  }
  return Vals{joined};
}

// A value as a directive says; integers are cut to, and floats written as, the C types of TorchScript.
Result<std::string> Formatted(Evaluator& evaluator, const Node& node, char directive, const Val& value) {
  if (directive == 's' || value.Is<NumberVal>()) return TextOf(evaluator, value);
  const auto* number = value.As<double>();
  const auto integer = value.Is<int64_t>() ? value.AsInt() : std::nullopt;
  if (number == nullptr && !integer) return evaluator.Raise(node, fmt::format("formats by '%{}' what is no number", directive));
  if (directive == 'f') return fmt::format("{:f}", static_cast<float>(number != nullptr ? *number : static_cast<double>(*integer)));
  if (integer) return fmt::format("{}", *integer);
  if (!(std::abs(*number) < 2147483648.0)) return evaluator.Unsupported(fmt::format("formats a float by '%{}' that is no int of C", directive));
  return fmt::format("{}", static_cast<int64_t>(*number));
}

// "%d of %s": the directives without widths.
Result<Vals> PercentFormat(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto* pattern = arguments[0].As<std::string>();
  if (pattern == nullptr) return UnknownText(evaluator);
  Vals values(arguments.begin() + 1, arguments.end());
  if (values.size() == 1 && values[0].Is<TupleVal>()) values = Vals(*values[0].As<TupleVal>()->elements);
  std::string out;
  size_t next = 0;
  for (size_t i = 0; i < pattern->size(); ++i) {
    if ((*pattern)[i] != '%' || i + 1 == pattern->size()) {
      out += (*pattern)[i];
      continue;
    }
    const char directive = (*pattern)[++i];
    if (directive == '%') {
      out += '%';
      continue;
    }
    if (std::string_view("dsif").find(directive) == std::string_view::npos || next == values.size())
      return evaluator.Unsupported(fmt::format("formats text by '%{}'", directive));
    FLAMBEAU_TRY(const std::string part, Formatted(evaluator, node, directive, values[next++]));
    out += part;
  }
  return Vals{out};
}

constexpr BuiltinRow kRows[] = {
    {"aten::format", &Format, kTakesOptionals},
    {"aten::join", &Join},
    {"aten::percentFormat", &PercentFormat},
    {"aten::str", &Text, kTakesOptionals},
};

}  // namespace

std::span<const BuiltinRow> FormattingBuiltins() { return kRows; }

}  // namespace flambeau::script
