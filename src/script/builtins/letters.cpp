// What Python's str says of letters, and makes of text by them and by its length.
#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

using OfLetter = int (*)(int);
constexpr OfLetter kUpper = &std::toupper, kLower = &std::tolower;

bool IsOf(OfLetter test, char letter) { return test(static_cast<unsigned char>(letter)) != 0; }
char As(OfLetter convert, char letter) { return static_cast<char>(convert(static_cast<unsigned char>(letter))); }

Failure NoText(Evaluator& evaluator) { return evaluator.Unsupported("asks something of text that is known at run time only"); }

// There is such a letter, and none of the other case.
template <OfLetter kCase>
Result<Vals> AllOfCase(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return NoText(evaluator);
  const auto is_letter = [](char c) { return IsOf(&std::isalpha, c); };
  return Vals{std::ranges::any_of(*text, is_letter) &&
              std::ranges::all_of(*text, [&](char c) { return !is_letter(c) || IsOf(kCase, c); })};
}

template <OfLetter kTest>
Result<Vals> AllOfKind(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return NoText(evaluator);
  return Vals{!text->empty() && std::ranges::all_of(*text, [](char c) { return IsOf(kTest, c); })};
}

// Letters begin with a capital, and have none else; there is a letter.
Result<Vals> IsTitle(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return NoText(evaluator);
  bool within = false, any = false;
  for (const char letter : *text) {
    if (letter != As(within ? kLower : kUpper, letter)) return Vals{false};
    within = IsOf(&std::isalpha, letter);
    any |= within;
  }
  return Vals{any};
}

Result<Vals> IsPrintable(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return NoText(evaluator);
  return Vals{std::ranges::all_of(*text, [](char c) { return IsOf(&std::isalnum, c) || IsOf(&std::ispunct, c) || c == ' '; })};
}

// TorchScript knows none with "_".
Result<Vals> IsIdentifier(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return NoText(evaluator);
  return Vals{!text->empty() && !IsOf(&std::isdigit, text->front()) && std::ranges::all_of(*text, [](char c) { return IsOf(&std::isalnum, c); })};
}

// Each letter by the one before it; '\0' is before the first.
template <char (*kChange)(char before, char letter)>
Result<Vals> Changed(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  if (text == nullptr) return NoText(evaluator);
  std::string changed;
  for (size_t i = 0; i < text->size(); ++i) changed += kChange(i == 0 ? '\0' : (*text)[i - 1], (*text)[i]);
  return Vals{std::move(changed)};
}
char Lower(char, char letter) { return As(kLower, letter); }
char Upper(char, char letter) { return As(kUpper, letter); }
char Capital(char before, char letter) { return As(before == '\0' ? kUpper : kLower, letter); }
char Title(char before, char letter) { return As(IsOf(&std::isalpha, before) ? kLower : kUpper, letter); }
char Swapped(char, char letter) { return As(IsOf(&std::isupper, letter) ? kLower : kUpper, letter); }

// (text, width, character): how much is put before it, of what is missing.
template <size_t (*kBefore)(size_t missing, bool odd_width)>
Result<Vals> Filled(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  const auto width = arguments.size() > 1 ? arguments[1].AsInt() : std::nullopt;
  const auto* given = arguments.size() > 2 ? arguments[2].As<std::string>() : nullptr;
  const std::string filling = given != nullptr ? *given : " ";
  if (text == nullptr || !width || filling.size() != 1) return NoText(evaluator);
  if (*width > static_cast<int64_t>(Evaluator::kMaxLength)) return evaluator.TooLong();
  if (*width <= static_cast<int64_t>(text->size())) return Vals{*text};
  const size_t missing = static_cast<size_t>(*width) - text->size(), before = kBefore(missing, *width % 2 != 0);
  return Vals{std::string(before, filling[0]) + *text + std::string(missing - before, filling[0])};
}
size_t Nothing(size_t, bool) { return 0; }
size_t All(size_t missing, bool) { return missing; }
size_t Half(size_t missing, bool odd_width) { return (missing + (odd_width ? 1 : 0)) / 2; }

// TorchScript puts the zeros before a sign.
Result<Vals> ZeroFilled(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (arguments.size() < 2) return NoText(evaluator);
  const Val filled[] = {arguments[0], arguments[1], std::string("0")};
  return Filled<&All>(evaluator, node, filled);
}

// (text, separator): what is before the first or last one, it, and what is behind.
template <bool kLast>
Result<Vals> Partition(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto* text = arguments[0].As<std::string>();
  const auto* separator = arguments.size() > 1 ? arguments[1].As<std::string>() : nullptr;
  if (text == nullptr || separator == nullptr) return NoText(evaluator);
  const size_t at = kLast ? text->rfind(*separator) : text->find(*separator);
  if (at == text->npos) {
    const std::string none;
    return kLast ? Vals{none, none, *text} : Vals{*text, none, none};
  }
  return Vals{text->substr(0, at), *separator, text->substr(at + separator->size())};
}

constexpr BuiltinRow kRows[] = {
    {"aten::capitalize", &Changed<&Capital>},
    {"aten::center", &Filled<&Half>},
    {"aten::isalnum", &AllOfKind<&std::isalnum>},
    {"aten::isalpha", &AllOfKind<&std::isalpha>},
    {"aten::isdecimal", &AllOfKind<&std::isdigit>},
    {"aten::isdigit", &AllOfKind<&std::isdigit>},
    {"aten::isidentifier", &IsIdentifier},
    {"aten::islower", &AllOfCase<&std::islower>},
    {"aten::isnumeric", &AllOfKind<&std::isdigit>},
    {"aten::isprintable", &IsPrintable},
    {"aten::isspace", &AllOfKind<&std::isspace>},
    {"aten::istitle", &IsTitle},
    {"aten::isupper", &AllOfCase<&std::isupper>},
    {"aten::ljust", &Filled<&Nothing>},
    {"aten::lower", &Changed<&Lower>},
    {"aten::partition", &Partition<false>},
    {"aten::rjust", &Filled<&All>},
    {"aten::rpartition", &Partition<true>},
    {"aten::swapcase", &Changed<&Swapped>},
    {"aten::title", &Changed<&Title>},
    {"aten::upper", &Changed<&Upper>},
    {"aten::zfill", &ZeroFilled},
};

}  // namespace

std::span<const BuiltinRow> LetterBuiltins() { return kRows; }

}  // namespace flambeau::script
