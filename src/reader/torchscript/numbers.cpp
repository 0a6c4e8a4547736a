#include "reader/torchscript/numbers.h"

#include <charconv>
#include <cmath>
#include <string>

namespace flambeau::torchscript {
namespace {

std::optional<double> ParseDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end != text.data() + text.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range)  // tiny or huge: as strtod has it
    return text.find("e-") != text.npos ? 0.0 : HUGE_VAL;
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
