#include "ir/text_lexer.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace flambeau {
namespace {

template <class T>
std::string ShortestText(T value) {
  if (std::isnan(value)) return "nan";
  std::string text = fmt::format("{}", value);
  if (text.find_first_not_of("-0123456789") == std::string::npos) text += ".0";
  return text;
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (c >= ' ' && c < 127) {
      quoted += c;
    } else {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return quoted + "\"";
}

std::optional<std::string> TakeQuoted(std::string_view* text) {
  const char quote = text->front();
  std::string out;
  for (size_t i = 1; i < text->size(); ++i) {
    char c = (*text)[i];
    if (c == quote) {
      text->remove_prefix(i + 1);
      return out;
    }
    if (c == '\n') return std::nullopt;
    if (c == '\\') {
      if (++i == text->size()) return std::nullopt;
      c = (*text)[i];
      if (c == 'n') {
        c = '\n';
      } else if (c == 'x') {
        if (i + 2 >= text->size()) return std::nullopt;
        const int high = HexDigit((*text)[i + 1]), low = HexDigit((*text)[i + 2]);
        if (high < 0 || low < 0) return std::nullopt;
        c = static_cast<char>(high * 16 + low);
        i += 2;
      } else if (c != '\\' && c != '"' && c != '\'') {
        return std::nullopt;
      }
    }
    out += c;
  }
  return std::nullopt;
}

std::string FloatText(double value) { return ShortestText(value); }
std::string FloatText(float value) { return ShortestText(value); }

size_t NumberLength(std::string_view text, bool* is_float) {
  size_t i = 0;
  auto digits = [&] {
    const size_t start = i;
    while (i < text.size() && IsDigit(text[i])) ++i;
    return i > start;
  };
  *is_float = false;
  const bool whole = digits();
  if (i < text.size() && text[i] == '.') {
    ++i;
    if (!digits() && !whole) return 0;
    *is_float = true;
  }
  if (i == 0) return 0;
  if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
    const size_t mantissa = i++;
    if (i < text.size() && (text[i] == '+' || text[i] == '-')) ++i;
    if (digits()) {
      *is_float = true;
    } else {
      i = mantissa;
    }
  }
  return i;
}

std::optional<double> ParseFloat(std::string_view text) {
  double value;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace flambeau
