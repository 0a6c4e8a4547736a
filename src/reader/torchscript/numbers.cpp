#include "reader/torchscript/numbers.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace flambeau::torchscript {
namespace {

// Whether a number that no double holds is too large, and not too small: by the power of ten of its first digit.
bool IsHuge(std::string_view text) {
  const size_t mark = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, mark);
  const auto point = static_cast<int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<int64_t>(digits.find_first_of("123456789"));
  int64_t exponent = 0;
  if (mark < text.size()) {
    std::string_view written = text.substr(mark + 1);
    const bool negative = written.starts_with('-');
    if (written.starts_with('+')) written.remove_prefix(1);
    const auto [end, error] = std::from_chars(written.data(), written.data() + written.size(), exponent);
    if (error != std::errc()) return !negative;
  }
  return point - first + exponent > 0;
}

std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) return IsHuge(text) ? HUGE_VAL : 0.0;
  if (error != std::errc()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<Constant> ParseNumber(std::string_view text, bool negative) {
  if (text.ends_with('j')) {
    const std::optional<double> imaginary = ParseDouble(text.substr(0, text.size() - 1));
    if (!imaginary) return std::nullopt;
    return Constant{std::complex<double>(0, negative ? -*imaginary : *imaginary)};
  }
  if (text.find_first_of(".eE") != text.npos) {
    const std::optional<double> value = ParseDouble(text);
    if (!value) return std::nullopt;
    return Constant{negative ? -*value : *value};
  }
  const std::string signed_text = (negative ? "-" : "") + std::string(text);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(signed_text.data(), signed_text.data() + signed_text.size(), value);
  if (error != std::errc() || end != signed_text.data() + signed_text.size()) return std::nullopt;
  return Constant{value};
}

}  // namespace flambeau::torchscript
