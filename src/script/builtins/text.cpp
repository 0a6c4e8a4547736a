// Methods of text, which is known here whenever it is at all.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "script/builtins/builtins.h"

namespace flambeau::script {

using torchscript::Node;

namespace {

constexpr std::string_view kBlanks = " \t\n\r\f\v";

// The arguments as text; fewer where one is something else.
std::vector<std::string> Texts(Arguments arguments) {
  std::vector<std::string> texts;
  for (const Val& argument : arguments) {
    const auto* text = argument.As<std::string>();
    if (text == nullptr) break;
    texts.push_back(*text);
  }
  return texts;
}

// How often at most something is done to the text; a negative number is without bound, as none is.
Result<int64_t> MostOf(Evaluator& evaluator, Arguments arguments, size_t i) {
  if (i >= arguments.size() || arguments[i].Is<Nothing>()) return int64_t{-1};
  const auto most = arguments[i].AsInt();
  if (!most) return evaluator.Unsupported("works on text as often as only a run knows");
  return std::max<int64_t>(*most, -1);
}

template <bool kLeft, bool kRight>
Result<Vals> Strip(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto texts = Texts(arguments);
  if (texts.empty()) return UnknownText(evaluator);
  const std::string_view characters = texts.size() > 1 ? std::string_view(texts[1]) : kBlanks;
  const size_t begin = kLeft ? texts[0].find_first_not_of(characters) : 0;
  if (begin == std::string::npos) return Vals{std::string()};
  const size_t end = kRight ? texts[0].find_last_not_of(characters) : texts[0].size() - 1;
  return Vals{texts[0].substr(begin, end == std::string::npos ? 0 : end + 1 - begin)};
}

// (text, separator or None, most splits)
Result<Vals> Split(Evaluator& evaluator, const Node& node, Arguments arguments) {
  if (!arguments[0].Is<std::string>()) return SplitTensor(evaluator, node, arguments);
  const std::string& text = *arguments[0].As<std::string>();
  const auto* separator = arguments.size() > 1 ? arguments[1].As<std::string>() : nullptr;
  Vals parts;
  if (separator == nullptr) {  // at all runs of blanks: TorchScript takes no heed of how many splits are asked for
    size_t begin = text.find_first_not_of(kBlanks);
    while (begin != text.npos) {
      const size_t end = text.find_first_of(kBlanks, begin);
      parts.emplace_back(text.substr(begin, end == text.npos ? text.npos : end - begin));
      begin = text.find_first_not_of(kBlanks, std::min(end, text.size()));
    }
    return Vals{evaluator.List(std::move(parts))};
  }
  if (separator->empty()) return evaluator.Unsupported("splits text at empty text");
  FLAMBEAU_TRY(int64_t left, MostOf(evaluator, arguments, 2));
  size_t begin = 0;
  for (size_t at = text.find(*separator); at != text.npos && left-- != 0; at = text.find(*separator, begin)) {
    parts.emplace_back(text.substr(begin, at - begin));
    begin = at + separator->size();
  }
  parts.emplace_back(text.substr(begin));
  return Vals{evaluator.List(std::move(parts))};
}

// (text, separator, most splits), from the end.
Result<Vals> SplitFromEnd(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto texts = Texts(arguments.first(2));
  if (texts.size() < 2) return UnknownText(evaluator);
  const auto& [text, separator] = std::pair(texts[0], texts[1]);
  if (separator.empty()) return evaluator.Unsupported("splits text at empty text");
  FLAMBEAU_TRY(int64_t left, MostOf(evaluator, arguments, 2));
  Vals parts;
  size_t end = text.size();
  for (size_t at; left-- != 0 && end >= separator.size() && (at = text.rfind(separator, end - separator.size())) != text.npos; end = at)
    parts.emplace_back(text.substr(at + separator.size(), end - at - separator.size()));
  parts.emplace_back(text.substr(0, end));
  std::ranges::reverse(parts);
  return Vals{evaluator.List(std::move(parts))};
}

// (text, whether the ends are kept: as parts of their own). Each byte that may end a line does, as in TorchScript.
Result<Vals> SplitLines(Evaluator& evaluator, const Node&, Arguments arguments) {
  constexpr std::string_view kEnds = "\n\r\v\f\x1c\x1d\x1e\x85\xe2\x80\xa8\xa9";
  const auto texts = Texts(arguments.first(1));
  const auto keeps = arguments.size() > 1 ? evaluator.KnownBool(arguments[1]) : false;
  if (texts.empty() || !keeps) return UnknownText(evaluator);
  const std::string& text = texts[0];
  Vals lines;
  size_t begin = 0;
  for (size_t at; (at = text.find_first_of(kEnds, begin)) != text.npos; begin = at + 1) {
    lines.emplace_back(text.substr(begin, at - begin));
    if (*keeps) lines.emplace_back(text.substr(at, 1));
  }
  if (begin != text.size()) lines.emplace_back(text.substr(begin));
  return Vals{evaluator.List(std::move(lines))};
}

// (text, width): TorchScript counts places from the begin of the text, not of the line.
Result<Vals> ExpandTabs(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto texts = Texts(arguments.first(1));
  const auto width = arguments.size() > 1 ? arguments[1].AsInt() : std::optional<int64_t>(8);
  if (texts.empty() || !width) return UnknownText(evaluator);
  std::string out;
  for (const char letter : texts[0]) {
    if (letter != '\t') {
      out += letter;
    } else if (*width > 0) {
      if (*width > static_cast<int64_t>(Evaluator::kMaxLength)) return evaluator.TooLong();
      out.append(static_cast<size_t>(*width) - out.size() % static_cast<size_t>(*width), ' ');
    }
    if (out.size() > Evaluator::kMaxLength) return evaluator.TooLong();
  }
  return Vals{std::move(out)};
}

// The order of two texts, as that of 0 and their difference.
template <bool (*kIs)(int order)>
Result<Vals> Ordered(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto texts = Texts(arguments);
  if (texts.size() < 2) return evaluator.CallOperator(node, arguments);
  return Vals{kIs(texts[0].compare(texts[1]))};
}
bool Less(int order) { return order < 0; }
bool LessOrEqual(int order) { return order <= 0; }
bool Greater(int order) { return order > 0; }
bool GreaterOrEqual(int order) { return order >= 0; }

// (text, old, new, most)
Result<Vals> Replace(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto texts = Texts(arguments);
  if (texts.size() < 3 || texts[1].empty()) return UnknownText(evaluator);
  FLAMBEAU_TRY(int64_t left, MostOf(evaluator, arguments, 3));
  const std::string& text = texts[0];
  std::string out;
  size_t begin = 0;
  for (size_t at; left-- != 0 && (at = text.find(texts[1], begin)) != text.npos; begin = at + texts[1].size()) {
    out.append(text, begin, at - begin).append(texts[2]);
    if (out.size() > Evaluator::kMaxLength) return evaluator.TooLong();
  }
  return Vals{out.append(text, begin)};
}

// Which part of the text arguments 2 and 3 are; TorchScript counts ends from the character after the last: -1 is that one.
std::optional<std::pair<int64_t, int64_t>> Part(Arguments arguments, int64_t size) {
  auto place = [&](size_t i, int64_t absent, int64_t past) {
    const auto given = i < arguments.size() ? arguments[i].AsInt() : std::optional(absent);
    return given && *given < 0 ? std::optional(std::max<int64_t>(std::max(*given, -size - 1) + size + past, 0)) : given;
  };
  const auto begin = place(2, 0, 0), end = place(3, -1, 1);
  return begin && end ? std::optional(std::pair(*begin, *end)) : std::nullopt;
}

template <bool kLast>
Result<Vals> Find(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto texts = Texts(arguments);
  if (texts.size() < 2) return evaluator.Unsupported("looks for what is no text, or in what is none");
  const auto size = static_cast<int64_t>(texts[0].size());
  const auto within = Part(arguments, size);
  if (!within) return evaluator.Unsupported("looks for text within a part of other text that is known at run time only");
  const int64_t begin = std::min(within->first, size), end = std::min(within->second, size);
  if (end <= begin && !(texts[1].empty() && end == begin)) return Vals{Val(int64_t{-1})};
  const std::string_view part = std::string_view(texts[0]).substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
  const size_t at = kLast ? part.rfind(texts[1]) : part.find(texts[1]);
  return Vals{Val(at == std::string::npos ? int64_t{-1} : begin + static_cast<int64_t>(at))};
}

// As find, but that there is none is an exception.
Result<Vals> LastIndex(Evaluator& evaluator, const Node& node, Arguments arguments) {
  FLAMBEAU_TRY(const Vals place, Find<true>(evaluator, node, arguments));
  if (place[0].AsInt() == -1) return evaluator.Raise(node, "looks for text that the other lacks");
  return place;
}

// (text, part, start, end); an end before the start is none at all.
template <bool kStart>
Result<Vals> Borders(Evaluator& evaluator, const Node& node, Arguments arguments) {
  const auto texts = Texts(arguments);
  if (texts.size() < 2) return UnknownText(evaluator);
  const auto size = static_cast<int64_t>(texts[0].size());
  const auto within = Part(arguments, size);
  if (!within) return evaluator.Unsupported("looks at a part of text that is known at run time only");
  const auto [begin, end] = *within;
  if (begin > size) return evaluator.Raise(node, "looks at text past its end");
  const auto count = end < begin ? std::string_view::npos : static_cast<size_t>(end - begin);
  const std::string_view part = std::string_view(texts[0]).substr(static_cast<size_t>(begin), count);
  return Vals{kStart ? part.starts_with(texts[1]) : part.ends_with(texts[1])};
}

Result<Vals> Ord(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto texts = Texts(arguments);
  if (texts.empty() || texts[0].size() != 1) return UnknownText(evaluator);
  return Vals{int64_t{static_cast<unsigned char>(texts[0][0])}};
}
Result<Vals> Chr(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto code = arguments[0].AsInt();
  if (!code || *code < 0 || *code > 127) return evaluator.Unsupported("makes a character of a number that is no ASCII code");
  return Vals{std::string(1, static_cast<char>(*code))};
}

// hex(-255) is "-0xff".
template <char kPrefix>
Result<Vals> Digits(Evaluator& evaluator, const Node&, Arguments arguments) {
  const auto number = arguments[0].AsInt();
  if (!number) return evaluator.Unsupported("writes a number in digits that only a run knows");
  const uint64_t size = *number < 0 ? -static_cast<uint64_t>(*number) : static_cast<uint64_t>(*number);
  const std::string digits = kPrefix == 'x' ? fmt::format("{:x}", size) : kPrefix == 'o' ? fmt::format("{:o}", size) : fmt::format("{:b}", size);
  return Vals{fmt::format("{}0{}{}", *number < 0 ? "-" : "", kPrefix, digits)};
}

constexpr BuiltinRow kRows[] = {
    {"aten::bin", &Digits<'b'>},
    {"aten::chr", &Chr},
    {"aten::endswith", &Borders<false>},
    {"aten::expandtabs", &ExpandTabs},
    {"aten::find", &Find<false>},
    {"aten::ge", &Ordered<&GreaterOrEqual>},
    {"aten::gt", &Ordered<&Greater>},
    {"aten::hex", &Digits<'x'>},
    {"aten::le", &Ordered<&LessOrEqual>},
    {"aten::lstrip", &Strip<true, false>},
    {"aten::lt", &Ordered<&Less>},
    {"aten::oct", &Digits<'o'>},
    {"aten::ord", &Ord},
    {"aten::replace", &Replace},
    {"aten::rfind", &Find<true>},
    {"aten::rindex", &LastIndex},
    {"aten::rsplit", &SplitFromEnd},
    {"aten::rstrip", &Strip<false, true>},
    {"aten::split", &Split},
    {"aten::splitlines", &SplitLines},
    {"aten::startswith", &Borders<true>},
    {"aten::strip", &Strip<true, true>},
};

}  // namespace

std::span<const BuiltinRow> TextBuiltins() { return kRows; }

}  // namespace flambeau::script
